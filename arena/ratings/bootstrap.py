"""Score bootstrap: draws of Bradley-Terry ratings, as sure and as linked as the intervals say.

Each draw gives every cluster's score a normal weight (Kline and Santos 2012), which moves the ratings by a normal with
the covariance of the intervals.
"""

from dataclasses import dataclass

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.intervals import Intervals
from arena.ratings.votes import Floats


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Draws of a fit's ratings."""

    ratings: Floats
    """Rounds x models."""


def bootstrap(fit: Strengths, intervals: Intervals, rounds: int, seed: int) -> Bootstrap:
    """Draws ratings around a fit's, spread like its intervals."""
    if rounds < 1:
        raise ValueError("a bootstrap takes at least one round")
    size, direction = np.linalg.eigh(intervals.covariance)
    normal = np.random.default_rng(seed).standard_normal((rounds, len(size)))
    moved = normal * np.sqrt(np.maximum(size, 0)) @ direction.T
    return Bootstrap(fit.ratings + moved)
