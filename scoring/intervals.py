"""Intervals: 95% intervals of mean scores, for new questions of the same kind, on new pictures.

Plain intervals are too short in two places. Few questions, or questions nearly all scored alike, show too little of
how scores vary: a score at either end of the scale is added (Agresti and Coull 1998; to differences Bonett and Price
2012), and Student's quantile taken. And where several questions are about one picture, a mean varies more than over
questions on a picture each: by its design effect (Kish 1965).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.intervals import NORMAL, student_quantile
from arena.ratings.shares import wilson
from arena.ratings.votes import Codes, Floats, summed

DOUBT = 0.5
"""Pictures that are taken to say, beside those seen, that all questions on a picture are answered alike."""
PARTIAL = 0.1
"""Share of unknown scores from which an interval is that of the mean of these questions, and not of new ones."""
SMOOTHED = 2
"""Answers as good as the mean of all groups, added to each group where it tells how much its answers vary."""


class Ends(NamedTuple):
    """Lower and upper end of a range."""

    low: float
    high: float


UNIT = Ends(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Sample:
    """Answers of a group of questions: 1.0 for right, 0.0 for wrong."""

    scores: Floats
    pictures: Sequence[str]
    """What tells each scored question's picture; "" if nothing does."""
    unscored: int = 0
    """Questions that do not count, since their outcome is not known."""

    @property
    def least(self) -> float:
        """The share of right answers if all that are not known were wrong."""
        return float(self.scores.sum() / self._whole)

    @property
    def most(self) -> float:
        """The share of right answers if all that are not known were right."""
        return float((self.scores.sum() + self.unscored) / self._whole)

    @property
    def _whole(self) -> int:
        return len(self.scores) + self.unscored


def share_ends(sample: Sample) -> Ends:
    """Wilson's interval of a share of right answers, as of fewer questions where several are on one picture."""
    return possible(_wilson(sample), sample.least, sample.most)


def _wilson(sample: Sample) -> Ends:
    right = sample.scores.sum()
    n = len(sample.scores)
    effect = _effect(np.full(n, 1 / n), sample.scores - right / n, sample.pictures)
    bounds = wilson(np.array([right / effect]), np.array([n / effect]))
    return Ends(float(bounds.low[0]), float(bounds.high[0]))


def mean_ends(
    scores: Floats, pictures: Sequence[str] = (), added: Ends = UNIT, scale: Ends = UNIT
) -> Ends | None:
    """Interval of the mean over runs of each run's mean; None without a score.

    `scores` has the shape (questions, runs), with NaN for no score; `added` are scores that nobody got.
    """
    scored = ~np.isnan(scores)
    runs = scored.any(axis=0)
    if not runs.any():
        return None
    scored = scored[:, runs]
    weights = scored / scored.sum(axis=0) / runs.sum()
    known = np.where(scored, scores[:, runs], 0.0)
    run_means = (known * weights).sum(axis=0) * runs.sum()
    moved = (weights * (known - run_means)).sum(axis=1)
    weight = weights.sum(axis=1)
    residuals = np.divide(moved, weight, out=np.zeros(len(weight)), where=weight > 0)
    n = float(1 / (weight @ weight))
    effect = _effect(weight, residuals, pictures)
    return _student_ends(run_means.mean(), n * (moved @ moved), n / effect, added, scale)


def mean_of_shares(groups: Sequence[Sample]) -> Ends:
    """Interval of the unweighted mean of the shares of right answers of several groups of questions.

    A group's answers vary as if it had SMOOTHED more, as good as the mean of all groups: one that is all right has been
    lucky.
    """
    samples = [group for group in groups if len(group.scores)]
    ends = _wilson(samples[0]) if len(samples) == 1 else _mean_of_shares(samples)
    least = sum(group.least for group in groups) / len(groups)
    most = sum(group.most for group in groups) / len(groups)
    return possible(ends, least, most)


