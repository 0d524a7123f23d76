"""The article on a report: title, sentence, the paper's table as a figure, wrong answers, trust, methods."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from textwrap import wrap
from typing import NamedTuple

from arena.drawing_png import is_drawable
from arena.drawings import BoxMark, Drawing, LineMark, Mark, TextMark, Tone, shortened, svg
from arena.interval_text import interval_text, spanned
from arena.locale import t, translated
from arena.web.addresses import NAME
from scoring.benchmarks.article import (
    PublishedBoard,
    ScoredAnswer,
    kinds_text,
    paired_lines,
    paired_sheet,
    published_sheet,
    wrong_answers,
)
from scoring.jobs.stored_report import score_text
from scoring.publish.refusals import refusals, stopping_refusals
from scoring.registry import benchmark_of
from scoring.report import AnyReport, ScoreLine
from scoring.visit_bench.matches import NOT_SHOWN
from scoring.web.report_parts import PARTS, REPORT, judge_text, sheet_html

_WIDTH = 720
"""Width of a figure. All lengths here are in pixels."""
_ROW_HEIGHT = 22
"""Height of a bar with the space around it."""
_NAMES_SHARE = 0.43
"""Share of the width that the names take, before the bars."""
_BARS_SHARE = 0.46
"""Share of the width that the longest bar takes."""
_TALL_HEIGHT = 600
"""Height from which a figure is printed smaller, so that it fits on the first page."""
_PREVIEW_WIDTH = 600
_PREVIEW_HEIGHT = 315
"""Size of the preview: the picture beside a shared link."""
_EDGE = 24
"""Space on the left and right of a preview."""
_PREVIEW_LETTERS = 44
"""Most letters of a name in a preview."""
_DIGIT_WIDTH = 25
"""Width of a digit of the score in a preview, in letters of 44 pixels."""
_MOST_BARS = 7
"""The number of bars for which a preview has room."""


class Bar(NamedTuple):
    """A model or group and its score in percent."""

    name: str
    score: float


class _BarChart(NamedTuple):
    """Bars from top to bottom; `own` is the report's own bar among them, None if there is none."""

    bars: Sequence[Bar]
    own: Bar | None


def head_html(report: AnyReport, parts: Iterable[str] = (), share: str = "") -> str:
    """Returns a report's title, its sentence, its headline numbers and their limits.

    `share` is HTML between the numbers and their limits, `parts` HTML below the limits.
    """
    benchmark = benchmark_of(report)
    lines = benchmark.totals(report)
    totals = REPORT.totals(lines) if lines else REPORT.total(t("report.nothing_scored"))
    when = f"{report.created[:16].replace('T', ' ')} UTC"
    limits = [PARTS.warning(translated(caveat.text)) for caveat in benchmark.caveats(report)]
    name = translated(benchmark.edition(report))
    sentence = benchmark.sentence(report)
    return REPORT.head(
        list(filter(None, (name, report.file, when))),
        report.title,
        name,
        sentence,
        [totals, share, *limits, *parts],
    )


def figure_html(report: AnyReport) -> str:
    """Returns the paper's table with this report in it, as a figure and as a table; "" if there is none."""
    benchmark = benchmark_of(report)
    board = benchmark.published(report)
    headline = benchmark.headline(report)
    if board is None or headline is None or headline.mean is None:
        return ""
    drawing = published_drawing(board, report.title, headline)
    conditions = t("report.same_conditions")
    if board.apart:
        reasons = t("report.and_reason").join(map(translated, board.apart))
        conditions = t("report.other_conditions", reasons=reasons)
    description = t(
        "report.in_table",
        title=report.title,
        source=translated(board.source),
        column=translated(board.columns[0]),
    )
    texts = (description, conditions, translated(board.note))
    caption = t("pages.gap").join(filter(None, texts))
    sheets = [published_sheet(board, report.title)]
    sheets += [
        published_sheet(other, report.title, f"published-{number}")
        for number, other in enumerate(benchmark.published_beside(report), 2)
    ]
    is_tall = drawing.height > _TALL_HEIGHT
    return REPORT.figure(svg(drawing, "published"), caption, list(map(sheet_html, sheets)), is_tall)


