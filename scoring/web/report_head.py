"""Report header of multiple choice and VQA marks, and the what-if: the same file under another protocol."""

from collections.abc import Mapping, Sequence
from html import escape

from scoring.benchmarks import mmbench, mmt_bench
from scoring.benchmarks.choice_report import ChoiceReport, MarksReport, ungraded
from scoring.benchmarks.vqa import VQAReport
from scoring.multiple_choice.circular_eval import is_circular
from scoring.multiple_choice.extract import SEED
from scoring.multiple_choice.metrics import Difference
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import Protocol
from scoring.report import JudgeStamp, ScoreLine
from scoring.web.audit_view import PROTOCOL_WORDS
from scoring.web.benchmark_views import BENCHMARK_VIEWS, Pair
from scoring.web.levels_view import name_html
from scoring.web.multiple_choice_view import file_problems_html, number, totals_html
from scoring.web.vqa_view import marks_totals_html

Found = mmbench.MMBenchReport | mmt_bench.MMTBenchReport
CHANGE = 0.05
"""Minimum change in percent of a mean that a what-if lists."""
_PROTOCOLS: Mapping[Protocol, str] = {
    "strict": "Strict protocol (ours): an answer that is not sure stays undecided and out of the means; of a long "
    "answer the first and the last 4,000 characters are read",
    "mmbench-paper": "MMBench's protocol: whole words that are letters; what the judge cannot read is assigned at "
    f"random (seed {SEED}), and what nobody read counts as wrong",
    "mmt-paper": "MMT-Bench's protocol: letters, then contents; what the judge cannot read is none of the options, and "
    "what nobody read counts as wrong",
}
_MARKS: Mapping[str, str] = {
    "strict": "Strict protocol (ours): an answer is sent on one line, so that it cannot write its own mark",
    "mmbench-paper": "MMBench's protocol: the paper's prompt with the answer as it is",
}


def choice_head_html(report: ChoiceReport, found: Found, place: int) -> str:
    """Return what was scored and how, the totals of a split, and warnings."""
    benchmark_view = BENCHMARK_VIEWS[report.benchmark]
    totals = totals_html(benchmark_view.totals(found, place)) if found.splits else '<p class="total">nothing scored</p>'
    notes = f"{_PROTOCOLS[report.protocol]}. {_judge(report.judge, 'Letters read by rules alone')}"
    listed = _listed((*found.problems, *report.problems))
    return _head(benchmark_view.name(found), report, totals, _warnings(report, found, place), notes, listed)


def marks_head_html(report: MarksReport, found: VQAReport) -> str:
    """Return what was marked and how, accuracy and mean mark."""
    notes = f"{_MARKS[report.protocol]}. {_judge(report.judge, 'No judge was asked yet: exact match only')}"
    listed = _listed(report.problems)
    nothing = ungraded(report)
    warnings = [nothing] if nothing else []
    if report.judge and found.marks.unscored:
        marks = found.marks
        warnings.append(
            f"{marks.unscored:,} answers got no mark and stay out of the mean, which over all {marks.n:,} lies between "
            f"{marks.worst:.2f} and {marks.best:.2f}"
        )
    return _head(report.benchmark, report, marks_totals_html(found), warnings, notes, listed)


def what_if_html(report: ChoiceReport, other: Protocol, pairs: Sequence[Pair], parted: Sequence[Difference]) -> str:
    """Return the same file under another protocol: how many letters differ, and which means change."""
    if not parted:
        return "<p>Both protocols read every answer alike.</p>"
    read = sum(one.row.decision.letter is None for one in parted)
    lost = sum(one.other.letter is None for one in parted)
    words = (
        f"<p><b>{len(parted):,}</b> of {len(report.rows):,} answers are read differently: {read:,} are undecided here "
        f"and read there, {lost:,} are read here and undecided there, {len(parted) - read - lost:,} get another "
        "letter. They are listed below, one by one.</p>"
    )
    if report.judge:
        words += '<p class="note">There rules alone read: what the judge read here is undecided.</p>'
    moved = [pair for pair in pairs[1:] if _moves(*pair)]
    more = f"<details><summary>{len(moved)} more means that move</summary>{_changes(report, other, moved)}</details>"
    return f"{words}{_changes(report, other, pairs[:1])}{more if moved else ''}"


def _changes(report: ChoiceReport, other: Protocol, pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    heads = "".join(f'<th scope="col">{escape(PROTOCOL_WORDS[one])}</th>' for one in (report.protocol, other))
    rows = "".join(_changed(*pair) for pair in pairs)
    return (
        f'<div class="figures numbers"><table><thead><tr><th scope="col" class="name">Ability</th>{heads}'
        f'<th scope="col">Change</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _head(
    name: str, report: ChoiceReport | MarksReport, totals: str, warnings: Sequence[str], notes: str, listed: str
) -> str:
    made = report.created[:16].replace("T", " ")
    told = "".join(f'<p class="warning" role="note">{escape(text)}</p>' for text in warnings)
    return (
        f'<section class="report-head"><p class="kind">{escape(name)} · {escape(report.file)} · {escape(made)} UTC</p>'
        f'<h2 tabindex="-1" id="report-heading">{escape(report.title)}</h2>{totals}{told}'
        f'<p class="note">{escape(notes)}</p>{listed}</section>'
    )


def _listed(problems: Sequence[Problem]) -> str:
    """Return the file's problems, collapsed unless one of them blocks something."""
    if not problems:
        return ""
    unfolded = "" if all(problem.blocks == "nothing" for problem in problems) else " open"
    return f"<details{unfolded}><summary>What to know about the file</summary>{file_problems_html(problems)}</details>"


def _warnings(report: ChoiceReport, found: Found, place: int) -> Sequence[str]:
    nothing = ungraded(report)
    warnings = [nothing] if nothing else []
    refused = sum(problem.blocks == "circular" for problem in found.problems)
    if refused and is_circular(row.question for row in report.rows):
        warnings.append(f"vanilla only; what keeps the file from CircularEval is named below ({refused:,})")
    undecided = sum(row.decision.letter is None for row in report.rows)
    told = [problem.text for problem in found.problems if problem.blocks == "whole"]
    told += [f"{undecided:,} of {len(report.rows):,} answers are undecided"] if undecided else []
    if told:
        totals = BENCHMARK_VIEWS[report.benchmark].totals(found, place) if found.splits else ()
        ends = "".join(f"; {name} lies between {one.worst:.1f} and {one.best:.1f}" for name, one in totals[:1])
        warnings += [*told[:-1], f"{told[-1]}{ends}"]
    if found.without_answer:
        warnings.append(f"{found.without_answer:,} questions have no right answer in the file: read, not scored")
    return warnings


def _judge(judge: JudgeStamp | None, without: str) -> str:
    if judge is None:
        return f"{without}."
    versions = ", ".join(version for version in judge.versions if version != judge.model)
    answered = f" (answered as {versions})" if versions else ""
    return f"Judge: {judge.model} at {judge.address}{answered}; prompt {judge.prompt[:20]}, reading {judge.parser}."


def _moves(here: ScoreLine, there: ScoreLine) -> bool:
    if here.mean is None or there.mean is None:
        return here.mean is not there.mean
    return abs(here.mean - there.mean) > CHANGE


def _changed(here: ScoreLine, there: ScoreLine) -> str:
    change = "–" if here.mean is None or there.mean is None else f"{there.mean - here.mean:+.1f}".replace("-", "−")
    cells = "".join(f"<td>{cell}</td>" for cell in (number(here.mean), number(there.mean), change))
    return f'<tr><th scope="row" class="name">{name_html(here.name)}</th>{cells}</tr>'
