"""Vote format registry: reads votes from any known file format and writes them to any."""

import base64
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

from arena.formats import cells, parquet
from arena.formats.base import (
    Battles,
    Columns,
    Format,
    FormatName,
    OtherRow,
    Row,
    Vote,
    columns_of,
    join_portions,
)
from arena.formats.clean_battles import CLEAN_BATTLES
from arena.formats.comparia import COMPARIA
from arena.formats.comparia_turns import COMPARIA_TURNS
from arena.formats.evalica import EVALICA
from arena.formats.fastchat_log import FASTCHAT_LOG
from arena.formats.kaggle_arena import KAGGLE_ARENA
from arena.formats.label_studio import LABEL_STUDIO
from arena.formats.native import ORIGIN, ORIGIN_ROW, STEREOSCOPE, native_row
from arena.formats.open_webui import OPEN_WEBUI
from arena.formats.search_arena import SEARCH_ARENA
from arena.formats.three_columns import THREE_COLUMNS
from arena.formats.visit_battles import VISIT_BATTLES
from arena.formats.visit_bench import VISIT_BENCH
from arena.formats.wildvision import WILDVISION
from arena.io.csv_text import write_csv
from arena.io.strict_json import RowsError, row_errors
from arena.io.tables import COMMAND_LINE, Record, read_records

