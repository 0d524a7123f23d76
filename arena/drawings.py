"""Drawings: charts made of lines, boxes, cells, dots and texts, as SVG or, by `drawing_png.py`, as PNG.

A `fluid` drawing takes the width of the page: its texts keep their size, and only distances grow.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, log10
from typing import ClassVar, Literal, NamedTuple
from unicodedata import east_asian_width

from arena.interval_text import dashed
from arena.locale import t
from arena.markdown import visible_name
from arena.templates import macros

SVG = macros("drawing.html")
Anchor = Literal["start", "middle", "end"]
Tone = Literal[
    "text", "quiet", "grid", "accent", "warm", "line0", "line1", "line2", "line3", "line4", "line5"
]

MARGIN = 12
"""Space around a chart in a file."""
NAME_LETTERS = 19
"""Most letters of a name beside a chart, to fit on a phone."""


@dataclass(frozen=True)
class TextMark:
    """One line of text; y is its baseline, and `title` is its full text."""

    kind: ClassVar[str] = "text"
    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    tone: Tone = "text"
    size: int = 13
    title: str = ""

    @property
    def whole(self) -> str:
        """A longer text, for a fluid drawing on a wide screen."""
        return shortened(self.title, 40)


@dataclass(frozen=True)
class LineMark:
    """A straight line."""

    kind: ClassVar[str] = "line"
    x: float
    y: float
    to_x: float
    to_y: float
    tone: Tone = "grid"
    thickness: float = 1
    title: str = ""
    """Text on hover, as for the other marks."""


@dataclass(frozen=True)
class BoxMark:
    """A filled box; `strength` is its opacity, 0 for an invisible box that only has a text on hover."""

    kind: ClassVar[str] = "box"
    x: float
    y: float
    width: float
    height: float
    tone: Tone
    strength: float = 1
    title: str = ""


@dataclass(frozen=True)
class CellMark:
    """A number in the middle of a box; `strength` is the opacity of the box."""

    kind: ClassVar[str] = "cell"
    x: float
    y: float
    width: float
    height: float
    text: str
    tone: Tone = "accent"
    strength: float = 0
    title: str = ""

    @property
    def number(self) -> TextMark:
        return TextMark(self.x + self.width / 2, self.y + self.height / 2 + 5, self.text, "middle")


@dataclass(frozen=True)
class DotMark:
    """A filled dot."""

    kind: ClassVar[str] = "dot"
    x: float
    y: float
    radius: float
    tone: Tone = "accent"
    title: str = ""


Mark = TextMark | LineMark | BoxMark | CellMark | DotMark


@dataclass(frozen=True)
class Drawing:
    """A chart in units of one CSS pixel; screen readers read title and description."""

    title: str
    description: str
    width: float
    height: float
    marks: tuple[Mark, ...]
    fluid: bool = False

    def across(self, x: float) -> str:
        """Returns a horizontal place or distance for SVG."""
        return f"{100 * x / self.width:.5g}%" if self.fluid else f"{x:.5g}"


def svg(drawing: Drawing, name: str) -> str:
    """Returns a drawing as part of a page; `name` is unique on that page."""
    return SVG.inside(drawing, name)


def svg_file(drawing: Drawing) -> str:
    """Returns a drawing as an SVG file."""
    return SVG.file(replace(drawing, fluid=False), MARGIN)


def shortened(name: str, letters: int = NAME_LETTERS) -> str:
    """Returns a name on one line; a long name loses its middle, since names differ at both ends."""
    name = " ".join(visible_name(name[:1000]).split())
    if _within(name, letters) == name:
        return name
    start = _within(name, letters // 2)
    end = _within(reversed(name), letters - letters // 2 - 1)
    return f"{start}…{end[::-1]}"


def _within(name: Iterable[str], letters: int) -> str:
    """Returns the first letters that fit; wide letters, such as Chinese ones, count twice."""
    fitting = []
    for letter in name:
        letters -= 2 if east_asian_width(letter) in ("W", "F") else 1
        if letters < 0:
            break
        fitting.append(letter)
    return "".join(fitting)


def wrapped(name: str, letters: int, lines: int) -> list[str]:
    """Returns a name in short lines, broken after hyphens and blanks where possible."""
    name = shortened(name, letters * lines)
    broken = [""]
    for part in name.replace("-", "- ").replace("_", "_ ").replace("/", "/ ").split(" "):
        blank = "" if not broken[-1] or broken[-1][-1] in "-_/" else " "
        if len(broken[-1]) + len(blank) + len(part) <= letters:
            broken[-1] += blank + part
        else:
            broken += [part[at : at + letters] for at in range(0, len(part), letters)]
    broken = [line for line in broken if line]
    return (
        broken
        if len(broken) <= lines
        else [*broken[: lines - 1], f"{broken[lines - 1][: letters - 1]}…"]
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Returns round numbers within a range, at most `most`."""
    rough = max(high - low, 1e-9) / most
    base = 10 ** floor(log10(rough))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= rough)
    return [step * place for place in range(ceil(low / step), floor(high / step) + 1)]


