"""Campaigns on the page Run: the forms of campaigns and projects, and their downloads."""

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
from arena.seats.worker_list import parse_workers
from arena.sheets import Sheet, as_csv
from arena.web.campaign_api import check_charset
from arena.web.cookies import NO_STORE
from arena.web.run_forms import SentForm, sent_form
from arena.web.run_page import RunPage, site_address

CAMPAIGNS = "/run/campaigns"
PROJECTS = "/run/projects"
PARTICIPANTS = "/run/participants"
MOST_LIST = 5_000_000
"""Most bytes of a platform's list of participants."""
_MOST_LETTERS = 200
"""Most characters of a text field that is sent with a list of participants; the rest is cut off."""
_UNNAMED_LIST = "list"
"""The file name of a list of participants that has none."""


@dataclass(frozen=True)
class CampaignActs:
    """The handlers of the routes."""

    page: RunPage
    campaigns: CampaignAdmin
    projects: ProjectAdmin

    def _admin_of(self, campaign: str) -> SeatAdmin:
        """Returns the service of the campaign with this name: of projects, where people write items, or of battles."""
        return self.projects if self.projects.store.has(campaign) else self.campaigns

    async def make_campaign(self, request: Request) -> Response:
        return await self._make(self.campaigns, request)

    async def make_project(self, request: Request) -> Response:
        return await self._make(self.projects, request)

    async def _make(self, admin: SeatAdmin, request: Request) -> Response:
        sent = await sent_form(request)

        def act(operator: str) -> str:
            made = admin.make(operator, sent.fields.get("toml", "").encode())
            return " ".join(admin.summary(made))

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def reject(self, campaign: str, request: Request) -> Response:
        """Takes an item out of a project."""
        sent = await sent_form(request)
        # An item of the list, else the number that was typed for an older one.
        number = sent.fields.get("number") or sent.fields.get("older", "")
        why = sent.fields.get("why", "").strip()

        def act(operator: str) -> str:
            return self.projects.reject(operator, campaign, number, why)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def judge(self, campaign: str, request: Request) -> Response:
        """Stores an operator's verdict on a writer's sample."""
        sent = await sent_form(request)
        sample = sent.fields.get("sample", "")
        verdict = sent.fields.get("verdict", "")

        def act(operator: str) -> str:
            return self.projects.judge(operator, campaign, sample, verdict)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def check(self, campaign: str, request: Request) -> Response:
        """Stores an operator's verdict on an accepted question."""
        sent = await sent_form(request)
        number = sent.fields.get("number", "")
        verdict = sent.fields.get("said", "")

        def act(operator: str) -> str:
            return self.projects.check(operator, campaign, number, verdict)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def end(self, campaign: str, request: Request) -> Response:
        sent = await sent_form(request)

        def act(operator: str) -> str:
            return self._admin_of(campaign).end(operator, campaign)

        return await run_in_threadpool(self.page.do, request, sent, act)

    async def links(self, campaign: str, request: Request) -> Response:
        """Returns a CSV of signed links for workers. Their names come one on a line, or in a column of a table."""
        sent = await sent_form(request)
        lines = sent.fields.get("workers", "").split("\n")

        def make(_: str) -> Response:
            admin = self._admin_of(campaign)
            workers = parse_workers(lines)
            links = admin.worker_links(admin.store.get(campaign), workers, site_address(request))
            return _download(links, f"{campaign}-links.csv")

        return await run_in_threadpool(self.page.answer, request, sent, make)

    async def bring_participants(self, request: Request) -> Response:
        """Stores the platform's list of participants."""
        try:
            check_charset(request)
            async with request.form(max_files=1, max_fields=5) as form:
                texts = {
                    name: value[:_MOST_LETTERS]
                    for name, value in form.items()
                    if isinstance(value, str)
                }
                file = form.get("file")
                content = b""
                file_name = _UNNAMED_LIST
                if isinstance(file, UploadFile):
                    content = await file.read()
                    file_name = file.filename or _UNNAMED_LIST
        except HTTPException as error:
            return PlainTextResponse(error.detail, status_code=400, headers=NO_STORE)
        sent = SentForm(PARTICIPANTS, texts)
        campaign = texts.get("campaign", "")

        def act(operator: str) -> str:
            with temporary_file(content, _UNNAMED_LIST) as path, row_errors(file_name):
                records = read_records(path, PAGE, name=file_name)
                return self._admin_of(campaign).bring_participants(operator, campaign, records)

        return await run_in_threadpool(self.page.do, request, sent, act)

    def download(self, campaign: str, table: str, request: Request) -> Response:
        """Returns a table of a campaign to operators; other people get 404."""
        tables = self._admin_of(campaign).tables
        if self.page.operator_of(request) is None or table not in tables:
            return PlainTextResponse("There is nothing here.", status_code=404)
        return _table_response(tables[table], campaign, table)


def _table_response(make: Callable[[str], Sheet], campaign: str, table: str) -> Response:
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
