"""FastChat's battle log, `{date}-conv.json`: one object a line, votes among chat turns, of text and vision arenas."""

import re
from typing import Any

from arena.exchange import cells
from arena.exchange.battles import Format, LeftOut, Row, Vote, Winner

_TYPES: dict[str, Winner] = {
    "leftvote": "a",
    "rightvote": "b",
    "tievote": "tie",
    "bothbad_vote": "both_bad",
    "bothbadvote": "both_bad",
}
_REVEALED = re.compile(r"(?:<h3>|### )?Model [AB](?:: (.*?))?(?:</h3>)?\n?", re.DOTALL)
"""A name as the page shows it after the vote, in older logs as HTML; without one, the sides of a blind battle."""


def _vote(row: Row) -> Vote | LeftOut:
    kind = row.get("type")
    if "models" not in row or kind == "share":
        return LeftOut(f"of type {kind!r}, no battle vote")
    states = _states(row)
    shown = [_shown_name(entry) for entry in _pair(row["models"])]
    hidden = [state.get("model_name") or name for state, name in zip(states, shown, strict=True)]
    blind = not any(shown)
    if not blind and hidden != shown:
        return LeftOut("the names on the page are not those behind it")
    question = _question(states[0])
    named = {"a": hidden[0], "b": hidden[1]}
    return Vote(
        model_a=cells.name(named, "a"),
        model_b=cells.name(named, "b"),
        winner=cells.choice(row, "type", _TYPES),
        item=cells.item_of(question.text, question.images),
        voter=cells.text(row, "ip"),
        time=cells.number(row, "tstamp"),
        turns=(len(_messages(states[0])) + 1) // 2 or None,
        images=len(question.images) if question.text else None,
        conversation=cells.text(states[0], "conv_id"),
        blind=blind,
    )


def _pair(value: Any) -> list[Any]:
    """Return the two entries of a list that has one for each side, two times None for all else."""
    return value if isinstance(value, list) and len(value) == 2 else [None, None]


def _states(row: Row) -> list[dict[str, Any]]:
    return [state if isinstance(state, dict) else {} for state in _pair(row.get("states"))]


def _shown_name(entry: Any) -> str:
    """Return the name that the page showed when the vote was cast, "" for none."""
    name = entry if isinstance(entry, str) else ""
    revealed = _REVEALED.fullmatch(name)
    return (revealed[1] or "") if revealed else name


def _messages(state: dict[str, Any]) -> list[Any]:
    """Return the messages of the conversation, without the examples that its template begins with."""
    messages, offset = state.get("messages"), state.get("offset")
    return messages[offset if isinstance(offset, int) else 0 :] if isinstance(messages, list) else []


def _question(state: dict[str, Any]) -> cells.Turn:
    first = next(iter(_messages(state)), None)
    return cells.turn(first[1] if isinstance(first, list) and len(first) == 2 else None)


def _row(vote: Vote) -> dict[str, Any]:
    spelling = {winner: kind for kind, winner in reversed(_TYPES.items())}
    shown = ["", ""] if vote.blind else [vote.model_a, vote.model_b]
    names = (vote.model_a, vote.model_b)
    states = [{"messages": [], "offset": 0, "conv_id": vote.conversation, "model_name": name} for name in names]
    return {"tstamp": vote.time, "type": spelling[vote.winner], "models": shown, "states": states, "ip": vote.voter}


FASTCHAT_LOG = Format(
    name="fastchat-log",
    fits=lambda columns: {"tstamp", "type"} <= columns and bool({"models", "model", "states", "state"} & columns),
    vote=_vote,
    row=_row,
    holds=frozenset({"model_a", "model_b", "winner", "voter", "time", "conversation", "blind"}),
    suffixes=(".json", ".jsonl"),
    lines=True,
)
