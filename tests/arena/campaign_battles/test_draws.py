"""Draws: no tuple gets a voter too many, whoever races; what is left behind, failed or flagged is asked again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.store import ItemPair
from arena.battles.tables import BATTLE
from arena.campaign_battles.draws import _open_to_worker
from arena.campaign_battles.layout import Layout
from arena.campaign_battles.votes import collect_votes
from arena.database import Database, now
from arena.fraud.flags import VOTER_FLAG, campaign_review
from arena.items.ingest import Ingest
from arena.ratings.assignment import Served
from arena.seats.campaigns import Campaign
from arena.types import UNRELATED, Phase
from tests.support.arenas import SINGLE, table_3
from tests.support.battle_campaigns import (
    Battles,
    at_once,
    check_drafts,
    fill_layout,
    let_minutes_pass,
    published_layout,
    votes_by_tuple,
)
from tests.support.servers import drafts
from tests.support.visitors import rows

DESIGNS = ("balanced", "settle", "fixed")


def designed(battles: Battles, design: str, **changes) -> Campaign:
    tuples = {"fixed": battles.all_tuples()} if design == "fixed" else {}
    return battles.campaign(design=design, **tuples, **changes)


def served(database: Database) -> list:
    with database.read() as connection:
        return list(connection.execute(select(BATTLE).order_by(BATTLE.c.id)))


def test_the_wanted_pairs_fill_a_seat_twice_however_many_others_there_are():
    """Five models make ten pairs, of which the campaign wants one."""
    wanted = np.zeros((10, 100), np.int32)
    wanted[0] = 1
    items: Any = tuple(SimpleNamespace(id=number) for number in range(100))
    layout = Layout(tuple(range(5)), items, wanted)
    served = Served(5, np.zeros_like(wanted), wanted > 0)
    spec: Any = SimpleNamespace(seat=SimpleNamespace(votes=20))
    for judged, left in ((39, 61), (40, 0)):
        taken = frozenset(ItemPair(item, 0, 1) for item in range(judged))
        assert _open_to_worker(served, layout, taken, spec).lacks_votes.sum() == left


# As published


def replay(database: Database, layout: list, models: int) -> dict:
    """Let simulated workers of 20 votes each give what a layout asks; check that nothing is missed or given twice."""
    battles = Battles(database)
    asked = fill_layout(database, layout, models)
    campaign = battles.campaign(design="fixed", fixed=[one.model_dump() for one in asked])
    for number in range(1 + 2 * len(layout) // 20):
        if battles.campaigns.get("pilot").ended_at is not None:
            break
        battles.do(battles.seat(campaign, f"w{number}"), most=20)
        battles.states.read_now(campaign)
    assert battles.campaigns.get("pilot").why_ended == "every tuple has all its votes"
    return votes_by_tuple(database, campaign)


@pytest.mark.parametrize("share", [0.02, pytest.param(1, marks=pytest.mark.soak)])
def test_the_published_layout_is_replayed_and_nobody_judges_a_tuple_twice(database, share):
    """VisIT-Bench: 5,011 votes on about 1,010 tuples, with Table 3's matches of each model, which sum to 10,022."""
    votes = table_3()
    votes = votes.take(
        np.random.default_rng(5).permutation(len(votes))[: round(share * len(votes))]
    )
    layout = published_layout(votes)
    found = replay(database, layout, len(SINGLE))
    asked: dict[tuple, int] = {}
    for one in layout:
        asked[one] = asked.get(one, 0) + 1
    assert sorted(len(voters) for voters in found.values()) == sorted(asked.values())
    assert all(len(set(voters)) == len(voters) for voters in found.values())
    matches = np.zeros(len(SINGLE), int)
    for (_, low, high), voters in found.items():
        matches[[low - 1, high - 1]] += len(voters)
    names = [model.name for model in Battles(database).items.models()]
    assert {name: count for name, count in zip(names, matches.tolist(), strict=True)} == {
        f"m{model}": int((votes.a == model).sum() + (votes.b == model).sum())
        for model in range(len(SINGLE))
    }
    if share == 1:
        assert sum(len(voters) == 5 for voters in found.values()) >= 973
        assert sorted(matches.tolist()) == sorted(SINGLE)
        assert matches.sum() == 10_022


