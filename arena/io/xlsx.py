"""XLSX reader: the rows of the workbook on stdin as text; only `bounded_reader.py` runs this file.

An `order` has the limits (those of `rows` and `values` may be None), and the columns to `skip` or digest (`digested`).
"""

import datetime
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import IO, Any, NamedTuple
from xml.parsers import expat

import openpyxl
from openpyxl.cell.text import Text
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils import get_column_letter
from openpyxl.worksheet._reader import FORMULA_TAG, VALUE_TAG, WorkSheetParser
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

CELL_LIMIT = 32_767
"""Most characters in a cell of Excel; writers silently cut longer text there."""
SMALL_PART = 1_000_000
"""Bytes up to which a part may unpack at any ratio; real sheets of model outputs shrink 4 to 12 times."""

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""A character that XML cannot hold, as a workbook writes it: "_x0007_"."""
_REFERENCE = re.compile(r"[A-Z]\$?[0-9]|[A-Za-z_.][0-9]*\(")
"""The name of a cell, as in "B2" or "$B$2", or the call of a function, as in "SUM(" or "LOG10("."""
_ROW_TAG = f"{SHEET_MAIN_NS} row"
_CONTENT_TAGS = frozenset(f"{SHEET_MAIN_NS} {name}" for name in ("v", "is", "f"))
"""Elements of a cell with content."""
_STRING_TAG = f"{{{SHEET_MAIN_NS}}}si"


class SpreadsheetError(ValueError):
    """A workbook is refused; `message` has the fields of `strict_json.RowsError`."""

    def __init__(self, problem: str, row: int | None = None, column: str | None = None):
        super().__init__(problem)
        self.message = {"problem": problem, "row": row, "column": column}


class Workbook(ExcelReader):
    """openpyxl's reader with exact shared strings, where openpyxl drops every "x005F_", also one that a person typed.

    It does not read themes and names, and does not scan sheets for their size.
    """

    def read(self) -> None:
        """Reads the list of sheets and the formats of dates; shared strings need `read_strings`."""
        self.read_manifest()
        self.read_workbook()
        apply_stylesheet(self.archive, self.wb)
        self._part_of = {
            sheet.name: rel.target
            for sheet, rel in self.parser.find_sheets()
            if rel.target in self.valid_files and "chartsheet" not in rel.Type
        }

    def read_strings(self) -> None:
        """Reads the texts that cells share."""
        part = self.package.find(SHARED_STRINGS)
        if part is None:
            return
        with self.archive.open(part.PartName[1:]) as source:
            for _, node in iterparse(source):
                if node.tag == _STRING_TAG:
                    text: Any = Text.from_tree(node)
                    self.shared_strings.append(text.content)
                    node.clear()

    def refuse_more(self, order: dict[str, Any]) -> None:
        """Raises SpreadsheetError for sheets that certainly hold too much, after a count without checks."""
        for part in self._part_of.values():
            with self.archive.open(part) as source:
                _refuse_more(source, order)

    def sheets(self) -> dict[str, Callable[[], "Worksheet"]]:
        """Returns functions that open the sheets, by name."""
        return {name: partial(self._open_sheet, part) for name, part in self._part_of.items()}

    def _open_sheet(self, part: str) -> "Worksheet":
        book: Any = self.wb
        return Worksheet(
            self.archive.open(part),
            self.shared_strings,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )


class Worksheet(WorkSheetParser):
    """openpyxl's parser of one sheet, which also tells computed formulas from text that merely begins with "="."""

    def parse_formula(self, element: Any) -> str | None:
        """Returns text that a writer stored as a formula by mistake; None for a real formula.

        pandas with xlsxwriter stores an answer "= a + b" as a formula with the value 0 (vila_8b_MMT-Bench_VAL.xlsx has
        four). A formula counts as text if it has no computed value, names no cell and calls no function.
        """
        formula = element.find(FORMULA_TAG)
        has_type = element.get("t") is not None
        has_value = element.findtext(VALUE_TAG) not in (None, "", "0")
        if has_type or has_value or formula.attrib or not formula.text:
            return None
        return None if _REFERENCE.search(formula.text) else f"={formula.text}"


class FilledRow(NamedTuple):
    """A row with content: its number, from 1, and its cells by column number, as openpyxl's parser gives them."""

    number: int
    cells: dict[int, dict[str, Any]]


def _refuse_more(sheet: IO[bytes], order: dict[str, Any]) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    most_rows = math.inf if order["rows"] is None else order["rows"] + 1  # with the header
    most_values = math.inf if order["values"] is None else order["values"]
    omitted_columns = len(order["skip"]) + len(order["digested"])
    rows = 0
    values = 0
    is_new_row = False

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal rows, values, is_new_row
        if name == _ROW_TAG:
            is_new_row = True
        elif name in _CONTENT_TAGS:
            if is_new_row:
                if rows == 1:
                    values = 0  # those of the header don't count
                rows += 1
                is_new_row = False
            values += 1
        if rows > most_rows:
            problem = f"The file has over {order['rows']:,} records. Split it."
            raise SpreadsheetError(problem, row=rows)
        # Values in omitted columns don't count, but this count can't tell them apart.
        if values > most_values + rows * omitted_columns:
            problem = (
                f"The file has over {order['values']:,} values. Leave out columns or split it."
            )
            raise SpreadsheetError(problem, row=rows)

    parser.StartElementHandler = begin
    with suppress(expat.ExpatError):  # the reader raises its own error for it
        parser.ParseFile(sheet)


