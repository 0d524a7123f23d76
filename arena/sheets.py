"""Sheets: tables with typed columns, rendered as HTML, text, CSV, Markdown, LaTeX and JSON."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from arena.interval_text import bracketed, dashed, runs_text, spanned
from arena.io.csv_text import csv_text
from arena.locale import ENGLISH, named, speaking, translated
from arena.markdown import visible_name
from arena.templates import macros

Kind = Literal["text", "count", "percent", "score", "difference", "rank", "p", "interval"]
"""percent: a share from 0 to 1; score: of 100, or of another scale; difference: of two scores, with its sign;
interval: two ends without a number between them."""
Place = Literal["main", "beside", "below", "folded"]
"""Place of a sheet in a report: before all others, in a narrow column beside them, below both, or folded away."""
_SPECS: Mapping[Kind, str] = {
    "count": ",.0f",
    "percent": ".{places}%",
    "score": "z.{places}f",
    "difference": "+z.{places}f",
    "rank": ".0f",
    "p": ".4f",
    "interval": "z.{places}f",
}
"""Python's formats of numbers; "z" writes a rounded -0.04 as 0.0."""
_MISSING = "–"
_INDENT = "  "
_GAP = "  "
_MOST_TEXT = 68
"""Most characters of a row's first cell in a terminal."""


@dataclass(frozen=True)
class Column:
    """A column of a sheet, from one column of its frame, or from three with an interval."""

    key: str
    """The frame's column; for an interval alone, that of its lower end."""
    head: str
    kind: Kind = "text"
    low: str = ""
    """The frame's column with the lower end of its 95% interval; "" without one."""
    high: str = ""
    """The frame's column with the upper end."""
    runs: str = ""
    """The frame's column with its standard deviation over runs; "" without one."""
    places: int = 1
    """Digits after the point."""
    bar: bool = False
    """Whether the page draws a bar for a score from 0 to 100 or a share. A share without interval is drawn relative to
    the largest; a score without interval has no bar."""
    dash: bool = False
    """Whether its interval is short, with a dash, and left out if both ends have the same text."""
    href: str = ""
    """The frame's column with the address of a link on a page; "" for none."""
    meaning: str = ""
    """Explanation, if the head does not suffice."""
    has_words: bool = False
    """Whether its texts are ours or a benchmark's, and no model's name: pages show them in their language."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The frame's columns with its numbers or texts, the link's address left out."""
        keys = [key for key in (self.low, self.high, self.runs) if key]
        if self.kind != "interval":
            keys.insert(0, self.key)
        return tuple(keys)

    @property
    def spec(self) -> str:
        """Python's format of its numbers."""
        return _SPECS[self.kind].format(places=self.places)


def interval(low: str, high: str, head: str = "95% interval", places: int = 1) -> Column:
    """Returns a column of the two ends alone."""
    return Column(low, head, "interval", low, high, places=places)


def estimate(key: str, head: str, kind: Kind = "score", places: int = 1) -> Column:
    """Returns a column of numbers with intervals, for cells of `estimate_cells`."""
    return Column(key, head, kind, f"{key}_low", f"{key}_high", places=places)


def estimate_cells(
    key: str, value: float | None, low: float | None, high: float | None
) -> dict[str, float | None]:
    """Returns a number and the ends of its interval by the columns of a frame; None if there is none."""
    return {key: value, f"{key}_low": low, f"{key}_high": high}


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table with its title and a note. The first column names the rows."""

    name: str
    """Name of its files."""
    title: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    note: str = ""
    place: Place = "main"
    level: str = ""
    """The frame's column with the depth of a row in a tree, from 0; "" if the rows are no tree."""
    unfolded: int = 9
    """Rows from this depth on are folded away at first."""
    bold: str = ""
    """The frame's column with whether a row is bold; "" if none is."""
    whole: bool = False
    """Whether CSV and JSON have all columns of the frame, not only those of `columns`."""
    scrolls: bool = False
    """Whether a phone scrolls it sideways instead of breaking its rows, for many columns."""

    @property
    def rows(self) -> Iterator[Mapping[str, Any]]:
        """The frame's rows, with None for missing values."""
        records: Any = self.frame.to_dict("records")
        for record in records:
            yield {key: None if _is_missing(value) else value for key, value in record.items()}


