"""Parquet reader: rows of the file on stdin, each `{column: value}`; only `bounded_reader.py` runs this file."""

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.parquet

_AT_ONCE = 256
"""Rows of a batch."""
_LONG = 50_000_000
"""Bytes above which a digested column is left out."""


class ParquetError(ValueError):
    """A file is refused; `message` has the fields of `strict_json.RowsError`."""

    def __init__(self, problem: str, row: int | None = None, column: str | None = None):
        super().__init__(problem)
        self.message = {"problem": problem, "row": row, "column": column}


def rows(order: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the rows, from 1, without skipped columns, pictures and bytes that are not text. Raises ParquetError."""
    try:
        with pyarrow.parquet.ParquetFile(sys.stdin.buffer) as file:
            if (count := file.metadata.num_rows) > (order["rows"] or math.inf):
                raise ParquetError(
                    f"The file has {count:,} records, more than {order['rows']:,}. Split it."
                )
            names = [part.name for part in file.schema_arrow]
            if double := [name for name in names if names.count(name) > 1]:
                raise ParquetError("Two columns have this name. Rename one.", 1, double[0])
            included = [
                part.name
                for part in file.schema_arrow
                if part.name not in order["skip"]
                and not _has_pictures(part)
                and not (part.name in order["digested"] and _is_long(file.metadata, part.name))
            ]
            batches = file.iter_batches(_AT_ONCE, columns=included, use_threads=False)
            for number, row in enumerate(
                (row for batch in batches for row in batch.to_pylist()), start=1
            ):
                values = {
                    column: order["digest"](value)
                    if column in order["digested"]
                    else _plain(value, number, column)
                    for column, value in row.items()
                }
                yield (
                    number,
                    {
                        column: value
                        for column, value in values.items()
                        if not isinstance(value, bytes)
                    },
                )
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, ParquetError):
            raise
        raise ParquetError(
            "This isn't readable Parquet, or it's too large. Export it again, or as .jsonl."
        ) from error


def _is_long(metadata: Any, name: str) -> bool:
    """Returns whether a column is too large to be read into memory for its digest."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = (group.column(place) for group in groups for place in range(group.num_columns))
    sizes = (column.total_uncompressed_size for column in columns if column.path_in_schema == name)
    return sum(sizes) > _LONG


def _has_pictures(part: Any) -> bool:
    """Returns whether a column holds pictures as `datasets` writes them: bytes with a path, alone or in a list."""
    kind = part.type
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    return pyarrow.types.is_struct(kind) and "bytes" in [inner.name for inner in kind]


def _plain(value: Any, row: int, column: str) -> Any:
    """Returns a value with None for NaN, and UTF-8 bytes as text. Raises ParquetError for an infinite number."""
    if isinstance(value, list):
        return [_plain(inner, row, column) for inner in value]
    if isinstance(value, dict):
        return {key: _plain(inner, row, column) for key, inner in value.items()}
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode("utf-8")
    if isinstance(value, float) and math.isinf(value):
        raise ParquetError(
            "Expected a finite number, found an infinite one. Write null.", row, column
        )
    return None if isinstance(value, float) and math.isnan(value) else value
