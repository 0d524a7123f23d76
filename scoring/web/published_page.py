"""Published reports as others show them: pictures, badge, a part for frames, and the public list of all.

All of them end with the publication: nothing made of a report is shown before the database said that it is public.
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
from arena.web.addresses import NAME
from arena.web.cookies import NO_STORE
from arena.web.facts_view import NamedLink
from arena.web.heads import Head
from arena.web.layout import PageLayout, etag_of, is_known
from scoring.jobs.published import PublishedJobs, PublishedPage
from scoring.jobs.store import Job, Jobs
from scoring.registry import benchmark_named
from scoring.report import AnyReport
from scoring.serialize import ReportError
from scoring.web.article import nearest_drawing, preview_drawing, shared_drawing
from scoring.web.badges import PUBLISHED, WARNING, WITHDRAWN, Badge, badge_svg
from scoring.web.share_texts import TITLE_LETTERS, Shared, shared

LIST = "/reports"
MOST_OF_MODEL = 5
"""Reports that a model's page links to."""
LIST_SECONDS = 1.0
"""How long the list reads reports that nobody has looked at for a while; those left show no number until later."""
FRESH = {"cache-control": "public, max-age=300"}
"""How long READMEs may keep a picture of a report."""
EMBEDDED = {"cache-control": "no-cache", "x-robots-tag": "noindex"}
SVG = "image/svg+xml"


class LateError(Exception):
    """A report was not read: others took the time."""


@dataclass(frozen=True)
class PublishedReports:
    """What published reports say of themselves; a report never changes, so each is asked once."""

    jobs: Jobs
    published: PublishedJobs
    kept: Cache[Shared | None]

    @classmethod
    def of(cls, jobs: Jobs, published: PublishedJobs) -> "PublishedReports":
        return cls(jobs, published, Cache(2_000, 3_600))

    def shared(self, job: Job, until: float = math.inf) -> Shared | None:
        """Return what a published job's report says; None where the report cannot be read any more.

        Raises LateError where it would have to be read after `until`, by the monotonic clock.
        """
        return self.kept.get((job.link, job.slug), lambda: self._shared(job, until))

    def _shared(self, job: Job, until: float) -> Shared | None:
        if time.monotonic() > until:
            raise LateError
        try:
            report = self.jobs.report(job.link)
        except ReportError:
            return None
        return shared(report, job.slug) if report and job.slug else None

    def of_model(self, name: str) -> Sequence[NamedLink]:
        """Return the newest published reports of a model's name, with their number."""
        jobs = self.published.titled(name, MOST_OF_MODEL)
        told = [shown for job in jobs if (shown := self.shared(job))]
        return [NamedLink(title_of(shown), f"/r/{shown.slug}") for shown in told]

    def head(self, job: Job) -> Head:
        shown = self.shared(job)
        if shown is None:
            return Head(f"Report · {NAME}", "", is_private=True)
        image = f"/r/{shown.slug}.png"
        return Head(f"{title_of(shown)} · {NAME}", shown.sentence, image=image)


def title_of(shown: Shared) -> str:
    return f"{shown.title}: {shown.value} on {shown.edition}"


class ListedReport(NamedTuple):
    """A row of the public list."""

    slug: str
    title: str
    edition: str
    value: str
    is_warned: bool
    day: str


