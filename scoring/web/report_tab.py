"""Report: the article under a report's link, its benchmark's view, its publication, and its comparison with another."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import gradio as gr

from arena.kept import Kept
from arena.markdown import visible_name
from arena.web.cookies import owner_of
from arena.web.events import LATEST, RAW, Updates
from arena.web.heads import ReportHead
from scoring.benchmarks.choice import ChoiceReport
from scoring.benchmarks.mmt_bench import MMT_BENCH
from scoring.jobs.store import KEPT_FREE, Job, Jobs
from scoring.jobs.written import score_text
from scoring.people.labels import label_results
from scoring.people.marking import Marking
from scoring.people.marks import mark_results
from scoring.registry import BENCHMARKS
from scoring.report import AnyReport, Report
from scoring.task_map.reports import ReportAccuracies
from scoring.web.answer_list import shows_report_errors
from scoring.web.article import (
    CALIBRATION,
    comparison_html,
    figure_html,
    head_html,
    methods_html,
    preview_drawing,
    trust_html,
    wrong_html,
)
from scoring.web.citations import citations
from scoring.web.labels_view import labels_line
from scoring.web.mm_vet_view import MMVetView
from scoring.web.multiple_choice_view import ChoiceView
from scoring.web.people_view import marks_line
from scoring.web.question_pictures import QuestionPictures
from scoring.web.report_parts import PARTS, REPORT, sheets_html
from scoring.web.task_map_view import clusters_html
from scoring.web.visit_bench_view import MatchesView
from scoring.web.vqa_view import MarksView

_LINK = '() => [(window.location.pathname.match(/^\\/report\\/([^/]+)/) ?? [])[1] ?? ""]'
"""In the browser: the link in the address `/report/LINK`."""
_GONE = '(gone) => gone && location.assign("/score")'
"""In the browser: a page whose report was deleted goes to the list of the others."""
OTHER = "One of your reports, or the link of any other"
NO_REPORT: str = PARTS.empty('Open a report from "Score a model", or by its link.')


class View(Protocol):
    """The answers of one kind of report; `opened` returns the head and the updates that fill what is `shown`."""

    below: gr.Column

    @property
    def shown(self) -> Sequence[Any]: ...
    def build_list(self) -> None: ...
    def opened(self, link: str, report: Any) -> tuple[str, Updates]: ...
    def listen(self, link: gr.Textbox) -> None: ...


class PublishedReports:
    """What the heads of published reports say; those that are not published say nothing."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._kept: Kept[ReportHead | None] = Kept(100)

    def words(self, link: str) -> ReportHead | None:
        """Return a published report's title, its sentence and its preview; None of any other."""
        job = self._jobs.find(link)
        if not job or not job.published:
            return None
        return self._kept.of(link, lambda: self._words(link))

    def _words(self, link: str) -> ReportHead | None:
        report = self._jobs.report(link)
        if report is None:
            return None
        benchmark = BENCHMARKS[report.benchmark]
        title = f"{report.title}: {score_text(report)} on {benchmark.edition(report)}"
        return ReportHead(title, benchmark.sentence(report), preview_drawing(report))


