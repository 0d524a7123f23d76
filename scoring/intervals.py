"""Intervals: 95% intervals of mean scores, for new questions of the same kind, on new pictures.

Plain intervals are too short in two places. Few questions, or questions nearly all scored alike, show too little of
how scores vary: a score at either end of the scale is added (Agresti and Coull 1998; for differences Bonett and Price
2012), and Student's quantile is used. And where several questions share a picture, a mean varies more than with a
picture for each question, by a factor called the design effect (Kish 1965).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from arena.ratings.intervals import NORMAL_QUANTILE, student_quantile
from arena.ratings.votes import Codes, Floats, code_sums

DOUBTED_PICTURES = 0.5
"""Number of imagined pictures, beside the observed ones, whose questions are all answered alike."""
LEAST_PARTIAL = 0.2
"""From this share of unknown scores on, an interval is for the mean of these questions, not of new ones."""
SMOOTHING_ANSWERS = 2
"""Number of imagined answers, as good as the mean of all groups, that each group gets for the spread of its answers."""


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
        return float(self.scores.sum() / self._size)

    @property
    def most(self) -> float:
        """Share of right answers if all unknown answers were right."""
        return float((self.scores.sum() + self.unscored) / self._size)

    @property
    def _size(self) -> int:
        return len(self.scores) + self.unscored


def share_ends(sample: Sample) -> Ends:
    """Wilson's interval of a share of right answers, where questions on one picture count as fewer.

    The sample has a scored answer.
    """
    return possible_ends(_wilson(sample), sample.least, sample.most)


def _wilson(sample: Sample) -> Ends:
    size = len(sample.scores)
    share = float(sample.scores.sum() / size)
    number = _effective_number(np.full(size, 1 / size), sample.scores - share, sample.pictures)
    added = NORMAL_QUANTILE**2  # imagined answers, half of them right
    total = number.beside_added + added
    middle = (share * number.beside_added + added / 2) / total
    squares = number.beside_added**2 * share * (1 - share) / number.questions + added / 4
    reach = NORMAL_QUANTILE * float(np.sqrt(squares)) / total
    return Ends(max(middle - reach, 0.0), min(middle + reach, 1.0))


def mean_ends(
    scores: Floats, pictures: Sequence[str] = (), added: Ends = UNIT, scale: Ends = UNIT
) -> Ends | None:
    """Interval of the mean over runs of each run's mean; None without a score.

    `scores` has the shape (questions, runs), with NaN for no score; `added` are the two imagined scores that are added;
    `scale` bounds the interval.
    """
    has_score = ~np.isnan(scores)
    is_scored_run = has_score.any(axis=0)
    runs = is_scored_run.sum()
    if not runs:
        return None
    is_scored = has_score[:, is_scored_run]
    weights = is_scored / is_scored.sum(axis=0) / runs
    known_scores = np.where(is_scored, scores[:, is_scored_run], 0.0)
    run_means = (known_scores * weights).sum(axis=0) * runs
    # By question: how far its scores in all runs move the mean.
    deviations = (weights * (known_scores - run_means)).sum(axis=1)
    question_weights = weights.sum(axis=1)
    residuals = np.divide(
        deviations,
        question_weights,
        out=np.zeros(len(question_weights)),
        where=question_weights > 0,
    )
    number = _effective_number(question_weights, residuals, pictures)
    variance = float(deviations @ deviations / (question_weights @ question_weights))
    return _student_ends(float(run_means.mean()), variance, number, added, scale)


def mean_of_shares(groups: Sequence[Sample]) -> Ends:
    """Interval of the unweighted mean of the shares of right answers of several groups of questions.

    The spread of a group's answers is taken as if it had SMOOTHING_ANSWERS more, as good as the mean of all groups: a
    group with only right answers has been lucky.
    """
    samples = [group for group in groups if len(group.scores)]
    ends = _wilson(samples[0]) if len(samples) == 1 else _mean_of_shares(samples)
    least = sum(group.least for group in groups) / len(groups)
    most = sum(group.most for group in groups) / len(groups)
    return possible_ends(ends, least, most)


def _mean_of_shares(samples: Sequence[Sample]) -> Ends:
    sizes = np.array([len(sample.scores) for sample in samples])
    right = np.array([sample.scores.sum() for sample in samples])
    mean = (right / sizes).mean()
    smoothed_shares = (right + SMOOTHING_ANSWERS * mean) / (sizes + SMOOTHING_ANSWERS)
    # A smoothed share itself varies, so that its p (1 - p) is too small by this factor on the average.
    shrinkage = 1 - sizes / (sizes + SMOOTHING_ANSWERS) ** 2
    variances = smoothed_shares * (1 - smoothed_shares) / shrinkage
    weights = 1 / sizes / len(samples)  # of one question, by group
    squares = weights**2 * sizes
    variance = float(squares @ variances / squares.sum())
    scores = np.concatenate([sample.scores for sample in samples])
    residuals = scores - smoothed_shares.repeat(sizes)
    pictures = [picture for sample in samples for picture in sample.pictures]
    number = _effective_number(weights.repeat(sizes), residuals, pictures)
    return _student_ends(float(mean), variance, number, UNIT, UNIT)


def percent_ends(ends: Ends) -> Ends:
    """Ends of a share as percentages."""
    return Ends(100 * ends.low, 100 * ends.high)


def possible_ends(ends: Ends, least: float, most: float, scale: Ends = UNIT) -> Ends:
    """Interval of a mean with some unknown scores: with many, within the possible means.

    `least` and `most` are the mean if all unknown scores were the scale's lowest, and if they were its highest. Unknown
    scores are few if they can move the mean by less than LEAST_PARTIAL of the scale, and by less than the interval's
    width.
    """
    movable = most - least
    largest_few = LEAST_PARTIAL * (scale.high - scale.low) - 1e-9
    if movable < min(largest_few, ends.high - ends.low):
        return ends
    return Ends(max(ends.low, least), min(ends.high, most))


class _EffectiveNumber(NamedTuple):
    """The number of questions, each on its own picture, whose plain mean is as exact as a weighted mean."""

    questions: float
    beside_added: float
    """The number to weigh against added scores: the geometric mean of `questions` and the effective pictures.

    An added score counts as more than one of the questions on a picture, and as less than all of them.
    """


def _student_ends(
    mean: float, variance: float, number: _EffectiveNumber, added: Ends, scale: Ends
) -> Ends:
    """Interval of a mean of scores of this variance, to which two are added."""
    size = number.beside_added
    middle = (size * mean + added.low + added.high) / (size + 2)
    # The observed mean varies by variance / questions, so the sum of `size` scores by size**2 times that.
    squares = size**2 * (variance + (mean - middle) ** 2) / number.questions
    squares += (added.low - middle) ** 2 + (added.high - middle) ** 2
    error = np.sqrt(squares / (size + 1) / (size + 2))
    reach = float(student_quantile(np.array([size + 2]))[0] * error)
    return Ends(max(middle - reach, scale.low), min(middle + reach, scale.high))


def _effective_number(
    weights: Floats, residuals: Floats, pictures: Sequence[str]
) -> _EffectiveNumber:
    """Kish's (1965) number, less for pictures with several questions; the weights add up to 1."""
    questions = float(1 / (weights @ weights))
    codes = _picture_codes(pictures)
    if codes is None:
        return _EffectiveNumber(questions, questions)
    picture_weights = code_sums(codes, weights, int(codes.max()) + 1)
    effective_pictures = float(1 / (picture_weights @ picture_weights))
    questions /= _design_effect(weights, residuals, codes)
    return _EffectiveNumber(questions, float(np.sqrt(questions * effective_pictures)))


