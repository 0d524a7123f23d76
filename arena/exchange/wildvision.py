"""WildVision-Arena's battles: FastChat's cleaned columns with one image beside them, times in whole seconds."""

from typing import Any

from arena.exchange.battles import Format, Row, Vote
from arena.exchange.clean_battles import CLEAN_BATTLES, row_of, vote_of


def _vote(row: Row) -> Vote:
    image = row["image"]
    return vote_of(row, [image] if image else None)._replace(category=row.get("domain") or None)


def _row(vote: Vote) -> dict[str, Any]:
    time = None if vote.time is None else int(vote.time)
    return {**row_of(vote), "tstamp": time, "image": None, "domain": vote.category}


WILDVISION = Format(
    name="wildvision",
    fits=lambda columns: CLEAN_BATTLES.fits(columns) and "image" in columns,
    vote=_vote,
    row=_row,
    holds=CLEAN_BATTLES.holds | {"category"},
    suffixes=(".jsonl", ".json", ".parquet"),
)
