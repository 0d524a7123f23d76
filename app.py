"""Stereoscope: settings to database to rooms to tabs to FastAPI with Gradio mounted."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from arena.settings import SettingError, Settings  # before gradio, which reads its switches when it is imported

# isort: split
import gradio as gr
from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from gradio.blocks import Block
from gradio.themes import Default

from arena.bank.importers import Importer
from arena.bank.intake import Intake
from arena.battle_page import HEAD, TOP, Terms
from arena.battle_tab import BattleTab
from arena.boards import routes as leaderboard_routes
from arena.boards.page import BOARD_HEAD
from arena.chat_tab import ChatTab
from arena.database import Database, DatabaseError
from arena.elsewhere.polls import Polls
from arena.events import Argument
from arena.guard import Guard
from arena.hosting import health, serving, zero_gpu
from arena.hosting.homes import Homes, Homeward, own_address
from arena.hosting.limits import Limits
from arena.hosting.outbox import OutboxError
from arena.hosting.stateless import keep_no_sessions
from arena.hosting.storage import StorageError, storage_of
from arena.items import ItemBank
from arena.leaderboard import Leaderboard
from arena.leaderboard_tab import LeaderboardTab
from arena.live.page import LIVE_HEAD
from arena.live.routes import IMAGES
from arena.live.store import LiveModelError
from arena.live.wing import LiveWing
from arena.live_tab import LiveTab
from arena.matchmaking import Matchmaker
from arena.mirror import HubDataset, HubError, Mirror
from arena.models import CatalogueError
from arena.operator_tab import OperatorTab
from arena.operators import access
from arena.operators.access import Operators
from arena.operators.page import OPERATOR_HEAD
from arena.operators.wing import OperatorWing
from arena.pictures import MAX_BYTES, PictureStore
from arena.rows import PAGE, RowsError
from arena.store import Store
from arena.voters import login
from arena.voters.campaigns import Campaigns
from arena.voters.counting import Census
from arena.voters.limits import Networks
from arena.voters.roll import Voters
from scoring import routes as scoring_routes
from scoring.agreement_tab import AgreementTab
from scoring.people import routes as agreement_routes
from scoring.people.concordance import Concordances
from scoring.people.desk import AgreementDesk
from scoring.questions import QuestionsError
from scoring.report_tab import TAB as REPORT
from scoring.report_tab import ReportTab
from scoring.scoring_page import UPLOAD
from scoring.scoring_tab import ScoringTab
from scoring.submissions import PeoplesBoards
from scoring.submissions_tab import SubmissionsTab
from scoring.visit import routes as automatic_routes
from scoring.wing import Wing

ROOT = Path(__file__).parent
STOPS = (
    *(SettingError, StorageError, DatabaseError, HubError, OutboxError),
    *(QuestionsError, RowsError, CatalogueError, LiveModelError),
)
"""Errors that end the start with one line."""
STYLES = [ROOT / "arena" / "page.css", ROOT / "scoring" / "scoring.css", ROOT / "scoring" / "agreement.css"]
SCRIPTS = HEAD + login.LOGIN_HEAD + LIVE_HEAD + BOARD_HEAD + OPERATOR_HEAD + UPLOAD
YEAR = 365 * 24 * 3600


class Page(gr.Blocks):
    """Blocks whose events take plain values only: nothing here is a file, whatever a value calls itself."""

    def validate_inputs(self, block_fn, inputs) -> None:
        """Refuse lists and objects before Gradio looks into them: it would copy or fetch the files that they name."""
        if not isinstance(inputs, list) or any(isinstance(value, dict | list) for value in inputs):
            raise gr.Error("This page takes plain text only.", print_exception=False)
        super().validate_inputs(block_fn, inputs)


@dataclass(frozen=True)
class Rooms:
    """What the page and the routes are made of."""

    settings: Settings
    database: Database
    mirror: Mirror | None
    items: ItemBank
    pictures: PictureStore
    terms: Terms
    voters: Voters
    leaderboard: Leaderboard
    scoring: Wing
    agreement: AgreementDesk
    live: LiveWing
    operating: OperatorWing
    homes: Homes | None
    """Where several servers may share the database."""

    @classmethod
    def build(cls, settings: Settings) -> "Rooms":
        """Open the database, fill an empty one, and build the rooms on it. Raises one of STOPS."""
        database = Database(settings.database_url)
        database.become_server()
        mirror = open_mirror(settings, database)
        scoring = Wing.build(settings, database)
        items = ItemBank(database, settings.image_hosts)
        pictures = PictureStore(settings.pictures_dir)
        if settings.demo_bank != "off":
            Importer(Intake(database), items, pictures).demo()
        terms, voters = Terms.read(), Voters(database)
        live = LiveWing.build(settings, database, items, pictures, terms.version)
        operators = Operators(settings.operators, voters, by_link=not settings.space)
        queues = {"Live answers": lambda: live.rooms.hall.waiting, "Scoring jobs": scoring.jobs.waiting}
        return cls(
            settings=settings,
            database=database,
            mirror=mirror,
            items=items,
            pictures=pictures,
            terms=terms,
            voters=voters,
            leaderboard=Leaderboard(database, settings.counts),
            scoring=scoring,
            agreement=AgreementDesk(Concordances(Polls(database), scoring.submissions.book), scoring.inbox),
            live=live,
            operating=OperatorWing.build(settings, database, operators, mirror, queues),
            homes=None if database.is_sqlite else Homes(database, own_address(settings.host, settings.port, database)),
        )

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """Do what is done beside the requests while the server runs, and end it in order."""
        at_home = self.homes.running() if self.homes else nullcontext()
        async with mirroring(self.mirror), self.scoring.running(app), self.live.running(), at_home:
            yield
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())  # callers may hold all other threads

    def routers(self) -> tuple[APIRouter, ...]:
        """Return the routes beside the page's own."""
        settings = self.settings
        return (
            page_routes(self.pictures, self.terms),
            health.routes(health.Health(self.database, settings.data_dir)),
            login.routes(self.voters, Census(self.database, settings.counts), settings.oauth),
            access.routes(self.operating.operators),
            *self.operating.routers(),
            *self.live.routers(),
            leaderboard_routes.routes(self.leaderboard),
            automatic_routes.routes(self.scoring.submissions),
            agreement_routes.routes(self.agreement),
            scoring_routes.routes(self.scoring.inbox, self.scoring.jobs),
        )


