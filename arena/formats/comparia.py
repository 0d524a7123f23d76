"""comparIA votes: the published `votes` table, with the chosen model by name, or both as equal."""

from typing import Any

from arena.formats import cells, conversations
from arena.formats.base import Format, Row, Vote, Winner
from arena.io.strict_json import RowsError

_NAMES = ("model_a_name", "model_b_name", "chosen_model_name")


def _vote(row: Row) -> Vote:
    model_a = cells.name(row, "model_a_name")
    model_b = cells.name(row, "model_b_name")
    opening = cells.text(row, "opening_msg") or ""
    return Vote(
        model_a=model_a,
        model_b=model_b,
        winner=_winner(row, model_a, model_b),
        item=cells.item_of(opening, ()),
        voter=cells.text(row, "visitor_id") or cells.text(row, "session_hash"),
        time=cells.moment(row, "timestamp"),
        turns=cells.count(row, "conv_turns"),
        conversation=cells.text(row, "conversation_pair_id"),
        picture=cells.picture_of(opening, ()),
    )


def _winner(row: Row, model_a: str, model_b: str) -> Winner:
    chosen = cells.text(row, "chosen_model_name")
    equal = cells.flag(row, "both_equal")
    has_chosen = chosen is not None
    is_equal = bool(equal)
    is_exactly_one = has_chosen != is_equal
    if not is_exactly_one:
        problem = f"Expected a chosen model or both_equal, found {cells.quoted(chosen)} and {equal}. Correct the row."
        raise RowsError(problem, column="chosen_model_name")
    if is_equal:
        return "tie"
    sides: dict[str, Winner] = {model_a: "a", model_b: "b"}
    # The models' names are without blanks around them, and so the chosen one has to be.
    stripped_row = {"chosen_model_name": cells.name(row, "chosen_model_name")}
    return cells.choice(stripped_row, "chosen_model_name", sides)


def _row(vote: Vote) -> dict[str, Any]:
    if vote.winner == "both_bad":
        raise RowsError("comparIA has no 'both_bad', only both_equal. Export to another format.")
    if vote.winner != "tie" and vote.model_a == vote.model_b:
        name = cells.quoted(vote.model_a)
        raise RowsError(
            f"comparIA names the chosen model, but both are {name}. Export to another format."
        )
    chosen = {"a": vote.model_a, "b": vote.model_b, "tie": None}[vote.winner]
    return {
        "timestamp": cells.iso(vote.time),
        "visitor_id": vote.voter,
        "conv_turns": vote.turns,
        "conversation_pair_id": vote.conversation,
        "model_a_name": vote.model_a,
        "model_b_name": vote.model_b,
        "chosen_model_name": chosen,
        "both_equal": vote.winner == "tie",
    }


COMPARIA = Format(
    name="comparia",
    fits=lambda columns: {*_NAMES, "both_equal"} <= columns,
    vote=_vote,
    row=_row,
    holds=frozenset({"model_a", "model_b", "winner", "voter", "time", "turns", "conversation"}),
    suffixes=(".jsonl", ".json", ".csv", ".tsv", ".parquet"),
    answers=lambda row: conversations.answers_in(row, "conversation_a", "conversation_b"),
)
