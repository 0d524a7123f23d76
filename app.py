"""App: settings, database and services assembled into a FastAPI app with the Gradio page mounted."""

import asyncio
import gc
import sys
import warnings
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

if __name__ == "__main__":
    # Until the app serves: collecting garbage took a sixth of a start, and most objects stay.
    gc.disable()

# Before gradio, which reads environment variables on import.
from arena.settings import SettingError, Settings
from arena.web.gradio_import import gr

# isort: split
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import PlainTextResponse
from gradio.themes import Default
from starlette.routing import Mount

from arena.authoring.spec import ITEM_KINDS
from arena.authoring.spec import KINDS as PROJECTS
from arena.battles.write_batch import WriteBatch
from arena.cache import Cache
from arena.campaign_battles.spec import TASK as BATTLES
from arena.campaign_battles.spec import BattleSpec
from arena.context import ArenaContext
from arena.database import DatabaseError
from arena.inference.catalogue import CatalogueError
from arena.io.aside import AsideError
from arena.io.images import MAX_BYTES
from arena.io.tables import RowsError
from arena.live.images import MOST_IMAGES
from arena.live.store import LiveModelError
from arena.locale import LOCALES, speaking
from arena.seats.campaigns import CampaignStore
from arena.seats.qualification import Qualification
from arena.seats.seats import SeatStore
from arena.seats.spec import CampaignSpec
from arena.seats.task import SeatTask
from arena.server import uvicorn_server, zero_gpu
from arena.server.change_log import ChangeLogError
from arena.server.hub_backup import HubError
from arena.server.hub_pull_request import HubModels
from arena.storage import StorageError, storage_line, votes_folders
from arena.templates import macros, script
from arena.web import (
    battle,
    campaign_api,
    export_api,
    health_api,
    leaderboard_api,
    login_api,
    pictures,
    preview_api,
    results_page,
    run_campaigns,
    run_page,
    static_files,
    terms,
    writing_task,
)
from arena.web.addresses import DOORS, NAME, OWN, SCORE, VOTE, gradio_path
from arena.web.admin_auth import Operators
from arena.web.battle_page import BattlePages
from arena.web.battle_task import BattleTask
from arena.web.built_pages import BuiltPages
from arena.web.campaign_api import CampaignPages
from arena.web.cookies import NO_STORE, VoterCookies
from arena.web.events import Argument
from arena.web.gradio_patches import keep_no_sessions, without_server_apps
from arena.web.heads import Heads
from arena.web.layout import PageLayout
from arena.web.live_api import IMAGES, LiveApi
from arena.web.middleware import RequestMiddleware
from arena.web.model_page import ModelPages
from arena.web.rate_limit import RateLimiter
from arena.web.request_locale import RequestLocale
from arena.web.results_page import ResultsPages
from arena.web.results_view import ResultsTabs
from arena.web.reveal import Reveal
from arena.web.run_forms import MOST_FORM
from arena.web.run_page import RunPage
from arena.web.scenes import BattleScenes
from arena.web.signer import Signer
from arena.web.static_files import Links, StaticFile
from arena.web.terms import Terms
from arena.web.writing_task import WritingTask
from scoring.benchmarks.mm_vet_questions import QuestionsError
from scoring.context import ScoringContext
from scoring.jobs.submissions import PeoplesBoards
from scoring.jobs.uploads import PAGE_BYTES
from scoring.people.spec import KINDS as MARKINGS
from scoring.people.spec import MarkKind
from scoring.web import (
    agreement_page,
    benchmarks_page,
    judges_page,
    marking_task,
    owners_page,
    people_api,
    publish_api,
    published_page,
    report_page,
    scoring_api,
    task_map_api,
)
from scoring.web.agreement_page import AgreementPage
from scoring.web.benchmarks_page import BenchmarksPage
from scoring.web.judges_page import JudgesPage
from scoring.web.marking_task import MarkingTask
from scoring.web.owners_page import OwnersPage
from scoring.web.publish_api import HubPages, PublishErrand
from scoring.web.published_page import PublishedPages, PublishedReports
from scoring.web.question_pictures import QuestionPictures
from scoring.web.report_page import ReportPages
from scoring.web.scoring_tab import ScoringTab

