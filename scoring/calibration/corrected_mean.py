"""Corrected mean: the mean that people would have given to all answers, out of a judge's scores of all and few marks.

Prediction-powered inference for a finite set (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023; PPI++:
Angelopoulos, Duchi and Zrnic 2023), a difference estimator of survey sampling (Saerndal, Swensson and Wretman 1992,
chapter 6): the judge's mean at weight lam, plus the mean of what marks leave over, mark - lam * score. Its variance is
that of the draw, stratum by stratum: (1 - n/N) s^2 / n.

A good judge breaks the plain interval: where errors are rare, few marks show none, and s^2 is near 0; so do marks that
are all alike. Two pseudo-residuals of +-PSEUDO are therefore added to s^2 once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.intervals import LEVEL
from arena.ratings.votes import Codes, Floats
from scoring.calibration.measures import Interval, MarksError

PSEUDO = 0.3
FOLDS = 5
LEAST = 5
"""Marks below which there is no corrected mean."""
LEAST_OF_GROUP = 20
"""Marks of a capability below which it has none."""


@dataclass(frozen=True, eq=False)
class MarkedScores:
    """A judge's scores of all N answers, and people's marks of some of them."""

    scores: Floats
    """Of all answers."""
    marked: Codes
    """Places of the marked answers."""
    marks: Floats
    """Of the marked answers, in the order of `marked`."""
    strata: Codes | None = None
    """Stratum of every answer: within one, each answer was as likely to be marked. None: one stratum."""


class CorrectedMean(NamedTuple):
    """What is known of the mean mark of all answers."""

    judge: float
    """Mean of the judge's scores."""
    corrected: Interval
    alone: Interval
    """From the marks alone."""
    marks: int
    worth: float
    """Number of marks, of at most all answers, that would say as much without the judge."""

    @property
    def is_whole(self) -> bool:
        """Whether every answer is marked, which leaves nothing to estimate."""
        return self.alone.half_width == 0


def corrected_mean(
    known: MarkedScores, seed: int = 0, lam: float | None = None, pseudo: float = PSEUDO
) -> CorrectedMean:
    """Estimate the mean mark of all answers; `lam`: None for that of PPI++. Raises MarksError below LEAST marks."""
    n = len(known.marks)
    if n < LEAST:
        raise MarksError(f"{n} marks; a corrected mean takes {LEAST} or more")
    score = known.scores[known.marked]
    groups = _groups(known)
    weights = _crossed_weights(known, score, seed) if lam is None else np.full(n, lam)
    rest = known.marks - weights * score
    value = float(weights.mean()) * float(known.scores.mean()) + _stratified(groups, rest)
    alone = _interval(_stratified(groups, known.marks), _variance(groups, known.marks, pseudo), n)
    corrected = (
        alone if n == len(known.scores) else _interval(value, _variance(groups, rest, pseudo), n)
    )
    return CorrectedMean(
        float(known.scores.mean()), corrected, alone, n, _worth(known, corrected, alone)
    )


def difference(one: MarkedScores, other: MarkedScores) -> CorrectedMean:
    """The difference of two models' means over the same questions, by those that both have marks for."""
    both, first, second = np.intersect1d(one.marked, other.marked, return_indices=True)
    marks = one.marks[first] - other.marks[second]
    return corrected_mean(MarkedScores(one.scores - other.scores, both, marks, one.strata))


def _worth(known: MarkedScores, corrected: Interval, alone: Interval) -> float:
    """The m of which marks alone have the corrected mean's variance: theirs is in proportion to 1/m - 1/N."""
    n = len(known.marks)
    answers = len(known.scores)
    kept = (corrected.half_width / alone.half_width) ** 2 if alone.half_width > 0 else 0.0
    return 1 / (1 / answers + kept * (1 / n - 1 / answers))


def _crossed_weights(known: MarkedScores, score: Floats, seed: int) -> Floats:
    """The weight for each mark, Cov(mark, score) / Var(score) of the other folds' marks: so it costs no coverage."""
    fold = np.random.default_rng(seed).permutation(len(score)) % FOLDS
    weights = np.zeros(len(score))
    for number in range(FOLDS):
        rest = fold != number
        spread = score[rest].var()
        if spread > 0:
            together = (
                (score[rest] - score[rest].mean()) * (known.marks[rest] - known.marks[rest].mean())
            ).mean()
            weights[~rest] = np.clip(together / spread, 0, 1)
    return weights


Groups = Sequence[tuple[float, np.ndarray]]


def _groups(known: MarkedScores) -> Groups:
    """Of each stratum with marks: its number of answers, and the places among the marks.

    A stratum without marks is taken to be like the others, which have its answers in proportion.
    """
    if known.strata is None:
        return [(len(known.scores), np.arange(len(known.marks)))]
    mine = known.strata[known.marked]
    told = len(known.scores) / np.isin(known.strata, mine).sum()
    return [
        (told * float((known.strata == one).sum()), np.flatnonzero(mine == one))
        for one in np.unique(mine)
    ]


def _stratified(groups: Groups, values: Floats) -> float:
    answers = sum(size for size, _ in groups)
    return float(sum(size / answers * values[places].mean() for size, places in groups))


def _variance(groups: Groups, values: Floats, pseudo: float) -> float:
    """Variance of the stratified mean; a stratum with one mark has the spread of all strata."""
    n = len(values)
    answers = sum(size for size, _ in groups)
    squares = [float(((values[places] - values[places].mean()) ** 2).sum()) for _, places in groups]
    free = max(1, n - len(groups))
    pooled = (sum(squares) + 2 * pseudo**2) / free
    found = 0.0
    for (size, places), square in zip(groups, squares, strict=True):
        m = len(places)
        own = (square + 2 * pseudo**2 * m / n) / (m - 1) if m > 1 else pooled
        found += (size / answers) ** 2 * (1 - m / size) * own / m
    return found


def _interval(value: float, variance: float, n: int) -> Interval:
    from scipy.special import stdtrit

    reach = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * variance**0.5
    return Interval(value, value - reach, value + reach)