def frame_of(record: type[tuple], records: Iterable[tuple]) -> pd.DataFrame:
    """Returns named tuples as a frame with a column for each field; types of values are unchanged."""
    fields = record._fields  # pyright: ignore[reportAttributeAccessIssue]
    return pd.DataFrame(list(records), columns=list(fields), dtype=object)


def record_sheet(
    name: str, title: str, record: type[tuple], records: Iterable[tuple], **options: Any
) -> Sheet:
    """Returns named tuples as a plain sheet with a column for each field."""
    frame = frame_of(record, records)
    heads = [field.replace("_", " ") for field in frame.columns]
    return Sheet(name, title, frame, _plain_columns(frame, heads), **options)


def plain_sheet(
    name: str, title: str, heads: Iterable[str], rows: Iterable[Iterable[object]], **options: Any
) -> Sheet:
    """Returns a sheet with whole numbers as counts and other values as texts; `options` are other fields of it."""
    heads = list(heads)
    keys = [str(place) for place in range(len(heads))]
    frame = pd.DataFrame([list(row) for row in rows], columns=keys, dtype=object)
    return Sheet(name, title, frame, _plain_columns(frame, heads), **options)


def _plain_columns(frame: pd.DataFrame, heads: Iterable[str]) -> tuple[Column, ...]:
    columns = []
    for key, head in zip(frame.columns, heads, strict=True):
        values = list(frame[key].dropna())
        are_counts = values and all(type(value) is int for value in values)  # True is no count
        columns.append(Column(key, head, "count" if are_counts else "text"))
    return tuple(columns)


class Cell(NamedTuple):
    """Text of a cell, and of its interval, "" for none."""

    text: str
    beside: str = ""


class HtmlCell(NamedTuple):
    """A cell of a page's table."""

    column: Column
    text: str
    beside: str
    bar: str
    """CSS style of its bar; "" for none."""
    address: str
    """Address of its link; "" for none."""


class HtmlRow(NamedTuple):
    """A row of a page's table."""

    cells: Sequence[HtmlCell]
    depth: int
    has_rows_below: bool
    """Whether there are rows below it in the tree."""
    is_bold: bool


def as_html(sheet: Sheet, copies: bool = False) -> str:
    """Returns a table with its title and note as HTML; "" without rows.

    With `copies`, buttons below it copy it as LaTeX, Markdown and CSV, in English.
    """
    rows = list(sheet.rows)
    if not rows:
        return ""
    largest_share = _largest_share(sheet, rows)
    depths = [_depth(sheet, row) for row in rows]
    next_depths = [*depths[1:], 0]
    html_rows = [
        HtmlRow(
            cells=[_html_cell(column, row, largest_share) for column in sheet.columns],
            depth=depth,
            has_rows_below=next_depth > depth,
            is_bold=bool(sheet.bold and row[sheet.bold]),
        )
        for row, depth, next_depth in zip(rows, depths, next_depths, strict=True)
    ]
    copy_texts = {}
    if copies:
        with speaking(ENGLISH):
            copy_texts = {name: write(sheet) for name, write in _COPIES.items()}
    return macros("sheet.html").sheet(sheet, html_rows, copy_texts)


def as_text(sheet: Sheet) -> Iterator[str]:
    """Yields the lines of a table for a terminal, its title first, with intervals in brackets.

    Rows that are folded away are left out.
    """
    heads: list[str] = []
    are_left: list[bool] = []
    for column in sheet.columns:
        heads += _text_heads(column)
        are_left += _alignments(column)
    grid = [heads]
    for row in sheet.rows:
        depth = _depth(sheet, row)
        if depth >= sheet.unfolded:
            continue
        cells = [text for column in sheet.columns for text in _text_cells(column, row)]
        cells[0] = (_INDENT * depth + cells[0])[:_MOST_TEXT]
        grid.append(cells)
    widths = [max(map(len, texts)) for texts in zip(*grid, strict=True)]
    yield visible_name(sheet.title)
    for cells in grid:
        aligned = [
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(cells, widths, are_left, strict=True)
        ]
        yield _GAP.join(aligned).rstrip()
    if sheet.note:
        yield visible_name(sheet.note)


