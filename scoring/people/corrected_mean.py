"""Corrected mean: the mean that people would have given to all answers, from a judge's scores of all and few marks.

Prediction-powered inference for a finite set (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023; PPI++:
Angelopoulos, Duchi and Zrnic 2023), a difference estimator of survey sampling (Saerndal, Swensson and Wretman 1992,
chapter 6): the judge's mean at weight lam, plus the mean of what marks leave over, mark - lam * score. Its variance is
that of the draw, stratum by stratum: (1 - n/N) s^2 / n.

A good judge breaks the plain interval: where errors are rare, few marks show none, and s^2 is near 0. Marks that are
all alike break it too, and so does a judge whose errors are all on one side. Two pseudo-residuals of +-PSEUDO are
therefore added to s^2, once for all strata together. Few marks say as little about the weight: ANCHOR draws it towards
1, where the judge's scores count in full. An interval never leaves what the answers without a mark still allow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.intervals import LEVEL
from arena.ratings.votes import Codes, Floats
from scoring.intervals import Ends
from scoring.people.measures import Interval, MarksError

PSEUDO = 0.7
"""Size of each of the two pseudo-residuals; docs/methods.md ("Calibration") has the intervals' coverage with 0.7."""
ANCHOR = 0.5
"""Added to the weight's covariance and variance, as by two more answers on which judge and people agree, one of 0 and
one of 1: their sum of squares about 0.5."""
FOLDS = 5
"""Parts of the marks, each with a weight from the other parts."""
LEAST_FOR_MEAN = 5
"""Marks below which there is no corrected mean."""
LEAST_FOR_GROUP = 20
"""Marks of a capability below which it has none."""


@dataclass(frozen=True, eq=False)
class MarkedScores:
    """A judge's scores of all N answers, and people's marks of some of them."""

    scores: Floats
    """Scores of all answers."""
    marked: Codes
    """Places of the marked answers."""
    marks: Floats
    """Marks of the marked answers, in the order of `marked`."""
    strata: Codes | None = None
    """Stratum of every answer: within one, each answer was as likely to be marked. None: one stratum."""
    lowest: float = 0.0
    """The lowest mark there is; the highest is 1. Differences of marks begin at -1."""

    def possible_means(self) -> Ends:
        """The lowest and highest mean that all answers can have, given the marks."""
        answers = len(self.scores)
        unmarked = answers - len(self.marks)
        total = float(self.marks.sum())
        return Ends((total + self.lowest * unmarked) / answers, (total + unmarked) / answers)


class CorrectedMean(NamedTuple):
    """The estimated mean mark of all answers."""

    judge: float
    """Mean of the judge's scores."""
    corrected: Interval
    alone: Interval
    """Interval from the marks alone."""
    marks: int
    worth: float
    """Number of marks, at most that of all answers, that would give as short an interval without the judge."""

    @property
    def is_whole(self) -> bool:
        """Whether every answer is marked, which leaves nothing to estimate."""
        # With an answer unmarked, the pseudo-residuals make the interval longer than 0.
        return self.alone.half_width == 0


def corrected_mean(
    sample: MarkedScores, seed: int = 0, lam: float | None = None, pseudo: float = PSEUDO
) -> CorrectedMean:
    """Estimates the mean mark of all answers. Raises MarksError below LEAST_FOR_MEAN marks.

    `lam`: the judge's weight; None: that of PPI++. `pseudo`: the size of a pseudo-residual.
    """
    n = len(sample.marks)
    answers = len(sample.scores)
    if n < LEAST_FOR_MEAN:
        raise MarksError(f"A corrected mean needs {LEAST_FOR_MEAN} marks, and has {n}. Mark more.")
    marked_scores = sample.scores[sample.marked]
    strata = _marked_strata(sample)
    weights = _crossed_weights(sample, marked_scores, seed) if lam is None else np.full(n, lam)
    residuals = sample.marks - weights * marked_scores
    judge = float(sample.scores.mean())
    value = float(weights.mean()) * judge + _stratified_mean(strata, residuals)
    variance = _variance(strata, residuals, pseudo)
    variance_alone = _variance(strata, sample.marks, pseudo)
    alone = _interval(sample, _stratified_mean(strata, sample.marks), variance_alone)
    corrected = alone if n == answers else _interval(sample, value, variance)
    remaining = variance / variance_alone if variance_alone > 0 else 0.0
    return CorrectedMean(judge, corrected, alone, n, _worth(n, answers, remaining))


