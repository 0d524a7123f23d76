"""MM-Vet report view: header, capabilities beside published rows, and every question."""

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from arena.figures import plotly_figure
from arena.templates import macros
from arena.web.events import LATEST, Updates
from scoring.benchmarks.mm_vet import MM_VET, UNREADABLE, published, scored_only, tabulate, ungraded
from scoring.benchmarks.mm_vet_questions import ALL_CAPABILITIES
from scoring.jobs.store import Jobs
from scoring.report import Grade, Report, Row, ScoreLine, ScoreTable, missing_notice
from scoring.web.answer_list import AnswerList, of_report
from scoring.web.report_parts import (
    PARTS,
    REPORT,
    PublishedBars,
    TableRow,
    answers_html,
    bars_figure,
    head_html,
    interval,
    judge_notes,
    number,
)

TEMPLATE = macros("mm_vet.html")
EVERY = "every capability"
DISAGREEMENT = 0.2
"""Runs disagree when a question's best and worst scores differ by at least this."""
SHOWS: Mapping[str, Callable[[Row], bool]] = {
    "all questions": lambda row: True,
    "unscored": lambda row: row.answered and len(_scores(row)) < len(row.grades),
    "flagged": lambda row: bool(flags_of(row)),
    "runs disagree": lambda row: max(_scores(row), default=0.0) - min(_scores(row), default=0.0) >= DISAGREEMENT,
    "below 0.5": lambda row: bool(_scores(row)) and sum(_scores(row)) / len(_scores(row)) < 0.5,
    "no prediction": lambda row: not row.answered,
}
PROTOCOL_NOTES = {
    "paper": "Paper protocol: the authors' prompt, retries and reading; a reply that cannot be read counts 0.0",
    "hardened": "Hardened protocol: answers are fenced off; what cannot be read is unscored and stays out of the mean",
}

GRADES_NOTE = "Grades read from a file, which does not hold the answers; nothing was judged here"


class MMVetView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        models = [row.model for row in published()]
        with gr.Column(visible=False) as self.body:
            with gr.Row():
                with gr.Column(min_width=300):
                    self.capabilities = gr.HTML(elem_id="capabilities", padding=False)
                with gr.Column(min_width=300):
                    self.beside = gr.Dropdown(models, value=models[-1], label="Beside (Table 2)", elem_id="beside")
                    self.plot = gr.Plot(show_label=False, elem_id="capability-plot")
            self.integrations = gr.HTML(elem_id="integrations", padding=False)
            self.group = gr.Dropdown(
                [EVERY, *ALL_CAPABILITIES], value=EVERY, label="Capability", elem_id="audit-group", render=False
            )
            listed = of_report(jobs, Report, questions_html)
            self.answers = AnswerList("Every question", "audit", "audit", SHOWS, listed, self.group, "audit-heading")
        self.shown = [self.capabilities, self.integrations, self.plot, self.beside, self.group, self.answers.list]

    def listen(self, link: gr.Textbox) -> None:
        self.answers.listen(link)
        self.beside.input(self.on_beside, [link, self.beside], self.plot, **LATEST)

    def opened(self, link: str, report: Report) -> tuple[str, Updates]:
        capabilities, integrations = tabulate(report)
        return mm_vet_head_html(report, capabilities), {
            self.capabilities: table_html(capabilities),
            self.integrations: table_html(integrations),
            self.plot: _plot(report, capabilities, None),
            self.beside: gr.update(visible=report.benchmark == MM_VET.key),
            self.group: gr.update(choices=[EVERY, *(line.name for line in capabilities.lines[:-1])], value=EVERY),
            self.answers.list: questions_html(report),
        }

    def on_beside(self, link: object, beside: object) -> Updates:
        report = self._jobs.report(str(link))
        return {self.plot: _plot(report, tabulate(report)[0], beside) if isinstance(report, Report) else None}


def mm_vet_head_html(report: Report, table: ScoreTable) -> str:
    line = table.lines[-1]
    runs = f"{report.runs} separate runs" if report.runs > 1 else "1 run"
    how = PROTOCOL_NOTES[report.protocol] if report.judge.prompt else GRADES_NOTE
    notes = [how, f"{report.runs} samples of one call" if report.sampled else runs]
    if not report.questions.official:
        notes.append(f"questions: {report.questions.name}")
    parts = judge_notes(report.judge, "; ".join(notes))
    return head_html(report, [report.benchmark], _total_html(line, table), _warnings(report, line), parts)


