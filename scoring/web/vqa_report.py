"""VQA report view: exact match beside the judge's marks, and every answer."""

from typing import Any

import gradio as gr

from arena.web.events import LATEST, Updates
from scoring.benchmarks.choice_report import MarksReport, tabulated
from scoring.jobs.store import Jobs
from scoring.web.report_head import marks_head_html
from scoring.web.vqa_view import SHOWS, MarksFilter, mark_counts_html, marks_audit_html, table_3_html

ALL: MarksFilter = MarksFilter()


class MarksView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        with gr.Column(visible=False) as self.body:
            with gr.Row():
                with gr.Column(min_width=300):
                    self.table = gr.HTML(elem_id="marks-table", padding=False)
                with gr.Column(min_width=300):
                    self.counts = gr.HTML(elem_id="marks-counts", padding=False)
            gr.HTML("<h3>Every answer</h3>", padding=False)
            with gr.Row():
                self.show = gr.Dropdown(list(SHOWS), value="all answers", label="Show", elem_id="marks-show")
                self.page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="marks-page")
            self.audit = gr.HTML(elem_id="marks-audit", padding=False)

    @property
    def shown(self) -> list[Any]:
        """Components that `opened` fills."""
        return [self.table, self.counts, self.audit]

    def listen(self, link: gr.Textbox) -> None:
        self.show.input(self.on_filter, [link, self.show], [self.page, self.audit], **LATEST)
        self.page.input(self.on_page, [link, self.show, self.page], self.audit, **LATEST)

    def head(self, link: str, report: MarksReport) -> str:
        """Return the report's header."""
        return marks_head_html(report, tabulated(report))

    def opened(self, link: str, report: MarksReport) -> Updates:
        """Return the tables and the first page of the audit."""
        found = tabulated(report)
        return {
            self.table: table_3_html(report.title, found),
            self.counts: mark_counts_html(found.marks),
            self.audit: marks_audit_html(report, ALL),
        }

    def on_filter(self, link: object, show: object) -> Updates:
        """Show the first page of the matching answers."""
        return {self.page: 1, **self.on_page(link, show, 1)}

    def on_page(self, link: object, show: object, page: object) -> Updates:
        """Show another page of the audit; an unknown value counts as not chosen."""
        report = self._jobs.report(str(link))
        if not isinstance(report, MarksReport):
            return {self.audit: ""}
        number = int(page) if isinstance(page, int | float) and 1 <= page <= 1e6 else 1
        return {self.audit: marks_audit_html(report, MarksFilter(SHOWS.get(str(show), "all answers"), number))}
