"""Completion: what was started is finished first, and a campaign takes no more votes than its stop needs."""

import random
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from arena.battles.choices import ChoiceError
from arena.campaign_battles.layout import check_names, layout_of
from arena.database import Database
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.seats.spec import CampaignError
from tests.support.battle_campaigns import (
    Battles,
    at_once,
    check_drafts,
    let_minutes_pass,
    votes_by_tuple,
)
from tests.support.crowds import PEOPLE, Crowd, Habits, Sight
from tests.support.servers import drafts

SEAT = {"votes": 6, "minutes": 20, "pay": 1}
PAPER = {"votes": 20, "minutes": 25, "pay": 1}
MODELS = tuple(f"m{model}" for model in range(1, 8))
DESIGNS = ("balanced", "settle", "fixed")
OVERLAPS = (0.0, 0.15, 0.3, 1.0)


@pytest.fixture
def battles(database: Database) -> Battles:
    """60 items that four models answered: 360 tuples; and eight checks."""
    Ingest(database).add_items("test", "folder", drafts(60, MODELS[:4]))
    Ingest(database).add_items("checks", "check", check_drafts(8))
    return Battles(database)


@pytest.fixture
def servers(database: Database, database_url: str) -> Iterator[list[Battles]]:
    """Two servers with a bank of VisIT-Bench's size: 574 items, seven models; and twenty checks."""
    Ingest(database).add_items("test", "folder", drafts(574, MODELS))
    Ingest(database).add_items("checks", "check", check_drafts(20))
    with closing(Database(database_url)) as other:
        yield [Battles(database), Battles(other)]


def crowd(*servers: Battles, at_work: int, seed: int, habits: Habits = PEOPLE) -> Crowd:
    return Crowd(servers, "pilot", at_work, random.Random(seed), habits)


def designed(battles: Battles, design: str, **changes) -> None:
    tuples = {"fixed": battles.all_tuples()} if design == "fixed" else {}
    battles.campaign(design=design, **tuples, **changes)


def given(battles: Battles) -> np.ndarray:
    """The number of votes of each tuple that has any."""
    found = votes_by_tuple(battles.database, battles.campaigns.get("pilot"))
    assert all(len(set(voters)) == len(voters) for voters in found.values()), "each of another"
    return np.array([len(voters) for voters in found.values()], int)


def check_few_are_unfinished(seen: Sight, seat: int) -> None:
    """Those that somebody is at, and those of an overlap in work.

    Beside them, what is asked again after a worker failed, skipped it or walked away; and where fewer are at work than
    a tuple needs, one seat's.
    """
    alone = seen.unfinished & ~seen.overlap & ~seen.asked_again
    in_work = seen.unfinished & seen.overlap & ~seen.asked_again
    assert alone.sum() <= max(seen.active, seat)
    assert in_work.sum() <= max(seen.active, seat)


@pytest.mark.parametrize("at_work", [pytest.param(1, marks=pytest.mark.soak), 8])
def test_a_campaign_of_a_sample_is_filled_by_people(battles, at_work):
    """Who walk away, skip, take back and fail checks."""
    campaign = battles.campaign(tuples=20, per_tuple=5, seat=SEAT, checks={"items": "checks"})
    layout = battles.states.state_of(campaign).layout
    assert (layout.wanted > 0).sum() == 20 and layout.wanted.sum() == 100
    people = crowd(battles, at_work=at_work, seed=at_work)
    for stop in range(20, 100, 20):
        people.work(stop)
        check_few_are_unfinished(people.sight(), SEAT["votes"])
    people.work()
    assert people.campaign.why_ended == "every tuple has all its votes"
    assert people.sight().state.collected.counted.tolist() == layout.wanted.tolist()


@pytest.mark.parametrize(
    ("design", "per_tuple", "overlap"),
    [
        ("settle", 1, 0.3),
        *(
            pytest.param(design, *votes, marks=pytest.mark.soak)
            for design in DESIGNS
            for votes in ((1, 0.3), (5, 0.0))
        ),
    ],
)
def test_at_any_stop_few_tuples_are_unfinished(battles, design, per_tuple, overlap):
    designed(battles, design, per_tuple=per_tuple, overlap=overlap, seat=SEAT, stop={"votes": 83})
    people = crowd(battles, at_work=8, seed=1, habits=Habits())
    people.work()
    found = given(battles)
    assert found.sum() == 83
    seen = people.sight()
    check_few_are_unfinished(seen, SEAT["votes"])
    if overlap:
        begun = (seen.state.collected.counted > 0).sum()
        assert 0.05 <= (seen.overlap & seen.finished).sum() / begun <= 0.6


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_is_begun_while_something_lacks_votes(battles, design):
    """In a file that goes item by item, each of which a seat gets once, what comes next is not what was started."""
    designed(battles, design, per_tuple=2, seat=SEAT)
    for person, most in (("first", 2), ("second", 1), ("third", 1)):
        battles.do(battles.seat(battles.campaigns.get("pilot"), person), most=most)
    assert given(battles).tolist() == [2, 2]


