"""The drawing board of the demo pictures: flat shapes and text at three times the size, brought down at the end."""

import math
import random
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

SCALE = 3
INK, GREY, LIGHT, PAPER, WHITE = "#22303c", "#66737f", "#d5dbe0", "#fbf8f1", "#ffffff"
RED, BLUE, GREEN, YELLOW = "#d1495b", "#2e6f9e", "#3f8f5f", "#edae49"

Point = tuple[float, float]


@lru_cache
def font(size: float) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Pillow's own font at a size in picture pixels."""
    return ImageFont.load_default(size * SCALE)


def text_width(words: str, size: float) -> float:
    """How wide a line of text stands, in picture pixels."""
    return font(size).getlength(words) / SCALE


def turned(points: Iterable[Point], angle: float, centre: Point = (0, 0)) -> list[Point]:
    """The points turned clockwise about a centre, in degrees."""
    sin, cos = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    x0, y0 = centre
    return [(x0 + (x - x0) * cos - (y - y0) * sin, y0 + (x - x0) * sin + (y - y0) * cos) for x, y in points]


def moved(points: Iterable[Point], x: float, y: float, size: float = 1, flip: bool = False) -> list[Point]:
    """Points of a shape drawn about (0, 0), set at a place in a size, mirrored left to right if asked."""
    side = -size if flip else size
    return [(x + px * side, y + py * size) for px, py in points]


def smooth(points: Sequence[Point], closed: bool = False, steps: int = 14) -> list[Point]:
    """A soft curve through the points (Catmull-Rom)."""
    count = len(points)
    reach = count if closed else count - 1
    pick = (lambda i: points[i % count]) if closed else (lambda i: points[min(max(i, 0), count - 1)])
    curve = []
    for i in range(reach):
        p, q, r, s = (pick(i + k) for k in (-1, 0, 1, 2))
        for step in range(steps):
            t = step / steps
            curve.append(tuple(_spline(t, p[k], q[k], r[k], s[k]) for k in (0, 1)))
    return curve if closed else [*curve, points[-1]]


def _spline(t: float, p: float, q: float, r: float, s: float) -> float:
    return 0.5 * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t**2 + (3 * q - p - 3 * r + s) * t**3)


def arc_points(x: float, y: float, radius: float, start: float, end: float, squash: float = 1) -> list[Point]:
    """Points along an arc; degrees run clockwise from three o'clock."""
    steps = max(8, int(abs(end - start) / 3))
    turns = (math.radians(start + (end - start) * i / steps) for i in range(steps + 1))
    return [(x + radius * math.cos(t), y + radius * squash * math.sin(t)) for t in turns]


