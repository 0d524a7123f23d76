"""Draw of wrong answers to label: up to k of each group, as MMT-Bench's authors drew them (section 4.4).

Within a group the answers stand in an order that the seed, the group and the question's id alone decide, and the first
k are drawn. Reports on the same questions therefore draw the same ones, as far as they are wrong in both.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from arena.types import grouped
from scoring.benchmarks.article import ScoredAnswer

PER_GROUP = 5
WRONG_AT_MOST = 0.5
"""Score up to which an answer is wrong: 0 where answers are right or wrong, half the points in MM-Vet."""


@dataclass(frozen=True)
class KnownErrors:
    """All wrong answers of a report."""

    by_group: Mapping[str, Sequence[ScoredAnswer]]
    """By subtask, ability or set of capabilities; groups without errors are absent."""
    scored: int
    """Answers with a score that somebody read; none if the file holds no right answers, as a TEST split."""
    mean: float | None
    """Their mean score, from 0 to 1."""

    @property
    def by_item(self) -> Mapping[str, tuple[ScoredAnswer, str]]:
        """Each error with its group, by the question's id."""
        return {one.id: (one, group) for group, wrong in self.by_group.items() for one in wrong}

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
    """The wrong answers by group. An unscored answer, and one whose score was assigned, is no error of the model."""
    scored = [(one, one.score) for one in answers if one.score is not None and not one.assigned]
    wrong = grouped(
        (one.subtask or ", ".join(one.groups), one)
        for one, score in scored
        if score <= WRONG_AT_MOST
    )
    return KnownErrors(
        wrong, len(scored), sum(score for _, score in scored) / len(scored) if scored else None
    )


def draw(known: KnownErrors, k: int = PER_GROUP, seed: int = 0) -> tuple[DrawnError, ...]:
    """Up to k errors of each group: first one of every group, then a second one, so that any start of it is spread."""
    found = []
    for group, wrong in known.by_group.items():
        ordered = sorted((_place(seed, group, one.id), one) for one in wrong)
        chance = min(1.0, k / len(wrong))
        found += [
            (rank, place, DrawnError(one, group, chance))
            for rank, (place, one) in enumerate(ordered[:k])
        ]
    return tuple(drawn for *_, drawn in sorted(found, key=lambda one: one[:2]))


def _place(seed: int, group: str, item: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{group}\0{item}".encode("utf-8", "surrogatepass")).digest()
