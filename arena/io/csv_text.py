"""CSV files: the one writer of tables, so that no spreadsheet runs what a stranger wrote."""

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
_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+\-@＝＋－＠]|[\t\n\r]")
_NUMBER = re.compile(r"-(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)?")


def safe_cell(text: str) -> str:
    """The text for a spreadsheet: what it would run gets an apostrophe, and what is too long is cut with a mark."""
    clean = _UNPRINTABLE.sub("", text)
    safe = f"'{clean}" if _FORMULA.match(clean) and not _NUMBER.fullmatch(clean) else clean
    return safe if len(safe) <= CELL_LIMIT else safe[: CELL_LIMIT - len(_CUT)] + _CUT


def plain_cell(text: str) -> str:
    """The text that `safe_cell` put an apostrophe before; any other as it is."""
    return text[1:] if text.startswith("'") and safe_cell(text[1:]) == text else text


def write_csv(
    file: TextIO, rows: Iterable[Iterable[object]], exact: bool = False, **how: Any
) -> None:
    """Writes rows of cells, their texts made safe; `exact`: as they are, for programs that read them back.

    A text with a line break of any kind is quoted. `how` are other options of `csv.writer`.
    """
    cells = (
        rows
        if exact
        else ([safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    )
    end = how.pop("lineterminator", "\n")
    # The writer quotes any character of its terminator.
    lines: Any = SimpleNamespace(write=lambda line: file.write(line.removesuffix("\r\n") + end))
    csv.writer(lines, lineterminator="\r\n", **how).writerows(cells)


def csv_text(rows: Iterable[Iterable[object]], **how: Any) -> str:
    """Rows as CSV text; `how` as in `write_csv`."""
    out = io.StringIO(newline="")
    write_csv(out, rows, **how)
    return out.getvalue()
