"""Coverage of intervals from people's marks of a judge's scores: corrected means, their differences, Delta.

`perf.coverage` prints it. The truth of a corrected mean is the mean mark of that run's answers; the cells are models
that are right in 3% to 97%. The cells of Delta are kinds of distances.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from arena.ratings.votes import Codes, Floats
from perf._simulations import Estimates, Simulation, Target
from scoring.people.corrected_mean import (
    PSEUDO,
    CorrectedMean,
    MarkedScores,
    corrected_mean,
    difference,
)
from scoring.people.measures import distance_interval

RIGHT = (0.03, 0.06, 0.15, 0.3, 0.5, 0.7, 0.85, 0.94, 0.97)
"""Shares of right answers."""
HARD = Target(least_share=0.92, most_share=1.0, most_width=4.0)
"""Wide, since where judges hardly err, most of an interval's width is for errors that were not seen."""
ROUNDING = 1e-9
"""Added at both ends of an interval, so that it holds a truth that lies exactly on an end."""
Judge = Literal[
    "passes half of the wrong",
    "fails half of the right",
    "has one in 20 upside down",
    "has one in 7 upside down",
    "is noisy",
    "says nothing",
]


def judged(judge: Judge, marks: Floats, coin: np.random.Generator) -> Floats:
    """Returns a judge's scores of answers by their marks."""
    chance = coin.random(len(marks))
    if judge == "passes half of the wrong":
        return np.where((marks < 0.5) & (chance < 0.5), 1.0, marks)
    if judge == "fails half of the right":
        return np.where((marks > 0.5) & (chance < 0.5), 0.0, marks)
    if judge == "has one in 20 upside down":
        return np.where(chance < 1 / 20, 1 - marks, marks)
    if judge == "has one in 7 upside down":
        return np.where(chance < 1 / 7, 1 - marks, marks)
    if judge == "is noisy":
        return np.round(np.clip(marks + coin.normal(0, 0.35, len(marks)), 0, 1), 1)
    return np.full(len(marks), 0.5)


@dataclass(frozen=True)
class CorrectedMeans:
    """Corrected means of answers that are right, wrong or between; people marked some of them."""

    judge: Judge
    marked: int
    answers: int
    between: float = 0.0
    """Share of the wrong answers that have a mark between 0 and 1."""
    stratified: bool = False
    """Whether the answers to mark are drawn by lot within strata of the judge's scores."""
    pseudo: float = PSEUDO
    target: Target = HARD

    @property
    def name(self) -> str:
        kind = ""
        if self.between:
            kind = ", with tenths"
        elif self.stratified:
            kind = ", stratified"
        return f"judge {self.judge}, {self.marked} of {self.answers}{kind}"

    def truth(self) -> Floats:
        """Zeros, since `_errors` takes each run's own truth away."""
        return np.zeros(len(RIGHT))

    def run(self, coin: np.random.Generator) -> Estimates:
        return _errors([self._of_model(right, coin) for right in RIGHT])

    def _of_model(self, right: float, coin: np.random.Generator) -> tuple[CorrectedMean, float]:
        between = coin.random(self.answers) < self.between
        wrong = np.where(between, coin.integers(1, 10, self.answers) / 10, 0.0)
        marks = np.where(coin.random(self.answers) < right, 1.0, wrong)
        scores = judged(self.judge, marks, coin)
        strata = np.digitize(scores, (0.05, 0.95)) if self.stratified else None
        marked = _drawn(self.marked, self.answers, strata, coin)
        sample = MarkedScores(scores, marked, marks[marked], strata)
        return corrected_mean(sample, pseudo=self.pseudo), float(marks.mean())


@dataclass(frozen=True)
class Differences:
    """Differences of two models that answer a share of the questions alike."""

    judge: Judge
    marked: int
    answers: int
    alike: float
    """Share of the questions with the same answer of both."""
    target: Target = HARD

    @property
    def name(self) -> str:
        kind = f"{self.alike:.0%} alike"
        return f"two models, judge {self.judge}, {self.marked} of {self.answers}, {kind}"

    def truth(self) -> Floats:
        """Zeros, since `_errors` takes each run's own truth away."""
        return np.zeros(len(RIGHT))

    def run(self, coin: np.random.Generator) -> Estimates:
        return _errors([self._of_models(right, coin) for right in RIGHT])

    def _of_models(self, right: float, coin: np.random.Generator) -> tuple[CorrectedMean, float]:
        first = (coin.random(self.answers) < right).astype(np.float64)
        independent = (coin.random(self.answers) < max(right - 0.1, 0.03)).astype(np.float64)
        second = np.where(coin.random(self.answers) < self.alike, first, independent)
        marked = _drawn(self.marked, self.answers, None, coin)
        first_sample = MarkedScores(judged(self.judge, first, coin), marked, first[marked])
        second_sample = MarkedScores(judged(self.judge, second, coin), marked, second[marked])
        return difference(first_sample, second_sample), float((first - second).mean())


