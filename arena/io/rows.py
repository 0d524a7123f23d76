"""Rows of uploaded tables: a pydantic model describes a row, and one reader turns records into rows or errors.

    class PriceRow(FileRow):
        model: Name
        dollars: Annotated[float, cell("US dollars for a million tokens, as in 2.50")]

Fields are columns, with the types and bounds of pydantic. `read_rows` raises at the first wrong row; `sound_rows` skips
wrong rows and returns the others.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, WrapValidator
from pydantic_core import ErrorDetails, PydanticCustomError

from arena.io.csv_text import plain_cell
from arena.io.strict_json import JSON, PAGE, FileLimits, RowsError, row_errors
from arena.io.tables import Record, left_out_rows, read_records

_SIGNS = re.compile(r"[^a-z0-9]+")
_CUT = 80
"""Most characters of a cell, or of a column's name, in an error."""
_LISTED = 20
"""Most columns that an error lists."""
_DIGITS = "Write it in digits."
_EXPECTED: Mapping[str, tuple[str, str]] = {
    "bool_parsing": ("yes or no", "Write one of them."),
    "finite_number": ("a number", _DIGITS),
    "float_parsing": ("a number", _DIGITS),
    "float_type": ("a number", _DIGITS),
    "greater_than": ("a number above {gt}", "Change it."),
    "greater_than_equal": ("a number of at least {ge}", "Change it."),
    "int_parsing": ("a whole number", _DIGITS),
    "int_parsing_size": ("a shorter number", "Shorten it."),
    "int_type": ("a whole number", _DIGITS),
    "less_than": ("a number below {lt}", "Change it."),
    "less_than_equal": ("a number of at most {le}", "Change it."),
    "literal_error": ("{expected}", "Change it."),
    "string_too_long": ("at most {max_length} characters", "Shorten it."),
    "string_too_short": ("a text", "Write one."),
    "string_type": ("a text", "Write one."),
    "told": ("{expected}", "{mend}"),
}
"""For each type of pydantic's errors, what was expected and how to fix it; "told" is raised by `cell`."""
_ANOTHER = ("another value", "Change it.")


class FileRow(BaseModel):
    """A row of a table. Columns that are not fields are ignored, unless the model forbids extras."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)
    strips: ClassVar[bool] = True
    """Whether blanks around a cell are stripped."""


@dataclass(frozen=True)
class Heading:
    """Names of a field's column, and the error text if the column is missing."""

    spellings: tuple[str, ...] = ()
    """Names in the form of `without_signs`; the first that the table has is read.

    If empty, the column has exactly the field's name.
    """
    expected: str = "this column"
    mend: str = "Rename or add it."
    as_written: bool = False
    """Whether blanks around a text, and an apostrophe before it, stay; null is then refused as a text."""


def cell(
    expected: str, mend: str = "Change it.", holds: Callable[[Any], object] = lambda _: True
) -> WrapValidator:
    """Returns a validator for `Annotated` with its error text; `holds` must be true of the parsed value."""

    def check(value: Any, read: Callable[[Any], Any]) -> Any:
        with suppress(ValueError):
            if holds(parsed := read(value)):
                return parsed
        raise PydanticCustomError("told", "{expected}", {"expected": expected, "mend": mend})

    return WrapValidator(check)


Name = Annotated[str, cell("a text", "Write one.", str.strip)]
"""A cell that must not be empty."""
T = TypeVar("T", bound=FileRow)


@dataclass(frozen=True)
class SoundRows(Generic[T]):
    """Valid rows, with their numbers, and a message for each problem of the others."""

    rows: tuple[tuple[int, T], ...]
    problems: tuple[str, ...]


