"""Multiple-choice downloads: audit of every item, differences between protocols, submissions to official servers."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import LETTERS, NONE, ChoiceQuestion, Decided, Decision
from scoring.report import safe_cell

_CONTROL = dict.fromkeys([*range(0x20), 0x7F])
_KEPT = {ord("\n"): "\n", ord("\t"): "\t"}


def audit_lines(rows: Iterable[Decided]) -> Iterator[str]:
    """One complete JSON line per row: question, prediction, letter, deciding rule and the text it read."""
    for row in rows:
        yield json.dumps(audit_record(row), ensure_ascii=True) + "\n"


def audit_record(row: Decided) -> dict[str, Any]:
    """A row's audit; `letter` is null if undecided, "Z" for none of the options."""
    question, decision = row.question, row.decision
    return {
        "index": question.index,
        "prediction": row.prediction,
        "letter": decision.letter,
        "rule": decision.rule.value,
        "span": decision.span,
        "step": decision.step,
        "answer": question.answer,
        "right": row.right,
        "category": question.category,
        "l2-category": question.group,
        "split": question.split,
        "trail": [{"rule": clue.rule.value, "letter": clue.letter, "span": clue.span} for clue in decision.trail],
        "replies": list(decision.replies),
        "judge": decision.model,
    }


def submission(rows: Sequence[Decided]) -> bytes:
    """A TSV for the official servers with the letters in the column `opt`; undecided is "Z" there."""
    used = sorted({letter for row in rows for letter in row.question.options}, key=LETTERS.index)
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["index", "question", *used, "category", "l2-category", "split", "prediction", "opt"])
    for row in rows:
        question = row.question
        options = [question.options.get(letter, "") for letter in used]
        cells = [question.text, *options, question.category, question.group, question.split, row.prediction]
        letter = row.decision.letter or NONE
        writer.writerow([question.index, *(cell.translate(_CONTROL | _KEPT) for cell in cells), letter])
    return out.getvalue().encode("utf-8", "replace")


def differences_csv(readings: Mapping[str, Sequence[Decided]]) -> bytes:
    """Every row for which the readings of a file have different letters, with all trails, safe in Excel.

    `readings` are keyed by protocol and hold the same questions in the same order.
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    columns = (column for name in readings for column in (name, f"{name}: trail"))
    writer.writerow(["index", "row", "question", "options", "answer", "prediction", *columns])
    for rows in zip(*readings.values(), strict=True):
        if len({row.decision.letter for row in rows}) > 1:
            question = rows[0].question
            options = "\n".join(f"{letter}. {text}" for letter, text in question.options.items())
            texts = (question.text, options, question.answer or "", rows[0].prediction)
            read = (cell for row in rows for cell in (row.decision.letter or "", trail_text(row.decision)))
            writer.writerow([question.index, question.row, *map(safe_cell, (*texts, *read))])
    return out.getvalue().encode("utf-8-sig", "replace")


def trail_text(decision: Decision) -> str:
    """One line per clue: the rule, its letter and the text that it read."""
    return "\n".join(f"{clue.rule.value}: {clue.letter or 'no letter'} ({clue.span})" for clue in decision.trail)


def problems_csv(problems: Iterable[Problem]) -> bytes:
    """A file's problems, one per line, safe in Excel."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["row", "index", "keeps from", "problem"])
    for problem in problems:
        index = "" if problem.index is None else problem.index
        writer.writerow([problem.row or "", index, problem.blocks, safe_cell(problem.text)])
    return out.getvalue().encode("utf-8-sig", "replace")


def missing_csv(questions: Iterable[ChoiceQuestion]) -> bytes:
    """Rows of the question file without an answer, safe in Excel."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["index", "question", "category", "l2-category", "split"])
    for one in questions:
        writer.writerow([one.index, *map(safe_cell, (one.text, one.category, one.group, one.split))])
    return out.getvalue().encode("utf-8-sig", "replace")
