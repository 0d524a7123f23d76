"""MM-Vet report view: capabilities beside published rows, and the audit of every question."""

from typing import Any

import gradio as gr

from arena.figures import plotly_figure
from arena.web.events import LATEST, Updates
from scoring.benchmarks.mm_vet import published, tabulate
from scoring.benchmarks.mm_vet_questions import CAPABILITIES
from scoring.jobs.store import Jobs
from scoring.report import Report, ScoreTable
from scoring.web.mm_vet_view import SHOWS, MMVetFilter, audit_html, capability_figure, head_html, table_html

EVERY = "every capability"
ALL: MMVetFilter = MMVetFilter()


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
            gr.HTML('<h3 id="audit-heading">Every question</h3>', padding=False)
            with gr.Row():
                self.show = gr.Dropdown(list(SHOWS), value="all questions", label="Show", elem_id="audit-show")
                self.group = gr.Dropdown([EVERY, *CAPABILITIES], value=EVERY, label="Capability", elem_id="audit-group")
                self.page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="audit-page")
            self.audit = gr.HTML(elem_id="audit", padding=False)

    @property
    def shown(self) -> list[Any]:
        """Components that `opened` fills."""
        return [self.capabilities, self.integrations, self.plot, self.audit]

    def listen(self, link: gr.Textbox) -> None:
        chosen = [link, self.show, self.group, self.page]
        gr.on([self.show.input, self.group.input], self.on_filter, chosen, [self.page, self.audit], **LATEST)
        self.page.input(self.on_page, chosen, self.audit, **LATEST)
        self.beside.input(self.on_beside, [link, self.beside], self.plot, **LATEST)

    def head(self, link: str, report: Report) -> str:
        """Return the report's header."""
        return head_html(report, tabulate(report)[0])

    def opened(self, link: str, report: Report) -> Updates:
        """Return the tables, the plot beside the last published row, and the first page of the audit."""
        capabilities, integrations = tabulate(report)
        return {
            self.capabilities: table_html(capabilities),
            self.integrations: table_html(integrations),
            self.plot: _plot(report, capabilities, None),
            self.audit: audit_html(report, ALL),
        }

    def on_filter(self, link: object, show: object, group: object, page: object) -> Updates:
        """Show the first page of the matching questions."""
        return {self.page: 1, **self.on_page(link, show, group, 1)}

    def on_page(self, link: object, show: object, group: object, page: object) -> Updates:
        """Show another page of the audit."""
        report = self._report(link)
        return {self.audit: audit_html(report, _filter(show, group, page)) if report else ""}

    def on_beside(self, link: object, beside: object) -> Updates:
        """Show the capabilities beside another published row."""
        report = self._report(link)
        return {self.plot: _plot(report, tabulate(report)[0], beside) if report else None}

    def _report(self, link: object) -> Report | None:
        report = self._jobs.report(str(link))
        return report if isinstance(report, Report) else None


def _plot(report: Report, capabilities: ScoreTable, beside: object) -> Any:
    rows = published()
    row = next((row for row in rows if row.model == beside), rows[-1])
    return plotly_figure(capability_figure(report, capabilities, row))


def _filter(show: object, group: object, page: object) -> MMVetFilter:
    """Return the filter from the browser's input; an unknown value counts as not chosen."""
    shown = SHOWS.get(str(show), "all questions")
    chosen = str(group) if group in CAPABILITIES else ""
    return MMVetFilter(shown, chosen, int(page) if isinstance(page, int | float) and 1 <= page <= 1e6 else 1)
