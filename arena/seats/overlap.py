"""Overlap: a share of the tuples that several workers judge, so that their agreement is known."""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple


def is_overlap(campaign: str, share: float, of: Hashable) -> bool:
    """Whether a tuple is one of those judged several times: always the same ones, however the work is drawn."""
    return lot(campaign, of) < share * 2**64


def lot(draw: str, of: Hashable) -> int:
    """Returns the number, below 2**64, that something has in a draw of this name."""
    return int.from_bytes(hashlib.sha256(f"{draw}\n{of}".encode()).digest()[:8])


class RestAgreement(NamedTuple):
    """Of the answers of others to a worker's tuples, those that agreed, and all."""

    agreed: int = 0
    others: int = 0


def agreement_with_rest(
    answers: Mapping[Any, Sequence[tuple[int, str]]],
) -> dict[int, RestAgreement]:
    """How far others agreed with each worker, on tuples that others judged; `answers` are (worker, answer) by tuple."""
    found: dict[int, RestAgreement] = {}
    for given in answers.values():
        for place, (worker, answer) in enumerate(given):
            others = [one for at, (_, one) in enumerate(given) if at != place]
            before = found.get(worker, RestAgreement())
            found[worker] = RestAgreement(
                agreed=before.agreed + others.count(answer), others=before.others + len(others)
            )
    return found


def pairwise_agreement(answers: Iterable[Sequence[tuple[int, str]]]) -> float | None:
    """Share of pairs of answers to one tuple that agree; None without a tuple judged twice."""
    same = pairs = 0
    for given in answers:
        kinds = [answer for _, answer in given]
        pairs += len(kinds) * (len(kinds) - 1) // 2
        same += sum(kinds.count(one) * (kinds.count(one) - 1) // 2 for one in set(kinds))
    return same / pairs if pairs else None
