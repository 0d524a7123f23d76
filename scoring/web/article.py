"""The article on a report: title, sentence, the paper's table as a figure, wrong answers, trust, methods."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap

from arena.drawing_png import is_drawable
from arena.drawings import BoxMark, Drawing, LineMark, Mark, TextMark, shortened, svg
from arena.interval_text import interval_text, spanned
from arena.templates import plural
from arena.web.addresses import NAME
from scoring.benchmarks.article import (
    PublishedBoard,
    ScoredAnswer,
    paired,
    paired_sheet,
    published_sheet,
    wrong_answers,
)
from scoring.jobs.written import score_text
from scoring.publish.refusals import refusals, stopped
from scoring.registry import benchmark_of
from scoring.report import AnyReport, ScoreLine
from scoring.visit_bench.matches import NOT_SHOWN
from scoring.web.report_parts import PARTS, REPORT, judge_text, sheet_html

_ROW = 22
_NAMES = 0.43
_WIDTH = 720
"""Height of a row; where the bars begin, as a share of the width; the width."""
_TALL = 600
"""Height from which a figure is printed smaller, so that it stands on the first page."""
_BARS = 0.46
"""Share of the width that the longest bar takes."""
_PREVIEW = (600, 315)
_EDGE = 24
_NEAREST = 7
"""Size of the picture beside a shared link, the space around it, and how many bars it has room for."""


def head_html(report: AnyReport, parts: Iterable[str] = (), share: str = "") -> str:
    """Return a report's title, its sentence, its headline numbers, and what limits them.

    `share`: what stands between the numbers and their limits.
    """
    benchmark = benchmark_of(report)
    found = benchmark.totals(report)
    totals = REPORT.totals(found) if found else REPORT.total("nothing scored")
    when = f"{report.created[:16].replace('T', ' ')} UTC"
    limits = [PARTS.warning(one.text) for one in benchmark.caveats(report)]
    name = benchmark.edition(report)
    said = benchmark.sentence(report)
    return REPORT.head(
        list(filter(None, (name, report.file, when))),
        report.title,
        name,
        said,
        [totals, share, *limits, *parts],
    )


def figure_html(report: AnyReport) -> str:
    """Return the paper's table with this report in it, as a figure and as a table; "" where there is none."""
    benchmark = benchmark_of(report)
    board = benchmark.published(report)
    head = benchmark.headline(report)
    if board is None or head is None or head.mean is None:
        return ""
    drawing = published_drawing(board, report.title, head)
    apart = (
        f"Not the same conditions: {'; '.join(board.apart)}."
        if board.apart
        else "The same conditions."
    )
    what = f"{report.title} in {board.source} ({board.columns[0]}), with its 95% interval."
    caption = " ".join(filter(None, (what, apart, board.note)))
    sheets = [published_sheet(board, report.title)]
    sheets += [
        published_sheet(other, report.title, f"published-{number}")
        for number, other in enumerate(benchmark.published_beside(report), 2)
    ]
    tall = drawing.height > _TALL
    return REPORT.figure(svg(drawing, "published"), caption, list(map(sheet_html, sheets)), tall)


def published_drawing(board: PublishedBoard, title: str, head: ScoreLine) -> Drawing:
    """Lay out a published table as bars, best first; this report's is the dark one, with its interval."""
    rows, own = _ordered(board.ordered, title, head)
    what = f"{title} ({own[1]:{head.form}}) among the models of {board.source}"
    told = ", ".join(f"{name} {score:{head.form}}" for name, score in rows)
    return Drawing(
        what, told, _WIDTH, _ROW * len(rows), tuple(_bars(rows, own, head, _WIDTH, 0)), fluid=True
    )


