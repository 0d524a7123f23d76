"""Open WebUI's feedback export: thumbs on an answer that has siblings from other models.

Source: `backend/open_webui/models/feedbacks.py` and `routers/evaluations.py` of the repository open-webui/open-webui.
As on its leaderboard, an answer with a thumb up beats each of its `sibling_model_ids`, and one with a thumb down loses
to them. Only arena models (`meta.arena`) hide names until the thumb."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arena.formats import cells, conversations
from arena.formats.base import Format, Row, SkippedRow, Vote, Winner

_THUMBS: dict[str, Winner] = {"1": "a", "1.0": "a", "-1": "b", "-1.0": "b"}
"""The winner by rating: side a is the rated answer. pandas writes 1.0 if a column has gaps."""


def _split(row: Row) -> Sequence[Row]:
    """Returns a feedback as rows with one other model each."""
    data = _record(row, "data")
    siblings = _siblings(data)
    if len(siblings) < 2:
        return (row,)
    return [{**row, "data": {**data, "sibling_model_ids": [sibling]}} for sibling in siblings]


def _vote(row: Row) -> Vote | SkippedRow:
    data = _record(row, "data")
    winner = _THUMBS.get(str(data.get("rating")))
    if winner is None:
        return SkippedRow("neither a thumb up nor a thumb down")
    siblings = _siblings(data)
    if not siblings:
        return SkippedRow("no other model answered beside it")
    if data.get("model_id") is None:
        return SkippedRow("the answer has no model")
    question = _question(row)
    # A row without a question doesn't say how many images it had.
    image_count = len(question.images) if question.text else None
    return Vote(
        model_a=cells.name(data, "model_id"),
        # As a cell of its column, so that an error names the column.
        model_b=cells.name({"sibling_model_ids": siblings[0]}, "sibling_model_ids"),
        winner=winner,
        item=cells.item_of(question.text, question.images),
        voter=cells.text(row, "user_id"),
        time=cells.moment(row, "created_at"),
        images=image_count,
        conversation=cells.text(row, "id"),
        blind=_record(row, "meta").get("arena") is True,
        picture=cells.picture_of(question.text, question.images),
    )


def _siblings(data: Mapping[str, Any]) -> list[Any]:
    """Returns the other models that answered, without null, which is an answer of an unknown model."""
    return [
        sibling for sibling in cells.listed(data.get("sibling_model_ids")) if sibling is not None
    ]


def _record(row: Mapping[str, Any], *members: str) -> Mapping[str, Any]:
    """Returns a record inside a row, by the members that lead to it; an empty one if there is none."""
    record: Any = row
    for member in members:
        record = record.get(member) if isinstance(record, Mapping) else None
    return record if isinstance(record, Mapping) else {}


def _messages(row: Row) -> Mapping[str, Any]:
    """Returns the chat's messages by their ids, at the time of the thumb."""
    # The snapshot has the chat's row of the database, and that row has the chat.
    return _record(row, "snapshot", "chat", "chat", "history", "messages")


def _user_message(row: Row) -> Mapping[str, Any]:
    """Returns the user's message that the answer replies to."""
    answer = _record(_messages(row), str(_record(row, "meta").get("message_id")))
    return _record(_messages(row), str(answer.get("parentId")))


def _question(row: Row) -> conversations.TurnCell:
    """Returns the user's message, with its images and those of its files."""
    message = _user_message(row)
    content = conversations.turn_cell(message.get("content"))
    files = cells.records(message.get("files"))
    images = [file.get("url") for file in files if file.get("type") == "image"]
    return conversations.TurnCell(content.text, [*content.images, *images])


def _answers(row: Row) -> Iterator[str]:
    """Yields the answers to the message, the rated one and its siblings."""
    for reply in cells.listed(_user_message(row).get("childrenIds")):
        answer = _record(_messages(row), str(reply))
        yield conversations.turn_cell(answer.get("content")).text


OPEN_WEBUI = Format(
    name="open-webui",
    fits=lambda columns: {"type", "data", "meta", "user_id"} <= columns,
    vote=_vote,
    split=_split,
    answers=_answers,
)
