"""Files of labels: wrong answers drawn to be labelled, and what people said of them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator

from arena.io.csv_text import csv_text
from arena.io.rows import FileRow, Heading, cell, read_rows, sound_rows
from arena.io.strict_json import RowsError, row_errors
from arena.io.tables import Record, read_records
from scoring.benchmarks.article import ScoredAnswer
from scoring.people.error_sample import DrawnError
from scoring.people.errors import ERROR_KINDS, ErrorKey, Label
from scoring.report import answer_digest

Who = Literal["labeller", "proposed_by"]
"""The column that names who says it: a person labels, rules or a judge propose. No file has both."""
COLUMNS = ("item", "group", "answer_sha256", "labeller", "round", "main", "further", "note")
_NO_LABELS = (
    "expected people's labels, found proposals (column proposed_by); give them as --proposals"
)
_NO_PROPOSALS = "expected proposals, with the column proposed_by, as `errors propose` writes them"
DRAWN = (*COLUMNS, "chance", "question", "truth", "answer")


def draw_csv(drawn: Iterable[DrawnError]) -> str:
    """Drawn answers with empty cells for who labels them; `chance`: that of being drawn, whose inverse weighs."""
    rows = [
        (one.answer.id, one.group, answer_digest(one.answer.answer), "", 1, "", "", "")
        + (f"{one.chance:.6g}", one.answer.question, one.answer.truth, one.answer.answer)
        for one in drawn
    ]
    return csv_text([DRAWN, *rows])


def labels_csv(labels: Iterable[Label], digests: Mapping[str, str], who: Who = "labeller") -> str:
    """Labels as `read_labels` reads them; `digests`: sha256 of each item's answer."""
    rows = [
        (one.item, one.group, digests.get(one.item, ""), one.labeller, one.round)
        + (one.main, " ".join(one.further), one.note)
        for one in labels
    ]
    return csv_text([[who if name == "labeller" else name for name in COLUMNS], *rows])


def _parted(kinds: object) -> object:
    return kinds.split() if isinstance(kinds, str) else kinds


class _DrawnRow(FileRow):
    """A row of a file of drawn answers."""

    item: Annotated[str, Heading(expected="this column, as `errors draw` writes it")]


class _LabelRow(FileRow):
    """A row of a file of labels."""

    item: str
    main: ErrorKey
    further: Annotated[tuple[ErrorKey, ...], BeforeValidator(_parted)] = ()
    """Parted by blanks, or a list."""
    labeller: Annotated[
        str, Heading(("proposedby", "labeller")), AfterValidator(lambda name: name or "unnamed")
    ] = "unnamed"
    answer_sha256: str = ""
    round: Annotated[Literal["1", "2"], cell("1, or 2 for the same person's second time")] = "1"
    note: str = ""


class ReadLabels(NamedTuple):
    """Labels that can be used, and what was said against others."""

    labels: tuple[Label, ...]
    problems: tuple[str, ...]


def read_labels(
    path: Path, errors: Mapping[str, tuple[ScoredAnswer, str]], who: Who = "labeller"
) -> ReadLabels:
    """Labels of a model's errors, which are answers with their group by item, or what was proposed for them.

    Raises RowsError without the columns, and for proposals in place of people's labels.
    """

    def problem(row: _LabelRow) -> str:
        if row.item not in errors:
            return "it is none of the wrong answers of this file"
        if row.answer_sha256 not in ("", answer_digest(errors[row.item][0].answer)):
            return "the label is of another answer: answer_sha256 differs"
        return ""

    with row_errors(path.name):
        read = sound_rows(
            _labelled(read_records(path), who),
            _LabelRow,
            check=problem,
            key=("item", "labeller", "round"),
            twice="this person labelled this answer in a row before",
        )
    labels = (_label(row, errors[row.item][1]) for _, row in read.rows)
    return ReadLabels(tuple(labels), read.problems)


def named_items(path: Path) -> list[str]:
    """The items of a file of drawn answers. Raises RowsError without the column item."""
    return [row.item for _, row in read_rows(path, _DrawnRow)]


def _labelled(records: Iterable[Record], who: Who) -> Iterator[Record]:
    """Yield the rows that name a kind. Raises RowsError for a file of the other sort."""
    for record in records:
        if (who == "proposed_by") != ("proposed_by" in record.values):
            problem = _NO_PROPOSALS if who == "proposed_by" else _NO_LABELS
            raise RowsError(problem, row=record.row)
        if str(record.values.get("main", "no such column") or "").strip():
            yield record


def _label(row: _LabelRow, group: str) -> Label:
    further: tuple[ErrorKey, ...] = tuple(
        key for key in ERROR_KINDS if key in row.further and key != row.main
    )
    return Label(row.item, group, row.labeller, row.main, further, row.note, int(row.round))
