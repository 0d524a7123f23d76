"""FastChat cleaned battles (`clean_battle_data.py`), and data sets of the same make.

VisionArena-Battle, arena-human-preference-100k and -140k have its columns and more. The newer spelling of "tie
(bothbad)" is "both_bad".
"""

from typing import Any

from arena.formats import cells
from arena.formats.base import Format, Row, Vote, Winner
from arena.formats.three_columns import WINNERS

SPELLINGS: dict[Winner, str] = {
    "a": "model_a",
    "b": "model_b",
    "tie": "tie",
    "both_bad": "tie (bothbad)",
}
_MARKS = {"anony", "conversation_a", "judge", "tstamp", "conv_metadata", "question_id"}


def vote_of(row: Row, images: list[Any] | None) -> Vote:
    """Vote of a row with FastChat's columns; `images` are its own, beside those of its first turn.

    Without the question its number is the item, as in WildVision-Bench. Each row counts: FastChat cleaned the battles.
    """
    turns = row.get("conversation_a")
    first = turns[0] if isinstance(turns, list) and turns else None
    question = cells.turn_cell(first.get("content") if isinstance(first, dict) else None)
    shown = [*question.images, *(images or [])]
    return Vote(
        model_a=cells.name(row, "model_a"),
        model_b=cells.name(row, "model_b"),
        winner=cells.choice(row, "winner", WINNERS),
        item=cells.item_of(question.text, shown) or cells.text(row, "question_id"),
        voter=cells.text(row, "judge"),
        time=cells.seconds(row, "tstamp"),
        language=cells.text(row, "language"),
        turns=cells.count(row, "turn" if "turn" in row else "num_turns"),
        images=len(shown) if shown or images is not None else None,
        blind=cells.flag(row, "anony"),
        picture=cells.picture_of(question.text, shown),
    )


def row_of(vote: Vote) -> dict[str, Any]:
    """Row with FastChat's columns; the conversations are unknown."""
    return {
        "question_id": vote.conversation or vote.item,
        "model_a": vote.model_a,
        "model_b": vote.model_b,
        "winner": SPELLINGS[vote.winner],
        "judge": vote.voter,
        "turn": vote.turns,
        "anony": vote.blind,
        "language": vote.language,
        "tstamp": vote.time,
    }


def _vote(row: Row) -> Vote:
    images = row.get("images")
    return vote_of(row, images if isinstance(images, list) else None)


CLEAN_BATTLES = Format(
    name="clean-battles",
    fits=lambda columns: {"model_a", "model_b", "winner"} <= columns and bool(_MARKS & columns),
    vote=_vote,
    row=row_of,
    holds=frozenset(
        {"model_a", "model_b", "winner", "voter", "time", "language", "turns", "blind"}
    ),
    suffixes=(".json", ".jsonl", ".parquet"),
)
