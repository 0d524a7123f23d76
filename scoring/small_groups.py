"""Small groups: which scores may be shown of answers that nobody may read one by one."""

from collections.abc import Callable, Sequence
from typing import TypeVar

LEAST = 20
"""Scored answers of the smallest group that is shown: a score of fewer would tell how single ones fared."""
T = TypeVar("T")


def shown_groups(groups: Sequence[T], size: Callable[[T], int]) -> list[T]:
    """The groups with `LEAST` scored answers, while those left out have as many together.

    Else the total less what is shown would tell the small ones. Groups without a scored answer tell nothing, and have
    nothing to show.
    """
    ordered = sorted(filter(size, groups), key=size)
    left_out = sum(size(group) < LEAST for group in ordered)
    while 0 < left_out < len(ordered) and sum(map(size, ordered[:left_out])) < LEAST:
        left_out += 1
    shown = [id(group) for group in ordered[left_out:]]
    return [group for group in groups if id(group) in shown]
