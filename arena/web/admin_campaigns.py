"""Admin campaigns: what the campaigns' section of the operators' page sends and downloads; anybody else gets 404."""

from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool

from arena.admin.campaigns import CampaignAdmin
from arena.admin.projects import ProjectAdmin
from arena.admin.seat_admin import SeatAdmin
from arena.authoring.checks import DraftError
from arena.io.strict_json import PAGE, RowsError, row_errors
from arena.io.tables import read_records, temporary_file
from arena.seats.spec import CampaignError
from arena.seats.worker_list import listed_workers
from arena.sheets import as_csv
from arena.web.admin_auth import Operators
from arena.web.cookies import NO_STORE, over_https

PARTICIPANTS = "/operators/participants"
MOST_LIST = 5_000_000
"""Most bytes of a platform's list of participants."""
_ERRORS = (CampaignError, DraftError, RowsError, OSError)


class _CampaignOrders:
    """What the routes do; each answers with a text, or with what is to be mended and status 422."""

    def __init__(
        self, campaigns: CampaignAdmin, projects: ProjectAdmin, operators: Operators
    ) -> None:
        self.campaigns = campaigns
        self.projects = projects
        self.operators = operators

    def _of(self, campaign: str) -> SeatAdmin:
        """Whose a campaign is: a name is one of battles or of items."""
        return self.projects if self.projects.store.has(campaign) else self.campaigns

    async def makes(self, request: Request) -> Response:
        return await self._makes(self.campaigns, request)

    async def makes_project(self, request: Request) -> Response:
        return await self._makes(self.projects, request)

    async def _makes(self, of: SeatAdmin, request: Request) -> Response:
        body = await request.body()

        def act(who: str) -> str:
            return "\n".join(of.summary(of.make(who, body)))

        return await run_in_threadpool(self._tried, request, act)

    async def rejects(self, campaign: str, request: Request) -> Response:
        """Take an item out of a project; its number comes first, and then why."""
        number, _, why = (await request.body()).decode(errors="replace").strip().partition(" ")
        return await run_in_threadpool(
            self._tried,
            request,
            lambda who: self.projects.reject(who, campaign, number, why.strip()),
        )

    async def judges(self, campaign: str, request: Request) -> Response:
        """Say whether a writer's sample is good; its number comes first, and then good or poor."""
        sample, _, verdict = (await request.body()).decode(errors="replace").strip().partition(" ")
        return await run_in_threadpool(
            self._tried,
            request,
            lambda who: self.projects.judge(who, campaign, sample, verdict.strip()),
        )

    async def links(self, campaign: str, request: Request) -> Response:
        """A CSV of the signed links of workers, whose names come one a line or in a table's column."""
        lines = (await request.body()).decode("utf-8-sig", "replace").split("\n")
        here = address(request)

        def act(_: str) -> str:
            of = self._of(campaign)
            return as_csv(of.worker_links(of.store.get(campaign), listed_workers(lines), here))

        return await run_in_threadpool(self._tried, request, act)

    async def ends(self, campaign: str, request: Request) -> Response:
        return await run_in_threadpool(
            self._tried, request, lambda who: self._of(campaign).end(who, campaign)
        )

    async def lists(self, campaign: str, file: str, request: Request) -> Response:
        """Take the platform's list of participants, a file of this name."""
        body = await request.body()

        def act(who: str) -> str:
            with temporary_file(body, "list") as path, row_errors(file):
                return self._of(campaign).bring_participants(
                    who, campaign, read_records(path, PAGE, name=file)
                )

        return await run_in_threadpool(self._tried, request, act)

    def downloads(self, campaign: str, table: str, request: Request) -> Response:
        tables = self._of(campaign).tables
        if table not in tables:
            return PlainTextResponse("There is no such table.", status_code=404)
        answer = self._tried(request, lambda _: as_csv(tables[table](campaign)))
        if answer.status_code == 200:
            answer.headers["content-type"] = "text/csv; charset=utf-8"
            answer.headers["content-disposition"] = f'attachment; filename="{campaign}-{table}.csv"'
        return answer

    def _tried(self, request: Request, act: Callable[[str], str]) -> Response:
        try:
            who = self.operators.of(request.headers)
            if who is None:
                return PlainTextResponse("There is nothing here.", status_code=404)
            return PlainTextResponse(act(who), headers=NO_STORE)
        except _ERRORS as error:
            return PlainTextResponse(str(error), status_code=422, headers=NO_STORE)


def routes(campaigns: CampaignAdmin, projects: ProjectAdmin, operators: Operators) -> APIRouter:
    router = APIRouter()
    does = _CampaignOrders(campaigns, projects, operators)
    router.add_api_route("/operators/campaigns", does.makes, methods=["POST"])
    router.add_api_route("/operators/projects", does.makes_project, methods=["POST"])
    router.add_api_route("/operators/projects/{campaign}/reject", does.rejects, methods=["POST"])
    router.add_api_route("/operators/projects/{campaign}/samples", does.judges, methods=["POST"])
    router.add_api_route("/operators/campaigns/{campaign}/links", does.links, methods=["POST"])
    router.add_api_route("/operators/campaigns/{campaign}/end", does.ends, methods=["POST"])
    router.add_api_route(PARTICIPANTS, does.lists, methods=["POST"])
    router.add_api_route(
        "/operators/campaigns/{campaign}/{table}.csv", does.downloads, methods=["GET"]
    )
    return router


def address(request: Request) -> str:
    """The address under which a browser reached this arena."""
    scheme = "https" if over_https(request.scope, request.headers) else "http"
    return f"{scheme}://{request.headers.get('host', '')}"
