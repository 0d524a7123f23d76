"""Draw of wrong answers to label: up to k of each group, as MMT-Bench's authors drew them (section 4.4).

The seed, the group and the question's id alone decide the order of answers within a group, and the first k are drawn.
The errors that two reports share are therefore in the same order in both.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from arena.types import grouped
from scoring.benchmarks.article import ScoredAnswer

PER_GROUP = 5
"""Errors that are drawn of each group, as by the authors."""
WRONG_AT_MOST = 0.5
"""An answer with this score or less is wrong: in MM-Vet, one with up to half the points."""


class GroupedError(NamedTuple):
    """A wrong answer with its group."""

    answer: ScoredAnswer
    group: str


@dataclass(frozen=True)
class KnownErrors:
    """All wrong answers of a report."""

    by_group: Mapping[str, Sequence[ScoredAnswer]]
    """Wrong answers by subtask, ability or set of capabilities; groups without errors are absent."""
    scored: int
    """Answers with a score that was read, not assigned; 0 for a file without right answers, such as a TEST split."""
    mean: float | None
    """Mean of these scores, from 0 to 1; None if there are none."""

    @property
    def by_item(self) -> Mapping[str, GroupedError]:
        """The errors by the question's id."""
        return {
            answer.id: GroupedError(answer, group)
            for group, wrong in self.by_group.items()
            for answer in wrong
        }

    @property
    def sizes(self) -> dict[str, int]:
        return {group: len(wrong) for group, wrong in self.by_group.items()}


class DrawnError(NamedTuple):
    """A wrong answer to be labelled."""

    answer: ScoredAnswer
    group: str
    chance: float
    """Probability of being drawn: min(1, k / errors of its group). Its inverse is the weight."""


def known_errors(answers: Iterable[ScoredAnswer]) -> KnownErrors:
    """The wrong answers by group. Unscored answers, and those with an assigned score, are not errors of the model."""
    scores = []
    errors = []
    for answer in answers:
        if answer.score is None or answer.assigned:
            continue
        scores.append(answer.score)
        if answer.score <= WRONG_AT_MOST:
            group = answer.subtask or ", ".join(answer.groups)
            errors.append((group, answer))
    mean = sum(scores) / len(scores) if scores else None
    return KnownErrors(by_group=grouped(errors), scored=len(scores), mean=mean)


def draw_errors(known: KnownErrors, k: int = PER_GROUP, seed: int = 0) -> tuple[DrawnError, ...]:
    """Up to k errors of each group: one of every group first, then a second, so that the first cover many groups."""
    lots: list[_Lot] = []
    for group, wrong in known.by_group.items():
        lot_hashes = [(_lot_hash(seed, group, answer.id), answer) for answer in wrong]
        ordered = sorted(lot_hashes, key=itemgetter(0))
        chance = min(1.0, k / len(wrong))
        for rank, (lot_hash, answer) in enumerate(ordered[:k]):
            lots.append(_Lot(rank, lot_hash, DrawnError(answer, group, chance)))
    lots.sort(key=lambda lot: (lot.rank, lot.hash))
    return tuple(lot.error for lot in lots)


class _Lot(NamedTuple):
    """A drawn error with its place: its rank within its group, then a hash."""

    rank: int
    hash: bytes
    error: DrawnError


def _lot_hash(seed: int, group: str, item: str) -> bytes:
    """A hash that orders the errors of a group."""
    return hashlib.sha256(f"{seed}\0{group}\0{item}".encode("utf-8", "surrogatepass")).digest()
