"""Board breakdowns: ratings at the end of each day, and in each family of instructions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from arena.leaderboard.statistics import FLOOR, Tuples
from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.intervals import cluster_intervals
from arena.ratings.votes import Codes, Floats

POINTS_IN_TIME = 30


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


def history(days: Sequence[date], codes: Sequence[int], wins: Floats) -> History:
    """Return the ratings after each of at most POINTS_IN_TIME days, from the wins of each (days x models x models)."""
    total = np.cumsum(wins, axis=0)
    chosen = np.unique(np.linspace(0, len(days) - 1, min(len(days), POINTS_IN_TIME)).round().astype(int))
    ratings = [_largest_group(bradley_terry(total[place])) for place in chosen]
    shape = len(chosen), len(codes)
    return History(tuple(days[place] for place in chosen), tuple(codes), np.array(ratings).reshape(shape))


def family_ratings(tuples: Tuples) -> tuple[FamilyRatings, ...]:
    """Return the models' ratings in each family, with intervals clustered by (item, pair) tuple."""
    return tuple(_family(tuples, int(family)) for family in np.unique(tuples.family))


def _family(tuples: Tuples, family: int) -> FamilyRatings:
    clusters = tuples.clusters(tuples.family == family)
    fit = bradley_terry(clusters.win_matrix())
    ratings = _largest_group(fit)
    found = cluster_intervals(fit, clusters)
    reach = (found.high - found.low) / 2
    votes = (fit.wins + fit.wins.T).sum(1).astype(np.int64)
    return FamilyRatings(family, ratings, ratings - reach, ratings + reach, votes)


def _largest_group(fit: Strengths) -> Floats:
    enough = (fit.wins + fit.wins.T).sum(1) >= FLOOR
    return np.where(enough & (fit.components == 0), fit.ratings, np.nan)
