"""Report view of a benchmark that brings none of its own: its headline and its tables."""

from typing import Any

import gradio as gr

from arena.web.events import Updates
from scoring.registry import BENCHMARKS
from scoring.report import AnyReport
from scoring.web.benchmark_views import board_html
from scoring.web.report_parts import PARTS, REPORT, head_html, headline, reading_text


class TablesView:
    """Components of the view as attributes."""

    def __init__(self) -> None:
        with gr.Column(visible=False) as self.body:
            self.tables = gr.HTML(elem_id="report-tables", padding=False)
        self.shown: list[Any] = [self.tables]

    def listen(self, link: gr.Textbox) -> None:
        """Bind nothing: the tables have no settings."""

    def opened(self, link: str, report: AnyReport) -> tuple[str, Updates]:
        """Return the header with the headline, and every table."""
        benchmark = BENCHMARKS[report.benchmark]
        tables = [(name, list(lines)) for name, lines in benchmark.tables(report)]
        totals = [headline(line.name, line) for _, lines in tables[:1] for line in lines[:1]]
        warnings = filter(None, [benchmark.ungraded(report)])
        notes = [PARTS.note(f"{report.protocol} protocol. {reading_text(report.judge, 'Read by rules alone')}")]
        head = head_html(report, [benchmark.name], REPORT.totals(totals), warnings, notes)
        return head, {self.tables: REPORT.together([board_html(name, "", lines) for name, lines in tables])}