# Racing seats


@pytest.fixture
def servers(bank, database_url) -> Iterator[list[Battles]]:
    """Two servers on one database."""
    with closing(Database(database_url)) as other:
        yield [Battles(bank), Battles(other)]


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize(
    "design",
    ["settle", *(pytest.param(one, marks=pytest.mark.soak) for one in DESIGNS if one != "settle")],
)
@pytest.mark.parametrize(
    "database_url", ["postgresql", pytest.param("sqlite", marks=pytest.mark.soak)], indirect=True
)
def test_racing_seats_of_two_servers_are_served_no_tuple_too_often(servers, bank, design):
    campaign = designed(servers[0], design, per_tuple=2)
    at_once(6, lambda one: servers[one % 2].do(servers[one % 2].seat(campaign, f"w{one}")))
    late = 0
    # who raced may have had every item that is left
    while servers[0].again(campaign).ended_at is None and late < 4:
        servers[0].do(servers[0].seat(campaign, f"late-{late}"))
        late += 1
    found: dict[tuple, int] = {}
    for row in served(bank):
        key = (row.item_id, row.model_low, row.model_high)
        found[key] = found.get(key, 0) + 1
    assert max(found.values()) == 2
    assert sum(found.values()) == 36 == sum(map(len, votes_by_tuple(bank, campaign).values()))
    assert servers[0].again(campaign).why_ended == "every tuple has all its votes"


@pytest.mark.locks_or_dialect
def test_a_seat_in_two_tabs_gets_one_battle_after_the_other_and_no_more_than_its_own(servers, bank):
    campaign = servers[0].campaign(seat={"votes": 4, "minutes": 20, "pay": 1})
    seat = servers[0].seat(campaign, "w")

    def work(number: int) -> None:
        for _ in range(12):
            battle = servers[number % 2].next(seat)
            if battle is None:
                return
            with suppress(ChoiceError):
                servers[number % 2].decide(seat, battle, "a")

    at_once(4, work)
    assert len(served(bank)) == 4


@pytest.mark.parametrize("design", DESIGNS)
def test_every_battle_keeps_the_probability_of_its_pair(battles, design):
    seat = battles.seat(designed(battles, design), "w")
    battles.do(seat)
    found = [row.draw_probability for row in served(battles.database)]
    assert len(found) == 6, "no item twice in a seat"
    assert all(one == 1 if design == "fixed" else 0 < one <= 1 for one in found)
    if design == "balanced":
        assert found[0] == pytest.approx(1 / 3)
    if design == "settle":
        assert found == [pytest.approx(1 / 3)] * 6


def test_a_share_of_the_tuples_is_judged_by_several(battles):
    campaign = battles.campaign(overlap=0.3, overlap_per_tuple=3)
    wanted = battles.states.state_of(campaign).layout.wanted
    assert set(wanted.ravel().tolist()) == {1, 3}
    number = 0
    while battles.again(campaign).ended_at is None and number < 12:
        battles.do(battles.seat(campaign, f"w{number}"))
        number += 1
    found = votes_by_tuple(battles.database, campaign)
    assert sorted(map(len, found.values())) == sorted(wanted.ravel().tolist())


# What is left behind


@pytest.fixture
def one_tuple(database) -> Battles:
    Ingest(database).add_items("test", "folder", drafts(1, ("m1", "m2")))
    return Battles(database)


@pytest.mark.locks_or_dialect
def test_an_abandoned_battle_is_freed_after_its_minutes_and_a_late_choice_in_it_is_refused(
    one_tuple,
):
    campaign = one_tuple.campaign()
    left, other = one_tuple.seat(campaign, "left"), one_tuple.seat(campaign, "other")
    battle = one_tuple.next(left)
    assert one_tuple.next(other) is None
    let_minutes_pass(one_tuple.database, 19)
    one_tuple.states.read_now(campaign)
    assert one_tuple.next(other) is None
    let_minutes_pass(one_tuple.database, 2)
    one_tuple.states.read_now(campaign)
    taken = one_tuple.next(other)
    assert taken
    assert battle
    with pytest.raises(ChoiceError, match="You were away for a while, so"):
        one_tuple.decide(left, battle, "a")
    assert one_tuple.next(left) is None
    one_tuple.decide(other, taken, "b")
    assert [len(voters) for voters in votes_by_tuple(one_tuple.database, campaign).values()] == [1]


