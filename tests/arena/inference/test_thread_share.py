"""What strangers' servers send takes a small part of a thread's time."""

import asyncio
from dataclasses import dataclass, field

import pytest
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from arena.inference import openai_client, thread_share
from arena.inference.endpoint import Endpoint
from arena.inference.thread_share import (
    MOST_OWED_SECONDS,
    PIECE_BYTES,
    SAVED_SECONDS,
    SHARE,
    StrangersNetwork,
)
from arena.types import Secret


@dataclass
class Thread:
    """A thread whose clocks stand still but for what a test says."""

    time: float = 100.0
    used: float = 0.0
    waits: list[float] = field(default_factory=list)

    def computes(self, seconds: float) -> None:
        self.time += seconds
        self.used += seconds

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


@pytest.fixture
def thread(monkeypatch) -> Thread:
    clocks = Thread()
    monkeypatch.setattr(thread_share.time, "monotonic", lambda: clocks.time)
    monkeypatch.setattr(thread_share.time, "thread_time", lambda: clocks.used)
    monkeypatch.setattr(thread_share.asyncio, "sleep", clocks.sleep)
    return clocks


@pytest.mark.parametrize(
    ("quiet", "waited"), [(0.0, 0.02 / SHARE - 0.02), (0.1, 0.02 / SHARE - 0.12), (5.0, 0.0)]
)
def test_what_was_computed_is_paid_for_by_waiting(thread, quiet, waited):
    async def scenario() -> None:
        own = thread_share.ThreadShare()
        thread.time += quiet
        thread.computes(0.02)
        await own.turn()
        await own.turn()

    asyncio.run(scenario())
    assert sum(thread.waits) == pytest.approx(waited)


def test_nobody_waits_for_ever_and_nothing_is_saved_up_for_long(thread):
    async def scenario() -> None:
        own = thread_share.ThreadShare()
        thread.computes(3600)
        await own.turn()
        assert sum(thread.waits) == pytest.approx(MOST_OWED_SECONDS)
        thread.time += 3600
        await own.turn()
        thread.computes(1.0)
        await own.turn()

    asyncio.run(scenario())
    assert sum(thread.waits) == pytest.approx(2 * MOST_OWED_SECONDS)
    assert SAVED_SECONDS * SHARE < 1.0


class _Endless(AsyncNetworkStream):
    """Sends heads without end, as much as is asked for, which costs the thread a millisecond a kilobyte."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.sent = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.sent += max_bytes
        return bytes(max_bytes)


class _Network(AsyncNetworkBackend):
    def __init__(self, thread: Thread) -> None:
        self.thread = thread

    async def connect_tcp(self, *_, **__) -> AsyncNetworkStream:
        return _Endless(self.thread)


def test_streams_together_stay_within_the_share(thread):
    async def read(network: StrangersNetwork) -> None:
        stream = await network.connect_tcp("a.example", 443)
        for _ in range(50):
            piece = await stream.read(65_536)
            assert len(piece) <= PIECE_BYTES
            thread.computes(len(piece) / 1_000_000)

    async def scenario() -> None:
        network = StrangersNetwork(_Network(thread))
        await asyncio.gather(*(read(network) for _ in range(8)))

    asyncio.run(scenario())
    free = SAVED_SECONDS * SHARE
    assert thread.used <= SHARE * (thread.time - 100.0) + free + 8 * PIECE_BYTES / 1_000_000


@pytest.mark.parametrize("owner", ["ada", None])
def test_it_is_what_visitors_servers_are_read_by(owner):
    address = Endpoint("https://pictures.example/v1", Secret("sk-own"), owner)
    client = openai_client.OpenAIClient(address, 20.0)
    network = client._transport._transport._pool._network_backend
    assert isinstance(network, StrangersNetwork) == (owner is not None)
