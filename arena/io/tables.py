"""Table reader: strict JSON, JSONL, CSV, TSV, XLSX and Parquet files as records, each with its row.

Every uploaded file is read here. Nothing is guessed, repaired or coerced: a cell is the text in the file. A file that
cannot be read exactly is refused with its row and column, what was expected and how to fix it.
"""

import codecs
import collections
import contextlib
import csv
import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from arena.io.bounded_reader import digest
from arena.io.encodings import SAMPLE, read_as
from arena.io.strict_json import (
    JSON,
    PAGE,
    FileLimits,
    RowsError,
    check_strings,
    decode,
    parse_json,
    places,
)

COMMAND_LINE = FileLimits(bytes=None, rows=None, unpacked=2_000_000_000, seconds=600)
"""Limits for files of any length; JSONL, CSV and TSV are streamed, so memory does not grow with them."""

ANSWERS = replace(COMMAND_LINE, rows=250_000)
"""Limits for a model's answers on the command line; no benchmark has as many questions."""

KEY = "(key)"
VALUE = "(value)"
"""Columns for the members of a JSON object; a value that is an object gives its own columns beside the key."""
LISTS = ("logs", "results", "samples", "predictions", "answers", "annotations", "data")
"""Members of a JSON object in which tools write the list of records; lmms-eval's old files have `logs`."""
_LINES = (".jsonl", ".ndjson")
_JSON = (".json", *_LINES)
SUFFIXES = (*_JSON, ".csv", ".tsv", ".xlsx", ".parquet")
MOST_EMPTY = 10_000
"""Most empty lines at the end of a file."""


class Record(NamedTuple):
    """One record, and the row (1-based, as an editor counts) on which it starts."""

    row: int
    values: Mapping[str, JSON]


class _OmittedColumns(NamedTuple):
    """Columns that are skipped or digested."""

    skip: frozenset[str]
    digested: frozenset[str]

    @property
    def columns(self) -> frozenset[str]:
        return self.skip | self.digested

    def apply_to(self, values: Mapping[str, JSON]) -> Mapping[str, JSON]:
        return {
            column: digest(value) if column in self.digested else value
            for column, value in values.items()
            if column not in self.skip
        }


def read_records(
    path: Path,
    limits: FileLimits = PAGE,
    skip: Collection[str] = (),
    name: str | None = None,
    members: bool = False,
    digested: Collection[str] = (),
) -> Iterator[Record]:
    """Yields the records of a .json (a list of objects), .jsonl, .ndjson, .csv, .tsv, .xlsx or .parquet file.

    Cells of tables are `str` exactly as written, "" if empty; those of Parquet have their types. Columns in `skip` are
    left out without checks; long cells of those in `digested` become digests. `name` is the uploader's name for the
    file. With `members`, a .json may also be one object: its records are the objects in one of its `LISTS`, with the
    "model" beside that list; without such a list they are its members, with the columns `KEY` and `VALUE`. Raises
    RowsError, maybe after some records; take `list()` of them where a file must be read whole or not at all.
    """
    with _opened(path, limits, name) as file:
        suffix = (Path(name or "").suffix or path.suffix).lower()
        if suffix not in SUFFIXES:
            raise RowsError(
                f"The file must end in {', '.join(SUFFIXES)}. Unpack or save it as one of these."
            )
        if suffix in (*_JSON, ".csv", ".tsv"):
            _refuse_binary(file, suffix)
        if limits.rows is not None:
            _refuse_more(file, suffix, limits, limits.rows)
        if limits.values is not None and suffix in _JSON:
            _check_values(_signs(file), limits)
        cells = 0
        for count, record in enumerate(
            _records(
                file, suffix, limits, _OmittedColumns(frozenset(skip), frozenset(digested)), members
            ),
            start=1,
        ):
            if limits.rows is not None and count > limits.rows:
                raise RowsError(
                    f"The file has over {limits.rows:,} records. Split it.", row=record.row
                )
            if limits.values is not None:
                cells += len(record.values)
                _check_values(cells, limits, record.row)
            yield record


def read_json(path: Path, limits: FileLimits = PAGE) -> JSON:
    """Returns the one value in a .json file. Raises RowsError."""
    with _opened(path, limits) as file:
        return parse_json(_decoded(file.read(), file), limits)