def test_who_comes_back_before_others_took_his_battle_goes_on_with_it(one_tuple):
    campaign = one_tuple.campaign()
    seat = one_tuple.seat(campaign, "slow")
    battle = one_tuple.next(seat)
    let_minutes_pass(one_tuple.database, 60)
    one_tuple.states.read_now(campaign)
    assert one_tuple.next(seat).token == battle.token
    one_tuple.decide(seat, battle, "a")
    assert one_tuple.again(campaign).why_ended == "every tuple has all its votes"


@pytest.mark.locks_or_dialect
def test_who_comes_back_as_another_is_served_shares_no_place(one_tuple, monkeypatch):
    campaign = one_tuple.campaign()
    left, other = one_tuple.seat(campaign, "left"), one_tuple.seat(campaign, "other")
    battle = one_tuple.next(left)
    let_minutes_pass(one_tuple.database, 21)
    one_tuple.states.read_now(campaign)
    keeps = one_tuple.work._is_kept
    with ThreadPoolExecutor(1) as pool:
        served = []

        def keeps_and_lets_another_come(*about) -> bool:
            kept = keeps(*about)
            served.append(pool.submit(one_tuple.next, other))
            wait(served, 0.5)
            return kept

        monkeypatch.setattr(one_tuple.work, "_is_kept", keeps_and_lets_another_come)
        one_tuple.work.take(left, battle.token, "a", "1")
    assert [drawn.result() for drawn in served] == [None]


def test_a_taken_back_choice_that_is_left_behind_frees_its_place(one_tuple):
    campaign = one_tuple.campaign()
    left, other = one_tuple.seat(campaign, "left"), one_tuple.seat(campaign, "other")
    battle = one_tuple.next(left)
    one_tuple.work.take(left, battle.token, "a", "1")
    again = one_tuple.store.undo(left.voter, battle.token)
    let_minutes_pass(one_tuple.database, 21)
    one_tuple.states.read_now(campaign)
    assert one_tuple.next(other)
    with pytest.raises(ChoiceError, match="You were away for a while, so"):
        one_tuple.work.take(left, again.token, "b", "1")


def test_an_abandoned_battle_does_not_come_back_after_the_end(one_tuple):
    campaign = one_tuple.campaign()
    left = one_tuple.seat(campaign, "left")
    battle = one_tuple.next(left)
    let_minutes_pass(one_tuple.database, 21)
    one_tuple.campaigns.end(campaign, "by hand")
    left = one_tuple.seat(campaign, "left")
    assert one_tuple.next(left) is None
    with pytest.raises(ChoiceError, match="You were away for a while, so"):
        one_tuple.decide(left, battle, "a")


def test_more_may_come_while_others_hold_what_is_left_or_it_was_skipped(one_tuple):
    campaign = one_tuple.campaign()
    seat, other = one_tuple.seat(campaign, "w"), one_tuple.seat(campaign, "other")
    battle = one_tuple.next(other)
    assert one_tuple.next(seat) is None
    assert one_tuple.work.waits(seat)
    one_tuple.store.skip(other.voter, battle.token, "cannot judge")
    one_tuple.states.read_now(campaign)
    assert one_tuple.work.waits(other)
    one_tuple.decide(seat, one_tuple.next(seat), "a")
    one_tuple.states.read_now(campaign)
    assert not one_tuple.work.waits(other)


def test_nothing_more_comes_to_who_judged_what_is_left_elsewhere(one_tuple):
    assert one_tuple.do(one_tuple.seat(one_tuple.campaign(name="one"), "w"))
    seat = one_tuple.seat(one_tuple.campaign(name="two"), "w")
    assert one_tuple.next(seat) is None
    assert not one_tuple.work.waits(seat)


