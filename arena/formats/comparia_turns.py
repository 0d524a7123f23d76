"""comparIA's newer table: a row is a turn of a conversation with two models, with a `choice` if there is one.

Sources: the card of huggingface.co/datasets/comparIA/comparia-fr-arena, and the scripts of the repository
simonaszilinskas/comparia-data-analysis, which read it: `choice` is `a_better`, `b_better`, `both_good` or `both_bad`,
and `turn` counts from 0. The published table has no voters, but other exports may have a `visitor_id` or
`session_hash`. By the card, names are revealed only after a choice, whatever the `mode` in which the two models were
picked.
"""

from collections.abc import Iterator
from typing import Any

from arena.formats import cells, conversations
from arena.formats.base import Format, Row, SkippedRow, Vote, Winner

_CHOICES: dict[str, Winner] = {
    "a_better": "a",
    "model_a": "a",
    "b_better": "b",
    "model_b": "b",
    "both_good": "tie",
    "both_bad": "both_bad",
}
"""Winners by choice; a file may have the side's name instead of `a_better` or `b_better`."""
_NO_CHOICE = (None, "", "idk")
"""The values of a turn without a choice; `idk` is comparIA's word for a skipped vote."""


def _vote(row: Row) -> Vote | SkippedRow:
    if row.get("choice") in _NO_CHOICE:
        return SkippedRow("no choice was made on the turn")
    question = _question(row)
    turn = cells.count(row, "turn")
    metadata = _metadata(row)
    return Vote(
        model_a=cells.name(row, cells.first_filled(row, "model_a", "model_a_name")),
        model_b=cells.name(row, cells.first_filled(row, "model_b", "model_b_name")),
        winner=cells.choice(row, "choice", _CHOICES),
        item=cells.item_of(question, ()),
        voter=cells.text(row, cells.first_filled(row, "visitor_id", "session_hash")),
        time=cells.moment(row, "timestamp"),
        category=_first_text(metadata.get("categories")),
        language=_first_text(metadata.get("languages")),
        turns=cells.count(row, "conv_turns") if turn is None else turn + 1,
        conversation=cells.text(
            row, cells.first_filled(row, "comparison_id", "conversation_pair_id")
        ),
        blind=True,
        picture=cells.picture_of(question, ()),
    )


def _question(row: Row) -> str:
    """Returns the first question of the conversation."""
    opening = cells.text(row, cells.first_filled(row, "opening_msg", "prompt"))
    if opening:
        return opening
    column = cells.first_filled(row, "full_conversation_a", "conversation_a", "response_a")
    return conversations.question(row.get(column)).text


def _metadata(row: Row) -> dict[str, Any]:
    metadata = cells.parsed(row.get("metadata"))
    return metadata if isinstance(metadata, dict) else {}


def _first_text(values: Any) -> str | None:
    """Returns the first of a list of texts; None if there is none."""
    return next(map(str, cells.listed(values)), None)


def _answers(row: Row) -> Iterator[str]:
    """Yields only the answers that the voter had read: the conversation may go on after the choice."""
    turn = cells.count(row, "turn")
    for side in ("a", "b"):
        column = cells.first_filled(
            row, f"full_conversation_{side}", f"conversation_{side}", f"response_{side}"
        )
        answers = list(conversations.answers(row.get(column)))
        yield from answers if turn is None else answers[: turn + 1]


COMPARIA_TURNS = Format(
    name="comparia-turns",
    fits=lambda columns: (
        "choice" in columns
        and ({"model_a", "model_b"} <= columns or {"model_a_name", "model_b_name"} <= columns)
    ),
    vote=_vote,
    answers=_answers,
)