def difference(first: MarkedScores, second: MarkedScores) -> CorrectedMean:
    """The first model's mean less the second's over the same questions, from questions marked in both.

    Both samples have the same strata.
    """
    marked, first_places, second_places = np.intersect1d(
        first.marked, second.marked, return_indices=True
    )
    marks = first.marks[first_places] - second.marks[second_places]
    scores = first.scores - second.scores
    return corrected_mean(MarkedScores(scores, marked, marks, first.strata, lowest=-1.0))


def _worth(n: int, answers: int, remaining: float) -> float:
    """The number m of marks alone that have the share `remaining` of the variance of n marks alone.

    It solves 1/m - 1/N = remaining * (1/n - 1/N), with N answers.
    """
    return 1 / (1 / answers + remaining * (1 / n - 1 / answers))


def _crossed_weights(sample: MarkedScores, marked_scores: Floats, seed: int) -> Floats:
    """The weight for each mark, Cov(mark, score) / Var(score), anchored.

    Each comes from the other folds' marks, so that the interval keeps its coverage.
    """
    n = len(marked_scores)
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    weights = np.zeros(n)
    for number in range(FOLDS):
        is_other = fold != number
        centred = marked_scores[is_other] - marked_scores[is_other].mean()
        covariance = centred @ sample.marks[is_other]  # marks needn't be centred too
        variance = centred @ centred
        weights[~is_other] = np.clip((covariance + ANCHOR) / (variance + ANCHOR), 0, 1)
    return weights


class _Stratum(NamedTuple):
    """A stratum with marks."""

    size: float
    """Number of its answers; a fraction where it stands for strata without marks, too."""
    places: Codes
    """Its places among the marks."""


def _marked_strata(sample: MarkedScores) -> Sequence[_Stratum]:
    """The strata with marks.

    A stratum without marks is taken to be like the others: its answers are shared among them in proportion.
    """
    if sample.strata is None:
        return [_Stratum(len(sample.scores), np.arange(len(sample.marks)))]
    stratum_of_mark = sample.strata[sample.marked]
    scale = len(sample.scores) / np.isin(sample.strata, stratum_of_mark).sum()
    return [
        _Stratum(
            size=scale * float((sample.strata == stratum).sum()),
            places=np.flatnonzero(stratum_of_mark == stratum),
        )
        for stratum in np.unique(stratum_of_mark)
    ]


def _stratified_mean(strata: Sequence[_Stratum], values: Floats) -> float:
    """The mean of the values, each stratum weighted by its number of answers."""
    answers = sum(size for size, _ in strata)
    return float(sum(size / answers * values[places].mean() for size, places in strata))


def _variance(strata: Sequence[_Stratum], values: Floats, pseudo: float) -> float:
    """The variance of the stratified mean; a stratum with one mark has the spread of all strata."""
    n = len(values)
    answers = sum(size for size, _ in strata)
    squares = []
    for _, places in strata:
        residuals = values[places] - values[places].mean()
        squares.append(float((residuals**2).sum()))
    freedom = max(1, n - len(strata))
    pooled = (sum(squares) + 2 * pseudo**2) / freedom
    total = 0.0
    for (size, places), square in zip(strata, squares, strict=True):
        m = len(places)
        # A stratum gets its part of the pseudo-residuals: by its part of the marks.
        spread = (square + 2 * pseudo**2 * m / n) / (m - 1) if m > 1 else pooled
        total += (size / answers) ** 2 * (1 - m / size) * spread / m
    return total


def _interval(sample: MarkedScores, value: float, variance: float) -> Interval:
    """The interval of an estimated mean, with all of it among the possible means."""
    from scipy.special import stdtrit

    half_width = float(stdtrit(len(sample.marks) - 1, (1 + LEVEL) / 2)) * variance**0.5
    least, most = sample.possible_means()
    mean = min(max(value, least), most)
    return Interval(mean, max(mean - half_width, least), min(mean + half_width, most))
