"""Multiple-choice downloads: an audit of every item, differences between protocols, problems and missing questions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import ChoiceQuestion, ChosenBy, Decided, Decision
from scoring.report import csv_bytes


def audit_lines(rows: Iterable[Decided], chosen_by: ChosenBy = "text") -> Iterator[str]:
    """Yields a JSON line per row; `letter` is null if undecided, "Z" for none of the options."""
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
    """A CSV of the rows to which protocols give different letters, with every protocol's trail of clues.

    `readings` has each protocol's decisions on the same rows, by the protocol's name.
    """
    header = ["index", "row", "question", "options", "answer", "prediction"]
    for protocol in readings:
        header += [protocol, f"{protocol}: trail"]
    lines = []
    for row_readings in zip(*readings.values(), strict=True):
        letters = {reading.decision.letter for reading in row_readings}
        if len(letters) == 1:
            continue
        question = row_readings[0].question
        options = "\n".join(f"{letter}. {text}" for letter, text in question.options.items())
        answer = question.answer or ""
        prediction = row_readings[0].prediction
        line = [question.index, question.row, question.text, options, answer, prediction]
        for reading in row_readings:
            line += [reading.decision.letter or "", _trail_text(reading.decision)]
        lines.append(line)
    return csv_bytes(header, lines)


def _trail_text(decision: Decision) -> str:
    return "\n".join(
        f"{clue.rule.value}: {clue.letter or 'no letter'} ({clue.span})" for clue in decision.trail
    )


def problems_csv(problems: Iterable[Problem]) -> bytes:
    rows = (
        (problem.row or "", problem.index, problem.blocks, problem.text) for problem in problems
    )
    return csv_bytes(["row", "index", "keeps from", "problem"], rows)


def missing_csv(questions: Iterable[ChoiceQuestion]) -> bytes:
    rows = (
        (question.index, question.text, question.category, question.group, question.split)
        for question in questions
    )
    return csv_bytes(["index", "question", "category", "l2-category", "split"], rows)
