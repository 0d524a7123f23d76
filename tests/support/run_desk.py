"""The operators' page in a small app of its own, for an operator and for strangers."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

import app
from arena.admin.campaigns import CampaignAdmin
from arena.admin.dashboard import DashboardService
from arena.admin.projects import ProjectAdmin
from arena.admin.service import AdminService
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Voters
from arena.budget import LIVE, Budget, Ceilings
from arena.database import Database
from arena.items.store import ItemBank
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.live.images import OwnImages
from arena.settings import Settings
from arena.web import run_campaigns, run_page, static_files
from arena.web.admin_auth import OPERATOR_COOKIE, Operators
from arena.web.layout import PageLayout
from arena.web.run_page import RunPage
from arena.web.static_files import Links
from tests.support.scripted_vlm import two_models
from tests.support.writers import projects_of


@dataclass(frozen=True)
class RunDesk:
    """The page, and what it stands on."""

    database: Database
    settings: Settings
    operators: Operators
    images: OwnImages
    boards: Leaderboard
    watch: DashboardService
    app: FastAPI

    @classmethod
    def of(
        cls, database: Database, folder: Path, projects: ProjectAdmin | None = None, **environ: str
    ) -> "RunDesk":
        settings = Settings.from_env({"DATA_DIR": str(folder), **environ})
        projects = projects or projects_of(settings, database)
        votes = VoteTable(database)
        campaigns = CampaignAdmin(settings, database, ItemBank(database), votes)
        images = OwnImages(database, folder / "own")
        boards = Leaderboard(database, votes)
        operators = Operators(settings.operators, Voters(database), by_link=not settings.space)
        watch = DashboardService(
            database=database,
            settings=settings,
            backup=None,
            budget_of={"Live": Budget(database, Ceilings(1, 1, 20_000_000), LIVE)},
            queues={"Live": lambda: 0},
            live_models=two_models(),
            campaigns=campaigns,
            projects=projects,
        )
        page = RunPage(
            watch=watch,
            boards=Overview(boards),
            service=AdminService(database, images, settings.counted),
            operators=operators,
            images=images,
            layout=PageLayout(Links(app.READ_STYLE.address, app.READ_SCRIPT.address)),
        )
        served = FastAPI()
        served.include_router(static_files.routes(app.STATIC_FILES))
        served.include_router(run_page.routes(page))
        served.include_router(run_campaigns.routes(page, campaigns, projects))
        return cls(database, settings, operators, images, boards, watch, served)

    @property
    def code(self) -> str:
        """The code of the operators' link, which works once."""
        return str(self.operators.link("")).partition("=")[2]

    @cached_property
    def operator(self) -> TestClient:
        """A browser whom the routes take for an operator."""
        return TestClient(self.app, cookies={OPERATOR_COOKIE: self.operators.redeem(self.code)})

    def stranger(self) -> TestClient:
        return TestClient(self.app)

    def read(self, query: str = "") -> str:
        """Return what an operator reads."""
        return unescape(self.operator.get(f"/run{query}").text)

    def act(self, order: str, about: str = "", place: str = "needs", **more: str) -> str:
        """Do what a button does; return the page that follows, or the one that refuses."""
        return self.post("act", place, order=order, about=about, **more)

    def post(self, path: str, place: str, **fields: str) -> str:
        """Send a form; return the page that follows, or the one that refuses."""
        answer = self.operator.post(f"/run/{path}", data={"at": place, **fields})
        return unescape(answer.text)


@contextmanager
def serving(served: FastAPI) -> Iterator[str]:
    """Serve an app on loopback; yield its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(served, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