def preview_drawing(report: AnyReport) -> Drawing:
    """Lay out what stands beside a shared link: title, main number, and its place among the nearest bars."""
    benchmark = benchmark_of(report)
    head = benchmark.headline(report)
    board = benchmark.published(report)
    edition = benchmark.edition(report)
    title = shortened(report.title if is_drawable(report.title) else "A model", 44)
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
        marks.append(TextMark(beside, 104, shortened(head.name, 44), tone="quiet", size=14))
        marks.append(
            TextMark(
                beside,
                122,
                interval_text(head.low, head.high, head.form),
                tone="quiet",
                size=14,
            )
        )
        below = [f"Beside {_beside(board)}"] if board else []
        if head.unscored:
            ends = spanned(head.worst, head.best, head.form)
            below.append(f"{ends} with what is unscored")
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
    """Lay out the report among the nearest bars of the paper's table, else its groups; None where it has neither."""
    benchmark = benchmark_of(report)
    head = benchmark.headline(report)
    if head is None or head.mean is None:
        return None
    board = benchmark.published(report)
    rows, own = _nearest(report, report.title, head, board, _NEAREST)
    if not rows:
        return None
    bars = tuple(_bars(rows, own, head, _WIDTH, 0))
    what = f"Beside {_beside(board)}" if board else "By group"
    told = ", ".join(f"{name} {score:{head.form}}" for name, score in rows)
    return Drawing(what, told, _WIDTH, _ROW * len(rows), bars, fluid=True)


def shared_drawing(report: AnyReport) -> Drawing:
    """Lay out a report as a file: the paper's table, where a number may stand in it alone, else the preview."""
    benchmark = benchmark_of(report)
    board = benchmark.published(report)
    head = benchmark.headline(report)
    if board is None or head is None or head.mean is None or stopped(refusals(report), "number"):
        return preview_drawing(report)
    return published_drawing(board, report.title, head)


def _kinds(report: AnyReport) -> str:
    """Return in a few words what limits the number."""
    kinds = [one.kind.lower() for one in benchmark_of(report).caveats(report) if one.kind]
    kinds += [one.kind for one in stopped(refusals(report), "number")]
    return ", ".join(dict.fromkeys(kinds)).capitalize()


Bar = tuple[str, float]


