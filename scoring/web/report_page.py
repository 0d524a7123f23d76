"""Report: the page under a report's link, its answers, its comparison with another, and its owner's acts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from arena.locale import ENGLISH, speaking, t, translated
from arena.markdown import visible_name
from arena.web.addresses import NAME, SCORE
from arena.web.cookies import NO_STORE, owner_of
from arena.web.heads import Head
from arena.web.layout import PageLayout
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.benchmarks.mmt_bench import MMT_BENCH
from scoring.benchmarks.spec_benchmark import is_own
from scoring.jobs.store import KEPT_FREE, Job, JobError, Jobs
from scoring.people.labels import label_results
from scoring.people.marking import Marking
from scoring.people.marks import mark_results
from scoring.people.reading_results import reading_results
from scoring.registry import benchmark_named, benchmark_of
from scoring.report import AnyReport, Report
from scoring.serialize import ReportError
from scoring.specs.report import SpecReport
from scoring.visit_bench.matches import MatchReport
from scoring.web.answer_list import AnswerList, Choice, Chosen
from scoring.web.article import (
    comparison_html,
    figure_html,
    head_html,
    methods_html,
    trust_html,
    wrong_html,
)
from scoring.web.citations import citations
from scoring.web.labels_view import labels_line
from scoring.web.mm_vet_view import QUESTIONS
from scoring.web.multiple_choice_view import CHOICES, file_notes
from scoring.web.people_view import marks_line
from scoring.web.published_page import PublishedReports
from scoring.web.question_pictures import QuestionPictures
from scoring.web.readings_view import readings_line
from scoring.web.report_parts import PARTS, REPORT, folded_problems_html, sheets_html
from scoring.web.share_texts import share_html
from scoring.web.spec_view import READINGS
from scoring.web.task_map_view import clusters_html
from scoring.web.visit_bench_view import MATCHES, families_html, match_notes

LISTS: Mapping[str, AnswerList] = {
    "mm-vet": QUESTIONS,
    "mm-vet-v2": QUESTIONS,
    "visit-bench": MATCHES,
    "mmbench": CHOICES,
    "mmt-bench": CHOICES,
}
"""Lists of answers by the benchmark's key; answers of other benchmarks are in their reports' files only."""


def list_of(report: AnyReport) -> AnswerList | None:
    """Returns the list of a report's answers; None if there is none."""
    return READINGS if isinstance(report, SpecReport) else LISTS.get(report.benchmark)


class JobReport(NamedTuple):
    """A report, and the job that made it."""

    job: Job
    report: AnyReport
    name: str
    """The link or slug by which it was opened; a page opened by its slug never shows the link."""

    @property
    def is_public(self) -> bool:
        return self.name == self.job.slug


def notes_of(opened: JobReport) -> Sequence[str]:
    """Returns the notes below the numbers of a report, as HTML."""
    report = opened.report
    if isinstance(report, MatchReport):
        return match_notes(report, opened.job.own_key)
    if isinstance(report, ChoiceReport):
        return [file_notes(report)]
    problems = report.problems if isinstance(report, SpecReport) else ()
    return [folded_problems_html(problems)]


def figure_of(report: AnyReport) -> str:
    """Returns the figure of a report as HTML; "" if it has none."""
    return families_html(report) if isinstance(report, MatchReport) else figure_html(report)


def scores_of(opened: JobReport) -> str:
    """Returns the tables of a report as HTML; "" if it has none."""
    report = opened.report
    tables = benchmark_of(report).sheets(report)
    if not tables:
        return ""
    parts = [sheets_html(tables)]
    if report.benchmark == MMT_BENCH.key and isinstance(report, ChoiceReport):
        choice_tables = MMT_BENCH.choice_tables(report)
        if choice_tables.splits:
            parts.append(clusters_html(choice_tables.whole, opened.name))
    return REPORT.scores(parts)