@dataclass(frozen=True)
class PublishedPages:
    """The pages and pictures of one server's published reports."""

    jobs: Jobs
    reports: PublishedReports
    layout: PageLayout
    drawn: Cache[bytes]

    def png(self, slug: str, request: Request) -> Response:
        return self._picture(slug, request, "image/png", self._png)

    def svg(self, slug: str, request: Request) -> Response:
        return self._picture(slug, request, SVG, lambda report: svg_file(shared_drawing(report)))

    def badge(self, slug: str, request: Request) -> Response:
        """The badge; a grey one, with status 404, where nothing is public: READMEs keep broken images long."""
        job = self.reports.published.at(slug)
        shown = self.reports.shared(job) if job else None
        if shown is None:
            return Response(badge_svg(WITHDRAWN), 404, FRESH, SVG)
        badge = Badge(shown.edition, shown.value, shown.title)
        if shown.kind:
            badge = badge._replace(tone=WARNING)
        return _answer(request, badge_svg(badge), SVG, FRESH)

    def embed(self, slug: str, request: Request) -> Response:
        """The report in short, for a frame on any page: no script, no form, no cookie."""
        job = self.reports.published.at(slug)
        shown = self.reports.shared(job) if job else None
        report = self.jobs.report(slug) if job else None
        if shown is None or report is None:
            gone = "This report is not public any more."
            return PlainTextResponse(gone, status_code=404, headers=EMBEDDED)
        drawing = nearest_drawing(report)
        page = PUBLISHED.embedded(
            replace(shown, base=self.layout.at(request)),
            drawing,
            svg(drawing, "figure") if drawing else "",
        )
        return _answer(request, page.encode(), "text/html", EMBEDDED)

    def listed(self, request: Request) -> Response:
        """The public list, newest first, of all benchmarks or of the one that the query names."""
        counts = self.reports.published.benchmarks()
        benchmark = request.query_params.get("benchmark", "")
        benchmark = benchmark if benchmark in counts else ""
        typed = request.query_params.get("page", "")[:6]
        page = int(typed) if typed.isascii() and typed.isdecimal() else 1
        found = self.reports.published.page(benchmark, page)
        choices = [(key, f"{benchmark_named(key).name} ({n:,})") for key, n in counts.items()]
        until = time.monotonic() + LIST_SECONDS
        rows = [row for job in found.jobs if (row := self._row(job, until))]
        body = PUBLISHED.listing(rows, choices, benchmark, _pager(benchmark, found))
        told = "Scores of vision-language models that people have published here."
        return self.layout.page(request, Head(f"Published reports · {NAME}", told), body)

    def _row(self, job: Job, until: float) -> ListedReport | None:
        """Return a report's row; without its number, which may need a warning, where there is no time to read it."""
        day = f"{job.finished:%Y-%m-%d}"
        try:
            shown = self.reports.shared(job, until)
        except LateError:
            title = shortened(job.title, TITLE_LETTERS)
            return ListedReport(
                job.slug or "", title, benchmark_named(job.benchmark).name, "", False, day
            )
        if shown is None:
            return None
        return ListedReport(
            shown.slug, shown.title, shown.edition, shown.value, bool(shown.kind), day
        )

    def _png(self, report: AnyReport) -> bytes:
        drawing = preview_drawing(report)
        return self.drawn.get(drawing, lambda: png(drawing, 0))

    def _picture(
        self,
        slug: str,
        request: Request,
        kind: str,
        draw: Callable[[AnyReport], bytes | str],
    ) -> Response:
        job = self.reports.published.at(slug)
        report = self.jobs.report(slug) if job else None
        if report is None:
            text = "There is no such picture."
            return PlainTextResponse(text, status_code=404, headers=NO_STORE)
        content = draw(report)
        return _answer(
            request, content if isinstance(content, bytes) else content.encode(), kind, FRESH
        )


def _pager(benchmark: str, found: PublishedPage) -> list[tuple[str, str]]:
    """Return the pages that one may go to from here, by address and words."""
    near = {"Newer": found.page - 1, "Older": found.page + 1}
    there = {word: page for word, page in near.items() if 1 <= page <= found.pages}
    chosen = {"benchmark": benchmark} if benchmark else {}
    return [(f"{LIST}?{urlencode({**chosen, 'page': page})}", word) for word, page in there.items()]


def _answer(request: Request, body: bytes, kind: str, headers: Mapping[str, str]) -> Response:
    etag = etag_of(body)
    told = {**headers, "etag": etag}
    if is_known(etag, request.headers):
        return Response(status_code=304, headers=told)
    return (
        HTMLResponse(body, headers=told) if kind == "text/html" else Response(body, 200, told, kind)
    )


def routes(pages: PublishedPages) -> APIRouter:
    router = APIRouter()
    add = partial(router.add_api_route, methods=["GET", "HEAD"])
    add("/r/{slug}.png", pages.png)
    add("/r/{slug}.svg", pages.svg)
    add("/badge/{slug}.svg", pages.badge)
    add("/embed/{slug}", pages.embed)
    add(LIST, pages.listed)
    return router
