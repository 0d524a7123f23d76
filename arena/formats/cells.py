"""Cell values: converts imported cells to the expected type, or raises a RowsError that names the column."""

import ast
import base64
import hashlib
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar

from arena.formats.base import Row
from arena.io.data_urls import without_data_urls
from arena.io.strict_json import PAGE, RowsError, check_strings, parse_json
from arena.types import bare, item_key

_Value = TypeVar("_Value")
_FLAGS = {
    "true": True,
    "t": True,
    "1": True,
    "1.0": True,
    "false": False,
    "f": False,
    "0": False,
    "0.0": False,
}
"""Spellings of true and false; pandas writes 1.0 and 0.0 if a column has gaps."""
_COUNT_LIMIT = 2**31
"""The bound below which a whole number fits a database column."""
_EXACT = 2.0**53
"""The bound up to which a float is exact for every whole number."""
_LONGEST_NAME = 200
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC).timestamp()
_LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
"""_EARLIEST, _LATEST: the bounds of times with a date in every zone."""
_UNITS_A_SECOND = {1e11: 1, 1e14: 1e3, 1e17: 1e6}
"""The number of units in a second, by the bound of times in that unit. Times below the first bound (in seconds the year
5138) are in seconds, then milliseconds, then microseconds."""


def is_name(value: object) -> bool:
    """Returns whether a value can be the name of a model: a text that is neither blank nor too long.

    Blanks and line ends around it don't count.
    """
    return isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_NAME


def name(row: Row, column: str) -> str:
    """Returns the name of a model, without the blanks and line ends around it."""
    value = row.get(column)
    if isinstance(value, str) and is_name(value):
        return value.strip()
    if isinstance(value, str) and value.strip():
        length = len(value.strip())
        problem = f"Expected a model's name of at most {_LONGEST_NAME} characters, found {length:,}. Shorten it."
        raise RowsError(problem, column=column)
    raise RowsError(f"Expected a model's name, found {quoted(value)}. Write one.", column=column)


def text(row: Row, column: str) -> str | None:
    """Returns a text; None if absent or empty. A whole number becomes its digits.

    pandas writes whole numbers as 7.0 if a column has gaps.
    """
    value = row.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return str(int(value))
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise RowsError(f"Expected a text, found {quoted(value)}. Write it as text.", column=column)


def number(row: Row, column: str) -> float | None:
    """Returns a finite number; None if absent or empty."""
    value = row.get(column)
    if value is None or value == "":
        return None
    is_plain = isinstance(value, int | float | str | Decimal) and not isinstance(value, bool)
    try:
        parsed_number = float(value) if is_plain else math.nan
    except ValueError:
        parsed_number = math.nan
    if math.isfinite(parsed_number):
        return parsed_number
    raise RowsError(f"Expected a number, found {quoted(value)}. Write it in digits.", column=column)


def count(row: Row, column: str) -> int | None:
    """Returns a whole number that fits a database column; None if absent or empty."""
    value = number(row, column)
    if value is None:
        return None
    if not 0 <= value < _COUNT_LIMIT or not value.is_integer():
        value_text = quoted(row[column])
        problem = f"Expected a whole number from 0 up, below {_COUNT_LIMIT:,}, found {value_text}. Correct it."
        raise RowsError(problem, column=column)
    return int(value)


def seconds(row: Row, column: str) -> float | None:
    """Returns seconds since 1970 from a number of them or an ISO 8601 date (UTC without a zone); None if empty."""
    value = row.get(column)
    is_date = isinstance(value, str) and value != "" and not _is_number(value)
    time = moment(row, column) if is_date else number(row, column)
    _check_years(time, row, column)
    return time


def moment(row: Row, column: str) -> float | None:
    """Returns seconds since 1970 from a number or an ISO 8601 date (UTC without a zone); None if empty.

    Numbers are seconds, milliseconds or microseconds since 1970, by their size.
    """
    value = row.get(column)
    if value is None or value == "":
        return None
    try:
        time = _seconds_of_number(value) if _is_number(value) else _seconds_of_date(value)
    except (ValueError, OverflowError) as error:
        problem = (
            "Expected a time such as 2024-10-20T12:34:56Z, or seconds, milliseconds or microseconds "
            f"since 1970, found {quoted(value)}. Change it."
        )
        raise RowsError(problem, column=column) from error
    _check_years(time, row, column)
    return time


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _seconds_of_number(value: Any) -> float:
    """Returns the seconds of a number by the unit for its size. Raises ValueError for none."""
    count = float(value)
    for bound, units_a_second in _UNITS_A_SECOND.items():
        if abs(count) < bound:
            return count / units_a_second
    raise ValueError("beyond the calendar in every unit")


def _seconds_of_date(value: Any) -> float:
    date = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return date.timestamp()


