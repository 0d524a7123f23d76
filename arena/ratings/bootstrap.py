"""Score bootstrap: draws of Bradley-Terry ratings and ranks, as sure and as linked as the intervals say.

Each draw gives every cluster's score a normal weight (Kline and Santos 2012), which moves the ratings by a normal with
the covariance of the intervals.
"""

from dataclasses import dataclass

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.intervals import LEVEL, Bounds, Intervals
from arena.ratings.votes import Codes, Floats


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Draws of a fit's ratings."""

    ratings: Floats
    """Rounds x models."""
    components: Codes

    def rank_bounds(self, among: np.ndarray | None = None) -> Bounds:
        """Percentile bounds of each model's rank among the comparable ones (of a mask); NaN without a number."""
        rank = np.full_like(self.ratings, np.nan)
        for component in np.unique(self.components):
            numbered = ~np.isnan(self.ratings[0]) & (True if among is None else among)
            members = np.flatnonzero((self.components == component) & numbered)
            rank[:, members] = len(members) - self.ratings[:, members].argsort(1).argsort(1)
        bounds = (1 - LEVEL) / 2, (1 + LEVEL) / 2
        low, high = np.quantile(rank, bounds, axis=0, method="inverted_cdf")
        return Bounds(low, high)


def bootstrap(fit: Strengths, found: Intervals, rounds: int, seed: int) -> Bootstrap:
    """Draw ratings around a fit's, spread like its intervals."""
    if rounds < 1:
        raise ValueError("a bootstrap takes at least one round")
    size, direction = np.linalg.eigh(found.covariance)
    normal = np.random.default_rng(seed).standard_normal((rounds, len(size)))
    moved = normal * np.sqrt(np.maximum(size, 0)) @ direction.T
    return Bootstrap(fit.ratings + moved, fit.components)
