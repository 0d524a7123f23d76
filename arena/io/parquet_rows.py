"""Parquet reader: rows of the file on stdin, each `{column: value}`; only `bounded_reader.py` runs this file."""

import math
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.parquet

_AT_ONCE = 256
"""Rows of a batch."""


class ParquetError(ValueError):
    """A file is refused: the fields of `strict_json.RowsError`."""

    def __init__(self, problem: str, row: int | None = None, column: str | None = None):
        super().__init__(problem)
        self.message = {"problem": problem, "row": row, "column": column}


def rows(order: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows, from 1, without skipped columns and columns of bytes, which are pictures. Raises ParquetError."""
    try:
        with pyarrow.parquet.ParquetFile(sys.stdin.buffer) as file:
            kept = [part.name for part in file.schema_arrow if part.name not in order["skip"] and not _binary(part)]
            batches = file.iter_batches(_AT_ONCE, columns=kept, use_threads=False)
            for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), start=1):
                yield number, {column: _finite(value, number, column) for column, value in row.items()}
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, ParquetError):
            raise
        raise ParquetError("is no readable Parquet, or too large to read; export it anew, or as .jsonl") from error


def _binary(part: Any) -> bool:
    return "binary" in str(part.type)


def _finite(value: Any, row: int, column: str) -> Any:
    """A value with None for NaN, as in pandas. Raises ParquetError for an infinite number."""
    if isinstance(value, list):
        return [_finite(inner, row, column) for inner in value]
    if isinstance(value, dict):
        return {key: _finite(inner, row, column) for key, inner in value.items()}
    if isinstance(value, float) and math.isinf(value):
        raise ParquetError("expected a finite number, found an infinite one; write null", row, column)
    return None if isinstance(value, float) and math.isnan(value) else value
