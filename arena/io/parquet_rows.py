"""Parquet reader: rows of the file on stdin, each `{column: value}`; only `bounded_reader.py` runs this file."""

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.parquet

_BATCH_ROWS = 256
_MOST_DIGESTED = 50_000_000
"""Bytes above which a digested column is left out."""


class ParquetError(ValueError):
    """A file is refused; `message` has the fields of `strict_json.RowsError`."""

    def __init__(self, problem: str, row: int | None = None, column: str | None = None):
        super().__init__(problem)
        self.message = {"problem": problem, "row": row, "column": column}


def rows(order: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields each row's number, from 1, and its cells by column.

    Skipped columns, pictures, and cells with bytes that are no text are left out. `order` has the keys that
    `bounded_reader.py` describes: limits, columns, and its function `digest`. Raises ParquetError.
    """
    try:
        with pyarrow.parquet.ParquetFile(sys.stdin.buffer) as file:
            _check(file, order["rows"])
            columns = _included_columns(file, order)
            number = 0
            for batch in file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                for row in _in_microseconds(batch).to_pylist():
                    number += 1
                    yield number, _cells(row, number, order)
    except ParquetError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise ParquetError(
            "This isn't readable Parquet, or it's too large. Export it again, or as .jsonl."
        ) from error


def _check(file: pyarrow.parquet.ParquetFile, most_rows: int | None) -> None:
    """Raises ParquetError for too many rows and for two columns of one name."""
    count = file.metadata.num_rows
    if most_rows is not None and count > most_rows:
        raise ParquetError(f"The file has {count:,} records, more than {most_rows:,}. Split it.")
    names = [field.name for field in file.schema_arrow]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ParquetError("Two columns have this name. Rename one.", row=1, column=repeated[0])


def _included_columns(file: pyarrow.parquet.ParquetFile, order: dict[str, Any]) -> list[str]:
    columns = []
    for field in file.schema_arrow:
        is_skipped = field.name in order["skip"] or _has_pictures(field)
        is_digested = field.name in order["digested"]
        if is_skipped or (is_digested and _is_long(file.metadata, field.name)):
            continue
        columns.append(field.name)
    return columns


def _cells(row: dict[str, Any], number: int, order: dict[str, Any]) -> dict[str, Any]:
    """Returns a row's cells by column, without those with bytes that are no text."""
    cells = {}
    for column, value in row.items():
        is_digested = column in order["digested"]
        cell = order["digest"](value) if is_digested else _plain_value(value, number, column)
        if not _has_bytes(cell):
            cells[column] = cell
    return cells


def _is_long(metadata: Any, name: str) -> bool:
    """Returns whether a column is too large to be read into memory for its digest."""
    size = 0
    for group_number in range(metadata.num_row_groups):
        group = metadata.row_group(group_number)
        for column_number in range(group.num_columns):
            column = group.column(column_number)
            # The parts of a column of lists or records have paths such as "image.list.element".
            if column.path_in_schema == name or column.path_in_schema.startswith(f"{name}."):
                size += column.total_uncompressed_size
    return size > _MOST_DIGESTED


def _in_microseconds(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """Returns a batch whose columns of times have no nanoseconds, which Python's times don't have."""
    if not batch.num_columns:
        return batch  # only its number of rows counts
    columns = []
    for column in batch.columns:
        kind = column.type
        if pyarrow.types.is_timestamp(kind) and kind.unit == "ns":
            column = column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
        elif pyarrow.types.is_time64(kind) and kind.unit == "ns":
            column = column.cast(pyarrow.time64("us"), safe=False)
        elif pyarrow.types.is_duration(kind) and kind.unit == "ns":
            column = column.cast(pyarrow.duration("us"), safe=False)
        columns.append(column)
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _has_pictures(field: Any) -> bool:
    """Returns whether a column holds records with `bytes`, alone or in a list: `datasets` writes pictures so."""
    kind = field.type
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    return pyarrow.types.is_struct(kind) and "bytes" in [inner.name for inner in kind]


def _plain_value(value: Any, number: int, column: str) -> Any:
    """Returns a value with None for NaN, and UTF-8 bytes as text; other bytes stay as they are.

    Raises ParquetError for an infinite number, with the row's number.
    """
    if isinstance(value, list | tuple):  # a map is a list of tuples
        return [_plain_value(inner, number, column) for inner in value]
    if isinstance(value, dict):
        return {key: _plain_value(inner, number, column) for key, inner in value.items()}
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode("utf-8")
    if isinstance(value, float):
        if math.isinf(value):
            problem = "Expected a finite number, found an infinite one. Write null."
            raise ParquetError(problem, number, column)
        if math.isnan(value):
            return None
    return value


def _has_bytes(value: Any) -> bool:
    """Returns whether a value of `_plain_value` has bytes, at any depth."""
    if isinstance(value, dict):
        return any(map(_has_bytes, value.values()))
    if isinstance(value, list):
        return any(map(_has_bytes, value))
    return isinstance(value, bytes)
