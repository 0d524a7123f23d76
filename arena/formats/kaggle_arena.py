"""Battles of Kaggle's arena competitions: a prompt, two responses, and a winner, one-hot or by name.

Sources: the data pages of kaggle.com/competitions/lmsys-chatbot-arena (arena-human-preference-55k on the Hub), which
has a column of 0 and 1 for each winner and lists of turns as JSON, and of wsdm-cup-multilingual-chatbot-arena, which
has texts and a column `winner`. Neither has voters or times.
"""

from collections.abc import Iterator, Set
from typing import Any

from arena.formats import cells
from arena.formats.base import Format, Row, Vote, Winner
from arena.formats.three_columns import WINNERS
from arena.io.strict_json import RowsError

_ONE_HOT: dict[str, Winner] = {f"winner_{spelling}": winner for spelling, winner in WINNERS.items()}


def _vote(row: Row) -> Vote:
    turns = _turns(row.get("prompt"))
    question = turns[0] if turns else ""
    return Vote(
        model_a=cells.name(row, "model_a"),
        model_b=cells.name(row, "model_b"),
        winner=_winner(row),
        item=cells.item_of(question, ()),
        language=cells.text(row, "language"),
        turns=len(turns) or None,
        conversation=cells.text(row, "id"),
        picture=cells.picture_of(question, ()),
    )


def _winner(row: Row) -> Winner:
    if "winner" in row:
        return cells.choice(row, "winner", WINNERS)
    marked = [column for column in _ONE_HOT if cells.flag(row, column)]
    if len(marked) != 1:
        columns = " and ".join(marked) or "none"
        problem = (
            f"Expected 1 in one of the columns winner_..., found it in {columns}. Correct the row."
        )
        raise RowsError(problem, column="winner_model_a")
    return _ONE_HOT[marked[0]]


def _turns(value: Any) -> list[str]:
    """Returns the texts of a conversation's turns, from a list in JSON, or from a plain text of one turn."""
    turns = cells.parsed(value)
    if isinstance(turns, list) and all(isinstance(turn, str | None) for turn in turns):
        return [turn or "" for turn in turns]
    if isinstance(value, str) and value:
        return [value]
    return []


def _answers(row: Row) -> Iterator[str]:
    for column in ("response_a", "response_b"):
        yield from _turns(row.get(column))


def _fits(columns: Set[str]) -> bool:
    is_one_hot = {"winner_model_a", "winner_model_b"} <= columns
    is_by_name = {"prompt", "winner"} <= columns
    return (is_one_hot or is_by_name) and {"model_a", "model_b"} <= columns


KAGGLE_ARENA = Format(name="kaggle-arena", fits=_fits, vote=_vote, answers=_answers)