class ReportTab:
    """Components of the tab as attributes, event handlers as methods; anybody who has a report's link may read it."""

    def __init__(
        self,
        jobs: Jobs,
        pictures: QuestionPictures,
        marking: Marking,
        accuracies: ReportAccuracies,
        delete: Callable[[str, str], None],
    ) -> None:
        """`delete` deletes an owner's report by its link."""
        self._jobs = jobs
        self._pictures = pictures
        self._marking = marking
        self._delete = delete
        self._accuracies = accuracies
        self.link = gr.Textbox(visible="hidden", elem_id="report-link")
        self.gone = gr.Textbox(visible="hidden", elem_id="report-gone")
        self.head = gr.HTML(NO_REPORT, elem_id="report-head", padding=False)
        with gr.Row(visible=False, elem_id="publication") as self.owned:
            self.publication = gr.HTML(padding=False)
            self.publish = gr.Button("Publish", elem_id="publish", size="sm", min_width=120)
            self.unpublish = gr.Button(
                "Make private again", elem_id="unpublish", size="sm", min_width=120
            )
            self.delete = gr.Button("Delete", elem_id="delete-report", size="sm", min_width=120)
            self.sure = gr.Button(
                "Delete for good", elem_id="delete-surely", size="sm", variant="stop", visible=False
            )
        self.figure = gr.HTML(elem_id="report-figure", padding=False)
        self.sheets = gr.HTML(elem_id="report-sheets", padding=False)
        mm_vet = MMVetView(jobs)
        choices = ChoiceView(jobs)
        marks = MarksView(jobs)
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
        self._each = list(dict.fromkeys(self._views.values()))
        self.clusters = gr.HTML(elem_id="report-clusters", padding=False)
        self.wrong = gr.HTML(elem_id="report-wrong", padding=False)
        self.trust = gr.HTML(elem_id="report-trust", padding=False)
        with gr.Column(visible=False, elem_id="report-compare") as self.comparing:
            gr.HTML(REPORT.heading("Compare with another report"), padding=False)
            with gr.Row():
                self.second = gr.Dropdown(
                    [],
                    label=OTHER,
                    allow_custom_value=True,
                    elem_id="second",
                    scale=4,
                    min_width=280,
                )
                self.compare = gr.Button("Compare", elem_id="compare", scale=1, min_width=120)
            self.comparison = gr.HTML(elem_id="comparison", padding=False)
        for view in self._each:
            view.build_list()
        self.foot = gr.HTML(padding=False)

    def listen(self, page: gr.Blocks, form: gr.Column, article: gr.Column) -> None:
        """Bind the handlers; where the address is a report's, `article` is shown in place of `form`."""
        owned = [self.owned, self.publication, self.publish, self.unpublish]
        shown = [
            self.head,
            self.figure,
            self.sheets,
            self.wrong,
            self.trust,
            self.comparing,
            self.second,
            self.foot,
            *owned,
        ]
        for view in self._each:
            shown += [view.below, *view.shown]
            view.listen(self.link)
        loaded = page.load(self.on_load, self.link, [self.link, form, article], js=_LINK, **RAW)
        opened = loaded.then(self.on_open, self.link, shown, **RAW)
        opened.then(self.on_clusters, self.link, self.clusters, **RAW)
        self.publish.click(self.on_publish, self.link, owned, **RAW)
        self.unpublish.click(self.on_unpublish, self.link, owned, **RAW)
        self.delete.click(self.on_delete, None, [self.delete, self.sure], **RAW)
        self.sure.click(self.on_sure, self.link, [self.gone, self.publication], **RAW)
        self.gone.change(None, self.gone, None, js=_GONE)
        self.compare.click(self.on_compare, [self.link, self.second], self.comparison, **LATEST)

    def on_load(self, link: object) -> tuple[Any, Any, Any]:
        return link, gr.update(visible=not link), gr.update(visible=bool(link))

    @shows_report_errors("head")
    def on_open(self, link: object, request: gr.Request) -> Updates:
        if not link:
            return {self.head: NO_REPORT}
        job = self._jobs.find(str(link))
        report = self._jobs.report(str(link)) if job else None
        if job is None:
            return {self.head: REPORT.gone(KEPT_FREE.days)}
        if report is None:
            return {
                self.head: PARTS.alert(
                    "This report is not finished yet. Open its address again when it is done."
                )
            }
        view = self._views.get(report.benchmark)
        benchmark = BENCHMARKS[report.benchmark]
        head, shown = view.opened(job.link, report) if view else (head_html(report), {})
        papers = dict.fromkeys(
            (benchmark.cited, benchmark.protocol_papers.get(report.protocol, ""))
        )
        citation = "\n\n".join(citations()[key] for key in papers if key)
        return {
            self.head: head,
            self.figure: figure_html(report),
            self.sheets: sheets_html(benchmark.sheets(report)),
            self.wrong: wrong_html(report, self._pictures.addresses(job.link)),
            self.trust: trust_html(report, job.link, self._people(job, report)),
            self.comparing: gr.update(visible=True),
            self.second: gr.update(choices=self._others(job, request), value=None),
            self.foot: REPORT.foot(
                job.link, benchmark.files(report), citation, methods_html(report)
            ),
            **{one.below: gr.update(visible=one is view) for one in self._each},
            **shown,
            **self._owned(job, owner_of(request.headers) == job.owner),
        }

    @shows_report_errors("clusters")
    def on_clusters(self, link: object) -> Updates:
        """Show MMT-Bench's clusters beside published reports, which take their time to read the first time."""
        own = self._accuracies.of(str(link)) if link else None
        report = self._jobs.report(str(link)) if own else None
        if own is None or not isinstance(report, ChoiceReport):
            return {self.clusters: ""}
        scores = MMT_BENCH.tabulated(report).splits[-1]
        return {self.clusters: clusters_html(scores, self._accuracies.beside(own), own.link)}

    def _people(self, job: Job, report: AnyReport) -> str:
        """What people who marked a report's answers, or labelled its errors, say, in a line."""
        is_judged = isinstance(report, Report)
        marks = (
            marks_line(mark_results(self._marking, job, report, beside=False)) if is_judged else ""
        )
        labels = labels_line(label_results(self._marking, job, report, beside=False))
        return (
            f"{marks or CALIBRATION if report.judge else ''} {labels}".strip() if labels else marks
        )

    def on_publish(self, link: object, request: gr.Request) -> Updates:
        return self._publish(link, True, request)

    def on_unpublish(self, link: object, request: gr.Request) -> Updates:
        return self._publish(link, False, request)

    def on_delete(self) -> Updates:
        return {self.delete: gr.update(visible=False), self.sure: gr.update(visible=True)}

    @shows_report_errors("publication")
    def on_sure(self, link: object, request: gr.Request) -> Updates:
        self._delete(owner_of(request.headers), str(link))
        return {self.gone: str(link)}

    @shows_report_errors("comparison")
    def on_compare(self, link: object, second: object) -> Updates:
        first, other = (self._jobs.report(_link(one)) for one in (link, second))
        if first is None or other is None:
            text = "There is no report under this link. Paste the address of another report, as in …/report/…"
            return {self.comparison: PARTS.alert(text)}
        return {self.comparison: comparison_html(first, other)}

    @shows_report_errors("publication")
    def _publish(self, link: object, published: bool, request: gr.Request) -> Updates:
        return self._owned(
            self._jobs.publish(owner_of(request.headers), str(link), published), True
        )

    def _owned(self, job: Job, is_owner: bool) -> Updates:
        """Show the owner whether the report is published, and the button that changes it."""
        return {
            self.owned: gr.update(visible=is_owner),
            self.publication: REPORT.publication(job.published),
            self.publish: gr.update(visible=not job.published),
            self.unpublish: gr.update(visible=job.published),
        }

    def _others(self, job: Job, request: gr.Request) -> list[tuple[str, str]]:
        """Return the visitor's other reports of the same benchmark, by title and time."""
        return [
            (f"{visible_name(one.title)} · {one.protocol} · {one.created:%Y-%m-%d %H:%M}", one.link)
            for one in self._jobs.of_owner(owner_of(request.headers))
            if one.state == "done" and one.benchmark == job.benchmark and one.link != job.link
        ]


def _link(typed: object) -> str:
    """Return the link of a report from itself or its address, `/report/LINK`."""
    address = urlsplit(str(typed or "").strip()[:500])
    return address.path.rpartition("/")[2]
