"""Rows of people's tables: a model says what a row holds, and one reader turns records into rows or says what is wrong.

    class PriceRow(FileRow):
        model: Name
        dollars: Annotated[float, cell("US dollars for a million tokens, as in 2.50")]

Fields are columns, with types and bounds as pydantic has them. Where all or nothing may come in, `read_rows` raises at
the first wrong row; where a file with some wrong rows loses those alone, `sound_rows` returns the others.
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
from arena.io.tables import Record, read_records, told_rows

_SIGNS = re.compile(r"[^a-z0-9]+")
_CUT = 80
"""Characters of a cell, or of a column's name, that an error shows."""
_LISTED = 20
"""Columns that an error lists."""
_DIGITS = "write it in digits"
_EXPECTED: Mapping[str, tuple[str, str]] = {
    "bool_parsing": ("yes or no", "write one of them"),
    "finite_number": ("a number", _DIGITS),
    "float_parsing": ("a number", _DIGITS),
    "float_type": ("a number", _DIGITS),
    "greater_than": ("a number above {gt}", "change it"),
    "greater_than_equal": ("a number of at least {ge}", "change it"),
    "int_parsing": ("a whole number", _DIGITS),
    "int_parsing_size": ("a number that is not so long", "shorten it"),
    "int_type": ("a whole number", _DIGITS),
    "less_than": ("a number below {lt}", "change it"),
    "less_than_equal": ("a number of at most {le}", "change it"),
    "literal_error": ("{expected}", "write it so"),
    "string_too_long": ("at most {max_length} characters", "shorten it"),
    "string_too_short": ("a text", "write it there"),
    "string_type": ("a text", "write it there"),
    "told": ("{expected}", "{mend}"),
}
"""What each of pydantic's errors expected and how to mend it; "told" is that of `cell`."""
_ANOTHER = ("another value", "change it")


class FileRow(BaseModel):
    """A row of a table. Columns that are no field are no matter, unless the model forbids extras."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)
    strips: ClassVar[bool] = True
    """Whether blanks around a cell are no part of it."""


@dataclass(frozen=True)
class Heading:
    """Which column a field is, and what an error says where there is none."""

    spellings: tuple[str, ...] = ()
    """In lower case and without signs, since neither matters; the first that there is counts.

    Empty: the field's name, exactly.
    """
    expected: str = "this column"
    mend: str = "rename or add it"
    as_written: bool = False
    """Whether blanks around a text, and an apostrophe before it, are part of it; null is no text then."""


def cell(
    expected: str, mend: str = "write it so", holds: Callable[[Any], object] = lambda _: True
) -> WrapValidator:
    """A rule for `Annotated`, with what an error says of a cell: `holds` is true of the read value."""

    def check(value: Any, read: Callable[[Any], Any]) -> Any:
        with suppress(ValueError):
            if holds(found := read(value)):
                return found
        raise PydanticCustomError("told", "{expected}", {"expected": expected, "mend": mend})

    return WrapValidator(check)


Name = Annotated[str, cell("a text", "write it there", str.strip)]
"""A cell that is not empty."""
T = TypeVar("T", bound=FileRow)


@dataclass(frozen=True)
class SoundRows(Generic[T]):
    """Rows that can be used, with their numbers, and what was said against the others."""

    rows: tuple[tuple[int, T], ...]
    problems: tuple[str, ...]


def read_rows(
    path: Path,
    kind: type[T],
    key: Sequence[str] = (),
    limits: FileLimits = PAGE,
    name: str | None = None,
) -> Iterator[tuple[int, T]]:
    """Yields the rows of a file with their numbers; `key`: fields of which no two rows have the same.

    `name` is the person's name for the file. Raises RowsError, maybe after some rows.
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
        if isinstance(row, _Wrong):
            raise row.error(record.row)
        if key:
            values = _values(row, key)
            if values in first:
                raise _twice(reader, key, values, first[values], record.row)
            first[values] = record.row
        yield record.row, row


def sound_rows(
    records: Iterable[Record],
    kind: type[T],
    check: Callable[[T], str] = lambda _: "",
    key: Sequence[str] = (),
    twice: str = "it is there in a row before",
) -> SoundRows[T]:
    """The rows that can be used; `check` says what else is wrong with one, `twice` is said of a second of one `key`.

    Raises RowsError for a column that is missing, and for what cannot be read at all.
    """
    reader = _Reader(kind)
    wrong: dict[str, list[tuple[int, str]]] = {}
    rows: list[tuple[int, T]] = []
    seen: set[tuple[object, ...]] = set()
    for record in records:
        row = reader.row(record)
        if isinstance(row, _Wrong):
            wrong.setdefault(row.told(), []).append((record.row, row.found))
            continue
        values = _values(row, key)
        problem = check(row) or (twice if key and values in seen else "")
        if problem:
            wrong.setdefault(problem, []).append((record.row, ""))
            continue
        seen.add(values)
        rows.append((record.row, row))
    return SoundRows(tuple(rows), tuple(_told(problem, those) for problem, those in wrong.items()))


