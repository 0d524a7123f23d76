"""Draws a drawing as PNG, in the font that comes with Pillow."""

import io
import unicodedata
from collections.abc import Mapping
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont, ImageOps

from arena.drawings import (
    MARGIN,
    Anchor,
    BoxMark,
    CellMark,
    DotMark,
    Drawing,
    LineMark,
    Mark,
    TextMark,
)

_PAPER = (255, 255, 255)
_INK: Mapping[str, tuple[int, int, int]] = {
    "text": (31, 36, 48),
    "quiet": (91, 98, 112),
    "grid": (217, 220, 227),
    "accent": (79, 70, 229),
    "warm": (181, 72, 47),
    "line0": (79, 70, 229),
    "line1": (181, 72, 47),
    "line2": (20, 125, 110),
    "line3": (150, 90, 10),
    "line4": (176, 56, 120),
    "line5": (91, 98, 112),
}
"""Colours of the tones in a PNG; those of an SVG are in `drawing.html`."""
_SCALE = 2
"""Pixels of a PNG per unit of a drawing."""
_ANCHORS: Mapping[Anchor, str] = {"start": "ls", "middle": "ms", "end": "rs"}
"""Pillow's names of places on a text's baseline: left, middle and right."""
_SIGNS = frozenset("©«°\u00b1´·»‘’“”…‹›⁄™")
"""The signs outside ASCII that the font has; the plus-minus sign is escaped, as only `interval_text` writes it."""
_SPELLING = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u00a0": " ",
        "\u00b5": "u",
        "\u03bc": "u",
        "Æ": "AE",
        "æ": "ae",
        "Œ": "OE",
        "œ": "oe",
        "Ø": "O",
        "ø": "o",
        "Đ": "D",
        "đ": "d",
        "Ł": "L",
        "ł": "l",
        "ß": "ss",
        "×": "x",
        "€": "EUR",
        "£": "GBP",
    }
)
"""What is drawn in place of dashes, the minus sign, mu, Latin letters and currencies, which the font lacks."""


class Photo(NamedTuple):
    """A picture file, and the place and side of its square, in the drawing's units."""

    file: Path
    x: float
    y: float
    side: float


def png(drawing: Drawing, margin: int = MARGIN, photo: Photo | None = None) -> bytes:
    """Returns a drawing as a PNG file on white, `_SCALE` times its size; `margin` is in the drawing's units."""
    size = (ceil(drawing.width * _SCALE), ceil(drawing.height * _SCALE))
    picture = Image.new("RGB", size, _PAPER)
    pen = ImageDraw.Draw(picture)
    for mark in drawing.marks:
        _draw(pen, mark)
    if photo:
        side = ceil(photo.side * _SCALE)
        with Image.open(photo.file) as opened:
            fitted = ImageOps.pad(opened.convert("RGB"), (side, side), color=_PAPER)
        picture.paste(fitted, (ceil(photo.x * _SCALE), ceil(photo.y * _SCALE)))
    picture = ImageOps.expand(picture, margin * _SCALE, _PAPER)
    with io.BytesIO() as file:
        picture.save(file, "PNG")
        return file.getvalue()


def is_drawable(text: str) -> bool:
    """Returns whether the font has nearly all characters of a text as it is drawn."""
    drawn = drawn_text(text)
    in_font = sum(character.isascii() or character in _SIGNS for character in drawn)
    return in_font >= 0.9 * len(drawn)


def drawn_text(text: str) -> str:
    """Returns a text as it is drawn: the font has ASCII and a few signs, so letters lose their accents."""
    drawn: list[str] = []
    for character in text.translate(_SPELLING):
        is_accent = bool(drawn) and drawn[-1].isalpha() and unicodedata.combining(character) > 0
        if not is_accent:
            drawn.append(_without_accent(character))
    return "".join(drawn)


def _without_accent(character: str) -> str:
    """Returns the Latin letter below an accent; other characters stay, as "≠" isn't an "=" with an accent."""
    base = unicodedata.normalize("NFD", character)[0]
    return base if character.isalpha() and base.isascii() else character


def pixels_png(pixels: bytes, width: int, height: int) -> bytes:
    """Returns a PNG file of pixels: three bytes each, row by row."""
    with io.BytesIO() as file:
        Image.frombytes("RGB", (width, height), pixels).save(file, "PNG", optimize=True)
        return file.getvalue()


def _draw(pen: ImageDraw.ImageDraw, mark: Mark) -> None:
    ink = _INK[mark.tone]
    x = mark.x * _SCALE
    y = mark.y * _SCALE
    if isinstance(mark, TextMark):
        pen.text(
            (x, y),
            drawn_text(mark.text),
            ink,
            _font(mark.size),
            _ANCHORS[mark.anchor],
        )
    elif isinstance(mark, LineMark):
        ends = (x, y, mark.to_x * _SCALE, mark.to_y * _SCALE)
        pen.line(ends, ink, max(1, round(mark.thickness * _SCALE)))
    elif isinstance(mark, DotMark):
        reach = mark.radius * _SCALE
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), ink)
    else:
        _draw_box(pen, mark)


def _draw_box(pen: ImageDraw.ImageDraw, mark: BoxMark | CellMark) -> None:
    """Draws a box on white, and a cell's number in it; a box without strength or under a pixel is not drawn."""
    x = mark.x * _SCALE
    y = mark.y * _SCALE
    # Pillow's rectangles contain their last pixel
    right = x + mark.width * _SCALE - 1
    bottom = y + mark.height * _SCALE - 1
    if mark.strength and right >= x and bottom >= y:
        colour = tuple(
            round(mark.strength * channel + (1 - mark.strength) * 255)
            for channel in _INK[mark.tone]
        )
        pen.rectangle((x, y, right, bottom), colour)
    if isinstance(mark, CellMark):
        _draw(pen, mark.number)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size * _SCALE)