def create_app(rooms: Rooms) -> FastAPI:
    """Build the app of these rooms: the routes, the page, and the guard around both."""
    settings = rooms.settings
    app = FastAPI(title="Stereoscope", docs_url=None, redoc_url=None, openapi_url=None, lifespan=rooms.running)
    for router in rooms.routers():
        app.include_router(router)
    page = build_page(rooms)
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        theme=Default(primary_hue="indigo", font=["system-ui", "sans-serif"]),
        css_paths=STYLES,
        head=SCRIPTS,
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
    if rooms.homes:
        app.add_middleware(Homeward, homes=rooms.homes, hops=settings.trusted_hops)
    uploads = {scoring_routes.UPLOADS: PAGE.bytes or 0, IMAGES: 2 * MAX_BYTES}
    limits = Limits(settings.trusted_hops)
    events = {number: tuple(map(_argument, fn.inputs)) for number, fn in page.fns.items() if fn.fn}
    https, hosts = settings.space, settings.image_hosts
    app.add_middleware(Guard, image_hosts=hosts, https=https, uploads=uploads, limits=limits, events=events)
    return app


def _argument(block: Block) -> Argument:
    label, most = (getattr(block, name, None) for name in ("label", "max_length"))
    return Argument.of(block.get_block_name(), str(label or ""), most)


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


def build_page(rooms: Rooms) -> gr.Blocks:
    """Build the tabs."""
    with Page(title="Stereoscope", analytics_enabled=False, fill_width=True) as page:
        gr.HTML(TOP, padding=False)
        with gr.Tabs() as tabs:
            with gr.Tab("Battle"):
                battle = battle_tab(rooms)
            with gr.Tab("Your images"):
                LiveTab(len(rooms.live.models))
            with gr.Tab("Chat"):
                ChatTab(len(rooms.live.models))
            with gr.Tab("Leaderboard") as board_tab:
                board = LeaderboardTab(rooms.leaderboard)
            with gr.Tab("Judges' boards") as automatic_tab:
                automatic = SubmissionsTab(rooms.scoring.submissions, PeoplesBoards(rooms.leaderboard, rooms.database))
            with gr.Tab("Judges and people") as agreement_tab:
                agreement = AgreementTab(rooms.agreement)
            with gr.Tab("Score outputs") as scoring_tab:
                scored = ScoringTab(rooms.scoring.desk, copied=rooms.mirror is not None)
            with gr.Tab("Report", id=REPORT, visible=False) as report_tab:
                report = ReportTab(rooms.scoring.jobs)
            with gr.Tab("Operators", visible=False) as operator_tab:
                operating = OperatorTab(rooms.operating.watch, rooms.operating.desk, rooms.operating.operators)
        battle.listen(page)
        board.listen(board_tab)
        automatic.listen(automatic_tab)
        agreement.listen(agreement_tab)
        scored.listen(scoring_tab)
        report.listen(page, tabs, report_tab)
        operating.listen(page, operator_tab)
    page.queue(api_open=False, max_size=64)
    page.max_threads = 80
    page.state_session_capacity = 2000
    page.has_launched = True  # a mounted page never launches, and Gradio then checks no path
    return page


def battle_tab(rooms: Rooms) -> BattleTab:
    """Build the tab of the item bank's battles."""
    settings = rooms.settings
    store = Store(rooms.database, settings.vote_limits)
    campaigns = Campaigns(rooms.database, settings.voters_per_pair)
    matchmaker = Matchmaker(store, rooms.items, campaigns, settings.demo_bank, settings.vote_limits)
    networks, mirror = Networks(settings.trusted_hops), rooms.mirror
    return BattleTab(
        store,
        rooms.items,
        matchmaker,
        campaigns,
        rooms.terms.version,
        networks,
        lambda: mirror.seen if mirror else None,
    )


def page_routes(pictures: PictureStore, terms: Terms) -> APIRouter:
    """Return the routes of the pictures, by their hash, and of the terms."""
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
    """Start the server; return 2 with one clear line if a setting or the database is wrong."""
    try:
        settings = Settings.from_env()
        storage = storage_of(settings)
        if settings.zero_gpu:
            zero_gpu.prepare(settings)
        rooms = Rooms.build(settings)
        app = create_app(rooms)
    except STOPS as error:
        sys.stderr.write(f"Stereoscope did not start: {error}\n")
        return 2
    address = f"http://{settings.host}:{settings.port}"
    sys.stderr.write(f"Stereoscope is at {address} ({storage.line})\n")
    link = rooms.operating.operators.link(address)
    if link:
        sys.stderr.write(f"The operator's page, for one browser and once: {link}\n")
    serve = zero_gpu.serve if settings.zero_gpu else serving.serve
    gc.freeze()  # no search for garbage goes through what stays anyway: each held all requests up for 0.15 s
    try:
        serve(app, settings, rooms.database.close)
    finally:
        rooms.database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
