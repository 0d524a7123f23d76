"""Board statistics: intervals, rank ranges, Elo over orders and the fragility of the first place.

They take longer than a request may, so they are computed in the background from a board's votes. There are also
breakdowns: ratings at the end of each day, and in each family of instructions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Status, Strengths, bradley_terry, win_matrix
from arena.ratings.clusters import cluster_codes, has_several
from arena.ratings.elo_orders import EloOrders, elo_orders
from arena.ratings.fragility import fragility
from arena.ratings.intervals import Bounds, Intervals, intervals
from arena.ratings.lack_of_fit import LackOfFit, lack_of_fit
from arena.ratings.rank_sets import rank_sets
from arena.ratings.settled import LOOK_EVERY, Look, look
from arena.ratings.shares import Share, clustered_shares, design_effects
from arena.ratings.votes import Codes, Floats, Outcome, Votes, outcome_counts

FLOOR = 10
"""Votes below which a model's rating has no interval, and its mean win rate and share of left choices aren't shown."""
TRUSTED = 30
"""Votes below which a model's numbers are provisional."""
WIDE = 200.0
"""Half-width of an interval, in rating points, above which a model's numbers are provisional (odds of three to one)."""
ORDERS = 100
"""Orders of the votes for Elo's median."""
GROWTH = 0.01
"""The share that the votes must grow by before Elo is computed anew: its orders cost most and change least."""
SEED = 0
POINTS_IN_TIME = 30
"""The most days of a history."""


class BoardSample(NamedTuple):
    """The numbers of voters and of judged items that a board's votes name; imported votes may name neither."""

    voters: int
    busiest: int
    """The votes of the busiest voter."""
    items: int
    pictures: int
    """Pictures of the items; near copies count as one."""


@dataclass(frozen=True, eq=False)
class BoardVotes:
    """The votes of a board, each with its family; the winner is side a."""

    codes: tuple[int, ...]
    """The permanent codes of the models. `votes` has a model's place in them instead."""
    family: Codes
    left: np.ndarray
    """The mask of votes that the left answer won."""
    votes: Votes
    sample: BoardSample
    items_known: bool = True
    """Whether the item of every vote is known."""
    judged: bool = False
    """Whether a judge model cast them, not people."""

    def ties(self) -> Floats:
        """Returns the number of ties of each pair: models x models, symmetric."""
        ties = outcome_counts(self.votes)[Outcome.TIE]
        return ties + ties.T


class Overturn(NamedTuple):
    """The fewest votes that change the first place when removed; its holder and the next model, by code."""

    leader: int
    rival: int
    votes: int


class Takeover(NamedTuple):
    """The fewest new voters that put another model first by always choosing it; models by code."""

    leader: int
    rival: int
    voters: int
    is_noticed: bool
    """Whether the fraud tests find such a crowd, even if it votes from many places."""
    votes: int
    """Votes of the board."""


@dataclass(frozen=True, eq=False)
class AgainstReference:
    """The decided battles of each model with the reference, by the model's place in the statistics' codes."""

    effects: Floats
    """The factor by which the share that a model won varies more than if its battles were independent."""
    families: Mapping[int, Sequence[Share]]
    """By family, the shares that the models won of its battles, with intervals for new items and voters."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics of a board's votes, by place in `codes`."""

    codes: tuple[int, ...]
    votes: int
    clusters: int
    reach: Floats
    """The half-width of the ratings' intervals, clustered by picture, or by voter if that is wider."""
    for_new_voters: bool
    """Whether intervals are for new voters like these; otherwise they are for these voters only."""
    ranks: Bounds
    """The first and last possible place of each model, jointly; NaN for provisional models."""
    lack_of_fit: LackOfFit | None
    """The lack of fit by place; None if no pair can differ from Bradley-Terry."""
    elo: EloOrders
    elo_votes: int
    """The number of votes that `elo` was computed from."""
    sample: BoardSample
    overturn: Overturn | None
    left_effects: Floats
    """The factor by which a share won on the left varies more than if votes were independent.

    There is one for each model's share, by place, and a last one for the share of all votes.
    """
    against: AgainstReference | None
    """None if the reference has no battles."""
    board_votes: BoardVotes
    look: Look | None
    """The last look at the orders of all models, by place; None without a record, or if the votes can't settle any."""
    settled: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """By the codes of two models, the number of votes at which the first was settled above the second.

    From the board's record of settled orders, which the database keeps.
    """
    takeover: Takeover | None = None
    """None if it takes a majority, if fewer than two models have a rank, and on boards imported or without a record."""