ROOT = Path(__file__).parent
STARTUP_ERRORS = (
    SettingError,
    StorageError,
    DatabaseError,
    HubError,
    ChangeLogError,
    QuestionsError,
    RowsError,
    CatalogueError,
    LiveModelError,
    OSError,
)
"""Errors that stop the start with a one-line message."""
ARENA_WEB = ROOT / "arena/web"
SCORING_WEB = ROOT / "scoring/web"


def _paths(folder: Path, suffix: str, *names: str) -> list[Path]:
    return [folder / f"{name}{suffix}" for name in names]


STYLE = StaticFile("style.css", _paths(ARENA_WEB, ".css", "tokens", "document", "battle", "live"))
SCRIPT = StaticFile("script.js", _paths(ARENA_WEB, ".js", "document", "scene", "live", "pages"))
"""STYLE, SCRIPT: the files of every page that Gradio serves; they come before Gradio's own."""
_READ_STYLES = ("tokens", "document", "read", "sheet", "drawing", "results", "run")
READ_STYLE = StaticFile(
    "read.css",
    _paths(ARENA_WEB, ".css", *_READ_STYLES) + _paths(SCORING_WEB, ".css", "report", "task_map"),
)
READ_SCRIPT = StaticFile(
    "read.js",
    _paths(ARENA_WEB, ".js", "document", "read", "results")
    + _paths(SCORING_WEB, ".js", "benchmarks", "task_map"),
)
"""READ_STYLE, READ_SCRIPT: the files of every other page but workers'."""
STATIC_FILES = (STYLE, SCRIPT, READ_STYLE, READ_SCRIPT, campaign_api.STYLE, campaign_api.SCRIPT)
GRADIO_STYLES = [ARENA_WEB / "page.css", ARENA_WEB / "sheet.css", SCORING_WEB / "scoring.css"]
GRADIO_SCRIPTS = _paths(SCORING_WEB, ".js", "upload", "notify")
"""GRADIO_STYLES, GRADIO_SCRIPTS: the files for components within Gradio's part of a page."""
HEAD = macros("page.html").head(list(map(script, GRADIO_SCRIPTS)))


def _is_plain(value: object) -> bool:
    """Returns whether a JSON value is a text, a number, a boolean, None, or a list of texts."""
    if isinstance(value, list):
        return all(isinstance(text, str) for text in value)
    return not isinstance(value, dict)


class Page(gr.Blocks):
    """Blocks whose events accept plain values only, so that no value can pose as a file."""

    def validate_inputs(self, block_fn, inputs) -> None:
        """Refuses all but plain values, before Gradio copies or fetches the files that an object names."""
        if not isinstance(inputs, list) or not all(map(_is_plain, inputs)):
            raise gr.Error("This page takes plain text only.", print_exception=False)
        super().validate_inputs(block_fn, inputs)


class AppContext:
    """The services of both halves, and those that their pages share."""

    def __init__(self, settings: Settings) -> None:
        """Opens the database and makes the services. Raises one of STARTUP_ERRORS."""
        self.settings = settings
        self.arena = ArenaContext(settings)
        self.scoring = ScoringContext(self.arena)
        self.terms = Terms.read()
        self.cookies = VoterCookies(self.arena.database.secret_key("cookies"))
        self.operators = Operators(
            settings.operators, self.arena.voters, by_link=not settings.space
        )
        self.signer = Signer(self.arena.database.secret_key("signer"))
        self.hub_models = HubModels()
        self.published = PublishedReports.from_jobs(self.scoring.jobs, self.scoring.published)
        self.models = ModelPages(
            self.arena.leaderboard,
            self.arena.items,
            self.arena.blindness,
            self.arena.facts,
            reports=self.published.of_model,
        )
        self.question_pictures = QuestionPictures(
            self.arena.pictures, (settings.mm_vet, settings.mm_vet_v2), self.scoring.pictures
        )
        self.campaigns = self._campaign_pages()

    def _campaign_pages(self) -> CampaignPages:
        """Returns the pages of all kinds of campaign, with the spec and the task of each."""
        arena = self.arena
        battles = BattleTask(arena.campaign_battles, arena.scaled, self.terms.version)
        specs: dict[str, type[CampaignSpec]] = {BATTLES: BattleSpec, **PROJECTS, **MARKINGS}
        tasks: dict[str, SeatTask] = {BATTLES: battles}
        for kind, item_kind in ITEM_KINDS.items():
            tasks[item_kind.task] = WritingTask(
                kind=kind,
                writing=arena.writing,
                scaled=arena.scaled,
                battles=battles,
                on_answerable=arena.draft_worker.answer_soon,
            )
        for kind in get_args(MarkKind):
            tasks[kind] = MarkingTask(kind, self.scoring.marking, self.question_pictures)
        database = arena.database
        return CampaignPages(
            campaigns=CampaignStore(database, specs),
            seats=SeatStore(database),
            qualification=Qualification(database),
            tasks=tasks,
            voters=arena.voters,
            networks=arena.networks,
            mturk_hosts=self.settings.mturk_hosts,
        )

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """Runs the background tasks while the server runs, and stops them in order."""
        # A computing thread delays each step of a vote by this interval; the default is 5 ms.
        sys.setswitchinterval(0.0005)
        async with self.arena.running(), self.scoring.running():
            yield
            # Services stop in threads, and open requests may hold all those of the old pool.
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())


