"""VisIT-Bench human votes: `visit_bench_human_preferences.csv`, forced choices without voters, times or categories."""

from typing import Any

from arena.formats import cells
from arena.formats.base import Format, Row, Vote
from arena.io.strict_json import RowsError

_CHOSEN = {"a": "model_selection.A", "b": "model_selection.B"}
_COLUMNS = ("image_url", "instruction", "A", "B", "A_model", "B_model", *_CHOSEN.values())


def _vote(row: Row) -> Vote:
    are_chosen = [bool(cells.flag(row, column)) for column in _CHOSEN.values()]
    if sum(are_chosen) != 1:
        columns = " and ".join(_CHOSEN.values())
        both = " and ".join(cells.quoted(row.get(column)) for column in _CHOSEN.values())
        problem = (
            f"Expected True in one of {columns} and False in the other, found {both}. Correct it."
        )
        raise RowsError(problem, column=_CHOSEN["a"])
    instruction = cells.text(row, "instruction") or ""
    address = cells.text(row, "image_url")
    images = [address] if address else []
    return Vote(
        model_a=cells.name(row, "A_model"),
        model_b=cells.name(row, "B_model"),
        winner="a" if are_chosen[0] else "b",
        item=cells.item_of(instruction, images),
        images=len(images) or None,
        picture=cells.picture_of(instruction, images),
    )


def _row(vote: Vote) -> dict[str, Any]:
    if vote.winner not in _CHOSEN:
        raise RowsError(
            f"VisIT-Bench's choice is forced, but this vote is {vote.winner!r}. Export to another format."
        )
    texts = dict.fromkeys(_COLUMNS, "")
    chosen = {column: side == vote.winner for side, column in _CHOSEN.items()}
    return {**texts, "A_model": vote.model_a, "B_model": vote.model_b, **chosen}


VISIT_BENCH = Format(
    name="visit-bench",
    fits=lambda columns: {"A_model", "B_model", *_CHOSEN.values()} <= columns,
    vote=_vote,
    row=_row,
    holds=frozenset({"model_a", "model_b", "winner"}),
    suffixes=(".csv", ".tsv"),
    answers=lambda row: [str(row.get(side) or "") for side in ("A", "B")],
)