# Layouts.
class GridCell(NamedTuple):
    """A number in a heat map: its text, and the depth of its colour (-1 to 1, 0: none)."""

    text: str
    depth: float = 0
    long_text: str = ""
    """Text for the table, if different."""
    title: str = ""


_ROW = 34
_CELL = 80
_HEADS = 3
_LETTERS = 10
"""Most letters of a line above a column."""
_ROW_LETTERS = 20
"""Most letters of a line of a row's name, which has up to two lines, to leave room for cells on a phone."""


def grid_drawing(
    title: str,
    description: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[GridCell]],
) -> Drawing:
    """Lays out a heat map with numbers in its cells and horizontal names."""
    heads = [wrapped(name, _LETTERS, _HEADS) for name in columns]
    sides = [wrapped(name, _ROW_LETTERS, 2) for name in rows]
    left = 16 + 7 * max((len(line) for lines in sides for line in lines), default=0)
    top = 16 * max(map(len, heads), default=1) + 8
    marks: list[Mark] = []
    for place, (name, lines) in enumerate(zip(columns, heads, strict=True)):
        x = left + _CELL * (place + 0.5)
        for at, line in enumerate(reversed(lines)):
            marks.append(TextMark(x, top - 8 - 15 * at, line, "middle", size=12, title=name))
    for down, (name, lines, row) in enumerate(zip(rows, sides, cells, strict=True)):
        y = top + _ROW * down
        for at, line in enumerate(lines):
            marks.append(
                TextMark(
                    left - 10, y + 29 - 7 * len(lines) + 14 * at, line, "end", size=12, title=name
                )
            )
        marks += _cells(left, y, row)
    return Drawing(
        title, description, left + _CELL * len(columns), top + _ROW * len(rows), tuple(marks)
    )


def _cells(left: float, y: float, row: Sequence[GridCell]) -> Iterator[Mark]:
    for place, cell in enumerate(row):
        if not cell.text:
            continue
        x = left + _CELL * place
        tone: Tone = "accent" if cell.depth >= 0 else "warm"
        # At most half the colour, so that text stays readable in light and dark themes.
        strength = round(min(abs(cell.depth), 1) / 2, 2)
        yield CellMark(x + 1, y + 1, _CELL - 2, _ROW - 2, cell.text, tone, strength, cell.title)


def _interval(low: float, value: float, high: float, y: float, title: str) -> Iterator[Mark]:
    """Yields a dot with its interval, and a larger invisible box around them for the mouse."""
    yield BoxMark(low - 8, y - 10, high - low + 16, 20, "accent", 0, title)
    yield LineMark(low, y, high, y, "accent", 3, title)
    yield DotMark(value, y, 5, title=title)


class RatingRow(NamedTuple):
    """A model's rating with its interval, if any, and whether the model has a rank."""

    name: str
    value: float
    low: float | None
    high: float | None
    has_rank: bool = True

    @property
    def title(self) -> str:
        ends = dashed(self.low, self.high)
        return f"{self.name}: {self.value:.0f}{f' ({ends})' if ends else ''}"


RATING_ROW = 26
"""Height of a row in a chart of ratings."""
RATING_AXIS = 24
"""Height of the axis below the rows."""


