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
_BEFORE_PRINCIPAL_POINT = "Principal Point: "
"""The text before a point of the camera, which is not a point of the image."""
_SIZES = (
    re.compile(r"width[^.\d]{0,40}(\d{1,6})[^.\d]{0,30}height[^.\d]{0,20}(\d{1,6})", re.ASCII),
    re.compile(r"width and (?:the )?height of[^.\d]{0,10}(\d{1,6}) and (\d{1,6})", re.ASCII),
    re.compile(r"(\d{1,6}) in width and (\d{1,6}) in height", re.ASCII),
)
_LARGEST_SHARE = 10
"""Numbers above this are pixels: shares may exceed 1 where an option's box leaves the image."""
_SHARES_PHRASE = "within a normalized range of 0 to 1"
"""MMT-Bench's own words for coordinates that are shares."""


class _UnitWords(NamedTuple):
    """Our words that tell a model the unit."""

    phrase: str
    """The replacement of `_SHARES_PHRASE`."""
    last_line: str
    """Added to the question; its two braces are for the image's width and height."""


_UNIT_WORDS: dict[Unit, _UnitWords] = {
    "pixel": _UnitWords(
        "in pixels", "Coordinates are in pixels: from 0 to {} across and from 0 to {} down."
    ),
    "normalised": _UnitWords(
        _SHARES_PHRASE, "Coordinates are shares of the image's width and height, from 0 to 1."
    ),
    "normalised-1000": _UnitWords(
        "within a range of 0 to 1000",
        "Coordinates are whole numbers from 0 to 1000: thousandths of the image's width and height.",
    ),
}
_THOUSANDTH = Decimal("0.001")
_BOXES_IN_PARENTHESES = re.compile(r"\(\s*\[[\[\]\d\s.,and-]*\]\s*\)", re.ASCII)
"""Boxes in parentheses in a sentence: ([...]), ([...] and [...]), ([[...], [...]])."""
_MARKED_IN_RED = "(marked in red)"
"""MMT-Bench's words for a drawn box (Table A8)."""
_LEGEND = "The region coordinates are provided in the format"
"""The beginning of MMT-Bench's explanation of a box's numbers, which ends before `_LEGEND_END`."""
_LEGEND_END = " Note that"
NO_SIZE = "neither the text nor a picture tells the image's size"


class CoordinateError(ValueError):
    """Coordinates of a question that cannot be rewritten or drawn; the message says why, its kind before a colon."""


class Bracket(NamedTuple):
    """Points in a text, with their place in it."""

    start: int
    text: str
    numbers: tuple[Decimal, ...]


def brackets(text: str) -> Iterator[Bracket]:
    """Yields the brackets with points.

    Raises CoordinateError for a list of an odd number of numbers, or of numbers and other things.
    """
    for match in _BRACKET.finditer(text):
        cells = [cell.strip() for cell in match[1].split(",")]
        numbers = [Decimal(cell) for cell in cells if _NUMBER.fullmatch(cell)]
        is_list = len(cells) > 1
        is_of_camera = text.endswith(_BEFORE_PRINCIPAL_POINT, 0, match.start())
        if not is_list or not numbers or is_of_camera:
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