class Canvas:
    """One picture in the making; every measure is in pixels of the finished picture."""

    def __init__(self, width: int, height: int, fill: str = WHITE) -> None:
        self.width, self.height = width, height
        self.image = Image.new("RGB", (width * SCALE, height * SCALE), fill)
        self._pen = ImageDraw.Draw(self.image, "RGBA")

    def box(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        fill: str | None = None,
        *,
        edge: str | None = None,
        width: float = 1,
        radius: float = 0,
    ) -> None:
        """A rectangle, with round corners if asked."""
        frame = (x0 * SCALE, y0 * SCALE, x1 * SCALE - 1, y1 * SCALE - 1)
        thick = round(width * SCALE) if edge else 0
        self._pen.rounded_rectangle(frame, radius * SCALE, fill, edge, thick)

    def disc(
        self,
        x: float,
        y: float,
        radius: float,
        fill: str | None = None,
        *,
        edge: str | None = None,
        width: float = 1,
        squash: float = 1,
    ) -> None:
        """A circle, or an ellipse whose height is `squash` times its width."""
        tall = radius * squash
        frame = ((x - radius) * SCALE, (y - tall) * SCALE, (x + radius) * SCALE, (y + tall) * SCALE)
        self._pen.ellipse(frame, fill, edge, round(width * SCALE) if edge else 0)

    def poly(
        self, points: Iterable[Point], fill: str | None = None, *, edge: str | None = None, width: float = 1
    ) -> None:
        """A filled shape, outlined if asked."""
        corners = list(points)
        if fill:
            self._pen.polygon([(x * SCALE, y * SCALE) for x, y in corners], fill)
        if edge:
            self.line([*corners, corners[0]], edge, width)

    def line(self, points: Iterable[Point], fill: str = INK, width: float = 2, *, round_ends: bool = True) -> None:
        """A line through points, with round ends unless told otherwise."""
        path = [(x * SCALE, y * SCALE) for x, y in points]
        self._pen.line(path, fill, max(1, round(width * SCALE)), joint="curve")
        if round_ends and len(fill) <= 7:
            half = width * SCALE / 2
            for x, y in path if width > 12 else (path[0], path[-1]):
                self._pen.ellipse((x - half, y - half, x + half, y + half), fill)

    def dashes(
        self, start: Point, end: Point, fill: str = INK, width: float = 2, dash: float = 8, gap: float = 6
    ) -> None:
        """A dashed straight line."""
        length = math.dist(start, end)
        at = 0.0
        while at < length:
            ends = (at / length, min(at + dash, length) / length)
            self.line(
                [(start[0] + (end[0] - start[0]) * t, start[1] + (end[1] - start[1]) * t) for t in ends],
                fill,
                width,
                round_ends=False,
            )
            at += dash + gap

    def arrow(self, points: Sequence[Point], fill: str = INK, width: float = 4, head: float = 16) -> None:
        """A line with a pointed head at its last point."""
        (x0, y0), (x1, y1) = points[-2], points[-1]
        angle = math.degrees(math.atan2(y1 - y0, x1 - x0))
        back = (x1 - head * 0.7 * math.cos(math.radians(angle)), y1 - head * 0.7 * math.sin(math.radians(angle)))
        self.line([*points[:-1], back], fill, width)
        self.poly(moved(turned([(0, 0), (-head, -head * 0.55), (-head, head * 0.55)], angle), x1, y1), fill)

    def pie(self, x: float, y: float, radius: float, start: float, end: float, fill: str) -> None:
        """A slice of a disc; degrees run clockwise from three o'clock."""
        self.poly([(x, y), *arc_points(x, y, radius, start, end)], fill)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 20,
        fill: str = INK,
        *,
        anchor: str = "lm",
        bold: bool = False,
    ) -> None:
        """One line of text; the anchor is Pillow's: l, m or r, then t, m or s."""
        stroke = size * SCALE * 0.022 if bold else 0
        self._pen.text((x * SCALE, y * SCALE), words, fill, font(size), anchor, stroke_width=stroke, stroke_fill=fill)

    def paragraph(
        self,
        x: float,
        y: float,
        words: str,
        size: float,
        wide: float,
        fill: str = INK,
        *,
        leading: float = 1.4,
        bold: bool = False,
    ) -> float:
        """Text wrapped to a width, its first line centred on y; gives back where the next line would stand."""
        line = ""
        for word in [*words.split(), ""]:
            longer = f"{line} {word}".strip()
            if word and text_width(longer, size) <= wide:
                line = longer
                continue
            self.text(x, y, line, size, fill, bold=bold)
            y, line = y + size * leading, word
        return y

    def fade(self, x0: int, y0: int, x1: int, y1: int, first: str, last: str, *, across: bool = False) -> None:
        """A rectangle that passes from one colour to another, downwards or across."""
        size = ((x1 - x0) * SCALE, (y1 - y0) * SCALE)
        ramp = Image.linear_gradient("L")
        ramp = (ramp.transpose(Image.Transpose.ROTATE_90) if across else ramp).resize(size)
        self.image.paste(
            Image.composite(Image.new("RGB", size, last), Image.new("RGB", size, first), ramp), (x0 * SCALE, y0 * SCALE)
        )

    def shadow(self, points: Iterable[Point], blur: float = 8, strength: float = 0.3) -> None:
        """A soft dark patch in the shape given."""
        mask = Image.new("L", (self.width, self.height))
        ImageDraw.Draw(mask).polygon(list(points), round(255 * strength))
        soft = mask.filter(ImageFilter.GaussianBlur(blur)).resize(self.image.size, Image.Resampling.BILINEAR)
        self.image.paste(Image.new("RGB", self.image.size, "#1a1410"), (0, 0), soft)

    def glow(self, x: float, y: float, radius: float, fill: str, strength: float = 0.7) -> None:
        """A round light that dies away towards its rim."""
        size = round(2 * radius * SCALE)
        mask = ImageChops.invert(Image.radial_gradient("L")).resize((size, size))
        mask = mask.point([round(max(0, v - 74) / 181 * 255 * strength) for v in range(256)])
        place = (round((x - radius) * SCALE), round((y - radius) * SCALE))
        self.image.paste(Image.new("RGB", (size, size), fill), place, mask)

    def grain(self, fill: str, count: int, seed: int, longest: float = 90) -> None:
        """Fine level streaks all over, as in wood."""
        dice = random.Random(seed)
        for _ in range(count):
            x, y = dice.uniform(-50, self.width), dice.uniform(0, self.height)
            self.line([(x, y), (x + dice.uniform(20, longest), y)], fill, dice.uniform(0.6, 1.8), round_ends=False)

    def lay(self, sheet: "Canvas", x: float, y: float, angle: float = 0) -> None:
        """Another picture laid on this one about its middle, turned clockwise, casting a shadow."""
        wide, tall = sheet.width / 2, sheet.height / 2
        corners = [(x - wide, y - tall), (x + wide, y - tall), (x + wide, y + tall), (x - wide, y + tall)]
        corners = turned(corners, angle, (x, y))
        self.shadow([(px + 5, py + 9) for px, py in corners], 10, 0.4)
        mask = Image.new("L", sheet.image.size, 255)
        top = [layer.rotate(-angle, Image.Resampling.BICUBIC, expand=True) for layer in (sheet.image, mask)]
        place = (round(x * SCALE - top[0].width / 2), round(y * SCALE - top[0].height / 2))
        self.image.paste(top[0], place, top[1])

    def save(self, path: Path) -> None:
        """Bring the picture down to its size and write it."""
        small = self.image.resize((self.width, self.height), Image.Resampling.LANCZOS)
        small.save(path, "WEBP", quality=90, method=6)
