"""Board downloads: the table as CSV."""

from typing import Any

from arena.io.csv_text import csv_text
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.headline import only_for
from arena.ratings.shares import Share

_BLANK = (None, None, None)
_COLUMNS = (
    "group,rank,rank_low,rank_high,model,rating,rating_low,rating_high,elo_median,elo_low,elo_high,votes,ties,reference_wins,"
    "reference_votes,win_rate,win_rate_low,win_rate_high,mean_win_rate,left_share,left_low,left_high,status,trust,retired,"
    "order,order_votes,order_progress,interval_votes,interval_for"
).split(",")


def board_csv(board: Board) -> str:
    """Return a board's table as CSV with full precision; blank where the board is blank.

    `order` is about the model and the next one, `interval_votes` how many votes the board had when its intervals,
    ranges and Elo were computed, and `interval_for` whose choices the intervals hold for.
    """
    groups = enumerate(board.groups, 1)
    statistics = board.statistics
    votes = statistics and statistics.votes
    whose = statistics and (only_for(board) or "for voters like these")
    lines = [(number, line) for number, group in groups for line in group]
    return csv_text([_COLUMNS, *([*_cells(number, line), votes, whose] for number, line in lines)])


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


def _share(share: Share | None) -> tuple[float | None, ...]:
    return (share.value, share.low, share.high) if share else _BLANK
