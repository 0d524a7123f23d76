"""Parts that reports share: header, headline numbers, the file's problems, and what was answered, page by page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from arena.templates import macros
from scoring.multiple_choice.reader import Blocks, Problem
from scoring.report import AnyReport, JudgeStamp, ScoreLine

PARTS, REPORT = macros("parts.html"), macros("report.html")
ROWS_A_PAGE = 25
MOST_PROBLEMS = 100
BLOCKS: Mapping[Blocks, str] = {
    "scoring": "This keeps the file from being scored",
    "whole": "What is missing: the score is partial",
    "circular": "This keeps the file from CircularEval",
    "nothing": "Good to know",
}
T = TypeVar("T")


class TableRow(NamedTuple):
    """Row of a table."""

    cells: Sequence[object]
    attributes: Mapping[str, object] = {}


def number(value: float | None, places: int = 1) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def interval(low: float | None, high: float | None, places: int = 1) -> str:
    return "" if low is None or high is None else f"95% interval {low:.{places}f} to {high:.{places}f}"


def headline(name: str, line: ScoreLine) -> tuple[str, str, tuple[str, ...]]:
    count = f"{line.n - line.unscored:,} of {line.n:,} decided" if line.unscored else f"n {line.n:,}"
    return name, number(line.mean), (interval(line.low, line.high), count)


def head_html(
    report: AnyReport, made: Iterable[str], totals: str, warnings: Iterable[str], parts: Iterable[str]
) -> str:
    """Return a report's header: `made` names benchmark and source, and the parts follow the totals and warnings."""
    when = f"{report.created[:16].replace('T', ' ')} UTC"
    shown = [totals, *map(PARTS.warning, warnings), *parts]
    return REPORT.head([*made, report.file, when], report.title, shown)


def judge_text(judge: JudgeStamp) -> str:
    versions = ", ".join(version for version in judge.versions if version != judge.model)
    return f"Judge: {judge.model} at {judge.address}{f' (answered as {versions})' if versions else ''}"


def judge_notes(judge: JudgeStamp, how: str) -> tuple[str, str]:
    return (
        PARTS.note(f"{judge_text(judge)}. {how}."),
        PARTS.note(f"Prompt {judge.prompt[:12]} · reading {judge.parser}"),
    )


def reading_text(judge: JudgeStamp | None, without: str) -> str:
    """Return which judge was asked with which prompt; `without` says how answers were read if none was."""
    if judge is None:
        return f"{without}."
    return f"{judge_text(judge)}; prompt {judge.prompt[:20]}, reading {judge.parser}."


def file_problems_html(problems: Sequence[Problem]) -> str:
    return REPORT.together([_problems(blocks, [one for one in problems if one.blocks == blocks]) for blocks in BLOCKS])


def folded_problems_html(problems: Sequence[Problem]) -> str:
    if not problems:
        return ""
    unfolded = any(problem.blocks != "nothing" for problem in problems)
    return REPORT.folded("What to know about the file", file_problems_html(problems), unfolded)


def _problems(blocks: Blocks, problems: Sequence[Problem]) -> str:
    if not problems:
        return ""
    texts = [f"{f'Row {one.row:,}: ' if one.row else ''}{one.text}" for one in problems[:MOST_PROBLEMS]]
    if len(problems) > MOST_PROBLEMS:
        texts.append(f"and {len(problems) - MOST_PROBLEMS:,} more")
    return REPORT.problems(blocks, "note" if blocks == "nothing" else "alert", f"{BLOCKS[blocks]}:", texts)


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