def ratings_drawing(title: str, description: str, rows: Sequence[RatingRow], most: int) -> Drawing:
    """Lays out the first `most` ratings with their intervals, the first on top, and the number of further models."""
    width = 720
    marks, height = ratings_marks(rows[:most], width, 0)
    if len(rows) > most:
        marks.append(more_models(len(rows) - most, height))
        height += RATING_ROW
    return Drawing(title, description, width, height, tuple(marks), fluid=True)


def ratings_marks(rows: Sequence[RatingRow], width: float, top: float) -> tuple[list[Mark], float]:
    """Returns the marks of at least one row and of the axis below, and where they end."""
    numbers = [number for row in rows for number in (row.value, row.low, row.high)]
    bounds = [number for number in numbers if number is not None]
    low = min(bounds)
    high = max(max(bounds), low + 1)
    bottom = top + RATING_ROW * len(rows)

    def at(rating: float) -> float:
        return width * (0.45 + 0.43 * (rating - low) / (high - low))

    marks: list[Mark] = []
    for tick in ticks(low, high, 3):
        marks.append(LineMark(at(tick), top, at(tick), bottom + 4))
        marks.append(_axis_text(at(tick), bottom + 18, f"{tick:.0f}", "middle"))
    for place, row in enumerate(rows):
        y = top + RATING_ROW * (place + 0.5)
        marks.append(model_name(row.name, row.has_rank, width, y))
        if row.low is None or row.high is None:
            marks.append(DotMark(at(row.value), y, 5, title=row.title))
        else:
            marks += _interval(at(row.low), at(row.value), at(row.high), y, row.title)
        marks.append(TextMark(width, y + 5, f"{row.value:.0f}", "end"))
    return marks, bottom + RATING_AXIS


def model_name(name: str, has_rank: bool, width: float, y: float) -> TextMark:
    """Returns a model's name at the left of its row; `y` is the middle of the row."""
    return TextMark(
        0.43 * width, y + 5, shortened(name), "end", "text" if has_rank else "quiet", 12, name
    )


def more_models(number: int, y: float) -> TextMark:
    """Returns the number of models that are not drawn, at the left edge, where it fits on a phone."""
    return TextMark(0, y + 18, t("results.more_models", count=number), tone="quiet")


class ShareRow(NamedTuple):
    """A named share of `n`, with its interval."""

    name: str
    value: float
    low: float
    high: float
    n: int

    @property
    def title(self) -> str:
        return (
            f"{self.name}: {self.value:.1%} ({dashed(self.low, self.high, '.0%')}, n = {self.n:,})"
        )


def shares_drawing(
    title: str, description: str, rows: Sequence[ShareRow], guides: Mapping[str, float]
) -> Drawing:
    """Lays out shares from 0 to 1, a row each, with named lines at the shares of `guides`."""
    width = 720
    bottom = 40 + 28 * len(rows)

    def at(share: float) -> float:
        return width * (0.45 + 0.43 * share)

    marks: list[Mark] = []
    for tick in (0, 0.5, 1):
        marks += [
            LineMark(at(tick), 34, at(tick), bottom),
            TextMark(at(tick), bottom + 16, f"{tick:.0%}", "middle", "quiet", 12),
        ]
    for place, (name, share) in enumerate(guides.items()):
        marks += [
            LineMark(at(share), 34, at(share), bottom, "warm"),
            TextMark(at(share), 12 + 16 * place, name, "middle", "quiet", 12),
        ]
    for place, row in enumerate(rows):
        y = 34 + 28 * (place + 0.5)
        marks.append(
            TextMark(0.43 * width, y + 5, shortened(row.name), "end", "text", 12, row.name)
        )
        marks += _interval(at(row.low), at(row.value), at(row.high), y, row.title)
        marks.append(TextMark(width, y + 5, f"{row.value:.0%}", "end"))
    return Drawing(title, description, width, bottom + 24, tuple(marks), fluid=True)


_NUMBERS = 72
_BARS = 160
"""Width of the axis of numbers, to fit on a phone, and height of the bars."""
_LEAST_TOP = 5
"""Least end of the axis; ticks of a shorter one would not be whole numbers."""


