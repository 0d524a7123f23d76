"""Completion: what was started is finished first, and a campaign takes no more votes than its stop needs."""

import random

import numpy as np
import pytest

from arena.campaign_battles.layout import layout_of
from arena.database import Database
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.seats.spec import CampaignError
from tests.support.battle_campaigns import Battles, votes_by_tuple
from tests.support.servers import drafts

ACTIVE = 8
"""Seats at work at the same time."""
SEAT = {"votes": 6, "minutes": 20, "pay": 1}


@pytest.fixture
def battles(database: Database) -> Battles:
    """60 items that four models answered: 360 tuples."""
    Ingest(database).add_items("test", "folder", drafts(60, ("m1", "m2", "m3", "m4")))
    return Battles(database)


def work(battles: Battles, coin: random.Random, votes: int) -> None:
    """Let seats come, take battles and answer in any order, some at once, until so many votes are there."""
    active, given, number = [], 0, 0
    while given < votes:
        while len(active) < ACTIVE:
            number += 1
            seat = battles.seat(battles.campaigns.get("pilot"), f"w{number}")
            active.append([seat, None])
        one = coin.choice(active)
        if one[1] is None:
            one[1] = battles.next(one[0])
            if one[1] is None:
                active.remove(one)
                if battles.again(battles.campaigns.get("pilot")).ended_at is not None:
                    return
        else:
            battles.decide(one[0], one[1], coin.choice("ab"))
            one[1] = None
            given += 1


def given(battles: Battles) -> np.ndarray:
    """The number of votes of each tuple that has any."""
    found = votes_by_tuple(battles.database, battles.campaigns.get("pilot"))
    return np.array([len(voters) for voters in found.values()], int)


@pytest.mark.parametrize("design", ["balanced", "settle"])
@pytest.mark.parametrize("votes", [37, 120])
def test_at_any_stop_few_tuples_are_unfinished(battles, design, votes):
    battles.campaign(per_tuple=5, design=design, seat=SEAT)
    work(battles, random.Random(votes), votes)
    found = given(battles)
    assert found.sum() == votes and found.max() == 5
    assert (found < 5).sum() <= ACTIVE


def test_overlap_tuples_are_there_when_it_stops(battles):
    battles.campaign(overlap=0.3, seat=SEAT, stop={"votes": 100})
    work(battles, random.Random(3), 101)
    found = given(battles)
    assert found.sum() == 100 and set(found.tolist()) >= {1, 5}
    assert 0.1 <= (found == 5).sum() / len(found) <= 0.5
    assert ((found > 1) & (found < 5)).sum() <= ACTIVE


def test_a_sample_of_tuples_is_drawn_evenly_and_filled(battles):
    campaign = battles.campaign(tuples=24, per_tuple=5, seat=SEAT, stop={"votes": 1000})
    layout = battles.states.of(campaign).layout
    assert (layout.wanted > 0).sum() == 24 and layout.wanted.sum() == 120
    work(battles, random.Random(4), 121)
    assert given(battles).tolist() == [5] * 24
    assert battles.campaigns.get("pilot").why_ended == "every tuple has its votes"


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
    Ingest(battles.database).add_items("test", "folder", drafts(66, ("m1", "m2", "m3", "m4"))[60:])
    after = layout_of(spec, ItemBank(battles.database).bank(), names).wanted
    assert 0.7 * 36 <= (before & after[:, :60]).sum() <= 36
    with pytest.raises(CampaignError, match="tuples is 1,000; there are 396"):
        layout_of(
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
    assert battles.again(campaign).why_ended == "30 votes of 30 are there"
