"""Files of labels: wrong answers drawn to be labelled, and people's labels of them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator

from arena.io.csv_text import csv_text
from arena.io.rows import FileRow, Heading, cell, column_named, read_rows, sound_rows
from arena.io.strict_json import RowsError, row_errors
from arena.io.tables import Record, read_records
from scoring.people.error_sample import DrawnError, GroupedError
from scoring.people.errors import ERROR_KINDS, ErrorKey, Label
from scoring.people.mark_files import PersonName
from scoring.report import answer_digest

PersonColumn = Literal["labeller", "proposed_by"]
"""The column with a label's source: a person labels, rules or a judge propose. No file has both."""
COLUMNS = ("item", "group", "answer_sha256", "labeller", "round", "main", "further", "note")
_PROPOSED_BY = ("proposedby",)
"""The column `proposed_by` as columns are compared: without signs."""
_NO_LABELS = (
    "These are proposals, with a column proposed_by, not people's labels. Give them as --proposals."
)
_NO_PROPOSALS = "There is no column proposed_by. Choose the file that errors propose wrote."
DRAWN_COLUMNS = (*COLUMNS, "chance", "question", "truth", "answer")


def draw_csv(drawn: Iterable[DrawnError]) -> str:
    """Returns drawn answers as CSV, with empty cells for the label.

    `chance` is the probability of being drawn; its inverse is the answer's weight.
    """
    rows = [_drawn_cells(error) for error in drawn]
    return csv_text([DRAWN_COLUMNS, *rows])


def _drawn_cells(error: DrawnError) -> list[object]:
    """Returns the cells of DRAWN_COLUMNS."""
    answer = error.answer
    cells = {
        "item": answer.id,
        "group": error.group,
        "answer_sha256": answer_digest(answer.answer),
        "round": 1,
        "chance": f"{error.chance:.6g}",
        "question": answer.question,
        "truth": answer.truth,
        "answer": answer.answer,
    }
    return [cells.get(column, "") for column in DRAWN_COLUMNS]


def labels_csv(
    labels: Iterable[Label], digests: Mapping[str, str], person_column: PersonColumn = "labeller"
) -> str:
    """Returns labels as `read_labels` reads them; `digests` has the sha256 of each item's answer."""
    rows = [
        (
            label.item,
            label.group,
            digests.get(label.item, ""),
            label.marker or label.labeller,
            label.round,
            label.main,
            " ".join(label.further),
            label.note,
        )
        for label in labels
    ]
    header = [person_column if name == "labeller" else name for name in COLUMNS]
    return csv_text([header, *rows])


def _split(kinds: object) -> object:
    """Returns kinds that are separated by blanks as a list; other values unchanged."""
    return kinds.split() if isinstance(kinds, str) else kinds


class _DrawnRow(FileRow):
    """A row of a file of drawn answers."""

    item: Annotated[str, Heading(expected="this column, as `errors draw` writes it")]


class _LabelRow(FileRow):
    """A row of a file of labels."""

    item: str
    main: ErrorKey
    further: Annotated[tuple[ErrorKey, ...], BeforeValidator(_split)] = ()
    """Separated by blanks, or a list."""
    labeller: Annotated[PersonName, Heading((*_PROPOSED_BY, "labeller"))] = "unnamed"
    answer_sha256: str = ""
    round: Annotated[
        int,
        cell("1, or 2 for the same person's second time", holds=lambda number: number in (1, 2)),
    ] = 1
    note: str = ""


class LabelFile(NamedTuple):
    """The labels of a file that can be used, and the problems of its other rows."""

    labels: tuple[Label, ...]
    problems: tuple[str, ...]


def read_labels(
    path: Path,
    errors: Mapping[str, GroupedError],
    person_column: PersonColumn = "labeller",
) -> LabelFile:
    """Reads labels of a model's errors, or proposals for them. `errors` are the wrong answers by item.

    Raises RowsError without the columns, and for proposals in place of people's labels or the reverse.
    """

    def problem(row: _LabelRow) -> str:
        if row.item not in errors:
            return "it isn't one of this file's wrong answers"
        if row.answer_sha256 not in ("", answer_digest(errors[row.item].answer.answer)):
            return "the label is of another answer: answer_sha256 differs"
        return ""

    with row_errors(path.name):
        sound = sound_rows(
            _labelled_records(read_records(path), person_column),
            _LabelRow,
            check=problem,
            key=("item", "labeller", "round"),
            repeat_problem="this person labelled this answer in a row before",
        )
    labels = (_label(row, errors[row.item].group) for _, row in sound.rows)
    return LabelFile(tuple(labels), sound.problems)


def drawn_items(path: Path) -> list[str]:
    """Returns the items of a file of drawn answers. Raises RowsError without the column item."""
    return [row.item for _, row in read_rows(path, _DrawnRow)]


def _labelled_records(records: Iterable[Record], person_column: PersonColumn) -> Iterator[Record]:
    """Yields the rows with a main kind, and all rows of a file without that column, which is then an error.

    Raises RowsError for proposals in place of people's labels or the reverse.
    """
    expects_proposals = person_column == "proposed_by"
    for record in records:
        has_proposals = column_named(record.values, _PROPOSED_BY) is not None
        if expects_proposals != has_proposals:
            problem = _NO_PROPOSALS if expects_proposals else _NO_LABELS
            raise RowsError(problem, row=record.row)
        has_column = "main" in record.values
        if not has_column or str(record.values["main"] or "").strip():
            yield record


def _label(row: _LabelRow, group: str) -> Label:
    further: tuple[ErrorKey, ...] = tuple(
        key for key in ERROR_KINDS if key in row.further and key != row.main
    )
    return Label(row.item, group, row.labeller, row.main, further, row.note, row.round)
