"""Cell values: imported cells as the type they should have, or a RowsError that names the column."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from arena.formats.base import Row
from arena.io.strict_json import RowsError
from arena.types import bare, item_key

_Value = TypeVar("_Value")
_FLAGS = {"true": True, "t": True, "false": False, "f": False}
_MOST = 2**31
_LONGEST_NAME = 200
_FIRST = datetime(1, 1, 2, tzinfo=UTC).timestamp()
_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
"""Times between these have a date in every zone."""


def is_name(value: object) -> bool:
    """Whether a value can be the name of a model: a text that is neither blank nor endless."""
    return isinstance(value, str) and len(value) <= _LONGEST_NAME and bool(value.strip())


def name(row: Row, column: str) -> str:
    """Name of a model, without the spaces around it."""
    value = row.get(column)
    if isinstance(value, str) and is_name(value):
        return value.strip(" ")
    if isinstance(value, str) and value.strip():
        problem = f"expected a model's name of at most {_LONGEST_NAME} characters, found {len(value):,}; shorten it"
        raise RowsError(problem, column=column)
    raise RowsError(f"expected a model's name, found {shown(value)}; write it in", column=column)


def text(row: Row, column: str) -> str | None:
    """Text; None if absent or empty. A whole number becomes its digits."""
    value = row.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise RowsError(f"expected a text, found {shown(value)}; write it as one", column=column)


def number(row: Row, column: str) -> float | None:
    value = row.get(column)
    if value is None or value == "":
        return None
    plain = isinstance(value, int | float | str | Decimal) and not isinstance(value, bool)
    try:
        found = float(value) if plain else math.nan
    except ValueError:
        found = math.nan
    if math.isfinite(found):
        return found
    raise RowsError(f"expected a number, found {shown(value)}; write digits", column=column)


def count(row: Row, column: str) -> int | None:
    """Whole number that a database column holds; None if absent or empty."""
    value = number(row, column)
    if value is None:
        return None
    if not 0 <= value < _MOST or not value.is_integer():
        problem = f"expected a whole number from 0 up, below {_MOST:,}, found {shown(row[column])}; mend it"
        raise RowsError(problem, column=column)
    return int(value)


def seconds(row: Row, column: str) -> float | None:
    """Seconds since 1970; None if absent or empty."""
    return _dated(number(row, column), row, column)


def moment(row: Row, column: str) -> float | None:
    """Seconds since 1970 of an ISO 8601 date (UTC if no zone is named); None if empty."""
    value = row.get(column)
    if value is None or value == "":
        return None
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError as error:
        problem = f"expected a time such as 2024-10-20T12:34:56Z, found {shown(value)}; write it so"
        raise RowsError(problem, column=column) from error
    return _dated((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp(), row, column)


def _dated(time: float | None, row: Row, column: str) -> float | None:
    if time is None or _FIRST <= time < _LAST:
        return time
    problem = f"expected a time in the years 1 to 9999, found {shown(row[column])}; write seconds since 1970, or a date"
    raise RowsError(problem, column=column)


def iso(time: float | None) -> str | None:
    return None if time is None else datetime.fromtimestamp(time, UTC).isoformat()


def flag(row: Row, column: str) -> bool | None:
    """True or false; None if absent or empty."""
    value = row.get(column)
    if value is None or value == "" or isinstance(value, bool):
        return value if isinstance(value, bool) else None
    if isinstance(value, str) and value.lower() in _FLAGS:
        return _FLAGS[value.lower()]
    raise RowsError(
        f"expected true or false, found {shown(value)}; write one of them", column=column
    )


def choice(row: Row, column: str, spellings: Mapping[str, _Value]) -> _Value:
    """Meaning of a spelling; an unknown one is an error, never a tie."""
    value = row.get(column)
    if isinstance(value, str) and value in spellings:
        return spellings[value]
    known = ", ".join(map(repr, spellings))
    raise RowsError(
        f"expected one of {known}, found {shown(value)}; write one of them", column=column
    )


def shown(value: object) -> str:
    """A value as an error shows it."""
    return "nothing" if value is None or value == "" else repr(value)[:80]


def two(row: Row, column: str) -> list[Any] | None:
    """A list of two values; None for anything else."""
    value = row.get(column)
    return value if isinstance(value, list) and len(value) == 2 else None


class TurnCell(NamedTuple):
    """What was put to the models: a text, and what stands for each of its images."""

    text: str
    images: list[Any]


def turn_cell(content: Any) -> TurnCell:
    """FastChat message: a text, or [text, [image, ...]] with images; empty for anything else."""
    if isinstance(content, str):
        return TurnCell(content, [])
    if isinstance(content, list) and list(map(type, content)) == [str, list]:
        return TurnCell(text=content[0], images=content[1])
    return TurnCell("", [])


def item_of(instruction: str, images: Iterable[Any]) -> str | None:
    """`types.item_key` of an instruction and its images' names; None without a text, or if an image has no name.

    An image is its name, or {"path": its name} as in data sets: without one, two images cannot be told apart.
    """
    names = _names(images)
    return item_key(instruction, names) if instruction.strip() and names is not None else None


def picture_of(instruction: str, images: Iterable[Any]) -> str | None:
    """What items hang together by (`Vote.picture`); None where `item_of` is None."""
    names = _names(images)
    if not instruction.strip() or names is None:
        return None
    return item_key("", names[:1]) if names else item_key(bare(instruction), [])


def _names(images: Iterable[Any]) -> list[str] | None:
    """The images' names; None if one has none."""
    entries = [image.get("path") if isinstance(image, dict) else image for image in images]
    names = [entry for entry in entries if isinstance(entry, str) and entry]
    return names if len(names) == len(entries) else None
