"""The "Report" tab: tables, capabilities beside published rows, downloads, and the audit of every question."""

from html import escape
from typing import Any
from urllib.parse import parse_qs

import gradio as gr

from arena.database import DatabaseError
from arena.plots import plotly_figure
from scoring.benchmarks import BENCHMARKS
from scoring.jobs import Jobs
from scoring.mm_vet import published, tabulate
from scoring.questions import CAPABILITIES
from scoring.report_page import SHOWS, Filter, audit_html, capability_figure, files_html, head_html, table_html
from scoring.results import Report, Table

TAB = "report"
EVERY = "every capability"
NO_REPORT = '<p class="empty">Open a report from "Score outputs", or by its link.</p>'
GONE = '<p class="problem" role="alert">There is no such report. Its owner may have deleted it.</p>'

Updates = dict[Any, Any]


class ReportTab:
    """Components of the tab as attributes, its handlers as methods; whoever holds a report's link may read it."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        models = [row.model for row in published()]
        self.link = gr.Textbox(visible="hidden", elem_id="report-link")
        self.head = gr.HTML(NO_REPORT, elem_id="report-head", padding=False)
        with gr.Column(visible=False, elem_id="report-body") as self.body:
            self.files = gr.HTML(padding=False)
            with gr.Row():
                with gr.Column(min_width=300):
                    self.capabilities = gr.HTML(elem_id="capabilities", padding=False)
                with gr.Column(min_width=300):
                    self.beside = gr.Dropdown(models, value=models[-1], label="Beside (Table 2)", elem_id="beside")
                    self.plot = gr.Plot(show_label=False, elem_id="capability-plot")
            self.integrations = gr.HTML(elem_id="integrations", padding=False)
            gr.HTML('<h3 id="audit-heading">Every question</h3>', padding=False)
            with gr.Row():
                self.show = gr.Dropdown(list(SHOWS), value="all questions", label="Show", elem_id="audit-show")
                self.group = gr.Dropdown([EVERY, *CAPABILITIES], value=EVERY, label="Capability", elem_id="audit-group")
                self.page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="audit-page")
            self.audit = gr.HTML(elem_id="audit", padding=False)

    def listen(self, page: gr.Blocks, tabs: gr.Tabs, tab: gr.Tab) -> None:
        """Bind the handlers; a page that was opened by a report's link shows it at once."""
        settings = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
        tables = [self.head, self.body, self.files, self.capabilities, self.integrations, self.plot, self.audit]
        query = "() => [window.location.search]"
        opened = page.load(self.on_load, self.link, [self.link, tabs, tab], js=query, **settings)
        chosen = [self.link, self.beside, self.show, self.group, self.page]
        opened.then(self.on_open, chosen, tables, **settings)
        filters = [self.show.input, self.group.input]
        gr.on(filters, self.on_filter, chosen, [self.page, self.audit], **settings)
        self.page.input(self.on_page, chosen, self.audit, **settings)
        self.beside.input(self.on_beside, chosen, self.plot, **settings)

    def on_load(self, search: object) -> tuple[Any, Any, Any]:
        """Show this tab, and turn to it, when the page's address names a report."""
        named = parse_qs(search.removeprefix("?")[:500]).get("report") if isinstance(search, str) else None
        return (named[0], gr.Tabs(selected=TAB), gr.Tab(visible=True)) if named else ("", gr.skip(), gr.skip())

    def on_open(self, link: object, beside: object, show: object, group: object, page: object) -> Updates:
        """Show the whole report."""
        if not link:
            return {self.head: NO_REPORT, self.body: gr.update(visible=False)}
        try:
            report = self._jobs.report(str(link))
        except DatabaseError as error:
            return {self.head: f'<p class="problem" role="alert">{escape(str(error))}</p>'}
        if not isinstance(report, Report):
            return {self.head: GONE, self.body: gr.update(visible=False)}
        capabilities, integrations = tabulate(report)
        return {
            self.head: head_html(report, capabilities),
            self.body: gr.update(visible=True),
            self.files: files_html(str(link), list(BENCHMARKS[report.benchmark].files(report))),
            self.capabilities: table_html(capabilities),
            self.integrations: table_html(integrations),
            self.plot: _plot(report, capabilities, beside),
            self.audit: audit_html(report, _filter(show, group, page)),
        }

    def on_filter(self, link: object, beside: object, show: object, group: object, page: object) -> Updates:
        """Show the first page of the questions that fit."""
        return {self.page: 1, **self.on_page(link, beside, show, group, 1)}

    def on_page(self, link: object, beside: object, show: object, group: object, page: object) -> Updates:
        """Show another page of the audit."""
        report = self._jobs.report(str(link))
        return {self.audit: audit_html(report, _filter(show, group, page)) if isinstance(report, Report) else GONE}

    def on_beside(self, link: object, beside: object, show: object, group: object, page: object) -> Updates:
        """Show the capabilities beside another published row."""
        report = self._jobs.report(str(link))
        if not isinstance(report, Report):
            return {self.plot: None}
        return {self.plot: _plot(report, tabulate(report)[0], beside)}


def _plot(report: Report, capabilities: Table, beside: object) -> Any:
    rows = published()
    row = next((row for row in rows if row.model == beside), rows[-1])
    return plotly_figure(capability_figure(report, capabilities, row))


def _filter(show: object, group: object, page: object) -> Filter:
    """Return the filter that the page asks for; a word that it does not know is as if it were not chosen."""
    shown = SHOWS.get(str(show), "all questions")
    chosen = str(group) if group in CAPABILITIES else ""
    return Filter(shown, chosen, int(page) if isinstance(page, int | float) and 1 <= page <= 1e6 else 1)
