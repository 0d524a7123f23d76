"""Plots: drawings with captions and tables, and a self-contained page of plots."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arena.drawings import (
    MOST_LINES,
    Drawing,
    GridCell,
    RatingRow,
    grid_drawing,
    lines_drawing,
    ratings_drawing,
    svg,
)
from arena.interval_text import dashed
from arena.sheets import Column, Sheet, as_html, frame_of, plain_sheet
from arena.templates import macros, plural

Matrix = npt.NDArray[np.float64]
Cell = Callable[[int, int], GridCell | None]
"""Returns the cell of a heat map by row and column; None for a blank cell."""

MOST_COLUMNS = 16
"""Most columns of a drawing."""
MOST_LISTED = 80
"""Most rows of a drawing, and most rows and columns of its table."""


@dataclass(frozen=True)
class Plot:
    """One plot; if it has no drawing, its note says why."""

    title: str
    note: str
    """Caption: what the plot shows, in one sentence."""
    drawing: Drawing | None = None
    table: Sheet | None = None
    """The data of the drawing, and rows and columns that do not fit on it."""

    @property
    def folded_table(self) -> str:
        """The table as HTML that opens below the drawing; "" if there is none."""
        return folded(self.table) if self.table else ""


def folded(sheet: Sheet) -> str:
    """Returns a table as HTML that opens below a drawing."""
    return macros("plots.html").as_table(as_html(sheet))


def interval_plot(
    rows: Sequence[RatingRow], note: str, title: str = "Ratings with 95% intervals"
) -> Plot:
    """Plots ratings with intervals, or with another spread that the title names, the first model on top."""
    if not rows:
        return Plot(title, "No model has a rating.")
    drawing = ratings_drawing(title, note, rows, MOST_LISTED)
    columns = (Column("name", "Model"), Column("value", "Rating", "score", "low", "high", places=0))
    return Plot(title, note, drawing, Sheet("ratings", title, frame_of(RatingRow, rows), columns))


def win_rate_plot(models: Sequence[str], chances: Matrix) -> Plot:
    """Plots the predicted win rate of each row's model against each column's (models x models, NaN: blank)."""

    def cell(row: int, column: int) -> GridCell | None:
        chance = float(chances[row, column])
        if math.isnan(chance):
            return None
        return GridCell(
            f"{chance:.0%}",
            2 * chance - 1,
            title=f"{models[row]} beats {models[column]}: {chance:.1%}",
        )

    note = "Bradley-Terry's predicted share of wins of the model at the row against the one over the column."
    return _grid_plot("Predicted win rates", note, models, models, cell, MOST_COLUMNS)


def battle_count_plot(models: Sequence[str], battles: Matrix) -> Plot:
    """Plots how often two models met, by side (models x models: first on side a, then on side b)."""
    met = battles + battles.T
    most = max(met.max(initial=0.0), 1.0)

    def cell(row: int, column: int) -> GridCell | None:
        number = int(met[row, column])
        title = f"{models[row]} and {models[column]}: {plural(number, 'battle')}"
        return GridCell(f"{number:,}", number / most, title=title) if number else None

    return _grid_plot(
        "Battles",
        "How often two models met, in either order; blank: never.",
        models,
        models,
        cell,
        MOST_COLUMNS,
    )


class RatingLine(NamedTuple):
    """One model's ratings by day; None where it has none."""

    model: str
    ratings: Sequence[float | None]


def history_plot(days: Sequence[str], lines: Sequence[RatingLine]) -> Plot:
    """Plots ratings over days, which are written as 2026-01-31."""
    title = "Ratings over time"
    note = "Each day's rating counts all votes until its end (UTC); where votes are few, it swings."
    if len(lines) > MOST_LINES:
        note += f" The chart shows the first {MOST_LINES} models, the table {len(lines)}."
    drawn = {line.model: line.ratings for line in lines[:MOST_LINES]}
    drawing = lines_drawing(title, note, days, drawn)
    rows = [
        [day, *(_number(line.ratings[place]) for line in lines)] for place, day in enumerate(days)
    ]
    heads = ["Day", *(line.model for line in lines)]
    return Plot(title, note, drawing, plain_sheet("history", title, heads, rows, scrolls=True))


