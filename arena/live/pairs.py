"""Pairs: the models that may meet in a battle, if visitors lend their keys.

A key that is taken back, expired or refused ends each battle that needs it. So that such an end reveals nothing about
the two models, every battle that begins with a key needs it: at least one of its models uses it."""

from collections.abc import Mapping
from itertools import combinations

from arena.types import VLM


def fitting_pairs(able: Mapping[str, VLM], are_visitors: bool) -> list[tuple[str, str]]:
    """Returns the pairs of models, by name, to draw from; `are_visitors`: whether visitors lend keys."""
    pairs = list(combinations(able, 2))
    if not are_visitors:
        return pairs
    lent = [pair for pair in pairs if any(able[name].card.visitor_key for name in pair)]
    return lent or pairs


def can_replace(failed: VLM, other: VLM) -> bool:
    """Returns whether a battle still needs the visitor's key if it did before."""
    return other.card.visitor_key or not failed.card.visitor_key