def convert_coordinates(question: ChoiceQuestion, unit: Unit, size: Size) -> ChoiceQuestion:
    """The question with its coordinates in a unit; unchanged if they are in it, or if there are none.

    Raises CoordinateError if a bracket cannot be read, or if rounding makes two options equal.
    """
    # Questions explain their unit by the image's bottom-right corner: (1, 1), or the size in pixels. Its unit may
    # differ from that of the points.
    corner_in_shares = (Decimal(1), Decimal(1))
    corners = {corner_in_shares, tuple(map(Decimal, size))}
    texts = (question.text, *question.options.values())
    points = {bracket.numbers for text in texts for bracket in brackets(text)} - corners
    has_pixels = _has_pixels(points)
    present_unit: Unit = "pixel" if has_pixels else "normalised"
    if not points or unit == present_unit:
        return question

    def rewrite(bracket: Bracket) -> str:
        is_in_pixels = has_pixels
        if bracket.numbers in corners:
            is_in_pixels = bracket.numbers != corner_in_shares
        numbers = (
            _convert(number, size[place % 2], is_in_pixels, unit)
            for place, number in enumerate(bracket.numbers)
        )
        # The pattern finds just the numbers that `brackets` read.
        return _NUMBER.sub(lambda _: next(numbers), bracket.text)

    words = _UNIT_WORDS[unit]
    rewritten = _rewrite_brackets(question.text, rewrite).replace(_SHARES_PHRASE, words.phrase)
    width, height = size
    text = f"{rewritten}\n{words.last_line.format(width, height)}"
    options = {
        letter: _rewrite_brackets(option, rewrite) for letter, option in question.options.items()
    }
    for first, second in combinations(options, 2):
        is_equal = options[first] == options[second]
        if is_equal and question.options[first] != question.options[second]:
            raise CoordinateError(f"rounding makes options equal: {first} and {second}")
    return replace(question, text=text, options=options)


def _has_pixels(points: Iterable[Sequence[Decimal]]) -> bool:
    """Whether coordinates are in pixels, since one of them is too large for a share."""
    return any(abs(number) > _LARGEST_SHARE for numbers in points for number in numbers)


def _convert(number: Decimal, side: int, is_in_pixels: bool, unit: Unit) -> str:
    """Converts a coordinate, in pixels or a share, along a side of the image, in pixels, to the unit."""
    share = number / side if is_in_pixels else number
    if unit == "normalised":
        return str(share.quantize(_THOUSANDTH, ROUND_HALF_UP) + 0)  # 0.000, never -0.000
    scale = 1000 if unit == "normalised-1000" else side
    return str(int((share * scale).quantize(Decimal(1), ROUND_HALF_UP)))


def _rewrite_brackets(text: str, rewrite: Callable[[Bracket], str]) -> str:
    """A text with its brackets rewritten; the text between them stays."""
    parts = []
    end = 0
    for bracket in brackets(text):
        parts += [text[end : bracket.start], rewrite(bracket)]
        end = bracket.start + len(bracket.text)
    return "".join(parts) + text[end:]


def named_boxes(text: str, size: Size | None) -> tuple[Box, ...]:
    """The boxes in a question, written as [x1, y1, x2, y2], or as [x, y, w, h] if it says so.

    Raises CoordinateError if a bracket cannot be read, if a box has no area in the picture, or if boxes are in pixels
    of a picture without a known size.
    """
    points = [bracket.numbers for bracket in brackets(text) if len(bracket.numbers) == 4]
    has_pixels = _has_pixels(points)
    if has_pixels and size is None:
        raise CoordinateError(NO_SIZE)
    width, height = size if has_pixels and size else (1, 1)
    has_lengths = "[x,y,w,h]" in text.replace(" ", "")
    boxes = []
    for numbers in points:
        left = float(numbers[0] / width)
        top = float(numbers[1] / height)
        right = float(numbers[2] / width)
        bottom = float(numbers[3] / height)
        if has_lengths:
            right += left
            bottom += top
        if min(right, 1) <= max(left, 0) or min(bottom, 1) <= max(top, 0):
            raise CoordinateError(
                f"a box without an area in the picture: {', '.join(map(str, numbers))}"
            )
        boxes.append((left, top, right, bottom))
    return tuple(boxes)


def without_boxes(text: str) -> str:
    """The question with "(marked in red)" in place of each box, and without the explanation of a box's numbers."""

    def mark(bracket: Bracket) -> str:
        return _MARKED_IN_RED if len(bracket.numbers) == 4 else bracket.text

    marked = _rewrite_brackets(_BOXES_IN_PARENTHESES.sub(_MARKED_IN_RED, text), mark)
    start = marked.find(_LEGEND)
    if start < 0:
        return marked
    end = marked.find(_LEGEND_END, start)
    rest = marked[end:] if end >= 0 else ""
    return marked[:start].rstrip() + rest
