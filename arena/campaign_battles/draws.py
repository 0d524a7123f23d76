"""Draws: the next battle of a seat, by its campaign's design, or a check."""

import random
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

import numpy as np
from sqlalchemy import Connection, select

from arena.battles.store import Draw, Seen
from arena.battles.tables import BATTLE
from arena.campaign_battles.layout import Layout
from arena.campaign_battles.spec import BattleSpec, battle_spec
from arena.campaign_battles.state import CampaignState
from arena.campaign_battles.votes import CHECK, holders, judged, places_taken
from arena.ratings.assignment import (
    Assigned,
    Served,
    balanced,
    finishing_first,
    fixed,
    settle,
)
from arena.seats.campaigns import Campaign
from arena.seats.checks import is_check_due, wanted_checks
from arena.seats.seats import Seat
from arena.seats.spec import CampaignSpec
from arena.seats.task import SeatProgress
from arena.types import Contestant, Item

PAIR_SHARE = 0.1
"""Most of a pair's votes that one worker may give; but always enough to fill a seat, twice over."""
NEAR_THE_END = 200
"""Votes before the stop from which on each draw counts what is there: servers learn of each other's late."""
_COIN = random.SystemRandom()


def drawn_check(
    checks: Sequence[Item], given: SeatProgress, taken: frozenset[Seen], spec: CampaignSpec
) -> Draw | None:
    """A check, if the seat's next piece is one."""
    votes = spec.seat.votes
    left = wanted_checks(spec.checks, votes, len(checks)) - given.checks
    had = {seen.item for seen in taken}
    new = [item for item in checks if item.id not in had and len(item.contestants) == 2]
    if left <= 0 or not new or not is_check_due(max(0, votes - given.votes), left, _COIN):
        return None
    item = _COIN.choice(new)
    return _sided(item.id, item.contestants[0], item.contestants[1], 1.0)._replace(
        kind=CHECK, probability=None
    )


def drawn_battle(
    connection: Connection,
    seat: Seat,
    given: SeatProgress,
    state: CampaignState,
    taken: frozenset[Seen],
    coin: np.random.Generator,
) -> Draw | None:
    """The next tuple of a seat by the design, whose place is free now; None if there is none for this worker."""
    spec = battle_spec(seat.campaign)
    layout = state.layout
    if is_full(connection, seat.campaign, state):
        return None
    had = [one for seen in _had(connection, seat.id) if (one := _assigned(layout, seen))]
    size = len(had) + spec.seat.votes - given.votes  # a skipped one comes on top
    served = _for_worker(state.served, layout, taken, spec)
    while (one := _next(spec, served, had, size, state, coin)) is not None:
        item = layout.items[one.item]
        seen = Seen(item.id, layout.models[one.low], layout.models[one.high])
        place = layout.place(seen)
        assert place
        if holders(connection, seat.campaign, seen, state.left_out) < layout.wanted[place]:
            state.hold(place)
            answers = layout.answers[one.item]
            return _sided(item.id, answers[seen.low], answers[seen.high], one.probability)
        state.fill(place)
        served.wanted[place] = False
    return None


def is_full(connection: Connection, campaign: Campaign, state: CampaignState) -> bool:
    """Whether the votes that are there and those that seats are at are all that the campaign takes."""
    stop = battle_spec(campaign).stop.votes
    if int(state.served.votes.sum()) < stop - NEAR_THE_END:
        return False
    return places_taken(connection, campaign, state.left_out) >= stop


def _next(
    spec: BattleSpec,
    served: Served,
    had: Sequence[Assigned],
    size: int,
    state: CampaignState,
    coin: np.random.Generator,
) -> Assigned | None:
    """The next tuple by the design; what was started is finished before anything is begun."""

    def by_design(some: Served) -> Assigned | None:
        if spec.design == "fixed":
            return fixed(some, had, state.layout.tuples)
        if spec.design == "settle":
            return settle(some, had, state.looked.gains if state.looked else None, coin)
        return balanced(some, had, size, coin) or settle(some, had, None, coin)

    return finishing_first(served, by_design)


def may_still_come(connection: Connection, seat: Seat, state: CampaignState) -> bool:
    """Whether a tuple lacks votes that a seat may still be given, be it held by others or skipped by the seat."""
    mine = connection.execute(judged(seat.voter)).all()
    given = state.collected.given
    if given.sum() >= battle_spec(seat.campaign).stop.votes:
        return False
    lacks = replace(state.served, wanted=given < state.layout.wanted)
    taken = frozenset(Seen.of(row) for row in mine)
    open_ = _for_worker(lacks, state.layout, taken, seat.campaign.spec)
    had = [_assigned(state.layout, Seen.of(row)) for row in mine if row.seat_id == seat.id]
    return bool(open_.tuples_left([one for one in had if one]).any())


def _for_worker(
    served: Served, layout: Layout, taken: frozenset[Seen], spec: CampaignSpec
) -> Served:
    """What is served, without what this worker judged in any campaign, and the pairs that he had often enough."""
    places = [place for seen in taken if (place := layout.place(seen))]
    if not places:
        return served
    wanted = served.wanted.copy()
    rows, columns = np.array(places).T
    wanted[rows, columns] = False
    often = np.bincount(rows, minlength=len(wanted))
    most = np.maximum(PAIR_SHARE * layout.wanted.sum(1), ceil(2 * spec.seat.votes / len(wanted)))
    wanted[often >= most] = False
    return replace(served, wanted=wanted)


def _had(connection: Connection, seat: int) -> list[Seen]:
    query = select(BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
    mine = query.where(BATTLE.c.seat_id == seat, BATTLE.c.draw != CHECK)
    return [Seen.of(row) for row in connection.execute(mine)]


def _assigned(layout: Layout, seen: Seen) -> Assigned | None:
    if layout.place(seen) is None:
        return None
    low, high = sorted((layout.model_code[seen.low], layout.model_code[seen.high]))
    return Assigned(low, high, layout.item_code[seen.item], 0.0)


def _sided(item: int, one: Contestant, other: Contestant, probability: float) -> Draw:
    a, b = (one, other) if _COIN.random() < 0.5 else (other, one)
    return Draw(item, a.model, b.model, a.answer, b.answer, "campaign", probability)