def _drawn(n: int, answers: int, strata: Codes | None, coin: np.random.Generator) -> Codes:
    """Returns the indices of n answers: by lot, or from strata that take turns in proportion to their sizes."""
    order = coin.permutation(answers)
    if strata is None:
        return order[:n]
    turn = np.zeros(answers)
    for stratum in np.unique(strata):
        members = order[strata[order] == stratum]
        turn[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.argsort(turn, kind="stable")[:n]


def _errors(means: Sequence[tuple[CorrectedMean, float]]) -> Estimates:
    """Returns corrected means minus their truth, which differs from run to run."""
    return Estimates(
        value=np.array([mean.corrected.value - truth for mean, truth in means]),
        low=np.array([mean.corrected.low - truth - ROUNDING for mean, truth in means]),
        high=np.array([mean.corrected.high - truth + ROUNDING for mean, truth in means]),
    )


Distances = Callable[[np.random.Generator, int], Floats]


def _upside_down(share: float) -> Distances:
    return lambda coin, n: (coin.random(n) < share).astype(np.float64)


def _like_gpt_4(coin: np.random.Generator, n: int) -> Floats:
    """Three of four distances are 0, most others a tenth or two, and one in 20 is three tenths to 1."""
    far = np.where(coin.random(n) < 0.2, coin.integers(3, 11, n), coin.integers(1, 3, n))
    return np.where(coin.random(n) < 0.75, 0, far) / 10


KINDS: Mapping[str, tuple[float, Distances]] = {
    "1 in 33 upside down": (0.03, _upside_down(0.03)),
    "1 in 16 upside down": (0.06, _upside_down(0.06)),
    "1 in 10 upside down": (0.1, _upside_down(0.1)),
    "1 in 5 upside down": (0.2, _upside_down(0.2)),
    "half upside down": (0.5, _upside_down(0.5)),
    "like GPT-4": (0.25 * (0.8 * 0.15 + 0.2 * 0.65), _like_gpt_4),
    "any tenth": (0.5, lambda coin, n: coin.integers(0, 11, n) / 10),
    "a tenth or two too kind": (0.06, lambda coin, n: np.where(coin.random(n) < 0.4, 0.15, 0.0)),
    "never right": (0.95, lambda coin, n: np.where(coin.random(n) < 0.9, 1.0, 0.5)),
}
"""Kinds of distances between judge and people: their mean, and how they are drawn."""


@dataclass(frozen=True)
class Deltas:
    """Delta of judges of several kinds."""

    marked: int
    target: Target = HARD

    @property
    def name(self) -> str:
        return f"Delta of {self.marked} marks"

    def truth(self) -> Floats:
        return np.array([mean for mean, _ in KINDS.values()])

    def run(self, coin: np.random.Generator) -> Estimates:
        intervals = [distance_interval(draw(coin, self.marked)) for _, draw in KINDS.values()]
        known_intervals = [interval for interval in intervals if interval is not None]
        value, low, high = np.array(known_intervals).T
        return Estimates(value, low - ROUNDING, high + ROUNDING)


CORRECTED = (
    CorrectedMeans("passes half of the wrong", 15, 218),
    CorrectedMeans("passes half of the wrong", 30, 1_000),
    CorrectedMeans("passes half of the wrong", 120, 1_000),
    CorrectedMeans("passes half of the wrong", 30, 218, stratified=True),
    CorrectedMeans("fails half of the right", 15, 60),
    CorrectedMeans("fails half of the right", 60, 218),
    CorrectedMeans("fails half of the right", 120, 1_000, stratified=True),
    CorrectedMeans("has one in 20 upside down", 20, 100),
    CorrectedMeans("has one in 20 upside down", 45, 3_000),
    CorrectedMeans("has one in 7 upside down", 30, 218),
    CorrectedMeans("is noisy", 30, 218, between=0.4),
    CorrectedMeans("says nothing", 25, 3_000),
)
DIFFERENCES = (
    Differences("passes half of the wrong", 120, 218, alike=0.8),
    Differences("fails half of the right", 120, 1_000, alike=0.8),
    Differences("has one in 20 upside down", 60, 218, alike=0.0),
    Differences("is noisy", 20, 218, alike=0.8),
)
DELTAS = tuple(Deltas(marked) for marked in (10, 15, 30, 120))
TABLE: tuple[tuple[str, Sequence[Simulation]], ...] = (
    ("corrected means", CORRECTED),
    ("differences of corrected means", DIFFERENCES),
    ("Delta of judges", DELTAS),
)
