"""Quality of seats' work: tuples that several workers judge, their agreement, and checks with a known answer."""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from arena.seats.spec import ChecksSpec


def is_overlap(campaign: str, share: float, member: Hashable) -> bool:
    """Returns whether a tuple is among those that several workers judge: about a `share` of a campaign's tuples.

    They are the same ones whatever the order of draws.
    """
    return lot(campaign, member) < share * 2**64


def lot(draw: str, member: Hashable) -> int:
    """Returns a pseudorandom number below 2**64, always the same for a member in the draw of this name."""
    return int.from_bytes(hashlib.sha256(f"{draw}\n{member}".encode()).digest()[:8])


class RestAgreement(NamedTuple):
    """Others' answers to a worker's tuples."""

    agreed: int = 0
    """The number of those that agree with the worker's."""
    others: int = 0
    """The number of all."""


def agreement_with_rest(
    answers: Mapping[Any, Sequence[tuple[int, str]]],
) -> dict[int, RestAgreement]:
    """Returns the agreement of others with each worker; `answers` are (worker, answer) by tuple."""
    agreement: dict[int, RestAgreement] = {}
    for tuple_answers in answers.values():
        counts = Counter(answer for _, answer in tuple_answers)
        for worker, answer in tuple_answers:
            before = agreement.get(worker, RestAgreement())
            # Without the worker's own answer.
            agreement[worker] = RestAgreement(
                agreed=before.agreed + counts[answer] - 1,
                others=before.others + len(tuple_answers) - 1,
            )
    return agreement


def pairwise_agreement(answers: Iterable[Sequence[tuple[int, str]]]) -> float | None:
    """Returns the share of pairs of answers to one tuple that agree; None if no tuple was judged twice.

    `answers` are the (worker, answer) of each tuple.
    """
    agreeing_pairs = 0
    pairs = 0
    for tuple_answers in answers:
        counts = Counter(answer for _, answer in tuple_answers)
        pairs += math.comb(len(tuple_answers), 2)
        agreeing_pairs += sum(math.comb(count, 2) for count in counts.values())
    return agreeing_pairs / pairs if pairs else None


def wanted_checks(spec: ChecksSpec, votes: int, available: int) -> int:
    """Returns the number of checks for a seat besides its quota of `votes`: at least one if any are available."""
    count = math.ceil(round(spec.share * votes, 6))  # in binary, 28% of 25 is a little over 7
    return min(available, max(1, count))


def is_check_due(votes_left: int, checks_left: int, coin: random.Random) -> bool:
    """Returns whether the next piece is a check: all orders of the remaining pieces are equally likely."""
    return coin.random() * (votes_left + checks_left) < checks_left
