"""People's page of a report: results of marks, labels and readings, and for its owner the links to hand out."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.exceptions import HTTPException

from arena.io.strict_json import RowsError
from arena.io.tables import SUFFIXES, read_records, temporary_file
from arena.locale import t, translated
from arena.web import campaign_api
from arena.web.addresses import NAME
from arena.web.cookies import NO_STORE, owner_of
from arena.web.heads import Head
from arena.web.layout import PageLayout
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.store import Job
from scoring.people.imports import import_labels, import_marks, import_readings, marks_csv
from scoring.people.label_files import labels_csv
from scoring.people.labels import LabelResults, label_results
from scoring.people.marking import Marking, answers_for, kind_named
from scoring.people.marks import MarkResults, judged_report, mark_results
from scoring.people.reading_files import readings_csv
from scoring.people.reading_results import ReadingResults, reading_results
from scoring.people.spec import MarkKind
from scoring.people.store import OWNER, MarkError
from scoring.registry import benchmark_of
from scoring.report import AnyReport, Report, answer_digest, file_stem
from scoring.score_sheets import sheet_files
from scoring.web.labels_view import label_sheets, labels_html
from scoring.web.people_view import HTML, mark_sheets, marks_html
from scoring.web.readings_view import reading_sheets, readings_html
from scoring.web.report_parts import PARTS
from scoring.web.scoring_api import attachment, sent_file
from scoring.web.scoring_problems import error_text

MARKS_UPLOAD = "/marks"
MOST_UPLOAD_BYTES = 2_000_000
"""The largest file of people's ratings."""
KINDS: Sequence[MarkKind] = ("marks", "readings", "labels")


class _Results(NamedTuple):
    """People's ratings of a report; None for a kind of rating that the report doesn't have."""

    marks: MarkResults | None
    labels: LabelResults | None
    readings: ReadingResults | None


class _Collection(NamedTuple):
    """A kind of rating that a report's owner can collect."""

    label: str
    links: Mapping[str, str]
    """The path of each person's link by name; empty before it is begun."""


@dataclass(frozen=True)
class PeoplePages:
    """The pages of people under the reports of one server."""

    marking: Marking
    pictures: ReportPictures

    def body(self, link: str, owner: str, message: str = "") -> str | None:
        """Returns the body of a report's page of people, with a message about the last act; None without a report."""
        job = self.marking.jobs.find(link)
        report = self.marking.jobs.readable_report(link)
        if job is None or report is None:
            return None
        parts = []
        is_owner = job.owner == owner
        if is_owner:
            parts.append(self._owned(job))
        results = self._results(job, report, is_owner)
        if results.marks:
            parts.append(marks_html(results.marks))
        if results.readings:
            parts.append(readings_html(results.readings))
        if results.labels:
            parts.append(labels_html(results.labels, report.benchmark == "mmt-bench"))
        if not parts:
            parts.append(PARTS.empty(t("report.nobody_marked")))
        parts.append(HTML.files(link, list(_files(report, results))))
        edition = benchmark_of(report).edition(report)
        return HTML.page(link, report.title, edition, message, parts)

    def _owned(self, job: Job) -> str:
        """Returns the owner's part: forms to begin, to import a file and to delete, and the links to send."""
        collections = {}
        for kind in KINDS:
            campaign = self.marking.find_campaign(job.link, kind)
            material = None if campaign else self.marking.material(kind, job.link)
            if campaign or (material and material.plan):
                links = self.marking.links(campaign) if campaign else {}
                collections[kind] = _Collection(t(f"people.kinds.{kind}"), links)
        return HTML.owned(job.link, collections, OWNER)

    def _results(self, job: Job, report: AnyReport, is_owner: bool) -> _Results:
        """Returns people's ratings of a report; only its owner also sees the owner's other reports beside it."""
        marks = None
        if isinstance(report, Report):
            marks = mark_results(self.marking, job, report, with_others=is_owner)
        readings = None
        if isinstance(report, ChoiceReport):
            readings = reading_results(self.marking, job, report, with_others=is_owner)
        labels = label_results(self.marking, job, report, with_others=is_owner)
        return _Results(marks, labels, readings)

    def file(self, link: str, name: str, owner: str) -> str | bytes | None:
        job = self.marking.jobs.find(link)
        report = self.marking.jobs.readable_report(link)
        if job is None or report is None:
            return None
        write = _files(report, self._results(job, report, job.owner == owner)).get(name)
        return write() if write else None

    def begin(self, owner: str, link: str, kind: str) -> str:
        """Opens a report's campaign of this kind, and returns the path of its owner's link. Raises MarkError."""
        job = self.marking.job_of(owner, link)
        campaign = self.marking.open(owner, job.link, kind_named(kind))
        material = self.marking.material("labels", job.link) if kind == "labels" else None
        if material:
            self.pictures.keep_soon(
                job, [material.answers[planned.key] for planned in material.plan]
            )
        return self.marking.links(campaign)[OWNER]

    def import_file(self, owner: str, link: str, content: bytes, name: str) -> str:
        """Imports a file of people's ratings, and returns a message about it. Raises MarkError and RowsError."""
        job = self.marking.job_of(owner, link)
        report = self.marking.jobs.readable_report(link)
        if report is None:
            raise MarkError(
                "There is no such report of yours. Open it in the browser in which you scored it."
            )
        suffix = next((end for end in SUFFIXES if name.lower().endswith(end)), "")
        shown_name = f"{file_stem(name)}{suffix}"  # in errors
        with temporary_file(content, shown_name) as path:
            first = next(iter(read_records(path)), None)
            columns = first.values if first is not None else {}
            if "main" in columns:
                count, problems = import_labels(self.marking, job, report, path)
                return _import_message(t("people.new_labels", count=count), problems)
            if "option" in columns:
                count, problems = import_readings(self.marking, job, report, path)
                return _import_message(t("people.new_readings", count=count), problems)
            if not isinstance(report, Report):
                raise MarkError(
                    "Only judged MM-Vet reports take marks. A file of labels has the columns item and main, one of "
                    "matched answers the columns item and option."
                )
            count, problems = import_marks(self.marking, job, report, path)
        return _import_message(t("people.new_marks", count=count), problems)


