"""Task map's routes: the map on its own and under a report's link, a map that a visitor brings, and the files."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias, cast, get_args
from urllib.parse import quote, urlencode

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.exceptions import HTTPException

from arena.cache import Cache
from arena.io.aside import Aside, AsideError, while_waited
from arena.io.strict_json import RowsError
from arena.locale import ENGLISH, LOCALES, current_locale, speaking, t, translated
from arena.web.addresses import NAME
from arena.web.cookies import NO_STORE
from arena.web.events import still_there
from arena.web.heads import Head
from arena.web.layout import PageLayout
from scoring.benchmarks.mmt_bench import subtasks
from scoring.task_map.files import FILES
from scoring.task_map.published import paper_accuracies
from scoring.task_map.reports import PooledReport, ReportAccuracies
from scoring.task_map.tree import CLUSTERS, MOST_CLUSTERS, Linkage
from scoring.task_map.types import Accuracies, TaskMapError
from scoring.web.scoring_api import attachment, sent_file
from scoring.web.scoring_problems import error_text
from scoring.web.task_map_view import (
    BackLink,
    MapForm,
    MapPage,
    Menu,
    body_html,
    linkage_name,
    map_file,
    map_html,
    own_map_html,
    title_of,
)

TASK_MAP = "/task-map"
MOST_MAP = 2_000_000
"""Bytes of a file of distances."""
_PAPER = ("20", "32", "0")
"""Models of the paper. 20: those whose printed columns are right; 32: all, with wrong columns put right; 0: none."""
AT_ONCE = 2
"""Maps that are made at the same time; other requests wait without a thread."""
_Pools: TypeAlias = Mapping[str, tuple[PooledReport, ...]]
"""Published reports by the name of their pool: those whose answers were read in the same way."""


class _MapChoice(NamedTuple):
    """The choices of an address."""

    paper: str
    """One of `_PAPER`."""
    here: str
    """Name of the pool of published reports; "": none."""
    linkage: Linkage
    clusters: int
    task: str
    unknown: tuple[str, ...]
    """Parameters with unknown values, as in "task=x"."""


class _MapRequest(NamedTuple):
    """The choices of a page, with the reports it needs."""

    chosen: _MapChoice
    pools: _Pools
    own: PooledReport | None
    reports: tuple[PooledReport, ...]
    """The report of the visitor's link, and the chosen published ones."""

    @property
    def accuracies(self) -> Accuracies:
        return _all_accuracies(self.chosen.paper, self.reports)

    @property
    def cache_key(self) -> object:
        """All that determines the page: its parameters, and the reports, which never change."""
        pools = [(name, len(reports)) for name, reports in self.pools.items()]
        return self.chosen, pools, [report.link for report in self.reports]


class TitledBody(NamedTuple):
    """A page's title, and its HTML below the bar."""

    title: str
    html: str


