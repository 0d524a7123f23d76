"""Stereoscope: settings to database to tabs to FastAPI with Gradio mounted."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from arena.settings import SettingError, Settings  # before gradio, which reads its switches when it is imported

# isort: split
import gradio as gr
import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from gradio.themes import Default

from arena.battle_page import HEAD, TOP, Terms
from arena.battle_tab import BattleTab
from arena.campaigns import Campaigns
from arena.chat_tab import ChatTab
from arena.database import Database, DatabaseError
from arena.guard import Guard
from arena.importers import Importer
from arena.intake import Intake
from arena.items import ItemBank
from arena.leaderboard import Leaderboard
from arena.leaderboard_page import BOARD_HEAD
from arena.leaderboard_routes import routes as board_routes
from arena.leaderboard_tab import LeaderboardTab
from arena.live_page import LIVE_HEAD
from arena.live_routes import IMAGES
from arena.live_store import LiveModelError
from arena.live_tab import LiveTab
from arena.live_wing import LiveWing
from arena.matchmaking import Matchmaker
from arena.mirror import HubDataset, HubError, Mirror
from arena.models import CatalogueError
from arena.outbox import OutboxError
from arena.pictures import MAX_BYTES, PictureStore
from arena.polls import Polls
from arena.rows import PAGE, RowsError
from arena.store import Store
from scoring.agreement_tab import AgreementTab
from scoring.automatic_routes import routes as automatic_routes
from scoring.concordance import Concordances
from scoring.questions import QuestionsError
from scoring.report_tab import TAB as REPORT
from scoring.report_tab import ReportTab
from scoring.routes import UPLOADS, routes
from scoring.scoring_page import UPLOAD
from scoring.scoring_tab import ScoringTab
from scoring.submissions import PeoplesBoards
from scoring.submissions_tab import SubmissionsTab
from scoring.wing import Wing

ROOT = Path(__file__).parent
STOPS = (SettingError, DatabaseError, HubError, OutboxError, QuestionsError, RowsError, CatalogueError, LiveModelError)
"""Errors that end the start with one line."""
YEAR = 365 * 24 * 3600
CLOSING_SECONDS = 5
"""How long open pages may hold a server that is to end: each holds a stream of events."""


class Page(gr.Blocks):
    """Blocks whose events take plain values only: nothing here is a file, whatever a value calls itself."""

    def validate_inputs(self, block_fn, inputs) -> None:
        """Refuse lists and objects before Gradio looks into them: it would copy or fetch the files that they name."""
        if not isinstance(inputs, list) or any(isinstance(value, dict | list) for value in inputs):
            raise gr.Error("This page takes plain text only.", print_exception=False)
        super().validate_inputs(block_fn, inputs)


def create_app(settings: Settings) -> FastAPI:
    """Build the app on its database; raises DatabaseError if that cannot be opened or has a server already."""
    database = Database(settings.database_url)
    database.become_server()
    mirror = open_mirror(settings, database)
    scoring = Wing.build(settings, database)
    items = ItemBank(database, settings.image_hosts)
    pictures = PictureStore(settings.pictures_dir)
    if settings.demo_bank != "off":
        Importer(Intake(database), items, pictures).demo()
    terms = Terms.read()
    leaderboard = Leaderboard(database)
    live = LiveWing.build(settings, database, items, pictures, terms.version)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with mirroring(mirror), scoring.running(app), live.running():
            yield

    app = FastAPI(title="Stereoscope", docs_url=None, redoc_url=None, openapi_url=None, lifespan=running)
    add_routes(app, pictures, terms)
    app.include_router(routes(scoring.inbox, scoring.jobs))
    app.include_router(board_routes(leaderboard))
    app.include_router(automatic_routes(scoring.submissions))
    for router in live.routers():
        app.include_router(router)
    gr.mount_gradio_app(
        app,
        build_page(settings, database, items, leaderboard, terms, scoring, live),
        path="/",
        theme=Default(primary_hue="indigo", font=["system-ui", "sans-serif"]),
        css_paths=[ROOT / "arena" / "page.css", ROOT / "scoring" / "scoring.css", ROOT / "scoring" / "agreement.css"],
        head=HEAD + LIVE_HEAD + BOARD_HEAD + UPLOAD,
        show_error=False,
        run_history=False,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        footer_links=[],
        blocked_paths=[str(settings.data_dir), str(ROOT)],
    )
    uploads = {UPLOADS: PAGE.bytes or 0, IMAGES: 2 * MAX_BYTES}
    app.add_middleware(Guard, image_hosts=settings.image_hosts, https=settings.space, uploads=uploads)
    return app


def open_mirror(settings: Settings, database: Database) -> Mirror | None:
    """Fill an empty database from its copy, if there is to be one. Raises HubError, OutboxError and DatabaseError."""
    if settings.mirror is None:
        return None
    hub = HubDataset(settings.mirror.dataset, settings.mirror.token)
    mirror = Mirror(database, settings.pictures_dir, hub)
    mirror.restore()
    return mirror


@asynccontextmanager
async def mirroring(mirror: Mirror | None) -> AsyncIterator[None]:
    """Copy while the server runs, and what is left when it ends."""
    if mirror:
        await asyncio.to_thread(mirror.start)
    yield
    if mirror:
        await asyncio.to_thread(mirror.stop)


def build_page(
    settings: Settings,
    database: Database,
    items: ItemBank,
    leaderboard: Leaderboard,
    terms: Terms,
    scoring: Wing,
    live: LiveWing,
) -> gr.Blocks:
    """Build the tabs."""
    store = Store(database)
    campaigns = Campaigns(database, settings.voters_per_pair)
    matchmaker = Matchmaker(store, items, campaigns, settings.demo_bank)
    with Page(title="Stereoscope", analytics_enabled=False, fill_width=True) as page:
        gr.HTML(TOP, padding=False)
        with gr.Tabs() as tabs:
            with gr.Tab("Battle"):
                battle = BattleTab(store, items, matchmaker, campaigns, terms.version)
            with gr.Tab("Your images"):
                LiveTab(len(live.models))
            with gr.Tab("Chat"):
                ChatTab(len(live.models))
            with gr.Tab("Leaderboard") as board_tab:
                board = LeaderboardTab(leaderboard)
            with gr.Tab("Judges' boards") as automatic_tab:
                automatic = SubmissionsTab(scoring.submissions, PeoplesBoards(leaderboard, database))
            with gr.Tab("Judges and people") as agreement_tab:
                agreement = AgreementTab(Concordances(Polls(database), scoring.submissions.book))
            with gr.Tab("Score outputs") as scoring_tab:
                scored = ScoringTab(scoring.desk)
            with gr.Tab("Report", id=REPORT, visible=False) as report_tab:
                report = ReportTab(scoring.jobs)
        battle.listen(page)
        board.listen(board_tab)
        automatic.listen(automatic_tab)
        agreement.listen(agreement_tab)
        scored.listen(scoring_tab)
        report.listen(page, tabs, report_tab)
    page.queue(api_open=False, max_size=64)
    page.max_threads = 80
    page.state_session_capacity = 2000
    page.has_launched = True  # a mounted page never launches, and Gradio then checks no path
    return page


def add_routes(app: FastAPI, pictures: PictureStore, terms: Terms) -> None:
    """Serve the pictures by their hash, the terms, and a health check."""

    @app.get("/pictures/{name}")
    def picture(name: str) -> Response:
        path = pictures.path(name)
        if path is None:
            return PlainTextResponse("There is no such picture.", status_code=404)
        return FileResponse(path, headers={"cache-control": f"public, max-age={YEAR}, immutable"})

    @app.get("/terms")
    def terms_page() -> HTMLResponse:
        return HTMLResponse(terms.page)

    @app.get("/healthz")
    def health() -> PlainTextResponse:
        return PlainTextResponse("ok")


def main() -> int:
    """Start the server; return 2 with one clear line if a setting or the database is wrong."""
    try:
        settings = Settings.from_env()
        app = create_app(settings)
    except STOPS as error:
        sys.stderr.write(f"Stereoscope did not start: {error}\n")
        return 2
    sys.stderr.write(f"Stereoscope is at http://{settings.host}:{settings.port} (data in {settings.data_dir})\n")
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
