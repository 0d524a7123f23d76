"""Judge board view: the sentence and the chart that a judge model's board opens with."""

from collections.abc import Sequence

from arena.drawings import Drawing, ratings_drawing
from arena.leaderboard.chart import MOST_BARS
from arena.leaderboard.headline import ranks_in_words
from arena.ratings.report import BoardRow, bradley_terry_rows
from scoring.visit_bench.leaderboard import AutomaticBoard


def board_sentence(board: AutomaticBoard) -> str:
    """Return who has the first ranks, in one sentence."""
    ranked, groups = _first_group(board)
    if len(ranked) < 2:
        return "No two models have a rank yet: these matches are too few to compare them."
    ranks = {row.model: row.rank for row in ranked if row.rank is not None}
    one_of = f"In one of {groups} groups that never met, " if groups > 1 else ""
    return f"{one_of}{'; '.join(ranks_in_words(ranks))}."


def board_chart(board: AutomaticBoard) -> Drawing | None:
    """Return the ratings with intervals; None while no model has both."""
    rows = list(bradley_terry_rows(row for row in _first_group(board)[0] if row.bt_low is not None))
    title = "Elo ratings by the judge with 95% intervals, best first"
    return ratings_drawing(title, board_sentence(board), rows, MOST_BARS) if rows else None


def _first_group(board: AutomaticBoard) -> tuple[Sequence[BoardRow], int]:
    """Return the models with a rank of the group that stands first, and how many groups have ranks."""
    first: list[BoardRow] = []
    groups = 0
    before = 0
    for row in (line.row for line in board.lines if line.row.rank is not None):
        groups += row.rank == 1 and before != 1 or not groups
        before = row.rank
        if groups == 1:
            first.append(row)
    return first, groups
