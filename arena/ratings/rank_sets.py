"""Rank sets: the possible places of all models of a board, jointly (Mogstad, Romano, Shaikh and Wilhelm 2024).

A model is surely above another if the difference of their ratings is beyond chance for any pair of this many models:
Tukey's studentised range, for differences with unequal variances (Kramer 1956). The places then run from one after the
models surely above to one before those surely below. All true ranks are in their sets in at least LEVEL of boards.
"""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.intervals import LEVEL, NORMAL_QUANTILE, Bounds, Intervals, student_quantile
from arena.ratings.votes import Codes, Floats

STEP = 0.005
END = 9.0
"""STEP, END: the step and the end of the grid that integrates the studentised range, in standard errors."""
NEARLY_NORMAL = 2000.0
"""The fewest degrees of freedom for which Student's quantile is taken as the normal's, even far out."""


def sets_around(ranks: Codes, sets: Bounds) -> Bounds:
    """Widens rank sets to include the board's ranks, which follow another rule: they compare intervals."""
    return Bounds(low=np.minimum(ranks, sets.low), high=np.maximum(ranks, sets.high))


def rank_sets(fit: Strengths, intervals: Intervals, among: np.ndarray | None = None) -> Bounds:
    """Returns the first and last possible place of each model among comparable ones; NaN for a model without a rating.

    `among`: the mask of models that take part; the others have NaN too.
    """
    takes_part = ~np.isnan(fit.ratings)
    if among is not None:
        takes_part &= among
    rivals = fit.comparable & takes_part[:, None] & takes_part[None, :]
    # The number of models that a model is compared with, itself included.
    members = rivals.sum(1)
    reach = np.zeros(len(members))
    for number in np.unique(members[members > 1]).tolist():
        of_size = members == number
        reach[of_size] = _student_reach(intervals.freedom[of_size], range_quantile(number))
    variances = intervals.covariance.diagonal()
    variance = variances[:, None] + variances[None, :] - 2 * intervals.covariance
    variance = np.maximum(variance, 0)
    gap = fit.ratings[:, None] - fit.ratings[None, :]
    # A pair's gap has to be beyond chance for the model with the longer reach.
    pair_reach = np.maximum(reach[:, None], reach[None, :])
    above = (gap > 0) & (gap > pair_reach * np.sqrt(variance)) & rivals
    return Bounds(
        low=np.where(takes_part, 1.0 + above.sum(0), np.nan),
        high=np.where(takes_part, members - above.sum(1), np.nan).astype(np.float64),
    )


@lru_cache(maxsize=1024)
def range_quantile(models: int) -> float:
    """Returns the standard errors of a difference that no pair of this many equal models exceeds in LEVEL of boards.

    The range of independent normals is below w with probability n * integral of phi(z) (Phi(z) - Phi(z - w))^(n-1).
    """
    normal = NormalDist()
    grid = np.arange(-END, END, STEP)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    below = np.array([normal.cdf(z) for z in grid.tolist()])
    # Bisects the range w, in steps of the grid.
    low = 0
    high = len(grid) - 1
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
    """Returns the standard errors for models of these degrees of freedom, as `normal` is for infinitely many.

    The variances were widened for the intervals, by the ratio of Student's quantile to the normal's. So Student's
    quantile, as far out as `normal` is, is divided by that ratio.
    """
    has_student = freedom < NEARLY_NORMAL
    if not has_student.any():
        return np.full(len(freedom), normal)
    from scipy.special import stdtrit

    student_freedom = np.where(has_student, freedom, NEARLY_NORMAL)
    tail = 1 - NormalDist().cdf(normal)
    student = -stdtrit(student_freedom, tail)
    # It takes numbers of clusters, which are one more.
    interval_student = student_quantile(student_freedom + 1)
    return np.where(has_student, NORMAL_QUANTILE * student / interval_student, normal)
