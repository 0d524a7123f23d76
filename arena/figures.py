"""Plots of the leaderboards: Plotly figures as JSON, and as an HTML page that needs no network.

A figure is the JSON document that plotly.js draws. Model names are text, never markup.
"""

import importlib.util
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arena.drawings import MOST_LINES, Drawing, GridCell, grid_drawing, lines_drawing
from arena.templates import macros, plural, script

Matrix = npt.NDArray[np.float64]

_BLUE, GREY = "#5566d6", "#8a8f98"
_SHADES = [[0.0, "#b5482f"], [0.5, "#f7f5f2"], [1.0, "#3f4db8"]]
_COUNTS = [[0.0, "#f7f5f2"], [1.0, "#3f4db8"]]
_LEGEND = {"orientation": "h", "y": 1, "yanchor": "bottom", "thickness": 10}
_ROW_PIXELS, _FRAME_PIXELS, _MOST_PIXELS = 24, 140, 4000
_LINES_PIXELS = 360
"""Height of a line plot without its legend, which on a phone has one row per line."""
_MOST_LETTERS = 24
_COLOURS = 10
"""Number of lines after which plotly.js repeats its colours."""
CLEAR = {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
"""Transparent background, for light and dark pages; `page.css` sets the colours of text and lines on screen."""


MOST_ROWS, MOST_COLUMNS = 80, 16
"""Rows and columns that a picture and its table show; Plotly's shows all."""


class PlotsError(RuntimeError):
    """Plotly is not installed."""


class PlotTable(NamedTuple):
    """What a picture shows, as a table: its headings, the first over the names of the rows, and the rows."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """One plot in plotly.js's format."""

    title: str
    note: str
    """Caption: what the plot shows, in one sentence."""
    traces: tuple[dict[str, Any], ...]
    layout: dict[str, Any]
    drawing: Drawing | None = None
    """The plot drawn by the server, if it can be."""
    table: PlotTable | None = None


class Bar(NamedTuple):
    """One model's rating and interval; None where it has none."""

    model: str
    rating: float | None
    low: float | None
    high: float | None


def interval_figure(bars: Sequence[Bar], note: str) -> Figure:
    """Plot ratings with intervals, the first model on top; models without a rating are left out."""
    shown = [(bar.model, bar.rating, bar.low, bar.high) for bar in bars if bar.rating is not None]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [rating for _, rating, _, _ in shown],
        "y": _labels(model for model, _, _, _ in shown),
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [None if high is None else high - rating for _, rating, _, high in shown],
            "arrayminus": [None if low is None else rating - low for _, rating, low, _ in shown],
            "color": GREY,
            "thickness": 2,
        },
        "marker": {"color": _BLUE, "size": 8},
        "hovertemplate": "%{y}: %{x:.0f}<extra></extra>",
    }
    return Figure("Ratings with intervals", note, (trace,), _layout([model for model, _, _, _ in shown]))


def win_rate_figure(models: Sequence[str], chances: Matrix) -> Figure:
    """Plot the predicted win rate of each row's model against each column's (models x models, NaN: blank)."""
    trace = _heat_map(models, chances, "%{y} beats %{x}: %{z:.1%}<extra></extra>")
    trace |= {"zmin": 0, "zmax": 1, "colorscale": _SHADES, "colorbar": {**_LEGEND, "tickformat": ".0%"}}
    note = "Bradley-Terry's predicted share of wins of the model at the row against the one over the column."
    drawn = ((None if math.isnan(one) else (f"{one:.0%}", 2 * one - 1) for one in row) for row in chances.tolist())
    return _with_grid(Figure("Predicted win rates", note, (trace,), _layout(models, models)), models, models, drawn)


def battle_count_figure(models: Sequence[str], battles: Matrix) -> Figure:
    """Plot how often two models met, by side (models x models: first on side a, then on side b)."""
    met = battles + battles.T
    trace = _heat_map(models, np.where(met > 0, met, np.nan), "%{y} and %{x}: %{z} battles<extra></extra>")
    most = max(met.max(initial=0.0), 1.0)
    trace |= {"zmin": 0, "zmax": most, "colorscale": _COUNTS, "colorbar": _LEGEND}
    note = "How often two models met, in either order; blank: never."
    drawn = ((None if one == 0 else (f"{one:,.0f}", one / most) for one in row) for row in met.tolist())
    return _with_grid(Figure("Battles", note, (trace,), _layout(models, models)), models, models, drawn)


