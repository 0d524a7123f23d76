"""Marking plan: the order in which people see the answers of a report.

Answers have strata by the judge's score: unscored, nothing, between, full. Strata take turns in proportion to their
sizes, and the order within a stratum is drawn by lot. The answers marked at any moment are therefore a stratified
random sample in which every answer was as likely as any other, and means over marks need no weights. A share SECOND of
answers goes to a second person too, and a share AGAIN to the same person once more. Where two persons' labels or
readings differ, a third person gets the answer.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from scoring.benchmarks.article import ScoredAnswer

SECOND = 0.2
AGAIN = 0.1
AFTER = 5
"""Other answers that a person sees before one comes again."""


def answer_key(answer: ScoredAnswer) -> str:
    """Hash of question and answer: a file that is scored again keeps its marks."""
    options = (f"{letter}. {text}" for letter, text in answer.options.items())
    text = "\n".join((answer.id, answer.question, *options, answer.answer))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def stratum_of(score: float | None) -> str:
    """The stratum of an answer with this score, from 0 to 1."""
    if score is None:
        return "unscored"
    if score <= 0.05:
        return "nothing"
    return "full" if score >= 0.95 else "between"


class Planned(NamedTuple):
    """An answer in the order of marking."""

    key: str
    item: str
    stratum: str
    is_shared: bool
    """Whether a second person sees it too."""
    comes_again: bool
    """Whether the same person sees it once more."""


def planned(key: str, item: str, stratum: str, seed: str) -> Planned:
    """An answer's place in the plan; the seed and the key draw the persons who see it again."""
    coin = random.Random(f"{seed} {key}")
    return Planned(key, item, stratum, coin.random() < SECOND, coin.random() < AGAIN)


def mark_plan(answers: Sequence[ScoredAnswer], seed: str) -> tuple[Planned, ...]:
    """The order in which a report's answers are marked: the same for everybody who marks it."""
    strata: dict[str, dict[str, str]] = {}
    for answer in answers:
        strata.setdefault(stratum_of(answer.score), {})[answer_key(answer)] = answer.id
    turns = []
    for stratum, items in strata.items():
        order = list(items.items())
        random.Random(f"{seed} {stratum}").shuffle(order)
        for place, (key, item) in enumerate(order):
            turn = (place + 0.5) / len(order)
            turns.append(((turn, stratum, place), planned(key, item, stratum, seed)))
    turns.sort(key=itemgetter(0))
    return tuple(answer for _, answer in turns)


class Handed(NamedTuple):
    """The answers of a plan that were handed out already, by `answer_key`."""

    persons: Mapping[str, frozenset[str]]
    """The persons who had each answer."""
    own: Sequence[tuple[str, int]]
    """The answers that the next person had, in order, each with its round."""
    disputed: frozenset[str] = frozenset()
    """Answers that exactly two persons had, with different values."""


def next_answer(plan: Sequence[Planned], handed: Handed) -> tuple[Planned, int] | None:
    """The next answer for a person with its round: 1, or 2 if it comes again; None if nothing is left.

    First an answer that comes again, then one for a third person to settle, then one for a second person, then a new
    one.
    """
    rounds = {key: number for key, number in handed.own}
    recent = {key for key, _ in handed.own[-AFTER:]}
    for answer in plan:
        if answer.comes_again and rounds.get(answer.key) == 1 and answer.key not in recent:
            return answer, 2
    fresh = [answer for answer in plan if answer.key not in rounds]
    disputed = [answer for answer in fresh if answer.key in handed.disputed]
    shared = [
        answer
        for answer in fresh
        if answer.is_shared and len(handed.persons.get(answer.key, ())) == 1
    ]
    new = [answer for answer in fresh if not handed.persons.get(answer.key)]
    candidates = [*disputed, *shared, *new]
    return (candidates[0], 1) if candidates else None
