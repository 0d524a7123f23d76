"""Evalica's CSV: `left`, `right` and `winner`, which is left, right or tie.

Source: `read_csv` of `python/evalica/__main__.py` in the repository dustalov/evalica, which ignores every other winner.
"""

from typing import Any

from arena.formats import cells
from arena.formats.base import Format, Row, SkippedRow, Vote, Winner
from arena.io.strict_json import RowsError

_WINNERS: dict[str, Winner] = {"left": "a", "right": "b", "tie": "tie"}


def _vote(row: Row) -> Vote | SkippedRow:
    winner = _WINNERS.get(str(row.get("winner") or "").lower())
    if winner is None:
        return SkippedRow("a winner that evalica ignores (it reads left, right and tie)")
    return Vote(cells.name(row, "left"), cells.name(row, "right"), winner)


def _row(vote: Vote) -> dict[str, Any]:
    spellings = {winner: spelling for spelling, winner in _WINNERS.items()}
    if vote.winner not in spellings:
        raise RowsError(f"evalica has no {vote.winner!r}, only tie. Export to another format.")
    return {"left": vote.model_a, "right": vote.model_b, "winner": spellings[vote.winner]}


EVALICA = Format(
    name="evalica",
    fits=lambda columns: {"left", "right", "winner"} <= columns,
    vote=_vote,
    row=_row,
    holds=frozenset({"model_a", "model_b", "winner"}),
    suffixes=(".csv",),
)
