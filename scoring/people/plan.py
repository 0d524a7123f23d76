"""Marking plan: in which order the answers of a report are shown to people.

Answers lie in strata by the judge's score: unscored, nothing, between, full. Strata take turns in proportion to their
sizes, and within one the order is a fixed lot: whatever is marked at any moment is a stratified random sample, in which
every answer was as likely as any other, so that means over marks need no weights. A share SECOND of answers goes to a
second person too, and a share AGAIN to the same person once more. Where two persons' labels or readings differ, a third
is asked.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scoring.benchmarks.article import ScoredAnswer

SECOND = 0.2
AGAIN = 0.1
AFTER = 5
"""Other answers that a person is shown before one comes again."""


def answer_key(answer: ScoredAnswer) -> str:
    """Hash of question and answer: a file that is scored again keeps its marks."""
    options = (f"{letter}. {text}" for letter, text in answer.options.items())
    told = "\n".join((answer.id, answer.question, *options, answer.answer))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def stratum_of(score: float | None) -> str:
    if score is None:
        return "unscored"
    return "nothing" if score <= 0.05 else "full" if score >= 0.95 else "between"


class Planned(NamedTuple):
    """An answer in the order of marking."""

    key: str
    item: str
    stratum: str
    is_shared: bool
    """Whether a second person is shown it too."""
    comes_again: bool


def planned(key: str, item: str, stratum: str, seed: str) -> Planned:
    coin = random.Random(f"{seed} {key}")
    return Planned(key, item, stratum, coin.random() < SECOND, coin.random() < AGAIN)


def mark_plan(answers: Sequence[ScoredAnswer], seed: str) -> tuple[Planned, ...]:
    """The order in which a report's answers are marked: the same for everybody who marks it."""
    strata: dict[str, dict[str, str]] = {}
    for answer in answers:
        strata.setdefault(stratum_of(answer.score), {})[answer_key(answer)] = answer.id
    order = {name: list(own.items()) for name, own in strata.items()}
    for name, own in sorted(order.items()):
        random.Random(f"{seed} {name}").shuffle(own)
    turns = sorted(
        ((place + 0.5) / len(own), name, place)
        for name, own in order.items()
        for place in range(len(own))
    )
    plan = []
    for _, name, place in turns:
        key, item = order[name][place]
        plan.append(planned(key, item, name, seed))
    return tuple(plan)


class Had(NamedTuple):
    """What was given out of a plan: persons by answer, and one person's own, in order, with their rounds."""

    persons: Mapping[str, frozenset[str]]
    own: Sequence[tuple[str, int]]
    disputed: frozenset[str] = frozenset()
    """Answers of which two persons, and nobody else, said different things."""


def next_of(plan: Sequence[Planned], had: Had) -> tuple[Planned, int] | None:
    """The next answer for a person, and which time it is: 1, or 2 if it comes again; None if nothing is left.

    First what comes again, then what a third person is to settle, or a second one to see, then the next of all.
    """
    rounds = {key: number for key, number in had.own}
    lately = {key for key, _ in had.own[-AFTER:]}
    for one in plan:
        if one.comes_again and rounds.get(one.key) == 1 and one.key not in lately:
            return one, 2
    fresh = [one for one in plan if one.key not in rounds]
    disputed = (one for one in fresh if one.key in had.disputed)
    shared = (
        one for one in fresh if one.is_shared and len(had.persons.get(one.key, frozenset())) == 1
    )
    new = (one for one in fresh if not had.persons.get(one.key))
    found = next(disputed, None) or next(shared, None) or next(new, None)
    return found and (found, 1)