def test_a_skipped_battle_is_given_to_somebody_else(one_tuple):
    campaign = one_tuple.campaign()
    seat, other = one_tuple.seat(campaign, "w"), one_tuple.seat(campaign, "other")
    one_tuple.store.skip(seat.voter, one_tuple.next(seat).token, "cannot judge")
    assert one_tuple.work.progress(seat).skipped == 1
    one_tuple.states.read_now(campaign)
    assert one_tuple.next(seat) is None
    assert one_tuple.next(other)


def test_a_battle_of_ones_other_seat_takes_no_choice_here(battles):
    one, two = (battles.seat(battles.campaign(name=name), "w") for name in ("one", "two"))
    with pytest.raises(UnknownBattleError):
        battles.work.take(two, battles.next(one).token, "a", "1")


@pytest.mark.locks_or_dialect
def test_what_is_no_side_is_no_choice(battles):
    seat = battles.seat(battles.campaign(), "w")
    battle = battles.next(seat)
    for choice in ("", "c", "A", "ab", "a\0"):
        with pytest.raises(ChoiceError, match="You haven't chosen yet. Press A or B"):
            battles.work.take(seat, battle.token, choice, "1")
    assert battles.next(seat).phase is Phase.OPEN


# What does not count


@pytest.fixture
def checked(battles) -> Battles:
    Ingest(battles.database).add_items("checks", "check", check_drafts(8))
    return Battles(battles.database)


@pytest.mark.locks_or_dialect
def test_a_seat_gets_exactly_its_checks_outside_its_quota_whatever_it_answers(checked):
    campaign = checked.campaign(checks={"share": 0.5}, seat={"votes": 6, "minutes": 20, "pay": 1})
    for number, choose in enumerate(("a", "b")):
        seat = checked.seat(campaign, f"w{number}")
        assert checked.work.checks_wanted(seat) == 3
        assert checked.do(seat, lambda battle, choose=choose: choose) == 9
        given = checked.work.progress(seat)
        assert (given.votes, given.checks) == (6, 3)
    rows_ = [row for row in served(checked.database) if row.draw == "check"]
    assert all(row.draw_probability is None for row in rows_)
    models = {model.name: code for code, model in enumerate(checked.items.models(), 1)}
    assert all(models[UNRELATED] in (row.model_low, row.model_high) for row in rows_)


def worse(battles: Battles):
    return lambda battle: {"a": "b", "b": "a"}[battles.better(battle, ("m1", "m2", "m3"))]


@pytest.mark.parametrize("why", ["failed", "flagged", "withdrew"])
def test_what_a_worker_gave_who_does_not_count_is_asked_again(checked, why):
    campaign = checked.campaign(
        checks={"share": 0.5, "fail": 2}, seat={"votes": 6, "minutes": 20, "pay": 1}
    )
    bad = checked.seat(campaign, "bad")
    checked.do(
        bad,
        worse(checked)
        if why == "failed"
        else lambda battle: checked.better(battle, ("m1", "m2", "m3")),
    )
    assert checked.work.progress(bad).failed_checks == (3 if why == "failed" else 0)
    if why == "flagged":
        with checked.database.write() as connection:
            flag = {"review": campaign_review(campaign.name), "voter_id": bad.voter}
            flag |= {"strength": 1.0, "raised_at": now()}
            connection.execute(
                VOTER_FLAG.insert(), [{**flag, "reason": one} for one in ("HASTY", "ONE_SIDED")]
            )
    if why == "withdrew":
        checked.seats.add_event(bad, "withdrew")
    state = checked.states.state_of(campaign)
    assert bad.id in checked.states.read_now(campaign).left_out
    assert checked.states.read_now(campaign).votes == 0
    number = 0
    while checked.again(campaign).ended_at is None and number < 9:
        seat = checked.seat(campaign, f"good-{number}")
        checked.do(seat, lambda battle: checked.better(battle, ("m1", "m2", "m3")))
        number += 1
    assert checked.again(campaign).why_ended == "every tuple has all its votes"
    with checked.database.read() as connection:
        found = collect_votes(connection, campaign, state.layout)
    assert found.counted.tolist() == state.layout.wanted.tolist()
    assert len(rows(checked.database, BATTLE)) > 18 + 6
