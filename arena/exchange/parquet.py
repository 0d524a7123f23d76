"""Rows from and to Parquet: the one door to pyarrow, which is loaded when a file asks for it."""

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arena.rows import Record
from arena.strict_json import RowsError

MAGIC = b"PAR1"
"""What a Parquet file begins with."""


def _pyarrow() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet module."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise RowsError("is Parquet, which pyarrow reads and writes; install pyarrow, or use JSONL") from error


def read_rows(path: Path) -> Iterator[Record]:
    """Yield the rows of a Parquet file, numbered from 1. Raises RowsError."""
    arrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
            yield from (Record(number, row) for number, row in enumerate(rows, start=1))
    except (arrow.ArrowException, OSError) as error:
        raise RowsError(f"is no readable Parquet ({error}); export it anew", file=path.name) from error


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> None:
    """Write rows whose cells in a column are of one kind; a column without any value is one of texts."""
    write_columns(path, {column: [row.get(column) for row in rows] for column in columns})


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of one length, as `write_rows` does."""
    arrow, parquet = _pyarrow()
    try:
        arrays = {name: arrow.array(column) for name, column in columns.items()}
        texts = {name: array.cast(arrow.string()) for name, array in arrays.items() if array.type == arrow.null()}
        parquet.write_table(arrow.table({**arrays, **texts}), path)
    except arrow.ArrowException as error:
        raise RowsError(f"cannot be written as Parquet ({error}); write JSONL", file=path.name) from error
