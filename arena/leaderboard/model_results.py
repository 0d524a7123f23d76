"""Model results: one model's wins and losses on a board, in all, by family, against each other model, and by item."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from arena.leaderboard.board import Board, Standing
from arena.leaderboard.statistics import shares_of
from arena.ratings.shares import Share
from arena.ratings.votes import Outcome

LEAST_VOTES = 2
"""Votes on an item from which on it may be among the best or the worst."""
MOST_ITEMS = 3


class ItemShare(NamedTuple):
    """A model's share of the votes on one item."""

    item: int
    share: Share


@dataclass(frozen=True)
class ModelResults:
    """What a board's votes tell of one model; shares are of its decided battles."""

    standing: Standing
    wins: int
    losses: int
    families: Mapping[str, Share]
    opponents: Mapping[str, Share]
    """By the other model's name, in the board's order."""
    best: tuple[ItemShare, ...]
    worst: tuple[ItemShare, ...]
    votes: int
    """Votes of the board that families, opponents and items are of: 0 until its statistics are there."""


def model_results(board: Board, model: str, families: Mapping[int, str]) -> ModelResults | None:
    """Returns a model's results; None where it is not on the board. `families` are names by code."""
    line = next((line for line in board.standings if line.model == model), None)
    if line is None:
        return None
    place = board.counts.places[line.code]
    decided = board.counts.decided
    found = ModelResults(
        line, int(decided[place].sum()), int(decided[:, place].sum()), {}, {}, (), (), 0
    )
    return _with_statistics(found, board, families)


def _with_statistics(
    found: ModelResults, board: Board, families: Mapping[int, str]
) -> ModelResults:
    statistics = board.statistics
    code = found.standing.code
    if statistics is None or code not in statistics.codes:
        return found
    cast = statistics.of
    place = statistics.codes.index(code)
    names, family = np.unique(cast.family, return_inverse=True)
    of_families = dict(zip(names.tolist(), shares_of(cast, place, family, len(names)), strict=True))
    other = np.where(cast.votes.a == place, cast.votes.b, cast.votes.a)
    against = dict(
        zip(statistics.codes, shares_of(cast, place, other, len(statistics.codes)), strict=True)
    )
    best, worst = _extremes(board, place)
    return replace(
        found,
        families={
            families[one]: share
            for one, share in of_families.items()
            if one in families and share.n
        },
        opponents={
            line.model: against[line.code]
            for line in board.standings
            if against.get(line.code, _NONE).n
        },
        best=best,
        worst=worst,
        votes=statistics.votes,
    )


_NONE = Share(0, 0, 0.0, 1.0)


def _extremes(board: Board, place: int) -> tuple[tuple[ItemShare, ...], tuple[ItemShare, ...]]:
    """Returns the items that it surely does best on, and worst: by the nearer end of each share's interval."""
    assert board.statistics is not None
    cast = board.statistics.of
    votes = cast.votes
    if votes.items is None:
        return (), ()
    mine = (
        ((votes.a == place) | (votes.b == place))
        & (votes.outcome != Outcome.TIE)
        & (votes.items > 0)
    )
    items, item = np.unique(np.where(mine, votes.items, 0), return_inverse=True)
    found = [
        ItemShare(code, share)
        for code, share in zip(
            items.tolist(), shares_of(cast, place, item, len(items)), strict=True
        )
        if code and share.n >= LEAST_VOTES
    ]
    best = sorted(
        (one for one in found if 2 * one.share.hits > one.share.n), key=lambda one: -one.share.low
    )
    worst = sorted(
        (one for one in found if 2 * one.share.hits < one.share.n), key=lambda one: one.share.high
    )
    return tuple(best[:MOST_ITEMS]), tuple(worst[:MOST_ITEMS])
