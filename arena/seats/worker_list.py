"""Worker list: the people to whom an operator sends plain links, a name on each line or in a column of a table."""

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
"""How a column of workers is called, without case and signs. Of several, the one that stands first here is taken."""
_SIGNS = ("\t", ";", ",")
_TEXT_TABLES = (".csv", ".tsv")
_OTHER_TABLES = (".xlsx", ".parquet", ".json", ".jsonl", ".ndjson")
_TOLD = 5
"""Names that an error lists."""


class _WorkerRow(FileRow):
    """A row of a table of workers."""

    worker: Annotated[str, Heading(_COLUMNS, "a column 'worker'", "write 'worker' above the names")]


class ListedWorker(NamedTuple):
    """A worker, and the row of the list with the name."""

    row: int
    name: str


def read_workers(path: Path) -> list[ListedWorker]:
    """The workers in a file: lines of text, or a table. Raises RowsError."""
    suffix = path.suffix.lower()
    if suffix in _OTHER_TABLES:
        return _each_once(_of_table(path))
    return listed_workers(read_lines(path), is_table=suffix in _TEXT_TABLES)


def listed_workers(lines: Sequence[str], is_table: bool = False) -> list[ListedWorker]:
    """The workers on lines, the first of which may be a header; it may be that of CSV or TSV with more columns.

    Empty lines are no matter. `is_table`: a first line of several cells is a header, even of unknown columns. Raises
    RowsError.
    """
    rows = [row for row, line in enumerate(lines, 1) if line.strip()]
    header = lines[rows[0] - 1] if rows else ""
    found = [sign for sign in _SIGNS if sign in header]
    known = [sign for sign in found if _has_column(header.split(sign))]
    if known or (is_table and found and not _is_quoted(header)):
        kept = [lines[row - 1] for row in rows]
        return _each_once(
            _of_text_table(kept, rows, ".tsv" if "\t" in (known or found) else ".csv")
        )
    names = rows[1:] if _has_column([header]) else rows
    return _each_once(ListedWorker(row, _unquoted(lines[row - 1])) for row in names)


def _has_column(cells: Iterable[str]) -> bool:
    """Whether one of these cells heads a column of workers; a name in another script is no header."""
    return (
        column_named(dict.fromkeys(cell for cell in cells if cell.isascii()), _COLUMNS) is not None
    )


def _is_quoted(line: str) -> bool:
    cell = line.strip()
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', "")


def _unquoted(line: str) -> str:
    """A line without the quotes in which CSV puts a cell with a comma."""
    return line.strip()[1:-1].replace('""', '"') if _is_quoted(line) else line


def _of_text_table(
    lines: Sequence[str], rows: Sequence[int], suffix: str
) -> Iterator[ListedWorker]:
    """The workers of CSV or TSV, whose lines stand on these rows of the list."""
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
    """The workers with names in one form; rows without a name are left out. Raises RowsError for none, and for two."""
    named = [ListedWorker(row, listed_name(cell)) for row, cell in workers if cell.strip()]
    if not named:
        raise RowsError("expected a worker's name on each line, found none; write one on each line")
    twice = [
        f"{name[:80]!r} on rows {' and '.join(map(str, rows[:_TOLD]))}"
        for name, rows in grouped((name, row) for row, name in named).items()
        if len(rows) > 1
    ]
    if twice:
        more = f" and {len(twice) - _TOLD} more" if len(twice) > _TOLD else ""
        raise RowsError(
            f"expected each worker once, found {', '.join(twice[:_TOLD])}{more}; delete what is there twice, or tell "
            "two people of one name apart"
        )
    return named
