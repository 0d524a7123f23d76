"""VQA report view: exact match beside the judge's marks, and every answer."""

from collections import Counter
from collections.abc import Callable, Mapping

import gradio as gr

from arena.interval_text import interval_text
from arena.web.events import Updates
from scoring.benchmarks.vqa import (
    Marks,
    MarksReport,
    VQAReport,
    outcome_words,
    same_as_reference,
    tabulated,
)
from scoring.benchmarks.vqa_answers import VQAnswer
from scoring.jobs.store import Jobs
from scoring.report import Grade
from scoring.web.answer_list import AnswerList, of_report
from scoring.web.article import head_html
from scoring.web.benchmark_views import CHOICE
from scoring.web.report_parts import (
    PARTS,
    REPORT,
    TableRow,
    answers_html,
    folded_problems_html,
    headline,
    number,
)

SHOWS: Mapping[str, Callable[[bool | None, float | None], bool]] = {
    "all answers": lambda same, mark: True,
    "exact match": lambda same, mark: same is True,
    "no exact match": lambda same, mark: same is False,
    "marked 1 or 2": lambda same, mark: mark is not None and mark <= 2,
    "marked, no exact match": lambda same, mark: mark is not None and same is False,
    "not marked": lambda same, mark: mark is None,
}
_KINDS = {True: "right", False: "wrong", None: "open"}


class MarksView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        with gr.Column(visible=False) as self.body:
            self.counts = gr.HTML(elem_id="marks-counts", padding=False)
        self.shown = [self.counts]

    def build_list(self) -> None:
        with gr.Column(visible=False, elem_classes="report-list") as self.below:
            listed = of_report(self._jobs, MarksReport, marks_audit_html)
            self.answers = AnswerList("Every answer", "marks", "marks-audit", SHOWS, listed)
        self.shown.append(self.answers.list)

    def listen(self, link: gr.Textbox) -> None:
        self.answers.listen(link)

    def opened(self, link: str, report: MarksReport) -> tuple[str, Updates]:
        found = tabulated(report)
        return marks_head_html(report, found), {
            self.counts: mark_counts_html(found.marks),
            self.answers.list: marks_audit_html(report),
        }


def marks_head_html(report: MarksReport, found: VQAReport) -> str:
    return head_html(report, marks_totals_html(found), [folded_problems_html(report.problems)])


def marks_totals_html(found: VQAReport) -> str:
    marks = found.marks
    notes = (
        interval_text(marks.low, marks.high, ".2f"),
        f"{marks.n - marks.unscored:,} of {marks.n:,} marked",
    )
    shares = (headline("Exact match", found.exact), headline("VQA accuracy", found.consensus))
    return REPORT.totals([*shares, ("Mean mark, 1 to 5", number(marks.mean, 2), notes)])


def mark_counts_html(marks: Marks) -> str:
    total = sum(marks.times.values())
    most = max(marks.times.values(), default=0)
    if not total:
        return PARTS.empty("No marks yet: no judge was asked.")
    given = sorted(marks.times.items(), reverse=True)
    rows = [TableRow((mark, REPORT.share(times, total, most))) for mark, times in given]
    return REPORT.table(
        "figures letters", "Marks given", {"Mark": "", "Answers": "predicted"}, rows
    )


def marks_audit_html(report: MarksReport, show: str = "all answers", page: object = 1) -> str:
    """Return one page of the matching answers: references, answer, mark and replies; a filter must exist to count."""
    grades = {grade.question: grade for grade in report.grades}
    marks = {grade.question: grade.score for grade in report.grades}
    fits = SHOWS.get(show, SHOWS["all answers"])
    rows = [row for row in report.rows if fits(same_as_reference(report, row), marks.get(row.id))]
    return answers_html(
        rows, len(report.rows), page, lambda row: _item(report, row, grades.get(row.id))
    )


def _item(report: MarksReport, row: VQAnswer, grade: Grade | None) -> str:
    kind = _KINDS[same_as_reference(report, row)]
    words = outcome_words(report, row)
    references = Counter(row.answers)
    if grade is None:
        return CHOICE.marked_item(row, kind, words, "", references, "", [])
    mark = "not marked" if grade.score is None else f"mark {grade.score:.0f}"
    asked = f"Replies of {grade.model or 'the judge'}{f' ({grade.reason})' if grade.reason else ''}"
    return CHOICE.marked_item(
        row, kind, words, mark, references, asked, list(map(REPORT.quoted, grade.replies))
    )
