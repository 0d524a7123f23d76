"""Conversations in rows: the first question, with its images, and the models' answers."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from arena.formats import cells
from arena.formats.base import Row


class TurnCell(NamedTuple):
    """A message of a conversation: its text, and a value for each of its images."""

    text: str
    images: list[Any]


def turn_cell(content: Any) -> TurnCell:
    """Returns a message's content: a text, FastChat's [text, [image, ...]], or a list of parts; empty otherwise."""
    if isinstance(content, str):
        return TurnCell(content, [])
    if _is_text_with_images(content):
        return TurnCell(text=content[0], images=content[1])
    parts = cells.records(content)
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    images = [_image(part) for part in parts if _is_image(part)]
    return TurnCell("\n".join(texts), images)


def _is_text_with_images(content: Any) -> bool:
    """Returns whether a content has FastChat's form [text, [image, ...]]."""
    return isinstance(content, list) and [type(part) for part in content] == [str, list]


def _is_image(part: dict[str, Any]) -> bool:
    return part.get("type") in ("image", "image_url") or part.get("image") is not None


def _image(part: dict[str, Any]) -> Any:
    image = part.get("image")
    return part.get("image_url") if image is None else image


def question(conversation: Any) -> TurnCell:
    """Returns the user's first question in a list of messages with `role` and `content`.

    A file may name the user's role otherwise: without `user`, the first message that isn't a model's is the question.
    """
    turns = [turn for turn in cells.records(conversation) if turn.get("role") != "assistant"]
    questions = [turn for turn in turns if turn.get("role") == "user"] or turns
    return turn_cell(questions[0].get("content")) if questions else TurnCell("", [])


def answers_in(row: Row, *columns: str) -> Iterator[str]:
    """Yields the models' answers in the conversations of these columns."""
    for column in columns:
        yield from answers(row.get(column))


def answers(conversation: Any) -> Iterator[str]:
    """Yields the model's texts."""
    for turn in cells.records(conversation):
        if turn.get("role") == "assistant":
            yield turn_cell(turn.get("content")).text
