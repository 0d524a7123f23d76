"""Run's campaigns: what the forms of campaigns and projects send, and their downloads."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from arena.admin.campaigns import CampaignAdmin
from arena.admin.projects import ProjectAdmin
from arena.admin.seat_admin import SeatAdmin
from arena.authoring.checks import DraftError
from arena.io.strict_json import PAGE, RowsError, row_errors
from arena.io.tables import read_records, temporary_file
from arena.seats.spec import CampaignError
from arena.seats.worker_list import listed_workers
from arena.sheets import Sheet, as_csv
from arena.web.campaign_api import check_charset
from arena.web.cookies import NO_STORE
from arena.web.run_forms import SentForm, sent_form
from arena.web.run_page import RunPage, address

CAMPAIGNS = "/run/campaigns"
PROJECTS = "/run/projects"
PARTICIPANTS = "/run/participants"
MOST_LIST = 5_000_000
"""Most bytes of a platform's list of participants."""
_MOST_NAME = 200


@dataclass(frozen=True)
class CampaignActs:
    """What the routes do."""

    page: RunPage
    campaigns: CampaignAdmin
    projects: ProjectAdmin

    def _of(self, campaign: str) -> SeatAdmin:
        """Whose a campaign is: a name is one of battles or of items."""
        return self.projects if self.projects.store.has(campaign) else self.campaigns

    async def make_campaign(self, request: Request) -> Response:
        return await self._make(self.campaigns, request)

    async def make_project(self, request: Request) -> Response:
        return await self._make(self.projects, request)

    async def _make(self, admin: SeatAdmin, request: Request) -> Response:
        sent = await sent_form(request)

        def act(who: str) -> str:
            made = admin.make(who, sent.fields.get("toml", "").encode())
            return " ".join(admin.summary(made))

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def reject(self, campaign: str, request: Request) -> Response:
        """Take an item out of a project."""
        sent = await sent_form(request)
        number = sent.fields.get("number") or sent.fields.get("older", "")
        why = sent.fields.get("why", "").strip()

        def act(who: str) -> str:
            return self.projects.reject(who, campaign, number, why)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def judge(self, campaign: str, request: Request) -> Response:
        """Say whether a writer's sample is good."""
        sent = await sent_form(request)
        sample = sent.fields.get("sample", "")
        verdict = sent.fields.get("verdict", "")

        def act(who: str) -> str:
            return self.projects.judge(who, campaign, sample, verdict)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def check(self, campaign: str, request: Request) -> Response:
        """Say what was found in an accepted question."""
        sent = await sent_form(request)
        number = sent.fields.get("number", "")
        said = sent.fields.get("said", "")

        def act(who: str) -> str:
            return self.projects.check(who, campaign, number, said)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def end(self, campaign: str, request: Request) -> Response:
        sent = await sent_form(request)

        def act(who: str) -> str:
            return self._of(campaign).end(who, campaign)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def links(self, campaign: str, request: Request) -> Response:
        """Return a CSV of the signed links of workers, whose names come one a line or in a table's column."""
        sent = await sent_form(request)
        lines = sent.fields.get("workers", "").split("\n")

        def make(_: str) -> Response:
            admin = self._of(campaign)
            workers = listed_workers(lines)
            links = admin.worker_links(admin.store.get(campaign), workers, address(request))
            return _download(links, f"{campaign}-links.csv")

        return await run_in_threadpool(self.page.answer, request, sent, make)

    async def bring_participants(self, request: Request) -> Response:
        """Take the platform's list of participants."""
        try:
            check_charset(request)
            async with request.form(max_files=1, max_fields=5) as form:
                texts = {
                    name: value[:_MOST_NAME]
                    for name, value in form.items()
                    if isinstance(value, str)
                }
                file = form.get("file")
                is_file = isinstance(file, UploadFile)
                content = await file.read() if is_file else b""
                name = file.filename or "list" if is_file else "list"
        except HTTPException as error:
            return PlainTextResponse(error.detail, status_code=400, headers=NO_STORE)
        sent = SentForm(PARTICIPANTS, texts)
        campaign = texts.get("campaign", "")

        def act(who: str) -> str:
            with temporary_file(content, "list") as path, row_errors(name):
                records = read_records(path, PAGE, name=name)
                return self._of(campaign).bring_participants(who, campaign, records)

        return await run_in_threadpool(self.page.do, request, sent, act)

    def download(self, campaign: str, table: str, request: Request) -> Response:
        """Return a table of a campaign; anybody but an operator gets 404."""
        tables = self._of(campaign).tables
        if self.page.who(request) is None or table not in tables:
            return PlainTextResponse("There is nothing here.", status_code=404)
        return _made(tables[table], campaign, table)


def _made(make: Callable[[str], Sheet], campaign: str, table: str) -> Response:
    try:
        return _download(make(campaign), f"{campaign}-{table}.csv")
    except (CampaignError, DraftError, RowsError, OSError) as error:
        return PlainTextResponse(str(error), status_code=422, headers=NO_STORE)


def _download(sheet: Sheet, name: str) -> Response:
    headers = {**NO_STORE, "content-disposition": f'attachment; filename="{name}"'}
    return Response(as_csv(sheet), headers=headers, media_type="text/csv; charset=utf-8")


def routes(page: RunPage, campaigns: CampaignAdmin, projects: ProjectAdmin) -> APIRouter:
    router = APIRouter()
    acts = CampaignActs(page, campaigns, projects)
    for path, act in (
        (CAMPAIGNS, acts.make_campaign),
        (PROJECTS, acts.make_project),
        (f"{PROJECTS}/{{campaign}}/reject", acts.reject),
        (f"{PROJECTS}/{{campaign}}/samples", acts.judge),
        (f"{PROJECTS}/{{campaign}}/checks", acts.check),
        (f"{CAMPAIGNS}/{{campaign}}/links", acts.links),
        (f"{CAMPAIGNS}/{{campaign}}/end", acts.end),
        (PARTICIPANTS, acts.bring_participants),
    ):
        router.add_api_route(path, act, methods=["POST"])
    download = f"{CAMPAIGNS}/{{campaign}}/{{table}}.csv"
    router.add_api_route(download, acts.download, methods=["GET"])
    return router
