"""Strict JSON: RFC 8259 without values that parsers read differently or that a database cannot store.

`tables.py` reads every uploaded file with it; an error names the line of the fault.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from arena.io.data_urls import without_data_urls

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"


@dataclass(frozen=True)
class FileLimits:
    """Limits of one file; `None` is no limit."""

    bytes: int | None
    rows: int | None
    cell: int = 1_000_000
    """Characters in one cell or JSON string; columns that the caller skips may be longer, without line breaks."""
    line: int = 64_000_000
    """Bytes in one line, and characters in one skipped cell."""
    columns: int = 1_000
    values: int | None = None
    """Cells in all, or commas and opening brackets of JSON; in memory, some take thirty times their bytes."""
    depth: int = 64
    """Nesting of JSON brackets."""
    members: int = 50
    """Files inside an .xlsx, which is a zip; `unpacked` limits their bytes after unpacking, `ratio` their growth."""
    unpacked: int = 200_000_000
    ratio: int = 100
    memory: int = 512_000_000
    """Address space of the process that reads an .xlsx; enforced, as `seconds` of CPU time, where the system can."""
    seconds: int = 60


PAGE = FileLimits(bytes=100_000_000, rows=60_000, values=3_000_000)
"""Limits of a browser upload."""


class RowsError(ValueError):
    """A file cannot be read: the place, what was expected, and how to fix it."""

    def __init__(
        self,
        problem: str,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ):
        self.problem = without_data_urls(problem)
        super().__init__(self.problem)
        self.file = file
        self.row = row
        self.column = column

    def __str__(self) -> str:
        row = f"row {self.row}" if self.row else ""
        column = f"column {without_data_urls(self.column)[:80]!r}" if self.column else ""
        place = ", ".join(part for part in (self.file, row, column) if part)
        return f"{place}: {self.problem}" if place else self.problem

    def at(
        self, file: str | None = None, row: int | None = None, column: str | None = None
    ) -> "RowsError":
        """Returns the same error at this place; a part that is None stays as it was."""
        return RowsError(self.problem, file or self.file, row or self.row, column or self.column)


@contextmanager
def row_errors(
    file: str | None = None, row: int | None = None, column: str | None = None
) -> Iterator[None]:
    """Gives a RowsError its place, as `RowsError.at` does."""
    try:
        yield
    except RowsError as error:
        raise error.at(file, row, column) from error


def parse_json(text: str, limits: FileLimits = PAGE) -> JSON:
    """Returns the value of a JSON text, such as a cell that holds a list. Raises RowsError with its line in the text.

    Stricter than RFC 8259: unique keys, finite numbers, 64-bit integers, strings without NUL and lone surrogates,
    brackets at most `limits.depth` deep.
    """
    value = decode(text, limits)
    check_strings(value, limits)
    return value


def check_strings(value: JSON, limits: FileLimits) -> None:
    """Raises RowsError for a string, at any depth, that is too long or that a database or UTF-8 cannot hold."""
    if isinstance(value, str):
        if len(value) > limits.cell:
            raise RowsError(
                f"The cell has {len(value):,} characters, more than {limits.cell:,}. Shorten it."
            )
        _check_storable(value)
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            check_strings(inner, limits)


def storable(text: str) -> str:
    """Returns a text with NUL and lone surrogates replaced, which no database stores; surrogate pairs are joined."""
    return (
        text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _check_storable(text: str) -> None:
    if "\0" in text:
        raise RowsError(
            "Expected text, found the character NUL (is the file UTF-16?). Delete it or save as UTF-8."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RowsError(
            "Expected text, found half a surrogate pair, \\ud800 to \\udfff. Delete it."
        ) from error


_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BRACKET = re.compile(rf'[^"\[\]{{}}]*+(?:{_STRING}[^"\[\]{{}}]*+)*+([\[\]{{}}])', re.DOTALL)
_TOKEN = re.compile(rf'({_STRING}|[\[\]{{}}]|[^\s",:\[\]{{}}]++)(\s*+:)?+')


def _integer(literal: str) -> int:
    if len(literal) <= 20 and -(2**63) <= int(literal) < 2**63:
        return int(literal)
    raise RowsError(
        f"Expected a whole number of 64 bits, found {literal[:24]}. Write it as a string."
    )


def _real(literal: str) -> float:
    if math.isfinite(float(literal)):
        return float(literal)
    raise RowsError(f"Expected a finite number, found {literal[:24]}. Write null or a string.")


def _object(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    members: dict[str, JSON] = {}
    for key, value in pairs:
        _add(members, key, value)
    return members


def _add(members: dict[str, JSON], key: str, value: JSON = None) -> None:
    _check_storable(key)
    if key in members:
        raise RowsError("An object has this key twice. Delete one.", column=key)
    members[key] = value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_real
)


def decode(text: str, limits: FileLimits) -> JSON:
    """Returns the value of a JSON text without checking its strings. Raises RowsError with its line in the text."""
    for place, depth in _opening_brackets(text):
        if depth > limits.depth:
            raise RowsError(
                f"The brackets are nested more than {limits.depth} deep. Flatten them.",
                row=_row_of(text, place),
            )
    try:
        return _DECODER.decode(text.rstrip())
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated string")  # it holds no line break
        place = len(text.rstrip()) if is_cut else error.pos
        character = place - text.rfind("\n", 0, place)
        raise RowsError(_not_json(text[place:].strip(), character), row=error.lineno) from error
    except RowsError:
        _name_fault(text)
        raise


def _not_json(rest: str, character: int) -> str:
    if not rest:
        return (
            f"The JSON ends in the middle (character {character:,}). Save it again and upload it."
        )
    return (
        f"This isn't JSON at {rest[:20]!r} (character {character:,}). "
        "Save it again: .json has one value, .jsonl one per line."
    )


def places(value: JSON, text: str, member: str | None = None) -> Iterator[int]:
    """Yields the positions where the members of a JSON object, or the objects in a JSON list, start in its text.

    With `member`, which names a list in the object, yields the positions of the objects in that list.
    """
    if not isinstance(value, dict):
        yield from (place for place, depth in _opening_brackets(text) if depth == 2)
        return
    if member is not None:
        starts = [*places(value, text), len(text)]
        number = list(value).index(member)
        inside = range(starts[number], starts[number + 1])
        yield from (
            place for place, depth in _opening_brackets(text) if depth == 3 and place in inside
        )
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token[1] in "[{") - (token[1] in "]}")
        if depth == 1 and token[2]:
            yield token.start()


def _opening_brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yields position and depth of each opening bracket outside of strings."""
    depth = 0
    bracket = _BRACKET.match(text)
    while bracket:
        depth += 1 if bracket[1] in "[{" else -1
        if bracket[1] in "[{":
            yield bracket.start(1), depth
        bracket = _BRACKET.match(text, bracket.end())


def _name_fault(text: str) -> None:
    """Raises the first error of `_integer`, `_real` or `_object` with its row, in a text well-formed up to there."""
    keys: list[dict[str, JSON]] = []
    for token in _TOKEN.finditer(text):
        try:
            if token[1] in "[{":
                keys.append({})
            elif token[1] in "]}":
                keys.pop()
            elif token[2]:
                _add(keys[-1], json.loads(token[1]))
            else:
                _DECODER.decode(token[1])
        except RowsError as error:
            raise error.at(row=_row_of(text, token.start())) from error


def _row_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
