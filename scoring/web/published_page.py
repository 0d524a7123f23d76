"""Published reports as others show them: pictures, badge, a page for frames, and the public list of all.

All of them end with the publication: the database is asked each time whether a report is public.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from arena.cache import Cache
from arena.drawing_png import png
from arena.drawings import shortened, svg, svg_file
from arena.locale import ENGLISH, current_locale, speaking, t, translated
from arena.web.addresses import NAME
from arena.web.cookies import NO_STORE
from arena.web.facts_view import NamedLink
from arena.web.heads import Head
from arena.web.layout import PageLayout, etag_of, is_known
from scoring.jobs.published import PublishedJobs, PublishedPage
from scoring.jobs.store import Job, Jobs
from scoring.registry import benchmark_named
from scoring.report import AnyReport
from scoring.web.article import nearest_drawing, preview_drawing, shared_drawing
from scoring.web.badges import PUBLISHED, WARNING_TONE, WITHDRAWN, Badge, badge_svg
from scoring.web.report_parts import PageLink, page_number
from scoring.web.share_texts import TITLE_LETTERS, ShareRecord, share_record

LIST = "/reports"
MOST_OF_MODEL = 5
"""Reports that a model's page links to."""
LIST_SECONDS = 1.0
"""Seconds for which a request reads reports that aren't in the cache; the rest are listed without a number."""
FRESH = {"cache-control": "public, max-age=300"}
"""Headers of pictures and badges, which READMEs may keep for five minutes."""
EMBEDDED = {"cache-control": "no-cache", "x-robots-tag": "noindex"}
"""Headers of the page for frames."""
SVG = "image/svg+xml"


class LateError(Exception):
    """A report was not read, since reading others took up the time."""


@dataclass(frozen=True)
class PublishedReports:
    """The records of published reports for sharing; a report never changes, so each is read once."""

    jobs: Jobs
    published: PublishedJobs
    cache: Cache[ShareRecord | None]

    @classmethod
    def from_jobs(cls, jobs: Jobs, published: PublishedJobs) -> "PublishedReports":
        return cls(jobs, published, Cache(2_000, 3_600))

    def record(self, job: Job, until: float = math.inf) -> ShareRecord | None:
        """Returns the record of a published job's report in the current language; None if it can't be read any more.

        Raises LateError if it would have to be read after `until`, by the monotonic clock.
        """
        key = (job.link, job.slug, current_locale().language)
        return self.cache.get(key, lambda: self._read_record(job, until))

    def _read_record(self, job: Job, until: float) -> ShareRecord | None:
        if time.monotonic() > until:
            raise LateError
        report = self.jobs.readable_report(job.link)
        return share_record(report, job.slug) if report and job.slug else None

    def of_model(self, name: str) -> Sequence[NamedLink]:
        """Returns links to the newest published reports of a model, with their scores."""
        jobs = self.published.with_title(name, MOST_OF_MODEL)
        records = filter(None, map(self.record, jobs))
        return [NamedLink(title_of(record), f"/r/{record.slug}") for record in records]

    def head(self, job: Job) -> Head:
        record = self.record(job)
        if record is None:
            return Head(f"{t('report.report')} · {NAME}", "", is_private=True)
        image = f"/r/{record.slug}.png"
        return Head(f"{title_of(record)} · {NAME}", record.sentence, image=image)


def title_of(record: ShareRecord) -> str:
    return t(
        "published.title",
        title=record.title,
        score=translated(record.value),
        benchmark=record.edition,
    )


class ListedReport(NamedTuple):
    """A row of the public list."""

    slug: str
    title: str
    edition: str
    value: str
    """The score in words; "" if the report has not been read yet."""
    is_warned: bool
    """Whether a caveat limits the score."""
    day: str
    """ISO date of the day on which it was scored."""


