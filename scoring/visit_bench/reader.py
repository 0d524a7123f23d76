"""Submission files: VisIT-Bench's `predictions.csv`, or any table or JSONL with item keys, and the items they mean.

Columns: `instruction` with `image` or `images` (a JSON list), as the authors want them, or `item`. The answers are in
"<model name> prediction" or in `prediction`. Problems are collected, so that all can be shown at once.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.io.strict_json import parse_json, row_errors
from arena.io.tables import JSON, PAGE, FileLimits, Record, RowsError, read_records
from arena.items.importers import last_part
from arena.types import folded, grouped, item_key
from scoring.report import NoAnswersError

PREDICTION = "prediction"
_MODEL_COLUMN = re.compile(r"(.*\S) prediction", re.DOTALL)
"""The name of a column of answers with the model's name in it."""
IMAGE_COLUMNS = ("images", "image", "image_url", "file_name")
"""Columns of images in VisIT-Bench's files; in each row the first that isn't empty counts."""
_NO_IMAGES = "This isn't an image's name or a list of them. Write it that way."


@dataclass(frozen=True)
class Entry:
    """An answer in the file, with the item's key, or its instruction and images."""

    row: int
    item: str | None
    instruction: str
    images: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        """The row and its item or instruction, for problems."""
        beginning = " ".join(self.instruction.split())[:60]
        return f"row {self.row}: {self.item or beginning!r}"


@dataclass(frozen=True)
class SubmissionFile:
    """A submission file, read completely."""

    file: str
    model: str
    """The model in the column's name; empty if that is just `prediction`."""
    entries: tuple[Entry, ...]
    problems: tuple[str, ...]


def read_submission(
    path: Path, limits: FileLimits = PAGE, name: str | None = None
) -> SubmissionFile:
    """The answers in a submission file, with their problems. Raises RowsError and NoAnswersError."""
    label = name or path.name
    records = list(read_records(path, limits, name=label))
    if not records:
        raise NoAnswersError("The file has no answers. Choose the one that has them.", label)
    columns = list(records[0].values)
    answer_columns = [
        column for column in columns if column == PREDICTION or _MODEL_COLUMN.fullmatch(column)
    ]
    if not answer_columns:
        column_names = ", ".join(map(repr, columns[:20]))
        problem = f'The file needs a column "<model name> prediction", and it has {column_names}. Rename one.'
        raise RowsError(problem, label, records[0].row)
    problems = []
    if len(answer_columns) > 1:
        names = " and ".join(map(repr, answer_columns))
        problems.append(f"Several prediction columns: {names}. Keep one of them.")
    entries = []
    for record in records:
        try:
            entries.append(_entry(record, answer_columns[0]))
        except RowsError as error:
            problems.append(str(error.at(row=record.row)))
    match = _MODEL_COLUMN.fullmatch(answer_columns[0])
    model = match[1].strip() if match else ""
    return SubmissionFile(label, model, tuple(entries), tuple(problems))


def is_submission(path: Path, name: str, limits: FileLimits = PAGE) -> bool:
    """Whether a file looks like a submission: an instruction or item beside a column "<model name> prediction".

    A column `prediction` also occurs in other benchmarks' files: it counts beside an item, or an instruction with
    images.
    """
    first = next(read_records(path, limits, name=name, allow_object=True), None)
    columns = set(first.values) if first else set()
    if not columns & {"instruction", "item"}:
        return False
    if any(_MODEL_COLUMN.fullmatch(column) for column in columns):
        return True
    return PREDICTION in columns and bool(columns & {"item", *IMAGE_COLUMNS})


def _entry(record: Record, column: str) -> Entry:
    values = record.values
    item = _cell_text(values.get("item"))
    instruction = _cell_text(values.get("instruction"))
    if not item.strip() and not instruction.strip():
        raise RowsError(
            "An item's key or instruction is missing. Write it there.", column="instruction"
        )
    text = values.get(column)
    if not isinstance(text, str):
        raise RowsError(
            "The answer isn't text. Put it in quotes as the model wrote it.", column=column
        )
    return Entry(
        row=record.row,
        item=item.strip() or None,
        instruction=instruction,
        images=_images(values),
        text=text,
    )