@dataclass(frozen=True, eq=False)
class History:
    """Ratings at the end of chosen days, from all votes until then: days x models, NaN below the floor."""

    days: tuple[date, ...]
    codes: tuple[int, ...]
    ratings: Floats


@dataclass(frozen=True, eq=False)
class FamilyRatings:
    """Ratings from the votes on one family's items, by place; NaN below the floor or outside the largest group."""

    family: int
    ratings: Floats
    low: Floats
    high: Floats
    votes: Codes
    for_new_voters: bool
    """Whether the intervals are for new voters like these; otherwise they are for these voters only."""


def compute_statistics(
    board_votes: BoardVotes,
    before: Statistics | None,
    reference: int | None = None,
    models_ever: int | None = None,
) -> Statistics:
    """Computes a board's statistics; the Elo of `before` is kept while the votes hardly grow.

    `reference` is the code of the reference. `models_ever` is the number of models that the board ever had; None for a
    board without a record, which settles no orders.
    """
    fit = bradley_terry(win_matrix(board_votes.votes))
    bounds = intervals(fit, board_votes.votes, "picture")
    reach = (bounds.high - bounds.low) / 2
    votes = len(board_votes.votes)
    ranked = trusted_models(fit, reach)
    recent = before if before is not None and _is_elo_recent(before, board_votes) else None
    against = None
    if reference in board_votes.codes:
        against = against_reference(board_votes, board_votes.codes.index(reference))
    return Statistics(
        codes=board_votes.codes,
        votes=votes,
        clusters=bounds.clusters,
        reach=reach,
        for_new_voters=bounds.for_new_voters,
        ranks=rank_sets(fit, bounds, ranked),
        lack_of_fit=lack_of_fit(fit, board_votes.votes, "picture"),
        elo=recent.elo if recent else elo_orders(board_votes.votes, ORDERS, SEED),
        elo_votes=recent.elo_votes if recent else votes,
        sample=board_votes.sample,
        overturn=_overturn(fit, board_votes, ranked),
        left_effects=_left_effects(board_votes),
        against=against,
        board_votes=board_votes,
        look=_look(fit, bounds, board_votes, before, models_ever),
    )


def _is_elo_recent(before: Statistics, board_votes: BoardVotes) -> bool:
    """Whether the Elo of `before` is of the same models and of almost as many votes."""
    votes = len(board_votes.votes)
    has_changed = abs(votes - before.elo_votes) >= GROWTH * votes
    return before.codes == board_votes.codes and not has_changed


def trusted_models(fit: Strengths, reach: Floats) -> np.ndarray:
    """Returns the mask of models with a rating that isn't provisional, by the half-width of their intervals."""
    rated = np.array([status is Status.RATED for status in fit.statuses], bool)
    return rated & ((fit.wins + fit.wins.T).sum(1) >= TRUSTED) & (reach <= WIDE)


def _look(
    fit: Strengths,
    bounds: Intervals,
    board_votes: BoardVotes,
    before: Statistics | None,
    models_ever: int | None,
) -> Look | None:
    """Returns a look at the orders of all pairs: the last one, or a new one every LOOK_EVERY votes.

    A look is also new if the models have changed or votes were removed.
    """
    # Orders have to hold for other items and voters too, except that a judge's votes have no other voters.
    can_settle = board_votes.items_known and (bounds.for_new_voters or board_votes.judged)
    if models_ever is None or not can_settle:
        return None
    votes = len(board_votes.votes)
    is_same = before is not None and before.codes == board_votes.codes and before.votes <= votes
    last = before.look if before and is_same else None
    is_due = last is None or last.votes // LOOK_EVERY != votes // LOOK_EVERY
    if not is_due:
        return last
    return look(fit, bounds, board_votes.votes, models_ever, judged=board_votes.judged)


def _overturn(fit: Strengths, board_votes: BoardVotes, ranked: np.ndarray) -> Overturn | None:
    """Returns the votes that overturn the first place among the models with a rank."""
    places = np.flatnonzero(ranked)
    codes = board_votes.codes
    grid = np.ix_(places, places)
    change = fragility(bradley_terry(fit.wins[grid]), board_votes.ties()[grid])
    if change is None:
        return None
    return Overturn(
        leader=codes[places[change.leader]],
        rival=codes[places[change.rival]],
        votes=change.votes,
    )


