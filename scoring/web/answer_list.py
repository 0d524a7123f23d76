"""List of what was answered, with its filters: components and event handlers of every report."""

from collections.abc import Callable, Iterable
from typing import Any

import gradio as gr

from arena.database import DatabaseError
from arena.web.events import LATEST, Updates, one_by_one, shows_errors
from scoring.jobs.store import JobError, Jobs
from scoring.serialize import ReportError
from scoring.web.report_parts import PARTS, REPORT


def shows_report_errors(at: str) -> Callable[..., Any]:
    """Decorate the handlers of a report's views: a failing database is a sentence in the component `at`.

    A report may be long, so that they are worked on one after the other.
    """
    decorate = shows_errors(
        (DatabaseError, JobError, ReportError), lambda error, *_: PARTS.alert(error), at
    )
    return lambda handler: one_by_one(decorate(handler))


def of_report(jobs: Jobs, kind: type, html: Callable[..., str]) -> Callable[..., str]:
    """Return what lists the report under a link by its filters and page; "" for one of another kind."""

    def listed(link: object, *chosen: object) -> str:
        report = jobs.report(str(link))
        return html(report, *map(str, chosen[:-1]), chosen[-1]) if isinstance(report, kind) else ""

    return listed


class AnswerList:
    """What was answered, below its filters; `html` returns the list for what the browser sends: link, filters, page."""

    def __init__(
        self,
        title: str,
        prefix: str,
        elem_id: str,
        shows: Iterable[str],
        html: Callable[..., str],
        group: gr.Dropdown | None = None,
        title_id: str | None = None,
    ) -> None:
        self._html = html
        gr.HTML(REPORT.heading(title, title_id), padding=False)
        with gr.Row():
            choices = list(shows)
            self.show = gr.Dropdown(
                choices, value=choices[0], label="Show", elem_id=f"{prefix}-show"
            )
            self.group = group.render() if group else None
            self.page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id=f"{prefix}-page")
        self.list = gr.HTML(elem_id=elem_id, padding=False)

    def listen(self, *inputs: gr.Radio | gr.Textbox) -> None:
        filters = [self.show, *([self.group] if self.group else [])]
        chosen = [*inputs, *filters, self.page]
        gr.on(
            [one.input for one in filters], self.on_filter, chosen, [self.page, self.list], **LATEST
        )
        self.page.input(self.on_page, chosen, self.list, **LATEST)

    @shows_report_errors("list")
    def on_filter(self, *chosen: object) -> Updates:
        return {self.page: 1, self.list: self._html(*chosen[:-1], 1)}

    @shows_report_errors("list")
    def on_page(self, *chosen: object) -> Updates:
        return {self.list: self._html(*chosen)}
