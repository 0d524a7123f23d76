"""Shares of the kinds of error: of the labelled sample, as MMT-Bench gives them, and weighted to all errors.

An answer that people call right after all is no error: it is in no share and counted apart.

The sample has up to k errors of each group, however many the group has: a share of it counts a group with 5 errors as
much as one with 50. Weighted, a label of a group with N errors, n of them labelled, counts N/n: a stratified sample
without replacement, whose share is unbiased for all errors of these groups (Cochran 1977, chapter 5). How many wrong
answers are errors is known of the labelled alone, so that a share is a ratio of two such numbers (chapter 6).

The weighted interval is Wilson's with as many labels as a simple random sample would need for the same variance, fewer
by how badly the variance itself is known (Korn and Graubard 1998; degrees of freedom by Satterthwaite 1946). Few labels
of a rare kind say little about how it is spread over the groups: the variance is drawn towards that of a kind that is
spread evenly, by EVEN labels.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.intervals import LEVEL, NORMAL
from arena.ratings.shares import Share, design_effects, shares, wilson
from arena.ratings.votes import Floats
from scoring.people.error_sample import KnownErrors
from scoring.people.errors import KEYS, ErrorKey, Label
from scoring.people.measures import Interval

EVEN = 1
RIGHT: ErrorKey = "right"
ERRORS: tuple[ErrorKey, ...] = tuple(key for key in KEYS if key != RIGHT)
"""The kinds that an error has."""


class LabelsError(ValueError):
    """Labels and errors that do not belong together; says why."""


class KindShare(NamedTuple):
    """How often a kind of error is the main one."""

    key: ErrorKey
    sample: Share
    """Of the labelled errors; the interval counts groups, whose errors are alike, as clusters."""
    weighted: Interval
    """Of all errors in the groups with labels."""


@dataclass(frozen=True)
class ErrorShares:
    """What labels say of one model's errors."""

    kinds: Mapping[ErrorKey, KindShare]
    """By each of `ERRORS`."""
    right: KindShare
    """The answers that are right after all: of the labelled, and of all wrong answers in the groups with labels."""
    labelled: int
    wrong: int
    """All wrong answers of the report."""
    covered: int
    """Wrong answers in groups with labels."""


def merged(labels: Iterable[Label]) -> list[Label]:
    """One label for each item, given one model's labels, the oldest first.

    The last round of a person counts. The main kind is the one that most people name, of several the one named last:
    where two disagree, a third person decides. Further kinds are those that half of the people name at all.
    """
    by_item: dict[str, dict[str, Label]] = {}
    for one in labels:
        people = by_item.setdefault(one.item, {})
        before = people.get(one.labeller)
        if before is None or one.round >= before.round:
            people.pop(one.labeller, None)  # so that it stands last
            people[one.labeller] = one
    return [_merged([*people.values()]) for people in by_item.values()]


def _merged(people: Sequence[Label]) -> Label:
    if len(people) == 1 and not people[0].further:  # as most are
        return people[0]
    votes = Counter(one.main for one in people)
    most = max(votes.values())
    last = next(one for one in reversed(people) if votes[one.main] == most)
    named = Counter(key for one in people for key in {one.main, *one.further})
    return last._replace(
        further=tuple(
            k for k in KEYS if k != last.main and k in named and 2 * named[k] >= len(people)
        )
    )


def error_shares(labels: Iterable[Label], known: KnownErrors) -> ErrorShares:
    """Shares of each kind among one model's labelled errors. Raises LabelsError for labels of no known error."""
    one_each = merged(labels)
    counts = by_group(one_each)
    sizes = known.sizes
    for group, row in counts.items():
        if row.total() > sizes.get(group, 0):
            raise LabelsError(
                f"{row.total()} answers of the group {group!r} are labelled, and {sizes.get(group, 0)} of its answers "
                "are wrong; give labels of this report's errors alone"
            )
    n = np.array([row.total() for row in counts.values()], float)
    of = np.array([sizes[group] for group in counts], float)
    hits = np.array([[row[key] for key in KEYS] for row in counts.values()], float).reshape(
        -1, len(KEYS)
    )
    errors = [label for label in one_each if label.main != RIGHT]
    error_hits = hits[:, [KEYS.index(key) for key in ERRORS]]
    weighted = _weighted(error_hits, error_hits.sum(1), n, of)
    kinds: dict[ErrorKey, KindShare] = {
        key: KindShare(key, _of_sample(errors, key), interval)
        for key, interval in zip(ERRORS, weighted, strict=True)
    }
    (right,) = _weighted(hits[:, [KEYS.index(RIGHT)]], n, n, of)
    return ErrorShares(
        kinds=kinds,
        right=KindShare(RIGHT, _of_sample(one_each, RIGHT), right),
        labelled=len(one_each),
        wrong=sum(sizes.values()),
        covered=int(of.sum()),
    )


