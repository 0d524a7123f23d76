"""Conversations in rows: what was asked first, with its images, and what a model answered."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from arena.formats import cells
from arena.formats.base import Row


class TurnCell(NamedTuple):
    """What was put to the models: a text, and what stands for each of its images."""

    text: str
    images: list[Any]


def turn_cell(content: Any) -> TurnCell:
    """Content of a message: a text, FastChat's [text, [image, ...]], or a list of parts; empty for anything else."""
    if isinstance(content, str):
        return TurnCell(content, [])
    if isinstance(content, list) and list(map(type, content)) == [str, list]:
        return TurnCell(text=content[0], images=content[1])
    parts = cells.records(content)
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    images = [_image(part) for part in parts if _is_image(part)]
    return TurnCell("\n".join(texts), images)


def _is_image(part: dict[str, Any]) -> bool:
    return part.get("type") in ("image", "image_url") or part.get("image") is not None


def _image(part: dict[str, Any]) -> Any:
    image = part.get("image")
    return part.get("image_url") if image is None else image


def question(conversation: Any) -> TurnCell:
    """What the user asked first in a list of messages with `role` and `content`."""
    turns = cells.records(conversation)
    asked = [turn for turn in turns if turn.get("role") == "user"] or turns
    return turn_cell(asked[0].get("content")) if asked else TurnCell("", [])


def answers_in(row: Row, *columns: str) -> Iterator[str]:
    """Yields what the models answered in the conversations of these columns."""
    for column in columns:
        yield from answers(row.get(column))


def answers(conversation: Any) -> Iterator[str]:
    """Yields the model's texts."""
    for turn in cells.records(conversation):
        if turn.get("role") == "assistant":
            yield turn_cell(turn.get("content")).text
