"""Stereoscope votes: our own format, each column by its name; an imported vote has its original row as JSON text.

An imported row without a vote, such as a chat turn of a log, has only its original row.
"""

from typing import Any

from arena.formats import cells
from arena.formats.base import Format, Row, SkippedRow, Vote, Winner

WINNERS: dict[str, Winner] = {"a": "a", "b": "b", "tie": "tie", "both_bad": "both_bad"}
ORIGIN = "origin"
ORIGIN_ROW = "origin_row"
"""ORIGIN, ORIGIN_ROW: the columns for the format that a vote was imported from, and for its row there."""


def _vote(row: Row) -> Vote | SkippedRow:
    origin = cells.text(row, ORIGIN)
    origin_row = cells.text(row, ORIGIN_ROW)
    if row.get("winner") is None and origin_row:
        return SkippedRow(f"of {origin}, no vote there")
    return Vote(
        model_a=cells.name(row, "model_a"),
        model_b=cells.name(row, "model_b"),
        winner=cells.choice(row, "winner", WINNERS),
        item=cells.text(row, "item"),
        voter=cells.text(row, "voter"),
        time=cells.seconds(row, "time"),
        category=cells.text(row, "category"),
        language=cells.text(row, "language"),
        turns=cells.count(row, "turns"),
        images=cells.count(row, "images"),
        conversation=cells.text(row, "conversation"),
        blind=cells.flag(row, "blind"),
        judge=cells.flag(row, "judge"),
        picture=cells.text(row, "picture"),
    )


def native_row(
    vote: Vote | None, origin: str | None = None, origin_row: str | None = None
) -> dict[str, Any]:
    """Returns a vote's row, or that of an imported row without a vote (None).

    `origin`, `origin_row`: the format that it was imported from, and its row there as JSON.
    """
    values = dict.fromkeys(Vote._fields) if vote is None else vote._asdict()
    return {**values, ORIGIN: origin, ORIGIN_ROW: origin_row}


STEREOSCOPE = Format(
    name="stereoscope",
    fits=lambda columns: {"model_a", "model_b", "winner", ORIGIN, ORIGIN_ROW} <= columns,
    vote=_vote,
    row=native_row,
    holds=frozenset(Vote._fields),
    suffixes=(".jsonl", ".parquet"),
)
