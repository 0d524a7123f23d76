"""App: settings, database and services assembled into a FastAPI app with the Gradio page mounted."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path

from arena.settings import SettingError, Settings  # before gradio, which reads environment variables on import
from arena.web.gradio_import import gr

# isort: split
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from gradio.themes import Default
from starlette.routing import Mount

from arena.battles.campaigns import Campaigns
from arena.battles.quotas import Networks
from arena.battles.sampling import PairSampler
from arena.battles.store import BattleStore
from arena.battles.voters import Voters
from arena.database import Database, DatabaseError
from arena.fraud.eligibility import VoteEligibility, settle_official
from arena.imports.polls import Polls
from arena.inference.catalogue import CatalogueError
from arena.io.images import MAX_BYTES, PictureStore
from arena.io.tables import PAGE, RowsError
from arena.items.importers import ItemImporter
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.service import Leaderboard
from arena.live.images import MOST_IMAGES
from arena.live.store import LiveModelError
from arena.server import uvicorn_server, zero_gpu
from arena.server.change_log import ChangeLogError
from arena.server.hub_backup import HubBackup, HubDataset, HubError
from arena.storage import StorageError, storage_line
from arena.templates import macros, script
from arena.web import health_api, leaderboard_api, login_api
from arena.web.admin_auth import Operators
from arena.web.admin_setup import AdminSetup
from arena.web.admin_tab import AdminTab
from arena.web.battle_tab import BattleTab
from arena.web.built_pages import BuiltPages
from arena.web.cookies import YEAR, VoterCookies
from arena.web.events import Argument
from arena.web.gradio_patches import keep_no_sessions
from arena.web.leaderboard_tab import LeaderboardTab
from arena.web.live_api import IMAGES
from arena.web.live_setup import LiveSetup
from arena.web.middleware import RequestMiddleware
from arena.web.rate_limit import RateLimiter
from arena.web.terms import Terms
from scoring.agreement.service import AgreementService
from scoring.benchmarks.mm_vet_questions import QuestionsError
from scoring.jobs.submissions import PeoplesBoards
from scoring.web import scoring_api
from scoring.web.agreement_tab import AgreementTab
from scoring.web.report_tab import TAB as REPORT
from scoring.web.report_tab import ReportTab
from scoring.web.scoring_tab import ScoringTab
from scoring.web.setup import build_scoring, scoring_running
from scoring.web.submissions_tab import SubmissionsTab

ROOT = Path(__file__).parent
STARTUP_ERRORS = (
    *(SettingError, StorageError, DatabaseError, HubError, ChangeLogError),
    *(QuestionsError, RowsError, CatalogueError, LiveModelError, OSError),
)
"""Errors that stop the start with a one-line message."""
STYLES = [ROOT / "arena/web/page.css", ROOT / "scoring/web/scoring.css", ROOT / "scoring/web/agreement.css"]
SCRIPTS = [ROOT / f"arena/web/{name}.js" for name in ("keys", "login", "live", "leaderboard", "admin")]
SCRIPTS += [ROOT / "scoring/web/upload.js", ROOT / "scoring/web/levels.js"]
HEAD = macros("page.html").head(list(map(script, SCRIPTS)))


class Page(gr.Blocks):
    """Blocks whose events accept plain values only, so that no value can pose as a file."""

    def validate_inputs(self, block_fn, inputs) -> None:
        """Refuse lists and objects before Gradio processes them: it would copy or fetch the files that they name."""
        if not isinstance(inputs, list) or any(isinstance(value, dict | list) for value in inputs):
            raise gr.Error("This page takes plain text only.", print_exception=False)
        super().validate_inputs(block_fn, inputs)


class AppContext:
    """Services that the page and the routes share."""

    def __init__(self, settings: Settings) -> None:
        """Open the database, restore or fill it if empty, and build the services. Raises one of STARTUP_ERRORS."""
        self.settings, self.networks = settings, Networks(settings.trusted_hops)
        self.database = database = Database(settings.database_url)
        database.become_server()
        hub = settings.backup and HubDataset(settings.backup.dataset, settings.backup.token)
        self.backup = HubBackup(database, settings.pictures_dir, hub) if hub else None
        if self.backup:
            self.backup.restore()
        self.scoring = build_scoring(settings, database)
        self.items = ItemBank(database, settings.image_hosts)
        self.pictures = PictureStore(settings.pictures_dir)
        if settings.demo_bank != "off":
            ItemImporter(Ingest(database), self.items, self.pictures).demo()
        self.terms, self.voters = Terms.read(), Voters(database)
        self.cookies = VoterCookies(database.secret_key("cookies"), self._known_since)
        settle_official(database, settings.counted, "counted" if settings.space and settings.oauth else "everyone")
        self.leaderboard = Leaderboard(database, settings.counted)
        self.agreement = AgreementService(Polls(database), self.scoring.submissions.store, self.scoring.upload_store)
        self.live = live = LiveSetup(settings, database, self.items, self.pictures, self.terms.version)
        operators = Operators(settings.operators, self.voters, by_link=not settings.space)
        queues = {"Live answers": lambda: live.battles.sessions.waiting, "Scoring jobs": self.scoring.jobs.waiting}
        self.admin = AdminSetup(settings, database, operators, self.backup, live, queues)

    def _known_since(self, owner: str) -> datetime | None:
        """When somebody first voted, logged in or scored with a cookie of this hash."""
        return self.voters.since(owner) or self.scoring.jobs.since(owner)

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """Run the background tasks while the server runs, and stop them in order."""
        async with AsyncExitStack() as stack:
            if self.backup:
                await asyncio.to_thread(self.backup.start)
                stack.push_async_callback(asyncio.to_thread, self.backup.stop)
            await stack.enter_async_context(scoring_running(self.scoring))
            await stack.enter_async_context(self.live.running())
            yield
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())  # callers may hold all other threads


async def database_failed(_: Request, error: Exception) -> PlainTextResponse:
    return PlainTextResponse(str(error), status_code=503)


def create_app(context: AppContext) -> FastAPI:
    settings = context.settings
    eligibility = VoteEligibility(context.database, settings.counted)
    app = FastAPI(title="Stereoscope", docs_url=None, redoc_url=None, openapi_url=None, lifespan=context.running)
    app.add_exception_handler(DatabaseError, database_failed)
    for router in (
        page_routes(context.pictures, context.terms),
        health_api.routes(health_api.Health(context.database, settings.data_dir)),
        login_api.routes(context.voters, context.cookies, eligibility, settings.oauth),
        *context.admin.routers,
        *context.live.routers(),
        leaderboard_api.routes(context.leaderboard),
        scoring_api.job_routes(context.scoring.upload_store, context.scoring.jobs),
        scoring_api.board_routes(context.scoring.submissions),
        scoring_api.agreement_routes(context.agreement),
    ):
        app.include_router(router)
    page = build_page(context)
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        theme=Default(primary_hue="indigo", font=["system-ui", "sans-serif"]),
        css_paths=STYLES,
        head=HEAD,
        show_error=False,
        run_history=False,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        footer_links=[],
        max_file_size="1mb",
        blocked_paths=[str(settings.data_dir), str(ROOT)],
    )
    keep_no_sessions(app, page)
    mount = app.routes[-1]
    assert isinstance(mount, Mount)
    mount.app = BuiltPages(mount.app)
    uploads = {scoring_api.UPLOADS: PAGE.bytes or 0, IMAGES: 2 * MAX_BYTES}
    limits = RateLimiter(settings.trusted_hops)
    events = {number: tuple(map(Argument.of, fn.inputs)) for number, fn in page.fns.items() if fn.fn}
    guarded = {"image_hosts": settings.image_hosts, "https": settings.space, "uploads": uploads}
    app.add_middleware(RequestMiddleware, cookies=context.cookies, limits=limits, events=events, **guarded)
    return app


def build_page(context: AppContext) -> gr.Blocks:
    live, models = macros("live.html"), len(context.live.chats.vlms)
    with Page(title="Stereoscope", analytics_enabled=False, fill_width=True) as page:
        gr.HTML(macros("page.html").top(), padding=False)
        with gr.Tabs() as tabs:
            with gr.Tab("Battle"):
                battle = battle_tab(context)
            with gr.Tab("Your images"):
                gr.HTML(live.live(models, MOST_IMAGES), elem_id="live-tab", padding=False)
            with gr.Tab("Chat"):
                gr.HTML(live.chat(models, MOST_IMAGES), elem_id="chat-tab", padding=False)
            with gr.Tab("Leaderboard") as board_tab:
                board = LeaderboardTab(context.leaderboard)
            with gr.Tab("Judges' boards") as judge_boards_tab:
                boards = PeoplesBoards(context.leaderboard, context.database)
                judge_boards = SubmissionsTab(context.scoring.submissions, boards)
            with gr.Tab("Judges and people") as agreement_tab:
                agreement = AgreementTab(context.agreement)
            with gr.Tab("Score outputs") as scoring_tab:
                scored = ScoringTab(context.scoring, context.networks, copied=context.backup is not None)
            with gr.Tab("Report", id=REPORT, visible=False) as report_tab:
                report = ReportTab(context.scoring.jobs)
            with gr.Tab("Operators", visible=False) as operator_tab:
                admin = AdminTab(context.admin.watch, context.admin.service, context.admin.operators)
        battle.listen(page)
        board.listen(board_tab)
        judge_boards.listen(judge_boards_tab)
        agreement.listen(agreement_tab)
        scored.listen(scoring_tab)
        report.listen(page, tabs, report_tab)
        admin.listen(page, operator_tab)
    page.queue(api_open=False, max_size=64)
    page.max_threads = 80
    page.state_session_capacity = 2000
    page.has_launched = True  # a mounted page never launches, and Gradio then checks no path
    return page


def battle_tab(context: AppContext) -> BattleTab:
    settings, backup = context.settings, context.backup
    store = BattleStore(context.database, settings.vote_limits)
    campaigns = Campaigns(context.database, settings.voters_per_pair)
    sampler = PairSampler(store, context.items, campaigns, settings.demo_bank, settings.vote_limits)
    networks, terms = context.networks, context.terms.version
    copy = (lambda: backup.seen) if backup else (lambda: None)
    return BattleTab(store, context.items, sampler, campaigns, terms, networks, copy)


def page_routes(pictures: PictureStore, terms: Terms) -> APIRouter:
    """Return the routes for pictures, by their hash, and for the terms."""
    router = APIRouter()

    @router.get("/pictures/{name}")
    def picture(name: str) -> Response:
        path = pictures.path(name)
        if path is None:
            return PlainTextResponse("There is no such picture.", status_code=404)
        return FileResponse(path, headers={"cache-control": f"public, max-age={YEAR}, immutable"})

    @router.get("/terms")
    def terms_page() -> HTMLResponse:
        return HTMLResponse(terms.page)

    return router


def main() -> int:
    """Start the server. Return 2 after a one-line message if a setting or the database is wrong."""
    try:
        settings = Settings.from_env()
        storage = storage_line(settings)
        if settings.zero_gpu:
            zero_gpu.prepare(settings)
        context = AppContext(settings)
        app = create_app(context)
    except STARTUP_ERRORS as error:
        sys.stderr.write(f"Stereoscope did not start: {error}\n")
        return 2
    address = f"http://{settings.host}:{settings.port}"
    sys.stderr.write(f"Stereoscope is at {address} ({storage})\n")
    link = context.admin.operators.link(address)
    if link:
        sys.stderr.write(f"The operator's page, for one browser and once: {link}\n")
    serve = zero_gpu.serve if settings.zero_gpu else uvicorn_server.serve
    gc.freeze()  # garbage collection skips permanent objects: each scan of them paused all requests for 0.15 s
    try:
        serve(app, settings, context.database.close)
    finally:
        context.database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
