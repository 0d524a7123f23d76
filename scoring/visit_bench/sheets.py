"""Sheets of VisIT-Bench: its board, and win rates by family."""

from collections.abc import Mapping

import pandas as pd

from arena.sheets import Column, Sheet, interval
from scoring.visit_bench.leaderboard import AutomaticBoard, BoardLine

NOTE = (
    "Rating: Bradley-Terry on the Elo scale, mean 1000; a tie is half a win to each. Places: in 95% of boards the true "
    "places of all models lie within. Elo: as VisIT-Bench computes it (K=4, scale 400, start 1000), the median over "
    "seeded orders of the matches. Win rate: of its matches against the references, verified by people, ties left out."
)


def board_sheet(name: str, title: str, board: AutomaticBoard) -> Sheet:
    """Ratings and win rates of each model, best first."""
    columns = (
        Column("model", "Model"),
        Column("rank", "Rank", "rank", "rank_low", "rank_high"),
        Column("rating", "Rating", "score", "rating_low", "rating_high", places=0),
        Column("elo", "Elo (paper)", "score", places=0),
        interval("elo_low", "elo_high", "Elo over orders", places=0),
        Column("matches", "Matches", "count"),
        Column("ties", "Tied", "count"),
        Column("win_rate", "Win rate", "percent", "win_rate_low", "win_rate_high"),
        Column("decided", "Decided", "count"),
        Column("unscored", "Unscored", "count"),
    )
    rows = [_row(line) for line in board.lines]
    return Sheet(name, title, pd.DataFrame(rows), columns, NOTE)


def _row(line: BoardLine) -> Mapping[str, object]:
    row = line.row
    rate = line.reference
    is_rated = rate is not None and rate.value is not None
    return {
        "model": row.model,
        "rank": row.rank,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "rating": row.bt,
        "rating_low": row.bt_low,
        "rating_high": row.bt_high,
        "elo": row.elo_median,
        "elo_low": row.elo_low,
        "elo_high": row.elo_high,
        "matches": row.battles,
        "ties": row.ties,
        "win_rate": rate.value if rate else None,
        "win_rate_low": rate.low if rate and is_rated else None,
        "win_rate_high": rate.high if rate and is_rated else None,
        "decided": rate.n if rate else None,
        "unscored": line.unscored,
    }
