"""VisIT-Bench judged battles: JSON lines, as the authors return them to people who submit a model.

A row is a match with the judge's two verdicts. For the second one, the judge sees the answers in the other order: what
it calls A is the row's B. No file of the authors was available, so results are read as their README describes them:
both name the row's winning side (A, B or Tie, or the model itself), not the side that the judge saw. In a file that
names the judge's side, results contradict the judge's replies, which end in the verdict. Such rows are no votes. The
side with more of the two verdicts wins the match, else it is a tie (paper, 4.3). Our own files also have null for an
unscored verdict, and such a match is no vote."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from arena.formats import cells
from arena.formats.base import Format, Row, SkippedRow, Vote, Winner
from arena.io.strict_json import RowsError

RESULTS = "auto_evaluation_result"
_REPLIES = "auto_evaluation_cot"
Result = Literal["a", "b", "tie"]
_RESULTS: dict[str, Result] = {"a": "a", "b": "b", "tie": "tie", "unknown": "tie"}
"""Winners by a result in small letters. A refusal to choose counts as a tie, as in the authors' README."""
_CONCLUSION = re.compile(r"\boverall,\W*response\W+([AB])\W+is\W+better\W*\Z", re.IGNORECASE)
_LETTERS: dict[Winner, str] = {"a": "A", "b": "B", "tie": "Tie"}
_JUDGE = re.compile(r"(.*), reference-(free|backed)", re.DOTALL)
"""A voter as `_judge` names it: the judge's name, then whether it sees the reference."""


def _vote(row: Row) -> Vote | SkippedRow:
    winners = verdict_winners(row)
    if None in winners:
        return SkippedRow("the judge gave no verdict")
    for concluded, winner in zip(_reply_winners(row), winners, strict=True):
        if concluded not in (None, winner):
            return SkippedRow("a result is not what the judge's reply says")
    instruction = cells.text(row, "instruction") or ""
    images = cells.parsed(row.get("image_url"))
    if not isinstance(images, list):
        images = [images] if images else []
    return Vote(
        model_a=cells.name(row, "A_model"),
        model_b=cells.name(row, "B_model"),
        winner=_match_winner(winners),
        item=cells.item_of(instruction, images),
        voter=_judge(row),
        category=cells.text(row, "instruction_category"),
        images=len(images) or None,
        judge=True,
        picture=cells.picture_of(instruction, images),
    )


def _match_winner(winners: Sequence[Result | None]) -> Result:
    """Returns the side with more of the two verdicts, else a tie."""
    lead = winners.count("a") - winners.count("b")
    if lead == 0:
        return "tie"
    return "a" if lead > 0 else "b"


def _judge(row: Row) -> str | None:
    engine = cells.text(row, "engine")
    backed = cells.flag(row, "evaluated_with_reference")
    if engine is None or backed is None:
        return engine
    return f"{engine}, reference-{'backed' if backed else 'free'}"


def verdict_winners(row: Row) -> tuple[Result | None, Result | None]:
    """Returns the winner of each of a row's two verdicts, None for an unscored one. Raises RowsError."""
    pair = cells.pair(row, RESULTS)
    if pair is None:
        value = cells.quoted(row.get(RESULTS))
        raise RowsError(
            f"Expected a list of two results, found {value}. Correct it.", column=RESULTS
        )
    return _verdict_winner(pair[0], row), _verdict_winner(pair[1], row)


def _reply_winners(row: Row) -> list[Result | None]:
    """Returns the row's side that each of the two replies calls better at its end.

    None for a reply without such an end, or if the row doesn't say which model the reply means.
    """
    sides = _sides(row)
    replies = _texts(row, _REPLIES)
    first_names = _texts(row, "A_model_in_cot")
    second_names = _texts(row, "B_model_in_cot")
    concluded = []
    for reply, first, second in zip(replies, first_names, second_names, strict=True):
        conclusion = _CONCLUSION.search(reply)
        if conclusion is None:
            concluded.append(None)
        else:
            model = first if conclusion[1].upper() == "A" else second
            concluded.append(sides.get(model.strip()))
    return concluded


def _sides(row: Row) -> dict[str, Result]:
    return {cells.name(row, "A_model"): "a", cells.name(row, "B_model"): "b"}


def _texts(row: Row, column: str) -> list[str]:
    """Returns the two texts of a column, empty if it does not have them."""
    return [text if isinstance(text, str) else "" for text in cells.pair(row, column) or ("", "")]


def _verdict_winner(result: Any, row: Row) -> Result | None:
    if result is None:
        return None
    winner = None
    sides = _sides(row)
    if isinstance(result, str):
        winner = _RESULTS.get(result.strip().lower()) or sides.get(result.strip())
    if winner is None:
        raise RowsError(
            f"Expected A, B or Tie, found {cells.quoted(result)}. Correct it.", column=RESULTS
        )
    return winner


def _row(vote: Vote) -> dict[str, Any]:
    if not vote.judge or vote.winner not in _LETTERS:
        value = repr(vote.winner) if vote.judge else "a vote that isn't known to be a judge's"
        raise RowsError(f"Expected a judge's A, B or tie, found {value}. Export to another format.")
    voter = vote.voter or ""
    named_judge = _JUDGE.fullmatch(voter)
    engine = voter
    reference: dict[str, bool] = {}
    if named_judge:
        engine = named_judge[1]
        reference = {"evaluated_with_reference": named_judge[2] == "backed"}
    return {
        "A_model": vote.model_a,
        "B_model": vote.model_b,
        "A": "",
        "B": "",
        "image_url": "",
        "instruction": "",
        "instruction_category": vote.category or "",
        "engine": engine,
        **reference,
        RESULTS: [_LETTERS[vote.winner]] * 2,
        _REPLIES: ["", ""],
    }


VISIT_BATTLES = Format(
    name="visit-battles",
    fits=lambda columns: {"A_model", "B_model", RESULTS} <= columns,
    vote=_vote,
    row=_row,
    holds=frozenset({"model_a", "model_b", "winner", "voter", "category", "judge"}),
    suffixes=(".jsonl", ".json"),
)
