"""Multiple-choice downloads: audit of every item, and differences between protocols."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import ChoiceQuestion, ChosenBy, Decided, Decision
from scoring.report import csv_bytes


def audit_lines(rows: Iterable[Decided], chosen_by: ChosenBy = "text") -> Iterator[str]:
    """One complete JSON line per row; `letter` is null if undecided, "Z" for none of the options."""
    for row in rows:
        question = row.question
        decision = row.decision
        record = {
            "index": question.index,
            "prediction": row.prediction,
            "chosen_by": chosen_by,
            "letter": decision.letter,
            "rule": decision.rule,
            "span": decision.span,
            "step": decision.step,
            "answer": question.answer,
            "right": row.right,
            "category": question.category,
            "l2-category": question.group,
            "split": question.split,
            "trail": [
                {"rule": clue.rule, "letter": clue.letter, "span": clue.span}
                for clue in decision.trail
            ],
            "replies": decision.replies,
            "judge": decision.model,
        }
        yield json.dumps(record) + "\n"


def differences_csv(readings: Mapping[str, Sequence[Decided]]) -> bytes:
    """Every row that two readings, by protocol and of the same rows, give different letters, with all trails."""
    lines = []
    for rows in zip(*readings.values(), strict=True):
        if len({row.decision.letter for row in rows}) > 1:
            question = rows[0].question
            options = "\n".join(f"{letter}. {text}" for letter, text in question.options.items())
            texts = (question.text, options, question.answer or "", rows[0].prediction)
            read = (
                cell
                for row in rows
                for cell in (row.decision.letter or "", _trail_text(row.decision))
            )
            lines.append([question.index, question.row, *texts, *read])
    columns = (column for name in readings for column in (name, f"{name}: trail"))
    return csv_bytes(
        ["index", "row", "question", "options", "answer", "prediction", *columns], lines
    )


def _trail_text(decision: Decision) -> str:
    return "\n".join(
        f"{clue.rule.value}: {clue.letter or 'no letter'} ({clue.span})" for clue in decision.trail
    )


def problems_csv(problems: Iterable[Problem]) -> bytes:
    rows = ((one.row or "", one.index, one.blocks, one.text) for one in problems)
    return csv_bytes(["row", "index", "keeps from", "problem"], rows)


def missing_csv(questions: Iterable[ChoiceQuestion]) -> bytes:
    rows = ((one.index, one.text, one.category, one.group, one.split) for one in questions)
    return csv_bytes(["index", "question", "category", "l2-category", "split"], rows)
