"""VisIT-Bench's board as a sheet."""

from collections.abc import Mapping

import pandas as pd

from arena.sheets import Column, Sheet, interval
from scoring.visit_bench.leaderboard import ELO_ORDERS, AutomaticBoard, BoardLine

COLUMNS = (
    Column("model", "Model"),
    Column(
        "rank",
        "Rank",
        "rank",
        "rank_low",
        "rank_high",
        dash=True,
        meaning="1 plus the number of models whose interval is entirely above, and the places it may have. On 95% of "
        "boards, the true places of all models are within these.",
    ),
    Column(
        "rating",
        "Elo rating",
        "score",
        "rating_low",
        "rating_high",
        places=0,
        dash=True,
        meaning="Bradley-Terry on the Elo scale, mean 1000, with a 95% interval for new items like these. A tie is "
        "half a win for each. Ratings describe the pairs that were played.",
    ),
    Column(
        "elo",
        "Elo, vote by vote (K=4)",
        "score",
        places=0,
        meaning="Elo as VisIT-Bench computes it (K=4, scale 400, start 1000): "
        f"the median over {ELO_ORDERS} seeded orders of the matches.",
    ),
    interval("elo_low", "elo_high", "Elo over orders", places=0),
    Column(
        "matches",
        "Matches",
        "count",
        meaning="Matches with a result. Each has two verdicts, one in each order. While people may still vote on "
        "these items, a submission's matches with models of the item bank don't count. Those with the reference do.",
    ),
    Column("ties", "Tied", "count", meaning="Matches that neither won."),
    Column(
        "win_rate",
        "Win rate",
        "percent",
        "win_rate_low",
        "win_rate_high",
        meaning="Share of its matches against the human-verified references that it won, without ties.",
    ),
    Column("decided", "Decided", "count", meaning="The number of those matches."),
    Column(
        "unscored",
        "Unscored",
        "count",
        meaning="Matches without a verdict in one of the orders. They count nowhere else.",
    ),
)
VARIANT = Column(
    "variant",
    "Variant",
    "count",
    meaning="How many times its submitter has entered answers to these items.",
)
PEOPLE = Column(
    "people",
    "Human rating",
    "score",
    places=0,
    meaning="The rating by human votes on the same items, on the official board.",
)


def board_sheet(
    name: str,
    title: str,
    board: AutomaticBoard,
    people: Mapping[str, float] | None = None,
    variants: Mapping[str, int] | None = None,
) -> Sheet:
    """Ratings and win rates of each model, best first.

    `people` has ratings by people's votes, `variants` each submission's number among its submitter's tries, both by
    model. Without them, their columns are left out.
    """
    rows = []
    for line in board.lines:
        row = _row(line)
        row["variant"] = (variants or {}).get(line.row.model)
        row["people"] = (people or {}).get(line.row.model)
        rows.append(row)
    frame = pd.DataFrame(rows)
    model, *others = COLUMNS
    columns = [
        model,
        *([VARIANT] if variants else []),
        *others,
        *([PEOPLE] if people else []),
    ]
    return Sheet(name, title, frame, tuple(columns), scrolls=True)


def _row(line: BoardLine) -> dict[str, object]:
    row = line.row
    rate = line.reference
    # Without a decided match, the interval is the whole range and says nothing.
    decided_rate = rate if rate and rate.n else None
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
        "win_rate": decided_rate.value if decided_rate else None,
        "win_rate_low": decided_rate.low if decided_rate else None,
        "win_rate_high": decided_rate.high if decided_rate else None,
        "decided": rate.n if rate else None,
        "unscored": line.unscored,
    }