def check_archive(order: dict[str, Any]) -> None:
    """Raises SpreadsheetError for a zip that is not a workbook or would unpack to too much."""
    if not zipfile.is_zipfile(sys.stdin.buffer):
        raise SpreadsheetError(
            "This isn't an .xlsx workbook (is it an old .xls, or locked with a password?). "
            "Save it as .xlsx without a password, or as .csv."
        )
    with zipfile.ZipFile(sys.stdin.buffer) as archive:
        parts = archive.infolist()
    if any(part.flag_bits & 1 for part in parts):
        raise SpreadsheetError("The workbook has a password. Save it without one.")
    if len(parts) > order["members"]:
        raise SpreadsheetError(
            f"The workbook has over {order['members']} parts. Keep only one sheet."
        )
    unpacked = sum(part.file_size for part in parts)
    has_swollen_part = any(
        part.file_size > max(SMALL_PART, order["ratio"] * part.compress_size) for part in parts
    )
    if has_swollen_part or unpacked > order["unpacked"]:
        raise SpreadsheetError(
            f"The file unpacks to {unpacked:,} bytes, which is too much. Save it as .csv or .jsonl."
        )


def filled_rows(sheet: Worksheet) -> Iterator[FilledRow]:
    """Yields the rows with content. Raises SpreadsheetError."""
    for number, cells in sheet.parse():
        columns = [cell["column"] for cell in cells]
        if columns != sorted(set(columns)):
            raise SpreadsheetError(
                "The cells of this row aren't in order. Save the workbook again.", row=number
            )
        filled = {}
        for cell in cells:
            is_formula = cell["data_type"] == "f"
            if is_formula or cell["value"] not in (None, ""):
                filled[cell["column"]] = cell
        if filled:
            yield FilledRow(number, filled)


def data_sheet(workbook: Workbook) -> Iterator[FilledRow]:
    """Returns the filled rows of the one sheet with content. Raises SpreadsheetError."""
    sheets = workbook.sheets()
    filled_sheets = [name for name, open_sheet in sheets.items() if _has_content(open_sheet())]
    if len(filled_sheets) != 1:
        names = ", ".join(map(repr, filled_sheets)) or "none"
        raise SpreadsheetError(
            f"Expected one sheet with data, found {names}. Delete the other sheets."
        )
    open_data_sheet = sheets[filled_sheets[0]]
    return filled_rows(open_data_sheet())


def _has_content(sheet: Worksheet) -> bool:
    return next(filled_rows(sheet), None) is not None


def table(workbook: Workbook, order: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows as text, each as wide as the header. Raises SpreadsheetError.

    Skipped columns are empty, and digested ones have a digest of each cell.
    """
    skip = set(order["skip"])
    digested = set(order["digested"])
    header: list[str] = []
    for expected_number, (number, cells) in enumerate(data_sheet(workbook), start=1):
        if number != expected_number:
            problem = f"Rows are empty above row {number}. Delete them."
            raise SpreadsheetError(problem, row=expected_number)
        last_column = max(cells)
        width = len(header) or last_column
        if last_column > width:
            advice = "" if width > 1 else "If row 1 is a title, delete it. "
            problem = f"The header has {width} cells. {advice}Clear this cell or name its column."
            raise SpreadsheetError(problem, number, get_column_letter(last_column))
        texts = [""] * width
        for column, cell in cells.items():
            if not header:
                texts[column - 1] = cell_text(cell, number, get_column_letter(column))
                continue
            name = header[column - 1]
            if name in digested:
                texts[column - 1] = order["digest"](cell["value"])
            elif name not in skip:
                texts[column - 1] = cell_text(cell, number, name)
        header = header or texts
        yield number, texts


def cell_text(cell: dict[str, Any], row: int, column: str) -> str:
    """Returns a cell's stored value as text. Raises SpreadsheetError."""
    value = cell["value"]
    kind = cell["data_type"]
    if value is None:
        raise SpreadsheetError(
            "Expected a value, found a formula. Copy the column and paste it as values.",
            row,
            column,
        )
    if kind == "e":
        raise SpreadsheetError(
            f"Expected a value, found the error {value}. Correct or clear the cell.", row, column
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise SpreadsheetError("Expected a finite number. Correct or clear the cell.", row, column)
    text = _value_text(value)
    # some writers count characters, others units of UTF-16
    utf_16_units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    if CELL_LIMIT in (len(text), utf_16_units):
        problem = f"The text was cut at Excel's limit of {CELL_LIMIT:,} characters"
        raise SpreadsheetError(f"{problem}. Save it as .csv or .jsonl.", row, column)
    return text


def _value_text(value: Any) -> str:
    """Returns a text without its escapes, and any other value as text.

    A whole number has no point, another number is as short as possible, and a date is in ISO 8601.
    """
    if isinstance(value, str):
        return _ESCAPE.sub(lambda code: chr(int(code[1], 16)), value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        is_exact_integer = value.is_integer() and abs(value) < 2**53
        return str(int(value)) if is_exact_integer else repr(value).removesuffix(".0")
    is_midnight = isinstance(value, datetime.datetime) and value.time() == datetime.time()
    if is_midnight:
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def rows(order: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows of the workbook on stdin, the header first. Raises SpreadsheetError."""
    if not openpyxl.DEFUSEDXML:
        raise SpreadsheetError(
            "This server can't read workbooks safely, because defusedxml isn't installed. Save it as .csv."
        )
    check_archive(order)
    workbook = Workbook(sys.stdin.buffer, read_only=True, keep_links=False)
    workbook.read()
    workbook.refuse_more(order)
    workbook.read_strings()
    yield from table(workbook, order)