def counts_drawing(
    title: str, description: str, days: Sequence[str], counts: Sequence[int]
) -> Drawing:
    """Lays out a count for each day as a bar, with an axis of numbers and one of dates."""
    width = 720
    top = max(max(counts), _LEAST_TOP)
    step = (width - _NUMBERS) / len(counts)
    marks: list[Mark] = []
    for tick in ticks(0, top, 5):
        y = 12 + _BARS * (1 - tick / top)
        marks += [
            LineMark(_NUMBERS, y, width, y),
            _axis_text(_NUMBERS - 8, y + 4, f"{tick:,.0f}", "end"),
        ]
    for place, count in enumerate(counts):
        x = _NUMBERS + step * (place + 0.1)
        height = _BARS * count / top
        hover = f"{days[place]}: {count:,}"
        marks.append(
            BoxMark(x, 12 + _BARS - height, 0.8 * step, round(height, 2), "accent", title=hover)
        )
    for place in sorted({0, len(days) // 2, len(days) - 1}):
        anchor = _axis_anchor(place, len(days))
        x = _NUMBERS + step * (place + {"start": 0, "middle": 0.5, "end": 1}[anchor])
        marks.append(_axis_text(x, _BARS + 32, days[place], anchor))
    return Drawing(title, description, width, _BARS + 40, tuple(marks), fluid=True)


_WIDE = 720
_LEFT = 48
_RIGHT = 520
_TALL = 320
_TONES: tuple[Tone, ...] = ("line0", "line1", "line2", "line3", "line4", "line5")
MOST_LINES = len(_TONES)
"""Most lines with different colours."""


def lines_drawing(
    title: str,
    description: str,
    moments: Sequence[str],
    lines: Mapping[str, Sequence[float | None]],
    least: float = 1,
    decimals: int = 0,
) -> Drawing:
    """Lays out numbers over equally spaced moments, with the name of each line at its end.

    `least` is the smallest range of the axis; `decimals` are those of a number on hover.
    """
    values = [value for line in lines.values() for value in line if value is not None]
    low = min(values, default=0)
    high = max(values, default=1)
    height = max(high - low, least)
    step = (_RIGHT - _LEFT) / max(len(moments) - 1, 1)

    def at(value: float) -> float:
        return 20 + _TALL * (high - value) / height

    marks: list[Mark] = []
    for tick in ticks(low, high):
        marks += [
            LineMark(_LEFT, at(tick), _RIGHT, at(tick)),
            _axis_text(_LEFT - 8, at(tick) + 4, f"{tick:.6g}", "end"),
        ]
    for place in sorted({0, len(moments) // 2, len(moments) - 1} if moments else ()):
        anchor = _axis_anchor(place, len(moments))
        marks.append(_axis_text(_LEFT + step * place, _TALL + 44, moments[place], anchor))
    ends = []
    for tone, (name, line) in zip(_TONES, lines.items(), strict=False):
        points = [
            DotMark(
                _LEFT + step * place,
                at(value),
                3,
                tone,
                f"{name}, {moments[place]}: {value:.{decimals}f}",
            )
            for place, value in enumerate(line)
            if value is not None
        ]
        marks += [
            LineMark(point.x, point.y, after.x, after.y, tone, 2)
            for point, after in pairwise(points)
        ]
        marks += points
        ends += [(points[-1].y, tone, name)] if points else []
    return Drawing(title, description, _WIDE, _TALL + 52, (*marks, *_line_names(ends)))


def _axis_anchor(place: int, places: int) -> Anchor:
    """Returns the anchor of a text below an axis, so that the first and the last text end with the axis."""
    if place == 0:
        return "start"
    return "end" if place == places - 1 else "middle"


def _axis_text(x: float, y: float, text: str, anchor: Anchor) -> TextMark:
    return TextMark(x, y, text, anchor, "quiet", 12)


def _line_names(ends: Sequence[tuple[float, Tone, str]]) -> Iterator[Mark]:
    """Yields the name of each line, right of its end and below the name above."""
    y = 0.0
    for end, tone, name in sorted(ends):
        y = max(end + 4, y + 17)
        yield TextMark(_RIGHT + 12, y, shortened(name, 26), tone=tone, title=name)
