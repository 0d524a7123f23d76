"""Board plots: intervals, predicted win rates, battle counts, ratings over time and by family."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from arena.figures import (
    Bar,
    Cell,
    Figure,
    RatingLine,
    battle_count_figure,
    family_figure,
    history_figure,
    interval_figure,
    win_rate_figure,
)
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.service import Leaderboard
from arena.leaderboard.statistics import FLOOR, FamilyRatings
from arena.ratings.bradley_terry import win_chances

MOST_LINES = 20
"""Models in the plot over time."""


def board_figures(board: Board, leaderboard: Leaderboard) -> tuple[Figure, ...]:
    return tuple(plot(board, leaderboard) for plot in PLOTS.values())


def _intervals(board: Board, _: Leaderboard) -> Figure:
    rated = [line for line in _largest(board) if line.rating is not None]
    bars = [Bar(line.model, *line.rating) for line in rated if line.rating]
    note = "Bradley-Terry with 95% intervals, clustered by (item, pair). "
    note += f"Models with under {FLOOR} votes are left out."
    if len(board.groups) > 1:
        note += " Only the largest group is shown: the others cannot be compared with it."
    return interval_figure(bars, note)


def _chances(board: Board, _: Leaderboard) -> Figure:
    rated = [line for line in board.standings if line.rating]
    places = [board.counts.places[line.code] for line in rated]
    return win_rate_figure([line.model for line in rated], np.round(win_chances(board.fit)[np.ix_(places, places)], 4))


def _battles(board: Board, _: Leaderboard) -> Figure:
    """Plot the counts of all models, including those with too few votes for a rating."""
    places = [board.counts.places[line.code] for line in board.standings]
    return battle_count_figure([line.model for line in board.standings], board.counts.wins[np.ix_(places, places)])


def _history(board: Board, leaderboard: Leaderboard) -> Figure:
    past = leaderboard.history(board.key)
    column = {code: at for at, code in enumerate(past.codes)}
    lines = []
    for line in _largest(board)[:MOST_LINES]:
        if line.rating is not None and line.code in column:
            ratings = past.ratings[:, column[line.code]]
            lines.append(RatingLine(line.model, [None if np.isnan(one) else round(one, 1) for one in ratings]))
    drawn = history_figure([str(day) for day in past.days], lines)
    return drawn if past.days else replace(drawn, traces=(), note="These votes do not say when they were cast.")


def _families(board: Board, leaderboard: Leaderboard) -> Figure:
    """Plot the ratings by family of the models that have one in any."""
    found = leaderboard.family_ratings(board)
    place = {code: at for at, code in enumerate(board.statistics.codes)} if board.statistics else {}
    shown = [
        line
        for line in board.standings
        if line.code in place and any(not np.isnan(family.ratings[place[line.code]]) for family in found.values())
    ]
    families = sorted(found, key=str.casefold)
    cells = [[_cell(found[family], place[line.code]) for line in shown] for family in families]
    drawn = family_figure(families, [line.model for line in shown], cells)
    no_family = "These votes do not say of which family their items are."
    return drawn if families else replace(drawn, traces=(), note=no_family)


def _cell(family: FamilyRatings, at: int) -> Cell | None:
    if np.isnan(family.ratings[at]):
        return None
    rating, low, high = (round(float(value[at]), 1) for value in (family.ratings, family.low, family.high))
    return Cell(rating, low, high, int(family.votes[at]))


def _largest(board: Board) -> tuple[Standing, ...]:
    return board.groups[0] if board.groups else ()


PLOTS: Mapping[str, Callable[[Board, Leaderboard], Figure]] = {
    "Intervals": _intervals,
    "Predicted win rates": _chances,
    "Battles": _battles,
    "Over time": _history,
    "Families": _families,
}
"""Each plot's function, by the name under which people choose it."""
