"""Draws: the next battle of a seat, by its campaign's design, or a check."""

import random
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

import numpy as np
from sqlalchemy import Connection, select

from arena.battles.store import Draw, ItemPair
from arena.battles.tables import BATTLE
from arena.campaign_battles.layout import Layout
from arena.campaign_battles.spec import BattleSpec, battle_spec
from arena.campaign_battles.state import CampaignState
from arena.campaign_battles.votes import CHECK, count_holders, count_places_taken, judged_battles
from arena.ratings.assignment import (
    Assignment,
    Served,
    draw_balanced,
    draw_fixed,
    draw_settling,
    draw_started_first,
)
from arena.seats.campaigns import Campaign
from arena.seats.quality import is_check_due, wanted_checks
from arena.seats.seats import Seat
from arena.seats.spec import CampaignSpec
from arena.seats.task import SeatProgress
from arena.types import Contestant, Item

PAIR_SHARE = 0.1
"""The largest share of a pair's votes that a worker may give. If few pairs are wanted, a worker may give more: enough
to fill a seat twice."""
NEAR_THE_END = 200
"""From this many votes before the stop on, each draw counts the stored votes, since servers notice each other's votes
late."""
_COIN = random.SystemRandom()


def drawn_check(
    checks: Sequence[Item], progress: SeatProgress, taken: frozenset[ItemPair], spec: CampaignSpec
) -> Draw | None:
    """Returns a check if the seat's next battle is one, otherwise None."""
    votes = spec.seat.votes
    checks_left = wanted_checks(spec.checks, votes, len(checks)) - progress.checks
    judged_items = {battle.item for battle in taken}
    new_checks = [
        item for item in checks if item.id not in judged_items and len(item.contestants) == 2
    ]
    if checks_left <= 0 or not new_checks:
        return None
    if not is_check_due(max(0, votes - progress.votes), checks_left, _COIN):
        return None
    item = _COIN.choice(new_checks)
    return _sided(item.id, item.contestants[0], item.contestants[1], None)._replace(kind=CHECK)


def drawn_battle(
    connection: Connection,
    seat: Seat,
    progress: SeatProgress,
    state: CampaignState,
    taken: frozenset[ItemPair],
    coin: np.random.Generator,
) -> Draw | None:
    """Returns the next tuple of a seat by the design, with a free place; None if there is none for this worker."""
    spec = battle_spec(seat.campaign)
    layout = state.layout
    if is_full(connection, seat.campaign, state):
        return None
    assigned = _assigned_tuples(layout, _seat_battles(connection, seat.id))
    size = len(assigned) + spec.seat.votes - progress.votes  # Skipped tuples are extra.
    served = _open_to_worker(state.served, layout, taken, spec)
    # The state lags behind the database: a tuple that others have filled meanwhile is marked, and the next one drawn.
    while (choice := _next(spec, served, assigned, size, state, coin)) is not None:
        item = layout.items[choice.item]
        battle = ItemPair(item.id, layout.models[choice.low], layout.models[choice.high])
        place = layout.place(battle)
        assert place
        if count_holders(connection, seat.campaign, battle, state.left_out) < layout.wanted[place]:
            state.hold(place)
            answers = layout.answers[choice.item]
            return _sided(item.id, answers[battle.low], answers[battle.high], choice.probability)
        state.fill(place)
        # `fill` marks the state's mask, of which `served` has a copy once the worker has judged a tuple.
        served.lacks_votes[place] = False
    return None


def is_full(connection: Connection, campaign: Campaign, state: CampaignState) -> bool:
    """Returns whether stored votes and battles held by seats together are all that the campaign takes."""
    stop = battle_spec(campaign).stop.votes
    collected = state.collected
    votes_on_lost_tuples = collected.given - int(collected.cast.sum())
    if int(state.served.votes.sum()) + votes_on_lost_tuples < stop - NEAR_THE_END:
        return False
    return count_places_taken(connection, campaign, state.left_out) >= stop


def _next(
    spec: BattleSpec,
    served: Served,
    assigned: Sequence[Assignment],
    size: int,
    state: CampaignState,
    coin: np.random.Generator,
) -> Assignment | None:
    """Returns the next tuple by the design; started tuples are finished before others begin."""

    def by_design(candidates: Served) -> Assignment | None:
        if spec.design == "fixed":
            return draw_fixed(candidates, assigned, state.layout.tuples)
        if spec.design == "settle":
            gains = state.last_look.gains if state.last_look else None
            return draw_settling(candidates, assigned, gains, coin)
        balanced_draw = draw_balanced(candidates, assigned, size, coin)
        return balanced_draw or draw_settling(candidates, assigned, None, coin)

    return draw_started_first(served, by_design)


def may_still_come(connection: Connection, seat: Seat, state: CampaignState) -> bool:
    """Returns whether a tuple lacks votes that a seat may still give, even if others hold it or the seat skipped it."""
    judged_rows = connection.execute(judged_battles(seat.voter)).all()
    cast = state.collected.cast
    if state.collected.given >= battle_spec(seat.campaign).stop.votes:
        return False
    lacking = replace(state.served, lacks_votes=cast < state.layout.wanted)
    taken = frozenset(ItemPair.of_row(row) for row in judged_rows)
    open_tuples = _open_to_worker(lacking, state.layout, taken, seat.campaign.spec)
    battles = [ItemPair.of_row(row) for row in judged_rows if row.seat_id == seat.id]
    return bool(open_tuples.tuples_left(_assigned_tuples(state.layout, battles)).any())


def _open_to_worker(
    served: Served, layout: Layout, taken: frozenset[ItemPair], spec: CampaignSpec
) -> Served:
    """Returns the served tuples that this worker may still judge.

    Tuples that the worker judged in any campaign are closed, and so are pairs that the worker has had often enough.
    """
    places = [place for battle in taken if (place := layout.place(battle))]
    if not places:
        return served
    lacks_votes = served.lacks_votes.copy()
    pairs, items = np.array(places).T
    lacks_votes[pairs, items] = False
    times_judged = np.bincount(pairs, minlength=len(lacks_votes))
    wanted_by_pair = layout.wanted.sum(1)
    wanted_pairs = max(1, np.count_nonzero(wanted_by_pair))
    most_votes = np.maximum(PAIR_SHARE * wanted_by_pair, ceil(2 * spec.seat.votes / wanted_pairs))
    lacks_votes[times_judged >= most_votes] = False
    return replace(served, lacks_votes=lacks_votes)


def _seat_battles(connection: Connection, seat: int) -> list[ItemPair]:
    """Returns all battles drawn for a seat, except checks."""
    query = select(BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
    query = query.where(BATTLE.c.seat_id == seat, BATTLE.c.draw != CHECK)
    return [ItemPair.of_row(row) for row in connection.execute(query)]


def _assigned_tuples(layout: Layout, battles: Sequence[ItemPair]) -> list[Assignment]:
    """Returns the battles by the layout's codes, except those that are none of its tuples."""
    assigned = []
    for battle in battles:
        if layout.place(battle) is not None:
            # Codes are in the order of ids, so that the lower model has the lower code.
            low = layout.model_code[battle.low]
            high = layout.model_code[battle.high]
            assigned.append(Assignment(low, high, layout.item_code[battle.item], 0.0))
    return assigned


def _sided(item: int, first: Contestant, second: Contestant, probability: float | None) -> Draw:
    """Returns a draw with both contestants on sides by lot."""
    sides = [first, second] if _COIN.random() < 0.5 else [second, first]
    a, b = sides
    return Draw(item, a.model, b.model, a.answer, b.answer, "campaign", probability)
