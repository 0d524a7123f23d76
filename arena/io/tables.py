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
from arena.io.csv_rows import CsvReader, delimited_rows
from arena.io.empty_lines import EmptyLines
from arena.io.encodings import SAMPLE, guess_encoding
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
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_JSON_SUFFIXES = (".json", *_LINE_SUFFIXES)
_CSV_SUFFIXES = (".csv", ".tsv")
TABLE_SUFFIXES = (*_CSV_SUFFIXES, ".xlsx", ".parquet")
"""Files whose records all have the same columns."""
SUFFIXES = (*_JSON_SUFFIXES, *TABLE_SUFFIXES)
_BOUNDED_READER = Path(__file__).with_name("bounded_reader.py")
_XLSX_READER = Path(__file__).with_name("xlsx.py")
_PARQUET_READER = Path(__file__).with_name("parquet_rows.py")
_MOST_NUMBERS = 5
"""Most numbers of rows in a message."""


_NO_TABLES = {
    (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"): "a picture",
    (b"%PDF-",): "a PDF",
    (b"\x1f\x8b",): "an archive (.gz)",
}
"""First bytes of files without tables, whatever their suffix."""


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
        """Returns a record's values without the skipped, and with digests of the digested."""
        remaining = {}
        for column, value in values.items():
            if column not in self.skip:
                remaining[column] = digest(value) if column in self.digested else value
        return remaining


def read_records(
    path: Path,
    limits: FileLimits = PAGE,
    skip: Collection[str] = (),
    name: str | None = None,
    allow_object: bool = False,
    digested: Collection[str] = (),
) -> Iterator[Record]:
    """Yields the records of a .json (a list of objects), .jsonl, .ndjson, .csv, .tsv, .xlsx or .parquet file.

    Cells of tables are `str` exactly as written, "" if empty; those of Parquet have their types. Columns in `skip` are
    left out without checks; long cells of those in `digested` become digests. `name` is the uploader's name for the
    file. Raises RowsError, maybe after some records; take `list()` of them where a file must be read whole or not at
    all.

    With `allow_object`, a .json may also be one object. If one of its `LISTS` is a list of objects, these are the
    records, each with the "model" that the file names beside the list. Otherwise each member of the file's object is
    a record, with the columns `KEY` and `VALUE`.
    """
    with _open_file(path, limits, name) as file:
        suffix = (Path(name or "").suffix or path.suffix).lower()
        if suffix not in SUFFIXES:
            raise RowsError(
                f"The file must end in {', '.join(SUFFIXES)}. Unpack or save it as one of these."
            )
        if suffix in _JSON_SUFFIXES or suffix in _CSV_SUFFIXES:
            _refuse_binary(file, suffix)
        if limits.rows is not None:
            _refuse_more(file, suffix, limits, limits.rows)
        if limits.values is not None and suffix in _JSON_SUFFIXES:
            _check_values(_count_value_signs(file), limits)
        omitted = _OmittedColumns(frozenset(skip), frozenset(digested))
        cells = 0
        for count, record in enumerate(
            _records(file, suffix, limits, omitted, allow_object), start=1
        ):
            if limits.rows is not None and count > limits.rows:
                problem = f"The file has over {limits.rows:,} records. Split it."
                raise RowsError(problem, row=record.row)
            if limits.values is not None:
                cells += len(record.values)
                _check_values(cells, limits, record.row)
            yield record


def read_json(path: Path, limits: FileLimits = PAGE) -> JSON:
    """Returns the one value in a .json file. Raises RowsError."""
    with _open_file(path, limits) as file:
        return parse_json(_decode_text(file.read(), file), limits)


def read_lines(path: Path) -> list[str]:
    """Returns the lines of a text file without their ends. Raises RowsError."""
    with _open_file(path, PAGE) as file:
        lines = [line.rstrip("\r\n") for line in _lines(file, PAGE)]
        check_strings(list(lines), PAGE)
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
    path_of: dict[str, Path] = {}
    for path in paths:
        with _open_file(path, COMMAND_LINE) as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if sha256 in path_of:
            earlier = path_of[sha256]
            problem = f"This is the same file as {earlier.name}. Give each file once."
            raise RowsError(problem, path.name)
        path_of[sha256] = path


@contextlib.contextmanager
def temporary_file(content: bytes, name: str) -> Iterator[Path]:
    """Yields a file of this name with this content; it is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


@contextlib.contextmanager
def _open_file(path: Path, limits: FileLimits, name: str | None = None) -> Iterator[BufferedReader]:
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


def _refuse_more(file: BinaryIO, suffix: str, limits: FileLimits, most_rows: int) -> None:
    """Raises RowsError for a text file that certainly has more records, after a fast count without checks."""
    row = None
    lines = _raw_lines(file, limits)
    if suffix in _LINE_SUFFIXES:
        row = _row_after_lines(lines, most_rows)
    elif suffix in _CSV_SUFFIXES:
        # bytes as Latin-1, since only delimiters, quotes and line ends matter here
        table = CsvReader((line.decode("latin-1") for line in lines), limits, suffix)
        row = _row_after_records(table, most_rows)
    file.seek(0)
    if row is not None:
        raise RowsError(f"The file has over {most_rows:,} records. Split it.", row=row)


def _row_after_lines(lines: Iterator[bytes], count: int) -> int | None:
    """Returns the row of the line that follows `count` lines; None if it is empty or there is none."""
    _skip(lines, count)
    return count + 1 if next(lines, b"").strip() else None


def _row_after_records(table: CsvReader, count: int) -> int | None:
    """Returns the row on which the record that follows `count` records starts; None if it is empty or there is none."""
    try:
        _skip(table, 1 + count)  # 1: the header
        row = table.line_num + 1
        return row if next(table, ()) else None
    except csv.Error:
        return None  # the reader of the records reports it


def _skip(iterator: Iterator[Any], count: int) -> None:
    """Takes this many values off an iterator, fast."""
    collections.deque(itertools.islice(iterator, count), maxlen=0)


def _count_value_signs(file: BinaryIO) -> int:
    """Counts commas and opening brackets, also those in texts; JSON has about as many values."""
    count = 0
    while part := file.read(1_000_000):
        count += part.count(b",") + part.count(b"[") + part.count(b"{")
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
    file: BinaryIO, suffix: str, limits: FileLimits, omitted: _OmittedColumns, allow_object: bool
) -> Iterator[Record]:
    if suffix == ".json":
        return _json_records(_decode_text(file.read(), file), limits, omitted, allow_object)
    if suffix in _LINE_SUFFIXES:
        return _line_records(_lines(file, limits), limits, omitted)
    if suffix == ".xlsx":
        rows = _bounded_rows(_XLSX_READER, file, limits, omitted)
        return _table_records(rows, limits, omitted)
    if suffix == ".parquet":
        # its reader leaves columns out, so that the largest are never read
        rows = _bounded_rows(_PARQUET_READER, file, limits, omitted)
        return (_checked_record(row, cells, limits) for row, cells in rows)
    reader = CsvReader(_lines(file, limits), limits, suffix)
    return _table_records(delimited_rows(reader), limits, omitted)


# Text: UTF-8 that a database can store.
def _decode_text(raw: bytes, file: BinaryIO, row: int = 1) -> str:
    """Decodes bytes just read from the file, which start at this row; drops a byte order mark.

    Raises RowsError for UTF-16 and other encodings.
    """
    if row == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RowsError("The file is UTF-16. Save it with the encoding UTF-8.", row=1)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        start = file.tell() - len(raw)
        place = f"byte 0x{raw[error.start]:02X} at offset {start + error.start}"
        row += raw.count(b"\n", 0, error.start)
        file.seek(start)
        encoding = guess_encoding(file.read(SAMPLE + 1), place)
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
        # most lines are ASCII, which needs no further look
        yield raw.decode() if raw.isascii() else _decode_text(raw, file, row)


def _checked_record(
    row: int, values: Mapping[str, JSON], limits: FileLimits, omitted: _OmittedColumns | None = None
) -> Record:
    """Returns a record without skipped columns, after checking its values. Raises RowsError."""
    _check_width(row, len(values), limits)
    remaining = omitted.apply_to(values) if omitted else values
    _check_cells(row, remaining, limits)
    return Record(row, remaining)


def _check_width(row: int, columns: int, limits: FileLimits) -> None:
    if columns > limits.columns:
        raise RowsError(
            f"The file has {columns:,} columns, more than {limits.columns:,}. Delete some.",
            row=row,
        )


def _check_cells(row: int, cells: Mapping[str, JSON], limits: FileLimits) -> None:
    """Raises RowsError for the first cell that cannot be stored; `cells`: by column."""
    for column, cell in cells.items():
        try:
            check_strings(cell, limits)
        except RowsError as error:
            raise error.at(row=row, column=column) from error


def _json_records(
    text: str, limits: FileLimits, omitted: _OmittedColumns, allow_object: bool
) -> Iterator[Record]:
    """Yields the objects of a JSON list, or the members of a JSON object, each with the row on which it starts."""
    value = decode(text, limits)
    records: JSON
    if not isinstance(value, dict) or not allow_object:
        records = value
        starts = places(value, text)
    elif (name := _list_of_records(value)) is not None:
        records = _with_model(value, name)
        starts = places(value, text, name)
    else:
        records = [_member_record(key, member) for key, member in value.items()]
        starts = places(value, text)
    if not isinstance(records, list):
        raise RowsError(
            "The file must be a list of objects, [{...}, {...}]. Wrap the records in one.", row=1
        )
    row = 1
    counted_to = 0
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise RowsError(f"Item {number} of the list isn't an object. Make it one.")
        start = next(starts)
        row += text.count("\n", counted_to, start)
        counted_to = start
        yield _checked_record(row, record, limits, omitted)


def _list_of_records(value: Mapping[str, JSON]) -> str | None:
    """Returns the name of the list of records in an object; None if it has none. Raises RowsError for several."""
    names = [name for name in LISTS if _is_list_of_objects(value.get(name))]
    if len(names) > 1:
        listed = " and ".join(map(repr, names))
        raise RowsError(f"Expected one list of records, found {listed}. Keep one of them.", row=1)
    return names[0] if names else None


def _is_list_of_objects(value: JSON) -> bool:
    """Returns whether a value is a list of objects and not empty."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(element, dict) for element in value)


def _with_model(value: Mapping[str, Any], name: str) -> list[JSON]:
    """Returns the objects in a list of an object, each with the model's name beside that list."""
    if not isinstance(value.get("model"), str):
        return value[name]
    return [{"model": value["model"], **record} for record in value[name]]


def _member_record(key: str, value: JSON) -> dict[str, JSON]:
    """Returns a member of an object as a record, with its key. Raises RowsError if it has the column `KEY`."""
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
    empty_lines = EmptyLines()
    for row, line in enumerate(lines, start=1):
        if not line.strip(" \t\r\n"):
            empty_lines.add(row)
            continue
        empty_lines.refuse_data()
        try:
            value = decode(line, limits)
        except RowsError as error:
            raise error.at(row=row) from error
        if not isinstance(value, dict):
            advice = "Wrap the value in one with a key, or name the file .json if it's one list."
            raise RowsError(f"Each line must be one object, {{...}}. {advice}", row=row)
        yield _checked_record(row, value, limits, omitted)


# Tables: the first row names the columns, and every row is as wide.
def _table_records(
    rows: Iterator[tuple[int, list[str]]], limits: FileLimits, omitted: _OmittedColumns
) -> Iterator[Record]:
    header_row, header = next(rows, (1, []))
    _check_header(header, limits, header_row)
    has_all_columns = omitted.columns.isdisjoint(header)
    for row, cells in rows:
        values = dict(zip(header, cells, strict=True))
        text = "".join(cells)
        # most rows need no check of their cells one by one, which takes long
        is_valid = len(text) <= limits.cell and text.isascii() and "\0" not in text
        if is_valid and has_all_columns:
            yield Record(row, values)
        else:
            yield _checked_record(row, values, limits, omitted)


def _check_header(header: list[str], limits: FileLimits, row: int) -> None:
    if not header:
        raise RowsError("The file has no header. Write the columns' names above the data.", row=row)
    names = {name: name for name in header}  # as cells, so that an error names the column
    _check_width(row, len(names), limits)
    _check_cells(row, names, limits)
    is_title = bool(header[0]) and len(header) > 1 and not any(header[1:])
    if is_title:
        raise RowsError(
            "The header has only one name. If it's a title, delete its row.",
            row=row,
        )
    for index, name in enumerate(header):
        if not name:
            raise RowsError(
                f"Column {index + 1} has no name. Give it one (in pandas: index=False).", row=row
            )
        if name in header[:index]:
            raise RowsError(
                "Two columns have this name. Rename one.",
                row=row,
                column=name,
            )


def _bounded_rows(
    reader: Path, file: BinaryIO, limits: FileLimits, omitted: _OmittedColumns
) -> Iterator[tuple[int, Any]]:
    """Yields the rows of a file, which a reader reads in a bounded process of its own."""
    columns = {"skip": sorted(omitted.skip), "digested": sorted(omitted.digested)}
    instructions = json.dumps({**asdict(limits), **columns})
    command = [sys.executable, "-I", str(_BOUNDED_READER), str(reader), instructions]
    with tempfile.TemporaryFile() as answer:
        try:
            subprocess.run(
                command,
                stdin=file,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                timeout=2 * limits.seconds,
                check=True,
            )
        except subprocess.SubprocessError as error:
            kind = "Parquet" if reader == _PARQUET_READER else ".xlsx"
            raise RowsError(
                f"This isn't a readable {kind}, or it's too large. Save it again, or as .csv."
            ) from error
        answer.seek(0)
        for line in answer:
            message = json.loads(line)
            if isinstance(message, dict):  # an error
                raise RowsError(**message)
            row, cells = message
            yield row, cells


def left_out_rows(problem: str, rows: Sequence[int]) -> str:
    """Returns the message for rows that are left out; it names the first of them."""
    noun = "rows" if len(rows) > 1 else "row"
    numbers = ", ".join(map(str, rows[:_MOST_NUMBERS]))
    if len(rows) > _MOST_NUMBERS:
        numbers += f" and {len(rows) - _MOST_NUMBERS} more"
    return f"{noun} {numbers} left out: {problem}"
