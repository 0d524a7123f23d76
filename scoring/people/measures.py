"""Measures of a judge against people who marked the same answers, in tenths from 0 to 1.

Delta, the mean distance, is MM-Vet's (section 4.4, Tables 6 to 8). Agreement is also measured as ICC(2,1), two-way
random, absolute agreement, of single scores (Shrout and Fleiss 1979), and as kappa with quadratic weights over the
eleven grades (Cohen 1968): the two count a judge that is always 0.2 too kind as disagreeing, and Spearman's rank
correlation does not.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from arena.ratings.votes import Floats, mean_ranks
from scoring.intervals import mean_ends

GRADES = 11
"""0.0, 0.1 ... 1.0."""
LEAST_MARKS = 3
"""Marked answers below which nothing is measured."""
LEAST_INTERVAL = 10
"""Marked answers below which Delta has no interval: so few show too little of how distances vary."""
LEAST_RANKED = 30
"""Marked answers below which judges are not put in an order."""
NEAR = 0.1
PAPER_DELTAS: Mapping[str, float] = {
    "keyword matching": 0.273,
    "LLaMA-2-7B": 0.307,
    "LLaMA-2-13B": 0.254,
    "LLaMA-2-70B": 0.316,
    "Mistral-7B-v0.1": 0.188,
    "Mistral-7B-Instruct-v0.2": 0.173,
    "Mixtral-8x7B-Instruct-v0.1": 0.234,
    "Gemini Pro": 0.144,
    "Claude 3 Opus": 0.137,
    "GPT-3.5 (turbo-0613)": 0.178,
    "GPT-4 (0613)": 0.0423,
}
"""MM-Vet, Table 6; GPT-4's with the four digits of Table 7."""
PAPER_PANELS: Mapping[tuple[str, ...], float] = {
    ("GPT-4 (0613)",): 0.0423,
    ("GPT-4 (0613)", "LLaMA-2-13B"): 0.1483,
    ("GPT-4 (0613)", "Mistral-7B-Instruct-v0.2"): 0.1078,
    ("GPT-4 (0613)", "Gemini Pro"): 0.0933,
    ("GPT-4 (0613)", "Claude 3 Opus"): 0.0896,
    (
        "GPT-4 (0613)",
        "LLaMA-2-13B",
        "Mistral-7B-Instruct-v0.2",
        "Gemini Pro",
        "Claude 3 Opus",
    ): 0.1502,
}
"""MM-Vet, Table 7, which calls them combined: they are the means of the members' deltas, no panel's own."""
PAPER_EXAMPLES: Mapping[str, float] = {
    "none": 0.0630,
    "(1) (5)": 0.0625,
    "(1) (2) (3) (5)": 0.0619,
    "(1) (2) (3) (4) (5)": 0.0551,
    "(1) (2) (3) (4) (5) (7)": 0.0520,
    "(1) (2) (3) (4) (5) (6) (7)": 0.0423,
}
"""MM-Vet, Table 8: GPT-4's delta by the examples that its prompt keeps."""


class MarksError(ValueError):
    """Scores and marks that cannot be compared; says why."""


class Interval(NamedTuple):
    """A number with its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


class Measures(NamedTuple):
    """How far scores are from marks of the same answers."""

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
    kappa: float | None


def compared(scores: Floats, marks: Floats) -> Measures:
    """Compare scores with marks, answer by answer. Raises MarksError below LEAST_MARKS answers."""
    if len(scores) != len(marks):
        raise MarksError(
            f"{len(scores)} scores and {len(marks)} marks: they belong to different answers"
        )
    if len(marks) < LEAST_MARKS:
        raise MarksError(f"{len(marks)} marked answers; nothing is measured below {LEAST_MARKS}")
    # means of tenths that are equal differ in the last bit
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
    """What Table 7 gives for a panel: no panel's own delta, which is at most this, since |mean| <= mean of ||."""
    return float(np.mean(deltas))


def delta_of_mean(scores: Floats, marks: Floats) -> float:
    """Delta of a panel that averages its members' scores: members x answers."""
    return float(np.abs(scores.mean(0) - marks).mean())


def delta_of_median(scores: Floats, marks: Floats) -> float:
    return float(np.abs(np.median(scores, 0) - marks).mean())


def distance_interval(distances: Floats) -> Interval | None:
    """The 95% interval of a mean distance, all of them from 0 to 1; None below LEAST_INTERVAL.

    A bootstrap of few answers does not see the far ones that it did not draw.
    """
    if len(distances) < LEAST_INTERVAL:
        return None
    ends = mean_ends(distances[:, None])
    assert ends is not None
    return Interval(float(distances.mean()), ends.low, ends.high)


def spearman(scores: Floats, marks: Floats) -> float | None:
    """Rank correlation, ties by their mean rank; None where one side is constant."""
    one = mean_ranks(scores)
    other = mean_ranks(marks)
    if one.std() == 0 or other.std() == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def icc(ratings: Floats) -> float | None:
    """ICC(2,1) of answers x raters; None where nothing differs."""
    if ratings.min() == ratings.max():
        return None
    answers, raters = ratings.shape
    mean = ratings.mean()
    rows = raters * ((ratings.mean(1) - mean) ** 2).sum() / (answers - 1)
    columns = answers * ((ratings.mean(0) - mean) ** 2).sum() / (raters - 1)
    rest = ((ratings - mean) ** 2).sum() - rows * (answers - 1) - columns * (raters - 1)
    error = rest / ((answers - 1) * (raters - 1))
    whole = rows + (raters - 1) * error + raters * (columns - error) / answers
    return float((rows - error) / whole)


def weighted_kappa(scores: Floats, marks: Floats) -> float | None:
    """Cohen's kappa with quadratic weights over the grades, scores rounded to them; None where both are constant."""
    one, other = (
        np.rint(np.asarray(values) * (GRADES - 1)).astype(int) for values in (scores, marks)
    )
    counts = np.zeros((GRADES, GRADES))
    np.add.at(counts, (one, other), 1)
    grade = np.arange(GRADES)
    weights = (grade[:, None] - grade[None, :]) ** 2
    expected = (weights * np.outer(counts.sum(1), counts.sum(0))).sum() / counts.sum()
    return float(1 - (weights * counts).sum() / expected) if expected > 0 else None


def keyword_score(parts: Sequence[Sequence[str]], answer: str) -> float:
    """Score without a judge: of the best alternative, the share of its elements that stand in the answer.

    The paper's keyword matching (0.273) has no published rule; this is ours.
    """
    text = answer.casefold()
    return max(sum(part.casefold() in text for part in one) / len(one) for one in parts)