FORMATS: tuple[Format, ...] = (
    FASTCHAT_LOG,
    COMPARIA,
    COMPARIA_TURNS,
    VISIT_BATTLES,
    VISIT_BENCH,
    STEREOSCOPE,
    OPEN_WEBUI,
    LABEL_STUDIO,
    SEARCH_ARENA,
    WILDVISION,
    CLEAN_BATTLES,
    KAGGLE_ARENA,
    EVALICA,
    THREE_COLUMNS,
)
"""The formats, most specific first: a file has the first format that fits its first row."""
FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)
_BY_NAME = {form.name: form for form in FORMATS}
_LIMITS = replace(COMMAND_LINE, cell=COMMAND_LINE.line)
"""The limits of files. A cell may be as long as a line, since conversations may hold pictures as text."""
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_HEAD = 4096
"""Bytes that are read at once to find the start of the content."""
_BRACKETS = re.compile(r"[\[\]{}]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A JSON string; the last one may be torn."""
_ONE_OBJECT = re.compile(rb"\{[ \t\r]*\n")
"""The start of an object over several lines."""
_PORTION = 4096
"""Rows in a portion."""
_MOST_COLUMNS = 12
"""Columns that a message lists."""
_ANY_VOTE = Vote("model a", "model b", "a", judge=True)
"""A vote that every format can express, for the columns of a file without votes."""


def read(path: Path, name: FormatName | None = None) -> Battles:
    """Reads the votes of a file; without `name`, detects the format from its content.

    A torn last line of a JSON log and rows without votes are left out. Notices say so, and also if the file has no
    votes at all. Raises RowsError with the row for a mistake, such as an unknown winner.
    """
    notices: list[str] = []
    records = _records(path, notices)
    first = next(records, None)
    if first is None:
        notices.append(f"{path.name} has no votes")
        return Battles.of_columns(name, columns_of(()), rows=(), notices=tuple(notices))
    form = _BY_NAME[name] if name else _form_of(first, path.name)
    collected = _CollectedRows()
    vote_records = _single_votes(form, itertools.chain([first], records))
    columns = join_portions(_column_portions(form, vote_records, path.name, collected))
    notices += [
        f"rows left out, {reason}: {count:,}" for reason, count in collected.reasons.items()
    ]
    notices += _unread_notices(form, collected.rows)
    if not collected.rows:
        notices.append(f"{path.name} has no votes")
    return Battles.of_columns(
        form.name,
        columns,
        rows=tuple(collected.rows),
        others=tuple(collected.others),
        notices=tuple(notices),
    )


def write(battles: Battles, path: Path, name: FormatName = "stereoscope") -> tuple[str, ...]:
    """Writes votes in a format, as the kind of file that the suffix names; returns notices about lost facts.

    A row first read in this format is written unchanged, even if it was stored in ours in between. Raises RowsError,
    with its place, for a vote that the format cannot express (a tie in a forced choice); then nothing is written.
    """
    form = _BY_NAME[name]
    suffix = path.suffix.lower()
    if not form.suffixes:
        raise RowsError(
            f"Votes can be read from {name} but not written to it. Export to another format.",
            file=path.name,
        )
    if suffix not in form.suffixes:
        raise RowsError(
            f"{name} goes into files that end in {', '.join(form.suffixes)}. Name one.",
            file=path.name,
        )
    lost: Counter[str] = Counter()
    with row_errors(path.name):
        rows = list(_rows_out(battles, form, lost))
    _write_rows(path, rows, form)
    return tuple(
        f"left out because {name} has no column for it, {column}: {count:,}"
        for column, count in lost.items()
    )


def origin(battles: Battles, row: Row) -> tuple[Format | None, Row]:
    """Returns a row's original format, None if it is unknown, and the original row, {} if it can't be read.

    Only for a look at votes: `write` refuses a row that can't be read, since it would be lost.
    """
    if battles.format != STEREOSCOPE.name:
        return _BY_NAME.get(str(battles.format)), row
    original = cells.parsed(row.get(ORIGIN_ROW))
    return _BY_NAME.get(str(row.get(ORIGIN))), original if isinstance(original, dict) else {}


def _first_bytes(path: Path) -> bytes:
    """Returns the start of a file's content, without a byte order mark and blanks; empty for a blank file."""
    with path.open("rb") as file:
        while block := file.read(_HEAD):
            if content := block.removeprefix(_BOM).lstrip():
                return content
    return b""


def _records(path: Path, notices: list[str]) -> Iterator[Record]:
    """Yields the records of a file, whose kind is read from its first bytes."""
    try:
        head = _first_bytes(path)
    except OSError as error:
        raise RowsError(
            f"The file can't be opened ({error.strerror}). Choose it again.",
            file=path.name or str(path),
        ) from error
    if head.startswith(parquet.MAGIC):
        yield from parquet.read_rows(path)
    elif _ONE_OBJECT.match(head):
        raise RowsError(
            "This is one JSON object over several lines. Write a list of objects, [{...}, {...}], "
            "or one object a line.",
            file=path.name,
        )
    elif head.startswith(b"{"):
        yield from _lines(path, notices)
    elif head:
        yield from read_records(path, _LIMITS)


def _lines(path: Path, notices: list[str]) -> Iterator[Record]:
    """Yields the objects of JSON lines in a file of any name; skips a torn last line."""
    try:
        yield from read_records(path, _LIMITS, name=f"{path.name}.jsonl")
    except RowsError as error:
        row, line = _last_line(path)
        if error.row != row or not _ends_too_early(line.decode("utf-8", "replace")):
            raise error.at(file=path.name) from error
        notices.append(f"row {row}, the last, is torn and was skipped")


def _last_line(path: Path) -> tuple[int, bytes]:
    """Returns the row and content of the last line that is not blank."""
    last_row = 0
    last_line = b""
    with path.open("rb") as file:
        for row, line in enumerate(file, start=1):
            if line.strip(_BLANK):
                last_row = row
                last_line = line
    return last_row, last_line


def _ends_too_early(line: str) -> bool:
    """Returns whether a line begins an object that never closes."""
    if not line.removeprefix("\ufeff").lstrip().startswith("{"):
        return False
    brackets = _BRACKETS.findall(_STRING.sub("", line))
    depths = itertools.accumulate(1 if bracket in "[{" else -1 for bracket in brackets)
    closes = 0 in depths
    return not closes


def _form_of(record: Record, file: str) -> Format:
    columns = record.values.keys()
    for form in FORMATS:
        if form.fits(columns):
            return form
    problem = (
        f"Expected the columns of one of these formats: {', '.join(FORMAT_NAMES)}. "
        f"Found {_listed(list(columns))}. Rename the columns."
    )
    raise RowsError(problem, file=file)


def _unread_notices(form: Format, rows: Sequence[Row]) -> Iterator[str]:
    """Yields a notice about the columns that were not read, for the formats without voters and items."""
    if form not in (THREE_COLUMNS, EVALICA):
        return
    others = sorted(set().union(*rows) - form.row(_ANY_VOTE).keys())
    if others:
        yield (
            f"columns that {form.name} doesn't read: {_listed(others)}. To count voters, items or times, "
            "write the columns of another format"
        )


def _listed(columns: Sequence[str]) -> str:
    """Returns the first columns for a message."""
    names = ", ".join(map(repr, columns[:_MOST_COLUMNS]))
    return f"{names}, ..." if len(columns) > _MOST_COLUMNS else names or "none"


@dataclass
class _CollectedRows:
    """The rows of a file: those with votes, and others."""

    rows: list[Row] = field(default_factory=list)
    others: list[OtherRow] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    """The counts of reasons why the others are no votes."""


def _single_votes(form: Format, records: Iterable[Record]) -> Iterator[Record]:
    """Yields records with one vote each; the parts of a record with several votes keep its row number."""
    for number, values in records:
        for row in form.split(values):
            yield Record(number, row)


def _column_portions(
    form: Format, records: Iterator[Record], file: str, collected: _CollectedRows
) -> Iterator[Columns]:
    """Yields the votes in portions, so that few exist at once, and collects all rows in `collected`."""
    while portion := tuple(itertools.islice(records, _PORTION)):
        values = [record.values for record in portion]
        columns = form.columns(values)
        if columns is None:  # a row needs a closer look
            votes = list(_votes(form, portion, file, collected))
            columns = tuple(zip(*votes, strict=True))  # () if no row has a vote
        else:
            collected.rows += values
        yield columns


def _votes(
    form: Format, records: Iterable[Record], file: str, collected: _CollectedRows
) -> Iterator[Vote]:
    """Yields the votes, and collects all rows in `collected`. Raises RowsError with the row."""
    for number, row in records:
        try:
            reading = form.vote(row)
        except RowsError as error:
            raise error.at(file=file, row=number) from error
        if isinstance(reading, Vote):
            collected.rows.append(row)
            yield reading
        else:
            collected.others.append(OtherRow(len(collected.rows), row))
            collected.reasons[reading.reason] += 1


def _rows_out(battles: Battles, form: Format, lost: Counter[str]) -> Iterator[Row]:
    """Yields the rows in order, and counts the facts that the format loses.

    Raises RowsError with the number of the row among all rows, also those without votes.
    """
    for number, (row, vote) in enumerate(battles.lines(), start=1):
        try:
            original = _original_row(battles, row, form)
            written = original if original is not None else _new_row(battles, vote, row, form)
        except RowsError as error:
            raise error.at(row=number) from error
        if written is not None:
            yield written
        if original is None:
            lost.update(_lost_facts(vote, form))


def _lost_facts(vote: Vote | None, form: Format) -> list[str]:
    """Returns the facts of a vote that a format has no place for."""
    if vote is None:
        return [] if form is STEREOSCOPE else ["rows that are no votes"]
    without = [
        column
        for column in Vote._fields
        if column not in form.holds and getattr(vote, column) is not None
    ]
    return [*without, *form.losses(vote)]


def _original_row(battles: Battles, row: Row, form: Format) -> Row | None:
    """Returns a vote's original row in a format, None if it never had one. Raises RowsError."""
    if battles.format == form.name:
        return row
    came_from_form = row.get(ORIGIN) == form.name and bool(row.get(ORIGIN_ROW))
    if battles.format != STEREOSCOPE.name or not came_from_form:
        return None
    try:
        original = json.loads(row[ORIGIN_ROW])
    except (TypeError, ValueError, RecursionError):
        original = None
    if not isinstance(original, dict):
        raise RowsError("It isn't a row as a JSON object. Correct or empty it.", column=ORIGIN_ROW)
    return original


def _new_row(battles: Battles, vote: Vote | None, row: Row, form: Format) -> Row | None:
    """Returns a new row in a format, None if it has no place there; our own format includes the original row."""
    # This arena's own votes have no original row; an imported row without a vote has nothing else.
    is_imported = bool(row) or vote is None
    if form is STEREOSCOPE and is_imported:
        return native_row(vote, battles.format, row_text(row))
    return None if vote is None else form.row(vote)


def _write_rows(path: Path, rows: Sequence[Row], form: Format) -> None:
    suffix = path.suffix.lower()
    columns = dict.fromkeys(column for row in rows for column in row)
    columns = columns or dict.fromkeys(form.row(_ANY_VOTE))
    if suffix == ".parquet":
        parquet.write_columns(
            path, {column: [row.get(column) for row in rows] for column in columns}
        )
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if suffix in (".csv", ".tsv"):
            table = ([_cell(row.get(column)) for column in columns] for row in rows)
            delimiter = "\t" if suffix == ".tsv" else ","
            write_csv(
                file,
                itertools.chain([columns], table),
                exact=True,
                delimiter=delimiter,
                lineterminator="\r\n",
            )
        elif suffix == ".json" and not form.is_json_lines:
            json.dump(rows, file, indent=2, ensure_ascii=False, default=_plain)
        else:
            file.writelines(f"{row_text(row)}\n" for row in rows)


def _cell(value: Any) -> Any:
    """Returns a value for a table: lists and objects as JSON, bytes in base64."""
    if isinstance(value, bytes):
        return _plain(value)
    return row_text(value) if isinstance(value, list | dict) else value


def row_text(value: Any) -> str:
    """Returns a row, or a cell of one, as JSON text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    """Returns the text of a Parquet value that JSON lacks: bytes in base64, dates in ISO 8601, and others as Python
    prints them.
    """
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta | UUID):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
