"""Drawings: charts made of lines, boxes, cells, dots and texts, as SVG or, by `drawing_png.py`, as PNG.

A `fluid` drawing takes the width of the page: its texts keep their size, and only distances grow.
"""

import re
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
_WIDE_LETTERS = 40
_AFTER_JOINTS = re.compile(r"(?<=[-_/ ])")
"""The places where a name may be broken."""


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
    def wide_text(self) -> str:
        """The full text as far as it fits on a wide screen, for a fluid drawing."""
        return shortened(self.title, _WIDE_LETTERS)


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
        letters -= _width(letter)
        if letters < 0:
            break
        fitting.append(letter)
    return "".join(fitting)


def _width(text: str) -> int:
    """Returns the width of a text in narrow letters; wide letters, such as Chinese ones, count twice."""
    return sum(2 if east_asian_width(letter) in ("W", "F") else 1 for letter in text)


def _pieces(text: str, letters: int) -> Iterator[str]:
    """Yields a text without blanks in pieces of at most this many letters."""
    while text:
        piece = _within(text, letters) or text[0]
        yield piece
        text = text[len(piece) :]


def wrapped(name: str, letters: int, lines: int) -> list[str]:
    """Returns a name in at most `lines` lines of at most `letters` letters.

    It is broken after blanks, hyphens, underscores and slashes where possible.
    """
    broken = [""]
    for part in _AFTER_JOINTS.split(shortened(name, letters * lines)):
        if _width(broken[-1]) + _width(part.rstrip()) <= letters:
            broken[-1] += part
        else:
            broken += _pieces(part, letters)
    broken = [line.strip() for line in broken if line.strip()]
    if len(broken) <= lines:
        return broken
    return [*broken[: lines - 1], f"{_within(broken[lines - 1], letters - 1)}…"]


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Returns evenly spaced round numbers within a range, with at most `most` steps between them."""
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


_CELL_HEIGHT = 34
_CELL_WIDTH = 80
_COLUMN_LINES = 3
_COLUMN_LETTERS = 10
"""_COLUMN_LINES, _COLUMN_LETTERS: the most lines of a column's name, and the most letters of a line."""
_ROW_LINES = 2
_ROW_LETTERS = 20
"""_ROW_LINES, _ROW_LETTERS: the same for a row's name; it leaves room for cells on a phone."""


def grid_drawing(
    title: str,
    description: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[GridCell]],
) -> Drawing:
    """Lays out a heat map with numbers in its cells and horizontal names."""
    column_names = [wrapped(name, _COLUMN_LETTERS, _COLUMN_LINES) for name in columns]
    row_names = [wrapped(name, _ROW_LETTERS, _ROW_LINES) for name in rows]
    left = 16 + 7 * max((_width(line) for lines in row_names for line in lines), default=0)
    top = 16 * max(map(len, column_names), default=1) + 8
    marks: list[Mark] = []
    for column, (name, lines) in enumerate(zip(columns, column_names, strict=True)):
        x = left + _CELL_WIDTH * (column + 0.5)
        y = top - 8
        for line in reversed(lines):
            marks.append(TextMark(x, y, line, "middle", size=12, title=name))
            y -= 15
    for row, (name, lines, row_cells) in enumerate(zip(rows, row_names, cells, strict=True)):
        row_top = top + _CELL_HEIGHT * row
        # The baseline of the first line. Lines are 14 high, and centred in the row.
        y = row_top + 29 - 7 * len(lines)
        for line in lines:
            marks.append(TextMark(left - 10, y, line, "end", size=12, title=name))
            y += 14
        marks += _cells(left, row_top, row_cells)
    width = left + _CELL_WIDTH * len(columns)
    height = top + _CELL_HEIGHT * len(rows)
    return Drawing(title, description, width, height, tuple(marks))


def _cells(left: float, y: float, row: Sequence[GridCell]) -> Iterator[Mark]:
    for column, cell in enumerate(row):
        if not cell.text:
            continue
        x = left + _CELL_WIDTH * column
        tone: Tone = "accent" if cell.depth >= 0 else "warm"
        # At most half the colour, so that text stays readable in light and dark themes.
        strength = round(min(abs(cell.depth), 1) / 2, 2)
        yield CellMark(
            x=x + 1,
            y=y + 1,
            width=_CELL_WIDTH - 2,
            height=_CELL_HEIGHT - 2,
            text=cell.text,
            tone=tone,
            strength=strength,
            title=cell.title,
        )


