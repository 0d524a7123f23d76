"""The app as a process: how it starts, what it refuses, and what it takes."""

import gc
import re
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import chain

import httpx
import psutil
import pytest
from gradio import Blocks, analytics
from gradio.routes import App
from huggingface_hub import constants

import app
from arena.authoring.draft_worker import SWEEP_SECONDS
from arena.database import Database
from arena.fraud.eligibility import official_board
from arena.io.images import MAX_BYTES
from arena.live.queue import KEEPALIVE_SECONDS
from arena.server.connections import (
    HEAD_SECONDS,
    LEAST_READING_RATE,
    MOST_SOCKETS,
    NETWORK_SOCKETS,
    READ_SECONDS,
)
from arena.server.hub_backup import EVERY
from arena.settings import CountSettings, Settings
from arena.storage import VOTES_ROOM
from arena.web.health_api import LEAST_FREE_BYTES
from arena.web.middleware import MOST_BODY
from scoring.jobs.uploads import PAGE_BYTES
from tests.support.servers import ROOT
from tests.support.voter import Voter

HOST_PAGE = ROOT / "docs/host.md"
ITEMS_PAGE = ROOT / "docs/write-items.md"
LOGIN = {"OAUTH_CLIENT_ID": "id", "OAUTH_CLIENT_SECRET": "secret"}


@pytest.fixture
def start(monkeypatch, tmp_path, capfd) -> Callable[..., str]:
    """A function that starts the app, which is expected to refuse it, and returns what the app says."""

    monkeypatch.setattr(app.uvicorn_server, "serve", lambda listener, *_: listener.close())

    def started(**environ: str) -> str:
        for name, value in {
            "DATA_DIR": str(tmp_path / "data"),
            "DEMO_BANK": "off",
            **environ,
        }.items():
            monkeypatch.setenv(name, value)
        assert app.main() == 2
        return capfd.readouterr().err

    return started


@pytest.mark.parametrize(("name", "value"), [("PORT", "http"), ("HOST", "999.1.1.1")])
def test_a_wrong_setting_stops_the_start_with_one_line(start, name, value):
    said = start(**{name: value})
    assert said.count("\n") == 1 and name in said


def test_a_database_that_cannot_be_reached_stops_the_start_without_its_password(start):
    said = start(DATABASE_URL="postgresql://me:hush@127.0.0.1:1/none")
    assert said.startswith("Stereoscope didn't start: ") and "hush" not in said


def test_a_port_that_another_has_stops_the_start_before_any_address_is_told(start):
    with socket.create_server(("127.0.0.1", 0)) as other:
        said = start(HOST="127.0.0.1", PORT=str(other.getsockname()[1]))
    assert (
        said.startswith("Stereoscope didn't start: HOST 127.0.0.1, PORT ") and said.count("\n") == 1
    )