def read_lines(path: Path) -> list[str]:
    """Returns the lines of a text file without their ends. Raises RowsError."""
    with _opened(path, PAGE) as file:
        lines = [line.rstrip("\r\n") for line in _lines(file, PAGE)]
        check_strings([*lines], PAGE)
        return lines


def require_columns(record: Record, names: Iterable[str], file: str | None = None) -> None:
    """Raises RowsError for the first column that the record lacks; the message lists the columns found."""
    for name in names:
        if name not in record.values:
            columns = ", ".join(map(repr, record.values)) or "none"
            raise RowsError(
                f"Expected this column, found {columns}. Rename or add it.",
                file,
                record.row,
                column=name,
            )


def refuse_repeated(paths: Iterable[Path]) -> None:
    """Raises RowsError for a file with the same content as an earlier one, whose records would count twice."""
    before: dict[str, Path] = {}
    for path in paths:
        with _opened(path, COMMAND_LINE) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest in before:
            raise RowsError(
                f"This is the same file as {before[digest].name}. Give each file once.", path.name
            )
        before[digest] = path


@contextlib.contextmanager
def temporary_file(content: bytes, name: str) -> Iterator[Path]:
    """Yields a file of this name with this content; it is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


@contextlib.contextmanager
def _opened(path: Path, limits: FileLimits, name: str | None = None) -> Iterator[BufferedReader]:
    """Opens the file, checks its size, and names it in errors raised inside."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if size == 0:
                raise RowsError("The file is empty. Choose the one with the data.")
            if limits.bytes is not None and size > limits.bytes:
                raise RowsError(
                    f"The file has {size:,} bytes, more than {limits.bytes:,}. Split it."
                )
            yield file
    except RowsError as error:
        raise error.at(file=name or path.name) from error
    except IsADirectoryError as error:
        raise RowsError(
            "This is a folder. Choose a file in it.", name or path.name or str(path)
        ) from error
    except OSError as error:
        raise RowsError(
            f"The file can't be opened ({error.strerror}). Choose it again.", name or path.name
        ) from error