async def busy_response(_: Request, error: Exception) -> PlainTextResponse:
    headers = {**NO_STORE, "retry-after": "10"}
    return PlainTextResponse(str(error), status_code=503, headers=headers)


async def database_error_response(_: Request, error: Exception) -> PlainTextResponse:
    return PlainTextResponse(str(error), status_code=503, headers=NO_STORE)


UPLOADS = {
    scoring_api.UPLOADS: PAGE_BYTES,
    IMAGES: 2 * MAX_BYTES,
    run_campaigns.PARTICIPANTS: run_campaigns.MOST_LIST,
    run_campaigns.CAMPAIGNS: MOST_FORM,
    run_campaigns.PROJECTS: MOST_FORM,
    people_api.MARKS_UPLOAD: people_api.MOST_UPLOAD_BYTES,
    writing_task.FORM: writing_task.MOST_FORM,
    task_map_api.TASK_MAP: task_map_api.MOST_MAP,
    agreement_page.PATH: PAGE_BYTES,
}
"""The most bytes of a body, by the path of each route that takes files."""


def create_app(context: AppContext) -> FastAPI:
    """Returns the whole app: our routes, Gradio's pages and the middleware."""
    settings = context.settings
    heads = page_heads(context)
    app = FastAPI(
        title="Stereoscope",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=context.running,
    )
    app.add_exception_handler(DatabaseError, database_error_response)
    app.add_exception_handler(AsideError, busy_response)
    layout = page_layout(context)
    for router in routers(context, heads, layout):
        app.include_router(router)
    with without_server_apps():
        page = build_page(context)
    # Gradio warns of it even if it is off.
    warnings.filterwarnings("ignore", message="SSR mode is not supported")
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        theme=Default(primary_hue="indigo", font=["system-ui", "sans-serif"]),
        css_paths=GRADIO_STYLES,
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
    mount.app = BuiltPages(
        mount.app,
        heads.head,
        frames={
            VOTE: macros("scene.html").bank,
            OWN: lambda: macros("live.html").live(MOST_IMAGES),
        },
        links=Links(STYLE.address, SCRIPT.address),
        layout=layout,
    )
    # Events without a function of Python run in the browser only.
    events = {
        number: tuple(map(Argument.from_component, event.inputs))
        for number, event in page.fns.items()
        if event.fn
    }
    app.add_middleware(
        RequestMiddleware,
        cookies=context.cookies,
        image_hosts=settings.image_hosts,
        answer_hosts=settings.mturk_hosts,
        frames=settings.mturk_frames,
        hosts=settings.hosts,
        https=settings.space,
        uploads=UPLOADS,
        limits=RateLimiter(settings.trusted_hops),
        events=events,
        nothing_here=layout.nothing_here,
    )
    app.add_middleware(RequestLocale)
    return app


