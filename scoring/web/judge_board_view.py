"""Judge board view: the sentence and the chart that a judge model's board opens with."""

from collections.abc import Sequence

from arena.drawings import Drawing
from arena.leaderboard.board import Span
from arena.leaderboard.chart import RatedLine, ratings_chart
from arena.leaderboard.headline import order_in_words
from scoring.visit_bench.leaderboard import AutomaticBoard


def board_sentence(board: AutomaticBoard) -> str:
    """Return who leads and who cannot be told apart, in one sentence."""
    ranked, groups = _first_group(board)
    if len(ranked) < 2:
        return "No two models have a rank yet: these matches are too few to compare them."
    ranks = {line.model: line.rank for line in ranked if isinstance(line.rank, int)}
    one_of = f"In one of {groups} groups that never met, " if groups > 1 else ""
    return f"{one_of}{'; '.join(order_in_words(ranks, 'the matches'))}."


def board_chart(board: AutomaticBoard) -> Drawing | None:
    """Return the ratings with intervals; None while no model has both."""
    lines = [line for line in _first_group(board)[0] if line.rating is not None]
    title = "Ratings by the judge with 95% intervals, best first"
    return ratings_chart(title, board_sentence(board), lines) if lines else None


def _first_group(board: AutomaticBoard) -> tuple[Sequence[RatedLine], int]:
    """Return the models with a rank of the group that stands first, and how many groups have ranks."""
    first: list[RatedLine] = []
    groups, before = 0, 0
    for row in (line.row for line in board.lines if line.row.rank is not None):
        groups += row.rank == 1 and before != 1 or not groups
        before = row.rank
        if groups == 1:
            rating = None if row.bt is None or row.bt_low is None else Span(row.bt, row.bt_low, row.bt_high)
            first.append(RatedLine(row.model, row.rank, rating))
    return first, groups