def _check_years(time: float | None, row: Row, column: str) -> None:
    """Raises RowsError for a time without a date in every zone."""
    if time is None or _EARLIEST <= time < _LATEST:
        return
    problem = (
        f"Expected a time in the years 1 to 9999, found {quoted(row[column])}. "
        "Write seconds since 1970, or a date."
    )
    raise RowsError(problem, column=column)


def iso(time: float | None) -> str | None:
    return None if time is None else datetime.fromtimestamp(time, UTC).isoformat()


def flag(row: Row, column: str) -> bool | None:
    """Returns true or false; None if absent or empty."""
    value = row.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return value
    spelling = str(value).lower() if isinstance(value, str | int | float | Decimal) else ""
    if spelling in _FLAGS:
        return _FLAGS[spelling]
    raise RowsError(
        f"Expected true or false, found {quoted(value)}. Write one of them.", column=column
    )


def choice(row: Row, column: str, spellings: Mapping[str, _Value]) -> _Value:
    """Returns the meaning of a spelling. Raises RowsError for an unknown one: to read it as a tie would be a guess."""
    value = row.get(column)
    if isinstance(value, str) and value in spellings:
        return spellings[value]
    known = ", ".join(map(repr, spellings))
    raise RowsError(
        f"Expected one of {known}, found {quoted(value)}. Write one of them.", column=column
    )


def quoted(value: object) -> str:
    """Returns a value for an error message."""
    return "nothing" if value is None or value == "" else without_data_urls(repr(value))[:80]


def first_filled(row: Row, *columns: str) -> str:
    """Returns the name of the first of these columns with a value in the row, else the first name."""
    for column in columns:
        if row.get(column) not in (None, ""):
            return column
    return columns[0]


def pair(row: Row, column: str) -> list[Any] | None:
    """Returns a list of two values, also from JSON in a table; None for anything else."""
    value = parsed(row.get(column))
    return value if isinstance(value, list) and len(value) == 2 else None


def parsed(value: Any) -> Any:
    """Returns a list or an object, also from JSON or pandas' text in a table; any other value unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return parse_json(value)
    except RowsError:
        return _python_value(value)


def _python_value(text: str) -> Any:
    """Returns a list or an object from a Python literal, such as {'sampled': False}; any other text unchanged."""
    if len(text) > PAGE.cell:
        return text
    try:
        value = ast.literal_eval(text.strip())
        is_json = isinstance(value, list | dict) and _is_json(value)
        check_strings(value, PAGE)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if is_json else text


def _is_json(value: Any) -> bool:
    """Whether JSON can have a Python value, unlike a set, a tuple, bytes or an Ellipsis."""
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(member) for key, member in value.items())
    return value is None or isinstance(value, str | int | float)


def listed(value: Any) -> list[Any]:
    """Returns the values of a list, also from JSON in a table; empty for anything else."""
    values = parsed(value)
    return values if isinstance(values, list) else []


def records(value: Any) -> list[dict[str, Any]]:
    """Returns the objects of a list, also from JSON in a table."""
    return [entry for entry in listed(value) if isinstance(entry, dict)]


def item_of(instruction: str, images: Iterable[Any]) -> str | None:
    """Returns `types.item_key` of an instruction and its images; None without a text, or if an image has no key."""
    keys = _picture_keys(images)
    return item_key(instruction, keys) if instruction.strip() and keys is not None else None


def picture_of(instruction: str, images: Iterable[Any]) -> str | None:
    """Returns the item's picture (`Vote.picture`), the first of several; None if `item_of` is None."""
    keys = _picture_keys(images)
    if not instruction.strip() or keys is None:
        return None
    if keys:
        return item_key("", keys[:1])
    # Items without images are near copies if their bare texts are equal.
    return item_key(bare(instruction), [])


def _picture_keys(images: Iterable[Any]) -> list[str] | None:
    """Returns the images' keys; None if one has none."""
    keys = [_picture_key(image) for image in images]
    known = [key for key in keys if key]
    return known if len(known) == len(keys) else None


def _picture_key(image: Any) -> str | None:
    """Returns the digest of a picture's bytes if the row has them, else its path or address; None without any."""
    if isinstance(image, dict):
        return _digest(image.get("bytes")) or _picture_key(image.get("path") or image.get("url"))
    if not isinstance(image, str):
        return _digest(image)
    if image.startswith("data:"):
        _, _, content = image.partition(",")
        return _digest(content)
    return image or None


def _digest(picture: Any) -> str | None:
    """Returns the digest of a picture's bytes, which are base64 in JSON; None without any."""
    if isinstance(picture, str):
        try:
            picture = base64.b64decode(picture, validate=True)
        except ValueError:  # a text of another encoding still names one picture
            picture = picture.encode()
    return hashlib.sha256(picture).hexdigest() if isinstance(picture, bytes) and picture else None