def routers(context: AppContext, heads: Heads, layout: PageLayout) -> tuple[APIRouter, ...]:
    """Returns the routes of all pages but Gradio's."""
    settings = context.settings
    arena = context.arena
    scoring = context.scoring
    operators = context.operators
    # The offer of live battles to a visitor without a key.
    if settings.oauth:
        keyless = "login"
    elif settings.space:
        keyless = "none"
    else:
        keyless = "own_login"
    live = LiveApi(
        models=arena.live_models,
        has_catalogue=settings.models is not None,
        is_space=settings.space,
        credits=arena.credits,
        keyless=keyless,
        sessions=arena.live_sessions,
        store=arena.live_battles,
        images=arena.live_images,
        items=arena.items,
        demo_bank=settings.demo_bank,
        pictures=arena.pictures,
        scaled=arena.scaled,
        terms=context.terms.version,
        networks=arena.networks,
        facts=arena.facts,
    )
    scenes = BattleScenes(
        store=arena.battles,
        items=arena.items,
        sampler=arena.sampler,
        terms=context.terms.version,
        backup_state=lambda: arena.backup.last_state if arena.backup else None,
        reveal=Reveal(arena.battles, arena.items, arena.outcomes, arena.leaderboard, arena.facts),
        scaled=arena.scaled,
        batch=WriteBatch(arena.battles),
    )
    health = health_api.Health(arena.database, votes_folders(settings))
    run = make_run_page(context, layout)
    hub_pages = make_hub_pages(context, layout)
    return (
        static_files.routes(STATIC_FILES),
        battle.routes(scenes, arena.voters, arena.networks),
        pictures.routes(arena.pictures, arena.scaled, lambda: arena.items.bank().hidden_pictures),
        terms.routes(context.terms, layout),
        health_api.routes(health),
        login_api.routes(
            voters=arena.voters,
            cookies=context.cookies,
            eligibility=arena.eligibility,
            oauth=settings.oauth,
            operators=operators,
            layout=layout,
            credits=arena.credits,
            signer=context.signer,
            errand=PublishErrand(hub_pages),
            on_login=scoring.jobs.owners.log_in,
        ),
        publish_api.routes(hub_pages),
        run_page.routes(run),
        run_campaigns.routes(run, arena.campaign_admin, arena.projects),
        live.router(arena.voters),
        writing_task.form_routes(context.campaigns, arena.writing),
        campaign_api.routes(context.campaigns),
        marking_task.picture_routes(context.campaigns, scoring.marking, context.question_pictures),
        *report_routes(context, layout),
        *results_routes(context, heads, layout),
        leaderboard_api.routes(arena.leaderboard, arena.facts),
        preview_api.routes(heads, arena.scaled),
        scoring_api.board_routes(scoring.submissions),
        scoring_api.agreement_routes(scoring.agreement),
    )


def report_routes(context: AppContext, layout: PageLayout) -> tuple[APIRouter, ...]:
    """Returns the routes of reports, people's marks on them, the task map, and the reports of an owner."""
    scoring = context.scoring
    owners = OwnersPage(
        owners=scoring.jobs.owners,
        cookies=context.cookies,
        layout=layout,
        https=context.settings.space,
    )
    reports = ReportPages(
        jobs=scoring.jobs,
        pictures=context.question_pictures,
        marking=scoring.marking,
        published_reports=context.published,
        layout=layout,
        delete_job=scoring.service.delete,
    )
    published = PublishedPages(scoring.jobs, context.published, layout, Cache(8_000_000, weigh=len))
    people = people_api.PeoplePages(scoring.marking, scoring.pictures)
    maps = task_map_api.TaskMapPages(scoring.accuracies, scoring.aside)
    return (
        scoring_api.upload_routes(scoring.uploads, scoring.jobs.owners),
        scoring_api.report_routes(scoring.jobs, context.question_pictures),
        published_page.routes(published),
        report_page.routes(reports),
        benchmarks_page.routes(BenchmarksPage(scoring.service, layout)),
        people_api.routes(people, layout),
        task_map_api.routes(maps, layout),
        export_api.routes(context.arena.public_files, layout, owners.part_html),
        owners_page.routes(owners),
    )


def make_hub_pages(context: AppContext, layout: PageLayout) -> HubPages:
    """Returns the pages on which published reports are offered to the Hub."""
    return HubPages(
        jobs=context.scoring.jobs,
        published=context.scoring.published,
        hub=context.hub_models,
        facts=context.arena.facts,
        layout=layout,
        cookies=context.cookies,
        signer=context.signer,
        has_login=context.settings.oauth is not None,
        https=context.settings.space,
        turns=asyncio.Semaphore(publish_api.AT_ONCE),
    )


