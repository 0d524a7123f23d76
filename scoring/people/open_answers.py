"""Open answers: those that the rules of a multiple-choice report leave to a judge, and a draw of them for people.

MMBench compared its judge with people on the 376 of 824 answers that exact matching could not read (section 4.3).
"""

import hashlib
from collections.abc import Sequence

from scoring.benchmarks.article import ScoredAnswer
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.multiple_choice.types import Decided
from scoring.report import AnyReport, remembered

DRAWN = 376
"""Answers to draw: the number that MMBench's people read."""


@remembered
def open_rows(report: AnyReport) -> Sequence[Decided]:
    """The rows that a report's rules leave to a judge, whether one read them or not.

    Empty for a report that isn't multiple-choice.
    """
    if not isinstance(report, ChoiceReport):
        return ()
    return [row for row in report.rows if row.decision.was_open]


def open_answers(report: AnyReport) -> Sequence[ScoredAnswer]:
    """A report's open answers as a person reads them."""
    return [open_answer(row) for row in open_rows(report)]


def open_answer(row: Decided) -> ScoredAnswer:
    """A row as a person or the judge reads it: without the picture and the right answer."""
    return ScoredAnswer(
        id=str(row.question.index),
        question=row.question.text,
        truth="",
        answer=row.prediction,
        grade="",
        score=None,
        options=row.question.options,
    )


def draw_open(
    answers: Sequence[ScoredAnswer], n: int = DRAWN, seed: int = 0
) -> Sequence[ScoredAnswer]:
    """A random sample in random order, any first part of which is a random sample too.

    The seed and a question's index alone decide: reports on the same questions draw the same ones where both leave them
    open.
    """
    return sorted(answers, key=lambda answer: _place(seed, answer.id))[:n]


def _place(seed: int, item: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{item}".encode()).digest()
