"""Answers to a spec's questions: each is asked with its pictures, in the words of the spec's `ask` or in ours."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from arena.inference.offline import Task
from arena.io.tables import read_records
from scoring.benchmarks.modes import question_prompt
from scoring.benchmarks.offline_answers import (
    WITH_IMAGES,
    Answers,
    OfflineBenchmark,
    cell_turns,
    check_questions,
    image_cell,
    shared_cells,
    without_images,
)
from scoring.benchmarks.submission import printable
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.multiple_choice.types import ChoiceQuestion
from scoring.report import csv_bytes
from scoring.rules.prompted import BRACES
from scoring.specs.derived import cell_text
from scoring.specs.reading import SpecRow, case_of, item_of, read_questions
from scoring.specs.schema import Spec

_PICTURE = "image_id"
"""The column of a file of answers that says which questions share a picture; the pictures are left out."""


def offline_spec(spec: Spec, file: Path) -> OfflineBenchmark:
    """Returns the questions of a spec's own file, which holds their pictures. Raises RowsError and AnsweringError."""
    references: dict[int, str] = {}  # Filled while the records are read.
    records = without_images(read_records(file, WITH_IMAGES, allow_object=True), references)
    questions = read_questions(spec, records)
    check_questions(file, questions.problems, questions.rows)
    texts = {row.id: asked_text(spec, row) for row in questions.rows}
    return OfflineBenchmark(
        digest=hashlib.sha256("\n".join(map(repr, texts.items())).encode()).hexdigest(),
        count=len(questions.rows),
        rounds=(partial(_tasks, file, questions.rows, texts, references),),
        write=lambda answers, _: _answers_tsv(spec, questions.rows, answers),
    )


def asked_text(spec: Spec, row: SpecRow) -> str:
    """Returns the text of a question to a model: the spec's `ask` with its fields filled in, or our own words.

    All fields are filled in one pass, so braces in a question or an option stay as they are.
    """
    item = item_of(spec, row)
    case = case_of(spec, row.cells)
    options = case.rule.shown_options(item) if case else item.options
    if spec.ask is None:
        return _default_text(item.question, options)
    option_lines = "\n".join(f"{letter}. {text}" for letter, text in options.items())
    fields = {"question": item.question, "options": option_lines}

    def filled(field: re.Match[str]) -> str:
        return fields[field[1]]

    return BRACES.sub(filled, spec.ask)


def _default_text(question: str, options: Mapping[str, str]) -> str:
    if not options:
        return question
    choice = ChoiceQuestion(
        index=0,
        text=question,
        options=options,
        answer=None,
        category="",
        group="",
        split="",
    )
    return question_prompt(choice)


def _tasks(
    file: Path,
    rows: Sequence[SpecRow],
    texts: Mapping[str, str],
    references: Mapping[int, str],
    _: Answers,
) -> Iterator[Task]:
    """Yields every question with its pictures, in the file's order; previous answers change nothing."""
    id_by_row = {row.row: row.id for row in rows}
    shared = shared_cells(file, references, id_by_row)
    for record in read_records(file, WITH_IMAGES, allow_object=True):
        id = id_by_row.get(record.row)
        if id is not None:
            reference = references.get(record.row, "")
            cell = shared.get(reference) or image_cell(record)
            yield Task(id, partial(cell_turns, cell, texts[id]))


def _answers_tsv(spec: Spec, rows: Sequence[SpecRow], answers: Answers) -> bytes:
    """Returns the questions that were answered, without their pictures, each with the model's answer."""
    columns = spec.columns
    names = dict.fromkeys(name for row in rows for name in row.cells)
    others = [name for name in names if name not in (columns.id, *IMAGE_COLUMNS)]
    pictures = [row.picture for row in rows if row.picture]
    are_shared = len({*pictures}) < len(pictures)
    adds_picture_ids = are_shared and _PICTURE not in others
    heads = [columns.id, *others, columns.answer]
    if adds_picture_ids:
        heads.insert(-1, _PICTURE)
    lines = []
    for row in rows:
        if row.id not in answers:
            continue
        cells = [row.id, *(cell_text(row.cells.get(name)) for name in others), answers[row.id]]
        if adds_picture_ids:
            cells.insert(-1, row.picture)
        lines.append([*map(printable, cells)])
    return csv_bytes(heads, lines, "utf-8", exact=True, delimiter="\t")
