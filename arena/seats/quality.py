"""Quality of seats' work: tuples that several workers judge, their agreement, and checks with a known answer."""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from arena.seats.spec import ChecksSpec


def is_overlap(campaign: str, share: float, member: Hashable) -> bool:
    """Returns whether a tuple is judged several times: always the same tuples, in any order of draws."""
    return lot(campaign, member) < share * 2**64


def lot(draw: str, member: Hashable) -> int:
    """Returns the number of a member, below 2**64, in the draw of this name."""
    return int.from_bytes(hashlib.sha256(f"{draw}\n{member}".encode()).digest()[:8])


class RestAgreement(NamedTuple):
    """The number of others' answers to a worker's tuples that agree, and of all."""

    agreed: int = 0
    others: int = 0


def agreement_with_rest(
    answers: Mapping[Any, Sequence[tuple[int, str]]],
) -> dict[int, RestAgreement]:
    """Returns the agreement of others with each worker; `answers` are (worker, answer) by tuple."""
    agreement: dict[int, RestAgreement] = {}
    for judged in answers.values():
        for place, (worker, answer) in enumerate(judged):
            others = [answer for other, (_, answer) in enumerate(judged) if other != place]
            before = agreement.get(worker, RestAgreement())
            agreement[worker] = RestAgreement(
                agreed=before.agreed + others.count(answer), others=before.others + len(others)
            )
    return agreement


def pairwise_agreement(answers: Iterable[Sequence[tuple[int, str]]]) -> float | None:
    """Returns the share of pairs of answers to one tuple that agree; None if no tuple was judged twice."""
    same = pairs = 0
    for judged in answers:
        counts = Counter(answer for _, answer in judged)
        pairs += counts.total() * (counts.total() - 1) // 2
        same += sum(count * (count - 1) // 2 for count in counts.values())
    return same / pairs if pairs else None


def wanted_checks(spec: ChecksSpec, votes: int, there_are: int) -> int:
    """Returns the number of checks for a seat with this quota, outside of it: at least one if there are any."""
    return min(there_are, max(1, math.ceil(spec.share * votes)))


def is_check_due(votes_left: int, checks_left: int, coin: random.Random) -> bool:
    """Returns whether the next piece is a check: all orders of the remaining pieces are equally likely."""
    return coin.random() * (votes_left + checks_left) < checks_left
