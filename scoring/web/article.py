"""The article on a report: title, sentence, the paper's table as a figure, wrong answers, trust, methods."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap

from arena.drawing_png import is_drawable
from arena.drawings import BoxMark, Drawing, LineMark, Mark, TextMark, shortened, svg
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
from scoring.jobs.written import score_text
from scoring.publish.refusals import refusals, stopping_refusals
from scoring.registry import benchmark_of
from scoring.report import AnyReport, ScoreLine
from scoring.visit_bench.matches import NOT_SHOWN
from scoring.web.report_parts import PARTS, REPORT, judge_text, sheet_html

_ROW = 22
_NAMES = 0.43
_WIDTH = 720
"""Height of a row; where the bars begin, as a share of the width; the width."""
_TALL = 600
"""Height from which a figure is printed smaller, so that it fits on the first page."""
_BARS = 0.46
"""Share of the width that the longest bar takes."""
_PREVIEW = (600, 315)
_EDGE = 24
_NEAREST = 7
"""Size of the picture beside a shared link, the space around it, and how many bars it has room for."""


def head_html(report: AnyReport, parts: Iterable[str] = (), share: str = "") -> str:
    """Returns a report's title, its sentence, its headline numbers and their limits.

    `share`: HTML between the numbers and their limits.
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
    head = benchmark.headline(report)
    if board is None or head is None or head.mean is None:
        return ""
    drawing = published_drawing(board, report.title, head)
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
    tall = drawing.height > _TALL
    return REPORT.figure(svg(drawing, "published"), caption, list(map(sheet_html, sheets)), tall)


def published_drawing(board: PublishedBoard, title: str, head: ScoreLine) -> Drawing:
    """Lays out a published table as bars, best first; this report's bar is dark and has its interval."""
    rows, own = _ordered(board.ordered, title, head)
    score = f"{own[1]:{head.form}}"
    source = translated(board.source)
    heading = t("report.among", title=title, score=score, source=source)
    values = ", ".join(f"{name} {score:{head.form}}" for name, score in rows)
    bars = tuple(_bars(rows, own, head, _WIDTH, 0))
    return Drawing(heading, values, _WIDTH, _ROW * len(rows), bars, fluid=True)


def preview_drawing(report: AnyReport) -> Drawing:
    """Lays out the picture beside a shared link: title, main number, and its place among the nearest bars."""
    benchmark = benchmark_of(report)
    head = benchmark.headline(report)
    board = benchmark.published(report)
    edition = translated(benchmark.edition(report))
    title = shortened(report.title if is_drawable(report.title) else t("report.a_model"), 44)
    score = score_text(report)
    kinds = _kinds(report)
    width, height = _PREVIEW
    marks: list[Mark] = [
        TextMark(_EDGE, 34, NAME, tone="accent", size=14),
        TextMark(width - _EDGE, 34, shortened(edition, 44), "end", "quiet", 14),
        TextMark(_EDGE, 72, title, size=24),
        TextMark(_EDGE, 122, score, size=44),
        TextMark(width - _EDGE, 122, kinds, "end", "warm", 16),
    ]
    if head is not None and head.mean is not None:
        beside = _EDGE + 25 * len(score)
        marks.append(
            TextMark(beside, 104, shortened(translated(head.name), 44), tone="quiet", size=14)
        )
        marks.append(
            TextMark(
                beside,
                122,
                interval_text(head.low, head.high, head.form),
                tone="quiet",
                size=14,
            )
        )
        below = [_beside(board)] if board else []
        if head.unscored:
            ends = spanned(head.worst, head.best, head.form)
            below.append(t("report.with_unscored", span=ends))
        rows, own = _nearest(report, title, head, board, _NEAREST - max(len(below) - 1, 0))
        below = below if rows else wrap(benchmark.sentence(report), 66)[:5]
        marks += _bars(rows, own, head, width - 2 * _EDGE, 138, _EDGE)
        top = 138 + _ROW * len(rows) + 14
        marks += [
            TextMark(_EDGE, top + 20 * place, line, tone="quiet", size=12 if rows else 16)
            for place, line in enumerate(below)
        ]
    return Drawing(title, benchmark.sentence(report), width, height, tuple(marks))


