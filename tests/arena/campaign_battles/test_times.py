"""How long a question takes: by a campaign's own answers, before there are enough by the site's, else as plans do."""

from itertools import count

import pytest

from arena.campaign_battles.task import question_seconds
from arena.items.ingest import Ingest
from arena.ratings.planner import VOTE_SECONDS
from arena.seats.campaigns import Campaign
from arena.seats.task import FRESH_SECONDS
from tests.support.battle_campaigns import Battles, answered_at_once, check_drafts

PERSONS = count()


def answer(battles: Battles, campaign: Campaign, *seconds: float) -> None:
    """Let a worker for each of these times answer six questions, and take so long for each."""
    for took in seconds:
        seat = battles.seat(campaign, str(next(PERSONS)))
        assert battles.do(seat, most=6) == 6
        answered_at_once(battles.database, seat, took)


def test_the_median_is_the_campaigns_then_the_sites_then_the_plans(battles):
    first = battles.campaign(name="first", per_tuple=3)
    second = battles.campaign(name="second", per_tuple=3)
    assert question_seconds(battles.database, first) == VOTE_SECONDS
    answer(battles, first, 10, 20, 30, 30)
    assert question_seconds(battles.database, first) == VOTE_SECONDS, "24 are too few"
    answer(battles, second, 90)
    assert question_seconds(battles.database, first) == 30, "of all 30 on the site"
    answer(battles, second, 60, 75, 80, 3000)
    assert question_seconds(battles.database, second) == 80
    assert question_seconds(battles.database, first) == 60, "of the site, while its own are few"


@pytest.mark.locks_or_dialect
def test_what_can_be_undone_is_no_answer_yet(battles):
    campaign = battles.campaign(per_tuple=3)
    answer(battles, campaign, 10, 10, 10, 10)
    seat = battles.seat(campaign, "late")
    for _ in range(5):
        battles.decide(seat, battles.next(seat), "a")
    battle = battles.next(seat)
    battles.work.take(seat, battle.token, "a", "1")
    answered_at_once(battles.database, seat, 10)
    assert question_seconds(battles.database, campaign) == VOTE_SECONDS
    battles.store.reveal(seat.voter, battle.token)
    assert question_seconds(battles.database, campaign) == 10


def test_all_of_a_seat_is_its_votes_and_checks_and_is_measured_once_a_minute(bank, monkeypatch):
    Ingest(bank).add_items("checks", "check", check_drafts(5))
    battles = Battles(bank)
    checks = {"items": "checks", "share": 0.5}
    campaign = battles.campaign(
        per_tuple=3, checks=checks, seat={"votes": 4, "minutes": 20, "pay": 1}
    )
    at = 1000.0
    monkeypatch.setattr("arena.seats.task.time.monotonic", lambda: at)
    assert battles.work.whole_seconds(campaign) == VOTE_SECONDS * 6
    answer(battles, campaign, 10, 10, 10, 10, 10)
    assert battles.work.whole_seconds(campaign) == VOTE_SECONDS * 6
    at += FRESH_SECONDS + 1
    assert battles.work.whole_seconds(campaign) == pytest.approx(10 * 6)
