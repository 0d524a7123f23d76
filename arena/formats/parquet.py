"""Parquet rows: read and written by pyarrow, which only this module imports, once a file needs it."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from arena.io.strict_json import RowsError
from arena.io.tables import Record

MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""

_REAL_TYPE = re.compile("float|double")
_ROWS_A_BATCH = 100
"""The rows of a batch, few since pictures are large."""


class _Pyarrow(NamedTuple):
    arrow: Any
    parquet: Any


def _import_pyarrow() -> _Pyarrow:
    """Imports pyarrow and its Parquet module. Raises RowsError if pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet

        return _Pyarrow(pyarrow, pyarrow.parquet)
    except ImportError as error:
        raise RowsError("Parquet needs pyarrow. Install pyarrow, or use JSONL.") from error


def read_rows(path: Path) -> Iterator[Record]:
    """Yields the rows of a Parquet file, numbered from 1. Raises RowsError.

    NaN, which is how pandas writes a missing value, becomes None.
    """
    arrow, parquet = _import_pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            # The name of a list's or a struct's type contains the names of its parts' types.
            real_columns = [
                column.name for column in file.schema_arrow if _REAL_TYPE.search(str(column.type))
            ]
            batches = file.iter_batches(_ROWS_A_BATCH)
            rows = chain.from_iterable(batch.to_pylist() for batch in batches)
            for number, row in enumerate(rows, start=1):
                for column in real_columns:
                    row[column] = _without_nan(row[column], number, column)
                yield Record(number, row)
    except RowsError as error:
        raise error.at(file=path.name) from error
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise RowsError(
            f"This isn't readable Parquet ({error}). Export it again.", file=path.name
        ) from error


def _without_nan(value: Any, row: int, column: str) -> Any:
    """Returns a value with None for NaN, at any depth. Raises RowsError for an infinite number."""
    if isinstance(value, list | tuple):
        return [_without_nan(inner, row, column) for inner in value]
    if isinstance(value, dict):
        return {key: _without_nan(inner, row, column) for key, inner in value.items()}
    if not isinstance(value, float):
        return value
    if math.isinf(value):
        raise RowsError(
            f"Expected a finite number, found {value}. Write null.", row=row, column=column
        )
    return None if math.isnan(value) else value


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Writes columns of equal length, each with one type of cells; a column without values becomes one of texts.

    Raises RowsError.
    """
    arrow, parquet = _import_pyarrow()
    try:
        arrays = {name: arrow.array(column) for name, column in columns.items()}
        texts = {
            name: array.cast(arrow.string())
            for name, array in arrays.items()
            if array.type == arrow.null()
        }
        parquet.write_table(arrow.table({**arrays, **texts}), path)
    except arrow.ArrowException as error:
        raise RowsError(
            f"This can't be written as Parquet ({error}). Write JSONL.", file=path.name
        ) from error


def write_dataset(
    path: Path, features: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Writes rows and pictures as the Hub's library `datasets` reads them; `features` is its format for columns."""
    arrow, parquet = _import_pyarrow()
    info = json.dumps({"info": {"features": features}})
    schema = arrow.schema(
        [(name, _type(arrow, feature)) for name, feature in features.items()],
        {"huggingface": info},
    )
    remaining = iter(rows)
    with parquet.ParquetWriter(path, schema) as file:
        while batch := list(islice(remaining, _ROWS_A_BATCH)):
            file.write_table(arrow.Table.from_pylist(batch, schema))


def _type(arrow: Any, feature: Any) -> Any:
    """Returns the Parquet type of a feature of `datasets`."""
    match feature:
        case {"_type": "Value", "dtype": dtype}:
            return arrow.type_for_alias(dtype)
        case {"_type": "Image"}:
            return arrow.struct({"bytes": arrow.binary(), "path": arrow.string()})
        case {"_type": "Sequence", "feature": inner} | [inner]:
            return arrow.list_(_type(arrow, inner))
    return arrow.struct({name: _type(arrow, inner) for name, inner in feature.items()})