def nearest_drawing(report: AnyReport) -> Drawing | None:
    """Lays out the report among the nearest bars of the paper's table, else its groups; None if it has neither."""
    benchmark = benchmark_of(report)
    head = benchmark.headline(report)
    if head is None or head.mean is None:
        return None
    board = benchmark.published(report)
    rows, own = _nearest(report, report.title, head, board, _NEAREST)
    if not rows:
        return None
    bars = tuple(_bars(rows, own, head, _WIDTH, 0))
    heading = _beside(board) if board else t("report.by_group")
    values = ", ".join(f"{name} {score:{head.form}}" for name, score in rows)
    return Drawing(heading, values, _WIDTH, _ROW * len(rows), bars, fluid=True)


def shared_drawing(report: AnyReport) -> Drawing:
    """Lays out a report as a file: the paper's table if the number may be in it without a caveat, else the preview."""
    benchmark = benchmark_of(report)
    board = benchmark.published(report)
    head = benchmark.headline(report)
    if (
        board is None
        or head is None
        or head.mean is None
        or stopping_refusals(refusals(report), "number")
    ):
        return preview_drawing(report)
    return published_drawing(board, report.title, head)


def _kinds(report: AnyReport) -> str:
    """Returns the limits of the number in a few words."""
    kinds = [caveat.kind for caveat in benchmark_of(report).caveats(report) if caveat.kind]
    kinds += [
        refusal.kind.capitalize() for refusal in stopping_refusals(refusals(report), "number")
    ]
    return kinds_text(kinds)


Bar = tuple[str, float]


