"""Plots of multiple-choice reports: abilities as bars with intervals, beside a published row if there is one."""

from collections.abc import Sequence
from html import escape
from typing import Any

from arena.figures import Figure
from scoring.benchmarks.mmbench import PublishedTable
from scoring.multiple_choice.metrics import Node
from scoring.report import ScoreLine
from scoring.web.levels_view import L2_WORDS, label

_OWN, _OTHER = "#3f4db8", "#8a8f98"
_ROW_PIXELS = 22


def ability_figure(title: str, tree: Node, row: PublishedTable | None, apart: str) -> Figure:
    """Return MMBench's L-2 abilities as bars with intervals, beside a published row.

    `apart` says why the two cannot be compared, "" if they can.
    """
    lines = {node.line.name: node.line for node in tree.find("L-2")}
    names = [name for name in L2_WORDS if name in lines] + [name for name in lines if name not in L2_WORDS]
    names = names or [node.line.name for node in tree.find("L-3")]
    lines = {node.line.name: node.line for node in tree.walk()}
    shown = [lines[name] for name in (*names, "Overall")]
    labels = [escape(line.name) for line in shown]
    bars: list[dict[str, Any]] = [_bars(title, shown) | {"x": labels, "y": [line.mean for line in shown]}]
    bars[0]["error_y"] = _errors(shown)
    heading = "Abilities"
    if row is not None:
        heading += f"<br><sub>not comparable: {escape(apart)}</sub>" if apart else ""
        theirs = {
            "type": "bar",
            "name": f"{escape(row.model)}<br>(published)",
            "x": labels,
            "marker": {"color": _OTHER},
        }
        bars.append(theirs | {"y": [row.scores.get(line.name) for line in shown]})
    layout = {
        "barmode": "group",
        "height": 380,
        "title": {"text": heading, "font": {"size": 14}},
        "legend": {"orientation": "h", "y": -0.12},
        "margin": {"l": 34, "r": 6, "t": 56, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "yaxis": {"range": [0, 100]},
    }
    return Figure("Abilities", "Accuracy in percent with 95% intervals.", tuple(bars), layout)


def meta_task_figure(title: str, tree: Node) -> Figure:
    """Return the file's meta-tasks as bars with intervals, best on top."""
    lines = [node.line for node in tree.find("meta-task") if node.line.mean is not None]
    shown = sorted(lines, key=lambda line: line.mean or 0.0)
    bars = _bars(title, shown) | {
        "orientation": "h",
        "x": [line.mean for line in shown],
        "y": [escape(label(line.name)) for line in shown],
        "error_x": _errors(shown),
    }
    layout = {
        "height": 120 + _ROW_PIXELS * max(len(shown), 4),
        "title": {"text": "Meta-tasks", "font": {"size": 14}},
        "margin": {"l": 10, "r": 10, "t": 40, "b": 30},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"range": [0, 100]},
        "yaxis": {"automargin": True, "tickfont": {"size": 11}},
    }
    return Figure("Meta-tasks", "Accuracy in percent with 95% intervals.", (bars,), layout)


def _bars(title: str, lines: Sequence[ScoreLine]) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": escape(title),
        "marker": {"color": _OWN},
        "customdata": [line.n for line in lines],
        "hovertemplate": "%{value:.1f} (n %{customdata})<extra></extra>",
    }


def _errors(lines: Sequence[ScoreLine]) -> dict[str, Any]:
    """Return the intervals of lines as plotly.js error bars."""
    above = [None if line.high is None or line.mean is None else line.high - line.mean for line in lines]
    below = [None if line.low is None or line.mean is None else line.mean - line.low for line in lines]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.5, "color": _OTHER}
