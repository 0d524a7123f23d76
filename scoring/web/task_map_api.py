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
    MapForm,
    MapPage,
    body_html,
    brought_html,
    linkage_name,
    map_file,
    map_html,
    title_of,
)

TASK_MAP = "/task-map"
MOST_MAP = 2_000_000
"""Bytes of a file of distances."""
_PAPER = ("20", "32", "0")
"""Models of the paper: those whose printed columns are right, all of them with their columns put right, or none."""
_Pools: TypeAlias = Mapping[str, tuple[PooledReport, ...]]


class _MapChoice(NamedTuple):
    """The choices of an address."""

    paper: str
    here: str
    """Name of the pool of published reports; "": none."""
    linkage: Linkage
    clusters: int
    task: str
    strange: tuple[str, ...]
    """Parameters with unknown values."""


class _MapRequest(NamedTuple):
    """The choices of a page, with the reports it needs."""

    chosen: _MapChoice
    pools: _Pools
    own: PooledReport | None
    reports: tuple[PooledReport, ...]
    """The report of the visitor's link, and the chosen published ones."""

    @property
    def accuracies(self) -> Accuracies:
        return _joined(self.chosen.paper, self.reports)

    @property
    def cache_key(self) -> object:
        """All that determines the page: its parameters, and the reports, which never change."""
        pools = [(name, len(reports)) for name, reports in self.pools.items()]
        return self.chosen, pools, [report.link for report in self.reports]


class TaskMapPages:
    """The maps of one server, made aside. Their models are published reports, and the report of the visitor's link."""

    def __init__(self, reports: ReportAccuracies, aside: Aside | None = None) -> None:
        self._reports = reports
        self._aside = aside
        self._cache: Cache[str] = Cache(16_000_000, weigh=len)

    def page(
        self, query: Mapping[str, str], link: str = "", network: str | None = None
    ) -> tuple[str, str] | None:
        """Returns a page's title and body; None if the link has no MMT-Bench report with scores.

        Raises DatabaseError, AsideError.
        """
        map_request = self._request(query, link)
        if map_request is None:
            return None
        chosen = map_request.chosen
        own = map_request.own
        address = urlencode(
            {name: getattr(chosen, name) for name in ("paper", "here", "linkage", "clusters")}
        )
        files = {
            name: f"{_report(link) if link else ''}{TASK_MAP}/{name}?{address}" for name in FILES
        }
        back = ("/score", t("pages.door_score"))
        if own is not None:
            back = (_report(link), t("taskmap.back_report", model=own.accuracies.model))
        map_page = MapPage(
            map_request.accuracies,
            clusters=chosen.clusters,
            sentences=_sentences(map_request),
            own=own.accuracies if own else None,
            task=chosen.task,
            form=_form(map_request),
            back=back,
            downloads=files,
        )
        body = self._cache.get(
            ("page", current_locale().language, link, map_request.cache_key),
            lambda: self._run_aside(network, map_html, map_page, chosen.linkage),
        )
        return title_of(map_page), body

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

    def brought(self, content: bytes, name: str, network: str | None = None) -> str:
        """Returns the page of a visitor's own distances. Raises RowsError, TaskMapError, AsideError."""
        page = MapPage(
            paper_accuracies(),
            sentences=(t("taskmap.accuracies", models=t("taskmap.paper_20")),),
            back=_back_to_map(),
        )
        return self._run_aside(network, brought_html, content, name, page)

    def _run_aside(
        self, network: str | None, function: Callable[..., str], *arguments: object
    ) -> str:
        if self._aside is None:
            return function(*arguments)
        language = current_locale().language
        return self._aside.run(_run_in, language, function, *arguments, network=network)

    def _request(self, query: Mapping[str, str], link: str) -> _MapRequest | None:
        own = self._reports.report(link) if link else None
        if link and own is None:
            return None
        pools = {str(pool): reports for pool, reports in self._reports.pools().items()}
        chosen = _chosen(query, pools)
        reports = list(pools.get(chosen.here, ()))
        if own is not None:
            reports = [own, *(report for report in reports if report.link != own.link)]
        return _MapRequest(chosen, pools, own, tuple(reports))


def _run_in(language: str, function: Callable[..., str], *arguments: object) -> str:
    """Calls a function in this language; a process aside does not know that of the request."""
    with speaking(LOCALES[language]):
        return function(*arguments)


def _back_to_map() -> tuple[str, str]:
    return TASK_MAP, t("taskmap.back_map")


def _joined(paper: str, reports: tuple[PooledReport, ...]) -> Accuracies:
    published = () if paper == "0" else paper_accuracies(with_shifted=paper == "32").models
    return Accuracies((*(report.accuracies for report in reports), *published), tuple(subtasks()))


