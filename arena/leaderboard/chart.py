"""Board chart: ratings with their intervals, best first; below a line, the needs of other models in words."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

from arena.drawing_png import png
from arena.drawings import (
    RATING_AXIS,
    RATING_ROW,
    Drawing,
    LineMark,
    Mark,
    RatingRow,
    StackedMarks,
    TextMark,
    Tone,
    model_name,
    more_models,
    ratings_marks,
    shortened,
)
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.headline import headline, main_group, needs_in_words, voters_caveat
from arena.locale import named, t, translated
from arena.ratings.settled import ORDER_WORDS

MOST_BARS = 24
MOST_WAITING = 8
_WIDTH = 720
_PREVIEW_WIDTH = 600
_PREVIEW_HEIGHT = 315
"""The size of a link's preview, drawn at twice the pixels."""
_PREVIEW_BARS = 7
_PREVIEW_WAITING = 0


def board_chart(board: Board) -> Drawing:
    """Returns the chart of a board's main group, as wide as its place on the page."""
    bars = _bars(board, _WIDTH, 0, MOST_BARS, MOST_WAITING)
    caveat = voters_caveat(board)
    title = t("results.chart_only", only=caveat) if caveat else t("results.chart_title")
    height = max(bars.end, RATING_ROW)
    return Drawing(title, headline(board), _WIDTH, height, tuple(bars.marks), fluid=True)


def chart_png(board: Board, title: str = "") -> bytes:
    """Returns a board's title, sentence and chart as a PNG of 1200 x 630 pixels, the size of a link's preview."""
    width = _PREVIEW_WIDTH
    lines = wrap(headline(board), 62, max_lines=3, placeholder=" …")
    marks: list[Mark] = [TextMark(20, 32, "Stereoscope", tone="accent", size=14)]
    marks.append(TextMark(width - 20, 32, shortened(title, 60), "end", tone="quiet", size=13))
    marks += [TextMark(20, 64 + 24 * place, line, size=18) for place, line in enumerate(lines)]
    bars = _bars(board, width - 40, 64 + 24 * len(lines), _PREVIEW_BARS, _PREVIEW_WAITING)
    marks += [_move_right(mark, 20) for mark in bars.marks]
    return png(Drawing(title, headline(board), width, _PREVIEW_HEIGHT, tuple(marks)), margin=0)


def _move_right(mark: Mark, distance: float) -> Mark:
    if isinstance(mark, LineMark):
        return replace(mark, x=mark.x + distance, to_x=mark.to_x + distance)
    return replace(mark, x=mark.x + distance)


def _bars(
    board: Board, width: float, top: float, most_bars: int, most_waiting: int
) -> StackedMarks:
    """Returns the marks of the rows and of the axis; with `most_waiting` 0, without waiting models and orders."""
    group = main_group(board)
    trusted = [line for line in group if line.trust == "trusted" and line.rating is not None]
    waiting = [line for line in group if line not in trusted and not line.retired]
    marks = []
    y = top
    if trusted:
        bars = ratings_marks([*_rows(trusted[:most_bars])], width, top)
        marks = bars.marks
        y = bars.end
        if most_waiting:
            orders = _order_marks(trusted[:most_bars], width, top)
            marks = orders.marks + marks  # behind the bars
            y = orders.end
    if waiting and most_waiting:
        marks += _waiting_marks(waiting[:most_waiting], width, y)
        y += RATING_ROW * (1 + min(len(waiting), most_waiting))
    hidden = max(len(trusted) - most_bars, 0)
    if most_waiting:
        hidden += max(len(waiting) - most_waiting, 0)
    if hidden:
        marks.append(more_models(hidden, y))
        y += RATING_ROW
    return StackedMarks(marks, y)


def _rows(lines: Sequence[Standing]) -> Iterator[RatingRow]:
    for line in lines:
        rating = line.rating
        if rating is not None:
            yield RatingRow(
                named(line.model),
                rating.value,
                rating.low,
                rating.high,
                has_rank=line.rank is not None,
            )


def _order_marks(lines: Sequence[Standing], width: float, top: float) -> StackedMarks:
    """Returns the marks between neighbours with a settled or contradicted order, and their legend beside the axis."""
    tones: dict[str, Tone] = {"settled": "grid", "contradicted": "warm"}
    states = [line.order.state if line.order else "open" for line in lines[:-1]]
    marks: list[Mark] = []
    for place, state in enumerate(states, 1):
        if state in tones:
            y = top + RATING_ROW * place
            marks.append(LineMark(0, y, width, y, tones[state], thickness=1.5))
    axis = top + RATING_ROW * len(lines)
    legend = [state for state in tones if state in states]
    for place, state in enumerate(legend):
        tone = "quiet" if state == "settled" else tones[state]
        # Dashes are text, since distances shrink on a phone and letters don't.
        text = f"\u2014 {translated(ORDER_WORDS[state])}"
        marks.append(TextMark(0, axis + 18 + 16 * place, text, tone=tone, size=12))
    return StackedMarks(marks, axis + RATING_AXIS + 16 * max(0, len(legend) - 1))


def _waiting_marks(lines: Sequence[Standing], width: float, y: float) -> Iterator[Mark]:
    yield TextMark(0, y + 18, t("results.gathering"), tone="quiet", size=12)
    yield LineMark(0, y + 24, width, y + 24)
    for place, line in enumerate(lines, 1):
        middle = y + RATING_ROW * (place + 0.5)
        yield model_name(named(line.model), line.rank is not None, width, middle)
        yield TextMark(0.45 * width, middle + 5, needs_in_words(line), tone="quiet", size=12)
