"""Marking plan: the order in which people see the answers of a report.

Answers have strata by the judge's score: unscored, nothing, between, full. Strata take turns in proportion to their
sizes, and the order within a stratum is drawn by lot. The answers marked at any moment are therefore a stratified
random sample in which every answer was as likely as any other, and means over marks need no weights. Some answers go
to a second person too, and some to the same person once more. Where two persons' labels or readings differ, a third
person gets the answer.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scoring.benchmarks.article import ScoredAnswer

SHARED_PART = 0.2
"""Share of answers that a second person sees too."""
REPEATED_PART = 0.1
"""Share of answers that the same person sees once more."""
LEAST_BETWEEN = 5
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


class PlannedAnswer(NamedTuple):
    """An answer in the order of marking."""

    key: str
    item: str
    stratum: str
    is_shared: bool
    """Whether a second person sees it too."""
    comes_again: bool
    """Whether the same person sees it once more."""


def plan_answer(key: str, item: str, stratum: str, seed: str) -> PlannedAnswer:
    """An answer of the plan; the seed and the key decide by lot whether it is shared, and whether it comes again."""
    lot = random.Random(f"{seed} {key}")
    return PlannedAnswer(
        key=key,
        item=item,
        stratum=stratum,
        is_shared=lot.random() < SHARED_PART,
        comes_again=lot.random() < REPEATED_PART,
    )


def mark_plan(answers: Sequence[ScoredAnswer], seed: str) -> tuple[PlannedAnswer, ...]:
    """The order in which a report's answers are marked: the same for everybody who marks it."""
    strata: dict[str, dict[str, str]] = {}
    for answer in answers:
        item_by_key = strata.setdefault(stratum_of(answer.score), {})
        item_by_key[answer_key(answer)] = answer.id
    turns: list[_Turn] = []
    for stratum, item_by_key in strata.items():
        order = list(item_by_key.items())
        random.Random(f"{seed} {stratum}").shuffle(order)
        for place, (key, item) in enumerate(order):
            part = (place + 0.5) / len(order)
            turns.append(_Turn(part, stratum, plan_answer(key, item, stratum, seed)))
    turns.sort(key=lambda turn: (turn.part, turn.stratum))
    return tuple(turn.answer for turn in turns)


class _Turn(NamedTuple):
    """A stratum's turn to give an answer."""

    part: float
    """The part of its stratum that comes before the answer, so that large strata have more turns."""
    stratum: str
    answer: PlannedAnswer


class History(NamedTuple):
    """The answers of a plan that people have had already, by `answer_key`."""

    persons: Mapping[str, frozenset[str]]
    """The persons who had each answer."""
    own: Sequence[tuple[str, int]]
    """The answers that the person who is to mark next has had, in order, each with its round."""
    disputed: frozenset[str] = frozenset()
    """Answers that exactly two persons had, with different values."""


class NextAnswer(NamedTuple):
    """The answer that a person sees next."""

    answer: PlannedAnswer
    round: int
    """1, or 2 if the person has seen it before."""


def next_answer(plan: Sequence[PlannedAnswer], history: History) -> NextAnswer | None:
    """The next answer for a person; None if nothing is left.

    First an answer that comes again, then one for a third person to settle, then one for a second person, then a new
    one.
    """
    last_rounds: dict[str, int] = {}
    for key, round in history.own:
        last_rounds[key] = max(round, last_rounds.get(key, 0))
    recent = {key for key, _ in history.own[-LEAST_BETWEEN:]}
    for answer in plan:
        if answer.comes_again and last_rounds.get(answer.key) == 1 and answer.key not in recent:
            return NextAnswer(answer, 2)
    unseen = [answer for answer in plan if answer.key not in last_rounds]
    disputed = [answer for answer in unseen if answer.key in history.disputed]
    shared = [
        answer
        for answer in unseen
        if answer.is_shared and len(history.persons.get(answer.key, ())) == 1
    ]
    new = [answer for answer in unseen if not history.persons.get(answer.key)]
    candidates = [*disputed, *shared, *new]
    return NextAnswer(candidates[0], 1) if candidates else None
