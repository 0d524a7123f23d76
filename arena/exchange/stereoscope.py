"""Our own votes: every column by its name; a vote from elsewhere carries its first row along as JSON text."""

from typing import Any

from arena.exchange import cells
from arena.exchange.battles import Format, Row, Vote, Winner

WINNERS: dict[str, Winner] = {"a": "a", "b": "b", "tie": "tie", "both_bad": "both_bad"}
ORIGIN, ORIGIN_ROW = "origin", "origin_row"
"""The columns that name the format which a vote first came in, and hold its row there."""


def _vote(row: Row) -> Vote:
    return Vote(
        model_a=cells.name(row, "model_a"),
        model_b=cells.name(row, "model_b"),
        winner=cells.choice(row, "winner", WINNERS),
        item=cells.text(row, "item"),
        voter=cells.text(row, "voter"),
        time=cells.number(row, "time"),
        category=cells.text(row, "category"),
        language=cells.text(row, "language"),
        turns=cells.count(row, "turns"),
        images=cells.count(row, "images"),
        conversation=cells.text(row, "conversation"),
        blind=cells.flag(row, "blind"),
    )


def _row(vote: Vote) -> dict[str, Any]:
    return {**vote._asdict(), ORIGIN: None, ORIGIN_ROW: None}


STEREOSCOPE = Format(
    name="stereoscope",
    fits=lambda columns: {*Vote._fields, ORIGIN, ORIGIN_ROW} <= columns,
    vote=_vote,
    row=_row,
    holds=frozenset(Vote._fields),
    suffixes=(".jsonl", ".parquet"),
)