class TaskMapPages:
    """The maps of one server, made by `aside`, in processes of their own.

    Their models are published reports, and the report of the visitor's link.
    """

    def __init__(self, reports: ReportAccuracies, aside: Aside | None = None) -> None:
        self._reports = reports
        self._aside = aside
        self._cache: Cache[str] = Cache(16_000_000, weigh=len)

    def page(
        self, query: Mapping[str, str], link: str = "", network: str | None = None
    ) -> TitledBody | None:
        """Returns a page; None if the link has no MMT-Bench report with scores.

        Raises DatabaseError, AsideError.
        """
        map_request = self._request(query, link)
        if map_request is None:
            return None
        chosen = map_request.chosen
        own = map_request.own
        query_text = urlencode(
            {
                "paper": chosen.paper,
                "here": chosen.here,
                "linkage": chosen.linkage,
                "clusters": chosen.clusters,
            }
        )
        folder = f"{_report_address(link)}{TASK_MAP}" if link else TASK_MAP
        downloads = {name: f"{folder}/{name}?{query_text}" for name in FILES}
        back = BackLink("/score", t("pages.door_score"))
        if own is not None:
            words = t("taskmap.back_report", model=own.accuracies.model)
            back = BackLink(_report_address(link), words)
        map_page = MapPage(
            map_request.accuracies,
            clusters=chosen.clusters,
            sentences=_sentences(map_request),
            own=own.accuracies if own else None,
            task=chosen.task,
            form=_form(map_request),
            back=back,
            downloads=downloads,
        )
        body = self._cache.get(
            ("page", current_locale().language, link, map_request.cache_key),
            lambda: self._run_aside(network, map_html, map_page, chosen.linkage),
        )
        return TitledBody(title_of(map_page), body)

    def file(
        self, name: str, query: Mapping[str, str], link: str = "", network: str | None = None
    ) -> str | None:
        """Returns a download; None if there is none. Raises DatabaseError, TaskMapError, AsideError."""
        map_request = self._request(query, link) if name in FILES else None
        if map_request is None:
            return None
        chosen = map_request.chosen
        with speaking(ENGLISH):
            return self._cache.get(
                (name, link, map_request.cache_key),
                lambda: self._run_aside(
                    network, map_file, name, map_request.accuracies, chosen.linkage, chosen.clusters
                ),
            )

    def own_map(self, content: bytes, name: str, network: str | None = None) -> str:
        """Returns the page of a visitor's own distances. Raises RowsError, TaskMapError, AsideError."""
        page = MapPage(
            paper_accuracies(),
            sentences=(t("taskmap.accuracies", models=t("taskmap.paper_20")),),
            back=_back_to_map(),
        )
        return self._run_aside(network, own_map_html, content, name, page)

    def _run_aside(
        self, network: str | None, function: Callable[..., str], *arguments: object
    ) -> str:
        if self._aside is None:
            return function(*arguments)
        language = current_locale().language
        return self._aside.run(_run_in_language, language, function, *arguments, network=network)

    def _request(self, query: Mapping[str, str], link: str) -> _MapRequest | None:
        own = self._reports.report(link) if link else None
        if link and own is None:
            return None
        pools = {str(pool): reports for pool, reports in self._reports.pools().items()}
        chosen = _map_choice(query, pools)
        reports = list(pools.get(chosen.here, ()))
        if own is not None:
            reports = [own, *(report for report in reports if report.link != own.link)]
        return _MapRequest(chosen, pools, own, tuple(reports))


def _run_in_language(language: str, function: Callable[..., str], *arguments: object) -> str:
    """Calls a function in this language; a process aside does not know that of the request."""
    with speaking(LOCALES[language]):
        return function(*arguments)


def _back_to_map() -> BackLink:
    return BackLink(TASK_MAP, t("taskmap.back_map"))


def _all_accuracies(paper: str, reports: tuple[PooledReport, ...]) -> Accuracies:
    """The accuracies of reports and of the paper's models; `paper` is one of `_PAPER`."""
    models = [report.accuracies for report in reports]
    if paper != "0":
        models += paper_accuracies(with_shifted=paper == "32").models
    return Accuracies(tuple(models), tuple(subtasks()))


def _map_choice(query: Mapping[str, str], pools: _Pools) -> _MapChoice:
    """Returns the choices of an address; unknown ones are as if not chosen, and listed in `unknown`."""
    values = {
        "paper": {*_PAPER},
        "here": {"", *pools},
        "linkage": {*get_args(Linkage)},
        "task": {"", *subtasks()},
        "clusters": {str(number) for number in range(2, MOST_CLUSTERS + 1)},
    }
    unknown = [
        f"{name}={query[name][:80]}"
        for name in values
        if name in query and query[name] not in values[name]
    ]

    def value(name: str, default: str) -> str:
        text = query.get(name, default)
        return text if text in values[name] else default

    return _MapChoice(
        paper=value("paper", "20"),
        here=value("here", ""),
        linkage=cast(Linkage, value("linkage", "average")),
        clusters=int(value("clusters", str(CLUSTERS))),
        task=value("task", ""),
        unknown=tuple(unknown),
    )


def _form(map_request: _MapRequest) -> MapForm:
    here = {
        name: t("taskmap.pool_reports", count=len(reports), pool=name)
        for name, reports in map_request.pools.items()
    }
    no_reports = t("taskmap.none" if here else "taskmap.none_published")
    paper = {number: t(f"taskmap.paper_{number}") for number in _PAPER}
    linkages = {linkage: linkage_name(linkage) for linkage in get_args(Linkage)}
    tasks = {key: subtask.name for key, subtask in subtasks().items()}
    choices = {
        "paper": Menu(t("taskmap.form_paper"), paper),
        "here": Menu(t("taskmap.form_here"), {"": no_reports, **here}),
        "linkage": Menu(t("taskmap.form_linkage"), linkages),
        "task": Menu(t("taskmap.form_task"), {"": "–", **tasks}),
    }
    return MapForm(choices, map_request.chosen._asdict())


