"""Shares of the kinds of error: in the labelled sample, as MMT-Bench gives them, and weighted to all errors.

An answer that people call right after all is not an error: it is counted apart and left out of every share.

The sample has up to k errors of each group, so that its plain share counts a group with 5 errors as much as one with
50. In the weighted share, a label from a group with N errors, n of them labelled, counts N/n. This is a stratified
sample without replacement, and its share is unbiased for all errors of these groups (Cochran 1977, chapter 5). Only the
labels show how many wrong answers are errors, so that a share is a ratio of two estimates (chapter 6).

The weighted interval is Wilson's for the size of a simple random sample with the same variance, reduced by the
uncertainty of the variance itself (Korn and Graubard 1998; degrees of freedom by Satterthwaite 1946). Few labels of a
rare kind don't show how it is spread over the groups: the variance is drawn towards that of an evenly spread kind, with
the weight of EVEN_LABELS labels.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.intervals import LEVEL, NORMAL_QUANTILE
from arena.ratings.shares import Share, design_effects, shares, wilson
from arena.ratings.votes import Floats
from arena.templates import plural
from scoring.people.error_sample import KnownErrors
from scoring.people.errors import KEYS, ErrorKey, Label
from scoring.people.measures import Interval

EVEN_LABELS = 1
"""Weight, counted in labels, of the assumption that a kind is evenly spread over the groups."""
RIGHT: ErrorKey = "right"
ERRORS: tuple[ErrorKey, ...] = tuple(key for key in KEYS if key != RIGHT)
"""The kinds that an error has."""


class LabelsError(ValueError):
    """Labels and errors that do not belong together; the message says why."""


class KindShare(NamedTuple):
    """Share of errors of which a kind is the main one."""

    key: ErrorKey
    sample: Share
    """Share of the labelled errors; the interval counts groups, whose errors are alike, as clusters."""
    weighted: Interval
    """Share of all errors in the groups with labels."""


@dataclass(frozen=True)
class ErrorShares:
    """Shares of the kinds of one model's errors, by its labels."""

    kinds: Mapping[ErrorKey, KindShare]
    """Shares by each kind of `ERRORS`."""
    right: KindShare
    """The answers that are right after all, as shares of labelled answers and of all wrong ones in labelled groups."""
    labelled: int
    wrong: int
    """All wrong answers of the report."""
    covered: int
    """Wrong answers in groups with labels."""


def merge_labels(labels: Iterable[Label]) -> list[Label]:
    """One label for each item, from one model's labels, the oldest first.

    Each person's last round counts. The main kind is the one that most people chose, in a tie the one chosen last. A
    third person's label thus decides between two that differ. Further kinds are those that at least half of the people
    chose at all.
    """
    by_item: dict[str, dict[str, Label]] = {}
    for label in labels:
        people = by_item.setdefault(label.item, {})
        earlier = people.get(label.labeller)
        if earlier is None or label.round >= earlier.round:
            people.pop(label.labeller, None)  # moves the label to the end
            people[label.labeller] = label
    return [_merge([*people.values()]) for people in by_item.values()]


def _merge(labels: Sequence[Label]) -> Label:
    """One label from several people's labels of an item."""
    if len(labels) == 1 and not labels[0].further:  # most items: there is nothing to count
        return labels[0]
    votes = Counter(label.main for label in labels)
    most = max(votes.values())
    chosen = next(label for label in reversed(labels) if votes[label.main] == most)
    people_by_kind: Counter[ErrorKey] = Counter()
    for label in labels:
        people_by_kind.update({label.main, *label.further})
    common = {key for key, people in people_by_kind.items() if 2 * people >= len(labels)}
    further = tuple(key for key in KEYS if key in common and key != chosen.main)
    return chosen._replace(further=further)


def error_shares(labels: Iterable[Label], known: KnownErrors) -> ErrorShares:
    """The share of each kind among one model's labelled errors.

    Raises LabelsError if a group has more labels than errors. That each label is of a known error is for the caller to
    check.
    """
    merged_labels = merge_labels(labels)
    counts = count_kinds(merged_labels)
    known_sizes = known.sizes
    for group, row in counts.items():
        size = known_sizes.get(group, 0)
        if row.total() > size:
            raise LabelsError(
                f"The group {group!r} has {plural(size, 'wrong answer')}, but labels for {row.total()}. "
                "Use labels of this report's errors only."
            )
    labelled = np.array([row.total() for row in counts.values()], float)
    sizes = np.array([known_sizes[group] for group in counts], float)
    error_hits = _hits(counts.values(), ERRORS)
    errors = [label for label in merged_labels if label.main != RIGHT]
    weighted = _weighted_shares(error_hits, error_hits.sum(1), labelled, sizes)
    kinds: dict[ErrorKey, KindShare] = {
        key: KindShare(key, _sample_share(errors, key), interval)
        for key, interval in zip(ERRORS, weighted, strict=True)
    }
    right_hits = _hits(counts.values(), [RIGHT])
    (right,) = _weighted_shares(right_hits, labelled, labelled, sizes)
    return ErrorShares(
        kinds=kinds,
        right=KindShare(RIGHT, _sample_share(merged_labels, RIGHT), right),
        labelled=len(merged_labels),
        wrong=sum(known_sizes.values()),
        covered=int(sizes.sum()),
    )


def count_kinds(labels: Iterable[Label]) -> dict[str, Counter[ErrorKey]]:
    """Counts of each main kind, by group, from labels as `merge_labels` returns them."""
    counts: dict[str, Counter[ErrorKey]] = {}
    for label in labels:
        counts.setdefault(label.group, Counter())[label.main] += 1
    return counts


