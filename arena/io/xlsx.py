"""XLSX reader: rows of the workbook on stdin, each `[cells]`; only `bounded_reader.py` runs this file."""

import datetime
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any
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
_REFERS = re.compile(r"[A-Z]\$?[0-9]|[A-Za-z_.][0-9]*\(")
_ROW_TAG = f"{SHEET_MAIN_NS} row"
_CONTENT = frozenset(f"{SHEET_MAIN_NS} {name}" for name in ("v", "is", "f"))
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
        self._parts = {
            sheet.name: rel.target
            for sheet, rel in self.parser.find_sheets()
            if rel.target in self.valid_files and "chartsheet" not in rel.Type
        }

    def read_strings(self) -> None:
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
        for part in self._parts.values():
            with self.archive.open(part) as source:
                _refuse_more(source, order)

    def sheets(self) -> dict[str, Callable[[], "Worksheet"]]:
        """Returns functions that open the sheets, by name."""
        book: Any = self.wb
        names = ("epoch", "_date_formats", "_timedelta_formats")
        formats = {name.removeprefix("_"): getattr(book, name) for name in names}
        return {
            name: lambda part=part: Worksheet(
                self.archive.open(part), self.shared_strings, **formats
            )
            for name, part in self._parts.items()
        }


class Worksheet(WorkSheetParser):
    """openpyxl's parser of one sheet, which also tells computed formulas from text that merely begins with "="."""

    def parse_formula(self, element: Any) -> str | None:
        """Returns text that a writer stored as a formula by mistake; None for a real formula.

        pandas with xlsxwriter stores an answer "= a + b" as a formula with the value 0 (vila_8b_MMT-Bench_VAL.xlsx has
        four). A formula counts as text if it has no computed value, names no cell and calls no function.
        """
        formula = element.find(FORMULA_TAG)
        computed = element.get("t") is not None or element.findtext(VALUE_TAG) not in (
            None,
            "",
            "0",
        )
        if computed or formula.attrib or not formula.text or _REFERS.search(formula.text):
            return None
        return f"={formula.text}"


def _refuse_more(sheet: IO[bytes], order: dict[str, Any]) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    most = math.inf if order["rows"] is None else order["rows"] + 1
    room = math.inf if order["values"] is None else order["values"]
    rows = 0
    values = 0
    is_new = False

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal rows, values, is_new
        if name in _CONTENT:
            if is_new and rows == 1:
                values = 0  # the header has none
            values += 1
            rows += is_new
            is_new = False
        elif name == _ROW_TAG:
            is_new = True
        if rows > most:
            problem = f"The file has over {order['rows']:,} records. Split it."
            raise SpreadsheetError(problem, row=rows)
        if values > room + rows * (len(order["skip"]) + len(order["digested"])):
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
    swollen = any(
        part.file_size > max(SMALL_PART, order["ratio"] * part.compress_size) for part in parts
    )
    if swollen or unpacked > order["unpacked"]:
        raise SpreadsheetError(
            f"The file unpacks to {unpacked:,} bytes, which is too much. Save it as .csv or .jsonl."
        )


def filled_rows(sheet: Worksheet) -> Iterator[tuple[int, dict[int, dict[str, Any]]]]:
    """Yields the rows with content, with their cells by column number. Raises SpreadsheetError."""
    for row, cells in sheet.parse():
        columns = [cell["column"] for cell in cells]
        if columns != sorted(set(columns)):
            raise SpreadsheetError(
                "The cells of this row aren't in order. Save the workbook again.", row=row
            )
        filled = {
            c["column"]: c for c in cells if c["value"] not in (None, "") or c["data_type"] == "f"
        }
        if filled:
            yield row, filled


def data_sheet(workbook: Workbook) -> Iterator[tuple[int, dict[int, dict[str, Any]]]]:
    """Returns the filled rows of the one sheet with content. Raises SpreadsheetError."""
    sheets = workbook.sheets()
    filled = [name for name, opened in sheets.items() if next(filled_rows(opened()), None)]
    if len(filled) != 1:
        names = ", ".join(map(repr, filled)) or "none"
        raise SpreadsheetError(
            f"Expected one sheet with data, found {names}. Delete the other sheets."
        )
    return filled_rows(sheets[filled[0]]())


def table(workbook: Workbook, order: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows as text, each as wide as the header, with skipped columns empty. Raises SpreadsheetError."""
    skip = set(order["skip"])
    digested = set(order["digested"])
    header: list[str] = []
    for expected, (row, cells) in enumerate(data_sheet(workbook), start=1):
        if row != expected:
            raise SpreadsheetError(f"Rows are empty above row {row}. Delete them.", row=expected)
        width = len(header) or max(cells)
        if max(cells) > width:
            column = get_column_letter(max(cells))
            title = "" if width > 1 else "If row 1 is a title, delete it. "
            problem = f"The header has {width} cells. {title}Clear this cell or name its column."
            raise SpreadsheetError(problem, row, column)
        texts = [""] * width
        for column, cell in cells.items():
            name = header[column - 1] if header else get_column_letter(column)
            if header and name in digested:
                texts[column - 1] = order["digest"](cell["value"])
            elif not header or name not in skip:
                texts[column - 1] = cell_text(cell, row, name)
        header = header or texts
        yield row, texts


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
    text = (
        _ESCAPE.sub(lambda code: chr(int(code[1], 16)), value)
        if isinstance(value, str)
        else _written(value)
    )
    if CELL_LIMIT in (len(text), len(text.encode("utf-16-le", "surrogatepass")) // 2):
        cut = f"The text was cut at Excel's limit of {CELL_LIMIT:,} characters"
        raise SpreadsheetError(f"{cut}. Save it as .csv or .jsonl.", row, column)
    return text


def _written(value: Any) -> str:
    """Returns the text of a value: a whole number without a point, another number shortest, a date as ISO 8601."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


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
