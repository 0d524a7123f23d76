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

from arena.ratings.intervals import NORMAL_QUANTILE, student_quantile
from arena.ratings.votes import Codes, Floats, code_sums

DOUBT = 0.5
"""Number of imagined pictures, beside the observed, whose questions are all answered alike."""
PARTIAL = 0.2
"""Share of unknown scores from which an interval is that of the mean of all its questions, not of new questions."""
SMOOTHED = 2
"""Number of answers as good as the mean of all groups, added to each group for the spread of its answers."""


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
    """Name of each scored question's picture; "" for an unknown picture."""
    unscored: int = 0
    """Number of questions that do not count, since their outcome is not known."""

    @property
    def least(self) -> float:
        """Share of right answers if all unknown answers were wrong."""
        return float(self.scores.sum() / self._whole)

    @property
    def most(self) -> float:
        """Share of right answers if all unknown answers were right."""
        return float((self.scores.sum() + self.unscored) / self._whole)

    @property
    def _whole(self) -> int:
        return len(self.scores) + self.unscored


def share_ends(sample: Sample) -> Ends:
    """Wilson's interval of a share of right answers, as of fewer questions where several are on one picture."""
    return possible(_wilson(sample), sample.least, sample.most)


def _wilson(sample: Sample) -> Ends:
    size = len(sample.scores)
    share = float(sample.scores.sum() / size)
    weight = _weight(np.full(size, 1 / size), sample.scores - share, sample.pictures)
    added = NORMAL_QUANTILE**2
    whole = weight.beside + added
    middle = (share * weight.beside + added / 2) / whole
    squares = weight.beside**2 * share * (1 - share) / weight.n + added / 4
    reach = NORMAL_QUANTILE * float(np.sqrt(squares)) / whole
    return Ends(max(middle - reach, 0.0), min(middle + reach, 1.0))


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
    weight_of_mean = _weight(weight, residuals, pictures)
    variance = float(moved @ moved / (weight @ weight))
    return _student_ends(float(run_means.mean()), variance, weight_of_mean, added, scale)


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
    squares = weight**2 * sizes
    variance = float(squares @ (share * (1 - share) / shrunk) / squares.sum())
    scores = np.concatenate([sample.scores for sample in samples])
    pictures = [picture for sample in samples for picture in sample.pictures]
    weight_of_mean = _weight(weight.repeat(sizes), scores - share.repeat(sizes), pictures)
    return _student_ends(float(mean), variance, weight_of_mean, UNIT, UNIT)


def percent(ends: Ends) -> Ends:
    return Ends(100 * ends.low, 100 * ends.high)


def possible(ends: Ends, least: float, most: float, scale: Ends = UNIT) -> Ends:
    """Interval of a mean with some unknown scores: with many, within the possible means.

    `least` and `most` are the mean if all unknown scores were the scale's lowest, and if they were its highest. Few are
    unknown where they can move the mean by less than PARTIAL of the scale, and by less than chance does.
    """
    unknown = most - least
    if unknown < min(PARTIAL * (scale.high - scale.low) - 1e-9, ends.high - ends.low):
        return ends
    return Ends(max(ends.low, least), min(ends.high, most))


class _Weight(NamedTuple):
    """Number of questions, each on a picture of its own and of one weight, that tell as much as a weighted mean."""

    n: float
    beside: float
    """Number beside an added score, which counts as more than a question, and as less than a picture."""


def _student_ends(mean: float, variance: float, weight: _Weight, added: Ends, scale: Ends) -> Ends:
    """Interval of a mean of scores of this variance, to which two are added."""
    beside = weight.beside
    middle = (beside * mean + added.low + added.high) / (beside + 2)
    squares = beside**2 * (variance + (mean - middle) ** 2) / weight.n
    squares += (added.low - middle) ** 2 + (added.high - middle) ** 2
    error = np.sqrt(squares / (beside + 1) / (beside + 2))
    reach = float(student_quantile(np.array([beside + 2]))[0] * error)
    return Ends(max(middle - reach, scale.low), min(middle + reach, scale.high))


def _weight(weights: Floats, residuals: Floats, pictures: Sequence[str]) -> _Weight:
    """Kish's (1965) number, less for pictures with several questions; the weights add up to 1."""
    n = float(1 / (weights @ weights))
    picture = _codes(pictures)
    if picture is None:
        return _Weight(n, n)
    together = code_sums(picture, weights, int(picture.max()) + 1)
    alone = float(1 / (together @ together))
    n /= _effect(weights, residuals, picture)
    return _Weight(n, float(np.sqrt(n * alone)))


def _effect(weights: Floats, residuals: Floats, picture: Codes) -> float:
    """Factor by which a weighted mean varies more because its questions share pictures.

    Answers on a picture are alike by how much more the residuals of two of them agree than those of two answers on two
    pictures. Few pictures tell this badly, so the effect holds what Student's quantile adds (degrees of freedom by
    Satterthwaite 1946); where residuals are mostly those of few pictures they tell it worse, hence DOUBT. A picture is
    never less than one question.
    """
    size = int(picture.max()) + 1
    together = code_sums(picture, weights, size)
    moved = code_sums(picture, weights * residuals, size)
    squares = code_sums(picture, (weights * residuals) ** 2, size)
    own = weights @ weights
    common = together @ together
    most = float(common / own)
    if most < 1 + 1e-9:  # those that share a picture are unscored
        return 1.0
    if common > 1 - 1e-9 or squares.sum() < 1e-12 * own:  # one picture, or all scores alike
        return most
    within = (moved @ moved - squares.sum()) / (common - own)
    between = (moved.sum() ** 2 - moved @ moved) / (1 - common)
    spread = squares.sum() / own - between
    alike = min(max((within - between) / spread, 0.0), 1.0) if spread > 0 else 1.0
    telling = squares.sum() ** 2 / (squares @ squares)
    alike = (telling * alike + DOUBT) / (telling + DOUBT)
    others = alike * (most - 1)
    freedom = max((1 + 1 / others) ** 2 * (1 / common - 1), 1.0)
    student = float(student_quantile(np.array([freedom + 1]))[0]) / NORMAL_QUANTILE
    return min((1 + others) * student**2, most)


def _codes(pictures: Sequence[str]) -> Codes | None:
    """Codes of the pictures, from 0 without gaps; None if no picture has two questions. An unknown one has one."""
    times = Counter(pictures)
    del times[""]
    if max(times.values(), default=0) < 2:
        return None
    codes = {picture: code for code, picture in enumerate(times)}
    alone = iter(range(len(codes), len(codes) + len(pictures)))
    return np.array([codes[picture] if picture else next(alone) for picture in pictures])