class RatingLine(NamedTuple):
    """One model's ratings by day; None where it has none."""

    model: str
    ratings: Sequence[float | None]


def history_figure(days: Sequence[str], lines: Sequence[RatingLine]) -> Figure:
    """Plot ratings over days, which are written as 2026-01-31."""
    traces = tuple(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "line": {"dash": "solid" if place < _COLOURS else "dot"},
            "name": escape(_short(line.model), quote=False),
            "x": list(days),
            "y": list(line.ratings),
            "hovertemplate": f"{label.replace('%', '&#37;')}, %{{x}}: %{{y:.0f}}<extra></extra>",
        }
        for place, (label, line) in enumerate(zip(_labels(line.model for line in lines), lines, strict=True))
    )
    layout = {
        **CLEAR,
        "height": _LINES_PIXELS + _ROW_PIXELS * len(lines),
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "xaxis": {"automargin": True, "type": "date", "tickformat": "%Y-%m-%d"},
        "yaxis": {"automargin": True, "title": {"text": "rating"}},
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top"},
        "showlegend": True,
    }
    note = "Each day's rating counts all votes until its end (UTC); where votes are few, it swings."
    shown = {line.model: line.ratings for line in lines[:MOST_LINES]}
    drawing = lines_drawing("Ratings over time", note, days, shown)
    rows = [
        [day, *("" if one[at] is None else f"{one[at]:.0f}" for one in shown.values())] for at, day in enumerate(days)
    ]
    return Figure("Ratings over time", note, traces, layout, drawing, PlotTable(["Day", *shown], rows))


class RatingCell(NamedTuple):
    """One model's rating in one family, with its interval and number of votes."""

    rating: float
    low: float
    high: float
    votes: int


def family_rating_figure(
    families: Sequence[str], models: Sequence[str], cells: Sequence[Sequence[RatingCell | None]]
) -> Figure:
    """Plot ratings by family (rows) and model (columns); None: blank."""
    trace = {
        "type": "heatmap",
        "x": _labels(models),
        "y": _labels(families),
        "z": [[None if cell is None else cell.rating for cell in row] for row in cells],
        "customdata": [[["", "", ""] if cell is None else list(cell[1:]) for cell in row] for row in cells],
        "hovertemplate": "%{x}, %{y}: %{z:.0f}, from %{customdata[0]:.0f} to %{customdata[1]:.0f} (95%), "
        "%{customdata[2]} votes<extra></extra>",
        "hoverongaps": False,
        "colorscale": _SHADES,
        "colorbar": _LEGEND,
        "zmid": 1000,
    }
    note = (
        "Ratings from the votes on one family's items alone, each family with a mean of its own; the table has the "
        "intervals and the votes. Blank: too few votes, or no battles that link the model with most others."
    )
    drawn = ([cell and _rating_cell(cell) for cell in row] for row in cells)
    return _with_grid(Figure("Ratings by family", note, (trace,), _layout(families, models)), families, models, drawn)


class WinRateCell(NamedTuple):
    """One model's share of the battles of one family that it won against the reference, with its interval."""

    rate: float
    low: float
    high: float
    n: int


def family_win_rate_figure(
    families: Sequence[str], models: Sequence[str], cells: Sequence[Sequence[WinRateCell | None]]
) -> Figure:
    """Plot win rates against the reference (VisIT-Bench, Figure 8) by family (rows) and model (columns); None: blank.

    A cell is coloured by the end of its interval that is nearer to one half, so that few battles look like few.
    """
    trace = {
        "type": "heatmap",
        "x": _labels(models),
        "y": _labels(families),
        "z": [[cell and min(max(0.5, cell.low), cell.high) for cell in row] for row in cells],
        "customdata": [[[""] * 4 if cell is None else list(cell) for cell in row] for row in cells],
        "text": [["" if cell is None else f"{cell.rate:.0%}" for cell in row] for row in cells],
        "texttemplate": "%{text}",
        "hovertemplate": "%{x}, %{y}: %{customdata[0]:.0%}, from %{customdata[1]:.0%} to %{customdata[2]:.0%} (95%), "
        "%{customdata[3]} decided<extra></extra>",
        "hoverongaps": False,
        "zmin": 0,
        "zmax": 1,
        "colorscale": _SHADES,
        "colorbar": {**_LEGEND, "tickformat": ".0%"},
    }
    compared = sum(cell is not None for row in cells for cell in row)
    note = (
        "Share of decided battles won against the human-verified reference, by family of instructions (VisIT-Bench, "
        "Figure 8). Without colour: the votes cannot tell whether it is more or less than half; the deeper the colour, "
        "the further from half the 95% interval begins; the table has it and the battles. Of the intervals of "
        f"{plural(compared, 'comparison')}, about one in twenty misses by chance."
    )
    drawn = ([cell and _rate_cell(cell) for cell in row] for row in cells)
    figure = Figure("Win rate against the reference by family", note, (trace,), _layout(families, models))
    return _with_grid(figure, families, models, drawn)