def _design_effect(weights: Floats, residuals: Floats, codes: Codes) -> float:
    """Factor, at least 1, by which a weighted mean varies more because its questions share pictures.

    It follows from the correlation of answers on one picture: how much more the residuals of two of them agree than
    those of answers on two pictures. Few pictures show this inexactly, so the effect is enlarged by Student's quantile
    over the normal one (degrees of freedom by Satterthwaite 1946). It is even less exact where few pictures have most
    of the residuals, so DOUBTED_PICTURES are added to these. A picture never counts as less than one question.
    """
    pictures = int(codes.max()) + 1
    picture_weights = code_sums(codes, weights, pictures)
    deviations = code_sums(codes, weights * residuals, pictures)
    squares = code_sums(codes, (weights * residuals) ** 2, pictures)
    question_weight = weights @ weights
    picture_weight = picture_weights @ picture_weights
    largest = float(picture_weight / question_weight)  # if all answers on a picture were the same
    if largest < 1 + 1e-9:  # those that share a picture are unscored
        return 1.0
    is_one_picture = picture_weight > 1 - 1e-9
    are_scores_alike = squares.sum() < 1e-12 * question_weight
    if is_one_picture or are_scores_alike:
        return largest
    # Mean product of two answers' residuals, on one picture and on two. An answer's product with itself is the largest.
    within = (deviations @ deviations - squares.sum()) / (picture_weight - question_weight)
    between = (deviations.sum() ** 2 - deviations @ deviations) / (1 - picture_weight)
    spread = squares.sum() / question_weight - between
    observed = min(max((within - between) / spread, 0.0), 1.0) if spread > 0 else 1.0
    telling_pictures = squares.sum() ** 2 / (squares @ squares)
    correlation = (telling_pictures * observed + DOUBTED_PICTURES) / (
        telling_pictures + DOUBTED_PICTURES
    )
    excess = correlation * (largest - 1)
    freedom = max((1 + 1 / excess) ** 2 * (1 / picture_weight - 1), 1.0)
    student = float(student_quantile(np.array([freedom + 1]))[0]) / NORMAL_QUANTILE
    return min((1 + excess) * student**2, largest)


def _picture_codes(pictures: Sequence[str]) -> Codes | None:
    """Codes of the questions' pictures, from 0 without gaps; None if no picture has two questions.

    Each question on an unknown picture has a code of its own.
    """
    questions = Counter(pictures)
    del questions[""]
    if max(questions.values(), default=0) < 2:
        return None
    codes = {picture: code for code, picture in enumerate(questions)}
    next_codes = count(len(codes))
    return np.array([codes[picture] if picture else next(next_codes) for picture in pictures])