def _mean_of_shares(samples: Sequence[Sample]) -> Ends:
    sizes = np.array([len(sample.scores) for sample in samples])
    right = np.array([sample.scores.sum() for sample in samples])
    mean = (right / sizes).mean()
    share = (right + SMOOTHED * mean) / (sizes + SMOOTHED)
    shrunk = 1 - sizes / (sizes + SMOOTHED) ** 2
    weight = 1 / sizes / len(samples)
    n = float(1 / (weight**2 @ sizes))
    variance = n * (weight**2 @ (share * (1 - share) / shrunk * sizes))
    scores = np.concatenate([sample.scores for sample in samples])
    pictures = [picture for sample in samples for picture in sample.pictures]
    effect = _effect(weight.repeat(sizes), scores - share.repeat(sizes), pictures)
    return _student_ends(mean, variance, n / effect, UNIT, UNIT)


def percent(ends: Ends) -> Ends:
    return Ends(100 * ends.low, 100 * ends.high)


def possible(ends: Ends, least: float, most: float, scale: Ends = UNIT) -> Ends:
    """The interval of a mean of which some scores are unknown; from a share of PARTIAL on, within what is possible.

    `least` and `most` are the mean if all unknown scores were the scale's lowest, and if they were its highest.
    """
    if most - least < PARTIAL * (scale.high - scale.low):
        return ends
    return Ends(max(ends.low, least), min(ends.high, most))


def _student_ends(mean: float, variance: float, n: float, added: Ends, scale: Ends) -> Ends:
    """Interval of the mean of n scores, to which two are added."""
    middle = (n * mean + added.low + added.high) / (n + 2)
    squares = n * variance + n * (mean - middle) ** 2
    squares += (added.low - middle) ** 2 + (added.high - middle) ** 2
    error = np.sqrt(squares / (n + 1) / (n + 2))
    reach = float(student_quantile(np.array([n + 2]))[0] * error)
    return Ends(max(float(middle) - reach, scale.low), min(float(middle) + reach, scale.high))


def _effect(weights: Floats, residuals: Floats, pictures: Sequence[str]) -> float:
    """By how much a weighted mean varies more because questions are on common pictures; 1 where none are.

    Answers on a picture are alike by how much more the residuals of two of them agree than those of two answers on two
    pictures. Few pictures tell this badly, so the effect holds what Student's quantile adds (degrees of freedom by
    Satterthwaite 1946); where residuals are mostly those of few pictures they tell it worse, hence DOUBT. A picture is
    never less than one question.
    """
    picture = _codes(pictures)
    if picture is None:
        return 1.0
    pictures_n = int(picture.max()) + 1
    together = summed(picture, weights, pictures_n)
    moved = summed(picture, weights * residuals, pictures_n)
    squares = summed(picture, (weights * residuals) ** 2, pictures_n)
    own = weights @ weights
    common = together @ together
    most = float(common / own)
    if common >= 1 - 1e-9 or squares.sum() == 0:
        return most
    within = (moved @ moved - squares.sum()) / (common - own)
    between = (moved.sum() ** 2 - moved @ moved) / (1 - common)
    alike = min(max((within - between) / (squares.sum() / own - between), 0.0), 1.0)
    telling = squares.sum() ** 2 / (squares @ squares)
    alike = (telling * alike + DOUBT) / (telling + DOUBT)
    others = alike * (most - 1)
    freedom = max((1 + 1 / others) ** 2 * (1 / common - 1), 1.0)
    student = float(student_quantile(np.array([freedom + 1]))[0]) / NORMAL
    return min((1 + others) * student**2, most)


def _codes(pictures: Sequence[str]) -> Codes | None:
    """Codes of the pictures, from 0 without gaps; None where none has two questions. An unknown one has one."""
    times = Counter(pictures)
    del times[""]
    if max(times.values(), default=0) < 2:
        return None
    codes = {picture: code for code, picture in enumerate(times)}
    alone = iter(range(len(codes), len(codes) + len(pictures)))
    return np.array([codes[picture] if picture else next(alone) for picture in pictures])