def read_rows(
    path: Path,
    kind: type[T],
    key: Sequence[str] = (),
    limits: FileLimits = PAGE,
    name: str | None = None,
) -> Iterator[tuple[int, T]]:
    """Yields the rows of a file with their numbers; no two rows may have equal values in the fields of `key`.

    `name` is the uploader's name for the file. Raises RowsError, maybe after some rows.
    """
    with row_errors(name or path.name):
        yield from rows_of(read_records(path, limits, name=name), kind, key)


def rows_of(
    records: Iterable[Record], kind: type[T], key: Sequence[str] = ()
) -> Iterator[tuple[int, T]]:
    """Yields the rows of records with their numbers, as `read_rows` does."""
    reader = _Reader(kind)
    first: dict[tuple[object, ...], int] = {}
    for record in records:
        row = reader.row(record)
        if isinstance(row, _WrongRow):
            raise row.error(record.row)
        if key:
            values = _values(row, key)
            if values in first:
                raise _repeated_key(reader, key, values, first[values], record.row)
            first[values] = record.row
        yield record.row, row


def sound_rows(
    records: Iterable[Record],
    kind: type[T],
    check: Callable[[T], str] = lambda _: "",
    key: Sequence[str] = (),
    twice: str = "it's in an earlier row too",
) -> SoundRows[T]:
    """Returns the valid rows; `check` returns a further problem of a row, `twice` is the problem of a repeated `key`.

    Raises RowsError for a missing column, and for a file that cannot be read.
    """
    reader = _Reader(kind)
    wrong: dict[str, list[tuple[int, str]]] = {}
    rows: list[tuple[int, T]] = []
    keys: set[tuple[object, ...]] = set()
    for record in records:
        row = reader.row(record)
        if isinstance(row, _WrongRow):
            wrong.setdefault(row.text(), []).append((record.row, row.quoted_cell))
            continue
        values = _values(row, key)
        problem = check(row) or (twice if key and values in keys else "")
        if problem:
            wrong.setdefault(problem, []).append((record.row, ""))
            continue
        keys.add(values)
        rows.append((record.row, row))
    return SoundRows(
        tuple(rows), tuple(_left_out(problem, cells) for problem, cells in wrong.items())
    )


def _left_out(problem: str, wrong: Sequence[tuple[int, str]]) -> str:
    """Returns the message for the rows of one problem, each with its cell; it quotes the first cell."""
    first = wrong[0][1]
    others = " and others" if any(cell != first for _, cell in wrong) else ""
    example = f", found {first}{others}" if first else ""
    return left_out_rows(problem + example, [number for number, _ in wrong])


def column_named(columns: Iterable[str], wanted: Sequence[str]) -> str | None:
    """Returns the first wanted column that exists, ignoring case and signs. Raises RowsError if two columns match."""
    spelled: dict[str, list[str]] = {}
    for column in columns:
        spelled.setdefault(without_signs(column), []).append(column)
    matches = next((spelled[name] for name in wanted if name in spelled), [])
    if len(matches) > 1:
        raise RowsError(
            f"Expected one such column, found {' and '.join(_quoted(name) for name in matches[:_LISTED])}. Delete one.",
            column=matches[0],
        )
    return matches[0] if matches else None


def without_signs(text: str) -> str:
    """Returns a text in lower case with ASCII letters and digits only."""
    return _SIGNS.sub("", text.lower())


class _WrongRow(NamedTuple):
    """The problem of a row."""

    problem: str
    column: str | None = None
    quoted_cell: str = ""
    """The cell as quoted in the error; empty for an error that the model itself raised."""
    mend: str = ""

    def error(self, row: int) -> RowsError:
        problem = (
            f"{self.problem[0].upper()}{self.problem[1:]}, found {self.quoted_cell}. {self.mend}"
            if self.quoted_cell
            else self.problem
        )
        return RowsError(problem, row=row, column=self.column)

    def text(self) -> str:
        """Returns the problem without the cell, so that rows with the same problem have the same text."""
        return f"{self.column}: {self.problem}" if self.quoted_cell else self.problem