def test_addresses_of_the_sixth_version_are_told_as_browsers_take_them(
    monkeypatch, tmp_path, capfd
):
    for name, value in {
        "DATA_DIR": str(tmp_path),
        "DEMO_BANK": "off",
        "HOST": "::",
        "PORT": "7001",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(app.uvicorn_server, "bind", lambda _: lambda *_: None)
    app.main()
    assert "Stereoscope is at http://[::1]:7001\n" in capfd.readouterr().err


def test_one_server_app_is_made_of_the_pages(monkeypatch, tmp_path):
    """Gradio makes one at each step of building them, which took half of a start."""
    made: list[App] = []
    configure = App.configure_app

    def counted(gradio: App, page: Blocks) -> None:
        made.append(gradio)
        configure(gradio, page)

    monkeypatch.setattr(App, "configure_app", counted)
    settings = Settings.from_env({"DATA_DIR": str(tmp_path), "DEMO_BANK": "off"})
    context = app.AppContext(settings)
    with closing(context.arena.database):
        app.create_app(context)
    assert len(made) == 1


def test_garbage_is_collected_while_it_serves(monkeypatch, tmp_path):
    """As a program it stops that until then."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DEMO_BANK", "off")
    collected: list[bool] = []
    monkeypatch.setattr(
        app.uvicorn_server, "bind", lambda _: lambda *_: collected.append(gc.isenabled())
    )
    gc.disable()
    assert app.main() == 0 and collected == [True]


@pytest.mark.parametrize(
    ("environ", "official"),
    [
        ({"SPACE_ID": "a/b", **LOGIN}, "counted"),
        (LOGIN, "everyone"),
        ({"SPACE_ID": "a/b"}, "everyone"),
    ],
)
def test_a_new_space_with_login_opens_with_the_counted_board(tmp_path, environ, official):
    settings = Settings.from_env({"DATA_DIR": str(tmp_path), "DEMO_BANK": "off", **environ})
    with (
        closing(app.AppContext(settings).arena.database) as database,
        database.read() as connection,
    ):
        assert official_board(connection, CountSettings("logged-in")) == official


@pytest.mark.soak
def test_memory_after_start_stays_under_260_megabytes(start_server):
    server = start_server(program=ROOT / "app.py")
    httpx.get(server.address).raise_for_status()
    used = psutil.Process(server.process.pid).memory_info().rss
    assert used < 260_000_000, f"{used / 1e6:.0f} MB"


def test_an_empty_bank_gives_a_clear_page_and_a_database_that_fails_one_sentence(start_server):
    server = start_server(DEMO_BANK="off")
    with Voter(server.address) as voter:
        parts = voter.load()["parts"]
        assert "No battles here yet" in parts["subject"]
        assert "python" not in parts["subject"], "what operators do is in their checklist"
        assert voter.scene["phase"] == "none" and parts["a"] == parts["b"] == ""
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        database.execute("ALTER TABLE job RENAME TO away")
    answer = httpx.get(f"{server.address}/reports/link/a.csv")
    assert answer.status_code == 503
    assert answer.text == "The database can't be read right now. Please try again."


@pytest.mark.soak
def test_the_same_app_runs_on_postgresql(start_server, postgresql_pool):
    with postgresql_pool.database() as url:
        server = start_server(DATABASE_URL=url)
        with Voter(server.address) as voter:
            voter.load()
            voter.choose("a")
            assert "You chose A" in voter.wait_out_undo()["parts"]["status"]
        with closing(Database(url)) as database, database.read() as connection:
            chosen = "SELECT count(*) FROM battle WHERE choice IS NOT NULL"
            assert connection.exec_driver_sql(chosen).scalar() == 1


def test_the_host_page_lists_every_setting():
    """Those that a Space sets by itself stand in no table."""
    names = re.findall(r'"([A-Z][A-Z_]+)"', (ROOT / "arena" / "settings.py").read_text("utf-8"))
    platforms = ("GRADIO_", "HF_", "SPACE", "SYSTEM", "FORWARDED_", "OPENBLAS_")
    ours = {name for name in names if not name.startswith(platforms)} - {"ID", "SECRET"}
    page = HOST_PAGE.read_text("utf-8")
    assert ours and all(f"`{name}`" in page for name in ours)


def test_every_promise_of_the_host_page_names_a_test_that_exists():
    page = HOST_PAGE.read_text("utf-8")
    table = page.partition("\n## What is promised")[2]
    promises = [
        line.split("|")
        for line in re.findall(r"^\| .*\|$", table, re.MULTILINE)
        if "| test |" not in line
    ]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", cells[2]) for cells in promises]
    assert len(promises) > 50
    assert [cells[1] for cells, tests in zip(promises, named, strict=True) if not tests] == []
    missing = [
        f"{file}::{name}"
        for file, name in chain(*named)
        if not re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    ]
    assert missing == []
    assert len(re.findall("::test_", page)) == len([*chain(*named)]), (
        "each is written as `tests/FILE.py::test_NAME`"
    )


def test_the_limits_on_the_host_page_are_the_programs():
    pages = HOST_PAGE.read_text("utf-8") + ITEMS_PAGE.read_text("utf-8")
    page = " ".join(pages.split())
    kilo, mega = 1_000, 1_000_000
    limits = (
        f"| {MOST_BODY // kilo} kB, except uploads: a file to *Score a model* {PAGE_BYTES // mega} MB, "
        f"a form with pictures {2 * MAX_BYTES // mega} MB |",
        f"within {HEAD_SECONDS:.0f} seconds |",
        f"| {NETWORK_SOCKETS} for a network, {MOST_SOCKETS:,} in all",
        f"| cut off after {READ_SECONDS:.0f} seconds below {LEAST_READING_RATE // kilo} kB a second |",
        f"| below {VOTES_ROOM // (kilo * mega)} GB uploads, scoring and own images are refused",
        f"Below {LEAST_FREE_BYTES // mega} MB the server isn't ready |",
        f"committed every {EVERY.total_seconds():.0f} seconds",
        f"never silent for more than {KEEPALIVE_SECONDS:.0f} seconds",
        f"at start and every {SWEEP_SECONDS // 60} minutes".replace("10", "ten"),
    )
    assert [limit for limit in limits if limit not in page] == []


def test_gradio_sends_no_telemetry():
    assert not analytics.analytics_enabled() and constants.HF_HUB_DISABLE_TELEMETRY


def test_requirements_are_bounded():
    for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            assert re.search(r">=[\d.]+,<\d", line), line
