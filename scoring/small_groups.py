"""Small groups: which scores may be shown of answers that nobody may read one by one."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

LEAST = 20
"""Scored answers of the smallest public group: a score of fewer would reveal those of single answers."""
_LEAST_VALUE = 1e-9
_ROUNDING = 1e-6
"""By how much rounding moves an eigenvalue of 0, and a share of 1."""
T = TypeVar("T")


def shown_groups(
    groups: Sequence[T],
    scored: Callable[[T], int],
    answers: Callable[[T], int] | None = None,
) -> list[T]:
    """Groups with `LEAST` answers or more, by the number that `scored` counts.

    The groups left out must have `LEAST` together, since the total minus the public groups reveals their sum. If they
    have fewer, the next larger groups are left out too.

    A group without a scored answer is left out and reveals nothing. But where an answer may be unscored because it is
    wrong, give `answers`, which counts all answers of a group. Then a group with only unscored ones is a small group.
    """
    count = answers or scored
    ordered = sorted((group for group in groups if count(group)), key=scored)
    left_out = sum(scored(group) < LEAST for group in ordered)
    while 0 < left_out < len(ordered) and sum(map(scored, ordered[:left_out])) < LEAST:
        left_out += 1
    public_ids = [id(group) for group in ordered[left_out:]]
    return [group for group in groups if id(group) in public_ids]


def reveals_few(groups: NDArray[np.int64]) -> bool:
    """Whether sums over groups together reveal the sum over fewer than `LEAST` answers.

    `groups` has the shape (groups, answers): how often each answer counts in a group. Few answers are revealed by a
    small group, by two groups that differ in them, and by several groups if they remain when the sums are added and
    subtracted. These may be answers of one kind, which are in the same groups, or of two kinds.
    """
    # Answers of a kind are in the same groups, equally often.
    kinds, sizes = np.unique(groups.astype(np.int16), axis=1, return_counts=True)
    is_in = (kinds != 0).astype(float)
    common = (is_in * sizes) @ is_in.T
    group_sizes = common.diagonal()
    differing = group_sizes[:, None] + group_sizes[None, :] - 2 * common
    counts = np.concatenate([group_sizes, differing.ravel()])
    if bool(((counts > 0) & (counts < LEAST)).any()):
        return True
    # The sum over a kind is revealed if it is a sum of multiples of the groups' sums: its projection has length 1.
    sums = kinds.astype(float)
    values, vectors = np.linalg.eigh(sums @ sums.T)
    is_free = values > _LEAST_VALUE * values.max(initial=0.0)
    spanned = (vectors[:, is_free].T @ sums) / np.sqrt(values[is_free])[:, None]
    is_revealed = (spanned**2).sum(axis=0) > 1 - _ROUNDING
    return bool((is_revealed & (sizes < LEAST)).any()) or _reveal_two_kinds(spanned, sizes)


def _reveal_two_kinds(spanned: NDArray[np.float64], sizes: NDArray[np.int64]) -> bool:
    """Whether the groups' sums reveal a weighted sum of two kinds that have fewer than `LEAST` answers together.

    They do if the larger eigenvalue of the projection's 2 x 2 part for these kinds is 1. `spanned` has the shape
    (dimensions, kinds): the column of a kind is its projection on the groups' sums.
    """
    known = (spanned**2).sum(axis=0)
    # The larger eigenvalue is at most `known` of both kinds together, so one of them has at least a half.
    first = np.flatnonzero((known > 0.5 - _ROUNDING) & (sizes < LEAST))
    shared = spanned[:, first].T @ spanned
    mean = (known[first, None] + known) / 2
    deviation = (known[first, None] - known) / 2
    larger_eigenvalue = mean + np.hypot(deviation, shared)
    are_few = sizes[first, None] + sizes < LEAST
    are_few[np.arange(len(first)), first] = False  # A kind with itself.
    return bool((are_few & (larger_eigenvalue > 1 - _ROUNDING)).any())
