"""Draws a drawing as PNG, in the font that comes with Pillow."""

import io
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
    """Returns whether the font, which has Latin letters and punctuation, has nearly all letters of a text."""
    in_font = 0
    for character in text:
        is_latin = character < "\u0250"
        is_punctuation = "\u2010" <= character <= "\u2044"
        if is_latin or is_punctuation:
            in_font += 1
    return in_font >= 0.9 * len(text)


def pixels_png(pixels: bytes, width: int, height: int) -> bytes:
    """Returns a PNG file of pixels: three bytes each, row by row."""
    with io.BytesIO() as file:
        Image.frombytes("RGB", (width, height), pixels).save(file, "PNG", optimize=True)
        return file.getvalue()


def _draw(pen: ImageDraw.ImageDraw, mark: Mark) -> None:
    """Draws a mark; the letter mu of a model's name becomes the micro sign, since the font lacks mu."""
    ink = _INK[mark.tone]
    x = mark.x * _SCALE
    y = mark.y * _SCALE
    if isinstance(mark, TextMark):
        pen.text(
            (x, y),
            mark.text.replace("\u03bc", "\u00b5"),
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
    """Draws a box on white, and a cell's number in it; a box without strength is not drawn."""
    if mark.strength:
        x = mark.x * _SCALE
        y = mark.y * _SCALE
        colour = tuple(
            round(mark.strength * channel + (1 - mark.strength) * 255)
            for channel in _INK[mark.tone]
        )
        # Pillow's rectangles contain their last pixel
        pen.rectangle((x, y, x + mark.width * _SCALE - 1, y + mark.height * _SCALE - 1), colour)
    if isinstance(mark, CellMark):
        _draw(pen, mark.number)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size * _SCALE)
