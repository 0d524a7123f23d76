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
    TextMark,
    Tone,
    model_name,
    more_models,
    ratings_marks,
    shortened,
)
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.headline import headline, main_group, needs, only_for
from arena.locale import named, t, translated
from arena.ratings.settled import ORDER_WORDS

MOST_BARS = 24
MOST_WAITING = 8
_PREVIEW = (600, 315)
"""Size of a link's preview: 1200 x 630 pixels."""
_PREVIEW_BARS = 7
_PREVIEW_WAITING = 0


def board_chart(board: Board) -> Drawing:
    """Returns the chart of a board's main group, as wide as its place on the page."""
    marks, height = _bars(board, 720, 0, MOST_BARS, MOST_WAITING)
    only = only_for(board)
    title = t("results.chart_only", only=only) if only else t("results.chart_title")
    return Drawing(title, headline(board), 720, max(height, RATING_ROW), tuple(marks), fluid=True)


def chart_png(board: Board, title: str = "") -> bytes:
    """Returns a board's title, sentence and chart as a PNG of 1200 x 630 pixels, the size of a link's preview."""
    width, height = _PREVIEW
    lines = wrap(headline(board), 62)[:3]
    marks: list[Mark] = [TextMark(20, 32, "Stereoscope", tone="accent", size=14)]
    marks += [TextMark(width - 20, 32, shortened(title, 60), "end", "quiet", 13)]
    marks += [TextMark(20, 64 + 24 * place, line, size=18) for place, line in enumerate(lines)]
    bars, _ = _bars(board, width - 40, 64 + 24 * len(lines), _PREVIEW_BARS, _PREVIEW_WAITING)
    marks += [_moved(mark, 20) for mark in bars]
    return png(Drawing(title, headline(board), width, height, tuple(marks)), margin=0)


def _moved(mark: Mark, by: float) -> Mark:
    """Returns a mark moved to the right."""
    if isinstance(mark, LineMark):
        return replace(mark, x=mark.x + by, to_x=mark.to_x + by)
    return replace(mark, x=mark.x + by)


def _bars(
    board: Board, width: float, top: float, most: int, most_waiting: int
) -> tuple[list[Mark], float]:
    """Returns the marks of the rows and of the axis, and the height at their end."""
    group = main_group(board)
    ranked = [line for line in group if line.trust == "trusted" and line.rating is not None]
    waiting = [line for line in group if line not in ranked]
    marks = []
    y = top
    if ranked:
        marks, y = ratings_marks([*_rows(ranked[:most])], width, top)
        if most_waiting:
            between, y = _settled(ranked[:most], width, top)
            marks = between + marks
    if waiting and most_waiting:
        marks += _still_gathering(waiting[:most_waiting], width, y)
        y += RATING_ROW * (1 + min(len(waiting), most_waiting))
    hidden = max(len(ranked) - most, 0)
    if most_waiting:
        hidden += max(len(waiting) - most_waiting, 0)
    if hidden:
        marks.append(more_models(hidden, y))
        y += RATING_ROW
    return marks, y


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


def _settled(lines: Sequence[Standing], width: float, top: float) -> tuple[list[Mark], float]:
    """Returns lines between neighbours with a settled or contradicted order, their legend, and its end."""
    tones: dict[str, Tone] = {"settled": "grid", "contradicted": "warm"}
    states = [line.order.state for line in lines[:-1] if line.order]
    heights = [
        (top + RATING_ROW * place, state) for place, state in enumerate(states, 1) if state in tones
    ]
    marks: list[Mark] = [LineMark(0, y, width, y, tones[state], 1.5) for y, state in heights]
    legend = [state for state in tones if state in states]
    y = top + RATING_ROW * len(lines) + 18
    # Dashes are text, since distances shrink on a phone and letters don't.
    for place, state in enumerate(legend):
        tone = "quiet" if state == "settled" else tones[state]
        marks.append(
            TextMark(
                0, y + 16 * place, f"\u2014 {translated(ORDER_WORDS[state])}", tone=tone, size=12
            )
        )
    return marks, y - 18 + RATING_AXIS + 16 * max(0, len(legend) - 1)


def _still_gathering(lines: Sequence[Standing], width: float, y: float) -> Iterator[Mark]:
    yield TextMark(0, y + 18, t("results.gathering"), tone="quiet", size=12)
    yield LineMark(0, y + 24, width, y + 24)
    for place, line in enumerate(lines, 1):
        middle = y + RATING_ROW * (place + 0.5)
        yield model_name(named(line.model), line.rank is not None, width, middle)
        yield TextMark(0.45 * width, middle + 5, needs(line), tone="quiet", size=12)
