"""Parts that reports share: headline numbers, the judge, the file's problems, pages of answers."""

from collections.abc import Callable, Sequence
from itertools import islice
from math import ceil
from typing import Generic, Literal, NamedTuple, TypeVar

from arena.inference.endpoint import place_of
from arena.locale import t, translated
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
"""Problems of a file that are listed for each of their effects."""
_MOST_ROWS = 5
"""Rows of one problem that are named."""
BLOCKS: Sequence[Blocks] = ("scoring", "whole", "circular", "nothing")
"""The effects of problems, as a page orders them."""
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
    """Returns a judge in words: its model, where it runs, and the versions that answered if they have other names."""
    versions = ", ".join(version for version in judge.versions if version != judge.model)
    name = judge.model
    if judge.address:
        name = t("report.judge_at", model=name, place=translated(place_of(judge.address)))
    if versions:
        name = t("report.judge_versions", judge=name, versions=versions)
    return t("report.judge_name", judge=name)


def replies_heading(model: str) -> str:
    """Returns the heading of a judge's replies; `model`: its name, "" if unknown."""
    return t("report.replies_of", judge=model) if model else t("report.replies")


def file_problems_html(problems: Sequence[Problem]) -> str:
    """Returns the problems of a file, grouped by their effects."""
    return REPORT.together(
        [
            _problems(blocks, [problem for problem in problems if problem.blocks == blocks])
            for blocks in BLOCKS
        ]
    )


def folded_problems_html(problems: Sequence[Problem]) -> str:
    """Returns the problems of a report's file, but not missing questions ("whole"), which are a caveat already."""
    others = [problem for problem in problems if problem.blocks != "whole"]
    if not others:
        return ""
    is_open = any(problem.blocks in ("scoring", "circular") for problem in others)
    return REPORT.folded(t("report.about_file"), file_problems_html(others), is_open)


def _problems(blocks: Blocks, problems: Sequence[Problem]) -> str:
    if not problems:
        return ""
    by_text = grouped((problem.text, problem.row) for problem in problems)
    listed = islice(by_text.items(), MOST_PROBLEMS)
    texts = [_with_rows(translated(text), rows) for text, rows in listed]
    if len(by_text) > MOST_PROBLEMS:
        texts.append(t("report.more", count=len(by_text) - MOST_PROBLEMS))
    role = "note" if blocks == "nothing" else "alert"
    return REPORT.problems(blocks, role, t(f"report.blocks_{blocks}"), texts)


def _with_rows(text: str, rows: Sequence[int]) -> str:
    """Returns the text of a problem after its rows, each named once; alone if it is about the whole file."""
    if not any(rows):
        return text
    different = [*dict.fromkeys(rows)]
    numbers = t("names.comma").join(f"{row:,}" for row in different[:_MOST_ROWS])
    if len(different) > _MOST_ROWS:
        return t("report.many_rows", rows=numbers, more=len(different) - _MOST_ROWS, text=text)
    return t("report.rows", rows=numbers, count=len(different), text=text)


class OutcomeText(NamedTuple):
    """The outcome of an answer in words; its style follows from the kind, "open" if it is neither right nor wrong."""

    kind: Literal["right", "wrong", "open"]
    words: str


class ListPage(NamedTuple):
    """A page of a list as HTML, its number from 1, and the number of pages."""

    html: str
    page: int
    pages: int


class PageLink(NamedTuple):
    """A link to another page of a list."""

    address: str
    words: str


class RowsPage(NamedTuple, Generic[T]):
    """The rows on a page, its number from 1, and the number of pages."""

    rows: Sequence[T]
    page: int
    pages: int


def rows_page(rows: Sequence[T], page: int, size: int = ROWS_A_PAGE) -> RowsPage[T]:
    """Returns the page of this number; a page past the end is the last."""
    pages = max(1, ceil(len(rows) / size))
    shown_page = min(max(page, 1), pages)
    return RowsPage(rows[(shown_page - 1) * size : shown_page * size], shown_page, pages)


def page_number(text: str) -> int:
    """Returns the number of a page in an address; 1 for any other text."""
    digits = text[:6]  # no list has more pages, and a long number takes long to read
    return int(digits) if digits.isascii() and digits.isdecimal() else 1


def page_text(page: int, pages: int) -> str:
    return t("report.page", page=page, pages=pages)


def list_answers(
    rows: Sequence[T],
    total: int,
    page: int,
    item: Callable[[T], str],
    unit: Literal["answers", "questions"] = "answers",
) -> ListPage:
    """Returns a page of answers; `item` returns the HTML of one. `total`: the number of answers without filters."""
    if not rows:
        return ListPage(PARTS.empty(t(f"report.no_{unit}")), 1, 1)
    on_page, shown_page, pages = rows_page(rows, page)
    place = page_text(shown_page, pages)
    status = t(f"report.listed_{unit}", shown=len(rows), total=total, page=place)
    return ListPage(REPORT.answers("audit", status, list(map(item, on_page))), shown_page, pages)
