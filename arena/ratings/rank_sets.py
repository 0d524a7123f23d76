"""Rank sets: the places that each model may have, all of a board at once (Mogstad, Romano, Shaikh and Wilhelm 2024).

A model is surely above another if the difference of their ratings is beyond what chance makes of any pair among so many
models: Tukey's studentised range, for differences whose variances differ (Kramer 1956). Places then run from one after
the models surely above to one before those surely below. All true ranks lie in their sets in at least LEVEL of boards.
"""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.intervals import LEVEL, NORMAL, Bounds, Intervals, student_quantile
from arena.ratings.votes import Codes, Floats

STEP = 0.005
"""Step of the grid on which the studentised range is integrated, in standard errors."""
END = 9.0
NEARLY_NORMAL = 2000.0
"""Degrees of freedom from which Student's quantile is the normal's, far out too."""


def sets_around(ranks: Codes, sets: Bounds) -> Bounds:
    """Widen rank sets to include ranks, which count only the models whose intervals lie above."""
    return Bounds(low=np.minimum(ranks, sets.low), high=np.maximum(ranks, sets.high))


def rank_sets(fit: Strengths, found: Intervals, among: np.ndarray | None = None) -> Bounds:
    """First and last place that each model may have among the comparable ones (of a mask); NaN without a number."""
    numbered = ~np.isnan(fit.ratings) & (True if among is None else among)
    rivals = fit.comparable & numbered[:, None] & numbered[None, :]
    members = rivals.sum(1)
    reach = np.zeros(len(members))
    for number in np.unique(members[members > 1]).tolist():
        those = members == number
        reach[those] = _student_reach(found.freedom[those], range_quantile(number))
    own = found.covariance.diagonal()
    variance = np.maximum(own[:, None] + own[None, :] - 2 * found.covariance, 0)
    gap = fit.ratings[:, None] - fit.ratings[None, :]
    least = np.maximum(reach[:, None], reach[None, :])
    above = (gap > 0) & (gap > least * np.sqrt(variance)) & rivals
    return Bounds(
        low=np.where(numbered, 1.0 + above.sum(0), np.nan),
        high=np.where(numbered, members - above.sum(1), np.nan).astype(np.float64),
    )


@lru_cache(maxsize=1024)
def range_quantile(models: int) -> float:
    """Standard errors of a difference within which all pairs of so many equal models stay in LEVEL of boards.

    The range of independent normals lies below w with probability n * integral of phi(z) (Phi(z) - Phi(z - w))^(n-1).
    """
    normal = NormalDist()
    places = np.arange(-END, END, STEP)
    density = np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)
    below = np.array([normal.cdf(place) for place in places.tolist()])
    low = 0
    high = len(places) - 1
    while high - low > 1:
        steps = (low + high) // 2
        shifted = np.concatenate([np.zeros(steps), below[:-steps]])
        inside = models * STEP * float((density * (below - shifted) ** (models - 1)).sum())
        if inside < LEVEL:
            low = steps
        else:
            high = steps
    return float(high * STEP / np.sqrt(2))


def _student_reach(freedom: Floats, normal: float) -> Floats:
    """Reach for variances of which the intervals' own Student's quantile is a part already."""
    several = freedom < NEARLY_NORMAL
    if not several.any():
        return np.full(len(freedom), normal)
    from scipy.special import stdtrit

    of_few = np.where(several, freedom, NEARLY_NORMAL)
    tail = 1 - NormalDist().cdf(normal)
    far = -stdtrit(of_few, tail)
    near = student_quantile(of_few + 1)
    return np.where(several, NORMAL * far / near, normal)