def citation_of(report: AnyReport) -> str:
    """Returns the papers of a report's benchmark and protocol in BibTeX."""
    benchmark = benchmark_of(report)
    papers = dict.fromkeys((benchmark.cited, benchmark.protocol_papers.get(report.protocol, "")))
    return "\n\n".join(citations()[key] for key in papers if key in citations())


@dataclass(frozen=True)
class ReportPages:
    """The pages of one server's reports. Anybody may read a published report; any other needs its link."""

    jobs: Jobs
    pictures: QuestionPictures
    marking: Marking
    published_reports: PublishedReports
    layout: PageLayout
    delete_job: Callable[[str, str], None]
    """Deletes the report of an owner by its link. Raises JobError."""

    def show(self, link: str, request: Request) -> Response:
        """Returns the report's page, or its comparison with the report in the query.

        `with` is a report's name, or an address from a form without a list of own reports; `pasted` is an address
        beside such a list. Both are redirected to `?with=NAME`.
        """
        query = request.query_params
        typed = query.get("pasted", "").strip() or query.get("with", "").strip()
        if not typed:
            if self._is_published(link):
                return _redirect(_public_address(link))
            return self._page(link, request, self._report_html)
        other = _report_name(typed)
        is_name_alone = "pasted" not in query and query.get("with") == other
        if other and not is_name_alone:
            return _redirect(f"{_address(link)}?with={quote(other, safe='')}")
        return self._comparison_page(link, other, request)

    def show_published(self, slug: str, request: Request) -> Response:
        """Returns the page of a published report, at its public address."""
        if not self._is_published(slug):
            return self._gone_page(request)
        return self._page(slug, request, self._report_html)

    def show_answers(self, link: str, request: Request) -> Response:
        return self._page(link, request, self._answers_html, is_indexed=False)

    def publish(self, link: str, request: Request) -> Response:
        """Publishes a report, and redirects its owner to the share sheet at its public address."""
        return self._change(link, request, self._publish)

    def hide(self, link: str, request: Request) -> Response:
        """Makes a report private again."""
        return self._change(link, request, self._hide)

    def delete(self, link: str, request: Request) -> Response:
        return self._change(link, request, self._delete)

    def return_to_report(self, link: str) -> Response:
        """Redirects to the report, when somebody opens the address of a form."""
        return _redirect(_address(link))

    def _page(
        self,
        name: str,
        request: Request,
        body: Callable[[JobReport, Request], str | None],
        is_indexed: bool = True,
    ) -> Response:
        """Returns a page of the report of this link or slug.

        `body` returns its HTML, None if the report has no such page. `is_indexed`: whether search engines may find the
        page, once the report is published.
        """
        job = self.jobs.find(name)
        if job is None:
            return self._gone_page(request)
        try:
            report = self.jobs.report(name)
        except ReportError as error:
            return self._message_page(request, REPORT.refused(name, translated(error)), 500)
        if report is None:
            return self._message_page(request, REPORT.unfinished(job.title), 200)
        opened = JobReport(job, report, name)
        html = body(opened, request)
        if html is None:
            return self.layout.nothing_here(request)
        head = _head(t("report.description"))
        if opened.is_public:
            head = self.published_reports.head(job)
            if not is_indexed:
                head = head._replace(is_private=True)
        # Browsers may store a public page, and no other.
        return self.layout.page(request, head, html, is_kept=opened.is_public)

    def _share_html(self, opened: JobReport, request: Request) -> str:
        job = opened.job
        # Texts to copy are English, whatever the language of the page.
        with speaking(ENGLISH):
            record = self.published_reports.record(job) if job.published else None
        if record:
            record = replace(record, base=self.layout.server_address(request))
        return share_html(
            at=_address(opened.name),
            record=record,
            is_owner=self._owner(request) == job.owner,
            is_own=is_own(job.benchmark),
            withdrawn=job.withdrawn,
        )

    def _report_html(self, opened: JobReport, request: Request) -> str:
        job, report, name = opened
        answer_list = list_of(report)
        benchmark = benchmark_of(report)
        answers_link = REPORT.every(name, t(answer_list.title)) if answer_list else ""
        parts = [
            head_html(report, notes_of(opened), self._share_html(opened, request)),
            figure_of(report),
            scores_of(opened),
            wrong_html(report, self.pictures.addresses(job.link, name)),
            answers_link,
            trust_html(report),
            *self._optional_parts(opened, request),
            methods_html(report),
            REPORT.foot(name, benchmark.files(report), citation_of(report)),
        ]
        return REPORT.together(parts)

    def _optional_parts(self, opened: JobReport, request: Request) -> list[str]:
        """Returns the parts on people's ratings and on comparisons, as far as the benchmark has them."""
        job, report, name = opened
        benchmark = benchmark_of(report)
        compare_form = REPORT.compare(name, self._other_reports(job, request))
        compare_section = REPORT.comparing(compare_form)
        if benchmark.way == "hidden":  # hidden answers can't be shown to people
            return [compare_section]
        if not benchmark.scored_answers(report):
            return []
        return [REPORT.people(name, self._ratings_line(job, report)), compare_section]

    def _answers_html(self, opened: JobReport, request: Request) -> str | None:
        report = opened.report
        answer_list = list_of(report)
        if answer_list is None:
            return None
        chosen = Chosen.from_query(f"{_address(opened.name)}/answers", request.query_params)
        return REPORT.answers_page(
            opened.name,
            report.title,
            translated(benchmark_of(report).edition(report)),
            t(answer_list.title),
            answer_list.html(report, chosen),
        )

    def _comparison_page(self, link: str, other: str, request: Request) -> Response:
        """Returns the comparison of two reports, or a page that says that there is no such other report."""
        first = self._find(link)
        second = self._find(other)
        if first is None:  # its own page says why
            return self._page(link, request, self._report_html)
        reports = [first]
        comparison = PARTS.alert(t("report.no_other"))
        if second:
            reports.append(second)
            comparison = comparison_html(first.report, second.report)
        body = REPORT.compare_page(
            [(opened.name, opened.report.title) for opened in reports],
            translated(benchmark_of(first.report).edition(first.report)),
            comparison,
            REPORT.compare(link, self._other_reports(first.job, request)),
        )
        head = Head(f"{t('report.two_reports')} · {NAME}", "", is_private=True)
        is_public = all(opened.is_public for opened in reports)
        if is_public and second:
            title = t("report.compared", second=second.report.title, first=first.report.title)
            head = Head(f"{title} · {NAME}", t("report.compared_more"))
        return self.layout.page(request, head, body, is_kept=is_public)

    def _find(self, name: str) -> JobReport | None:
        """Returns the report of a link or slug; None if there is none, or none that can be read any more."""
        job = self.jobs.find(name)
        report = self.jobs.readable_report(name)
        return JobReport(job, report, name) if job and report else None

    def _other_reports(self, job: Job, request: Request) -> list[Choice]:
        """Returns the visitor's other reports of the same benchmark, by link, with title, protocol and time."""
        protocol_label = benchmark_named(job.benchmark).protocol_label
        choices = []
        for other in self.jobs.of_owner(self._owner(request)):
            is_comparable = (
                other.state == "done"
                and other.link != job.link
                and other.benchmark == job.benchmark
                and other.benchmark_name == job.benchmark_name
            )
            if is_comparable:
                title = visible_name(other.title)
                protocol = translated(protocol_label(other.protocol))
                words = f"{title} · {protocol} · {other.created:%Y-%m-%d %H:%M}"
                choices.append(Choice(other.link, words))
        return choices

    def _ratings_line(self, job: Job, report: AnyReport) -> str:
        """Returns a line on the people who marked a report's answers, read them, or labelled its errors."""
        marks = ""
        readings = ""
        if isinstance(report, Report):
            marks = marks_line(mark_results(self.marking, job, report, with_others=False))
        if isinstance(report, ChoiceReport):
            readings = readings_line(reading_results(self.marking, job, report, with_others=False))
        labels = labels_line(label_results(self.marking, job, report, with_others=False))
        line = marks or readings
        if not line:
            # Labels don't tell how closely a judge agrees with people; only marks would.
            if report.judge:
                line = t("report.nobody_marked_judge")
            elif not labels:
                line = t("report.nobody_marked")
        return t("pages.gap").join(filter(None, (line, labels)))

    def _change(self, name: str, request: Request, change: Callable[[str, str], str]) -> Response:
        """Does an act of a report's owner: `change` gets owner and link, and returns the address to go to."""
        owner = self._owner(request)
        job = self.jobs.find(name)
        if job is None:
            return self._gone_page(request)
        if job.owner != owner:
            return self._message_page(request, REPORT.refused(name, t("report.not_yours")), 403)
        try:
            return _redirect(change(owner, job.link))
        except JobError as error:
            return self._message_page(request, REPORT.refused(name, translated(error)), 409)

    def _publish(self, owner: str, link: str) -> str:
        slug = self.jobs.publish(owner, link, published=True).slug or ""
        return f"{_public_address(slug)}#share"

    def _hide(self, owner: str, link: str) -> str:
        self.jobs.publish(owner, link, published=False)
        return _address(link)

    def _delete(self, owner: str, link: str) -> str:
        self.delete_job(owner, link)
        return f"/{SCORE}"

    def _is_published(self, name: str) -> bool:
        """Returns whether a name is the slug of a published report."""
        return self.published_reports.published.with_slug(name) is not None

    def _owner(self, request: Request) -> str:
        browser = owner_of(request.headers)
        return self.jobs.owners.owner_of(browser)

    def _gone_page(self, request: Request) -> Response:
        return self._message_page(request, REPORT.gone(KEPT_FREE.days), 404)

    def _message_page(self, request: Request, body: str, status: int) -> Response:
        return self.layout.page(request, _head(), body, status=status, is_kept=False)


