"""Report: a report under its link, with header, downloads and its benchmark's view."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import gradio as gr

from arena.database import DatabaseError
from arena.web.events import RAW, Updates
from scoring.jobs.store import Jobs
from scoring.registry import BENCHMARKS
from scoring.report import DATA
from scoring.serialize import ReportError
from scoring.web.mm_vet_view import MMVetView
from scoring.web.multiple_choice_view import ChoiceView
from scoring.web.report_parts import PARTS, REPORT
from scoring.web.tables_view import TablesView
from scoring.web.visit_bench_view import MatchesView
from scoring.web.vqa_view import MarksView

_LINK = '() => [(window.location.pathname.match(/^\\/report\\/([^/]+)/) ?? [])[1] ?? ""]'
"""In the browser: the link in the address `/report/LINK`."""
NO_REPORT: str = PARTS.empty('Open a report from "Score a model", or by its link.')


@cache
def citations() -> Mapping[str, str]:
    """Return the BibTeX entries of papers by key."""
    entries = (DATA / "citations.bib").read_text("utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


class View(Protocol):
    """View of one kind of report; `opened` returns the header and the updates that fill what is `shown`."""

    body: gr.Column

    @property
    def shown(self) -> Sequence[Any]: ...
    def opened(self, link: str, report: Any) -> tuple[str, Updates]: ...
    def listen(self, link: gr.Textbox) -> None: ...


class ReportTab:
    """Components of the tab as attributes, event handlers as methods; anybody who has a report's link may read it."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self.link = gr.Textbox(visible="hidden", elem_id="report-link")
        self.head = gr.HTML(NO_REPORT, elem_id="report-head", padding=False)
        mm_vet, choices, marks = MMVetView(jobs), ChoiceView(jobs), MarksView(jobs)
        self._plain: View = TablesView()
        self._views: Mapping[str, View] = {
            "mm-vet": mm_vet,
            "mm-vet-v2": mm_vet,
            "visit-bench": MatchesView(jobs),
            "mmbench": choices,
            "mmt-bench": choices,
            "GQA": marks,
            "OK-VQA": marks,
            "TextVQA": marks,
        }
        self._each = list(dict.fromkeys([*self._views.values(), self._plain]))
        self.foot = gr.HTML(padding=False)

    def listen(self, page: gr.Blocks, form: gr.Column, article: gr.Column) -> None:
        """Bind the handlers; where the address is a report's, `article` is shown in place of `form`."""
        shown = [self.head, self.foot]
        for view in self._each:
            shown += [view.body, *view.shown]
            view.listen(self.link)
        loaded = page.load(self.on_load, self.link, [self.link, form, article], js=_LINK, **RAW)
        loaded.then(self.on_open, self.link, shown, **RAW)

    def on_load(self, link: object) -> tuple[Any, Any, Any]:
        return link, gr.update(visible=not link), gr.update(visible=bool(link))

    def on_open(self, link: object) -> Updates:
        if not link:
            return {self.head: NO_REPORT}
        try:
            report = self._jobs.report(str(link))
        except (DatabaseError, ReportError) as error:
            return {self.head: REPORT.alert(error)}
        if report is None:
            return {self.head: REPORT.alert("There is no such report. Its owner may have deleted it.")}
        view = self._views.get(report.benchmark, self._plain)
        benchmark = BENCHMARKS[report.benchmark]
        head, shown = view.opened(str(link), report)
        return {
            self.head: head,
            self.foot: REPORT.foot(str(link), benchmark.files(report), citations().get(benchmark.cited, "")),
            **{one.body: gr.update(visible=one is view) for one in self._each},
            **shown,
        }