def _warnings(report: Report, line: ScoreLine) -> list[str]:
    nothing = ungraded(report)
    warnings = [nothing] if nothing else []
    if report.missing:
        warnings.append(f"partial: {missing_notice(report)}")
    warnings += filter(None, [report.distrust])
    if line.unscored:
        warnings.append(
            f"{line.unscored:,} of {line.n * report.runs:,} grades unscored: the mean lies between {line.worst:.1f} "
            f"and {line.best:.1f}"
        )
    unread = sum(UNREADABLE in grade.flags for row in report.rows for grade in row.grades)
    if report.protocol == "paper" and unread and not nothing:
        scored = tabulate(scored_only(report))[0].lines[-1].mean
        warnings.append(
            f"{unread} grades could not be read and count 0.0 as in the paper's script; over those that were read the "
            f"mean is {scored:.1f}"
        )
    return warnings


def _total_html(line: ScoreLine, table: ScoreTable) -> str:
    if line.mean is None:
        return REPORT.total("nothing scored")
    spread = "" if table.spread is None or len(table.run_totals) < 2 else f" ± {table.spread:.1f}"
    told = f"Total over {line.n:,} questions; {interval(line.low, line.high) or 'no interval'}"
    runs = PARTS.note(f"{told}. Runs: {', '.join(map(number, table.run_totals))}.")
    return REPORT.together([REPORT.total(number(line.mean), spread), runs])


def table_html(table: ScoreTable) -> str:
    unscored = {"Unscored": ""} if any(line.unscored for line in table.lines) else {}
    rows = [TableRow(_cells(line), {"class": "last" if line is table.lines[-1] else None}) for line in table.lines]
    columns = {"": "name", "n": "", "Mean": "", "95% interval": "", **unscored}
    return REPORT.table("board scores", table.name, columns, rows)


def _cells(line: ScoreLine) -> tuple[str, ...]:
    reach = "–" if line.low is None or line.high is None else f"{line.low:.1f} to {line.high:.1f}"
    unscored = REPORT.beside(line.unscored, f"({line.worst:.1f} to {line.best:.1f})") if line.unscored else ""
    return REPORT.name(line.name), f"{line.n:,}", number(line.mean), reach, unscored


def questions_html(report: Report, show: str = "all questions", group: str = EVERY, page: object = 1) -> str:
    """Return one page of the matching questions; a filter that does not exist counts as not chosen."""
    fits = SHOWS.get(show, SHOWS["all questions"])
    rows = [row for row in report.rows if fits(row) and (group not in ALL_CAPABILITIES or group in row.question.groups)]
    return answers_html(rows, len(report.rows), page, _item, "questions", "audit")


def flags_of(row: Row) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*row.flags, *(flag for grade in row.grades for flag in grade.flags)]))


def _scores(row: Row) -> list[float]:
    return [grade.score for grade in row.grades if grade.score is not None]


def _item(row: Row) -> str:
    scores = " ".join(_shown(grade, "–") for grade in row.grades) or "–"
    graded = [TEMPLATE.grade(_shown(grade, "unscored"), grade.reason, grade.replies) for grade in row.grades]
    return TEMPLATE.item(row, flags_of(row), scores, graded)


def _shown(grade: Grade, unscored: str) -> str:
    if grade.score is None:
        return unscored
    return f"{grade.score:.1f}" if round(grade.score, 1) == grade.score else f"{grade.score:g}"


def _plot(report: Report, capabilities: ScoreTable, beside: object) -> Any:
    if report.benchmark != MM_VET.key:  # Table 2 is of the first edition
        return plotly_figure(bars_figure("Capabilities", "", report.title, capabilities.lines, None))
    rows = published()
    row = next((row for row in rows if row.model == beside), rows[-1])
    comparable = report.judge.model == row.judge and report.questions.official and not report.missing
    apart = "" if comparable else "another judge or other questions"
    published_row = PublishedBars((row.model, f"(published, judged by {row.judge})"), row.scores, apart)
    note = f"Beside {row.model} of MM-Vet's Table 2."
    return plotly_figure(bars_figure("Capabilities", note, report.title, capabilities.lines, published_row))