def _head(description: str = "") -> Head:
    """Returns the head of a page that search engines may not find."""
    return Head(f"{t('report.report')} · {NAME}", description, is_private=True)


def _address(name: str) -> str:
    return f"/report/{quote(name, safe='')}"


def _public_address(slug: str) -> str:
    return f"/r/{quote(slug, safe='')}"


def _redirect(address: str) -> Response:
    return RedirectResponse(address, status_code=303, headers=NO_STORE)


def _report_name(typed: str) -> str:
    """Returns the link or slug in a typed name or address, `/report/LINK/...` or `/r/SLUG`; "" if there is none."""
    try:
        path = urlsplit(typed[:500]).path
    except ValueError:  # not an address
        return ""
    before_slug, separator, slug = path.rpartition("/r/")
    # In /report/a/r/b the link is a.
    is_public = bool(separator) and "/report/" not in before_slug
    name = slug if is_public else path.rpartition("/report/")[2]
    return name.strip("/").partition("/")[0]


def routes(pages: ReportPages) -> APIRouter:
    """Returns the router; only a report's owner may change anything."""
    router = APIRouter()
    reads = ["GET", "HEAD"]
    router.add_api_route("/r/{slug}", pages.show_published, methods=reads)
    router.add_api_route("/report/{link}", pages.show, methods=reads)
    router.add_api_route("/report/{link}/answers", pages.show_answers, methods=reads)
    acts = {"publish": pages.publish, "private": pages.hide, "delete": pages.delete}
    for name, act in acts.items():
        router.add_api_route(f"/report/{{link}}/{name}", act, methods=["POST"])
        router.add_api_route(f"/report/{{link}}/{name}", pages.return_to_report, methods=reads)
    return router