def results_routes(context: AppContext, heads: Heads, layout: PageLayout) -> tuple[APIRouter, ...]:
    """Returns the routes of the boards of people and of judge models, and of people's agreement."""
    arena = context.arena
    scoring = context.scoring
    overview = context.models.overview
    submissions = scoring.submissions
    tabs = ResultsTabs(
        has_judges=submissions.has_any, has_agreement=lambda: bool(overview.entries())
    )
    judges = JudgesPage(
        submissions=submissions,
        people=PeoplesBoards(arena.leaderboard, arena.database),
        owners=scoring.jobs.owners,
        tabs=tabs,
        layout=layout,
    )
    agreement = AgreementPage(
        service=scoring.agreement, uploads=scoring.uploads, tabs=tabs, layout=layout
    )
    return (
        results_page.routes(
            boards=ResultsPages(arena.leaderboard, overview, arena.items, arena.facts, tabs),
            models=context.models,
            battles=BattlePages(arena.outcomes, arena.items, arena.scaled),
            head=heads.head,
            voter=arena.voters.known,
            layout=layout,
        ),
        judges_page.routes(judges),
        agreement_page.routes(agreement),
    )


def make_run_page(context: AppContext, layout: PageLayout) -> RunPage:
    """Returns the operators' page."""
    arena = context.arena
    scoring = context.scoring
    queues = {"Scoring jobs": scoring.jobs.count_waiting}
    return RunPage(
        watch=arena.dashboard(queues=queues, stopped_jobs=scoring.stopped_jobs),
        boards=context.models.overview,
        service=arena.admin,
        operators=context.operators,
        images=arena.live_images,
        layout=layout,
    )


def page_layout(context: AppContext) -> PageLayout:
    return PageLayout(
        links=Links(READ_STYLE.address, READ_SCRIPT.address),
        doors=DOORS,
        public=context.settings.public,
    )


def page_heads(context: AppContext) -> Heads:
    arena = context.arena
    return Heads(
        items=arena.items,
        outcomes=arena.outcomes,
        leaderboard=arena.leaderboard,
        overview=context.models.overview,
    )


def build_page(context: AppContext) -> gr.Blocks:
    """Returns Gradio's pages. Each sends a browser its own components and events only."""
    arena = context.arena
    scoring = context.scoring
    with Page(title=NAME, analytics_enabled=False, fill_width=True) as page:
        battle.battle_place()
    with page.route("Your own picture", OWN):
        battle.battle_place()
    for language, locale in LOCALES.items():
        with speaking(locale), page.route("Score a model", gradio_path(SCORE, language)):
            tab = ScoringTab(scoring.service, arena.networks, copied=arena.backup is not None)
            tab.listen(page)
    page.queue(api_open=False, max_size=64)
    # In seconds. By default Gradio looks for work every millisecond, which takes 9% of a core without visitors.
    page._queue.sleep_when_free = 0.02
    page.max_threads = 80
    page.state_session_capacity = 2000
    # A mounted page never launches, and without this Gradio checks no path.
    page.has_launched = True
    return page


def _local_address(settings: Settings) -> str:
    """Returns the address for a browser on this machine."""
    any_hosts = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    host = any_hosts.get(settings.host, settings.host)
    if ":" in host:
        host = f"[{host}]"
    return f"http://{host}:{settings.port}"


def main() -> int:
    """Starts the server. Returns 2 after a one-line message if a setting or the database is wrong."""
    try:
        settings = Settings.from_env()
        storage = storage_line(settings)
        if settings.zero_gpu:
            zero_gpu.prepare(settings)
        context = AppContext(settings)
        app = create_app(context)
        serve = zero_gpu.serve if settings.zero_gpu else uvicorn_server.bind(settings)
    except STARTUP_ERRORS as error:
        sys.stderr.write(f"Stereoscope didn't start: {error}\n")
        return 2
    address = _local_address(settings)
    sys.stderr.write(f"Stereoscope is at {address}\n{storage}\n")
    link = context.operators.link(address)
    if link:
        sys.stderr.write(f"The operators' page (this link works once, in one browser): {link}\n")
    # Garbage collection skips permanent objects: each scan of them paused all requests for 0.15 s.
    gc.freeze()
    gc.enable()
    try:
        serve(app, settings, context.arena.database.close)  # an exit by a signal skips `finally`
    finally:
        context.arena.database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
