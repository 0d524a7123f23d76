"""Report view of a benchmark that brings none of its own: its headline and its tables."""

from typing import Any

import gradio as gr

from arena.web.events import Updates
from scoring.registry import BENCHMARKS
from scoring.report import AnyReport
from scoring.web.article import head_html
from scoring.web.benchmark_views import board_html
from scoring.web.report_parts import REPORT, headline


class TablesView:
    """Components of the view as attributes."""

    def __init__(self) -> None:
        with gr.Column(visible=False) as self.body:
            self.tables = gr.HTML(elem_id="report-tables", padding=False)
        self.shown: list[Any] = [self.tables]

    def build_list(self) -> None:
        """Add nothing below: a benchmark's answers have no common shape."""
        self.below = gr.Column(visible=False)

    def listen(self, link: gr.Textbox) -> None:
        """Bind nothing: the tables have no settings."""

    def opened(self, link: str, report: AnyReport) -> tuple[str, Updates]:
        tables = [
            (name, list(lines)) for name, lines in BENCHMARKS[report.benchmark].tables(report)
        ]
        totals = [headline(line.name, line) for _, lines in tables[:1] for line in lines[:1]]
        shown = REPORT.together([board_html(name, "", lines) for name, lines in tables])
        return head_html(report, REPORT.totals(totals)), {self.tables: shown}
