"""Model results: a model's wins and losses on a board, in all, by family, by opponent and by item."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from arena.leaderboard.board import Board, Standing
from arena.leaderboard.statistics import shares_of
from arena.ratings.shares import Share
from arena.ratings.votes import Outcome

LEAST_VOTES = 2
"""The fewest votes on an item among a model's best or worst."""
MOST_ITEMS = 3


class ItemShare(NamedTuple):
    """A model's share of the votes on one item."""

    item: int
    share: Share


@dataclass(frozen=True)
class ModelResults:
    """The results of a model on a board; shares are of its decided battles."""

    standing: Standing
    wins: int
    losses: int
    families: Mapping[str, Share]
    """The shares by family name."""
    opponents: Mapping[str, Share]
    """The shares by the other model's name, in the board's order."""
    best: tuple[ItemShare, ...]
    worst: tuple[ItemShare, ...]
    votes: int
    """The board's votes that families, opponents and items are computed from; 0 until it has statistics."""


def model_results(board: Board, model: str, families: Mapping[int, str]) -> ModelResults | None:
    """Returns a model's results; None if it is not on the board. `families` are names by code."""
    line = next((line for line in board.standings if line.model == model), None)
    if line is None:
        return None
    place = board.counts.places[line.code]
    decided = board.counts.decided
    results = ModelResults(
        standing=line,
        wins=int(decided[place].sum()),
        losses=int(decided[:, place].sum()),
        families={},
        opponents={},
        best=(),
        worst=(),
        votes=0,
    )
    return _with_statistics(results, board, families)


def _with_statistics(
    results: ModelResults, board: Board, families: Mapping[int, str]
) -> ModelResults:
    statistics = board.statistics
    code = results.standing.code
    if statistics is None or code not in statistics.codes:
        return results
    board_votes = statistics.board_votes
    place = statistics.codes.index(code)
    family_codes, family_of_vote = np.unique(board_votes.family, return_inverse=True)
    family_shares = shares_of(board_votes, place, family_of_vote, len(family_codes))
    by_family = dict(zip(family_codes.tolist(), family_shares, strict=True))
    votes = board_votes.votes
    opponent_of_vote = np.where(votes.a == place, votes.b, votes.a)
    opponent_shares = shares_of(board_votes, place, opponent_of_vote, len(statistics.codes))
    by_opponent = dict(zip(statistics.codes, opponent_shares, strict=True))
    opponents = {}
    for line in board.standings:
        share = by_opponent.get(line.code)
        if share is not None and share.n:
            opponents[line.model] = share
    extremes = _extremes(board, place)
    return replace(
        results,
        families={
            families[family]: share
            for family, share in by_family.items()
            if family in families and share.n
        },
        opponents=opponents,
        best=extremes.best,
        worst=extremes.worst,
        votes=statistics.votes,
    )


class _ExtremeItems(NamedTuple):
    """A model's items with its best and its worst shares."""

    best: tuple[ItemShare, ...] = ()
    worst: tuple[ItemShare, ...] = ()


def _extremes(board: Board, place: int) -> _ExtremeItems:
    """Returns the items with the best shares, by their lower ends, and with the worst ones, by their upper ends."""
    assert board.statistics is not None
    board_votes = board.statistics.board_votes
    votes = board_votes.votes
    if votes.items is None:
        return _ExtremeItems()
    is_of_model = (votes.a == place) | (votes.b == place)
    is_decided = votes.outcome != Outcome.TIE
    # Votes that don't count here get item 0, as do those on unknown items, which have codes below 0.
    counted_items = np.where(is_of_model & is_decided & (votes.items > 0), votes.items, 0)
    item_codes, item_of_vote = np.unique(counted_items, return_inverse=True)
    shares = shares_of(board_votes, place, item_of_vote, len(item_codes))
    candidates = [
        ItemShare(item, share)
        for item, share in zip(item_codes.tolist(), shares, strict=True)
        if item and share.n >= LEAST_VOTES
    ]
    won = [item for item in candidates if 2 * item.share.hits > item.share.n]
    lost = [item for item in candidates if 2 * item.share.hits < item.share.n]
    won.sort(key=lambda item: -item.share.low)
    lost.sort(key=lambda item: item.share.high)
    return _ExtremeItems(best=tuple(won[:MOST_ITEMS]), worst=tuple(lost[:MOST_ITEMS]))