_NO_TABLES = {
    (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"): "a picture",
    (b"%PDF-",): "a PDF",
    (b"\x1f\x8b",): "an archive (.gz)",
}
"""First bytes of files without tables, whatever their suffix."""


def _refuse_binary(file: BinaryIO, suffix: str) -> None:
    """Raises RowsError for a workbook, Parquet, a picture, a PDF or an archive with the suffix of a text file."""
    head = file.read(6)
    file.seek(0)
    for start, description, right_suffix in (
        (b"PK\3\4", "a workbook (.xlsx)", ".xlsx"),
        (b"PAR1", "Parquet", ".parquet"),
    ):
        if head.startswith(start):
            raise RowsError(
                f"This is {description} named {suffix}. Name it {right_suffix}, or save it as {suffix}."
            )
    for starts, description in _NO_TABLES.items():
        if head.startswith(starts):
            raise RowsError(f"This is {description} named {suffix}. Choose the file with the data.")


def _refuse_more(file: BinaryIO, suffix: str, limits: FileLimits, rows: int) -> None:
    """Raises RowsError for a text file that certainly has more records, after a fast count without checks."""
    row = 0
    more = False
    lines = _raw_lines(file, limits)
    if suffix in _LINES:
        collections.deque(itertools.islice(lines, rows), maxlen=0)
        row = rows + 1
        more = bool(next(lines, b"").strip())
    elif suffix in (".csv", ".tsv"):
        table = _CsvReader((line.decode("latin-1") for line in lines), limits, suffix)
        with contextlib.suppress(csv.Error):
            collections.deque(itertools.islice(table, 1 + rows), maxlen=0)
            row = table.line_num + 1
            more = bool(next(table, ()))
    file.seek(0)
    if more:
        raise RowsError(f"The file has over {rows:,} records. Split it.", row=row)


def _signs(file: BinaryIO) -> int:
    """Counts commas and opening brackets, also those in texts; JSON has about as many values."""
    count = sum(
        part.count(sign)
        for part in iter(lambda: file.read(1_000_000), b"")
        for sign in (b",", b"[", b"{")
    )
    file.seek(0)
    return count


def _check_values(count: int, limits: FileLimits, row: int | None = None) -> None:
    if limits.values is not None and count > limits.values:
        problem = f"The file has over {limits.values:,} values. Leave out columns or split it."
        raise RowsError(problem, row=row)


def _raw_lines(file: BinaryIO, limits: FileLimits) -> Iterator[bytes]:
    """Yields the lines with their ends; a line that is too long is cut one byte after the limit."""
    return iter(lambda: file.readline(limits.line + 1), b"")


def _records(
    file: BinaryIO, suffix: str, limits: FileLimits, omitted: _OmittedColumns, members: bool
) -> Iterator[Record]:
    if suffix == ".json":
        return _json_records(_decoded(file.read(), file), limits, omitted, members)
    if suffix in _LINES:
        return _line_records(_lines(file, limits), limits, omitted)
    if suffix == ".xlsx":
        return _table_records(_bounded_rows(_XLSX, file, limits, omitted), limits, omitted)
    if suffix == ".parquet":
        return (
            _record(row, cells, limits)
            for row, cells in _bounded_rows(_PARQUET, file, limits, omitted)
        )
    return _table_records(
        _delimited_rows(_CsvReader(_lines(file, limits), limits, suffix)), limits, omitted
    )


# Text: UTF-8 that a database can store.
def _decoded(raw: bytes, file: BinaryIO, row: int = 1) -> str:
    """Decodes bytes just read from the file, which start at this row; drops a byte order mark, refuses UTF-16."""
    if row == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RowsError("The file is UTF-16. Save it with the encoding UTF-8.", row=1)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        start = file.tell() - len(raw)
        place = f"byte 0x{raw[error.start]:02X} at offset {start + error.start}"
        row += raw.count(b"\n", 0, error.start)
        file.seek(start)
        encoding = read_as(file.read(SAMPLE + 1), place)
        raise RowsError(
            f"Expected UTF-8 text, found {encoding}. Save the file with the encoding UTF-8.",
            row=row,
        ) from error
    return text.removeprefix("\ufeff") if row == 1 else text


def _lines(file: BinaryIO, limits: FileLimits) -> Iterator[str]:
    """Yields the lines with their ends; only "\\n" ends a line, so rows are numbered as in an editor."""
    for row, raw in enumerate(_raw_lines(file, limits), start=1):
        if len(raw) > limits.line:
            raise RowsError(
                f"The line has over {limits.line:,} bytes. Break the file into lines.",
                row=row,
            )
        yield raw.decode() if row > 1 and raw.isascii() else _decoded(raw, file, row)


def _record(
    row: int, values: Mapping[str, JSON], limits: FileLimits, omitted: _OmittedColumns | None = None
) -> Record:
    """Returns a record without skipped columns, after checking its values. Raises RowsError."""
    if len(values) > limits.columns:
        raise RowsError(
            f"The file has {len(values):,} columns, more than {limits.columns:,}. Delete some.",
            row=row,
        )
    remaining = omitted.apply_to(values) if omitted else values
    for column, value in remaining.items():
        try:
            check_strings(value, limits)
        except RowsError as error:
            raise error.at(row=row, column=column) from error
    return Record(row, remaining)


def _gap(blank: int, row: int) -> int:
    """Returns the row of the first of these empty lines. Raises RowsError if there are too many."""
    blank = blank or row
    if row - blank >= MOST_EMPTY:
        raise RowsError(f"There are over {MOST_EMPTY:,} empty lines. Delete them.", row=blank)
    return blank


def _check_no_gap(blank: int) -> None:
    if blank:
        raise RowsError("This line is empty, with data below it. Delete it.", row=blank)


def _json_records(
    text: str, limits: FileLimits, omitted: _OmittedColumns, members: bool
) -> Iterator[Record]:
    """Yields the objects of a JSON list, or the members of a JSON object, each with the row on which it starts."""
    value = decode(text, limits)
    items = value
    starts = places(value, text)
    if isinstance(value, dict) and members:
        lists = [name for name in LISTS if _is_list_of_objects(value.get(name))]
        if len(lists) > 1:
            names = " and ".join(map(repr, lists))
            raise RowsError(
                f"Expected one list of records, found {names}. Keep one of them.", row=1
            )
        if lists:
            items = _listed(value, lists[0])
            starts = places(value, text, lists[0])
        else:
            items = [_member(name, member) for name, member in value.items()]
    if not isinstance(items, list):
        raise RowsError(
            "The file must be a list of objects, [{...}, {...}]. Wrap the records in one.", row=1
        )
    row = 1
    counted = 0
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise RowsError(f"Item {number} of the list isn't an object. Make it one.")
        place = next(starts)
        row = row + text.count("\n", counted, place)
        counted = place
        yield _record(row, item, limits, omitted)


def _is_list_of_objects(value: JSON) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(inner, dict) for inner in value)
    )


