"""Parts that reports share: headline numbers, the judge, the file's problems, pages of answers."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple, TypeVar

from arena.inference.endpoint import place_of
from arena.sheets import Place, Sheet, as_html
from arena.templates import macros
from arena.types import grouped
from scoring.multiple_choice.reader import Blocks, Problem
from scoring.report import JudgeStamp

PARTS = macros("parts.html")
REPORT = macros("report.html")
CHOICE = macros("multiple_choice.html")
ROWS_A_PAGE = 25
MOST_PROBLEMS = 100
_MOST_ROWS = 5
"""Rows of one problem that are named."""
BLOCKS: Mapping[Blocks, str] = {
    "scoring": "This keeps the file from being scored",
    "whole": "What is missing: the score is partial",
    "circular": "This keeps the file from CircularEval",
    "nothing": "Good to know",
}
T = TypeVar("T")


def number(value: float | None, places: int = 1) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def sheet_html(sheet: Sheet) -> str:
    """Returns a table with buttons that copy it."""
    return as_html(sheet, copies=True)


def sheets_html(sheets: Sequence[Sheet]) -> str:
    """Returns a report's tables, each in its place."""
    tables: dict[Place, list[tuple[str, str]]] = {
        "main": [],
        "beside": [],
        "below": [],
        "folded": [],
    }
    for sheet in sheets:
        tables[sheet.place].append((sheet.title, sheet_html(sheet)))
    return macros("sheet.html").places(**tables)


def judge_text(judge: JudgeStamp) -> str:
    versions = ", ".join(version for version in judge.versions if version != judge.model)
    at = f" at {place_of(judge.address)}" if judge.address else ""
    return f"Judge: {judge.model}{at}{f' (answered as {versions})' if versions else ''}"


def file_problems_html(problems: Sequence[Problem]) -> str:
    return REPORT.together(
        [
            _problems(blocks, [problem for problem in problems if problem.blocks == blocks])
            for blocks in BLOCKS
        ]
    )


def folded_problems_html(problems: Sequence[Problem]) -> str:
    if not problems:
        return ""
    # partial: said above it
    unfolded = any(problem.blocks in ("scoring", "circular") for problem in problems)
    return REPORT.folded("What to know about the file", file_problems_html(problems), unfolded)


def _problems(blocks: Blocks, problems: Sequence[Problem]) -> str:
    if not problems:
        return ""
    by_text = grouped((problem.text, problem.row) for problem in problems)
    texts = [f"{_rows(rows)}{text}" for text, rows in [*by_text.items()][:MOST_PROBLEMS]]
    if len(by_text) > MOST_PROBLEMS:
        texts.append(f"and {len(by_text) - MOST_PROBLEMS:,} more")
    return REPORT.problems(
        blocks, "note" if blocks == "nothing" else "alert", f"{BLOCKS[blocks]}:", texts
    )


def _rows(rows: Sequence[int]) -> str:
    """Returns the rows of a problem as the beginning of its text; "" for the whole file."""
    if not any(rows):
        return ""
    numbers = ", ".join(f"{row:,}" for row in rows[:_MOST_ROWS])
    more = f" and {len(rows) - _MOST_ROWS:,} more" if len(rows) > _MOST_ROWS else ""
    return f"Row{'s' if rows[1:] else ''} {numbers}{more}: "


class Listed(NamedTuple):
    """A page of a list as HTML, with its number."""

    html: str
    page: int
    pages: int


def paged(rows: Sequence[T], page: int, size: int = ROWS_A_PAGE) -> tuple[Sequence[T], int, int]:
    """Returns the rows on a page, its number and the number of pages; a page past the end is the last."""
    pages = max(1, ceil(len(rows) / size))
    place = min(max(page, 1), pages)
    return rows[(place - 1) * size : place * size], place, pages


def place_text(page: int, pages: int) -> str:
    return f"page {page:,} of {pages:,}"


def listed_answers(
    rows: Sequence[T],
    total: int,
    page: int,
    item: Callable[[T], str],
    noun: str = "answers",
    kind: str = "audit",
) -> Listed:
    """Returns a page of answers, each made by `item`; `total`: the number of answers without filters."""
    if not rows:
        return Listed(PARTS.empty(f"No {noun[:-1]} fits."), 1, 1)
    page_rows, page, pages = paged(rows, page)
    status = f"{len(rows):,} of {total:,} {noun}; {place_text(page, pages)}"
    return Listed(REPORT.answers(kind, status, list(map(item, page_rows))), page, pages)
