"""Board downloads: the table as CSV, and the plots as JSON for plotly.js."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from arena.figures import Figure
from arena.io.csv_text import csv_text
from arena.leaderboard.board import Board, Standing
from arena.ratings.shares import Share

_BLANK = (None, None, None)
_COLUMNS = (
    "group,rank,rank_low,rank_high,model,rating,rating_low,rating_high,elo_median,elo_low,elo_high,votes,ties,reference_wins,"
    "reference_votes,win_rate,win_rate_low,win_rate_high,mean_win_rate,left_share,left_low,left_high,status,trust,retired,"
    "order,order_votes,order_progress,interval_votes"
).split(",")


def board_csv(board: Board) -> str:
    """Return a board's table as CSV with full precision; blank where the board is blank.

    `order` is about the model and the next one. The last column tells how many votes the board had when its intervals,
    ranges and Elo were computed.
    """
    groups, votes = enumerate(board.groups, 1), board.statistics and board.statistics.votes
    return csv_text([_COLUMNS, *([*_cells(number, line), votes] for number, group in groups for line in group)])


def _cells(group: int, line: Standing) -> list[Any]:
    rate = line.win_rate
    return [
        group,
        *(line.rank or _BLANK),
        line.model,
        *(line.rating or _BLANK),
        *(line.elo or _BLANK),
        line.votes,
        line.ties,
        *((rate.hits, rate.n) if rate else (None, None)),
        *_share(rate),
        line.mean_win_rate,
        *_share(line.left),
        line.status,
        line.trust,
        line.retired,
        *((order.state, order.settled_at, order.progress) if (order := line.order) else _BLANK),
    ]


def plots_json(title: str, board: Board, figures: Sequence[Figure]) -> str:
    """Return plots as JSON: `plots` holds the title, note, data and layout of each, `orders` those of neighbours."""
    plots: list[dict[str, Any]] = [
        {"title": figure.title, "note": figure.note, "data": figure.traces, "layout": figure.layout}
        for figure in figures
    ]
    orders = [
        {**order._asdict(), "above": one.model, "below": other.model}
        for group in board.groups
        for one, other in pairwise(group)
        if (order := one.order)
    ]
    return json.dumps({"title": title, "plots": plots, "orders": orders}, ensure_ascii=False, allow_nan=False)


def _share(share: Share | None) -> tuple[float | None, ...]:
    return (share.value, share.low, share.high) if share else _BLANK