def published_drawing(board: PublishedBoard, title: str, headline: ScoreLine) -> Drawing:
    """Lays out a published table as bars, best first; this report's bar is dark and has its interval."""
    own = Bar(title, headline.mean or 0.0)
    score = f"{own.score:{headline.form}}"
    heading = t("report.among", title=title, score=score, source=translated(board.source))
    return _bar_drawing(heading, _BarChart(_with_own(board, own), own), headline)


def preview_drawing(report: AnyReport) -> Drawing:
    """Lays out the picture beside a shared link: title, main number, and its place among the nearest bars."""
    benchmark = benchmark_of(report)
    headline = benchmark.headline(report)
    edition = translated(benchmark.edition(report))
    name = report.title if is_drawable(report.title) else t("report.a_model")
    title = shortened(name, _PREVIEW_LETTERS)
    score = score_text(report)
    right = _PREVIEW_WIDTH - _EDGE
    marks: list[Mark] = [
        TextMark(_EDGE, 34, NAME, tone="accent", size=14),
        TextMark(right, 34, shortened(edition, _PREVIEW_LETTERS), "end", "quiet", 14),
        TextMark(_EDGE, 72, title, size=24),
        TextMark(_EDGE, 122, score, size=44),
        TextMark(right, 122, _limits_text(report), "end", "warm", 16),
    ]
    if headline is not None and headline.mean is not None:
        measure = shortened(translated(headline.name), _PREVIEW_LETTERS)
        interval = interval_text(headline.low, headline.high, headline.form)
        after_score = _EDGE + _DIGIT_WIDTH * len(score)
        marks.append(TextMark(after_score, 104, measure, tone="quiet", size=14))
        marks.append(TextMark(after_score, 122, interval, tone="quiet", size=14))
        marks += _preview_bars(report, title, headline)
    return Drawing(title, benchmark.sentence(report), _PREVIEW_WIDTH, _PREVIEW_HEIGHT, tuple(marks))


def _preview_bars(report: AnyReport, title: str, headline: ScoreLine) -> Iterator[Mark]:
    """Draws the lower part of a preview: the nearest bars with notes below them, else the report's sentence."""
    benchmark = benchmark_of(report)
    board = benchmark.published(report)
    notes = [_table_heading(board)] if board else []
    if headline.unscored:
        ends = spanned(headline.worst, headline.best, headline.form)
        notes.append(t("report.with_unscored", span=ends))
    # A second note takes the place of a bar.
    most = _MOST_BARS - 1 if len(notes) > 1 else _MOST_BARS
    nearest = _nearest_chart(report, title, headline, board, most)
    lines = notes
    size = 12
    if not nearest.bars:
        lines = wrap(benchmark.sentence(report), 66)[:5]
        size = 16
    yield from _bar_marks(nearest, headline, _PREVIEW_WIDTH - 2 * _EDGE, 138, _EDGE)
    top = 138 + _ROW_HEIGHT * len(nearest.bars) + 14
    for place, line in enumerate(lines):
        yield TextMark(_EDGE, top + 20 * place, line, tone="quiet", size=size)


def nearest_drawing(report: AnyReport) -> Drawing | None:
    """Lays out the report among the nearest bars of the paper's table, else its groups; None if it has neither."""
    benchmark = benchmark_of(report)
    headline = benchmark.headline(report)
    if headline is None or headline.mean is None:
        return None
    board = benchmark.published(report)
    nearest = _nearest_chart(report, report.title, headline, board, _MOST_BARS)
    if not nearest.bars:
        return None
    heading = _table_heading(board) if board else t("report.by_group")
    return _bar_drawing(heading, nearest, headline)


def shared_drawing(report: AnyReport) -> Drawing:
    """Lays out a report as a file: the paper's table if the number may be in it without a caveat, else the preview."""
    benchmark = benchmark_of(report)
    board = benchmark.published(report)
    headline = benchmark.headline(report)
    if board is None or headline is None or headline.mean is None:
        return preview_drawing(report)
    if stopping_refusals(refusals(report), "number"):
        return preview_drawing(report)
    return published_drawing(board, report.title, headline)


def _limits_text(report: AnyReport) -> str:
    """Returns the limits of the number in a few words."""
    kinds = [caveat.kind for caveat in benchmark_of(report).caveats(report) if caveat.kind]
    kinds += [
        refusal.kind.capitalize() for refusal in stopping_refusals(refusals(report), "number")
    ]
    return kinds_text(kinds)


