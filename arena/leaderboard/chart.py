"""Board chart: ratings with their intervals, best first; below a line, in words, what other models still need."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from arena.drawing_png import png
from arena.drawings import NAME_LETTERS, DotMark, Drawing, LineMark, Mark, TextMark, Tone, shortened, ticks
from arena.leaderboard.board import Board, Span, Standing
from arena.leaderboard.headline import headline, main_group, needs
from arena.templates import plural

MOST_BARS, MOST_WAITING = 24, 8
_ROW, _AXIS = 26, 24
_PREVIEW = (600, 315)
"""Size of a link's preview: 1200 x 630 pixels."""
_PREVIEW_BARS, _PREVIEW_WAITING = 7, 0


class RatedLine(NamedTuple):
    """A model in a chart: its rank, if it has one, and its rating."""

    model: str
    rank: object
    rating: Span | None


class _Frame(NamedTuple):
    """Where the bars stand, and the ratings at their ends."""

    width: float
    low: float
    high: float

    def at(self, rating: float) -> float:
        left, right = 0.45 * self.width, 0.88 * self.width
        return left + (right - left) * (min(max(rating, self.low), self.high) - self.low) / (self.high - self.low)


def board_chart(board: Board) -> Drawing:
    """Return the chart of a board's main group, as wide as its place on the page."""
    marks, height = _bars(board, 720, 0, MOST_BARS, MOST_WAITING)
    title = "Ratings with 95% intervals, best first"
    return Drawing(title, headline(board), 720, max(height, _ROW), tuple(marks), fluid=True)


def ratings_chart(title: str, description: str, lines: Sequence[RatedLine]) -> Drawing:
    """Return the chart of other ratings than a board's, drawn alike; each line has an interval."""
    marks, height = _rated(lines[:MOST_BARS], 720, 0)
    if len(lines) > MOST_BARS:
        marks.append(_more(len(lines) - MOST_BARS, height))
        height += _ROW
    return Drawing(title, description, 720, height, tuple(marks), fluid=True)


def chart_png(board: Board, title: str = "") -> bytes:
    """Return a board's title, sentence and chart as a PNG of 1200 x 630 pixels, the size of a link's preview."""
    width, height = _PREVIEW
    lines = wrap(headline(board), 62)[:3]
    marks: list[Mark] = [TextMark(20, 32, "Stereoscope", tone="accent", size=14)]
    marks += [TextMark(width - 20, 32, shortened(title, 60), "end", "quiet", 13)]
    marks += [TextMark(20, 64 + 24 * place, line, size=18) for place, line in enumerate(lines)]
    bars, _ = _bars(board, width - 40, 64 + 24 * len(lines), _PREVIEW_BARS, _PREVIEW_WAITING)
    marks += [_moved(mark, 20) for mark in bars]
    return png(Drawing(title, headline(board), width, height, tuple(marks)), margin=0)


def _moved(mark: Mark, by: float) -> Mark:
    places = {"x": mark.x + by, **({"to_x": mark.to_x + by} if isinstance(mark, LineMark) else {})}
    return type(mark)(**{**vars(mark), **places})


def _bars(board: Board, width: float, top: float, most: int, most_waiting: int) -> tuple[list[Mark], float]:
    """Return the marks of the rows and of the axis, and where they end."""
    group = main_group(board)
    ranked = [line for line in group if line.trust == "trusted" and line.rating is not None]
    waiting = [line for line in group if line not in ranked]
    marks, y = [], top
    if ranked:
        marks, y = _rated(ranked[:most], width, top)
        if most_waiting:
            between, y = _settled(ranked[:most], width, top)
            marks = between + marks
    if waiting and most_waiting:
        marks += _still_gathering(waiting[:most_waiting], width, y)
        y += _ROW * (1 + min(len(waiting), most_waiting))
    hidden = max(len(ranked) - most, 0) + max(len(waiting) - most_waiting, 0) * bool(most_waiting)
    if hidden:
        marks.append(_more(hidden, y))
    return marks, y + _ROW * bool(hidden)


def _rated(lines: Sequence[Standing | RatedLine], width: float, top: float) -> tuple[list[Mark], float]:
    bounds = [bound for line in lines for bound in line.rating or () if bound is not None]
    frame, bottom = _Frame(width, min(bounds), max(max(bounds), min(bounds) + 1)), top + _ROW * len(lines)
    marks: list[Mark] = []
    for tick in ticks(frame.low, frame.high, 3):
        x = frame.at(tick)
        marks += [LineMark(x, top, x, bottom + 4), TextMark(x, bottom + 18, f"{tick:.0f}", "middle", "quiet", 12)]
    for place, line in enumerate(lines):
        marks += _row(line, frame, top + _ROW * (place + 0.5))
    return marks, bottom + _AXIS


def _settled(lines: Sequence[Standing], width: float, top: float) -> tuple[list[Mark], float]:
    """Return lines between neighbours whose order is settled or contradicted, their legend, and where it ends."""
    tones: dict[str, Tone] = {"settled": "grid", "contradicted": "warm"}
    states = [line.order.state for line in lines[:-1] if line.order]
    heights = [(top + _ROW * place, state) for place, state in enumerate(states, 1) if state in tones]
    marks: list[Mark] = [LineMark(0, y, width, y, tones[state], 1.5) for y, state in heights]
    legend, y = [state for state in tones if state in states], top + _ROW * len(lines) + 18
    for place, state in enumerate(legend):  # dashes are text: on a phone distances shrink, letters do not
        tone = "quiet" if state == "settled" else tones[state]
        marks.append(TextMark(0, y + 16 * place, f"\u2014 {state}", tone=tone, size=12))
    return marks, y - 18 + _AXIS + 16 * max(0, len(legend) - 1)


def _row(line: Standing | RatedLine, frame: _Frame, y: float) -> Iterator[Mark]:
    yield _name(line, frame.width, y)
    if line.rating is not None:
        rating, low, high = line.rating
        if low is not None and high is not None:
            yield LineMark(frame.at(low), y, frame.at(high), y, "accent", 3)
        yield DotMark(frame.at(rating), y, 5)
        yield TextMark(frame.width, y + 5, f"{rating:.0f}", "end")


def _still_gathering(lines: Sequence[Standing], width: float, y: float) -> Iterator[Mark]:
    yield TextMark(0, y + 18, "Still gathering votes", tone="quiet", size=12)
    yield LineMark(0, y + 24, width, y + 24)
    for place, line in enumerate(lines, 1):
        middle = y + _ROW * (place + 0.5)
        yield _name(line, width, middle)
        yield TextMark(0.45 * width, middle + 5, needs(line), tone="quiet", size=12)


def _more(models: int, y: float) -> TextMark:
    """Say how many are not drawn, from the left edge: a phone has room for it there alone."""
    return TextMark(0, y + 18, f"and {plural(models, 'model')} more in the table", tone="quiet")


def _name(line: Standing | RatedLine, width: float, y: float) -> TextMark:
    shown = shortened(line.model, NAME_LETTERS)
    return TextMark(0.43 * width, y + 5, shown, "end", "text" if line.rank else "quiet", 12, line.model)
