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
KEYS = (
    "instruction",
    "family",
    "images",
    "captions",
    "reference",
    "credit",
    "licence",
    "credits",
    "answers",
)
"""Keys of a line of `items.jsonl`."""
IMAGE_COLUMNS = ("images", "image", "image_url", "file_names", "file_name")
"""Columns that name or hold an item's images; the first that a row fills counts."""
_TEXT_OR_LIST = ("image", "image_url", "file_name")
"""Columns that may have one text instead of a list."""
_FILE_NAMES = ("_file_name", "_file_names")
"""Endings of other columns with file names, each of which is an image of the item."""
CREDIT_PARTS = ("creator", "source", "statement")
"""The parts of an image's credit, each in a column of its own."""
_TEXTS = ("instruction", "family", "reference", "caption", *CREDIT_PARTS)
"""Columns of texts, which are never read as JSON, even if they begin like a list or an object."""
_METADATA = ("metadata.jsonl", "metadata.csv", "metadata.parquet")

Row: TypeAlias = Mapping[str, JSON]


class ImageFile(NamedTuple):
    """An image file's content, with its name or path."""

    name: str
    data: bytes


class RowImages(NamedTuple):
    """An item's images, and the column that names or holds them."""

    column: str
    images: Sequence[str | ImageFile]
    """Paths or URLs, or files if the row embeds them."""


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
        yield RowsFile(path, names_from, _as_lines(path, records))


def _row_files(folder: Path) -> list[Path]:
    """Returns the files with a folder's rows; `items.jsonl` if there are none, so that the error names it."""
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


def _as_lines(path: Path, records: Iterator[Record]) -> Iterator[Record]:
    """Yields the records of a file as lines of `items.jsonl`. Raises RowsError for texts that cannot be stored."""
    for record in records:
        with row_errors(path.name, record.row):
            check_strings(dict(record.values), COMMAND_LINE)
            row = _as_line(record.values, path)
        yield Record(record.row, row)


def unread_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Returns those of the columns that no import reads."""
    read_columns = (*KEYS, *IMAGE_COLUMNS)
    return tuple(
        column
        for column in columns
        if column not in read_columns and not column.endswith(_FILE_NAMES)
    )


def row_images(row: Row) -> RowImages:
    """Returns an item's images. Raises RowsError."""
    filled = [name for name in IMAGE_COLUMNS if row.get(name)]
    other_columns = [name for name in row if name.endswith(_FILE_NAMES)]
    if other_columns and not filled:
        names = [name for column in other_columns for name in _names(row[column], column)]
        return RowImages(other_columns[0], names)
    # Without images, the error names an empty column of the row.
    empty = [name for name in IMAGE_COLUMNS if name in row]
    column = (filled or empty or IMAGE_COLUMNS)[0]
    value: Any = row.get(column)
    parts = value if isinstance(value, list) else [value]
    if any(isinstance(part, dict | bytes) for part in parts):
        return RowImages(column, [_embedded_image(part, column) for part in parts])
    return RowImages(column, _names(value, column))


def _names(value: JSON, column: str) -> list[str]:
    """Returns the paths or URLs in a cell. Raises RowsError."""
    may_be_text = column in _TEXT_OR_LIST or column.endswith("_file_name")
    if may_be_text and isinstance(value, str):
        value = [value]
    return texts_in(value, column)


def _embedded_image(part: Any, column: str) -> ImageFile:
    """Returns an image as `datasets` writes it: its bytes, with or without its path. Raises RowsError."""
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
    if isinstance(value, list) and value:
        texts = [part for part in value if isinstance(part, str) and part]
        if len(texts) == len(value):
            return texts
    raise RowsError("must be a list of one or more texts", column=column)


def _as_line(values: Row, path: Path) -> Row:
    """Returns a row as a line of `items.jsonl`: lists and objects as values, without empty cells."""
    is_table = path.suffix == ".csv"
    row: dict[str, JSON] = {}
    for name, value in values.items():
        is_empty = value is None or (is_table and value == "")
        if not is_empty:
            may_be_json = is_table and name not in _TEXTS
            row[name] = _cell_value(value) if may_be_json else value
    if "captions" not in row and "caption" in row:
        row["captions"] = [row.pop("caption")]
    if path.name in _METADATA and "credit" not in row and "credits" not in row:
        parts = [str(row.pop(name)) for name in CREDIT_PARTS if row.get(name)]
        if parts:
            row["credit"] = ", ".join(parts)
    return row


def _cell_value(value: JSON) -> JSON:
    """Returns the list or object that a cell has as JSON text; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        with suppress(RowsError):
            return parse_json(value)
    return value
