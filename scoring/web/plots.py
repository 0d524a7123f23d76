"""Plots of reports: means as bars with intervals, beside a published row if there is one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from arena.figures import Figure
from arena.templates import macros
from scoring.report import ScoreLine

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