def _nearest_chart(
    report: AnyReport, title: str, headline: ScoreLine, board: PublishedBoard | None, most: int
) -> _BarChart:
    """Returns at most `most` bars: those around the report's own in the paper's table, else its first groups."""
    if board is None:
        groups = benchmark_of(report).groups(report)
        bars = [
            Bar(translated(group.name), group.mean) for group in groups if group.mean is not None
        ]
        return _BarChart(bars[:most], None)
    own = Bar(title, headline.mean or 0.0)
    bars = _with_own(board, own)
    first = max(0, min(bars.index(own) - most // 2, len(bars) - most))
    return _BarChart(bars[first : first + most], own)


def _table_heading(board: PublishedBoard) -> str:
    source = translated(board.source)
    return t("report.beside_apart" if board.apart else "report.beside", source=source)


def _with_own(board: PublishedBoard, own: Bar) -> list[Bar]:
    """Returns a table's bars and the report's own, best first; the own bar is before others of the same score."""
    bars = [Bar(name, score) for name, score in board.ordered]
    return sorted([*bars, own], key=lambda bar: (-bar.score, bar is not own))


def _bar_drawing(heading: str, chart: _BarChart, headline: ScoreLine) -> Drawing:
    values = ", ".join(f"{bar.name} {bar.score:{headline.form}}" for bar in chart.bars)
    marks = tuple(_bar_marks(chart, headline, _WIDTH, 0))
    return Drawing(heading, values, _WIDTH, _ROW_HEIGHT * len(chart.bars), marks, fluid=True)


def _bar_marks(
    chart: _BarChart, headline: ScoreLine, width: float, top: float, edge: float = 0
) -> Iterator[Mark]:
    """Draws bars below `top` in this width, right of `edge`; the report's own bar is dark and has its interval.

    A score below 0 has no bar, and an interval is drawn from 0 on.
    """
    own = chart.own
    low = 0.0
    high = 0.0
    if own is not None:
        low = own.score if headline.low is None else headline.low
        high = own.score if headline.high is None else headline.high
    scale = _BARS_SHARE * width / max(high, *(bar.score for bar in chart.bars), 1)
    left = edge + _NAMES_SHARE * width
    for place, bar in enumerate(chart.bars):
        y = top + _ROW_HEIGHT * place
        is_own = bar is own
        has_interval = is_own and high > low
        tone: Tone = "text" if is_own else "quiet"
        score = f"{bar.score:{headline.form}}"
        hover = f"{bar.name}: {score}"
        if has_interval:
            hover += f" ({interval_text(low, high, headline.form)})"
        yield TextMark(left - 8, y + 16, shortened(bar.name), "end", tone, 12, bar.name)
        strength = 1 if is_own else 0.35
        yield BoxMark(
            left, y + 4, max(bar.score, 0) * scale, _ROW_HEIGHT - 8, tone, strength, hover
        )
        if has_interval:
            middle = y + _ROW_HEIGHT / 2
            start = left + max(low, 0) * scale
            end = left + max(high, 0) * scale
            yield LineMark(start, middle, end, middle, "warm", 3, hover)
        yield TextMark(edge + width, y + 16, score, "end", tone, 12)


def wrong_answers_of(report: AnyReport) -> list[ScoredAnswer]:
    return wrong_answers(benchmark_of(report).scored_answers(report))


def wrong_html(report: AnyReport, pictures: Callable[[ScoredAnswer], Sequence[str]]) -> str:
    """Returns up to five wrong answers; "" if there are none.

    `pictures` returns the addresses of a question's pictures on this server.
    """
    answers = [(answer, pictures(answer)) for answer in wrong_answers_of(report)]
    return REPORT.wrong(answers, benchmark_of(report).why_unpictured) if answers else ""


def trust_html(report: AnyReport) -> str:
    return REPORT.trust(trust_lines(report))


def trust_lines(report: AnyReport) -> list[str]:
    """Returns at most three lines on how far to trust a report."""
    benchmark = benchmark_of(report)
    judge = judge_text(report.judge) if report.judge else t("report.no_judge")
    lines = [t("report.judged", judge=judge, note=translated(benchmark.note(report)))]
    headline = benchmark.headline(report)
    if headline is not None and headline.mean is not None:
        interval = interval_text(
            headline.low, headline.high, headline.form, missing=t("report.no_interval")
        )
        line = t("report.interval_of", interval=interval, count=headline.n)
        if headline.unscored:
            ends = spanned(headline.worst, headline.best, headline.form)
            unscored = t("report.unscored_bounds", count=headline.unscored, span=ends)
            line = f"{line}{t('pages.gap')}{unscored}"
        lines.append(line)
    checks = [translated(check) for check in islice(benchmark.checks(report), 2)]
    if checks_text := t("pages.gap").join(checks):
        lines.append(checks_text)
    return lines


def methods_html(report: AnyReport) -> str:
    """Returns the methods of a report, with the hashes that identify it."""
    benchmark = benchmark_of(report)
    judge = report.judge
    facts = {
        "Benchmark": benchmark.edition(report),
        "Protocol": benchmark.protocol_label(report.protocol),
    }
    if judge is not None:
        facts |= {"Judge": judge.model, "Answered as": ", ".join(judge.versions) or "unknown"}
        facts |= {"Prompt (sha256)": judge.prompt or "unknown", "Reply parser": judge.parser}
    facts |= {**benchmark.methods(report), "File": report.file}
    if answers := benchmark.scored_answers(report):
        are_hidden = any(answer.answer == NOT_SHOWN for answer in answers)
        facts["Answers (sha256)"] = NOT_SHOWN if are_hidden else answers_digest(answers)
    return REPORT.methods({**facts, "Scored": f"{report.created[:16].replace('T', ' ')} UTC"})


def answers_digest(answers: Sequence[ScoredAnswer]) -> str:
    """Returns the sha256 of ids and answers in hex, the same for every format of their file."""
    return hashlib.sha256(
        json.dumps([(answer.id, answer.answer) for answer in answers]).encode()
    ).hexdigest()


def comparison_html(first: AnyReport, second: AnyReport) -> str:
    """Returns the difference of two reports question by question, or the reason why they can't be compared.

    Reports on hidden answers have their headlines side by side.
    """
    benchmark = benchmark_of(first)
    if benchmark.comparable_facts(first) != benchmark_of(second).comparable_facts(second):
        return PARTS.alert(
            t(
                "report.other_way",
                first=first.title,
                first_way=_measure_text(first),
                second=second.title,
                second_way=_measure_text(second),
            )
        )
    if benchmark.way == "hidden":
        sheets = benchmark.compare(first, second)
        return REPORT.side_by_side(
            translated(benchmark.why_unpaired), list(map(sheet_html, sheets))
        )
    lines = paired_lines(benchmark.scored_answers(first), benchmark.scored_answers(second))
    if not lines:
        return PARTS.alert(translated(benchmark.why_unpaired))
    judges = [
        report.judge.model if report.judge else t("report.rules_alone")
        for report in (first, second)
    ]
    cautions = []
    if judges[0] != judges[1]:
        cautions.append(t("report.two_judges", first=judges[0], second=judges[1]))
    if other := translated(benchmark.other_differences(first, second)):
        cautions.append(other)
    sheet = paired_sheet(f"{first.title} (this)", f"{second.title} (other)", lines)
    statement = difference_text(first.title, second.title, lines[0].difference)
    caution = t("pages.gap").join(cautions)
    return REPORT.compared(statement, caution, sheet_html(sheet), len(lines))


def _measure_text(report: AnyReport) -> str:
    """Returns what a report's number measures: benchmark, protocol and headline, in words."""
    benchmark = benchmark_of(report)
    facts = benchmark.comparable_facts(report)
    protocol = benchmark.protocol_label(facts.protocol)
    return " · ".join(map(translated, (facts.benchmark, protocol, facts.headline)))


def difference_text(first: str, second: str, difference: ScoreLine) -> str:
    """Returns a sentence on the `difference`, the second report's mean minus the first's, over all questions."""
    questions = t("report.shared_questions", count=difference.n)
    if difference.mean is None or difference.low is None or difference.high is None:
        return t("report.too_few", questions=questions)
    interval = interval_text(difference.low, difference.high)
    if difference.low <= 0 <= difference.high:
        points = f"{difference.mean:+z.1f}".replace("-", "−")
        return t("report.no_difference", questions=questions, points=points, interval=interval)
    key = "report.scores_higher" if difference.mean > 0 else "report.scores_lower"
    points = f"{abs(difference.mean):.1f}"
    return t(key, second=second, first=first, points=points, questions=questions, interval=interval)
