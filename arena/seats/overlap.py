"""Overlap: a share of the tuples that several workers judge, so that their agreement is known."""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any


def is_overlap(campaign: str, share: float, of: Hashable) -> bool:
    """Whether a tuple is one of those judged several times: always the same ones, however the work is drawn."""
    number = int.from_bytes(hashlib.sha256(f"{campaign}\n{of}".encode()).digest()[:8])
    return number < share * 2**64


def agreement_with_rest(
    answers: Mapping[Any, Sequence[tuple[int, str]]],
) -> dict[int, tuple[int, int]]:
    """Of each worker, on tuples with answers of others: how many of these others agreed, and how many there were.

    `answers` are (worker, answer) by tuple.
    """
    found: dict[int, tuple[int, int]] = {}
    for given in answers.values():
        for place, (worker, answer) in enumerate(given):
            others = [one for at, (_, one) in enumerate(given) if at != place]
            agreed, number = found.get(worker, (0, 0))
            found[worker] = (agreed + others.count(answer), number + len(others))
    return found


def pairwise_agreement(answers: Iterable[Sequence[tuple[int, str]]]) -> float | None:
    """Share of pairs of answers to one tuple that agree; None without a tuple judged twice."""
    same = pairs = 0
    for given in answers:
        kinds = [answer for _, answer in given]
        pairs += len(kinds) * (len(kinds) - 1) // 2
        same += sum(kinds.count(one) * (kinds.count(one) - 1) // 2 for one in set(kinds))
    return same / pairs if pairs else None
