"""FastChat battle log, `{date}-conv.json`: one object per line, votes among chat turns, of text and vision arenas."""

import re
from collections.abc import Iterator
from typing import Any

from arena.formats import cells, conversations
from arena.formats.base import Format, Row, SkippedRow, Vote, Winner
from arena.io.strict_json import RowsError

_TYPES: dict[str, Winner] = {
    "leftvote": "a",
    "rightvote": "b",
    "tievote": "tie",
    "bothbad_vote": "both_bad",
    "bothbadvote": "both_bad",
}
_HEADING = re.compile(r"(?:<h3>|### )?Model [AB](?:: (.*?))?(?:</h3>)?\n?", re.DOTALL)
"""The page's heading of a side, in older logs as HTML. Group 1 is the model's name, which a blind battle hides."""


def _vote(row: Row) -> Vote | SkippedRow:
    kind = row.get("type")
    if "models" not in row or kind == "share":
        return SkippedRow(f"of type {kind!r}, no battle vote")
    models = _models(row)
    states = _states(row)
    if None in models:
        return SkippedRow("null for a name on the page")
    page_names = list(map(_shown_name, models))
    true_names = [
        state.get("model_name") or name for state, name in zip(states, page_names, strict=True)
    ]
    is_blind = not any(page_names)
    if not is_blind and ("" in page_names or true_names != page_names):
        return SkippedRow("the names on the page are not those behind it")
    question = _question(states[0])
    # As cells of "models", so that an error names this column.
    model_a, model_b = (cells.name({"models": name}, "models") for name in true_names)
    # Questions and answers alternate, and the last question may have none.
    turns = (len(_messages(states[0])) + 1) // 2
    # A row without a question doesn't say how many images it had.
    image_count = len(question.images) if question.text else None
    return Vote(
        model_a=model_a,
        model_b=model_b,
        winner=cells.choice(row, "type", _TYPES),
        item=cells.item_of(question.text, question.images),
        voter=cells.text(row, "ip"),
        time=cells.moment(row, "tstamp"),
        turns=turns or None,
        images=image_count,
        conversation=cells.text(states[0], "conv_id"),
        blind=is_blind,
        picture=cells.picture_of(question.text, question.images),
    )


def _answers(row: Row) -> Iterator[str]:
    """Yields both models' answers: every second message, which is a pair of role and content."""
    for state in _states(row):
        for message in _messages(state)[1::2]:
            if isinstance(message, list) and len(message) == 2:
                yield conversations.turn_cell(message[1]).text


def _states(row: Row) -> list[dict[str, Any]]:
    """Returns the record of each side's conversation, an empty one if the row has none."""
    states = cells.pair(row, "states") or ({}, {})
    return [state if isinstance(state, dict) else {} for state in states]


def _models(row: Row) -> list[Any]:
    """Returns the page's heading of each side; null stays, since `_vote` skips it as FastChat's cleaner does."""
    models = cells.pair(row, "models")
    if models is None or not all(isinstance(name, str | None) for name in models):
        raise RowsError(
            f"Expected a list of two names, found {cells.quoted(row['models'])}. Correct it.",
            column="models",
        )
    return models


def _shown_name(name: str) -> str:
    """Returns the name on the page when the vote was cast, "" for none."""
    heading = _HEADING.fullmatch(name)
    return (heading[1] or "") if heading else name


def _messages(state: dict[str, Any]) -> list[Any]:
    """Returns the messages of the conversation, without the template's examples."""
    messages = state.get("messages")
    offset = state.get("offset")
    if not isinstance(messages, list):
        return []
    first = offset if isinstance(offset, int) else 0
    return messages[first:]


def _question(state: dict[str, Any]) -> conversations.TurnCell:
    """Returns the first question of a conversation; an empty one if there is none."""
    messages = _messages(state)
    first = messages[0] if messages else None
    if isinstance(first, list) and len(first) == 2:
        return conversations.turn_cell(first[1])
    return conversations.turn_cell(None)


def _row(vote: Vote) -> dict[str, Any]:
    # Of two spellings the first one is written: reversed, it comes last and replaces the other.
    spelling = {winner: kind for kind, winner in reversed(_TYPES.items())}
    names = [vote.model_a, vote.model_b]
    page_names = ["", ""] if vote.blind else names
    states = [
        {"messages": [], "offset": 0, "conv_id": vote.conversation, "model_name": name}
        for name in names
    ]
    return {
        "tstamp": vote.time,
        "type": spelling[vote.winner],
        "models": page_names,
        "states": states,
        "ip": vote.voter,
    }


def _losses(vote: Vote) -> list[str]:
    if vote.blind is None:
        return ["that blind is unknown (written as with the names in view)"]
    return []


FASTCHAT_LOG = Format(
    name="fastchat-log",
    # The first row may be a chat with one model, which has "model" and "state".
    fits=lambda columns: (
        {"tstamp", "type"} <= columns and bool({"models", "model", "states", "state"} & columns)
    ),
    vote=_vote,
    row=_row,
    holds=frozenset({"model_a", "model_b", "winner", "voter", "time", "conversation", "blind"}),
    suffixes=(".json", ".jsonl"),
    losses=_losses,
    answers=_answers,
    is_json_lines=True,
)
