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
    groups: Sequence[T], size: Callable[[T], int], answers: Callable[[T], int] | None = None
) -> list[T]:
    """Groups with `LEAST` scored answers. If groups are left out, they have at least as many together.

    Else the total without the public groups would reveal the small ones; so the next larger ones are left out, too.
    Groups without a scored answer are left out and reveal nothing; but where an answer may be unscored because it is
    wrong, `answers` counts a group's unscored ones too, and a group that has only such is a small one.
    """
    count = answers or size
    ordered = sorted((group for group in groups if count(group)), key=size)
    left_out = sum(size(group) < LEAST for group in ordered)
    while 0 < left_out < len(ordered) and sum(map(size, ordered[:left_out])) < LEAST:
        left_out += 1
    public_ids = [id(group) for group in ordered[left_out:]]
    return [group for group in groups if id(group) in public_ids]


def reveals_few(groups: NDArray[np.int64]) -> bool:
    """Whether sums over groups together reveal the sum over fewer than `LEAST` answers.

    `groups` is (groups, answers): how often each answer counts in a group. Two groups that differ in a few answers
    reveal them, and so do several groups that make up another but for a few that are in the same groups, or that are of
    two such kinds.
    """
    # A kind of answers is in the same groups.
    kinds, sizes = np.unique(groups.astype(np.int16), axis=1, return_counts=True)
    is_in = (kinds != 0).astype(float)
    common = (is_in * sizes) @ is_in.T
    group_sizes = common.diagonal()
    differing = group_sizes[:, None] + group_sizes[None, :] - 2 * common
    counts = np.concatenate([group_sizes, differing.ravel()])
    if bool(((counts > 0) & (counts < LEAST)).any()):
        return True
    # The sum over a kind is revealed if it is a sum of multiples of the groups' sums: its projection on them is whole.
    sums = kinds.astype(float)
    values, vectors = np.linalg.eigh(sums @ sums.T)
    is_free = values > _LEAST_VALUE * values.max(initial=0.0)
    spanned = (vectors[:, is_free].T @ sums) / np.sqrt(values[is_free])[:, None]
    is_revealed = (spanned**2).sum(axis=0) > 1 - _ROUNDING
    return bool((is_revealed & (sizes < LEAST)).any()) or _reveal_two_kinds(spanned, sizes)


def _reveal_two_kinds(spanned: NDArray[np.float64], sizes: NDArray[np.int64]) -> bool:
    """Whether sums over groups reveal one over two kinds of answers that are few together, in any multiples.

    Then the larger eigenvalue of the projection's part for these two is 1. `spanned` has the projection's vectors by
    kind.
    """
    known = (spanned**2).sum(axis=0)
    # The eigenvalue is at most the sum of what is known of both, so that of one of them a half is known.
    first = np.flatnonzero((known > 0.5 - _ROUNDING) & (sizes < LEAST))
    shared = spanned[:, first].T @ spanned
    mean = (known[first, None] + known) / 2
    deviation = (known[first, None] - known) / 2
    larger_eigenvalue = mean + np.hypot(deviation, shared)
    are_few = sizes[first, None] + sizes < LEAST
    are_few[np.arange(len(first)), first] = False  # A kind with itself.
    return bool((are_few & (larger_eigenvalue > 1 - _ROUNDING)).any())
