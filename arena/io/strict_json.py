"""Strict JSON: RFC 8259 without values that parsers read differently or that a database cannot store.

`tables.py` reads every uploaded file with it; an error names the line of the fault.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from arena.io.data_urls import without_data_urls

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"


@dataclass(frozen=True)
class FileLimits:
    """Limits of one file; `None` is no limit."""

    bytes: int | None
    rows: int | None
    cell: int = 1_000_000
    """Characters in one cell or JSON string. A cell of a skipped column may be longer if it is on one line."""
    line: int = 64_000_000
    """Bytes in one line, and so in a cell of a skipped column that is on one line."""
    columns: int = 1_000
    values: int | None = None
    """Cells in all, or commas and opening brackets of JSON; in memory, some take thirty times their bytes."""
    depth: int = 64
    """Nesting of JSON brackets."""
    members: int = 50
    """Files inside an .xlsx, which is a zip."""
    unpacked: int = 200_000_000
    """Bytes of these files after unpacking."""
    ratio: int = 100
    """How many times larger one of these files may get by unpacking."""
    memory: int = 512_000_000
    """Bytes of address space of the process that reads an .xlsx or .parquet, where the system can enforce them."""
    seconds: int = 60
    """CPU time of that process, likewise."""


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
        """`row` is counted from 1, as an editor counts lines."""
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
    """Returns the value of a JSON text, such as a cell that holds a list.

    Raises RowsError, with its line in the text unless a string is at fault.

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
    elif isinstance(value, dict):
        for member in value.values():
            check_strings(member, limits)
    elif isinstance(value, list):
        for element in value:
            check_strings(element, limits)


def storable(text: str) -> str:
    """Returns a text with NUL and lone surrogates replaced, which no database stores; surrogate pairs are joined."""
    utf_16 = text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass")
    return utf_16.decode("utf-16", "replace")


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


# Quantifiers are possessive (*+, ++, ?+): they take linear time on any text.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A JSON string."""
_BRACKET = re.compile(rf'[^"\[\]{{}}]*+(?:{_STRING}[^"\[\]{{}}]*+)*+([\[\]{{}}])', re.DOTALL)
"""The text up to a bracket outside of strings; group 1: the bracket."""
_TOKEN = re.compile(rf'({_STRING}|[\[\]{{}}]|[^\s",:\[\]{{}}]++)(\s*+:)?+')
"""Group 1: a string, bracket, number or word; group 2: the colon after it, which makes a string a key."""


def _parse_integer(literal: str) -> int:
    if len(literal) <= 20 and -(2**63) <= int(literal) < 2**63:
        return int(literal)
    raise RowsError(
        f"Expected a whole number of 64 bits, found {literal[:24]}. Write it as a string."
    )


def _parse_real(literal: str) -> float:
    number = float(literal)
    if math.isfinite(number):
        return number
    raise RowsError(f"Expected a finite number, found {literal[:24]}. Write null or a string.")


def _make_object(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    members: dict[str, JSON] = {}
    for key, value in pairs:
        _add_member(members, key, value)
    return members


def _add_member(members: dict[str, JSON], key: str, value: JSON = None) -> None:
    """Adds a member to an object. Raises RowsError if its key is there already or cannot be stored."""
    _check_storable(key)
    if key in members:
        raise RowsError("An object has this key twice. Delete one.", column=key)
    members[key] = value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_make_object,
    parse_int=_parse_integer,
    parse_float=_parse_real,
    parse_constant=_parse_real,
)


def decode(text: str, limits: FileLimits) -> JSON:
    """Returns the value of a JSON text without checking its strings. Raises RowsError with its line in the text."""
    for bracket in _opening_brackets(text):
        if bracket.depth > limits.depth:
            raise RowsError(
                f"The brackets are nested more than {limits.depth} deep. Flatten them.",
                row=_row_of(text, bracket.place),
            )
    try:
        return _DECODER.decode(text.rstrip())
    except json.JSONDecodeError as error:
        # The decoder points at the start of a string without an end, but what is missing is at the end of the text. The
        # row is the same, since a string has no line breaks.
        is_cut = error.msg.startswith("Unterminated string")
        place = len(text.rstrip()) if is_cut else error.pos
        character = place - text.rfind("\n", 0, place)
        problem = _syntax_problem(text[place:].strip(), character)
        raise RowsError(problem, row=error.lineno) from error
    except RowsError:
        _raise_with_row(text)
        raise  # if no token alone is at fault


def _syntax_problem(rest: str, character: int) -> str:
    """Returns what is wrong at a character of a line, counted from 1; `rest` is the text from there on."""
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
        yield from _bracket_places(text, depth=2)  # 1: the list, 2: its objects
    elif member is None:
        yield from _member_places(text)
    else:
        starts = [*_member_places(text), len(text)]
        index = list(value).index(member)
        member_places = range(starts[index], starts[index + 1])
        # 1: the object, 2: its lists, 3: their objects
        for place in _bracket_places(text, depth=3):
            if place in member_places:
                yield place


def _bracket_places(text: str, depth: int) -> Iterator[int]:
    """Yields the positions of the opening brackets at a depth; 1: the outermost."""
    return (bracket.place for bracket in _opening_brackets(text) if bracket.depth == depth)


def _member_places(text: str) -> Iterator[int]:
    depth = 0
    for token in _TOKEN.finditer(text):
        is_key = token[2] is not None
        if token[1] in "[{":
            depth += 1
        elif token[1] in "]}":
            depth -= 1
        elif is_key and depth == 1:
            yield token.start()


class _OpeningBracket(NamedTuple):
    place: int
    """Its position in the text."""
    depth: int
    """1 for an outermost bracket."""


def _opening_brackets(text: str) -> Iterator[_OpeningBracket]:
    """Yields the opening brackets outside of strings."""
    depth = 0
    bracket = _BRACKET.match(text)
    while bracket:
        if bracket[1] in "[{":
            depth += 1
            yield _OpeningBracket(bracket.start(1), depth)
        else:
            depth -= 1
        bracket = _BRACKET.match(text, bracket.end())


def _raise_with_row(text: str) -> None:
    """Raises the first RowsError of a number or a key again, with its row.

    The decoder calls `_parse_integer`, `_parse_real` and `_make_object`, but doesn't tell them where in the text they
    are. So the text is read again token by token. It is well-formed up to that number or key, but maybe not from there.
    """
    open_brackets: list[dict[str, JSON]] = []
    """The members so far of each object that is open; a list's stay empty."""
    for token in _TOKEN.finditer(text):
        try:
            if token[1] in "[{":
                open_brackets.append({})
            elif token[1] in "]}":
                open_brackets.pop()
            elif token[2] and token[1].startswith('"'):
                _add_member(open_brackets[-1], json.loads(token[1]))
            else:
                _DECODER.decode(token[1])
        except RowsError as error:
            raise error.at(row=_row_of(text, token.start())) from error


def _row_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
