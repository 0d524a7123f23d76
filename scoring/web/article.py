"""The article on a report: title, sentence, the paper's table as a figure, wrong answers, trust, methods."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence

from arena.drawings import BoxMark, Drawing, LineMark, Mark, TextMark, shortened, svg
from scoring.benchmarks.article import PairedLine, PublishedBoard, ScoredAnswer, paired, wrong_answers
from scoring.registry import BENCHMARKS
from scoring.report import AnyReport, ScoreLine
from scoring.web.report_parts import PARTS, REPORT, TableRow, interval, judge_text, number

_ROW, _NAMES, _WIDTH = 22, 0.43, 720
"""Height of a row; where the bars begin, as a share of the width; the width."""
_BARS = 0.46
"""Share of the width that the longest bar takes."""
CALIBRATION = "No person has marked these answers yet: how far this judge is from people here is not known."


def head_html(report: AnyReport, totals: str, parts: Iterable[str] = ()) -> str:
    """Return a report's title, its sentence, its headline numbers, and what limits them."""
    benchmark = BENCHMARKS[report.benchmark]
    when = f"{report.created[:16].replace('T', ' ')} UTC"
    limits = [PARTS.warning(one.text) for one in benchmark.caveats(report)]
    name, said = benchmark.edition(report), benchmark.sentence(report)
    return REPORT.head([name, report.file, when], report.title, name, said, [totals, *limits, *parts])


def figure_html(report: AnyReport) -> str:
    """Return the paper's table with this report in it, as a figure and as a table; "" where there is none."""
    benchmark = BENCHMARKS[report.benchmark]
    board, head = benchmark.published(report), benchmark.headline(report)
    if board is None or head is None or head.mean is None:
        return ""
    drawing = published_drawing(board, report.title, head)
    apart = f"Not the same conditions: {'; '.join(board.apart)}." if board.apart else "The same conditions."
    caption = f"{report.title} in {board.source} ({board.columns[0]}), with its 95% interval. {apart}"
    return REPORT.figure(svg(drawing, "published"), caption, published_table(board, report.title))


def published_drawing(board: PublishedBoard, title: str, head: ScoreLine) -> Drawing:
    """Lay out a published table as bars, best first; this report's is the dark one, with its interval."""
    mean = head.mean or 0.0
    own = (title, mean)
    rows = sorted([*board.ordered, own], key=lambda row: (-row[1], row is not own))
    low, high = (mean if end is None else end for end in (head.low, head.high))
    scale = _BARS * _WIDTH / max(high, rows[0][1], 1)
    left = _NAMES * _WIDTH
    marks: list[Mark] = []
    for place, row in enumerate(rows):
        name, score = row
        y, dark = _ROW * place, row is own
        tone, strength = ("text", 1) if dark else ("quiet", 0.35)
        marks.append(TextMark(left - 8, y + 16, shortened(name), "end", "text" if dark else "quiet", 12, name))
        marks.append(BoxMark(left, y + 4, score * scale, _ROW - 8, tone, strength))
        if dark and high > low:
            middle = y + _ROW / 2
            marks.append(LineMark(left + low * scale, middle, left + high * scale, middle, "warm", 3))
        marks.append(TextMark(_WIDTH, y + 16, f"{score:.1f}", "end", "text" if dark else "quiet", 12))
    what = f"{title} ({mean:.1f}) among the models of {board.source}"
    told = ", ".join(f"{name} {score:.1f}" for name, score in rows)
    return Drawing(what, told, _WIDTH, _ROW * len(rows), tuple(marks), fluid=True)


def published_table(board: PublishedBoard, title: str) -> str:
    rows = [(row.model, row.scores, None) for row in board.rows] + [(title, board.own, "own")]
    rows.sort(key=lambda row: -(row[1].get(board.columns[0]) or 0))
    shown = [
        TableRow((name, *(number(scores.get(column)) for column in board.columns)), {"class": own})
        for name, scores, own in rows
    ]
    columns = {"Model": "name", **dict.fromkeys(board.columns, "")}
    return REPORT.table("figures numbers", f"{board.source[0].upper()}{board.source[1:]}", columns, shown)


def wrong_answers_of(report: AnyReport) -> list[ScoredAnswer]:
    return wrong_answers(BENCHMARKS[report.benchmark].scored_answers(report))