class _Place(NamedTuple):
    """A field of a row model, and how its cells are read."""

    field: str
    column: Heading
    is_text: bool
    is_required: bool


class _Reader(Generic[T]):
    """Reads records as rows of one model."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._only = kind.model_config.get("extra") == "forbid"
        self._places = [
            _Place(
                name,
                next((part for part in field.metadata if isinstance(part, Heading)), Heading()),
                field.annotation is str,
                field.is_required(),
            )
            for name, field in kind.model_fields.items()
        ]
        self._header: list[str] = []
        self.columns: dict[str, str] = {}
        """Columns of the last record by field."""

    def row(self, record: Record) -> "T | _WrongRow":
        """Returns the row or its problem. Raises RowsError for missing or unknown columns."""
        header = list(record.values)
        if header != self._header or not self.columns:
            with row_errors(row=record.row):
                self.columns = self._columns_of(header)
            self._header = header
        cells: dict[str, object] = {}
        for place in self._places:
            if place.field in self.columns:
                value = self._cell(record.values[self.columns[place.field]], place)
                is_empty = value is None or (value == "" and not place.is_text)
                if place.is_required or not is_empty:
                    cells[place.field] = value
        try:
            return self._kind.model_validate(cells)
        except ValidationError as error:
            return self._wrong(error.errors(include_url=False)[0])

    def _cell(self, value: JSON, place: _Place) -> JSON:
        """Returns a cell as text; a list or an object as it is."""
        if isinstance(value, list | dict):
            return value
        if place.column.as_written:
            return None if value is None else str(value)
        text = "" if value is None else str(value)
        return plain_cell(text.strip() if self._kind.strips else text)

    def _columns_of(self, header: Sequence[str]) -> dict[str, str]:
        columns: dict[str, str] = {}
        for place in self._places:
            spellings = place.column.spellings
            own = place.field if place.field in header else None
            column = column_named(header, spellings) if spellings else own
            if column is not None:
                columns[place.field] = column
            elif place.is_required:
                raise RowsError(
                    f"Expected {place.column.expected}, found {_listed(header)}. {place.column.mend}",
                    column=None if spellings else place.field,
                )
        unknown = [column for column in header if column not in columns.values()]
        if self._only and unknown:
            known = ", ".join(repr(place.field) for place in self._places)
            raise RowsError(
                f"Expected only the columns {known}. Rename or delete this one.", column=unknown[0]
            )
        return columns

    def _wrong(self, error: ErrorDetails) -> _WrongRow:
        place = error["loc"]
        context = error.get("ctx", {})
        column = self.columns.get(str(place[0])) if place else None
        if error["type"] in ("value_error", "assertion_error"):  # the model's own sentence
            return _WrongRow(str(context["error"]), column)
        expected, mend = _EXPECTED.get(error["type"], _ANOTHER)
        value = error["input"]
        quoted = "an empty cell" if value in ("", None) else _quoted(str(value))
        expected = expected.format_map(context)
        return _WrongRow(f"expected {expected}", column, quoted, mend.format_map(context))


def _values(row: FileRow, key: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in key)


def _repeated_key(
    reader: _Reader[Any], key: Sequence[str], values: Sequence[object], before: int, row: int
) -> RowsError:
    """Returns the error for a repeated key; for a key of several fields it names each field's column."""
    if len(key) == 1:
        problem = f"{_quoted(str(values[0]))} is in row {before} too. Delete one of them."
        return RowsError(problem, row=row, column=reader.columns.get(key[0]))
    *others, last = (
        f"{reader.columns.get(name, name)} {_quoted(str(value))}"
        for name, value in zip(key, values, strict=True)
    )
    return RowsError(
        f"{', '.join(others)} and {last} are in row {before} too. Delete one of them.", row=row
    )


def _quoted(text: str) -> str:
    return repr(text[:_CUT])


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return (", ".join(_quoted(column) for column in columns[:_LISTED]) or "none") + more