def _import_message(counted: str, problems: Sequence[str]) -> str:
    """Returns a message about an imported file: the number of ratings, and its problems."""
    return " · ".join([counted, *map(translated, problems)])


def _files(report: AnyReport, results: _Results) -> Mapping[str, Callable[[], str | bytes]]:
    """Returns the writers of the downloads by name."""
    files: dict[str, Callable[[], str | bytes]] = {}
    if isinstance(report, Report) and results.marks and results.marks.marks:
        digests = {key: answer.digest for key, answer in judged_report(report).answers.items()}
        files["marks.csv"] = partial(marks_csv, results.marks.marks, digests)
    if results.marks and results.marks.calibration:
        files |= sheet_files("marks", mark_sheets(results.marks))
    if results.readings:
        files["readings.csv"] = partial(readings_csv, results.readings.readings)
        files |= sheet_files("readings", reading_sheets(results.readings))
    if results.labels:
        answers = answers_for("labels", report)
        digests = {answer.id: answer_digest(answer.answer) for answer in answers}
        files["labels.csv"] = partial(labels_csv, results.labels.labels, digests)
        files |= sheet_files(
            "labels", label_sheets(results.labels, report.benchmark == "mmt-bench")
        )
    return files


class _Routes:
    """The handlers of people's pages."""

    def __init__(self, pages: PeoplePages, layout: PageLayout) -> None:
        self.pages = pages
        self.layout = layout

    def _page(self, link: str, request: Request, message: str = "", status: int = 200) -> Response:
        body = self.pages.body(link, self._owner(request), message)
        if body is None:  # the report's own address says that there is none
            return RedirectResponse(
                f"/report/{quote(link, safe='')}", status_code=303, headers=NO_STORE
            )
        head = Head(f"{t('people.title')} · {NAME}", "", is_private=True)
        return self.layout.page(request, head, body, status=status, is_kept=False)

    def _owner(self, request: Request) -> str:
        browser = owner_of(request.headers)
        return self.pages.marking.jobs.owners.owner_of(browser)

    def show(self, link: str, request: Request) -> Response:
        return self._page(link, request)

    async def take_act(self, link: str, request: Request) -> Response:
        act = campaign_api.form_of(await request.body()).get("act", "")
        return await asyncio.to_thread(self._act, link, act, request)

    def _act(self, link: str, act: str, request: Request) -> Response:
        """Does what the owner's form asks: deletes everything ("drop"), or begins a kind of rating, by its name."""
        try:
            if act == "drop":
                self.pages.marking.drop(self._owner(request), link)
                path = f"/report/{quote(link, safe='')}/people"
            else:
                path = self.pages.begin(self._owner(request), link, act)
        except MarkError as error:
            return self._refuse(link, request, error)
        return RedirectResponse(path, status_code=303, headers=NO_STORE)

    async def take_file(self, request: Request, report: str = "") -> Response:
        try:
            content, name = await sent_file(request)
        except HTTPException as error:
            problem = f"{t('people.no_file')} ({error.detail})"
            return PlainTextResponse(problem, status_code=400, headers=NO_STORE)
        return await asyncio.to_thread(self._import_file, report, content, name, request)

    def return_to_page(self, report: str = "") -> Response:
        """Redirects to the report's page of people, when somebody opens the address of a form."""
        return RedirectResponse(
            f"/report/{quote(report, safe='')}/people", status_code=303, headers=NO_STORE
        )

    def _import_file(self, link: str, content: bytes, name: str, request: Request) -> Response:
        try:
            return self._page(
                link, request, self.pages.import_file(self._owner(request), link, content, name)
            )
        except (MarkError, RowsError) as error:
            return self._refuse(link, request, error)

    def _refuse(self, link: str, request: Request, error: Exception) -> Response:
        job = self.pages.marking.jobs.find(link)
        is_stranger = job is not None and job.owner != self._owner(request)
        return self._page(link, request, error_text(error), 403 if is_stranger else 409)

    def download(self, link: str, name: str, request: Request) -> Response:
        content = self.pages.file(link, name, self._owner(request))
        if content is None:
            return PlainTextResponse(t("people.no_such_file"), status_code=404, headers=NO_STORE)
        return attachment(name, content)


def routes(pages: PeoplePages, layout: PageLayout) -> APIRouter:
    """Returns the router; a report's link opens its page, and only its owner may change anything."""
    router = APIRouter()
    handlers = _Routes(pages, layout)
    router.add_api_route("/report/{link}/people", handlers.show, methods=["GET"])
    router.add_api_route("/report/{link}/people", handlers.take_act, methods=["POST"])
    router.add_api_route("/report/{link}/people/{name}", handlers.download, methods=["GET"])
    router.add_api_route(MARKS_UPLOAD, handlers.take_file, methods=["POST"])
    router.add_api_route(MARKS_UPLOAD, handlers.return_to_page, methods=["GET"])
    return router