class RatingCell(NamedTuple):
    """One model's rating in one family, with its interval and number of votes."""

    rating: float
    low: float
    high: float
    votes: int


def family_rating_plot(
    families: Sequence[str], models: Sequence[str], cells: Sequence[Sequence[RatingCell | None]]
) -> Plot:
    """Plots ratings by family (rows) and model (columns); None: blank."""

    def cell(row: int, column: int) -> GridCell | None:
        rated = cells[row][column]
        if rated is None:
            return None
        interval = dashed(rated.low, rated.high)
        text = f"{rated.rating:.0f} ({interval}, {plural(rated.votes, 'vote')})"
        title = f"{models[column]}, {families[row]}: {text}"
        return GridCell(f"{rated.rating:.0f}", (rated.rating - 1000) / 300, text, title)

    note = (
        "Ratings from the votes on one family's items alone, each family with a mean of its own; the table has the "
        "95% intervals and the votes. Blank: too few votes, or no battles that link the model with most others."
    )
    return _grid_plot("Ratings by family", note, families, models, cell)


class WinRateCell(NamedTuple):
    """One model's share of the battles of one family that it won against the reference, with its interval."""

    rate: float
    low: float
    high: float
    n: int


def family_win_rate_plot(
    families: Sequence[str], models: Sequence[str], cells: Sequence[Sequence[WinRateCell | None]]
) -> Plot:
    """Plots win rates against the reference (VisIT-Bench, Figure 8) by family (rows) and model (columns); None: blank.

    A cell is coloured by the end of its interval that is nearer to one half, so that few battles look like few.
    """

    def cell(row: int, column: int) -> GridCell | None:
        won = cells[row][column]
        if won is None:
            return None
        text = f"{won.rate:.0%} ({dashed(won.low, won.high, '.0%')}, n = {won.n:,})"
        depth = 2 * min(max(0.5, won.low), won.high) - 1
        return GridCell(
            f"{won.rate:.0%}", depth, text, f"{models[column]}, {families[row]}: {text}"
        )

    compared = sum(won is not None for row in cells for won in row)
    note = (
        "Share of decided battles won against the human-verified reference, by family of instructions (VisIT-Bench, "
        "Figure 8). Without colour: the votes cannot tell whether it is more or less than half; the deeper the colour, "
        "the further from half the 95% interval begins; the table has it and the battles. Of the intervals of "
        f"{plural(compared, 'comparison')}, about one in twenty misses by chance."
    )
    return _grid_plot("Win rate against the reference by family", note, families, models, cell)


def _number(rating: float | None) -> str | None:
    return None if rating is None else f"{rating:.0f}"


def _grid_plot(
    title: str,
    note: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cell: Cell,
    most_rows: int = MOST_LISTED,
) -> Plot:
    """Returns a heat map of the first rows and columns, with a table of more of them."""
    if len(columns) > MOST_COLUMNS:
        listed = "all of them" if len(columns) <= MOST_LISTED else f"the first {MOST_LISTED}"
        note += f" The chart shows the first {MOST_COLUMNS} of {len(columns)} models. The table shows {listed}."
    cells = [
        [cell(row, column) or GridCell("") for column in range(len(columns[:MOST_LISTED]))]
        for row in range(len(rows[:MOST_LISTED]))
    ]
    texts = [
        [name, *(grid_cell.long_text or grid_cell.text or None for grid_cell in row)]
        for name, row in zip(rows[:MOST_LISTED], cells, strict=True)
    ]
    drawn = [row[:MOST_COLUMNS] for row in cells[:most_rows]]
    drawing = grid_drawing(title, note, rows[:most_rows], columns[:MOST_COLUMNS], drawn)
    heads = ["", *columns[:MOST_LISTED]]
    return Plot(title, note, drawing, plain_sheet("grid", title, heads, texts, scrolls=True))


def plots_page(title: str, plots: Iterable[Plot]) -> str:
    """Returns a self-contained HTML page of plots and their tables."""
    drawn = [
        (plot, svg(plot.drawing, f"plot{place}") if plot.drawing else "")
        for place, plot in enumerate(plots)
    ]
    return macros("plots.html").page(title, drawn)
