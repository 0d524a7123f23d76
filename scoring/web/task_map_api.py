"""Task map's routes: the map on its own and under a report's link, a map that a visitor brings, and the files."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias, get_args
from urllib.parse import quote, urlencode

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.exceptions import HTTPException

from arena.cache import Cache
from arena.io.aside import Aside, AsideError, while_waited
from arena.io.strict_json import RowsError
from arena.templates import plural
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
from scoring.web.task_map_view import (
    LINKAGES,
    MapForm,
    MapPage,
    body_html,
    brought_html,
    map_file,
    map_html,
    title_of,
)

TASK_MAP = "/task-map"
ABOUT = "Which of MMT-Bench's tasks rank vision-language models alike: heat map, tree and clusters."
_MAP = (TASK_MAP, "The map of accuracies")
MOST_MAP = 2_000_000
"""Bytes of a file of distances."""
_PAPER = {
    "20": "the paper's 20, columns as headed",
    "32": "the paper's 32, columns put back",
    "0": "none of the paper",
}
_Pools: TypeAlias = Mapping[str, tuple[PooledReport, ...]]


class _MapChoice(NamedTuple):
    """What an address asks for."""

    paper: str
    here: str
    """Name of the pool of published reports; "": none."""
    linkage: Linkage
    clusters: int
    task: str
    strange: tuple[str, ...]
    """What it asks for that there is not."""


class _MapRequest(NamedTuple):
    """What a page is made of."""

    chosen: _MapChoice
    pools: _Pools
    own: PooledReport | None
    reports: tuple[PooledReport, ...]
    """The report whose link one has, and the published ones that were chosen."""

    @property
    def accuracies(self) -> Accuracies:
        return _joined(self.chosen.paper, self.reports)

    @property
    def made_of(self) -> object:
        """All that shapes the page: its parameters, and the reports, which never change."""
        pools = [(name, len(reports)) for name, reports in self.pools.items()]
        return self.chosen, pools, [one.link for one in self.reports]


class TaskMapPages:
    """The maps of one server, made aside; published reports alone are among the models, and that whose link one has."""

    def __init__(self, reports: ReportAccuracies, aside: Aside | None = None) -> None:
        self._reports = reports
        self._aside = aside
        self._kept: Cache[str] = Cache(16_000_000, weigh=len)

    def page(
        self, query: Mapping[str, str], link: str = "", network: str | None = None
    ) -> tuple[str, str] | None:
        """The page's title and its part; None where the link is of no MMT-Bench report with scores.

        Raises DatabaseError, AsideError.
        """
        asked = self._asked(query, link)
        if asked is None:
            return None
        chosen = asked.chosen
        own = asked.own
        address = urlencode(
            {name: getattr(chosen, name) for name in ("paper", "here", "linkage", "clusters")}
        )
        files = {
            name: f"{_report(link) if link else ''}{TASK_MAP}/{name}?{address}" for name in FILES
        }
        shown = MapPage(
            asked.accuracies,
            clusters=chosen.clusters,
            sentences=_sentences(asked),
            own=own.accuracies if own else None,
            task=chosen.task,
            form=_form(asked),
            back=(_report(link), f"{own.accuracies.model} on MMT-Bench")
            if own
            else ("/score", "Score a model"),
            downloads=files,
        )
        body = self._kept.get(
            ("page", link, asked.made_of),
            lambda: self._done(network, map_html, shown, chosen.linkage),
        )
        return title_of(shown), body

    def file(
        self, name: str, query: Mapping[str, str], link: str = "", network: str | None = None
    ) -> str | None:
        """A download; None where there is none. Raises DatabaseError, TaskMapError, AsideError."""
        asked = self._asked(query, link) if name in FILES else None
        if asked is None:
            return None
        chosen = asked.chosen
        return self._kept.get(
            (name, link, asked.made_of),
            lambda: self._done(
                network, map_file, name, asked.accuracies, chosen.linkage, chosen.clusters
            ),
        )

    def brought(self, content: bytes, name: str, network: str | None = None) -> str:
        """The page of a visitor's own distances. Raises RowsError, TaskMapError, AsideError."""
        page = MapPage(
            paper_accuracies(),
            sentences=(f"Accuracies: {_PAPER['20']}.",),
            back=_MAP,
        )
        return self._done(network, brought_html, content, name, page)

    def _done(self, network: str | None, function: Callable[..., str], *given: object) -> str:
        if self._aside is None:
            return function(*given)
        return self._aside.run(function, *given, network=network)

    def _asked(self, query: Mapping[str, str], link: str) -> _MapRequest | None:
        own = self._reports.of(link) if link else None
        if link and own is None:
            return None
        pools = {str(pool): reports for pool, reports in self._reports.pools().items()}
        chosen = _chosen(query, pools)
        others = (one for one in pools.get(chosen.here, ()) if own is None or one.link != own.link)
        return _MapRequest(chosen, pools, own, (*([own] if own else []), *others))


