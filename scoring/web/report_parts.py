"""Parts that reports share: headline numbers, the judge, the file's problems, pages of answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from arena.inference.endpoint import place_of
from arena.sheets import Place, Sheet, as_html
from arena.templates import macros
from scoring.multiple_choice.reader import Blocks, Problem
from scoring.report import JudgeStamp

PARTS = macros("parts.html")
REPORT = macros("report.html")
CHOICE = macros("multiple_choice.html")
ROWS_A_PAGE = 25
MOST_PROBLEMS = 100
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
    """Return a table with buttons that copy it."""
    return as_html(sheet, copies=True)


def sheets_html(sheets: Sequence[Sheet]) -> str:
    """Return a report's tables, each in its place."""
    shown: dict[Place, list[tuple[str, str]]] = {
        "main": [],
        "beside": [],
        "below": [],
        "folded": [],
    }
    for sheet in sheets:
        shown[sheet.place].append((sheet.title, sheet_html(sheet)))
    return macros("sheet.html").places(**shown)


def judge_text(judge: JudgeStamp) -> str:
    versions = ", ".join(version for version in judge.versions if version != judge.model)
    at = f" at {place_of(judge.address)}" if judge.address else ""
    return f"Judge: {judge.model}{at}{f' (answered as {versions})' if versions else ''}"


def file_problems_html(problems: Sequence[Problem]) -> str:
    return REPORT.together(
        [_problems(blocks, [one for one in problems if one.blocks == blocks]) for blocks in BLOCKS]
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
    texts = [
        f"{f'Row {one.row:,}: ' if one.row else ''}{one.text}" for one in problems[:MOST_PROBLEMS]
    ]
    if len(problems) > MOST_PROBLEMS:
        texts.append(f"and {len(problems) - MOST_PROBLEMS:,} more")
    return REPORT.problems(
        blocks, "note" if blocks == "nothing" else "alert", f"{BLOCKS[blocks]}:", texts
    )


def paged(rows: Sequence[T], page: object, size: int = ROWS_A_PAGE) -> tuple[Sequence[T], str]:
    """Return the rows on a page and its place in words; what the browser sends as a page is looked up."""
    pages = max(1, -(-len(rows) // size))
    place = min(int(page), pages) if isinstance(page, int | float) and 1 <= page <= 1e6 else 1
    return rows[(place - 1) * size : place * size], f"page {place:,} of {pages:,}"


def answers_html(
    rows: Sequence[T],
    of: int,
    page: object,
    item: Callable[[T], str],
    what: str = "answers",
    kind: str = "audit choices",
) -> str:
    if not rows:
        return PARTS.empty(f"No {what[:-1]} fits.")
    shown, place = paged(rows, page)
    return REPORT.answers(kind, f"{len(rows):,} of {of:,} {what}; {place}", list(map(item, shown)))