def by_group(labels: Iterable[Label]) -> dict[str, Counter[ErrorKey]]:
    """How often each kind is the main one, by group: labels as `merged` returns them."""
    found: dict[str, Counter[ErrorKey]] = {}
    for one in labels:
        found.setdefault(one.group, Counter())[one.main] += 1
    return found


def _of_sample(labels: Sequence[Label], key: ErrorKey) -> Share:
    _, group = np.unique([one.group for one in labels], return_inverse=True)
    hit = np.array([one.main == key for one in labels], bool)
    effect = design_effects(hit, np.zeros(len(labels), int), 1, [group.astype(int)])
    (found,) = shares(np.array([hit.sum()]), np.array([len(labels)]), effect)
    return found


def _weighted(hits: Floats, among: Floats, n: Floats, of: Floats) -> list[Interval]:
    """The share of each kind in what `among` counts: from its labels (groups x kinds), all labels and all answers.

    `hits`, `among` and `n` count labels of each group: those of a kind, those that the share is of, and all.
    """
    from scipy.special import stdtrit

    if not among.any():
        return [Interval(0.0, 0.0, 1.0)] * hits.shape[1]
    weight = of / of.sum()
    spread = (weight**2 * (1 - n / of) / n)[:, None]
    part = float(weight @ (among / n))
    value = weight @ (hits / n[:, None]) / part
    if not spread.any():  # every wrong answer is labelled
        return [Interval(share, share, share) for share in value.tolist()]
    told = np.minimum(hits.sum(0), among.sum() - hits.sum(0))
    plain = np.where(told > 0, value * (1 - value), 1)
    # of groups, over p (1 - p)
    own = _variances(hits, among, n, value) / plain / part**2
    inside = spread * (told * own + EVEN / part) / (told + EVEN)
    variance = inside.sum(0)
    squares = (inside**2 / np.maximum(n - 1, 1)[:, None]).sum(0)
    reach = stdtrit(variance**2 / squares, (1 + LEVEL) / 2) / NORMAL
    size = 1 / variance / reach**2
    low, high = wilson(value * size, size)
    return list(map(Interval, value.tolist(), low.tolist(), high.tolist()))


def _variances(hits: Floats, among: Floats, n: Floats, value: Floats) -> Floats:
    """Variance within each group of what a label adds to a share's numerator less the share times its denominator.

    A group with a single label has that of the others together.
    """
    beside = among[:, None] - hits
    totals = hits - value * among[:, None]
    squares = hits * (1 - value) ** 2 + beside * value**2 - totals**2 / n[:, None]
    free = (n - 1).sum()
    part = among.sum() / n.sum()
    share = hits.sum(0) / among.sum()
    pooled = squares.sum(0) / free if free else part * share * (1 - share)
    return np.where(n[:, None] > 1, squares / np.maximum(n - 1, 1)[:, None], pooled)


class ScoreBounds(NamedTuple):
    """A report's score, from 0 to 1, with wrong questions and without those among its errors in groups with labels."""

    none_dropped: float
    all_dropped: float
    highest: float
    """With as many dropped as the upper end of the interval of their share."""


def without_annotation_errors(found: ErrorShares, known: KnownErrors) -> ScoreBounds | None:
    """What a model would score if wrong questions were dropped among its errors in groups with labels.

    None if nothing is scored. Wrong questions among its other answers are not known. The mean is over questions.
    """
    if known.mean is None:
        return None
    wrong = [one.score or 0.0 for group in known.by_group.values() for one in group]
    points = known.mean * known.scored
    lost = sum(wrong) / len(wrong) if wrong else 0.0

    errors = found.covered * (1 - found.right.weighted.value)

    def dropped(share: float) -> float:
        number = share * errors
        left = known.scored - number
        return (points - number * lost) / left if left > 0 else 1.0

    annotation = found.kinds["annotation"].weighted
    return ScoreBounds(known.mean, dropped(annotation.value), dropped(annotation.high))
