"""FastChat cleaned battles (`clean_battle_data.py`), and data sets of the same make.

VisionArena-Battle, arena-human-preference-100k and -140k and arena-expert-5k have its columns and more. Sources:
FastChat's `clean_battle_data.py`, and the data sets' cards on huggingface.co/lmarena-ai. The 100k set names voters in
`judge_hash` and marks duplicates in `dedup_tag`. In the 140k set `evaluation_session_id` stands for the voter; the
expert set names neither voters nor times. The newer spelling of "tie (bothbad)" is "both_bad".
"""

from collections.abc import Iterator
from typing import Any

from arena.formats import cells, conversations
from arena.formats.base import Format, Row, Vote, Winner
from arena.formats.three_columns import WINNERS

SPELLINGS: dict[Winner, str] = {
    "a": "model_a",
    "b": "model_b",
    "tie": "tie",
    "both_bad": "tie (bothbad)",
}
_TYPICAL_COLUMNS = {
    "anony",
    "conversation_a",
    "judge",
    "judge_hash",
    "tstamp",
    "timestamp",
    "conv_metadata",
    "question_id",
    "evaluation_order",
}


def vote_of(row: Row, images: list[Any] | None, conversation: str = "conversation_a") -> Vote:
    """Returns the vote of a row with FastChat's columns.

    `images` are the row's own, beside those of its first turn; None if the row has no list of them. Without a question
    the row's `question_id` is the item, as in WildVision-Bench. Every row has a vote, since FastChat has cleaned them.
    """
    question = conversations.question(row.get(conversation))
    all_images = [*question.images, *(images or [])]
    is_number_known = images is not None or bool(question.images)
    return Vote(
        model_a=cells.name(row, "model_a"),
        model_b=cells.name(row, "model_b"),
        winner=cells.choice(row, "winner", WINNERS),
        item=cells.item_of(question.text, all_images) or cells.text(row, "question_id"),
        voter=cells.text(
            row, cells.first_filled(row, "judge", "judge_hash", "evaluation_session_id")
        ),
        time=cells.moment(row, cells.first_filled(row, "tstamp", "timestamp")),
        language=cells.text(row, "language"),
        turns=cells.count(row, cells.first_filled(row, "turn", "num_turns")),
        images=len(all_images) if is_number_known else None,
        blind=cells.flag(row, "anony"),
        picture=cells.picture_of(question.text, all_images),
    )


def answers_of(row: Row) -> Iterator[str]:
    """Yields the answers of both models."""
    return conversations.answers_in(row, "conversation_a", "conversation_b")


def is_duplicate(row: Row) -> bool:
    """Returns whether LMArena's deduplication left a row out; of a frequent prompt it keeps only some rows."""
    tag = cells.parsed(row.get("dedup_tag"))
    return isinstance(tag, dict) and tag.get("sampled") is False


def row_of(vote: Vote) -> dict[str, Any]:
    """Returns a row with FastChat's columns; the conversations are unknown."""
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
    images = cells.parsed(row.get("images"))
    return vote_of(row, images if isinstance(images, list) else None)


CLEAN_BATTLES = Format(
    name="clean-battles",
    fits=lambda columns: (
        {"model_a", "model_b", "winner"} <= columns and bool(_TYPICAL_COLUMNS & columns)
    ),
    vote=_vote,
    row=row_of,
    holds=frozenset(
        {"model_a", "model_b", "winner", "voter", "time", "language", "turns", "blind"}
    ),
    suffixes=(".json", ".jsonl", ".parquet"),
    answers=answers_of,
    is_duplicate=is_duplicate,
)
