"""Serving: SIGTERM answers what is under way, flushes, and ends with 0; headers of strangers are not believed."""

import signal
import socket
import sqlite3
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from types import SimpleNamespace

import httpx
import psutil
import pytest

from arena.server import uvicorn_server
from arena.server.uvicorn_server import allow_many_connections, bind
from arena.settings import Settings
from tests.support.hub_server import HubServer
from tests.support.servers import ROOT
from tests.support.voter import EventError, Voter


def votes(server) -> int:
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        return database.execute("SELECT count(*) FROM battle WHERE choice IS NOT NULL").fetchone()[
            0
        ]


class Clicks:
    """Voters who click at one time, and what becomes of each click."""

    def __init__(self, server, voters: int) -> None:
        self.voters = [Voter(server.address, timeout=120) for _ in range(voters)]
        self.acknowledged: list[str] = []
        self.garbled: list[str] = []
        for voter in self.voters:
            voter.load()
        self._threads = [
            threading.Thread(target=self._click, args=(voter,)) for voter in self.voters
        ]

    def _click(self, voter: Voter) -> None:
        try:
            voter.choose("a")
            self.acknowledged.append(voter.token)
        except (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError):
            pass  # the door was closed already
        except (httpx.TransportError, EventError, ValueError) as error:
            self.garbled.append(repr(error))

    def begin(self, part: slice) -> None:
        for thread in self._threads[part]:
            thread.start()

    def end(self) -> None:
        for thread in self._threads:
            thread.join()
        for voter in self.voters:
            voter.close()


def test_no_answer_waits_until_its_first_part_is_acknowledged():
    """A socket that collects small parts keeps back the body, by 40 ms on a connection that stays open."""
    listener = bind(replace(Settings.from_env(), host="127.0.0.1", port=0)).args[0]
    with (
        listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    "ending", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)]
)
def test_a_signal_lets_votes_under_way_be_answered(start_server, ending):
    """Twenty voters click when the signal comes: each gets a whole answer or none, and what was acknowledged stays."""
    server = start_server()
    clicks = Clicks(server, 20)
    clicks.begin(slice(0, 10))
    while not clicks.acknowledged:
        time.sleep(0.01)
    clicks.begin(slice(10, 20))
    server.process.send_signal(ending)
    clicks.end()
    assert server.process.wait(timeout=120) == 0
    assert clicks.garbled == []
    assert votes(server) >= len(clicks.acknowledged) > 0
    assert not (server.data_dir / "arena.db-wal").exists(), "the database was closed in order"


@pytest.mark.soak
@pytest.mark.parametrize("path", ["/hold", "/burn"])
def test_work_that_nobody_waits_for_keeps_no_process(start_server, path):
    """SIGTERM ends it within ten seconds, with every acknowledged vote stored and copied."""
    with HubServer() as hub:
        environ = {"MIRROR": "ada/votes", "HF_TOKEN": "hf_canary", "HF_ENDPOINT": hub.address}
        server = start_server(
            program=ROOT / "tests/support/burning_process.py", PYTHONPATH=str(ROOT), **environ
        )
        with Voter(server.address, timeout=60) as voter:
            voter.load()
            voter.choose("a")
            for _ in range(4):
                with suppress(httpx.ReadTimeout):
                    httpx.get(f"{server.address}{path}", timeout=0.5)
            begun = time.monotonic()
            server.process.terminate()
            assert server.process.wait(timeout=30) == 0
            assert time.monotonic() - begun < 10
        assert votes(server) == 1
        assert b'"choice":"a"' in b"".join(hub.files.values()), (
            "the last votes are copied at the end"
        )


def test_the_server_tells_what_it_is_to_nobody_and_may_open_many_files(server):
    answer = httpx.get(f"{server.address}/terms")
    assert "server" not in answer.headers
    if hasattr(psutil.Process, "rlimit"):
        soft, hard = psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_NOFILE)
        assert soft == hard


def test_a_request_that_anybody_can_send_leaves_no_line_in_the_log(server):
    sent = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    logged = server.log.stat().st_size
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        line.sendall(sent)
        assert line.recv(4)
    assert server.log.stat().st_size == logged


@pytest.mark.parametrize("path", [b"/gradio_api/upload", b"/gradio_api/run/predict", b"/"])
def test_a_hundred_posts_that_break_the_protocol_are_one_line_of_the_log(server, path):
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" % path
    logged = server.log.stat().st_size
    for number in range(100):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
            line.sendall(head)
            if number % 2:
                time.sleep(0.01)  # the answer of a refused one comes before its body
            with suppress(ConnectionError):
                line.sendall(b"zz\r\n")
                while line.recv(1000):
                    pass
    assert server.log.stat().st_size - logged < 300


@pytest.mark.soak
def test_a_head_is_waited_for_ten_seconds(server):
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        line.sendall(b"GET / HTTP/1.1\r\n")
        assert line.recv(1) == b""
    assert time.monotonic() - begun > 9


def test_a_server_is_ready(server):
    answer = httpx.get(f"{server.address}/readyz")
    assert (answer.status_code, answer.text) == (200, "ready")


def test_a_machine_without_a_limit_on_open_files_gets_one(monkeypatch):
    """As on macOS, where the limit that counts can't be set to none."""
    limits = {"soft": 256}

    def setrlimit(_: int, both: tuple[int, int]) -> None:
        if both[0] == -1:
            raise ValueError("current limit exceeds maximum limit")
        limits["soft"] = both[0]

    resource = SimpleNamespace(
        RLIMIT_NOFILE=7, RLIM_INFINITY=-1, getrlimit=lambda _: (256, -1), setrlimit=setrlimit
    )
    monkeypatch.setattr(uvicorn_server, "resource", resource)
    assert allow_many_connections() == limits["soft"] == 10_240
