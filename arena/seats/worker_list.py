"""Worker list: the people who get plain links from an operator, a name on each line or in a column of a table."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from arena.io.rows import FileRow, Heading, column_named, read_rows
from arena.io.strict_json import RowsError
from arena.io.tables import read_lines, temporary_file
from arena.seats.worker_names import listed_name
from arena.types import grouped

_COLUMNS = (
    *("worker", "workers", "workerid", "workerids", "workername", "workernames"),
    *("participant", "participants", "participantid", "participantids", "participantname"),
    *("annotator", "annotators", "annotatorid", "person", "persons", "people"),
    *("name", "names", "fullname", "username", "id", "ids"),
)
"""The names of a column of workers, without case and signs; the first one here counts."""
_SIGNS = ("\t", ";", ",")
_TEXT_TABLES = (".csv", ".tsv")
_OTHER_TABLES = (".xlsx", ".parquet", ".json", ".jsonl", ".ndjson")
_MOST_NAMED = 5
"""The most names that an error lists."""


class _WorkerRow(FileRow):
    """A row of a table of workers."""

    worker: Annotated[
        str, Heading(_COLUMNS, "a column 'worker'", "Write 'worker' above the names.")
    ]


class ListedWorker(NamedTuple):
    """A worker, and the row of the list with the name."""

    row: int
    name: str


def read_workers(path: Path) -> list[ListedWorker]:
    """Returns the workers in a file: lines of text, or a table. Raises RowsError."""
    suffix = path.suffix.lower()
    if suffix in _OTHER_TABLES:
        return _each_once(_of_table(path))
    return listed_workers(read_lines(path), is_table=suffix in _TEXT_TABLES)


def listed_workers(lines: Sequence[str], is_table: bool = False) -> list[ListedWorker]:
    """Returns the workers on lines; the first line may be a header, also of CSV or TSV with more columns.

    Empty lines are ignored. `is_table`: a first line of several cells is a header, even of unknown columns. Raises
    RowsError.
    """
    rows = [row for row, line in enumerate(lines, 1) if line.strip()]
    header = lines[rows[0] - 1] if rows else ""
    signs = [sign for sign in _SIGNS if sign in header]
    known = [sign for sign in signs if _has_column(header.split(sign))]
    if known or (is_table and signs and not _is_quoted(header)):
        filled = [lines[row - 1] for row in rows]
        suffix = ".tsv" if "\t" in (known or signs) else ".csv"
        return _each_once(_of_text_table(filled, rows, suffix))
    names = rows[1:] if _has_column([header]) else rows
    return _each_once(ListedWorker(row, _unquoted(lines[row - 1])) for row in names)


def _has_column(cells: Iterable[str]) -> bool:
    """Returns whether a cell is the head of a column of workers; a name in another script is no header."""
    return (
        column_named(dict.fromkeys(cell for cell in cells if cell.isascii()), _COLUMNS) is not None
    )


def _is_quoted(line: str) -> bool:
    cell = line.strip()
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', "")


def _unquoted(line: str) -> str:
    """Returns a line without CSV's quotes around a cell."""
    return line.strip()[1:-1].replace('""', '"') if _is_quoted(line) else line


def _of_text_table(
    lines: Sequence[str], rows: Sequence[int], suffix: str
) -> Iterator[ListedWorker]:
    """Yields the workers of CSV or TSV; `rows` are the lines' rows in the list."""
    with temporary_file("\n".join(lines).encode(), f"list{suffix}") as path:
        try:
            for row, name in _of_table(path):
                yield ListedWorker(rows[row - 1], name)
        except RowsError as error:
            row = rows[error.row - 1] if error.row else None
            raise RowsError(error.problem, row=row, column=error.column) from error


def _of_table(path: Path) -> Iterator[ListedWorker]:
    return (ListedWorker(number, row.worker) for number, row in read_rows(path, _WorkerRow))


def _each_once(workers: Iterable[ListedWorker]) -> list[ListedWorker]:
    """Returns the workers with normalised names, without empty rows. Raises RowsError for none, and for duplicates."""
    listed = [ListedWorker(row, listed_name(cell)) for row, cell in workers if cell.strip()]
    if not listed:
        raise RowsError(
            "Expected a worker's name on each line, found none. Write one on each line."
        )
    twice = [
        f"{name[:80]!r} on rows {' and '.join(map(str, rows[:_MOST_NAMED]))}"
        for name, rows in grouped((name, row) for row, name in listed).items()
        if len(rows) > 1
    ]
    if twice:
        more = f" and {len(twice) - _MOST_NAMED} more" if len(twice) > _MOST_NAMED else ""
        raise RowsError(
            f"Expected each worker once, found {', '.join(twice[:_MOST_NAMED])}{more}. Delete the repeats, or "
            "give two people of one name different names."
        )
    return listed