def _by_voter(board_votes: BoardVotes, votes: Votes) -> list[Codes]:
    """Returns a list with the clustering by voter of `votes`, which are some of the board's.

    The list is empty if the board's voters are unknown, or there is only one.
    """
    return [cluster_codes(votes, "voter")] if has_several(board_votes.votes.voters) else []


def _left_effects(board_votes: BoardVotes) -> Floats:
    """Returns the design effects of the shares won on the left, since a voter may prefer a side.

    There is one for each model, and a last one for all votes.
    """
    decided = np.flatnonzero(board_votes.votes.outcome != Outcome.TIE)
    votes = board_votes.votes.take(decided)
    left = board_votes.left[decided]
    models = len(board_votes.codes)
    # Each vote is in three shares: of either model, and of all votes, which have the place after the models.
    cells = np.concatenate([votes.a, votes.b, np.full(len(votes), models)])
    voters = [np.tile(codes, 3) for codes in _by_voter(board_votes, votes)]
    return design_effects(np.tile(left, 3), cells, models + 1, voters)


def against_reference(board_votes: BoardVotes, reference_place: int) -> AgainstReference:
    """Returns the shares won against the model at this place."""
    decided = _decided_battles(board_votes.votes, reference_place)
    votes = board_votes.votes.take(np.flatnonzero(decided))
    models = len(board_votes.codes)
    lost = votes.a == reference_place  # The winner is side a.
    opponent = np.where(lost, votes.b, votes.a)
    clusters = [cluster_codes(votes, "picture"), *_by_voter(board_votes, votes)]
    family_codes, family = np.unique(board_votes.family[decided], return_inverse=True)
    # A cell for each family and model, row by row: families x models.
    cell = family * models + opponent
    cells = len(family_codes) * models
    family_shares = clustered_shares(~lost, cell, cells, clusters)
    by_family = {}
    for row, code in enumerate(family_codes.tolist()):
        by_family[code] = family_shares[row * models : (row + 1) * models]
    return AgainstReference(design_effects(~lost, opponent, models, clusters), by_family)


def shares_of(board_votes: BoardVotes, model: int, group: Codes, groups: int) -> list[Share]:
    """Returns the shares that the model at place `model` won of its decided battles, one for each group.

    `group` is the group of each of the board's votes, from 0; `groups` is the number of groups.
    """
    decided = _decided_battles(board_votes.votes, model)
    votes = board_votes.votes.take(np.flatnonzero(decided))
    won = votes.a == model  # The winner is side a.
    clusters = [cluster_codes(votes, "picture"), *_by_voter(board_votes, votes)]
    return clustered_shares(won, group[decided], groups, clusters)


def _decided_battles(votes: Votes, model: int) -> np.ndarray:
    """Returns the mask of a model's battles that have a winner; `model` is its place."""
    return ((votes.a == model) | (votes.b == model)) & (votes.outcome != Outcome.TIE)


def history(days: Sequence[date], codes: Sequence[int], wins: Floats) -> History:
    """Returns the ratings at the end of each day, from the wins since the day before (days x models x models)."""
    ratings = [_comparable_ratings(bradley_terry(total)) for total in np.cumsum(wins, axis=0)]
    shape = (len(days), len(codes))  # Without days, the array would have one dimension only.
    return History(tuple(days), tuple(codes), np.array(ratings).reshape(shape))


def family_ratings(board_votes: BoardVotes) -> tuple[FamilyRatings, ...]:
    """Returns the models' ratings in each family, with intervals as on the board."""
    return tuple(
        _family(board_votes.votes.take(board_votes.family == family), int(family))
        for family in np.unique(board_votes.family)
    )


def _family(votes: Votes, family: int) -> FamilyRatings:
    fit = bradley_terry(win_matrix(votes))
    ratings = _comparable_ratings(fit)
    bounds = intervals(fit, votes, "picture")
    reach = (bounds.high - bounds.low) / 2
    played = (fit.wins + fit.wins.T).sum(1).astype(np.int64)
    # The intervals are those of `bounds`, except that a model below the floor has none.
    return FamilyRatings(
        family=family,
        ratings=ratings,
        low=ratings - reach,
        high=ratings + reach,
        votes=played,
        for_new_voters=bounds.for_new_voters,
    )


def _comparable_ratings(fit: Strengths) -> Floats:
    """Returns the ratings of the largest group of comparable models; NaN for others, and below the floor."""
    enough = (fit.wins + fit.wins.T).sum(1) >= FLOOR
    return np.where(enough & (fit.components == 0), fit.ratings, np.nan)