def _nearest(
    report: AnyReport, title: str, head: ScoreLine, board: PublishedBoard | None, most: int
) -> tuple[Sequence[Bar], Bar | None]:
    """Return the bars around a report's own in the paper's table, else its first groups, and its own bar."""
    if board is None:
        groups = benchmark_of(report).groups(report)
        return [(one.name, one.mean) for one in groups if one.mean is not None][:most], None
    rows, own = _ordered(board.ordered, title, head)
    first = max(0, min(rows.index(own) - most // 2, len(rows) - most))
    return rows[first : first + most], own


def _beside(board: PublishedBoard) -> str:
    return f"{board.source}{', made under other conditions' if board.apart else ''}"


def _ordered(rows: Iterable[Bar], title: str, head: ScoreLine) -> tuple[list[Bar], Bar]:
    """Return the rows with this report's, best first, and this report's."""
    own = (title, head.mean or 0.0)
    return sorted([*rows, own], key=lambda row: (-row[1], row is not own)), own


def _bars(
    rows: Sequence[Bar], own: Bar | None, head: ScoreLine, width: float, top: float, edge: float = 0
) -> Iterator[Mark]:
    low, high = (
        (own[1] if end is None else end for end in (head.low, head.high)) if own else (0.0, 0.0)
    )
    scale = _BARS * width / max(high, *(score for _, score in rows), 1)
    left = edge + _NAMES * width
    for place, row in enumerate(rows):
        name, score = row
        y = top + _ROW * place
        dark = row is own
        tone, strength = ("text", 1) if dark else ("quiet", 0.35)
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
    """Return five wrong answers; `pictures` returns the addresses of a question's pictures, as far as they are here."""
    found = [(one, pictures(one)) for one in wrong_answers_of(report)]
    return REPORT.wrong(found, benchmark_of(report).unpictured) if found else ""


def trust_html(report: AnyReport) -> str:
    return REPORT.trust(trust_lines(report))


def trust_lines(report: AnyReport) -> list[str]:
    """Return how far to trust a report, in at most three lines."""
    benchmark = benchmark_of(report)
    judge = judge_text(report.judge) if report.judge else "No judge was asked: rules alone decided"
    lines = [f"{judge}. {benchmark.note(report)}."]
    head = benchmark.headline(report)
    if head is not None and head.mean is not None:
        sure = interval_text(head.low, head.high, head.form, missing="no interval")
        between = f"{head.worst:{head.form}} and {head.best:{head.form}}"
        unscored = f"; {head.unscored:,} unscored, so the mean lies between {between}"
        lines.append(
            f"{sure[0].upper()}{sure[1:]}, n {head.n:,}{unscored if head.unscored else ''}."
        )
    return [*lines, *filter(None, [" ".join(list(benchmark.checks(report))[:2])])]


def methods_html(report: AnyReport) -> str:
    """Return how the report was made, with the hashes that tell it from others."""
    benchmark = benchmark_of(report)
    judge = report.judge
    protocols = {protocol: label for label, protocol in benchmark.protocols.items()}
    told = {
        "Benchmark": benchmark.edition(report),
        "Protocol": protocols.get(report.protocol, report.protocol),
    }
    if judge is not None:
        told |= {"Judge": judge.model, "Answered as": ", ".join(judge.versions) or "not told"}
        told |= {"Prompt (sha256)": judge.prompt or "not told", "Reading": judge.parser}
    told |= {**benchmark.methods(report), "File": report.file}
    if answers := benchmark.scored_answers(report):
        is_blind = any(one.answer == NOT_SHOWN for one in answers)
        told["Answers (sha256)"] = NOT_SHOWN if is_blind else answers_digest(answers)
    return REPORT.methods({**told, "Scored": f"{report.created[:16].replace('T', ' ')} UTC"})


def answers_digest(answers: Sequence[ScoredAnswer]) -> str:
    """Return the sha256 of ids and answers, whatever file they came in."""
    return hashlib.sha256(
        json.dumps([(one.id, one.answer) for one in answers]).encode()
    ).hexdigest()


def comparison_html(first: AnyReport, second: AnyReport) -> str:
    """Return how two reports differ, question by question; a sentence where they count different things.

    Of hidden answers the headlines stand side by side.
    """
    benchmark = benchmark_of(first)
    ways = [benchmark_of(one).counted_as(one) for one in (first, second)]
    if ways[0] != ways[1]:
        here, there = (
            f"{one.title!r} is {' · '.join(way)}"
            for one, way in zip((first, second), ways, strict=True)
        )
        return PARTS.alert(
            f"{here}, {there}. Choose two reports of one benchmark, one protocol and one way of counting."
        )
    if benchmark.way == "hidden":
        sheets = benchmark.compared(first, second)
        return REPORT.side_by_side(benchmark.unpaired, list(map(sheet_html, sheets)))
    found = paired(benchmark.scored_answers(first), benchmark.scored_answers(second))
    if not found:
        return PARTS.alert(benchmark.unpaired)
    judges = {one.judge.model if one.judge else "rules alone" for one in (first, second)}
    judged = f"Judged apart: {' and '.join(sorted(judges))}." if len(judges) > 1 else ""
    differ = f"{judged} {benchmark.apart(first, second)}".strip()
    table = sheet_html(paired_sheet(first.title, second.title, found))
    statement = difference_text(first.title, second.title, found[0].difference)
    return REPORT.compared(statement, differ, table, len(found))


def difference_text(first: str, second: str, found: ScoreLine) -> str:
    """Return what two reports' difference over all questions says, in a sentence."""
    over = f"over the {plural(found.n, 'question')} that both reports score"
    if found.mean is None or found.low is None or found.high is None:
        return f"Too few questions to tell, {over}."
    sure = interval_text(found.low, found.high)
    if found.low <= 0 <= found.high:
        points = f"{found.mean:+z.1f}".replace("-", "−")
        return f"No clear difference {over}: {points} points ({sure})."
    better = "higher" if found.mean > 0 else "lower"
    return f"{second} scores {abs(found.mean):.1f} points {better} than {first} {over} ({sure})."
