"""Rows of item folders: the files with rows, and each row as a line of `items.jsonl`.

Besides `items.jsonl`, these are folders as the Hub's library `datasets` reads them: Parquet files with embedded
pictures, and `metadata.jsonl`, `.csv` or `.parquet` beside its pictures
(https://huggingface.co/docs/datasets/image_dataset)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from arena.formats.parquet import read_rows
from arena.io.strict_json import JSON, RowsError, check_strings, row_errors
from arena.io.tables import COMMAND_LINE, Record, parse_json, read_records

ITEMS_FILE = "items.jsonl"
KEYS = "instruction family images captions reference credit licence credits answers".split()
"""Keys of a line of `items.jsonl`."""
IMAGE_COLUMNS = ("images", "image", "image_url", "file_names", "file_name")
"""Columns that name or hold an item's images; the first that a row fills counts."""
_TEXT_OR_LIST = ("image", "image_url", "file_name")
_FILE_NAMES = ("_file_name", "_file_names")
"""Endings of other columns with file names, each of which is an image of the item."""
CREDIT_PARTS = ("creator", "source", "statement")
"""The parts of an image's credit, each in a column of its own."""
_METADATA = ("metadata.jsonl", "metadata.csv", "metadata.parquet")

Row: TypeAlias = Mapping[str, JSON]


class ImageFile(NamedTuple):
    """An image file's content, with its name or path."""

    name: str
    data: bytes


class RowsFile(NamedTuple):
    """A file of rows in a folder of items."""

    path: Path
    names_from: Path
    """The folder from which its rows name their images."""
    records: Iterable[Record]


def read_folder(folder: Path) -> Iterator[RowsFile]:
    """Yields the files with a folder's rows: `items.jsonl`, or else a dataset's. Reading records raises RowsError."""
    for path in _row_files(folder):
        records = read_rows(path) if path.suffix == ".parquet" else read_records(path, COMMAND_LINE)
        names_from = path.parent if path.name in _METADATA else folder
        yield RowsFile(path, names_from, _lines(path, records))


def _row_files(folder: Path) -> list[Path]:
    if (folder / ITEMS_FILE).exists():
        return [folder / ITEMS_FILE]
    groups = (
        folder.glob("data/*.parquet"),
        (path for path in folder.rglob("metadata.*") if path.name in _METADATA),
        folder.rglob("*.parquet"),
    )
    for group in groups:
        paths = sorted(group)
        if paths:
            return paths
    return [folder / ITEMS_FILE]


def _lines(path: Path, records: Iterator[Record]) -> Iterator[Record]:
    for record in records:
        with row_errors(path.name, record.row):
            check_strings(dict(record.values), COMMAND_LINE)
            row = _line(record.values, path)
        yield Record(record.row, row)


def unread(columns: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns that no import reads."""
    return tuple(
        column
        for column in columns
        if column not in (*KEYS, *IMAGE_COLUMNS) and not column.endswith(_FILE_NAMES)
    )


def row_images(row: Row) -> tuple[str, Sequence[str | ImageFile]]:
    """Returns the column of an item's images, and their paths or URLs, or their files if the row embeds them.

    Raises RowsError.
    """
    filled = [name for name in IMAGE_COLUMNS if row.get(name)]
    if not filled:
        columns = [name for name in row if name.endswith(_FILE_NAMES)]
        if columns:
            return columns[0], [name for each in columns for name in _names(row[each], each)]
        filled = [name for name in IMAGE_COLUMNS if name in row]
    column = filled[0] if filled else IMAGE_COLUMNS[0]
    value: Any = row.get(column)
    parts = value if isinstance(value, list) else [value]
    if any(isinstance(part, dict | bytes) for part in parts):
        return column, [_embedded(part, column) for part in parts]
    return column, _names(value, column)


def _names(value: JSON, column: str) -> list[str]:
    is_single = column in _TEXT_OR_LIST or column.endswith("_file_name")
    return texts_in([value] if is_single and isinstance(value, str) else value, column)


def _embedded(part: Any, column: str) -> ImageFile:
    """Returns an image as `datasets` writes it: its bytes, with or without its path."""
    if isinstance(part, bytes):
        return ImageFile("", part)
    if isinstance(part, dict) and isinstance(part.get("bytes"), bytes):
        return ImageFile(str(part.get("path") or ""), part["bytes"])
    raise RowsError(
        f"has images without their bytes. Embed them, or name them in an {ITEMS_FILE}",
        column=column,
    )


def texts_in(value: JSON, column: str) -> list[str]:
    """Returns a list of texts. Raises RowsError for anything else."""
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(part, str) and part for part in value)
    ):
        raise RowsError("must be a list of one or more texts", column=column)
    return [str(part) for part in value]


def _line(values: Row, path: Path) -> Row:
    """Returns a row as a line of `items.jsonl`: lists and objects as values, without empty cells."""
    is_table = path.suffix == ".csv"
    row: dict[str, JSON] = {
        name: _cell(value) if is_table and name != "instruction" else value
        for name, value in values.items()
        if value is not None and not (is_table and value == "")
    }
    if "captions" not in row and "caption" in row:
        row["captions"] = [row.pop("caption")]
    if path.name in _METADATA and "credit" not in row and "credits" not in row:
        parts = [str(row.pop(name)) for name in CREDIT_PARTS if row.get(name)]
        row |= {"credit": ", ".join(parts)} if parts else {}
    return row


def _cell(value: JSON) -> JSON:
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        with suppress(RowsError):
            return parse_json(value)
    return value