def _interval(low: float, value: float, high: float, y: float, title: str) -> Iterator[Mark]:
    """Yields a dot with its interval, and a larger invisible box around them for the mouse."""
    yield BoxMark(low - 8, y - 10, high - low + 16, 20, "accent", strength=0, title=title)
    yield LineMark(low, y, high, y, "accent", thickness=3, title=title)
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


class StackedMarks(NamedTuple):
    """Marks, and the y below them where others may begin."""

    marks: list[Mark]
    end: float


def ratings_marks(rows: Sequence[RatingRow], width: float, top: float) -> StackedMarks:
    """Returns the marks of at least one row and of the axis below."""
    numbers = [number for row in rows for number in (row.value, row.low, row.high)]
    bounds = [number for number in numbers if number is not None]
    low = min(bounds)
    high = max(max(bounds), low + 1)
    bottom = top + RATING_ROW * len(rows)

    def x_of(rating: float) -> float:
        return width * (0.45 + 0.43 * (rating - low) / (high - low))

    marks: list[Mark] = []
    for tick in ticks(low, high, 3):
        marks.append(LineMark(x_of(tick), top, x_of(tick), bottom + 4))
        marks.append(_axis_text(x_of(tick), bottom + 18, f"{tick:.0f}", "middle"))
    for place, row in enumerate(rows):
        y = top + RATING_ROW * (place + 0.5)
        marks.append(model_name(row.name, row.has_rank, width, y))
        if row.low is None or row.high is None:
            marks.append(DotMark(x_of(row.value), y, 5, title=row.title))
        else:
            marks += _interval(x_of(row.low), x_of(row.value), x_of(row.high), y, row.title)
        marks.append(TextMark(width, y + 5, f"{row.value:.0f}", "end"))
    return StackedMarks(marks, bottom + RATING_AXIS)


def model_name(name: str, has_rank: bool, width: float, y: float) -> TextMark:
    """Returns a model's name at the left of its row; `y` is the middle of the row."""
    tone: Tone = "text" if has_rank else "quiet"
    return TextMark(0.43 * width, y + 5, shortened(name), "end", tone, size=12, title=name)


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

    def x_of(share: float) -> float:
        return width * (0.45 + 0.43 * share)

    marks: list[Mark] = []
    for tick in (0, 0.5, 1):
        marks += [
            LineMark(x_of(tick), 34, x_of(tick), bottom),
            _axis_text(x_of(tick), bottom + 16, f"{tick:.0%}", "middle"),
        ]
    for place, (name, share) in enumerate(guides.items()):
        marks += [
            LineMark(x_of(share), 34, x_of(share), bottom, "warm"),
            _axis_text(x_of(share), 12 + 16 * place, name, "middle"),
        ]
    for place, row in enumerate(rows):
        y = 34 + 28 * (place + 0.5)
        marks.append(model_name(row.name, has_rank=True, width=width, y=y))
        marks += _interval(x_of(row.low), x_of(row.value), x_of(row.high), y, row.title)
        marks.append(TextMark(width, y + 5, f"{row.value:.0%}", "end"))
    return Drawing(title, description, width, bottom + 24, tuple(marks), fluid=True)


_NUMBERS_WIDTH = 72
"""Width of the axis of numbers, to fit on a phone."""
_BARS_HEIGHT = 160
_LEAST_TOP = 5
"""Least end of the axis; ticks of a shorter one would not be whole numbers."""


