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
from arena.ratings.clusters import are_several, cluster_codes
from arena.ratings.elo_orders import EloOrders, elo_orders
from arena.ratings.fragility import fragility
from arena.ratings.intervals import Bounds, Intervals, intervals
from arena.ratings.lack_of_fit import LackOfFit, lack_of_fit
from arena.ratings.rank_sets import rank_sets
from arena.ratings.settled import LOOK_EVERY, Look, look
from arena.ratings.shares import Share, clustered_shares, design_effects
from arena.ratings.votes import Codes, Floats, Outcome, Votes, outcome_counts

FLOOR = 10
"""Votes below which a model gets no numbers but its counts and its Elo."""
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


class Crowd(NamedTuple):
    """The number of named voters and of judged items."""

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
    """Models, by place in `votes`."""
    family: Codes
    left: np.ndarray
    """The mask of votes that the left answer won."""
    votes: Votes
    crowd: Crowd
    items_known: bool = True
    """Whether the item of every vote is known."""
    judged: bool = False
    """Whether a judge model cast them, not people."""

    def ties(self) -> Floats:
        """Returns the votes of each pair without a winner: models x models, symmetric."""
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
    """The models' shares of their decided battles with the reference, by place in the statistics' codes."""

    effects: Floats
    """The factor by which each share varies more than if its battles were independent."""
    families: Mapping[int, Sequence[Share]]
    """Shares with intervals for new items and voters, by family."""


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
    crowd: Crowd
    overturn: Overturn | None
    left_effects: Floats
    """The factor by which the shares won on the left vary more than if votes were independent, by place; the last
    one is for all votes.
    """
    against: AgainstReference | None
    """None if the reference has no battles."""
    of: BoardVotes
    look: Look | None
    """The last look at the orders of all models, by place; None without a record, or if items or voters are unknown."""
    settled: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """The board's votes when the first model, by code, was settled above the second, from its record."""
    takeover: Takeover | None = None
    """The takeover; None as in `takeover`, and also if voting has ended, and on narrowed boards."""


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


def compute_statistics(
    cast: BoardVotes,
    before: Statistics | None,
    reference: int | None = None,
    ever: int | None = None,
) -> Statistics:
    """Computes a board's statistics; the Elo of `before` is kept while the votes hardly grow.

    `reference` is the code of the reference; `ever` the number of models that the board ever had, None if orders are
    not settled.
    """
    fit = bradley_terry(win_matrix(cast.votes))
    bounds = intervals(fit, cast.votes, "picture")
    reach = (bounds.high - bounds.low) / 2
    votes = len(cast.votes)
    ranked = trusted_models(fit, reach)
    keeps = (
        before is not None
        and before.codes == cast.codes
        and abs(votes - before.elo_votes) < GROWTH * votes
    )
    return Statistics(
        codes=cast.codes,
        votes=votes,
        clusters=bounds.clusters,
        reach=reach,
        for_new_voters=bounds.for_new_voters,
        ranks=rank_sets(fit, bounds, ranked),
        lack_of_fit=lack_of_fit(fit, cast.votes, "picture"),
        elo=before.elo if before and keeps else elo_orders(cast.votes, ORDERS, SEED),
        elo_votes=before.elo_votes if before and keeps else votes,
        crowd=cast.crowd,
        overturn=_overturn(fit, cast, ranked),
        left_effects=_left_effects(cast),
        against=against_reference(cast, cast.codes.index(reference))
        if reference in cast.codes
        else None,
        of=cast,
        look=_look(fit, bounds, cast, before, ever),
    )


def trusted_models(fit: Strengths, reach: Floats) -> np.ndarray:
    """Returns the mask of models with a rating that isn't provisional, by the half-width of their intervals."""
    rated = np.array([status is Status.RATED for status in fit.statuses], bool)
    return rated & ((fit.wins + fit.wins.T).sum(1) >= TRUSTED) & (reach <= WIDE)


def _look(
    fit: Strengths, bounds: Intervals, cast: BoardVotes, before: Statistics | None, ever: int | None
) -> Look | None:
    """Looks at the orders of all pairs, anew only every LOOK_EVERY votes or among other models."""
    tells = cast.items_known and (bounds.for_new_voters or cast.judged)
    if ever is None or not tells:
        return None
    last = before.look if before and before.codes == cast.codes else None
    is_due = last is None or last.votes // LOOK_EVERY != len(cast.votes) // LOOK_EVERY
    return look(fit, bounds, cast.votes, ever, judged=cast.judged) if is_due else last