@pytest.mark.soak
@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("design", DESIGNS)
def test_overlap_tuples_are_there_whenever_it_stops(servers, design, overlap):
    """After 10, 30, 50 and 100% of the votes their share is the one asked for, but for those in work."""
    designed(servers[0], design, overlap=overlap, seat=PAPER, checks={"items": "checks"})
    people = crowd(*servers, at_work=15, seed=5)
    for stop in (50, 150, 250, 500):
        people.work(1.1 * stop)
        seen = people.sight()
        check_few_are_unfinished(seen, PAPER["votes"])
        counted = ~seen.asked_again & (seen.state.collected.counted > 0)
        share = (seen.overlap & counted).sum() / counted.sum()
        error = np.sqrt(overlap * (1 - overlap) / counted.sum())
        assert abs(share - overlap) <= 4 * error


@pytest.mark.soak
@pytest.mark.parametrize(("tuples", "at_work"), [(200, 1), (1000, 8), (200, 30), (1000, 60)])
def test_a_campaign_of_the_papers_size_is_filled_by_people(servers, tuples, at_work):
    """1,000 tuples by five votes at two servers, looked at in ten places, and at its end."""
    servers[0].campaign(tuples=tuples, per_tuple=5, seat=PAPER, checks={"items": "checks"})
    people = crowd(*servers, at_work=at_work, seed=at_work)
    for stop in sorted(people.coin.sample(range(50, 5 * tuples), 10)):
        people.work(stop)
        check_few_are_unfinished(people.sight(), PAPER["votes"])
    people.work()
    assert people.campaign.why_ended == "every tuple has all its votes"
    seen = people.sight()
    assert seen.state.collected.counted[seen.wanted > 0].tolist() == [5] * tuples
    assert given(servers[0]).min() >= 5


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize("stop", [29, pytest.param(44, marks=pytest.mark.soak)])
def test_threads_of_two_servers_take_what_the_stop_needs(battles, database_url, stop):
    campaign = battles.campaign(per_tuple=3, seat=SEAT, stop={"votes": stop})

    def work(number: int) -> None:
        server = servers[number % 2]
        for seat in range(10):
            if server.again(campaign).ended_at is None:
                server.do(server.seat(campaign, f"w{number}-{seat}"))

    with closing(Database(database_url)) as other:
        servers = (battles, Battles(other))
        at_once(6, work)
    found = given(battles)
    assert found.sum() == stop
    assert (found < 3).sum() <= 6


def test_any_tuple_may_be_drawn_and_a_larger_bank_changes_few(battles):
    bank = battles.items.bank()
    names = {place: model.name for place, model in enumerate(battles.items.models(), 1)}
    drawn = np.zeros((6, 60))
    for number in range(200):
        spec = battles.campaign(name=f"c{number}", tuples=36).spec
        drawn += layout_of(spec, bank, names).wanted > 0
    assert drawn.sum() == 200 * 36 and drawn.min() >= 4 and drawn.max() <= 40
    assert abs(drawn.sum(1) - 1200).max() < 5 * np.sqrt(1200)
    before = layout_of(spec, bank, names).wanted
    Ingest(battles.database).add_items("test", "folder", drafts(66, MODELS[:4])[60:])
    after = layout_of(spec, ItemBank(battles.database).bank(), names).wanted
    assert 0.7 * 36 <= (before & after[:, :60]).sum() <= 36
    with pytest.raises(CampaignError, match="tuples is 1,000, but these models have only 396"):
        check_names(
            spec.model_copy(update={"tuples": 1000}), ItemBank(battles.database).bank(), names
        )


@pytest.mark.locks_or_dialect
def test_no_more_votes_are_taken_than_the_stop_needs(battles):
    """Two servers, whose states are some seconds old, and many seats that open a battle before anybody answers."""
    campaign = battles.campaign(seat=SEAT, stop={"votes": 30})
    servers = [battles, Battles(battles.database)]
    seats = [battles.seat(campaign, f"w{number}") for number in range(20)]
    for _ in range(4):
        opened = [
            (server, seat, server.next(seat))
            for server, seat in zip(servers * 10, seats, strict=True)
        ]
        for server, seat, battle in opened:
            if battle is not None:
                server.decide(seat, battle, "a")
    assert given(battles).sum() == 30
    assert battles.again(campaign).why_ended == "it has 30 of 30 votes"


@pytest.mark.locks_or_dialect
def test_who_comes_back_late_adds_nothing_to_a_full_campaign(battles):
    campaign = battles.campaign(seat=SEAT, stop={"votes": 2})
    late = battles.seat(campaign, "late")
    battle = battles.next(late)
    let_minutes_pass(battles.database, 21)
    assert battles.do(battles.seat(campaign, "other")) == 2
    assert battle
    with pytest.raises(ChoiceError, match="You were away for a while, so"):
        battles.decide(late, battle, "a")
    assert given(battles).sum() == 2


def test_a_file_of_tuples_has_an_overlap_too(battles):
    tuples = battles.all_tuples()[:100]
    changes = {"design": "fixed", "fixed": [*tuples, *tuples[:10]], "overlap": 0.3}
    wanted = battles.states.state_of(battles.campaign(**changes)).layout.wanted
    numbers = np.bincount(wanted[wanted > 0], minlength=6)
    assert numbers.sum() == 100 and 15 <= numbers[5] <= 45
    assert 5 <= numbers[2] <= 10 and numbers[[3, 4]].sum() == 0