def _sentences(map_request: _MapRequest) -> tuple[str, ...]:
    """Returns the sources of the accuracies, whether they were read differently, and unknown parts of the address."""
    chosen = map_request.chosen
    own = map_request.own
    published = [report for report in map_request.reports if report is not own]
    parts = []
    if own:
        parts.append(t("taskmap.this_report", pool=own.pool))
    if published:
        parts.append(t("taskmap.published_reports", count=len(published), pool=chosen.here))
    if chosen.paper != "0":
        parts.append(t("taskmap.paper_models", models=t(f"taskmap.paper_{chosen.paper}")))
    models = t("headline.and").join(parts) or t("taskmap.none")
    sentences = [t("taskmap.models", models=models)]
    ways_of_reading = len({str(report.pool) for report in map_request.reports})
    if chosen.paper != "0":
        ways_of_reading += 1
    if ways_of_reading > 1:
        sentences.append(t("taskmap.read_apart"))
    if chosen.unknown:
        sentences.append(t("pages.not_understood", parts=t("names.comma").join(chosen.unknown)))
    return tuple(sentences)


def _report_address(link: str) -> str:
    return f"/report/{quote(link, safe='')}"


class _MapRoutes:
    """The handlers of the routes."""

    def __init__(self, pages: TaskMapPages, layout: PageLayout) -> None:
        self._pages = pages
        self._layout = layout
        self._turns = CapacityLimiter(AT_ONCE)

    async def show(self, request: Request, link: str = "") -> Response:
        return await self._in_turn(request, lambda: self._map_page(request, link))

    async def download(self, request: Request, name: str, link: str = "") -> Response:
        return await self._in_turn(request, lambda: self._file(request, name, link))

    async def _in_turn(self, request: Request, answer: Callable[[], Response]) -> Response:
        """Calls `answer` in a thread as soon as fewer than `AT_ONCE` run, unless the visitor has left by then."""

        def answer_if_waited() -> Response:
            waits = still_there(request)
            if not waits():
                raise AsideError("Nobody waits for this map any more.")
            with while_waited(waits):
                return answer()

        return await to_thread.run_sync(answer_if_waited, limiter=self._turns)

    def _map_page(self, request: Request, link: str) -> Response:
        page = self._pages.page(request.query_params, link, request.state.network)
        if page is None:  # the report's own address says that there is none
            return RedirectResponse(_report_address(link), status_code=303, headers=NO_STORE)
        # a report's model may be private, and its map has no preview
        description = "" if link else t("taskmap.about")
        head = Head(f"{page.title} · {NAME}", description, is_private=bool(link))
        return self._layout.page(request, head, page.html, is_kept=not link)

    def _file(self, request: Request, name: str, link: str) -> Response:
        try:
            content = self._pages.file(name, request.query_params, link, request.state.network)
        except TaskMapError as error:
            problem = t("taskmap.no_map", reason=translated(error))
            return PlainTextResponse(problem, status_code=409, headers=NO_STORE)
        if content is None:
            return PlainTextResponse(t("taskmap.no_file"), status_code=404, headers=NO_STORE)
        return attachment(name, content)

    async def show_own_map(self, request: Request) -> Response:
        try:
            content, name = await sent_file(request)
        except HTTPException as error:
            problem = t("taskmap.not_sent", detail=error.detail)
            return PlainTextResponse(problem, status_code=400, headers=NO_STORE)
        network = request.state.network
        return await self._in_turn(request, lambda: self._own_map(request, content, name, network))

    def _own_map(
        self, request: Request, content: bytes, name: str, network: str | None
    ) -> Response:
        try:
            body = self._pages.own_map(content, name[-80:] or "distances.csv", network)
            return self._own_map_page(request, body, 200)
        except (RowsError, TaskMapError, AsideError) as error:
            page = MapPage(paper_accuracies(), problem=error_text(error), back=_back_to_map())
            return self._own_map_page(request, body_html(page), 409)

    def _own_map_page(self, request: Request, body: str, status: int) -> Response:
        head = Head(f"{t('taskmap.own_title')} · {NAME}", "", is_private=True)
        return self._layout.page(request, head, body, status=status, is_kept=False)


def routes(pages: TaskMapPages, layout: PageLayout) -> APIRouter:
    router = APIRouter()
    handlers = _MapRoutes(pages, layout)
    router.add_api_route(TASK_MAP, handlers.show, methods=["GET"])
    router.add_api_route(TASK_MAP, handlers.show_own_map, methods=["POST"])
    router.add_api_route(f"{TASK_MAP}/{{name}}", handlers.download, methods=["GET"])
    router.add_api_route(f"/report/{{link}}{TASK_MAP}", handlers.show, methods=["GET"])
    router.add_api_route(f"/report/{{link}}{TASK_MAP}/{{name}}", handlers.download, methods=["GET"])
    return router
