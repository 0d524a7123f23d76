"""Worker list: the people who get plain links from an operator, a name on each line or in a column of a table."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from arena.io.rows import FileRow, Heading, column_named, read_rows
from arena.io.strict_json import RowsError
from arena.io.tables import read_lines, temporary_file
from arena.seats.worker_names import listed_name
from arena.types import grouped

_NAME_COLUMNS = (
    *("worker", "workers", "workerid", "workerids", "workername", "workernames"),
    *("participant", "participants", "participantid", "participantids", "participantname"),
    *("annotator", "annotators", "annotatorid", "person", "persons", "people"),
    *("name", "names", "fullname", "username", "id", "ids"),
)
"""The names of a column of workers, without case and signs. If a table has several, the first one here counts."""
_SEPARATORS = ("\t", ";", ",")
_TEXT_TABLES = (".csv", ".tsv")
_OTHER_TABLES = (".xlsx", ".parquet", ".json", ".jsonl", ".ndjson")
_MOST_LISTED = 5
"""The most names, and the most rows of each, that an error lists."""


class _WorkerRow(FileRow):
    """A row of a table of workers."""

    worker: Annotated[
        str, Heading(_NAME_COLUMNS, "a column 'worker'", "Write 'worker' above the names.")
    ]


class ListedWorker(NamedTuple):
    """A worker, and the row of the list with the name."""

    row: int
    name: str


class _Line(NamedTuple):
    """A line of a list that isn't empty, and its row in the list."""

    row: int
    text: str


def read_workers(path: Path) -> list[ListedWorker]:
    """Returns the workers in a file: lines of text, or a table. Raises RowsError."""
    suffix = path.suffix.lower()
    if suffix in _OTHER_TABLES:
        return _check_names(_table_workers(path))
    return parse_workers(read_lines(path), is_table=suffix in _TEXT_TABLES)


def parse_workers(lines: Sequence[str], is_table: bool = False) -> list[ListedWorker]:
    """Returns the workers on lines; the first line may be a header, also of CSV or TSV with more columns.

    Empty lines are ignored. `is_table`: a first line of several cells is a header, even of unknown columns. Raises
    RowsError.
    """
    filled = [_Line(row, line) for row, line in enumerate(lines, 1) if line.strip()]
    header = filled[0].text if filled else ""
    separators = [separator for separator in _SEPARATORS if separator in header]
    separators_of_columns = [
        separator for separator in separators if _has_column(header.split(separator))
    ]
    # Also read as a table, so that the error about its header says which column it needs.
    is_unknown_table = is_table and bool(separators) and not _is_quoted(header)
    if separators_of_columns or is_unknown_table:
        likely = separators_of_columns or separators
        suffix = ".tsv" if "\t" in likely else ".csv"
        return _check_names(_text_table_workers(filled, suffix))
    if _has_column([header]) and not _is_initials(header):
        filled = filled[1:]
    return _check_names(ListedWorker(line.row, _unquoted(line.text)) for line in filled)


def _has_column(cells: Iterable[str]) -> bool:
    """Returns whether a cell is the head of a column of workers; a name in another script is no header."""
    heads = dict.fromkeys(cell for cell in cells if cell.isascii())
    return column_named(heads, _NAME_COLUMNS) is not None


def _is_initials(line: str) -> bool:
    """Returns whether a line is a name of initials, as in "I.D."; "Worker I.D." and "Name." are headers."""
    return "." in line and all(len(part.strip()) < 2 for part in line.split("."))


def _is_quoted(line: str) -> bool:
    """Returns whether a line is a single cell in CSV's quotes."""
    cell = line.strip()
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"':
        return False
    # Quotes within a cell are doubled.
    return '"' not in cell[1:-1].replace('""', "")


def _unquoted(line: str) -> str:
    """Returns a line without CSV's quotes around a cell."""
    if not _is_quoted(line):
        return line
    return line.strip()[1:-1].replace('""', '"')


def _text_table_workers(lines: Sequence[_Line], suffix: str) -> Iterator[ListedWorker]:
    """Yields the workers of CSV or TSV."""
    rows = [line.row for line in lines]
    content = "\n".join(line.text for line in lines).encode()
    with temporary_file(content, f"list{suffix}") as path:
        # The table has rows of its own, without the list's empty lines.
        try:
            for row, name in _table_workers(path):
                yield ListedWorker(rows[row - 1], name)
        except RowsError as error:
            row = rows[error.row - 1] if error.row else None
            raise RowsError(error.problem, row=row, column=error.column) from error


def _table_workers(path: Path) -> Iterator[ListedWorker]:
    return (ListedWorker(number, row.worker) for number, row in read_rows(path, _WorkerRow))


def _check_names(workers: Iterable[ListedWorker]) -> list[ListedWorker]:
    """Returns the workers with normalised names, without empty rows. Raises RowsError for none, and for duplicates."""
    named = [ListedWorker(row, listed_name(cell)) for row, cell in workers if cell.strip()]
    if not named:
        raise RowsError(
            "Expected a worker's name on each line, found none. Write one on each line."
        )
    repeats = []
    for name, rows in grouped((name, row) for row, name in named).items():
        if len(rows) > 1:
            row_list = " and ".join(str(row) for row in rows[:_MOST_LISTED])
            repeats.append(f"{name[:80]!r} on rows {row_list}")
    if repeats:
        hidden = len(repeats) - _MOST_LISTED
        more = f" and {hidden} more" if hidden > 0 else ""
        raise RowsError(
            f"Expected each worker once, found {', '.join(repeats[:_MOST_LISTED])}{more}. Delete the repeats, or "
            "give two people of one name different names."
        )
    return named