def _hits(counts: Collection[Counter[ErrorKey]], kinds: Sequence[ErrorKey]) -> Floats:
    """Labels of each kind: groups x kinds, of shape (0, kinds) if there is no group."""
    hits = np.zeros((len(counts), len(kinds)))
    for group, row in enumerate(counts):
        for column, key in enumerate(kinds):
            hits[group, column] = row[key]
    return hits


def _sample_share(labels: Sequence[Label], key: ErrorKey) -> Share:
    """The share of a kind among labels; the interval counts each group as a cluster."""
    _, group = np.unique([label.group for label in labels], return_inverse=True)
    hit = np.array([label.main == key for label in labels], bool)
    one_cell = np.zeros(len(labels), int)
    effect = design_effects(hit, cell=one_cell, cells=1, clusterings=[group.astype(int)])
    (sample,) = shares(np.array([hit.sum()]), np.array([len(labels)]), effect)
    return sample


def _weighted_shares(
    hits: Floats, among: Floats, labelled: Floats, sizes: Floats
) -> list[Interval]:
    """The share of each kind, weighted to all wrong answers of the groups.

    Counts by group: `hits` labels of each kind (groups x kinds), `among` labels in the share's denominator, `labelled`
    all labels, `sizes` all wrong answers.
    """
    from scipy.special import stdtrit

    if not among.any():
        return [Interval(0.0, 0.0, 1.0)] * hits.shape[1]
    weight = sizes / sizes.sum()
    # by group: the variance of the weighted mean is the sum of factor x variance within the group
    factor = (weight**2 * (1 - labelled / sizes) / labelled)[:, None]
    # of all wrong answers, the part that the share's denominator counts
    among_share = float(weight @ (among / labelled))
    value = weight @ (hits / labelled[:, None]) / among_share
    if not factor.any():  # every wrong answer is labelled
        return [Interval(share, share, share) for share in value.tolist()]
    # labels of the kind, or of all other kinds if these are fewer: so many show how the kind is spread
    rarer = np.minimum(hits.sum(0), among.sum() - hits.sum(0))
    # variances from here on are relative to p (1 - p), that of a simple random sample of one label
    simple_variance = np.where(rarer > 0, value * (1 - value), 1)
    share_variances = _variances(hits, among, labelled, value) / among_share**2
    observed = share_variances / simple_variance
    # the variance of an evenly spread kind, 1 / among_share, times its weight
    even_spread = EVEN_LABELS / among_share
    group_variances = factor * (rarer * observed + even_spread) / (rarer + EVEN_LABELS)
    variance = group_variances.sum(0)
    squares = (group_variances**2 / np.maximum(labelled - 1, 1)[:, None]).sum(0)
    freedom = variance**2 / squares
    widening = stdtrit(freedom, (1 + LEVEL) / 2) / NORMAL_QUANTILE
    size = 1 / variance / widening**2
    low, high = wilson(value * size, size)
    return list(map(Interval, value.tolist(), low.tolist(), high.tolist()))


def _variances(hits: Floats, among: Floats, labelled: Floats, value: Floats) -> Floats:
    """The variance, within each group, of a label's deviation from the share: groups x kinds.

    The deviation is 1 - `value` for a label of the kind, -`value` for another label of the denominator, and 0 for a
    label outside it. A group with a single label has the pooled variance of the others.
    """
    others = among[:, None] - hits
    totals = hits - value * among[:, None]
    squares = hits * (1 - value) ** 2 + others * value**2 - totals**2 / labelled[:, None]
    freedom = (labelled - 1).sum()
    if freedom:
        pooled = squares.sum(0) / freedom
    else:  # every group has a single label: the variance of a simple random sample
        among_share = among.sum() / labelled.sum()
        share = hits.sum(0) / among.sum()
        pooled = among_share * share * (1 - share)
    return np.where(labelled[:, None] > 1, squares / np.maximum(labelled - 1, 1)[:, None], pooled)


class ScoreBounds(NamedTuple):
    """A report's score, from 0 to 1, with and without the wrong questions among its errors in groups with labels.

    An error because of a wrong question has the kind "annotation".
    """

    none_dropped: float
    all_dropped: float
    highest: float
    """With the upper end of the interval for the share of wrong questions dropped."""
    answers: int
    """Answers of the mean without any dropped: those whose score was read. The report may count more."""


def without_annotation_errors(kind_shares: ErrorShares, known: KnownErrors) -> ScoreBounds | None:
    """The score that a model would have without the wrong questions among its errors in groups with labels.

    None if no answer is scored. Wrong questions among its other answers are unknown. The mean is over questions.
    """
    if known.mean is None:
        return None
    scores = [answer.score or 0.0 for group in known.by_group.values() for answer in group]
    mean_of_wrong = sum(scores) / len(scores) if scores else 0.0
    points = known.mean * known.scored
    errors = kind_shares.covered * (1 - kind_shares.right.weighted.value)

    def mean_without(share: float) -> float:
        """The mean score without this share of the errors."""
        dropped = share * errors
        remaining = known.scored - dropped
        # Without a remaining answer, none is wrong.
        return (points - dropped * mean_of_wrong) / remaining if remaining > 0 else 1.0

    annotation = kind_shares.kinds["annotation"].weighted
    return ScoreBounds(
        none_dropped=known.mean,
        all_dropped=mean_without(annotation.value),
        highest=mean_without(annotation.high),
        answers=known.scored,
    )