def as_csv(sheet: Sheet) -> str:
    """Returns the columns as CSV, numbers with all their digits."""
    keys = _keys(sheet)
    whole_keys: set[str] = set()
    for column in sheet.columns:
        if column.kind in ("count", "rank"):
            whole_keys |= set(column.keys)
    rows = ([_csv_cell(row[key], key in whole_keys) for key in keys] for row in sheet.rows)
    return csv_text([keys, *rows])


def as_markdown(sheet: Sheet) -> str:
    """Returns the title and the table in GitHub's Markdown."""
    heads = [markdown_text(column.head) for column in sheet.columns]
    rule = ["---" if column.kind == "text" else "---:" for column in sheet.columns]
    lines = [heads, rule]
    for row in sheet.rows:
        lines.append([markdown_text(cell) for cell in _joined_cells(sheet, row)])
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return f"**{markdown_text(sheet.title)}**\n\n{table}"


def as_latex(sheet: Sheet) -> str:
    """Returns a comment with the title and a `tabular` of the package booktabs."""
    alignments = "".join("l" if column.kind == "text" else "r" for column in sheet.columns)
    heads = [latex_text(column.head) for column in sheet.columns]
    lines = [f"% {' '.join(sheet.title.split())}", f"\\begin{{tabular}}{{{alignments}}}"]
    lines += ["\\toprule", _latex_row(heads), "\\midrule"]
    for row in sheet.rows:
        cells = [latex_text(cell) for cell in _joined_cells(sheet, row)]
        cells[0] = "\\quad " * _depth(sheet, row) + cells[0]
        lines.append(_latex_row(cells))
    lines += ["\\bottomrule", "\\end{tabular}", ""]
    return "\n".join(lines)


def as_json(sheet: Sheet) -> str:
    """Returns title, note, columns and rows as JSON, with null for missing values."""
    keys = _keys(sheet)
    columns = [
        {"key": column.key, "head": column.head, "kind": column.kind, "keys": column.keys}
        for column in sheet.columns
    ]
    rows = [{key: _json_value(row[key]) for key in keys} for row in sheet.rows]
    return json.dumps(
        {"title": sheet.title, "note": sheet.note, "columns": columns, "rows": rows},
        ensure_ascii=False,
    )


_COPIES = {"LaTeX": as_latex, "Markdown": as_markdown, "CSV": as_csv}


def _keys(sheet: Sheet) -> list[str]:
    """Returns the frame's columns for CSV and JSON, with the one of the depth."""
    if sheet.whole:
        return list(sheet.frame.columns)
    keys = [key for column in sheet.columns for key in column.keys]
    return [sheet.level, *keys] if sheet.level else keys


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or value is pd.NA


def cell_of(column: Column, row: Mapping[str, Any]) -> Cell:
    """Returns the cell of a row in a column."""
    ends = _ends(column, row) if column.low else ""
    if column.kind == "interval":
        return Cell(ends or _MISSING)
    text = _value_text(column, row) or _MISSING
    if column.kind != "text":
        text = text.replace("-", "−")
    return Cell(text, ends)


def _ends(column: Column, row: Mapping[str, Any]) -> str:
    """Returns the text of an interval; "" for none."""
    low = row[column.low]
    high = row[column.high]
    if not column.dash:
        return spanned(low, high, column.spec)
    is_known = low is not None and high is not None
    if is_known and f"{low:{column.spec}}" == f"{high:{column.spec}}":
        return ""
    return dashed(low, high, column.spec).replace("-", "−")


def _value_text(column: Column, row: Mapping[str, Any]) -> str:
    """Returns the text of a value with its spread over runs; "" for none."""
    value = row[column.key]
    if value is None:
        return ""
    if column.kind == "text":
        return str(value)
    text = f"{value:{column.spec}}"
    spread = row[column.runs] if column.runs else None
    return text if spread is None else f"{text} {runs_text(spread, column.spec)}"