def _images(values: Mapping[str, JSON]) -> tuple[str, ...]:
    """The images in the first column that has any; () without one. Raises RowsError."""
    for column in IMAGE_COLUMNS:
        cell = values.get(column)
        is_blank = isinstance(cell, str) and not cell.strip()
        names = image_names(cell, column, _NO_IMAGES) if cell and not is_blank else ()
        if names:
            return names
    return ()


def _cell_text(cell: JSON) -> str:
    is_text = isinstance(cell, str | int) and not isinstance(cell, bool)
    return str(cell) if is_text else ""


def image_names(cell: JSON, column: str, problem: str) -> tuple[str, ...]:
    """The names or addresses in a cell: a JSON list of texts, or a text. Raises RowsError with the text `problem`."""
    names = cell.strip() if isinstance(cell, str) else cell
    # a file may be called [1].jpg
    if isinstance(names, str) and names.startswith("[") and names.endswith("]"):
        with row_errors(column=column):
            names = parse_json(names)
    listed: Sequence[JSON] = names if isinstance(names, list) else [names]
    stripped = [name.strip() if isinstance(name, str) else "" for name in listed]
    if not all(stripped):
        raise RowsError(problem, column=column)
    return tuple(stripped)


_MOST_LISTED = 10
"""The most names that a problem lists."""
_LONGEST_TITLE = 120
"""The most characters of a model's name."""


def count_with_names(names: Sequence[str]) -> str:
    """The number of names, and the first of them."""
    listed = ", ".join(names[:_MOST_LISTED])
    if len(names) > _MOST_LISTED:
        listed += ", ..."
    return f"{len(names):,} ({listed})"


def title_problems(title: str) -> list[str]:
    """The problems of a model's name by itself: missing or too long."""
    if not title:
        return [
            "The model has no name. Enter it under Details, or call the column “<model name> prediction”."
        ]
    if len(title) > _LONGEST_TITLE:
        return [f"The model's name has {len(title)} characters. Shorten it to {_LONGEST_TITLE}."]
    return []


# Problems of entries, whose number and names come in the place of {}.
UNKNOWN = "Unknown instances: {}. Import their items first, or correct the keys."
"""Alone it doesn't stop a file whose other items are known: the item bank leaves out the instances that VisIT-Bench's
raters found incorrect."""
DOUBLE = "Instances that are there more than once: {}. Keep one of each."
SHARED = "Instructions that several items share: {}. Add a column image, images or item."


class ItemIndex:
    """Index from entries to items."""

    def __init__(self, items: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        """`items` has each item's instruction and image names, by its key."""
        self._keys = items.keys()
        by_names = []
        by_text = []
        for key, (instruction, names) in items.items():
            text = folded(instruction)
            # without blanks around them, as in an entry
            by_names.append(((text, tuple(name.strip() for name in names)), key))
            by_text.append((text, key))
        self._by_names = grouped(by_names)
        self._by_text = grouped(by_text)

    def add_answer(self, entry: Entry, texts: dict[str, str]) -> str | None:
        """Adds the entry's text to `texts` under its item, or returns its problem: UNKNOWN, SHARED or DOUBLE."""
        items = self._items_of(entry)
        if not items:
            return UNKNOWN
        if len(items) > 1:
            return SHARED
        item = items[0]
        if item in texts:
            return DOUBLE
        texts[item] = entry.text
        return None

    def _items_of(self, entry: Entry) -> Sequence[str]:
        """The keys of the items that an entry can mean."""
        if entry.item is not None:
            return [entry.item] if entry.item in self._keys else []
        if not entry.images:
            return self._by_text.get(folded(entry.instruction), [])
        # The key is made of the images' addresses or hashes; a file may have only the last part of an address.
        key = item_key(entry.instruction, entry.images)
        names = (folded(entry.instruction), tuple(map(last_part, entry.images)))
        return [key] if key in self._keys else self._by_names.get(names, [])
