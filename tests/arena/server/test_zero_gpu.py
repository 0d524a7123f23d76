"""ZeroGPU Spaces: started by Gradio's launch(), the app is as closed as elsewhere, and ends in order."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest
from starlette.responses import PlainTextResponse

from arena.server.zero_gpu import Front, prepare
from arena.settings import SettingError, Settings
from arena.web.cookies import COOKIE
from tests.support.hub_server import HubServer
from tests.support.live_visitor import card, catalogue, table
from tests.support.openai_server import OpenAIServer
from tests.support.probes import HOST, PROBES, Target
from tests.support.servers import ROOT, AppServer
from tests.support.signer import signer_of
from tests.support.voter import Voter

CANARY = b"canary-of-the-operator"
FIRST = "foreign origin", "full queue", "large call", "call past the page", "security headers"
"""Probes that the suite tries here; all others too reach the same middleware, and the soak tries them."""
LAUNCH = "/gradio_api/startup-events"
PACKAGE = """
from pathlib import Path
import gradio

if not hasattr(gradio, "Blocks"):
    raise ImportError  # Gradio tries it too

SEEN, launch = Path(__file__).with_name("seen"), gradio.Blocks.launch

def GPU(function):
    SEEN.open("a").write(f"GPU {function.__name__}\\n")
    return function

def launched(*args, **kwargs):
    SEEN.open("a").write("launch\\n")
    return launch(*args, **kwargs)

gradio.Blocks.launch = launched
"""
RELOADING = """
import socket

def start_reload_server(prerun, postrun, stop_event):
    with socket.create_server(("127.0.0.1", 0)):
        stop_event.wait()
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """A stand-in of the platform's package `spaces`, for PYTHONPATH; `spaces/seen` tells what it was used for."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "spaces").mkdir()
    (folder / "spaces" / "__init__.py").write_text(PACKAGE)
    (folder / "spaces" / "reloading.py").write_text(RELOADING)
    (folder / "spaces-0.51.3.dist-info").mkdir()
    (folder / "spaces-0.51.3.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: spaces\nVersion: 0.51.3\n"
    )
    return folder


@pytest.fixture(scope="module")
def zero(package) -> dict[str, str]:
    """The environment of a ZeroGPU Space."""
    return {"SPACES_ZERO_GPU": "true", "PYTHONPATH": str(package)}


@pytest.fixture(scope="module")
def live(tmp_path_factory, zero) -> Iterator[AppServer]:
    """The app with live models."""
    folder = tmp_path_factory.mktemp("zero")
    with OpenAIServer(models=("one", "two")) as server:
        models = catalogue(folder, *(card(f"Model {name}", name, server) for name in server.models))
        running = AppServer(folder / "data", MODELS=models, PUBLIC_URL=f"https://{HOST}", **zero)
        (running.data_dir / "canary.txt").write_bytes(CANARY)
        yield running
        running.stop()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in FIRST else pytest.mark.soak) for name in PROBES],
)
def test_a_probe_finds_nothing(live, name):
    files = (
        live.data_dir / "canary.txt",
        live.data_dir / "arena.db",
        ROOT / "app.py",
        Path("/etc/passwd"),
    )
    seen = PROBES[name](Target(live.address, files, CANARY, live.process.pid, sessions=300))
    assert not seen.open, seen.what


def test_the_platform_sees_a_function_for_its_card_and_a_launch(live, package):
    assert (package / "spaces" / "seen").read_text().split("\n")[:2] == [
        "GPU _gpu_placeholder",
        "launch",
    ]
    assert "server" not in httpx.get(f"{live.address}/terms").headers
    assert httpx.get(f"{live.address}{LAUNCH}").status_code == 403, "launch() has asked already"


def test_nobody_but_launch_may_ask_what_launch_asks():
    """Once, from this machine, through no proxy."""

    async def asked(*callers: tuple[str, dict[str, str]]) -> list[str]:
        front, told = Front(PlainTextResponse("ours")), []
        for peer, headers in callers:
            transport = httpx.ASGITransport(front, client=(peer, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://arena") as client:
                told.append((await client.get(LAUNCH, headers=headers)).text)
        return told

    ours, theirs, proxied = (
        ("127.0.0.1", {}),
        ("10.0.0.1", {}),
        ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}),
    )
    assert asyncio.run(asked(theirs, proxied, ours, ours)) == ["ours", "ours", "true", "ours"]


def test_a_stranger_does_not_choose_its_network(live):
    """What stands in X-Forwarded-For is not believed: else the public network would be counted."""
    with Voter(live.address) as voter:
        voter.client.headers["x-forwarded-for"] = "9.9.9.9"
        voter.load()
    with closing(sqlite3.connect(live.data_dir / "arena.db")) as database:
        assert database.execute("SELECT count(*) FROM network_day").fetchone() == (0,)


def test_on_a_space_no_other_door_is_open_and_the_last_vote_is_copied_at_the_end(
    start_server, zero
):
    """Under launch() Gradio would start a second server, at which anyone may rewrite the app's files."""
    with HubServer() as hub:
        copy = {"MIRROR": "ada/votes", "HF_TOKEN": "hf_canary", "HF_ENDPOINT": hub.address}
        server = start_server(SYSTEM="spaces", SPACE_ID="ada/arena", **copy, **zero)
        process = psutil.Process(server.process.pid)
        listening = [
            one.laddr.port for one in process.net_connections() if one.status == psutil.CONN_LISTEN
        ]
        assert listening == [server.port] and not process.children()
        with Voter(server.address) as voter:
            # A Space's cookie travels by https only.
            voter.client.headers["cookie"] = f"{COOKIE}={signer_of(server.data_dir).new()}"
            voter.load()
            voter.choose("a")
        assert votes(hub) == 0, "the next copy is a minute away"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=120) == 0
        assert votes(hub) == 1
    assert not (server.data_dir / "arena.db-wal").exists(), "the database was closed in order"


def votes(hub: HubServer) -> int:
    return sum(content.count(b'"choice":"a"') for content in hub.files.values())


@pytest.mark.soak
def test_local_models_are_refused_in_one_line(start_server, tmp_path, zero):
    (tmp_path / "config.json").write_text("{}")
    local = catalogue(tmp_path, table({"name": "Small", "kind": "local", "folder": str(tmp_path)}))
    with pytest.raises(
        RuntimeError, match="ended with 2: Stereoscope didn't start: 'Small' is a local model"
    ):
        start_server(MODELS=local, **zero)


def test_without_the_platforms_package_it_does_not_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "spaces", None)
    with pytest.raises(SettingError, match="the package spaces is missing. Run"):
        prepare(Settings.from_env({"SPACES_ZERO_GPU": "true"}))


@pytest.mark.soak
def test_elsewhere_the_package_is_not_imported(package):
    environ = {**os.environ, "PYTHONPATH": str(package)}
    line = [sys.executable, "-c", "import sys, app; sys.stdout.write(str('spaces' in sys.modules))"]
    assert (
        subprocess.run(line, cwd=ROOT, env=environ, capture_output=True, check=True).stdout
        == b"False"
    )