def _joined(paper: str, reports: tuple[PooledReport, ...]) -> Accuracies:
    published = () if paper == "0" else paper_accuracies(slipped=paper == "32").models
    return Accuracies((*(one.accuracies for one in reports), *published), tuple(subtasks()))


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
    number = int(one) if (one := query.get("clusters")) in known["clusters"] else CLUSTERS
    linkage: Linkage = next(
        (one for one in get_args(Linkage) if one == query.get("linkage")), "average"
    )
    here, task = (
        one if (one := query.get(name, "")) in known[name] else "" for name in ("here", "task")
    )
    paper = one if (one := query.get("paper", "20")) in _PAPER else "20"
    return _MapChoice(paper, here, linkage, number, task, tuple(strange))


def _form(asked: _MapRequest) -> MapForm:
    here = {
        name: f"{plural(len(reports), 'report')}: {name}" for name, reports in asked.pools.items()
    }
    tasks = {key: one.name for key, one in subtasks().items()}
    choices: Mapping[str, tuple[str, Mapping[str, str]]] = {
        "paper": ("Models of the paper", _PAPER),
        "here": ("Published reports here", {"": "none" if here else "none are published", **here}),
        "linkage": ("Linkage of the tree", {**LINKAGES}),
        "task": ("Nearest tasks of", {"": "–", **tasks}),
    }
    return MapForm(choices, asked.chosen._asdict())


def _sentences(asked: _MapRequest) -> tuple[str, ...]:
    """Whose the accuracies are, how they were read, and what of the address was not understood."""
    chosen = asked.chosen
    own = asked.own
    published = len(asked.reports) - (own is not None)
    parts = [f"this report ({own.pool})"] if own else []
    parts += [f"{plural(published, 'published report')} ({chosen.here})"] if published else []
    if chosen.paper != "0":
        parts.append(
            f"{_PAPER[chosen.paper]} (Tables A19 to A37: the whole benchmark, letters read by its own protocol)"
        )
    said = [f"Models: {'; '.join(parts) or 'none'}."]
    pools = {str(one.pool) for one in asked.reports}
    if len(pools) + (chosen.paper != "0") > 1:
        said.append(
            "Not all were read alike, or on the same questions: some of what lies between them is that."
        )
    if chosen.strange:
        said.append(f"Not understood in this address: {', '.join(chosen.strange)}.")
    return tuple(said)


def _report(link: str) -> str:
    return f"/report/{quote(link, safe='')}"


AT_ONCE = 2
"""Maps that are asked for at the same time; others wait without a thread."""


class _MapRoutes:
    """What the routes do."""

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
        found = self._pages.page(request.query_params, link, request.state.network)
        if found is None:  # the report's own address says that there is none
            return RedirectResponse(_report(link), status_code=303, headers=NO_STORE)
        title, body = found
        # a report's model may be private, and its map has no preview
        head = Head(f"{title} · {NAME}", "" if link else ABOUT, is_private=bool(link))
        return self._layout.page(request, head, body, is_kept=not link)

    def _downloaded(self, request: Request, name: str, link: str) -> Response:
        try:
            content = self._pages.file(name, request.query_params, link, request.state.network)
        except TaskMapError as error:
            return PlainTextResponse(
                f"There is no map: {error}.", status_code=409, headers=NO_STORE
            )
        if content is None:
            return PlainTextResponse(
                "There is no such map or file.", status_code=404, headers=NO_STORE
            )
        return attachment(name, content)

    async def brings(self, request: Request) -> Response:
        try:
            content, name = await sent_file(request)
        except HTTPException as error:
            told = f"Expected a form with one file, a distances.csv. Choose it on the task map. ({error.detail})"
            return PlainTextResponse(told, status_code=400, headers=NO_STORE)
        network = request.state.network
        return await self._in_turn(request, lambda: self._brought(request, content, name, network))

    def _brought(
        self, request: Request, content: bytes, name: str, network: str | None
    ) -> Response:
        try:
            body = self._pages.brought(content, name[-80:] or "distances.csv", network)
            return self._own_map(request, body, 200)
        except (RowsError, TaskMapError, AsideError) as error:
            page = MapPage(paper_accuracies(), problem=str(error), back=_MAP)
            return self._own_map(request, body_html(page), 409)

    def _own_map(self, request: Request, body: str, status: int) -> Response:
        head = Head(f"Your task map · {NAME}", "", is_private=True)
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
