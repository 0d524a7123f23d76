"""Board plots: predicted win rates, battle counts, ratings over time, ratings and win rates by family."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from arena.leaderboard.board import Board, Standing
from arena.leaderboard.headline import is_by_judge, voters_caveat
from arena.leaderboard.service import Leaderboard
from arena.leaderboard.statistics import FLOOR, FamilyRatings
from arena.locale import named, t
from arena.plots import (
    Plot,
    RatingCell,
    RatingLine,
    WinRateCell,
    battle_count_plot,
    family_rating_plot,
    family_win_rate_plot,
    history_plot,
    win_rate_plot,
)
from arena.ratings.bradley_terry import win_chances
from arena.ratings.shares import Share

MOST_OVER_TIME = 20
"""Models in the table of ratings over time."""


def _win_chances(board: Board, _: Leaderboard) -> Plot:
    """Plots the predicted win rates of models with at least FLOOR votes."""
    rated = [line for line in board.standings if line.votes >= FLOOR]
    places = [board.counts.places[line.code] for line in rated]
    chances = win_chances(board.fit)[np.ix_(places, places)]
    plot = win_rate_plot([named(line.model) for line in rated], chances)
    return _plot_or_words(plot, len(rated) > 1, t("plots.no_two", count=FLOOR))


def _battles(board: Board, _: Leaderboard) -> Plot:
    """Plots the counts of all models, including those with too few votes for a rating."""
    places = [board.counts.places[line.code] for line in board.standings]
    wins = board.counts.wins[np.ix_(places, places)]
    return battle_count_plot([named(line.model) for line in board.standings], wins)


def _history(board: Board, leaderboard: Leaderboard) -> Plot:
    """Plots the ratings over time of models with at least FLOOR votes."""
    history = leaderboard.history(board.key)
    columns = {code: column for column, code in enumerate(history.codes)}
    lines = []
    for standing in _first_group(board)[:MOST_OVER_TIME]:
        if standing.votes >= FLOOR and standing.code in columns:
            ratings = history.ratings[:, columns[standing.code]]
            rounded = [None if np.isnan(rating) else round(rating, 1) for rating in ratings]
            lines.append(RatingLine(named(standing.model), rounded))
    plot = history_plot([str(day) for day in history.days], lines)
    if len(lines) < len(board.standings):
        shown = t("plots.models_shown", shown=len(lines), count=len(board.standings))
        plot = replace(plot, note=f"{plot.note}{t('pages.gap')}{shown}")
    if not history.days:
        return _only_words(plot, t("plots.no_times"))
    return _plot_or_words(plot, bool(lines), t("plots.no_model", count=FLOOR))


def _against_reference(board: Board, leaderboard: Leaderboard) -> Plot:
    """Plots the win rates against the reference by family of the models that met it."""
    shares = leaderboard.reference_shares(board)
    met: set[int] = set()
    for by_model in shares.values():
        met.update(code for code, share in by_model.items() if share.n)
    families = sorted(shares, key=str.casefold)
    lines = [line for line in board.standings if line.code in met]
    cells = [[_win_rate(shares[family][line.code]) for line in lines] for family in families]
    models = [named(line.model) for line in lines]
    plot = _with_caveat(family_win_rate_plot([*map(named, families)], models, cells), board)
    return _plot_or_words(plot, bool(met), t("plots.no_reference"))


def _win_rate(share: Share) -> WinRateCell | None:
    return None if share.value is None else WinRateCell(share.value, share.low, share.high, share.n)


def _families(board: Board, leaderboard: Leaderboard) -> Plot:
    """Plots the ratings by family, of models with a rating in any family."""
    ratings = leaderboard.family_ratings(board)
    codes = board.statistics.codes if board.statistics else ()
    places = {code: place for place, code in enumerate(codes)}

    def is_rated(line: Standing) -> bool:
        return line.code in places and any(
            not np.isnan(family.ratings[places[line.code]]) for family in ratings.values()
        )

    def cell(family: FamilyRatings, line: Standing) -> RatingCell | None:
        # An interval for these voters only must have a caveat, and the plot has one only if the board has.
        has_interval = family.for_new_voters or bool(voters_caveat(board)) or is_by_judge(board)
        return _rating(family, places[line.code], has_interval)

    lines = [line for line in board.standings if is_rated(line)]
    families = sorted(ratings, key=str.casefold)
    cells = [[cell(ratings[family], line) for line in lines] for family in families]
    models = [named(line.model) for line in lines]
    plot = _with_caveat(family_rating_plot([*map(named, families)], models, cells), board)
    if not families:
        return _only_words(plot, t("plots.no_families"))
    return _plot_or_words(plot, bool(lines), t("plots.no_model_in_family", count=FLOOR))


def _with_caveat(plot: Plot, board: Board) -> Plot:
    """Returns a plot with a note if its intervals are for these voters only."""
    caveat = voters_caveat(board)
    if not caveat:
        return plot
    note = t("pages.gap").join((plot.note, t("plots.only", only=caveat)))
    return replace(plot, note=note)


def _plot_or_words(plot: Plot, has_data: bool, words: str) -> Plot:
    """Returns a plot, or a sentence in its place if it has no data."""
    return plot if has_data else _only_words(plot, words)


def _only_words(plot: Plot, words: str) -> Plot:
    return replace(plot, note=words, drawing=None, table=None)


def _rating(family: FamilyRatings, place: int, has_interval: bool) -> RatingCell | None:
    if np.isnan(family.ratings[place]):
        return None
    return RatingCell(
        rating=round(float(family.ratings[place]), 1),
        low=round(float(family.low[place]), 1) if has_interval else None,
        high=round(float(family.high[place]), 1) if has_interval else None,
        votes=int(family.votes[place]),
    )


def _first_group(board: Board) -> tuple[Standing, ...]:
    """Returns the largest group of comparable models."""
    return board.groups[0] if board.groups else ()


PLOTS: Mapping[str, Callable[[Board, Leaderboard], Plot]] = {
    "Predicted win rates": _win_chances,
    "Battles": _battles,
    "Over time": _history,
    "Categories": _families,
    "Categories vs. reference": _against_reference,
}
"""The functions of the plots, by the names that people choose."""
