"""VLMEvalKit's table of choice questions: writes a question file as a TSV that this toolkit can score by itself.

If the toolkit doesn't know a table's name, and the table has the columns A and B, it treats the table as multiple
choice. It reports the mean of all rows and of each `category` and `l2-category`, by `split` (August 2026).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from arena.io.csv_text import write_csv
from arena.io.strict_json import row_errors
from arena.io.tables import ANSWERS, read_records
from arena.templates import plural
from scoring.benchmarks.base import check_scorable
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.multiple_choice.truths import TruthCell, read_truths
from scoring.multiple_choice.types import LETTERS
from scoring.rules.letter import LetterRule
from scoring.specs.derived import cell_text
from scoring.specs.problems import SpecError, SpecProblem
from scoring.specs.reading import (
    SpecRow,
    case_of,
    derived_rows,
    item_of,
    read_questions,
    split_of,
    with_id,
)
from scoring.specs.schema import Spec

_GROUPS = ("category", "l2-category")
_ONLY_CHOICES = "From a table, VLMEvalKit scores only multiple choice. Use --as eval or --as spec."
_PICTURES = ("image", "image_path")
_MOST_LISTED = 10
_EMPTY_TO_PANDAS = frozenset(
    "#N/A,#N/A N/A,#NA,-1.#IND,-1.#QNAN,-NaN,-nan,1.#IND,1.#QNAN,<NA>,N/A,NA,NULL,NaN,None,n/a,nan,null".split(
        ","
    )
)
"""Cells that pandas reads as empty; the toolkit reads tables with pandas."""


class KitTableError(ValueError):
    """Questions cannot be written as the toolkit's table; the message says which."""


@dataclass(frozen=True)
class KitQuestion:
    """A row of the table."""

    id: str
    row: int
    """The row of the question file at which it starts."""
    question: str
    options: Mapping[str, str]
    answer: str
    """The right answer: the question file's cell, or its letter after `_with_letters`. "" without one."""
    groups: Sequence[str]
    """Its `category` and `l2-category`, as far as the benchmark has them."""
    split: str


@dataclass(frozen=True)
class KitTable:
    """A question file as the toolkit's table."""

    path: Path
    questions: Sequence[KitQuestion]
    picture_columns: Sequence[str]
    """The file's columns of `_PICTURES`."""
    group_names: Sequence[str]
    """The toolkit's names of the questions' `groups`."""
    has_splits: bool
    notes: Sequence[str]
    """Sentences on what the table leaves out or changes."""

    def write(self, out: Path) -> None:
        """Writes the table, with its pictures read row by row."""
        last_letter = max(letter for question in self.questions for letter in question.options)
        letters = LETTERS[: LETTERS.index(last_letter) + 1]
        heads = ["index", *self.picture_columns, "question", *letters, "answer", *self.group_names]
        split_heads = ["split"] if self.has_splits else []
        by_row = {question.row: question for question in self.questions}
        with out.open("w", encoding="utf-8", newline="") as file:
            _write_row(file, [*heads, *split_heads])
            for record in read_records(self.path, ANSWERS, allow_object=True):
                question = by_row.get(record.row)
                if question is None:
                    continue
                pictures = [cell_text(record.values.get(name)) for name in self.picture_columns]
                options = [question.options.get(letter, "") for letter in letters]
                cells = [question.id, *pictures, question.question, *options, question.answer]
                split_cells = [question.split] if self.has_splits else []
                _write_row(file, [*cells, *question.groups, *split_cells])


def _write_row(file: TextIO, cells: Sequence[str]) -> None:
    write_csv(file, [cells], exact=True, delimiter="\t")


def kit_table(spec: Spec, path: Path) -> KitTable:
    """The table of a spec's question file. Raises SpecError, RowsError, ChoicesError and KitTableError."""
    _check_rules(spec)
    with row_errors(path.name):
        records = read_records(path, ANSWERS, allow_object=True, digested=IMAGE_COLUMNS)
        file = read_questions(spec, records)
    check_scorable(path.name, file.problems)
    columns = _group_columns(spec)
    questions = [_question(spec, row, [*columns.values()]) for row in file.rows]
    _check_options(questions)
    answered_by_letter = _with_letters(questions)
    return KitTable(
        path=path,
        questions=answered_by_letter,
        picture_columns=[name for name in _PICTURES if any(name in row.cells for row in file.rows)],
        group_names=[*columns],
        has_splits=bool(spec.splits),
        notes=[*_notes(spec, file.rows, answered_by_letter)],
    )