def _listed(value: Mapping[str, Any], name: str) -> list[JSON]:
    """Returns the objects in a list of an object, each with the model's name beside that list."""
    beside = {"model": value["model"]} if isinstance(value.get("model"), str) else {}
    return [{**beside, **inner} for inner in value[name]]


def _member(key: str, value: JSON) -> dict[str, JSON]:
    if not isinstance(value, dict):
        return {KEY: key, VALUE: value}
    if KEY in value:
        raise RowsError(
            f"The record of {key[:80]!r} has a {KEY!r} of its own, which would hide its key. Rename it."
        )
    return {KEY: key, **value}


def _line_records(
    lines: Iterator[str], limits: FileLimits, omitted: _OmittedColumns
) -> Iterator[Record]:
    blank = 0
    for row, line in enumerate(lines, start=1):
        if not line.strip(" \t\r\n"):
            blank = _gap(blank, row)
            continue
        _check_no_gap(blank)
        try:
            value = decode(line, limits)
        except RowsError as error:
            raise error.at(row=row) from error
        if not isinstance(value, dict):
            mend = "Wrap the value in one with a key, or name the file .json if it's one list."
            raise RowsError(f"Each line must be one object, {{...}}. {mend}", row=row)
        yield _record(row, value, limits, omitted)


# Tables: the first row names the columns, and every row is as wide.
_CSV_MENDS = {
    "unexpected end": "A cell of this row has no closing quote. Add it, or write a quote in the text as two.",
    "expected after": "A closing quote has no delimiter after it. Write each quote inside a quoted cell as two.",
    "new-line character": "The lines end in CR alone. Save the file again with LF or CRLF.",
    "field larger": "A cell is too long (is a quote never closed?). Close the quote or shorten the cell.",
}
_BOUNDED, _XLSX, _PARQUET = map(
    Path(__file__).with_name, ("bounded_reader.py", "xlsx.py", "parquet_rows.py")
)


def _table_records(
    rows: Iterator[tuple[int, list[str]]], limits: FileLimits, omitted: _OmittedColumns
) -> Iterator[Record]:
    row, header = next(rows, (1, []))
    _check_header(header, limits, row)
    whole = omitted.columns.isdisjoint(header)
    for row, cells in rows:
        values = dict(zip(header, cells, strict=True))
        text = "".join(cells)
        plain = whole and len(text) <= limits.cell and text.isascii() and "\0" not in text
        yield Record(row, values) if plain else _record(row, values, limits, omitted)


def _check_header(header: list[str], limits: FileLimits, row: int) -> None:
    if not header:
        raise RowsError("The file has no header. Write the columns' names above the data.", row=row)
    _record(row, {name: name for name in header}, limits)
    if header[0] and header[1:] and not any(header[1:]):
        raise RowsError(
            "The header has only one name. If it's a title, delete its row.",
            row=row,
        )
    for place, name in enumerate(header):
        if not name:
            raise RowsError(
                f"Column {place + 1} has no name. Give it one (in pandas: index=False).", row=row
            )
        if name in header[:place]:
            raise RowsError(
                "Two columns have this name. Rename one.",
                row=row,
                column=name,
            )


def _delimiter(first: Sequence[str]) -> str:
    """Returns the delimiter that header and first row have equally often outside of quotes; by default the comma."""
    header, *row = ["".join(line.split('"')[::2]) for line in first]
    shared = [sign for sign in ",;\t" if row and 0 < header.count(sign) == row[0].count(sign)]
    return max(shared or ("," if "," in header else ",;\t"), key=header.count)


