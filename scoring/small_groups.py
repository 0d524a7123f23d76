"""Small groups: the public scores of answers that nobody may read one by one."""

from collections.abc import Callable, Sequence
from typing import TypeVar

LEAST = 20
"""Scored answers of the smallest public group: a score of fewer would reveal those of single answers."""
T = TypeVar("T")


def shown_groups(groups: Sequence[T], size: Callable[[T], int]) -> list[T]:
    """Groups with `LEAST` scored answers, while those left out have as many together.

    Else the total without the public groups would reveal the small ones. Groups without a scored answer are left out,
    too, and reveal nothing.
    """
    ordered = sorted(filter(size, groups), key=size)
    left_out = sum(size(group) < LEAST for group in ordered)
    while 0 < left_out < len(ordered) and sum(map(size, ordered[:left_out])) < LEAST:
        left_out += 1
    public_ids = [id(group) for group in ordered[left_out:]]
    return [group for group in groups if id(group) in public_ids]