def _overturn(fit: Strengths, cast: BoardVotes, ranked: np.ndarray) -> Overturn | None:
    """Returns the votes that overturn the first place among the models with a rank."""
    places = np.flatnonzero(ranked)
    codes = cast.codes
    grid = np.ix_(places, places)
    change = fragility(bradley_terry(fit.wins[grid]), cast.ties()[grid])
    return change and Overturn(
        codes[places[change.leader]], codes[places[change.rival]], change.votes
    )


def _by_voter(cast: BoardVotes, votes: Votes) -> list[Codes]:
    """Returns the voters of some of a board's votes as clusters; empty if the board has too few voters."""
    return [cluster_codes(votes, "voter")] if are_several(cast.votes.voters) else []


def _left_effects(cast: BoardVotes) -> Floats:
    """Returns the design effects for each model and for all votes, since a voter may prefer a side."""
    decided = np.flatnonzero(cast.votes.outcome != Outcome.TIE)
    votes = cast.votes.take(decided)
    left = cast.left[decided]
    models = len(cast.codes)
    cells = np.concatenate([votes.a, votes.b, np.full(len(votes), models)])
    voters = [np.tile(codes, 3) for codes in _by_voter(cast, votes)]
    return design_effects(np.tile(left, 3), cells, models + 1, voters)


def against_reference(cast: BoardVotes, reference: int) -> AgainstReference:
    """Returns the shares won against the model at place `reference`."""
    met = ((cast.votes.a == reference) | (cast.votes.b == reference)) & (
        cast.votes.outcome != Outcome.TIE
    )
    votes = cast.votes.take(np.flatnonzero(met))
    models = len(cast.codes)
    lost = votes.a == reference  # side a won
    model = np.where(lost, votes.b, votes.a)
    clusters = [cluster_codes(votes, "picture"), *_by_voter(cast, votes)]
    families, family = np.unique(cast.family[met], return_inverse=True)
    cell = family * models + model
    cells = len(families) * models
    rates = clustered_shares(~lost, cell, cells, clusters)
    of_families = {}
    for row, code in enumerate(families.tolist()):
        of_families[code] = rates[row * models : (row + 1) * models]
    return AgainstReference(design_effects(~lost, model, models, clusters), of_families)


def shares_of(cast: BoardVotes, model: int, group: Codes, groups: int) -> list[Share]:
    """Returns the shares of its decided battles that the model at this place won, by the group of each vote."""
    decided = ((cast.votes.a == model) | (cast.votes.b == model)) & (
        cast.votes.outcome != Outcome.TIE
    )
    votes = cast.votes.take(np.flatnonzero(decided))
    cell = group[decided]
    won = votes.a == model  # The winner is side a.
    clusters = [cluster_codes(votes, "picture"), *_by_voter(cast, votes)]
    return clustered_shares(won, cell, groups, clusters)


def history(days: Sequence[date], codes: Sequence[int], wins: Floats) -> History:
    """Returns the ratings at the end of each day, from the wins since the day before (days x models x models)."""
    ratings = [_largest_group(bradley_terry(total)) for total in np.cumsum(wins, axis=0)]
    return History(tuple(days), tuple(codes), np.array(ratings).reshape(len(days), len(codes)))


def family_ratings(cast: BoardVotes) -> tuple[FamilyRatings, ...]:
    """Returns the models' ratings in each family, with intervals as on the board."""
    return tuple(
        _family(cast.votes.take(cast.family == family), int(family))
        for family in np.unique(cast.family)
    )


def _family(votes: Votes, family: int) -> FamilyRatings:
    fit = bradley_terry(win_matrix(votes))
    ratings = _largest_group(fit)
    bounds = intervals(fit, votes, "picture")
    reach = (bounds.high - bounds.low) / 2
    played = (fit.wins + fit.wins.T).sum(1).astype(np.int64)
    return FamilyRatings(family, ratings, ratings - reach, ratings + reach, played)


def _largest_group(fit: Strengths) -> Floats:
    enough = (fit.wins + fit.wins.T).sum(1) >= FLOOR
    return np.where(enough & (fit.components == 0), fit.ratings, np.nan)
