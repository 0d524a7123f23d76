"""Admin setup: the operators' dashboard, actions, link and images to moderate, and the public export."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse

from arena.admin.campaigns import CampaignAdmin
from arena.admin.dashboard import DashboardService
from arena.admin.public_export import PublicFiles
from arena.admin.service import AdminService
from arena.budget import JUDGE, Budget, Ceilings
from arena.database import Database
from arena.live.images import OwnImages
from arena.server.hub_backup import HubBackup
from arena.settings import Settings
from arena.web import admin_campaigns, export_api
from arena.web.admin_auth import DAY, OPERATOR_COOKIE, LinkError, Operators
from arena.web.cookies import NO_STORE, cookie_header, over_https
from arena.web.live_setup import LiveSetup
from arena.web.writing_setup import WritingSetup


class AdminSetup:
    """Services behind the operators' tab, and the routers of the operators and of the public export."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        operators: Operators,
        backup: HubBackup | None,
        live: LiveSetup,
        queues: Mapping[str, Callable[[], int]],
        campaigns: CampaignAdmin,
        writing: WritingSetup,
    ) -> None:
        """`queues` maps a queue's name to a function that returns its length."""
        judge = settings.judge
        images = live.battles.images
        ceilings = Ceilings(judge.job_budget, judge.day_budget, judge.total_budget)
        budgets = {"Live answers": live.budget, "Judge": Budget(database, ceilings, JUDGE)}
        budgets["Draft answers"] = writing.budget
        self.operators = operators
        self.service = AdminService(database, images, settings.counted)
        seen = (backup, budgets, queues, len(live.vlms), campaigns, writing.admin)
        self.watch = DashboardService(database, settings, *seen)
        files = PublicFiles(database, settings.public_dir)
        of_operators = (
            operator_routes(images, operators),
            admin_campaigns.routes(campaigns, writing.admin, operators),
        )
        self.routers = (*of_operators, export_api.routes(files))


def operator_routes(images: OwnImages, operators: Operators) -> APIRouter:
    router = APIRouter()

    @router.post("/operator", status_code=204)
    async def enter(request: Request) -> Response:
        """Bind the browser that sends the link's code, unless it is an operator's already."""
        if operators.of(request.headers):
            return Response(status_code=204)
        try:
            cookie = operators.redeem((await request.body()).decode(errors="replace"))
        except LinkError as error:
            return PlainTextResponse(
                str(error), status_code=429 if error.too_many else 403, headers=NO_STORE
            )
        https = over_https(request.scope, request.headers)
        kept = cookie_header(cookie, https, OPERATOR_COOKIE, DAY)
        return Response(status_code=204, headers={**NO_STORE, "set-cookie": kept})

    @router.get("/operators/uploads/{image}")
    def upload(image: str, request: Request) -> Response:
        """Return an image to an operator; anybody else gets 404."""
        number = int(image) if image.isascii() and image.isdigit() and len(image) < 10 else 0
        path = images.kept_path(number) if operators.of(request.headers) else None
        if path is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    return router