def _told(problem: str, wrong: Sequence[tuple[int, str]]) -> str:
    """What is said against the rows of one problem, each with its cell; the first of the cells is shown."""
    first = wrong[0][1]
    others = " and others" if any(found != first for _, found in wrong) else ""
    shown = f", found {first}{others}" if first else ""
    return told_rows(problem + shown, [number for number, _ in wrong])


def column_named(columns: Iterable[str], wanted: Sequence[str]) -> str | None:
    """The first of the wanted columns that there is, in any spelling of case and signs. Raises RowsError for two."""
    spelled: dict[str, list[str]] = {}
    for column in columns:
        spelled.setdefault(without_signs(column), []).append(column)
    named = next((spelled[name] for name in wanted if name in spelled), [])
    if len(named) > 1:
        raise RowsError(
            f"expected one such column, found {' and '.join(_shown(name) for name in named[:_LISTED])}; delete one",
            column=named[0],
        )
    return named[0] if named else None


def without_signs(text: str) -> str:
    """A text without case, signs and blanks; of another script nothing is left."""
    return _SIGNS.sub("", text.lower())


class _Wrong(NamedTuple):
    """What is wrong with a row."""

    problem: str
    column: str | None = None
    found: str = ""
    """The cell; empty in a sentence of the model's own."""
    mend: str = ""

    def error(self, row: int) -> RowsError:
        problem = f"{self.problem}, found {self.found}; {self.mend}" if self.found else self.problem
        return RowsError(problem, row=row, column=self.column)

    def told(self) -> str:
        """The problem without the cell, so that the same fault in other rows reads the same."""
        return f"{self.column}: {self.problem}" if self.found else self.problem


class _Place(NamedTuple):
    """A field of a row model, as its cells are read."""

    field: str
    column: Heading
    is_text: bool
    is_required: bool


class _Reader(Generic[T]):
    """Records to rows of one kind."""

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
        """The last record's columns by field."""

    def row(self, record: Record) -> "T | _Wrong":
        """The row, or what is wrong with it. Raises RowsError for columns that do not fit."""
        header = list(record.values)
        if header != self._header or not self.columns:
            with row_errors(row=record.row):
                self.columns = self._found(header)
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
        """A cell as text; a list or an object as it is."""
        if isinstance(value, list | dict):
            return value
        if place.column.as_written:
            return None if value is None else str(value)
        text = "" if value is None else str(value)
        return plain_cell(text.strip() if self._kind.strips else text)

    def _found(self, header: Sequence[str]) -> dict[str, str]:
        columns: dict[str, str] = {}
        for place in self._places:
            spellings = place.column.spellings
            own = place.field if place.field in header else None
            column = column_named(header, spellings) if spellings else own
            if column is not None:
                columns[place.field] = column
            elif place.is_required:
                raise RowsError(
                    f"expected {place.column.expected}, found {_listed(header)}; {place.column.mend}",
                    column=None if spellings else place.field,
                )
        unknown = [column for column in header if column not in columns.values()]
        if self._only and unknown:
            known = ", ".join(repr(place.field) for place in self._places)
            raise RowsError(
                f"expected no columns but {known}; rename or delete it", column=unknown[0]
            )
        return columns

    def _wrong(self, error: ErrorDetails) -> _Wrong:
        place = error["loc"]
        context = error.get("ctx", {})
        column = self.columns.get(str(place[0])) if place else None
        if error["type"] in ("value_error", "assertion_error"):  # the model's own sentence
            return _Wrong(str(context["error"]), column)
        expected, mend = _EXPECTED.get(error["type"], _ANOTHER)
        value = error["input"]
        shown = "an empty cell" if value in ("", None) else _shown(str(value))
        expected = expected.format_map(context)
        return _Wrong(f"expected {expected}", column, shown, mend.format_map(context))


def _values(row: FileRow, key: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in key)


def _twice(
    reader: _Reader[Any], key: Sequence[str], values: Sequence[object], before: int, row: int
) -> RowsError:
    """A second row of one key; of several fields, each with its column's name."""
    if len(key) == 1:
        problem = f"{_shown(str(values[0]))} is in row {before} too; delete one of them"
        return RowsError(problem, row=row, column=reader.columns.get(key[0]))
    *others, last = (
        f"{reader.columns.get(name, name)} {_shown(str(value))}"
        for name, value in zip(key, values, strict=True)
    )
    return RowsError(
        f"{', '.join(others)} and {last} are in row {before} too; delete one of them", row=row
    )


def _shown(text: str) -> str:
    return repr(text[:_CUT])


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return (", ".join(_shown(column) for column in columns[:_LISTED]) or "none") + more