def counts_drawing(
    title: str, description: str, days: Sequence[str], counts: Sequence[int]
) -> Drawing:
    """Lays out a count for each day as a bar, with an axis of numbers and one of dates."""
    width = 720
    top = max(max(counts), _LEAST_TOP)
    step = (width - _NUMBERS_WIDTH) / len(counts)
    marks: list[Mark] = []
    for tick in ticks(0, top, 5):
        y = 12 + _BARS_HEIGHT * (1 - tick / top)
        marks += [
            LineMark(_NUMBERS_WIDTH, y, width, y),
            _axis_text(_NUMBERS_WIDTH - 8, y + 4, f"{tick:,.0f}", "end"),
        ]
    for place, count in enumerate(counts):
        x = _NUMBERS_WIDTH + step * (place + 0.1)
        height = _BARS_HEIGHT * count / top
        hover = f"{days[place]}: {count:,}"
        marks.append(
            BoxMark(
                x, 12 + _BARS_HEIGHT - height, 0.8 * step, round(height, 2), "accent", title=hover
            )
        )
    for place in sorted({0, len(days) // 2, len(days) - 1}):
        anchor = _axis_anchor(place, len(days))
        x = _NUMBERS_WIDTH + step * (place + {"start": 0, "middle": 0.5, "end": 1}[anchor])
        marks.append(_axis_text(x, _BARS_HEIGHT + 32, days[place], anchor))
    return Drawing(title, description, width, _BARS_HEIGHT + 40, tuple(marks), fluid=True)


_LINES_WIDTH = 720
_LINES_LEFT = 48
_LINES_RIGHT = 520
"""_LINES_LEFT, _LINES_RIGHT: the ends of the lines; numbers are on their left, names on their right."""
_LINES_HEIGHT = 320
_TONES: tuple[Tone, ...] = ("line0", "line1", "line2", "line3", "line4", "line5")
MOST_LINES = len(_TONES)
"""Most lines with different colours."""


class _LineEnd(NamedTuple):
    """The end of a line, beside its name."""

    y: float
    tone: Tone
    name: str


def lines_drawing(
    title: str,
    description: str,
    moments: Sequence[str],
    lines: Mapping[str, Sequence[float | None]],
    least: float = 1,
    decimals: int = 0,
) -> Drawing:
    """Lays out numbers over equally spaced moments, with the name of each line at its end.

    `least` is the smallest range of the axis; `decimals` are those of a number on hover. Lines after the first
    MOST_LINES are left out.
    """
    values = [value for line in lines.values() for value in line if value is not None]
    low = min(values, default=0)
    high = max(values, default=1)
    height = max(high - low, least)
    step = (_LINES_RIGHT - _LINES_LEFT) / max(len(moments) - 1, 1)

    def y_of(value: float) -> float:
        return 20 + _LINES_HEIGHT * (high - value) / height

    marks: list[Mark] = []
    for tick in ticks(low, high):
        marks += [
            LineMark(_LINES_LEFT, y_of(tick), _LINES_RIGHT, y_of(tick)),
            _axis_text(_LINES_LEFT - 8, y_of(tick) + 4, f"{tick:.6g}", "end"),
        ]
    labelled = {0, len(moments) // 2, len(moments) - 1} if moments else set()
    for place in sorted(labelled):
        anchor = _axis_anchor(place, len(moments))
        marks.append(
            _axis_text(_LINES_LEFT + step * place, _LINES_HEIGHT + 44, moments[place], anchor)
        )
    ends: list[_LineEnd] = []
    for tone, (name, line) in zip(_TONES, lines.items(), strict=False):
        points = [
            DotMark(
                _LINES_LEFT + step * place,
                y_of(value),
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
        if points:
            ends.append(_LineEnd(points[-1].y, tone, name))
    marks += _line_names(ends)
    return Drawing(title, description, _LINES_WIDTH, _LINES_HEIGHT + 52, tuple(marks))


def _axis_anchor(place: int, places: int) -> Anchor:
    """Returns the anchor of a text below an axis, so that the first and the last text end with the axis."""
    if place == 0:
        return "start"
    return "end" if place == places - 1 else "middle"


def _axis_text(x: float, y: float, text: str, anchor: Anchor) -> TextMark:
    return TextMark(x, y, text, anchor, "quiet", 12)


def _line_names(ends: Iterable[_LineEnd]) -> Iterator[Mark]:
    """Yields the name of each line, right of its end and below the name above."""
    y = 0.0
    for end in sorted(ends):
        y = max(end.y + 4, y + 17)
        yield TextMark(_LINES_RIGHT + 12, y, shortened(end.name, 26), tone=end.tone, title=end.name)