def _chosen(query: Mapping[str, str], pools: _Pools) -> _MapChoice:
    known = {
        "paper": {*_PAPER},
        "here": {"", *pools},
        "linkage": {*get_args(Linkage)},
        "task": {"", *subtasks()},
    }
    known["clusters"] = {*map(str, range(2, MOST_CLUSTERS + 1))}
    strange = [
        f"{name}={query[name][:80]}"
        for name in known
        if name in query and query[name] not in known[name]
    ]

    def value(name: str, default: str) -> str:
        text = query.get(name, default)
        return text if text in known[name] else default

    return _MapChoice(
        paper=value("paper", "20"),
        here=value("here", ""),
        linkage=cast(Linkage, value("linkage", "average")),
        clusters=int(value("clusters", str(CLUSTERS))),
        task=value("task", ""),
        strange=tuple(strange),
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
    choices: Mapping[str, tuple[str, Mapping[str, str]]] = {
        "paper": (t("taskmap.form_paper"), paper),
        "here": (t("taskmap.form_here"), {"": no_reports, **here}),
        "linkage": (t("taskmap.form_linkage"), linkages),
        "task": (t("taskmap.form_task"), {"": "–", **tasks}),
    }
    return MapForm(choices, map_request.chosen._asdict())


def _sentences(map_request: _MapRequest) -> tuple[str, ...]:
    """Returns the sources of the accuracies, how they were read, and the parts of the address that make no sense."""
    chosen = map_request.chosen
    own = map_request.own
    published = len(map_request.reports) - (own is not None)
    parts = [t("taskmap.this_report", pool=own.pool)] if own else []
    if published:
        parts.append(t("taskmap.published_reports", count=published, pool=chosen.here))
    if chosen.paper != "0":
        parts.append(t("taskmap.paper_models", models=t(f"taskmap.paper_{chosen.paper}")))
    models = t("headline.and").join(parts) or t("taskmap.none")
    sentences = [t("taskmap.models", models=models)]
    pools = {str(report.pool) for report in map_request.reports}
    if len(pools) + (chosen.paper != "0") > 1:
        sentences.append(t("taskmap.read_apart"))
    if chosen.strange:
        strange = t("names.comma").join(chosen.strange)
        sentences.append(t("pages.not_understood", parts=strange))
    return tuple(sentences)


def _report(link: str) -> str:
    return f"/report/{quote(link, safe='')}"


AT_ONCE = 2
"""Maps that are asked for at the same time; others wait without a thread."""


class _MapRoutes:
    """The handlers of the routes."""

    def __init__(self, pages: TaskMapPages, layout: PageLayout) -> None:
        self._pages = pages
        self._layout = layout
        self._turns = CapacityLimiter(AT_ONCE)

    async def opens(self, request: Request, link: str = "") -> Response:
        return await self._in_turn(request, lambda: self._opened(request, link))

    async def downloads(self, request: Request, name: str, link: str = "") -> Response:
        return await self._in_turn(request, lambda: self._downloaded(request, name, link))

    async def _in_turn(self, request: Request, answer: Callable[[], Response]) -> Response:
        def answered() -> Response:
            waits = still_there(request)
            if not waits():
                raise AsideError("Nobody waits for this map any more.")
            with while_waited(waits):
                return answer()

        return await to_thread.run_sync(answered, limiter=self._turns)

    def _opened(self, request: Request, link: str) -> Response:
        page = self._pages.page(request.query_params, link, request.state.network)
        if page is None:  # the report's own address says that there is none
            return RedirectResponse(_report(link), status_code=303, headers=NO_STORE)
        title, body = page
        # a report's model may be private, and its map has no preview
        about = "" if link else t("taskmap.about")
        head = Head(f"{title} · {NAME}", about, is_private=bool(link))
        return self._layout.page(request, head, body, is_kept=not link)

    def _downloaded(self, request: Request, name: str, link: str) -> Response:
        try:
            content = self._pages.file(name, request.query_params, link, request.state.network)
        except TaskMapError as error:
            problem = t("taskmap.no_map", reason=translated(error))
            return PlainTextResponse(problem, status_code=409, headers=NO_STORE)
        if content is None:
            return PlainTextResponse(t("taskmap.no_file"), status_code=404, headers=NO_STORE)
        return attachment(name, content)

    async def brings(self, request: Request) -> Response:
        try:
            content, name = await sent_file(request)
        except HTTPException as error:
            problem = t("taskmap.not_sent", detail=error.detail)
            return PlainTextResponse(problem, status_code=400, headers=NO_STORE)
        network = request.state.network
        return await self._in_turn(request, lambda: self._brought(request, content, name, network))

    def _brought(
        self, request: Request, content: bytes, name: str, network: str | None
    ) -> Response:
        try:
            body = self._pages.brought(content, name[-80:] or "distances.csv", network)
            return self._own_map(request, body, 200)
        except (RowsError, TaskMapError, AsideError) as error:
            page = MapPage(paper_accuracies(), problem=error_text(error), back=_back_to_map())
            return self._own_map(request, body_html(page), 409)

    def _own_map(self, request: Request, body: str, status: int) -> Response:
        head = Head(f"{t('taskmap.own_title')} · {NAME}", "", is_private=True)
        return self._layout.page(request, head, body, status=status, is_kept=False)


def routes(pages: TaskMapPages, layout: PageLayout) -> APIRouter:
    router = APIRouter()
    does = _MapRoutes(pages, layout)
    router.add_api_route(TASK_MAP, does.opens, methods=["GET"])
    router.add_api_route(TASK_MAP, does.brings, methods=["POST"])
    router.add_api_route(f"{TASK_MAP}/{{name}}", does.downloads, methods=["GET"])
    router.add_api_route(f"/report/{{link}}{TASK_MAP}", does.opens, methods=["GET"])
    router.add_api_route(f"/report/{{link}}{TASK_MAP}/{{name}}", does.downloads, methods=["GET"])
    return router
