"""Submission files: VisIT-Bench's `predictions.csv`, or any table or JSONL with item keys, and the items they mean.

Columns: `instruction` with `image` or `images` (a JSON list), as the authors ask for them, or `item`; the answers are
in "<model name> prediction" or in `prediction`. Problems are collected, so that all can be shown at once.
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
_NAMED = re.compile(r"(.*\S) prediction", re.DOTALL)
IMAGE_COLUMNS = ("images", "image", "image_url", "file_name")
"""Columns of images in VisIT-Bench's files; the first that exists counts."""
_WANTED = "expected an image's name, or a list of them; write it so"


@dataclass(frozen=True)
class Entry:
    """An answer in the file, and the item that it names."""

    row: int
    item: str | None
    instruction: str
    images: tuple[str, ...]
    text: str

    @property
    def shown(self) -> str:
        return f"row {self.row}: {self.item or ' '.join(self.instruction.split())[:60]!r}"


@dataclass(frozen=True)
class SubmissionFile:
    """A submission file, read completely."""

    file: str
    model: str
    """From the name of the column; empty if that is just `prediction`."""
    entries: tuple[Entry, ...]
    problems: tuple[str, ...]


def read_submission(
    path: Path, limits: FileLimits = PAGE, name: str | None = None
) -> SubmissionFile:
    label = name or path.name
    records = list(read_records(path, limits, name=label))
    if not records:
        raise NoAnswersError("expected answers, found none; choose the file that holds them", label)
    columns = list(records[0].values)
    answers = [column for column in columns if column == PREDICTION or _NAMED.fullmatch(column)]
    if not answers:
        found = ", ".join(map(repr, columns[:20]))
        problem = f'expected a column "<model name> prediction", found {found}; rename one'
        raise RowsError(problem, label, records[0].row)
    problems = []
    if len(answers) > 1:
        several = " and ".join(map(repr, answers))
        problems.append(f"two prediction columns or more: {several}; delete all but one")
    entries = []
    for record in records:
        try:
            entries.append(_entry(record, answers[0]))
        except RowsError as error:
            problems.append(str(error.at(row=record.row)))
    named = _NAMED.fullmatch(answers[0])
    return SubmissionFile(label, named[1].strip() if named else "", tuple(entries), tuple(problems))


def is_submission(path: Path, name: str, limits: FileLimits = PAGE) -> bool:
    """Whether a file looks like a submission: an instruction or item beside a column "<model name> prediction".

    A column `prediction` alone belongs to many benchmarks: beside an item, or an instruction with images, it is ours.
    """
    first = next(read_records(path, limits, name=name, members=True), None)
    columns = first.values.keys() if first else set()
    named = any(_NAMED.fullmatch(column) for column in columns)
    plain = PREDICTION in columns and ("item" in columns or not columns.isdisjoint(IMAGE_COLUMNS))
    return (named or plain) and not columns.isdisjoint(("instruction", "item"))


def _entry(record: Record, column: str) -> Entry:
    values = record.values
    item = values.get("item")
    instruction = values.get("instruction")
    if not (isinstance(item, str) and item.strip()) and not (
        isinstance(instruction, str) and instruction.strip()
    ):
        raise RowsError(
            "expected an item's key or an instruction; write it there", column="instruction"
        )
    text = values.get(column)
    if not isinstance(text, str):
        raise RowsError(
            "expected the answer as text; put it in quotes as the model wrote it", column=column
        )
    named = next((name for name in IMAGE_COLUMNS if values.get(name)), None)
    return Entry(
        row=record.row,
        item=item.strip() if isinstance(item, str) and item.strip() else None,
        instruction=instruction if isinstance(instruction, str) else "",
        images=images_in(values[named], named, _WANTED) if named else (),
        text=text,
    )


def images_in(cell: JSON, column: str, wanted: str) -> tuple[str, ...]:
    """The names or addresses in a cell: a JSON list of texts, or one text. Raises RowsError, with what is `wanted`."""
    with row_errors(column=column):
        names = (
            parse_json(cell) if isinstance(cell, str) and cell.lstrip().startswith("[") else cell
        )
    listed: Sequence[JSON] = names if isinstance(names, list) else [names]
    if not all(isinstance(part, str) and part for part in listed):
        raise RowsError(wanted, column=column)
    return tuple(map(str, listed))


_SHOWN = 10
_LONGEST = 120


def counted(names: Sequence[str]) -> str:
    """How many there are, and the first of them."""
    listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"{len(names):,} ({listed})"


def title_problems(title: str) -> list[str]:
    """What is wrong with a model's name, whoever else has it."""
    if not title:
        return ['the model has no name; call the column "<model name> prediction", or give a title']
    if len(title) > _LONGEST:
        return [f"the model's name has {len(title)} characters; shorten it to {_LONGEST}"]
    return []


UNKNOWN = "unknown instances: {}; import their items first, or correct the keys"
"""No hindrance if others are known: the item bank leaves out what VisIT-Bench's raters found incorrect."""
DOUBLE = "instances that stand there more than once: {}; keep one of each"
SHARED = "instructions that several items share: {}; add a column image, images or item"


class ItemIndex:
    """Index from entries to items."""

    def __init__(self, items: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        self._keys = items.keys()
        told = [(key, folded(instruction), names) for key, (instruction, names) in items.items()]
        self._by_names = grouped(((instruction, names), key) for key, instruction, names in told)
        self._by_text = grouped((instruction, key) for key, instruction, _ in told)

    def join(self, entry: Entry, found: dict[str, str]) -> str | None:
        """Add the entry's text to `found` under its item, or return the problem that it has with others."""
        items = self._meant(entry)
        if len(items) != 1:
            return SHARED if items else UNKNOWN
        if items[0] in found:
            return DOUBLE
        found[items[0]] = entry.text
        return None

    def _meant(self, entry: Entry) -> Sequence[str]:
        if entry.item is not None:
            return [entry.item] if entry.item in self._keys else []
        if not entry.images:
            return self._by_text.get(folded(entry.instruction), [])
        key = item_key(entry.instruction, entry.images)
        names = (folded(entry.instruction), tuple(map(last_part, entry.images)))
        return [key] if key in self._keys else self._by_names.get(names, [])
