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
_CELL_ERROR = "cell"


class _Expectation(NamedTuple):
    expected: str
    mend: str
    """How to fix it."""


_EXPECTATIONS: Mapping[str, _Expectation] = {
    "bool_parsing": _Expectation("yes or no", "Write one of them."),
    "finite_number": _Expectation("a number", _DIGITS),
    "float_parsing": _Expectation("a number", _DIGITS),
    "float_type": _Expectation("a number", _DIGITS),
    "greater_than": _Expectation("a number above {gt}", "Change it."),
    "greater_than_equal": _Expectation("a number of at least {ge}", "Change it."),
    "int_parsing": _Expectation("a whole number", _DIGITS),
    "int_parsing_size": _Expectation("a shorter number", "Shorten it."),
    "int_type": _Expectation("a whole number", _DIGITS),
    "less_than": _Expectation("a number below {lt}", "Change it."),
    "less_than_equal": _Expectation("a number of at most {le}", "Change it."),
    "literal_error": _Expectation("{expected}", "Change it."),
    "string_too_long": _Expectation("at most {max_length} characters", "Shorten it."),
    "string_too_short": _Expectation("a text", "Write one."),
    "string_type": _Expectation("a text", "Write one."),
    _CELL_ERROR: _Expectation("{expected}", "{mend}"),
}
"""For each type of pydantic's errors, what was expected and how to fix it; `_CELL_ERROR` is raised by `cell`."""
_OTHER_EXPECTATION = _Expectation("another value", "Change it.")


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
    """Whether a cell keeps blanks around it and an apostrophe before it; null isn't read as an empty text then."""


def cell(
    expected: str, mend: str = "Change it.", holds: Callable[[Any], object] = lambda _: True
) -> WrapValidator:
    """Returns a validator for `Annotated`: `holds` must be true of the parsed value.

    The error says what was expected, and how to fix it (`mend`).
    """

    def check(value: Any, parse: Callable[[Any], Any]) -> Any:
        with suppress(ValueError):
            parsed = parse(value)
            if holds(parsed):
                return parsed
        raise PydanticCustomError(_CELL_ERROR, "{expected}", {"expected": expected, "mend": mend})

    return WrapValidator(check)


Name = Annotated[str, cell("a text", "Write one.", str.strip)]
"""A cell that must not be empty."""
T = TypeVar("T", bound=FileRow)


class NumberedRow(NamedTuple, Generic[T]):
    """A row and its number in the file, from 1."""

    number: int
    row: T


@dataclass(frozen=True)
class SoundRows(Generic[T]):
    """Valid rows, and a message for each problem of the others."""

    rows: tuple[NumberedRow[T], ...]
    problems: tuple[str, ...]


def read_rows(
    path: Path,
    kind: type[T],
    key: Sequence[str] = (),
    limits: FileLimits = PAGE,
    name: str | None = None,
) -> Iterator[NumberedRow[T]]:
    """Yields the rows of a file with their numbers; no two rows may have equal values in the fields of `key`.

    `name` is the uploader's name for the file. Raises RowsError, maybe after some rows.
    """
    with row_errors(name or path.name):
        yield from rows_of(read_records(path, limits, name=name), kind, key)


def rows_of(
    records: Iterable[Record], kind: type[T], key: Sequence[str] = ()
) -> Iterator[NumberedRow[T]]:
    """Yields the rows of records with their numbers, as `read_rows` does."""
    reader = _Reader(kind)
    first_rows: dict[tuple[object, ...], int] = {}
    for record in records:
        row = reader.row(record)
        if isinstance(row, _WrongRow):
            raise row.error(record.row)
        if key:
            values = _key_values(row, key)
            if values in first_rows:
                raise _repeated_key(reader, key, values, first_rows[values], record.row)
            first_rows[values] = record.row
        yield NumberedRow(record.row, row)


def sound_rows(
    records: Iterable[Record],
    kind: type[T],
    check: Callable[[T], str] = lambda _: "",
    key: Sequence[str] = (),
    repeat_problem: str = "it's in an earlier row too",
) -> SoundRows[T]:
    """Returns the valid rows.

    `check` returns a further problem of a row, or "". `repeat_problem` is the problem of a row that repeats a `key`.
    Raises RowsError for a missing column, and for a file that cannot be read.
    """
    reader = _Reader(kind)
    wrong_cells: dict[str, list[_WrongCell]] = {}
    rows: list[NumberedRow[T]] = []
    keys: set[tuple[object, ...]] = set()
    for record in records:
        row = reader.row(record)
        if isinstance(row, _WrongRow):
            wrong_cell = _WrongCell(record.row, row.quoted_cell)
            wrong_cells.setdefault(row.text(), []).append(wrong_cell)
            continue
        values = _key_values(row, key)
        problem = check(row)
        if not problem and key and values in keys:
            problem = repeat_problem
        if problem:
            wrong_cells.setdefault(problem, []).append(_WrongCell(record.row, quoted=""))
            continue
        keys.add(values)
        rows.append(NumberedRow(record.row, row))
    messages = [_left_out_message(problem, cells) for problem, cells in wrong_cells.items()]
    return SoundRows(tuple(rows), tuple(messages))


class _WrongCell(NamedTuple):
    """The number of a wrong row, and its wrong cell as quoted in a message; "" if the problem is not one cell's."""

    row: int
    quoted: str


