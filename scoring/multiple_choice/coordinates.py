"""Coordinates in questions and options: rewritten as pixels or as shares of the image, and read as boxes to draw.

A bracket with an even number of numbers contains points: across, down, across, down. [x, y, w, h] and [x1, y1, x2, y2]
are therefore rewritten alike. Text outside brackets stays.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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
"""The text before a point of the camera, which is not a point of the image."""
_SIZES = (
    re.compile(r"width[^.\d]{0,40}(\d{1,6})[^.\d]{0,30}height[^.\d]{0,20}(\d{1,6})", re.ASCII),
    re.compile(r"width and (?:the )?height of[^.\d]{0,10}(\d{1,6}) and (\d{1,6})", re.ASCII),
    re.compile(r"(\d{1,6}) in width and (\d{1,6}) in height", re.ASCII),
)
_LARGEST_SHARE = 10
"""Numbers above this are pixels: shares may exceed 1 where an option's box leaves the image."""
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
"""The replacement of `_RANGE`, and the last line of the question; the words are ours."""
_THOUSANDTH = Decimal("0.001")
_NAMED = re.compile(r"\(\s*\[[\[\]\d\s.,and-]*\]\s*\)", re.ASCII)
"""Boxes in parentheses in a sentence: ([...]), ([...] and [...]), ([[...], [...]])."""
_MARKED = "(marked in red)"
"""MMT-Bench's words for a drawn box (Table A8)."""
_LEGEND = "The region coordinates are provided in the format"
_AFTER = " Note that"


class CoordinateError(ValueError):
    """Coordinates of a question that cannot be rewritten or drawn; the message says why, its kind before a colon."""


class Bracket(NamedTuple):
    """Points in a text, with their place in it."""

    start: int
    text: str
    numbers: tuple[Decimal, ...]


def brackets(text: str) -> Iterator[Bracket]:
    """Yields the brackets with points. Raises CoordinateError for a bracket with a number but without points."""
    for match in _BRACKET.finditer(text):
        cells = [cell.strip() for cell in match[1].split(",")]
        numbers = [Decimal(cell) for cell in cells if _NUMBER.fullmatch(cell)]
        if len(cells) == 1 or not numbers or text.endswith(_INTRINSIC, 0, match.start()):
            continue
        if len(numbers) != len(cells) or len(cells) % 2:
            raise CoordinateError(f"no point, box or polygon: {match[0][:60]}")
        yield Bracket(match.start(), match[0], tuple(numbers))


def stated_size(text: str) -> Size | None:
    """The size of the image that a question states; None if it states none."""
    for pattern in _SIZES:
        match = pattern.search(text)
        if match:
            width = int(match[1])
            height = int(match[2])
            return (width, height) if width and height else None
    return None


def in_unit(question: ChoiceQuestion, unit: Unit, size: Size) -> ChoiceQuestion:
    """The question with its coordinates in a unit; unchanged if they are in it, or if there are none.

    Raises CoordinateError if a bracket cannot be read, or if rounding makes two options equal.
    """
    corners = {(Decimal(1), Decimal(1)), tuple(map(Decimal, size))}
    texts = (question.text, *question.options.values())
    points = {bracket.numbers for text in texts for bracket in brackets(text)} - corners
    has_pixels = _has_pixels(points)
    if not points or unit == ("pixel" if has_pixels else "normalised"):
        return question

    def rewrite(bracket: Bracket) -> str:
        is_in_pixels = has_pixels
        if bracket.numbers in corners:
            is_in_pixels = bracket.numbers[0] != 1
        numbers = (
            _converted(number, size[place % 2], is_in_pixels, unit)
            for place, number in enumerate(bracket.numbers)
        )
        return _NUMBER.sub(lambda _: next(numbers), bracket.text)

    phrase, note = _UNITS[unit]
    width, height = size
    rewritten = _replaced(question.text, rewrite).replace(_RANGE, phrase)
    text = f"{rewritten}\n{note.format(width, height)}"
    options = {letter: _replaced(text, rewrite) for letter, text in question.options.items()}
    for first, second in combinations(options, 2):
        is_equal = options[first] == options[second]
        if is_equal and question.options[first] != question.options[second]:
            raise CoordinateError(f"rounding makes options equal: {first} and {second}")
    return replace(question, text=text, options=options)


def _has_pixels(points: Iterable[Sequence[Decimal]]) -> bool:
    """Whether coordinates are in pixels, since one of them is too large for a share."""
    return any(abs(number) > _LARGEST_SHARE for numbers in points for number in numbers)


def _converted(number: Decimal, side: int, is_in_pixels: bool, unit: Unit) -> str:
    """A coordinate along a side, in pixels, from pixels or from a share to the unit."""
    share = number / side if is_in_pixels else number
    if unit == "normalised":
        return str(share.quantize(_THOUSANDTH, ROUND_HALF_UP) + 0)  # 0.000, never -0.000
    whole = share * (1000 if unit == "normalised-1000" else side)
    return str(int(whole.quantize(Decimal(1), ROUND_HALF_UP)))


def _replaced(text: str, rewrite: Callable[[Bracket], str]) -> str:
    """A text with its brackets rewritten; the text between them stays."""
    parts = []
    end = 0
    for bracket in brackets(text):
        parts += [text[end : bracket.start], rewrite(bracket)]
        end = bracket.start + len(bracket.text)
    return "".join(parts) + text[end:]


def named_boxes(text: str, size: Size) -> tuple[Box, ...]:
    """The boxes in a question, as [x1, y1, x2, y2], or as [x, y, w, h] if it says so. Raises CoordinateError."""
    points = [bracket.numbers for bracket in brackets(text) if len(bracket.numbers) == 4]
    has_pixels = _has_pixels(points)
    has_lengths = "[x,y,w,h]" in text.replace(" ", "")
    boxes = []
    for numbers in points:
        x, y, right, bottom = (
            float(number / size[place % 2] if has_pixels else number)
            for place, number in enumerate(numbers)
        )
        if has_lengths:
            right = x + right
            bottom = y + bottom
        if min(right, 1) <= max(x, 0) or min(bottom, 1) <= max(y, 0):
            raise CoordinateError(
                f"a box without an area in the picture: {', '.join(map(str, numbers))}"
            )
        boxes.append((x, y, right, bottom))
    return tuple(boxes)


def without_boxes(text: str) -> str:
    """A question that calls its boxes marked in red, without their numbers and the explanation of these."""

    def mark(bracket: Bracket) -> str:
        return _MARKED if len(bracket.numbers) == 4 else bracket.text

    text = _replaced(_NAMED.sub(_MARKED, text), mark)
    start = text.find(_LEGEND)
    if start < 0:
        return text
    end = text.find(_AFTER, start)
    rest = text[end:] if end >= 0 else ""
    return text[:start].rstrip() + rest
