"""MM-Vet report view: header, capabilities beside published rows, and every question."""

from collections.abc import Callable, Mapping

import gradio as gr

from arena.interval_text import interval_text, runs_text, spanned
from arena.templates import macros, plural
from arena.web.events import Updates
from scoring.benchmarks.mm_vet_questions import ALL_CAPABILITIES, truth_words
from scoring.benchmarks.mm_vet_tables import capability_words, tabulate
from scoring.jobs.store import Jobs
from scoring.registry import BENCHMARKS
from scoring.report import Grade, Report, Row, ScoreLine, ScoreTable
from scoring.web.answer_list import AnswerList, of_report
from scoring.web.article import head_html
from scoring.web.report_parts import PARTS, REPORT, TableRow, answers_html, number

TEMPLATE = macros("mm_vet.html")
EVERY = "every capability"
DISAGREEMENT = 0.2
"""Runs disagree when a question's best and worst scores differ by at least this."""
SHOWS: Mapping[str, Callable[[Row], bool]] = {
    "all questions": lambda row: True,
    "unscored": lambda row: row.answered and len(_scores(row)) < len(row.grades),
    "flagged": lambda row: bool(flags_of(row)),
    "runs disagree": lambda row: (
        max(_scores(row), default=0.0) - min(_scores(row), default=0.0) >= DISAGREEMENT
    ),
    "below 0.5": lambda row: bool(_scores(row)) and sum(_scores(row)) / len(_scores(row)) < 0.5,
    "no answer of a model": lambda row: bool(row.no_answer),
    "no prediction": lambda row: not row.answered,
}


class MMVetView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        with gr.Column(visible=False) as self.body:
            self.capabilities = gr.HTML(elem_id="capabilities", padding=False)
            self.integrations = gr.HTML(elem_id="integrations", padding=False)
        self.shown = [self.capabilities, self.integrations]

    def build_list(self) -> None:
        with gr.Column(visible=False, elem_classes="report-list") as self.below:
            self.group = gr.Dropdown(
                [EVERY], value=EVERY, label="Capability", elem_id="audit-group", render=False
            )
            listed = of_report(self._jobs, Report, questions_html)
            self.answers = AnswerList(
                "Every question", "audit", "audit", SHOWS, listed, self.group, "audit-heading"
            )
        self.shown += [self.group, self.answers.list]

    def listen(self, link: gr.Textbox) -> None:
        self.answers.listen(link)

    def opened(self, link: str, report: Report) -> tuple[str, Updates]:
        capabilities, integrations = tabulate(report)
        groups = [(capability_words(line.name), line.name) for line in capabilities.lines[:-1]]
        return head_html(report, total_html(report, capabilities)), {
            self.capabilities: table_html(capabilities),
            self.integrations: REPORT.folded(integrations.name, table_html(integrations)),
            self.group: gr.update(choices=[EVERY, *groups], value=EVERY),
            self.answers.list: questions_html(report),
        }


def total_html(report: Report, table: ScoreTable) -> str:
    line = table.lines[-1]
    if line.mean is None:
        return REPORT.total("nothing scored")
    several = len(table.run_totals) > 1
    spread = f" {runs_text(table.spread)}" if several and table.spread is not None else ""
    over = BENCHMARKS[report.benchmark].covered(report) or f"over {plural(line.n, 'question')}"
    told = f"Total {over}; {interval_text(line.low, line.high, missing='no interval')}"
    runs = f" Runs: {', '.join(map(number, table.run_totals))}." if several else ""
    return REPORT.together([REPORT.total(number(line.mean), spread), PARTS.note(f"{told}.{runs}")])


def table_html(table: ScoreTable) -> str:
    name = "Unscored grades" if len(table.run_totals) > 1 else "Unscored"
    unscored = {name: ""} if any(line.unscored for line in table.lines) else {}
    rows = [
        TableRow(_cells(line), {"class": "sure" if line is table.lines[-1] else None})
        for line in table.lines
    ]
    columns = {"Capability": "name", "n": "", "Mean": "", "95% interval": "", **unscored}
    return REPORT.table("figures numbers", table.name, columns, rows)


def _cells(line: ScoreLine) -> tuple[str, ...]:
    reach = spanned(line.low, line.high, missing="–")
    unscored = (
        REPORT.beside(line.unscored, f"({line.worst:.1f} to {line.best:.1f})")
        if line.unscored
        else ""
    )
    return capability_words(line.name), f"{line.n:,}", number(line.mean), reach, unscored


def questions_html(
    report: Report, show: str = "all questions", group: str = EVERY, page: object = 1
) -> str:
    """Return one page of the matching questions; a filter that does not exist counts as not chosen."""
    fits = SHOWS.get(show, SHOWS["all questions"])
    rows = [
        row
        for row in report.rows
        if fits(row) and (group not in ALL_CAPABILITIES or group in row.question.groups)
    ]
    return answers_html(rows, len(report.rows), page, _item, "questions", "audit")


def flags_of(row: Row) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys([*row.flags, *(flag for grade in row.grades for flag in grade.flags)])
    )


def _scores(row: Row) -> list[float]:
    return [grade.score for grade in row.grades if grade.score is not None]


def _item(row: Row) -> str:
    scores = " ".join(_shown(grade, "–") for grade in row.grades) or "–"
    graded = [
        TEMPLATE.grade(_shown(grade, "unscored"), grade.reason, grade.replies)
        for grade in row.grades
    ]
    groups = list(map(capability_words, row.question.groups))
    return TEMPLATE.item(
        row, truth_words(row.question.truth), groups, flags_of(row), scores, graded
    )


def _shown(grade: Grade, unscored: str) -> str:
    if grade.score is None:
        return unscored
    return f"{grade.score:.1f}" if round(grade.score, 1) == grade.score else f"{grade.score:g}"
