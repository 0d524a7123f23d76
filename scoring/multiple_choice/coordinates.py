"""Coordinates in questions and options: rewritten as pixels or as shares of the image, and read as boxes to draw.

A bracket of an even number of numbers holds points: across, down, across, down. So [x, y, w, h] and [x1, y1, x2, y2]
are rewritten alike. Nothing outside brackets is touched.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations
from typing import Literal, NamedTuple

from scoring.multiple_choice.types import ChoiceQuestion

Unit = Literal["pixel", "normalised", "normalised-1000"]
Size = tuple[int, int]
"""Width and height in pixels."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom edge, as shares of the image's width and height."""

_BRACKET = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_NUMBER = re.compile(r"-?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_INTRINSIC = "Principal Point: "
"""What stands before a point of the camera, which is none of the image."""
_SIZES = (
    re.compile(r"width[^.\d]{0,40}(\d{1,6})[^.\d]{0,30}height[^.\d]{0,20}(\d{1,6})", re.ASCII),
    re.compile(r"width and (?:the )?height of[^.\d]{0,10}(\d{1,6}) and (\d{1,6})", re.ASCII),
    re.compile(r"(\d{1,6}) in width and (\d{1,6}) in height", re.ASCII),
)
_LARGEST_SHARE = 10
"""Larger numbers are pixels: shares reach beyond 1 where an option's box leaves the image."""
_RANGE = "within a normalized range of 0 to 1"
"""MMT-Bench's own words for coordinates that are shares."""
_UNITS: dict[Unit, tuple[str, str]] = {
    "pixel": ("in pixels", "Coordinates are in pixels: from 0 to {} across and from 0 to {} down."),
    "normalised": (_RANGE, "Coordinates are shares of the image's width and height, from 0 to 1."),
    "normalised-1000": (
        "within a range of 0 to 1000",
        "Coordinates are whole numbers from 0 to 1000: thousandths of the image's width and height.",
    ),
}
"""What stands in the place of `_RANGE`, and what the question ends with; the words are ours."""
_THOUSANDTH = Decimal("0.001")
_NAMED = re.compile(r"\(\s*\[[\[\]\d\s.,and-]*\]\s*\)", re.ASCII)
"""Boxes that a sentence names in parentheses: ([...]), ([...] and [...]), ([[...], [...]])."""
_MARKED = "(marked in red)"
"""MMT-Bench's words for a drawn box (Table A8)."""
_LEGEND = "The region coordinates are provided in the format"
_AFTER = " Note that"


class CoordinateError(ValueError):
    """A question's coordinates cannot be rewritten or drawn; the message says why, its kind before a colon."""


class Bracket(NamedTuple):
    """Points in a text, with their place in it."""

    start: int
    text: str
    numbers: tuple[Decimal, ...]


def brackets(text: str) -> Iterator[Bracket]:
    """The brackets that hold points. Raises CoordinateError for one with a number that holds none."""
    for found in _BRACKET.finditer(text):
        cells = [cell.strip() for cell in found[1].split(",")]
        numbers = [Decimal(cell) for cell in cells if _NUMBER.fullmatch(cell)]
        if len(cells) == 1 or not numbers or text.endswith(_INTRINSIC, 0, found.start()):
            continue
        if len(numbers) != len(cells) or len(cells) % 2:
            raise CoordinateError(f"no point, box or polygon: {found[0][:60]}")
        yield Bracket(found.start(), found[0], tuple(numbers))


def stated_size(text: str) -> Size | None:
    """The size of the image that a question states."""
    found = next((match for pattern in _SIZES if (match := pattern.search(text))), None)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    return size if all(size) else None


def in_unit(question: ChoiceQuestion, unit: Unit, size: Size) -> ChoiceQuestion:
    """The question with its coordinates in a unit; itself if they are in it, or it has none.

    Raises CoordinateError where a bracket cannot be read, or rounding makes two options equal.
    """
    corners = {(Decimal(1), Decimal(1)), tuple(map(Decimal, size))}
    texts = (question.text, *question.options.values())
    found = {one.numbers for text in texts for one in brackets(text)} - corners
    pixels = any(abs(number) > _LARGEST_SHARE for numbers in found for number in numbers)
    if not found or unit == ("pixel" if pixels else "normalised"):
        return question

    def rewritten(one: Bracket) -> str:
        wholes = pixels if one.numbers not in corners else one.numbers[0] != 1
        new = (
            _written(number, size[place % 2], wholes, unit)
            for place, number in enumerate(one.numbers)
        )
        return _NUMBER.sub(lambda _: next(new), one.text)

    phrase, note = _UNITS[unit]
    width, height = size
    asked = _replaced(question.text, rewritten).replace(_RANGE, phrase)
    text = f"{asked}\n{note.format(width, height)}"
    options = {letter: _replaced(text, rewritten) for letter, text in question.options.items()}
    for one, other in combinations(options, 2):
        if options[one] == options[other] and question.options[one] != question.options[other]:
            raise CoordinateError(f"rounding makes options equal: {one} and {other}")
    return replace(question, text=text, options=options)


def _written(number: Decimal, side: int, pixels: bool, unit: Unit) -> str:
    """A coordinate along a side of so many pixels, from pixels or from a share."""
    share = number / side if pixels else number
    if unit == "normalised":
        return str(share.quantize(_THOUSANDTH, ROUND_HALF_UP) + 0)  # 0.000, never -0.000
    whole = share * (1000 if unit == "normalised-1000" else side)
    return str(int(whole.quantize(Decimal(1), ROUND_HALF_UP)))


def _replaced(text: str, new: Callable[[Bracket], str]) -> str:
    """A text with other brackets; what stands between them stays."""
    parts = []
    end = 0
    for one in brackets(text):
        parts += [text[end : one.start], new(one)]
        end = one.start + len(one.text)
    return "".join(parts) + text[end:]


def named_boxes(text: str, size: Size) -> tuple[Box, ...]:
    """The boxes that a question names; of a question about [x, y, w, h] in that order. Raises CoordinateError."""
    found = [one.numbers for one in brackets(text) if len(one.numbers) == 4]
    pixels = any(abs(number) > _LARGEST_SHARE for numbers in found for number in numbers)
    gives_lengths = "[x,y,w,h]" in text.replace(" ", "")
    boxes = []
    for numbers in found:
        x, y, right, bottom = (
            float(number / size[place % 2] if pixels else number)
            for place, number in enumerate(numbers)
        )
        if gives_lengths:
            right = x + right
            bottom = y + bottom
        if min(right, 1) <= max(x, 0) or min(bottom, 1) <= max(y, 0):
            raise CoordinateError(
                f"a box without an area in the picture: {', '.join(map(str, numbers))}"
            )
        boxes.append((x, y, right, bottom))
    return tuple(boxes)


def without_boxes(text: str) -> str:
    """A question that calls its boxes marked in red, without their numbers and what explains them."""
    text = _replaced(
        _NAMED.sub(_MARKED, text), lambda one: _MARKED if len(one.numbers) == 4 else one.text
    )
    start = text.find(_LEGEND)
    end = text.find(_AFTER, start)
    return text if start < 0 else (text[:start].rstrip() + (text[end:] if end >= 0 else ""))
