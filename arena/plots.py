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
from arena.locale import t
from arena.sheets import Column, Sheet, as_html, frame_of, plain_sheet
from arena.templates import macros

Matrix = npt.NDArray[np.float64]
CellAt = Callable[[int, int], GridCell | None]
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
        return folded_html(self.table) if self.table else ""


def folded_html(sheet: Sheet) -> str:
    """Returns a table as HTML that opens below a drawing."""
    return macros("plots.html").as_table(as_html(sheet))


def interval_plot(rows: Sequence[RatingRow], note: str, title: str = "") -> Plot:
    """Plots ratings with intervals, or with another spread that the title names, the first model on top."""
    title = title or t("plots.ratings")
    if not rows:
        return Plot(title, t("plots.no_rating"))
    drawing = ratings_drawing(title, note, rows, MOST_LISTED)
    columns = (
        Column("name", t("model.model")),
        Column("value", t("plots.rating"), "score", "low", "high", places=0),
    )
    return Plot(title, note, drawing, Sheet("ratings", title, frame_of(RatingRow, rows), columns))


def win_rate_plot(models: Sequence[str], chances: Matrix) -> Plot:
    """Plots the predicted win rate of each row's model against each column's (models x models, NaN: blank)."""

    def cell_at(row: int, column: int) -> GridCell | None:
        chance = float(chances[row, column])
        if math.isnan(chance):
            return None
        return GridCell(
            text=f"{chance:.0%}",
            depth=_depth_of_share(chance),
            title=t("plots.beats", winner=models[row], loser=models[column], chance=chance),
        )

    note = t("plots.win_rates_note")
    return _grid_plot(t("plots.win_rates"), note, models, models, cell_at, most_rows=MOST_COLUMNS)


def battle_count_plot(models: Sequence[str], battles: Matrix) -> Plot:
    """Plots how often two models met, whichever was on side a.

    `battles` are the numbers by the model on side a (rows) and on side b (columns).
    """
    met = battles + battles.T
    most_battles = max(met.max(initial=0.0), 1.0)  # no division by 0

    def cell_at(row: int, column: int) -> GridCell | None:
        number = int(met[row, column])
        if number == 0:
            return None
        title = t("plots.met", a=models[row], b=models[column], count=number)
        return GridCell(text=f"{number:,}", depth=number / most_battles, title=title)

    return _grid_plot(
        t("plots.battles"),
        t("plots.battles_note"),
        models,
        models,
        cell_at,
        most_rows=MOST_COLUMNS,
    )


class RatingLine(NamedTuple):
    """One model's ratings by day; None on days without one."""

    model: str
    ratings: Sequence[float | None]


def history_plot(days: Sequence[str], lines: Sequence[RatingLine]) -> Plot:
    """Plots ratings over days, which are written as 2026-01-31; a line has a rating for each day."""
    title = t("plots.over_time")
    note = t("plots.over_time_note")
    if len(lines) > MOST_LINES:
        note += t("pages.gap") + t("plots.lines_shown", shown=MOST_LINES, count=len(lines))
    drawn = {line.model: line.ratings for line in lines[:MOST_LINES]}
    drawing = lines_drawing(title, note, days, drawn)
    rows = []
    for index, day in enumerate(days):
        rows.append([day, *(_rating_text(line.ratings[index]) for line in lines)])
    heads = ["Day", *(line.model for line in lines)]
    return Plot(title, note, drawing, plain_sheet("history", title, heads, rows, scrolls=True))


class RatingCell(NamedTuple):
    """One model's rating in one family, with its interval, if it has one, and number of votes."""

    rating: float
    low: float | None
    high: float | None
    votes: int


def family_rating_plot(
    families: Sequence[str], models: Sequence[str], cells: Sequence[Sequence[RatingCell | None]]
) -> Plot:
    """Plots ratings by family (rows) and model (columns); None: blank."""

    def cell_at(row: int, column: int) -> GridCell | None:
        rated = cells[row][column]
        if rated is None:
            return None
        details = t("board.votes", count=rated.votes)
        if rated.low is not None and rated.high is not None:
            details = f"{dashed(rated.low, rated.high)}, {details}"
        text = f"{rated.rating:.0f} ({details})"
        title = f"{models[column]}, {families[row]}: {text}"
        return GridCell(
            text=f"{rated.rating:.0f}",
            depth=(rated.rating - 1000) / 300,  # coloured fully at 700 and 1300
            long_text=text,
            title=title,
        )

    note = t("plots.by_family_note")
    return _grid_plot(t("plots.by_family"), note, families, models, cell_at)


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

    A cell is coloured by the share in its interval that is nearest to one half, so that few battles look like few.
    """

    def cell_at(row: int, column: int) -> GridCell | None:
        won = cells[row][column]
        if won is None:
            return None
        text = f"{won.rate:.0%} ({dashed(won.low, won.high, '.0%')}, n = {won.n:,})"
        nearest_to_half = min(max(0.5, won.low), won.high)
        return GridCell(
            text=f"{won.rate:.0%}",
            depth=_depth_of_share(nearest_to_half),
            long_text=text,
            title=f"{models[column]}, {families[row]}: {text}",
        )

    note = t("plots.reference_note")
    return _grid_plot(t("plots.reference"), note, families, models, cell_at)


def plots_page(title: str, plots: Iterable[Plot]) -> str:
    """Returns a self-contained HTML page of plots and their tables."""
    plots_with_svgs = []
    for index, plot in enumerate(plots):
        drawing = svg(plot.drawing, f"plot{index}") if plot.drawing else ""
        plots_with_svgs.append((plot, drawing))
    return macros("plots.html").page(title, plots_with_svgs)


def _rating_text(rating: float | None) -> str | None:
    return None if rating is None else f"{rating:.0f}"


def _depth_of_share(share: float) -> float:
    """Returns the depth of a cell's colour: -1 if all is lost, 0 at one half, 1 if all is won."""
    return 2 * share - 1


def _grid_plot(
    title: str,
    note: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cell_at: CellAt,
    most_rows: int = MOST_LISTED,
) -> Plot:
    """Returns a heat map of the first rows and columns, with a table of more of them."""
    if len(columns) > MOST_COLUMNS:
        shown = t("plots.columns_shown", shown=MOST_COLUMNS, count=len(columns))
        is_whole = len(columns) <= MOST_LISTED
        listed = t("plots.all_listed") if is_whole else t("plots.listed", count=MOST_LISTED)
        note = t("pages.gap").join((note, shown, listed))
    listed_rows = rows[:MOST_LISTED]
    listed_columns = columns[:MOST_LISTED]
    cells = [
        [cell_at(row, column) or GridCell("") for column in range(len(listed_columns))]
        for row in range(len(listed_rows))
    ]
    table_rows = []
    for name, row_cells in zip(listed_rows, cells, strict=True):
        table_rows.append([name, *(cell.long_text or cell.text or None for cell in row_cells)])
    heads = ["", *listed_columns]
    table = plain_sheet("grid", title, heads, table_rows, scrolls=True)
    drawn_cells = [row_cells[:MOST_COLUMNS] for row_cells in cells[:most_rows]]
    drawing = grid_drawing(title, note, rows[:most_rows], columns[:MOST_COLUMNS], drawn_cells)
    return Plot(title, note, drawing, table)
