"""CircularEval (MMBench 4.1): a question is right if all its rotated passes are; only a complete file can say so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scoring.choice.files import Problem
from scoring.choice.records import ChoiceQuestion, Decided

PASS = 1_000_000
"""Pass k of question i has the index i + k * PASS."""

Outcome = Literal["right", "wrong", "undecided", "incomplete"]
"""A wrong pass makes a question wrong whatever is missing; a missing one, with none wrong, leaves it incomplete."""


@dataclass(frozen=True, slots=True)
class Circle:
    """One question with its passes."""

    index: int
    passes: tuple[Decided, ...]
    """Those that are there, in order."""
    missing: tuple[int, ...]
    """Numbers of the passes that are not there; 0 is the base row."""
    outcome: Outcome

    @property
    def question(self) -> ChoiceQuestion:
        """Return the first pass that is there, for the question's abilities and split."""
        return self.passes[0].question

    @property
    def right(self) -> bool | None:
        """Tell whether the question is right; None where that is not known."""
        return {"right": True, "wrong": False}.get(self.outcome)


def is_circular(questions: Iterable[ChoiceQuestion]) -> bool:
    """Tell whether any row is a rotated pass."""
    return any(question.index >= PASS for question in questions)


def circles(rows: Sequence[Decided], undecided_wrong: bool = False) -> tuple[Circle, ...]:
    """Return every question of a file with its passes, in the order of indices."""
    by_base: dict[int, list[Decided]] = {}
    for row in rows:
        by_base.setdefault(row.question.index % PASS, []).append(row)
    return tuple(_circle(base, by_base[base], undecided_wrong) for base in sorted(by_base))


def _circle(base: int, rows: list[Decided], undecided_wrong: bool) -> Circle:
    passes = tuple(sorted(rows, key=lambda row: row.question.index))
    there = {row.question.index // PASS for row in passes}
    needed = max(len(row.question.options) for row in passes)
    missing = tuple(sorted(set(range(needed)) - there))
    outcomes = [bool(row.right) if undecided_wrong else row.right for row in passes]
    if False in outcomes:
        return Circle(base, passes, missing, "wrong")
    if missing:
        return Circle(base, passes, missing, "incomplete")
    return Circle(base, passes, missing, "undecided" if None in outcomes else "right")


def gaps(found: Sequence[Circle]) -> tuple[Problem, ...]:
    """Return what keeps a file from being scored as circular, question by question."""
    return tuple(
        Problem(
            circle.question.row,
            circle.index,
            f"question {circle.index} lacks {_passes(circle.missing)} and no pass of it is wrong; "
            "add them, or score the file as vanilla",
            "circular",
        )
        for circle in found
        if circle.outcome == "incomplete"
    )


def missing_bases(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Return the questions of which passes are there and the base row is not: vanilla cannot count them."""
    first: dict[int, ChoiceQuestion] = {}
    for question in questions:
        kept = first.setdefault(question.index % PASS, question)
        if question.index < kept.index:
            first[question.index % PASS] = question
    return tuple(
        Problem(
            question.row, base, f"question {base} has passes and no base row; add the row with index {base}", "nothing"
        )
        for base, question in first.items()
        if question.index >= PASS
    )


def rotation_problems(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """Return the passes whose options or answer are not the base row's, moved on by the pass's number."""
    by_base: dict[int, list[ChoiceQuestion]] = {}
    for question in questions:
        by_base.setdefault(question.index % PASS, []).append(question)
    problems = []
    for base, passes in by_base.items():
        passes.sort(key=lambda question: question.index)
        first = passes[0]
        for question in passes[1:]:
            if wrong := _wrong_rotation(first, question):
                text = (
                    f"pass {question.index // PASS} of question {base}: {wrong}; take both rows from one question file"
                )
                problems.append(Problem(question.row, question.index, text, "circular"))
    return tuple(problems)


def _wrong_rotation(first: ChoiceQuestion, other: ChoiceQuestion) -> str:
    """Return what is wrong with a pass beside the first one; "" if it is its rotation, either way around."""
    texts, moved = list(first.options.values()), list(other.options.values())
    by = other.index // PASS - first.index // PASS
    if len(moved) != len(texts):
        return f"expected {len(texts)} options, found {len(moved)}"
    if other.index // PASS >= len(texts):
        return f"there is no such pass of {len(texts)} options"
    if moved not in (texts[-by:] + texts[:-by], texts[by:] + texts[:by]):
        return f"its options are not those of the base row moved on by {by}"
    if first.answer and other.answer and other.options[other.answer] != first.options[first.answer]:
        return f"its answer {other.answer} is another option than the base row's {first.answer}"
    return ""


def _passes(numbers: Sequence[int]) -> str:
    named = ["its base row" if number == 0 else f"pass {number}" for number in numbers]
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