def _joined_cells(sheet: Sheet, row: Mapping[str, Any]) -> Iterator[str]:
    """Yields a row's cells, each with its interval in parentheses."""
    for column in sheet.columns:
        cell = cell_of(column, row)
        yield f"{cell.text} ({cell.beside})" if cell.beside else cell.text


def _depth(sheet: Sheet, row: Mapping[str, Any]) -> int:
    return row[sheet.level] if sheet.level else 0


def _html_cell(column: Column, row: Mapping[str, Any], largest_share: float) -> HtmlCell:
    cell = cell_of(column, row)
    text = translated(cell.text) if column.has_words else named(cell.text)
    address = row[column.href] if column.href else None
    bar = _bar(column, row, largest_share)
    return HtmlCell(column, text, cell.beside, bar, address or "")


def _bar(column: Column, row: Mapping[str, Any], largest_share: float) -> str:
    """Returns the CSS style of a bar; "" for none."""
    value = row.get(column.key)
    if not column.bar or value is None:
        return ""
    if column.kind == "percent" and not column.low:
        return f"--share:{value / largest_share:.3f}" if largest_share else ""
    low = row[column.low] if column.low else None
    high = row[column.high] if column.high else None
    if low is None or high is None:
        return ""
    if column.kind == "percent":
        return f"--from:{low:.1%};--to:{high:.1%};--at:{value:.1%}"
    return f"--from:{max(low, 0):.1f}%;--to:{min(high, 100):.1f}%;--at:{value:.1f}%"


def _largest_share(sheet: Sheet, rows: Sequence[Mapping[str, Any]]) -> float:
    """Returns the largest share with a bar and without an interval; 0 if there is none."""
    shares = [column for column in sheet.columns if column.bar and column.kind == "percent"]
    keys = [column.key for column in shares if not column.low]
    return max((row[key] or 0.0 for row in rows for key in keys), default=0.0)


def _text_heads(column: Column) -> list[str]:
    """Returns the heads of a column's texts in a terminal: of its value, and of its interval if it has both."""
    head = visible_name(column.head)
    has_both = column.low and column.kind != "interval"
    return [head, ""] if has_both else [head]


def _alignments(column: Column) -> list[bool]:
    """Returns whether each of a column's texts is aligned left, as in `_text_heads`."""
    is_left = column.kind in ("text", "interval")
    has_both = column.low and column.kind != "interval"
    return [is_left, True] if has_both else [is_left]


def _text_cells(column: Column, row: Mapping[str, Any]) -> list[str]:
    """Returns a row's texts in a column, as in `_text_heads`."""
    ends = bracketed(row[column.low], row[column.high], column.spec) if column.low else ""
    if column.kind == "interval":
        return [ends]
    text = visible_name(" ".join(_value_text(column, row).splitlines()))
    return [text, ends] if column.low else [text]


def _csv_cell(value: Any, is_whole: bool) -> Any:
    if value is None:
        return ""
    if is_whole:
        return int(value)
    return repr(value) if isinstance(value, float) else value


def _json_value(value: Any) -> Any:
    """Returns a value for JSON, with None for infinity."""
    if hasattr(value, "item"):
        value = value.item()  # a number of NumPy
    if isinstance(value, float) and math.isinf(value):
        return None
    return value


_MARKDOWN = re.compile(r"([\\`*_~&\[\]<>|])")


def markdown_text(text: str) -> str:
    """Returns a text on one line of Markdown, with its special characters escaped."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


_LATEX = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    "[": "{[}",
    "*": "{*}",
    "–": "--",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "−": "$-$",
    "×": "$\\times$",
    "≤": "$\\leq$",
    "≥": "$\\geq$",
    "≈": "$\\approx$",
    "→": "$\\to$",
    "α": "$\\alpha$",
    "β": "$\\beta$",
    "κ": "$\\kappa$",
    "μ": "$\\mu$",
    "ρ": "$\\rho$",
    "τ": "$\\tau$",
    "Δ": "$\\Delta$",
}
"""LaTeX for special characters; a bare bracket or asterisk would be an argument of the row end before it."""


def latex_text(text: str) -> str:
    """Returns a text on one line of LaTeX."""
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
