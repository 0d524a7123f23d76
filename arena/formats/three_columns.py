"""Three-column votes: the frame `model_a, model_b, winner` of rating libraries (arena-rank, evalica and others)."""

from collections.abc import Sequence

from arena.formats import cells
from arena.formats.base import Columns, Format, Row, Vote, Winner

WINNERS: dict[str, Winner] = {
    "model_a": "a",
    "model_b": "b",
    "tie": "tie",
    "both_bad": "both_bad",
    "tie (bothbad)": "both_bad",
}


def _vote(row: Row) -> Vote:
    return Vote(
        cells.name(row, "model_a"), cells.name(row, "model_b"), cells.choice(row, "winner", WINNERS)
    )


def _columns(rows: Sequence[Row]) -> Columns | None:
    """Returns the votes of rows at once, faster than `_vote`; None if a row needs `_vote`'s checks and messages."""
    try:
        model_a = [row["model_a"] for row in rows]
        model_b = [row["model_b"] for row in rows]
        winner = [WINNERS[row["winner"]] for row in rows]
        names = {*model_a, *model_b}
    except (KeyError, TypeError):
        return None
    if not all(cells.is_name(name) and name == name.strip() for name in names):
        return None
    known = {"model_a": model_a, "model_b": model_b, "winner": winner}
    unknown = [None] * len(rows)
    return tuple(known.get(column, unknown) for column in Vote._fields)


def _row(vote: Vote) -> dict[str, str]:
    winner = f"model_{vote.winner}" if vote.winner in ("a", "b") else vote.winner
    return {"model_a": vote.model_a, "model_b": vote.model_b, "winner": winner}


THREE_COLUMNS = Format(
    name="three-columns",
    fits=lambda columns: {"model_a", "model_b", "winner"} <= columns,
    vote=_vote,
    row=_row,
    holds=frozenset({"model_a", "model_b", "winner"}),
    suffixes=(".csv", ".tsv", ".json", ".jsonl", ".parquet"),
    columns=_columns,
)