def _rating_cell(cell: RatingCell) -> GridCell:
    told = f"{cell.rating:.0f} ({cell.low:.0f}–{cell.high:.0f}, {plural(cell.votes, 'vote')})"
    return GridCell(f"{cell.rating:.0f}", (cell.rating - 1000) / 300, told)


def _rate_cell(cell: WinRateCell) -> GridCell:
    told = f"{cell.rate:.0%} ({100 * cell.low:.0f}–{cell.high:.0%}, n = {cell.n:,})"
    return GridCell(f"{cell.rate:.0%}", 2 * min(max(0.5, cell.low), cell.high) - 1, told)


def _with_grid(
    figure: Figure, rows: Sequence[str], columns: Sequence[str], drawn: Iterable[Iterable[tuple[Any, ...] | None]]
) -> Figure:
    """Return a heat map with its drawing and its table; a cell's values are those of a `GridCell`, None: blank."""
    cut = len(rows) > MOST_ROWS or len(columns) > MOST_COLUMNS
    rows, columns = rows[: MOST_COLUMNS if rows is columns else MOST_ROWS], columns[:MOST_COLUMNS]
    cells = [
        [GridCell(*cell) if cell else GridCell("") for cell in islice(row, len(columns))]
        for row in islice(drawn, len(rows))
    ]
    told = [[name, *(cell.told or cell.text for cell in row)] for name, row in zip(rows, cells, strict=True)]
    drawing = grid_drawing(figure.title, figure.note, rows, columns, cells)
    note = f"{figure.note} Here are the first {len(columns)} models; exploring shows all." if cut else figure.note
    return replace(figure, note=note, drawing=drawing, table=PlotTable(["", *columns], told))


def page(title: str, figures: Iterable[Figure]) -> str:
    """Return a self-contained HTML page of the figures with plotly.js. Raises PlotsError if Plotly is missing."""
    package = importlib.util.find_spec("plotly")  # plotly.js lies in the Python package, which is not imported
    if package is None or package.origin is None:
        raise PlotsError("plots need plotly; install it")
    library = script(Path(package.origin).parent / "package_data" / "plotly.min.js")
    return macros("page.html").plots(title, figures, library)


def _heat_map(models: Sequence[str], values: Matrix, hover: str) -> dict[str, Any]:
    labels = _labels(models)
    cells = [[None if math.isnan(value) else value for value in row] for row in values.tolist()]
    return {"type": "heatmap", "x": labels, "y": labels, "z": cells, "hovertemplate": hover, "hoverongaps": False}


def _layout(rows: Sequence[str], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the layout of a plot with named rows; None as columns: the x axis shows ratings."""
    x_axis = {"title": {"text": "rating"}} if columns is None else {"tickangle": 90, **_names(columns)}
    frame = _FRAME_PIXELS if columns is None else 2 * _FRAME_PIXELS
    return {
        **CLEAR,
        "height": min(frame + _ROW_PIXELS * max(len(rows), 4), _MOST_PIXELS),
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "xaxis": {"automargin": True, **x_axis},
        "yaxis": {"autorange": "reversed", "automargin": True, **_names(rows)},
    }


def _names(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis of names; long names are shortened on the axis and shown in full on hover."""
    labels = {"tickmode": "array", "tickvals": _labels(names), "ticktext": _labels(map(_short, names))}
    return {"type": "category", **labels}


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS // 2]}…{name[-_MOST_LETTERS // 2 + 1 :]}"


def _labels(models: Iterable[str]) -> list[str]:
    """Escape names for plotly.js, which interprets tags and entities, but for those of quotes."""
    return [escape(model, quote=False) for model in models]
