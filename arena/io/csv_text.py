"""CSV writer, used for all tables: no spreadsheet runs a cell of it as a formula."""

import csv
import io
import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, TextIO

CELL_LIMIT = 32_767
"""Maximum characters in an Excel cell."""
_CUT = " [cut: the JSONL has it whole]"
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FORMULA = re.compile(r"'*(?:[\s\ufeff\u200b]*[=+\-@＝＋－＠]|[\t\n\r])")
"""What a spreadsheet runs, also behind apostrophes: these get one more, so that `plain_cell` gives the text back."""
_NEGATIVE_NUMBER = re.compile(r"-(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)?")
"""A negative number, or a dash alone: a spreadsheet runs neither."""


def safe_cell(text: str) -> str:
    """Returns a text safe for a spreadsheet: formulas get an apostrophe, and a text that is too long is cut and
    marked.
    """
    clean = _UNPRINTABLE.sub("", text)
    safe = f"'{clean}" if _FORMULA.match(clean) and not _NEGATIVE_NUMBER.fullmatch(clean) else clean
    return safe if len(safe) <= CELL_LIMIT else safe[: CELL_LIMIT - len(_CUT)] + _CUT


def plain_cell(text: str) -> str:
    """Removes the apostrophe that `safe_cell` added; any other text stays as it is."""
    return text[1:] if text.startswith("'") and safe_cell(text[1:]) == text else text


def write_csv(
    file: TextIO, rows: Iterable[Iterable[object]], exact: bool = False, **options: Any
) -> None:
    """Writes rows of cells, each text made safe by `safe_cell`. With `exact`, texts stay as they are, for programs.

    A text with a line break of any kind is quoted. `options` are other options of `csv.writer`.
    """
    safe_rows = rows if exact else map(_safe_row, rows)
    end = options.pop("lineterminator", "\n")

    def write_line(line: str) -> None:
        file.write(line.removesuffix("\r\n") + end)

    # The writer quotes texts with a character of its line terminator. It is given \r\n so that texts with either are
    # quoted, and `write_line` puts `end` in its place.
    lines: Any = SimpleNamespace(write=write_line)
    csv.writer(lines, lineterminator="\r\n", **options).writerows(safe_rows)


def _safe_row(row: Iterable[object]) -> list[object]:
    return [safe_cell(cell) if isinstance(cell, str) else cell for cell in row]


def csv_text(rows: Iterable[Iterable[object]], **options: Any) -> str:
    """Returns rows as CSV text; `options` as in `write_csv`."""
    out = io.StringIO(newline="")
    write_csv(out, rows, **options)
    return out.getvalue()