def wrong_html(report: AnyReport, pictures: Callable[[ScoredAnswer], Sequence[str]]) -> str:
    """Return five wrong answers; `pictures` returns the addresses of a question's pictures, as far as they are here."""
    found = [(one, pictures(one)) for one in wrong_answers_of(report)]
    return REPORT.wrong(found, BENCHMARKS[report.benchmark].unpictured) if found else ""


def trust_html(report: AnyReport) -> str:
    return REPORT.trust(trust_lines(report))


def trust_lines(report: AnyReport) -> list[str]:
    """Return how far to trust a report, in at most five lines."""
    benchmark = BENCHMARKS[report.benchmark]
    judge = judge_text(report.judge) if report.judge else "No judge was asked: rules alone decided"
    lines = [f"{judge}. {benchmark.note(report)}."]
    head = benchmark.headline(report)
    if head is not None and head.mean is not None:
        sure = interval(head.low, head.high) or "no interval"
        unscored = f"; {head.unscored:,} unscored, so the mean lies between {head.worst:.1f} and {head.best:.1f}"
        lines.append(f"{sure[0].upper()}{sure[1:]}, n {head.n:,}{unscored if head.unscored else ''}.")
    lines += list(benchmark.checks(report))[:2]
    return [*lines, *([CALIBRATION] if report.judge else [])]


def methods_html(report: AnyReport) -> str:
    """Return how the report was made, with the hashes that tell it from others."""
    benchmark, judge = BENCHMARKS[report.benchmark], report.judge
    protocols = {protocol: label for label, protocol in benchmark.protocols.items()}
    told = {"Benchmark": benchmark.edition(report), "Protocol": protocols.get(report.protocol, report.protocol)}
    if judge is not None:
        told |= {"Judge": judge.model, "Answered as": ", ".join(judge.versions) or "not told"}
        told |= {"Prompt (sha256)": judge.prompt or "not told", "Reading": judge.parser}
    digest = answers_digest(benchmark.scored_answers(report))
    told |= {**benchmark.methods(report), "File": report.file, "Answers (sha256)": digest}
    return REPORT.methods({**told, "Scored": f"{report.created[:16].replace('T', ' ')} UTC"})


def answers_digest(answers: Sequence[ScoredAnswer]) -> str:
    """Return the sha256 of ids and answers, whatever file they came in."""
    return hashlib.sha256(json.dumps([(one.id, one.answer) for one in answers]).encode()).hexdigest()


def comparison_html(first: AnyReport, second: AnyReport) -> str:
    """Return two reports side by side, question by question; a sentence where they count different things."""
    benchmark = BENCHMARKS[first.benchmark]
    ways = [(one.benchmark, one.protocol, head_name(one)) for one in (first, second)]
    if ways[0] != ways[1]:
        here, there = (f"{one.title!r} is {' · '.join(way)}" for one, way in zip((first, second), ways, strict=True))
        return REPORT.alert(
            f"{here}, {there}. Choose two reports of one benchmark, one protocol and one way of counting."
        )
    found = paired(benchmark.scored_answers(first), BENCHMARKS[second.benchmark].scored_answers(second))
    if not found:
        return REPORT.alert("The two reports share no question that both score. Choose two files of one question set.")
    judges = {one.judge.model if one.judge else "rules alone" for one in (first, second)}
    differ = f"Judged apart: {' and '.join(sorted(judges))}." if len(judges) > 1 else ""
    return REPORT.together([PARTS.warning(differ) if differ else "", _compared(first.title, second.title, found)])


def head_name(report: AnyReport) -> str:
    head = BENCHMARKS[report.benchmark].headline(report)
    return head.name if head else "no score"


def _compared(first: str, second: str, found: Sequence[PairedLine]) -> str:
    rows = []
    for one in found:
        line = one.difference
        reach = "–" if line.low is None or line.high is None else f"{_signed(line.low)} to {_signed(line.high)}"
        sure = line.low is not None and line.high is not None and (line.low > 0 or line.high < 0)
        numbers = (number(one.first), number(one.second), _signed(line.mean or 0.0), reach)
        rows.append(TableRow((line.name, f"{line.n:,}", *numbers), {"class": "sure" if sure else None}))
    models = (REPORT.beside(first, "this"), REPORT.beside(second, "other"))
    columns = dict.fromkeys(("n", *models, "Difference", "95% interval"), "")
    table = REPORT.table("figures numbers", "", {"Questions": "name", **columns}, rows)
    return REPORT.compared(first, second, found[0].difference.n, table)


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