def _left_out_message(problem: str, cells: Sequence[_WrongCell]) -> str:
    """Returns the message for the rows of one problem; it quotes the first wrong cell."""
    first = cells[0].quoted
    if first:
        are_different = any(cell.quoted != first for cell in cells)
        problem += f", found {first} and others" if are_different else f", found {first}"
    return left_out_rows(problem, [cell.row for cell in cells])


def column_named(columns: Iterable[str], wanted: Sequence[str]) -> str | None:
    """Returns the first wanted column that exists, ignoring case and signs. Raises RowsError if two columns match."""
    spelled: dict[str, list[str]] = {}
    for column in columns:
        spelled.setdefault(without_signs(column), []).append(column)
    matches = next((spelled[name] for name in wanted if name in spelled), [])
    if len(matches) > 1:
        names = " and ".join(_quoted(name) for name in matches[:_LISTED])
        raise RowsError(
            f"Expected one such column, found {names}. Delete one.",
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
    """How to fix it."""

    def error(self, row: int) -> RowsError:
        """Returns the error of the row with this number."""
        problem = self.problem
        if self.quoted_cell:
            sentence = problem[0].upper() + problem[1:]
            problem = f"{sentence}, found {self.quoted_cell}. {self.mend}"
        return RowsError(problem, row=row, column=self.column)

    def text(self) -> str:
        """Returns the problem without the cell, so that rows with the same problem have the same text."""
        return f"{self.column}: {self.problem}" if self.quoted_cell else self.problem


class _Field(NamedTuple):
    """A field of a row model, and how its cells are read."""

    name: str
    heading: Heading
    is_text: bool
    is_required: bool


class _Reader(Generic[T]):
    """Reads records as rows of one model."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._forbids_others = kind.model_config.get("extra") == "forbid"
        self._fields = []
        for name, field in kind.model_fields.items():
            headings = [rule for rule in field.metadata if isinstance(rule, Heading)]
            heading = headings[0] if headings else Heading()
            is_text = field.annotation is str
            self._fields.append(_Field(name, heading, is_text, field.is_required()))
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
        for field in self._fields:
            if field.name in self.columns:
                value = self._cell(record.values[self.columns[field.name]], field)
                # An empty cell is an empty text; an optional field of another type takes its default.
                is_empty = value is None or (value == "" and not field.is_text)
                if field.is_required or not is_empty:
                    cells[field.name] = value
        try:
            return self._kind.model_validate(cells)
        except ValidationError as error:
            first_error = error.errors(include_url=False)[0]
            return self._wrong_row(first_error)

    def _cell(self, value: JSON, field: _Field) -> JSON:
        """Returns a cell as text; a list or an object as it is."""
        if isinstance(value, list | dict):
            return value
        if field.heading.as_written:
            return None if value is None else str(value)
        text = "" if value is None else str(value)
        return plain_cell(text.strip() if self._kind.strips else text)

    def _columns_of(self, header: Sequence[str]) -> dict[str, str]:
        """Returns the columns of a table by field. Raises RowsError for missing or unknown columns."""
        columns: dict[str, str] = {}
        for field in self._fields:
            heading = field.heading
            if heading.spellings:
                column = column_named(header, heading.spellings)
            else:
                column = field.name if field.name in header else None
            if column is not None:
                columns[field.name] = column
            elif field.is_required:
                raise RowsError(
                    f"Expected {heading.expected}, found {_listed(header)}. {heading.mend}",
                    column=None if heading.spellings else field.name,
                )
        unknown = [column for column in header if column not in columns.values()]
        if self._forbids_others and unknown:
            known = ", ".join(repr(field.name) for field in self._fields)
            raise RowsError(
                f"Expected only the columns {known}. Rename or delete this one.", column=unknown[0]
            )
        return columns

    def _wrong_row(self, error: ErrorDetails) -> _WrongRow:
        location = error["loc"]
        context = error.get("ctx", {})
        column = self.columns.get(str(location[0])) if location else None
        if error["type"] in ("value_error", "assertion_error"):  # the model's own sentence
            return _WrongRow(str(context["error"]), column)
        expectation = _EXPECTATIONS.get(error["type"], _OTHER_EXPECTATION)
        value = error["input"]
        is_empty = value is None or value == ""
        return _WrongRow(
            problem=f"expected {expectation.expected.format_map(context)}",
            column=column,
            quoted_cell="an empty cell" if is_empty else _quoted(str(value)),
            mend=expectation.mend.format_map(context),
        )


def _key_values(row: FileRow, key: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in key)


def _repeated_key(
    reader: _Reader[Any], key: Sequence[str], values: Sequence[object], first_row: int, row: int
) -> RowsError:
    """Returns the error for a row that repeats the first row's key.

    For a key of several fields it names each field's column.
    """
    if len(key) == 1:
        problem = f"{_quoted(str(values[0]))} is in row {first_row} too. Delete one of them."
        return RowsError(problem, row=row, column=reader.columns.get(key[0]))
    *others, last = (
        f"{reader.columns.get(name, name)} {_quoted(str(value))}"
        for name, value in zip(key, values, strict=True)
    )
    return RowsError(
        f"{', '.join(others)} and {last} are in row {first_row} too. Delete one of them.", row=row
    )


def _quoted(text: str) -> str:
    return repr(text[:_CUT])


def _listed(columns: Sequence[str]) -> str:
    if not columns:
        return "none"
    names = ", ".join(_quoted(column) for column in columns[:_LISTED])
    if len(columns) > _LISTED:
        names += f" and {len(columns) - _LISTED} more"
    return names
