"""Measures of a judge against people who marked the same answers, in tenths from 0 to 1.

Delta, the mean distance, is MM-Vet's (section 4.4, Tables 6 to 8). Agreement is also measured as ICC(2,1), two-way
random, absolute agreement, of single scores (Shrout and Fleiss 1979), and as kappa with quadratic weights over the
eleven grades (Cohen 1968). These two count a judge that is always 0.2 too kind as disagreeing; Spearman's rank
correlation does not.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from arena.ratings import agreement
from arena.ratings.agreement import Estimate, estimate
from arena.ratings.votes import Codes, Floats, mean_ranks
from scoring.intervals import mean_ends

GRADES = 11
"""Number of grades: 0.0, 0.1 ... 1.0."""
LEAST_MARKS = 3
"""Marked answers below which nothing is measured."""
LEAST_INTERVAL = 10
"""Marked answers below which Delta has no interval: they show too little of how distances vary."""
LEAST_RANKED = 30
"""Marked answers below which judges are not ranked."""
NEAR = 0.1
"""Distance within which a score counts as near the mark."""


class MarksError(ValueError):
    """Scores and marks that cannot be compared; the message says why."""


class Interval(NamedTuple):
    """A number with its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


class Measures(NamedTuple):
    """Distances of scores from marks of the same answers."""

    answers: int
    delta: float
    """Mean distance to people."""
    delta_interval: Interval | None
    """None below LEAST_INTERVAL answers."""
    bias: float
    """Mean of score - mark: positive where the judge is kinder."""
    near: float
    """Share within NEAR."""
    spearman: float | None
    """None where all scores, or all marks, are alike."""
    icc: float | None
    """None where all scores and marks are alike."""
    kappa: float | None
    """None where all scores and marks are of the same grade."""


def compare_scores(scores: Floats, marks: Floats) -> Measures:
    """Compares scores with marks, answer by answer.

    Raises MarksError below LEAST_MARKS answers, and for different numbers of scores and marks.
    """
    if len(scores) != len(marks):
        raise MarksError(
            f"There are {len(scores)} scores and {len(marks)} marks. Use those of the same answers."
        )
    if len(marks) < LEAST_MARKS:
        raise MarksError(
            f"This needs {LEAST_MARKS} marked answers, and has {len(marks)}. Mark more."
        )
    # equal means of tenths may differ in the last bit, which rank correlation would count
    scores = np.round(scores, 9)
    marks = np.round(marks, 9)
    gap = scores - marks
    distance = np.abs(gap)
    near = float(np.mean(distance <= NEAR + 1e-9))
    ratings = np.column_stack([scores, marks])
    return Measures(
        answers=len(marks),
        delta=float(distance.mean()),
        delta_interval=distance_interval(distance),
        bias=float(gap.mean()),
        near=near,
        spearman=spearman(scores, marks),
        icc=icc(ratings),
        kappa=weighted_kappa(scores, marks),
    )


def mean_of_deltas(deltas: Sequence[float]) -> float:
    """The mean of the members' deltas, as Table 7 has it; `delta_of_mean` is at most this."""
    return float(np.mean(deltas))


def delta_of_mean(scores: Floats, marks: Floats) -> float:
    """Delta of a panel that averages its members' scores: members x answers."""
    return float(np.abs(scores.mean(0) - marks).mean())


def delta_of_median(scores: Floats, marks: Floats) -> float:
    """Delta of a panel that takes the median of its members' scores: members x answers."""
    return float(np.abs(np.median(scores, 0) - marks).mean())


def distance_interval(distances: Floats) -> Interval | None:
    """The mean of distances from 0 to 1 with its 95% interval; None below LEAST_INTERVAL.

    By `mean_ends`, as a bootstrap of few answers would miss the large distances that they happen not to have.
    """
    if len(distances) < LEAST_INTERVAL:
        return None
    ends = mean_ends(distances[:, None])
    assert ends is not None
    return Interval(float(distances.mean()), ends.low, ends.high)


def spearman(scores: Floats, marks: Floats) -> float | None:
    """Rank correlation, ties by their mean rank; None where one side is constant."""
    score_ranks = mean_ranks(scores)
    mark_ranks = mean_ranks(marks)
    if score_ranks.std() == 0 or mark_ranks.std() == 0:
        return None
    return float(np.corrcoef(score_ranks, mark_ranks)[0, 1])


def icc(ratings: Floats) -> float | None:
    """ICC(2,1) of answers x raters; None where nothing differs."""
    if ratings.min() == ratings.max():
        return None
    answers, raters = ratings.shape
    mean = ratings.mean()
    # mean squares
    between_answers = raters * ((ratings.mean(1) - mean) ** 2).sum() / (answers - 1)
    between_raters = answers * ((ratings.mean(0) - mean) ** 2).sum() / (raters - 1)
    rest = ((ratings - mean) ** 2).sum()
    rest -= between_answers * (answers - 1)
    rest -= between_raters * (raters - 1)
    error = rest / ((answers - 1) * (raters - 1))
    total = between_answers + (raters - 1) * error + raters * (between_raters - error) / answers
    return float((between_answers - error) / total)


def weighted_kappa(scores: Floats, marks: Floats) -> float | None:
    """Cohen's kappa with quadratic weights over the grades, scores rounded to them; None where all are one grade."""
    table = np.zeros((GRADES, GRADES))
    np.add.at(table, (_grades(scores), _grades(marks)), 1)
    grade = np.arange(GRADES)
    return kappa(table, (grade[:, None] - grade[None, :]) ** 2)


def _grades(scores: Floats) -> Codes:
    return np.rint(np.asarray(scores) * (GRADES - 1)).astype(int)


def kappa(table: Floats | Codes, distances: Floats | Codes | None = None) -> float | None:
    """Cohen's kappa of a square table of counts; None where everything is one kind.

    `distances` between the kinds weigh disagreements; None: all kinds are equally far apart.
    """
    if distances is None:
        distances = 1 - np.eye(len(table))
    expected = (distances * np.outer(table.sum(1), table.sum(0))).sum() / max(table.sum(), 1)
    return float(1 - (distances * table).sum() / expected) if expected > 0 else None


def alpha(units: Iterable[Sequence[Hashable]]) -> Estimate:
    """Krippendorff's nominal alpha; a unit is a sequence of the values that raters gave to one thing.

    Undefined (None) where no unit has two values, or all values are the same.
    """
    counters = [Counter(values) for values in units if len(values) > 1]
    kinds = list(dict.fromkeys(chain.from_iterable(counters)))
    if len(kinds) < 2:
        return Estimate(None, None, None)
    counts = np.array([[counter[kind] for kind in kinds] for counter in counters], np.float64)
    distinct, times = np.unique(counts, axis=0, return_counts=True)
    return estimate(agreement.alpha, distinct, times.astype(np.float64))


def keyword_score(parts: Sequence[Sequence[str]], answer: str) -> float:
    """Score without a judge: the share of an alternative's elements that occur in the answer, for the best alternative.

    `parts`: the alternatives, each with its elements. The paper's keyword matching (0.273) has no published rule; this
    is ours.
    """
    text = answer.casefold()
    shares = []
    for elements in parts:
        occurring = [element for element in elements if element.casefold() in text]
        shares.append(len(occurring) / len(elements))
    return max(shares)
