"""Parts that reports share: header, headline numbers, the file's problems, pages of answers, bars with intervals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from arena.figures import Figure
from arena.inference.endpoint import place_of
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
    at = f" at {place_of(judge.address)}" if judge.address else ""
    return f"Judge: {judge.model}{at}{f' (answered as {versions})' if versions else ''}"


def judge_notes(judge: JudgeStamp, how: str) -> tuple[str, str]:
    return (
        PARTS.note(f"{judge_text(judge)}. {how}."),
        PARTS.note(f"Prompt {judge.prompt[:12] or 'not told'} · reading {judge.parser}"),
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


PLOTS = macros("plots.html")
CLEAR = {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
GREY = "#8a8f98"
_OWN = "#3f4db8"
_ROW_PIXELS = 22


class PublishedBars(NamedTuple):
    """Published row beside a report's own bars."""

    label: Sequence[str]
    scores: Mapping[str, float]
    apart: str


def plot_label(*lines: str) -> str:
    """Return text for plotly.js, which reads entities and tags."""
    return str(PLOTS.lines(lines))


def plot_hover(text: str) -> str:
    return str(PLOTS.hover(text))


def error_bars(values: Sequence[tuple[float | None, float | None, float | None]], **more: object) -> dict[str, Any]:
    """Return the intervals of (low, value, high) as plotly.js error bars."""
    above = [None if high is None or value is None else high - value for _, value, high in values]
    below = [None if low is None or value is None else value - low for low, value, _ in values]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **more}


def bars_figure(title: str, note: str, own: str, lines: Sequence[ScoreLine], beside: PublishedBars | None) -> Figure:
    names = [plot_label(line.name) for line in lines]
    bars = [_bars(own, lines) | {"x": names, "y": [line.mean for line in lines], "error_y": _errors(lines)}]
    if beside is not None:
        scores = [beside.scores.get(line.name) for line in lines]
        theirs = {"type": "bar", "name": plot_label(*beside.label), "x": names, "y": scores, "marker": {"color": GREY}}
        bars.append(theirs)
    layout = {
        "barmode": "group",
        "height": 380,
        "title": {"text": str(PLOTS.heading(title, beside.apart if beside else "")), "font": {"size": 14}},
        "legend": {"orientation": "h", "y": -0.12},
        "margin": {"l": 34, "r": 6, "t": 56, "b": 10},
        **CLEAR,
        "yaxis": {"range": [0, 100]},
    }
    return Figure(title, note, tuple(bars), layout)


def rows_figure(title: str, note: str, own: str, lines: Sequence[ScoreLine], labels: Sequence[str]) -> Figure:
    """Return means in percent as horizontal bars with intervals, the first at the bottom."""
    bars = _bars(own, lines) | {
        "orientation": "h",
        "x": [line.mean for line in lines],
        "y": list(map(plot_label, labels)),
        "error_x": _errors(lines),
    }
    layout = {
        "height": 120 + _ROW_PIXELS * max(len(lines), 4),
        "title": {"text": title, "font": {"size": 14}},
        "margin": {"l": 10, "r": 10, "t": 40, "b": 30},
        **CLEAR,
        "xaxis": {"range": [0, 100]},
        "yaxis": {"automargin": True, "tickfont": {"size": 11}},
    }
    return Figure(title, note, (bars,), layout)


def _bars(own: str, lines: Sequence[ScoreLine]) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": plot_label(own),
        "marker": {"color": _OWN},
        "customdata": [line.n for line in lines],
        "hovertemplate": plot_hover("%{value:.1f} (n %{customdata})"),
    }


def _errors(lines: Sequence[ScoreLine]) -> dict[str, Any]:
    return error_bars([(line.low, line.mean, line.high) for line in lines], thickness=1.5, color=GREY)