def _nearest(
    report: AnyReport, title: str, head: ScoreLine, board: PublishedBoard | None, most: int
) -> tuple[Sequence[Bar], Bar | None]:
    """Returns the bars around a report's own bar in the paper's table, else its first groups, and its own bar."""
    if board is None:
        groups = benchmark_of(report).groups(report)
        return [(translated(group.name), group.mean) for group in groups if group.mean is not None][
            :most
        ], None
    rows, own = _ordered(board.ordered, title, head)
    first = max(0, min(rows.index(own) - most // 2, len(rows) - most))
    return rows[first : first + most], own


def _beside(board: PublishedBoard) -> str:
    source = translated(board.source)
    return t("report.beside_apart" if board.apart else "report.beside", source=source)


def _ordered(rows: Iterable[Bar], title: str, head: ScoreLine) -> tuple[list[Bar], Bar]:
    """Returns the rows including this report's, best first, and this report's row."""
    own = (title, head.mean or 0.0)
    return sorted([*rows, own], key=lambda row: (-row[1], row is not own)), own


def _bars(
    rows: Sequence[Bar], own: Bar | None, head: ScoreLine, width: float, top: float, edge: float = 0
) -> Iterator[Mark]:
    low = high = 0.0
    if own is not None:
        low = own[1] if head.low is None else head.low
        high = own[1] if head.high is None else head.high
    scale = _BARS * width / max(high, *(score for _, score in rows), 1)
    left = edge + _NAMES * width
    for place, row in enumerate(rows):
        name, score = row
        y = top + _ROW * place
        dark = row is own
        tone = "text" if dark else "quiet"
        strength = 1 if dark else 0.35
        hover = f"{name}: {score:{head.form}}"
        if dark and high > low:
            hover += f" ({interval_text(low, high, head.form)})"
        yield TextMark(
            left - 8, y + 16, shortened(name), "end", "text" if dark else "quiet", 12, name
        )
        yield BoxMark(left, y + 4, score * scale, _ROW - 8, tone, strength, hover)
        if dark and high > low:
            middle = y + _ROW / 2
            yield LineMark(
                left + low * scale, middle, left + high * scale, middle, "warm", 3, hover
            )
        yield TextMark(
            edge + width, y + 16, f"{score:{head.form}}", "end", "text" if dark else "quiet", 12
        )


def wrong_answers_of(report: AnyReport) -> list[ScoredAnswer]:
    return wrong_answers(benchmark_of(report).scored_answers(report))


def wrong_html(report: AnyReport, pictures: Callable[[ScoredAnswer], Sequence[str]]) -> str:
    """Returns five wrong answers; `pictures` returns the addresses of a question's pictures on this server."""
    answers = [(answer, pictures(answer)) for answer in wrong_answers_of(report)]
    return REPORT.wrong(answers, benchmark_of(report).why_unpictured) if answers else ""


def trust_html(report: AnyReport) -> str:
    return REPORT.trust(trust_lines(report))


def trust_lines(report: AnyReport) -> list[str]:
    """Returns at most three lines on how far to trust a report."""
    benchmark = benchmark_of(report)
    judge = judge_text(report.judge) if report.judge else t("report.no_judge")
    lines = [t("report.judged", judge=judge, note=translated(benchmark.note(report)))]
    head = benchmark.headline(report)
    if head is not None and head.mean is not None:
        sure = interval_text(head.low, head.high, head.form, missing=t("report.no_interval"))
        line = t("report.interval_of", interval=sure, count=head.n)
        if head.unscored:
            ends = spanned(head.worst, head.best, head.form)
            unscored = t("report.unscored_bounds", count=head.unscored, span=ends)
            line = f"{line}{t('pages.gap')}{unscored}"
        lines.append(line)
    checks = map(translated, list(benchmark.checks(report))[:2])
    return [*lines, *filter(None, [t("pages.gap").join(checks)])]


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
        is_blind = any(answer.answer == NOT_SHOWN for answer in answers)
        facts["Answers (sha256)"] = NOT_SHOWN if is_blind else answers_digest(answers)
    return REPORT.methods({**facts, "Scored": f"{report.created[:16].replace('T', ' ')} UTC"})


def answers_digest(answers: Sequence[ScoredAnswer]) -> str:
    """Returns the sha256 of ids and answers, whatever file they came in."""
    return hashlib.sha256(
        json.dumps([(answer.id, answer.answer) for answer in answers]).encode()
    ).hexdigest()


def comparison_html(first: AnyReport, second: AnyReport) -> str:
    """Returns the difference of two reports question by question, or a sentence if they count different things.

    Reports on hidden answers have their headlines side by side.
    """
    benchmark = benchmark_of(first)
    if benchmark.comparable_facts(first) != benchmark_of(second).comparable_facts(second):
        return PARTS.alert(
            t(
                "report.other_way",
                first=first.title,
                first_way=_way(first),
                second=second.title,
                second_way=_way(second),
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
    judged = ""
    if judges[0] != judges[1]:
        judged = t("report.two_judges", first=judges[0], second=judges[1])
    differ = t("pages.gap").join(
        filter(None, (judged, translated(benchmark.other_differences(first, second))))
    )
    sheet = paired_sheet(f"{first.title} (this)", f"{second.title} (other)", lines)
    table = sheet_html(sheet)
    statement = difference_text(first.title, second.title, lines[0].difference)
    return REPORT.compared(statement, differ, table, len(lines))


def _way(report: AnyReport) -> str:
    """Returns what a report counts, in words."""
    benchmark = benchmark_of(report)
    facts = benchmark.comparable_facts(report)
    protocol = benchmark.protocol_label(facts.protocol)
    return " · ".join(map(translated, (facts.benchmark, protocol, facts.headline)))


def difference_text(first: str, second: str, difference: ScoreLine) -> str:
    """Returns a sentence on the difference of two reports over all questions."""
    over = t("report.shared_questions", count=difference.n)
    if difference.mean is None or difference.low is None or difference.high is None:
        return t("report.too_few", questions=over)
    sure = interval_text(difference.low, difference.high)
    if difference.low <= 0 <= difference.high:
        points = f"{difference.mean:+z.1f}".replace("-", "−")
        return t("report.no_difference", questions=over, points=points, interval=sure)
    key = "report.scores_higher" if difference.mean > 0 else "report.scores_lower"
    points = f"{abs(difference.mean):.1f}"
    return t(key, second=second, first=first, points=points, questions=over, interval=sure)
