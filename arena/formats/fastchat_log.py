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
_REVEALED = re.compile(r"(?:<h3>|### )?Model [AB](?:: (.*?))?(?:</h3>)?\n?", re.DOTALL)
"""A name on the page after the vote, in older logs as HTML; without one, the side's label in a blind battle."""


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
    is_half_blind = not is_blind and "" in page_names
    if is_half_blind or (not is_blind and true_names != page_names):
        return SkippedRow("the names on the page are not those behind it")
    question = _question(states[0])
    model_a, model_b = (cells.name({"models": name}, "models") for name in true_names)
    # Questions and answers alternate, and the last question may have none.
    turns = (len(_messages(states[0])) + 1) // 2
    return Vote(
        model_a=model_a,
        model_b=model_b,
        winner=cells.choice(row, "type", _TYPES),
        item=cells.item_of(question.text, question.images),
        voter=cells.text(row, "ip"),
        time=cells.moment(row, "tstamp"),
        turns=turns or None,
        images=len(question.images) if question.text else None,
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
    """Returns the page's heading of each side; FastChat's cleaner skips null."""
    models = cells.pair(row, "models")
    if models is None or not all(isinstance(name, str | None) for name in models):
        raise RowsError(
            f"Expected a list of two names, found {cells.quoted(row['models'])}. Correct it.",
            column="models",
        )
    return models


def _shown_name(name: str) -> str:
    """Returns the name on the page when the vote was cast, "" for none."""
    revealed = _REVEALED.fullmatch(name)
    return (revealed[1] or "") if revealed else name


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
    # Of two spellings the first one is written.
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
