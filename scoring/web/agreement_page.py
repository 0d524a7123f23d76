"""Agreement page: how far people, judges and metrics agree; the metrics of a visitor's own file stay private."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import UploadFile

from arena.io.aside import AsideError, while_waited
from arena.io.tables import RowsError
from arena.locale import t, translated
from arena.ratings.agreement import LEAST_CONTESTS, ROUNDS, Reproduction
from arena.web.addresses import AGREEMENT, NAME, RESULTS
from arena.web.campaign_api import check_charset
from arena.web.cookies import NO_STORE, cookie_hash, owner_of, sent_cookie
from arena.web.events import still_there
from arena.web.heads import Head
from arena.web.layout import PageLayout
from arena.web.results_view import Choice, ResultsTabs, picture_html
from scoring.jobs.uploads import UploadStore, UploadStoreError
from scoring.people.agreement import PeopleAgreement
from scoring.people.agreement_service import AgreementService
from scoring.web.agreement_view import HTML, measures_html, people_html, reproduction_plot
from scoring.web.citations import citations
from scoring.web.scoring_problems import error_text

PATH = f"/{AGREEMENT}"
PIECE = 64_000
"""Bytes of an upload that are read at a time."""


class OwnFile(NamedTuple):
    """The metrics of a visitor's own file, or the reason why it can't be used; neither without a file."""

    query: Mapping[str, str]
    """The page's source and, if the file can be used, its token, for the addresses of charts and downloads."""
    metrics: Sequence[Reproduction] = ()
    problem: str = ""


class _PageFigures(NamedTuple):
    """A source's agreement, with the metrics of the visitor's file among its measures."""

    agreement: PeopleAgreement
    own: OwnFile


@dataclass(frozen=True)
class AgreementPage:
    """The agreement of people on one source of items at a time."""

    service: AgreementService
    uploads: UploadStore
    tabs: ResultsTabs
    layout: PageLayout

    def show(self, request: Request) -> Response:
        """Returns the page of the query's source, or of the newest source.

        The query's `own` is the token of a file that the visitor sent.
        """
        return self._page(request, request.query_params.get("source", ""))

    async def store_metrics(self, request: Request) -> Response:
        """Stores a visitor's file of scores, and redirects to its results."""
        source = request.query_params.get("source", "")
        cookie = sent_cookie(request.headers)
        if cookie is None:
            return await self._refuse(request, source, t("agreement.no_cookie"), 403)
        check_charset(request)
        async with request.form(max_files=1, max_fields=1) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.filename:
                return await self._refuse(request, source, t("agreement.no_file"), 400)
            try:
                upload = await self.uploads.receive(
                    cookie_hash(cookie), file.filename, _pieces(file), request.state.network
                )
            except UploadStoreError as error:
                return await self._refuse(request, source, translated(error), 400)
        query = urlencode({"source": source, "own": upload.token})
        return RedirectResponse(f"{PATH}?{query}#own-metric", status_code=303, headers=NO_STORE)

    async def _refuse(self, request: Request, source: str, problem: str, status: int) -> Response:
        """Returns the page with a problem above its form for files."""
        return await to_thread.run_sync(self._page, request, source, problem, status)

    def _page(
        self, request: Request, source: str, problem: str = "", status: int = 200
    ) -> Response:
        sources = self.service.sources()
        tabs = self.tabs.html(AGREEMENT)
        token = request.query_params.get("own", "")
        if not sources:
            html = HTML.no_source(tabs)
        else:
            chosen = source if source in sources else sources[-1]
            choices = [
                Choice(name, f"{PATH}?{urlencode({'source': name})}", name == chosen)
                for name in sources
            ]
            agreement, own = self._figures(chosen, token, request)
            if problem:
                own = own._replace(problem=problem)
            sentence = HTML.tells(agreement, LEAST_CONTESTS)
            html = HTML.page(tabs, choices, sentence, _figures_html(agreement, own))
        is_kept = status == 200 and not token
        head = Head(f"{t('results.agreement')} · {NAME}", t("agreement.description"))
        return self.layout.page(request, head, html, RESULTS, status=status, is_kept=is_kept)

    def _figures(self, source: str, token: str, request: Request) -> _PageFigures:
        """Returns a source's figures; if the visitor's file is invalid or gone, the reason replaces its metrics."""
        query = {"source": source}
        if not token:
            return _PageFigures(self.service.agreement(source), OwnFile(query))
        try:
            with while_waited(still_there(request)):
                compared = self.service.compare_file(source, owner_of(request.headers), token)
        except (UploadStoreError, RowsError, AsideError) as error:
            own = OwnFile(query, problem=error_text(error))
            return _PageFigures(self.service.agreement(source), own)
        own = OwnFile({**query, "own": token}, compared.metrics)
        return _PageFigures(compared.agreement, own)


def _figures_html(agreement: PeopleAgreement, own: OwnFile) -> str:
    """Returns the page's chart, tables, downloads and form; "" if no contest has votes of several people."""
    if not agreement.people.contests:
        return ""
    measures = measures_html(agreement)
    query = own.query
    plot = picture_html(
        reproduction_plot(agreement) if measures else None, AGREEMENT, f"{PATH}/figure", query
    )
    return HTML.figures(
        plot,
        people_html(agreement.people),
        measures,
        HTML.links(query, citations()["bitton2023visitbench"]),
        HTML.own_metric(query["source"], own.metrics, own.problem),
        HTML.notes(agreement, ROUNDS, LEAST_CONTESTS),
    )


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(PIECE):
        yield piece


def routes(page: AgreementPage) -> APIRouter:
    router = APIRouter()
    router.add_api_route(PATH, page.show, methods=["GET", "HEAD"])
    router.add_api_route(PATH, page.store_metrics, methods=["POST"])
    return router