@dataclass(frozen=True)
class PublishedPages:
    """The pages and pictures of one server's published reports. Pictures and badges are English."""

    jobs: Jobs
    reports: PublishedReports
    layout: PageLayout
    drawings: Cache[bytes]

    def png(self, slug: str, request: Request) -> Response:
        return self._picture(slug, request, "image/png", self._png)

    def svg(self, slug: str, request: Request) -> Response:
        return self._picture(slug, request, SVG, _svg)

    def badge(self, slug: str, request: Request) -> Response:
        """Returns the badge; a grey one with status 404 if nothing is public, since READMEs keep broken images long."""
        job = self.reports.published.with_slug(slug)
        with speaking(ENGLISH):
            record = self.reports.record(job) if job else None
        if record is None:
            return Response(badge_svg(WITHDRAWN), 404, FRESH, SVG)
        badge = Badge(record.edition, record.value, record.title)
        if record.kind:
            badge = badge._replace(tone=WARNING_TONE)
        return _answer(request, badge_svg(badge), SVG, FRESH)

    def embed(self, slug: str, request: Request) -> Response:
        """Returns the report in short, for a frame on any page: no script, no form, no cookie."""
        job = self.reports.published.with_slug(slug)
        record = self.reports.record(job) if job else None
        report = self._report(job)
        if record is None or report is None:
            return PlainTextResponse(t("published.gone"), status_code=404, headers=EMBEDDED)
        drawing = nearest_drawing(report)
        page = PUBLISHED.embedded(
            replace(record, base=self.layout.server_address(request)),
            drawing,
            svg(drawing, "figure") if drawing else "",
            current_locale().language,
        )
        return _answer(request, page.encode(), "text/html", EMBEDDED)

    def public_list(self, request: Request) -> Response:
        """Returns the public list, newest first, of all benchmarks or of the one in the query."""
        counts = self.reports.published.counts_by_benchmark()
        benchmark = request.query_params.get("benchmark", "")
        if benchmark not in counts:
            benchmark = ""
        page = page_number(request.query_params.get("page", ""))
        list_page = self.reports.published.page(benchmark, page)
        choices = [
            (key, f"{translated(benchmark_named(key).name)} ({n:,})") for key, n in counts.items()
        ]
        until = time.monotonic() + LIST_SECONDS
        rows = list(filter(None, (self._row(job, until) for job in list_page.jobs)))
        body = PUBLISHED.listing(rows, choices, benchmark, _page_links(benchmark, list_page))
        title = f"{t('pages.reports_link')} · {NAME}"
        head = Head(title, t("reports.description"))
        return self.layout.page(request, head, body)

    def _row(self, job: Job, until: float) -> ListedReport | None:
        """Returns a report's row; None if the report can't be read any more.

        Without time to read the report, its row has no number, since that may need a warning.
        """
        day = f"{job.finished:%Y-%m-%d}"
        try:
            record = self.reports.record(job, until)
        except LateError:
            title = shortened(job.title, TITLE_LETTERS)
            return ListedReport(
                slug=job.slug or "",
                title=title,
                edition=translated(benchmark_named(job.benchmark).name),
                value="",
                is_warned=False,
                day=day,
            )
        if record is None:
            return None
        return ListedReport(
            slug=record.slug,
            title=record.title,
            edition=record.edition,
            value=record.value,
            is_warned=bool(record.kind),
            day=day,
        )

    def _report(self, job: Job | None) -> AnyReport | None:
        """Returns the report of a published job; None without a job, or if the report can't be read any more."""
        # By its slug, a report is found only while it is public.
        return self.jobs.readable_report(job.slug) if job and job.slug else None

    def _png(self, report: AnyReport) -> bytes:
        drawing = preview_drawing(report)
        return self.drawings.get(drawing, lambda: png(drawing, margin=0))

    def _picture(
        self,
        slug: str,
        request: Request,
        kind: str,
        draw: Callable[[AnyReport], bytes],
    ) -> Response:
        report = self._report(self.reports.published.with_slug(slug))
        if report is None:
            return PlainTextResponse(t("published.no_picture"), 404, headers=NO_STORE)
        with speaking(ENGLISH):
            content = draw(report)
        return _answer(request, content, kind, FRESH)


def _svg(report: AnyReport) -> bytes:
    return svg_file(shared_drawing(report)).encode()


def _page_links(benchmark: str, list_page: PublishedPage) -> list[PageLink]:
    """Returns the links to the pages before and after this one."""
    chosen = {"benchmark": benchmark} if benchmark else {}
    numbers = {"reports.newer": list_page.page - 1, "reports.older": list_page.page + 1}
    return [
        PageLink(f"{LIST}?{urlencode({**chosen, 'page': number})}", t(key))
        for key, number in numbers.items()
        if 1 <= number <= list_page.pages
    ]


def _answer(request: Request, body: bytes, kind: str, headers: Mapping[str, str]) -> Response:
    """Returns a body of this media type; 304 without it if the browser already has it."""
    etag = etag_of(body)
    answer_headers = {**headers, "etag": etag}
    if is_known(etag, request.headers):
        return Response(status_code=304, headers=answer_headers)
    if kind == "text/html":
        return HTMLResponse(body, headers=answer_headers)
    return Response(body, 200, answer_headers, kind)


def routes(pages: PublishedPages) -> APIRouter:
    router = APIRouter()
    add = partial(router.add_api_route, methods=["GET", "HEAD"])
    add("/r/{slug}.png", pages.png)
    add("/r/{slug}.svg", pages.svg)
    add("/badge/{slug}.svg", pages.badge)
    add("/embed/{slug}", pages.embed)
    add(LIST, pages.public_list)
    return router