def _check_rules(spec: Spec) -> None:
    """Raises SpecError where the toolkit would score something else."""
    kinds = [kind for kind in spec.kinds if kind != "letter"]
    if kinds:
        text = f"The rule is {' and '.join(kinds)}. {_ONLY_CHOICES}"
        raise SpecError([SpecProblem("rule", text)])
    if any(getattr(case.rule, "open", None) for case in spec.rule):
        text = f"The rule has open questions. {_ONLY_CHOICES}"
        raise SpecError([SpecProblem("rule", text)])


def _group_columns(spec: Spec) -> Mapping[str, str]:
    """The groups that become `category` and `l2-category`, by these names: those of that name, else the first ones."""
    unused = [*spec.groups]
    columns: dict[str, str] = {}
    for name in _GROUPS:
        namesakes = [column for column in unused if _plain_name(column) == name]
        if namesakes:
            columns[name] = namesakes[0]
            unused.remove(namesakes[0])
    for name in _GROUPS:
        if name not in columns and unused:
            columns[name] = unused.pop(0)
    return {name: columns[name] for name in _GROUPS if name in columns}


def _plain_name(column: str) -> str:
    return column.lower().replace("_", "-").replace(" ", "-")


def _question(spec: Spec, row: SpecRow, columns: Sequence[str]) -> KitQuestion:
    item = item_of(spec, row)
    case = case_of(spec, row.cells)
    # A row that fits no case has its options and answer in the usual columns.
    rule = case.rule if case is not None else LetterRule()
    assert isinstance(rule, LetterRule)  # `_check_rules` refused the others
    cells = derived_rows(spec, with_id(spec, row))[0]
    return KitQuestion(
        id=row.id,
        row=row.row,
        question=item.question,
        options=rule.options_of(item),
        answer=rule.truth_of(item) or "",
        groups=[cell_text(cells.get(column)) for column in columns],
        split=split_of(spec, row.cells),
    )


def _check_options(questions: Sequence[KitQuestion]) -> None:
    """Raises KitTableError for questions with fewer than two options."""
    without = [question.id for question in questions if len(question.options) < 2]
    if without:
        raise KitTableError(
            f"Fewer than two options: {_questions_text(without)}. Add some, or leave these questions out."
        )


def _with_letters(questions: Sequence[KitQuestion]) -> Sequence[KitQuestion]:
    """The questions with their right answers as letters. Raises KitTableError.

    Right answers may be letters, numbers or texts of options: only the whole column shows which.
    """
    answered = [question for question in questions if question.answer]
    if not answered:
        return questions
    truths = read_truths([TruthCell(question.answer, question.options) for question in answered])
    if truths.ambiguous:
        raise KitTableError(truths.ambiguous)
    wrong = [
        question.id
        for question, letter in zip(answered, truths.letters, strict=True)
        if letter is None
    ]
    if wrong:
        raise KitTableError(
            f"The right answer isn't one of the options: {_questions_text(wrong)}. Correct it."
        )
    if len(answered) < len(questions):
        without = [question.id for question in questions if not question.answer]
        raise KitTableError(
            f"No right answer: {_questions_text(without)}. Add it, or leave these questions out."
        )
    return [
        replace(question, answer=letter or "")
        for question, letter in zip(questions, truths.letters, strict=True)
    ]


def _questions_text(ids: Sequence[str]) -> str:
    """The number of questions with these ids, and the first ids in brackets."""
    others = len(ids) - _MOST_LISTED
    more = f" and {others:,} more" if others > 0 else ""
    return f"{plural(len(ids), 'question')} ({', '.join(ids[:_MOST_LISTED])}{more})"


def _notes(spec: Spec, rows: Sequence[SpecRow], questions: Sequence[KitQuestion]) -> Iterator[str]:
    """Yields sentences on what the table leaves out or changes."""
    columns = _group_columns(spec)
    for name, column in columns.items():
        if _plain_name(column) != name:
            yield f"{column} is written as {name}"
    if more := [column for column in spec.groups if column not in columns.values()]:
        yield f"not written: groups {', '.join(more)}; the toolkit has {' and '.join(_GROUPS)}"
    several = [row.id for row in rows if len(derived_rows(spec, with_id(spec, row))) > 1]
    if several:
        yield f"{_questions_text(several)} in several groups, written with the first"
    figures = [name for name, figure in spec.figures.items() if figure.form != "mean"]
    if figures:
        yield f"the toolkit tells Overall and groups, and no {', '.join(figures)}"
    lost = [
        question.id
        for question in questions
        if not _EMPTY_TO_PANDAS.isdisjoint([*question.options.values(), *question.groups])
    ]
    if lost:
        yield f"{_questions_text(lost)} with an option or group such as None, which the toolkit reads as an empty cell"
    if not any(question.answer for question in questions):
        yield "no question has an answer, so that the toolkit scores nothing"