class _CsvReader:
    """Reads rows of CSV; a cell of several lines is refused as soon as it passes its limit, not at its closing
    quote.
    """

    def __init__(self, lines: Iterator[str], limits: FileLimits, suffix: str) -> None:
        first = [*itertools.islice(lines, 2)]
        self.delimiter = "\t" if suffix == ".tsv" else _delimiter(first)
        self._most = limits.cell
        self._row = 1
        self._starts = True
        # The limit is one for the whole process; it only ever rises, so no other reader breaks.
        csv.field_size_limit(max(csv.field_size_limit(), limits.line))
        counted = self._counted(itertools.chain(first, lines))
        self._reader = csv.reader(counted, delimiter=self.delimiter, strict=True)

    @property
    def line_num(self) -> int:
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self._row = self._reader.line_num + 1
        self._starts = True
        return next(self._reader)

    def _counted(self, lines: Iterator[str]) -> Iterator[str]:
        """Yields the lines; the reader takes a further line of a row only while a quote is open. Raises RowsError."""
        inside = 0
        for line in lines:
            if not self._starts and '"' not in line.replace('""', ""):
                inside += len(line)
                if inside > self._most:
                    raise RowsError(_CSV_MENDS["field larger"], row=self._row)
            else:
                inside = len(line) - line.rfind('"') - 1
            self._starts = False
            yield line


def _delimited_rows(reader: _CsvReader) -> Iterator[tuple[int, list[str]]]:
    """Yields rows of equal width, each with the row on which it starts; empty lines are allowed at the end only."""
    width = blank = 0
    while True:
        row = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise RowsError(_csv_problem(error), row=row) from error
        if cells is None:
            return
        if not cells:
            blank = _gap(blank, row)
            continue
        _check_no_gap(blank)
        width = width or len(cells)
        if len(cells) != width:
            cells_text = "1 cell" if width == 1 else f"{width} cells"
            problem_text = (
                f"Expected {cells_text}, separated by {reader.delimiter!r}, found {len(cells)}."
            )
            mend = (
                f"Put text that contains {reader.delimiter!r} in quotes."
                if len(cells) > width
                else "Write every cell, even an empty one."
            )
            title = "If row 1 is a title, delete it. " if width == 1 else ""
            raise RowsError(f"{problem_text} {title}{mend}", row=row)
        yield row, cells


def _csv_problem(error: csv.Error) -> str:
    for part, mend in _CSV_MENDS.items():
        if part in str(error):
            return mend
    return f"This isn't CSV ({error}). Save it again."


def _bounded_rows(
    reader: Path, file: BinaryIO, limits: FileLimits, omitted: _OmittedColumns
) -> Iterator[tuple[int, Any]]:
    """Yields the rows of a file, which a reader reads in a bounded process of its own."""
    columns = {"skip": sorted(omitted.skip), "digested": sorted(omitted.digested)}
    order = json.dumps({**asdict(limits), **columns})
    command = [sys.executable, "-I", str(_BOUNDED), str(reader), order]
    with tempfile.TemporaryFile() as answer:
        try:
            quiet = subprocess.DEVNULL
            subprocess.run(
                command,
                stdin=file,
                stdout=answer,
                stderr=quiet,
                timeout=2 * limits.seconds,
                check=True,
            )
        except subprocess.SubprocessError as error:
            kind = "Parquet" if reader == _PARQUET else ".xlsx"
            raise RowsError(
                f"This isn't a readable {kind}, or it's too large. Save it again, or as .csv."
            ) from error
        answer.seek(0)
        for message in map(json.loads, answer):
            if isinstance(message, dict):
                raise RowsError(**message)
            yield message[0], message[1]


_MOST_NAMED = 5


def left_out_rows(problem: str, rows: Sequence[int]) -> str:
    """Returns the message for rows that are left out; it names the first of them."""
    more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
    numbers = ", ".join(map(str, rows[:_MOST_NAMED]))
    return f"row{'s' if len(rows) > 1 else ''} {numbers}{more} left out: {problem}"
