"""A thread's share: whatever strangers' servers send, reading it takes a small part of the time of this thread.

A server may send heads without end, a byte a record, or what is slow to parse: all of it is paid for by waiting before
more is read. Votes are answered by other threads of this process, which wait whenever this one computes.
"""

import asyncio
import time
from typing import Any
from weakref import WeakKeyDictionary

from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

SHARE = 0.1
"""Of the thread's time, for all strangers' servers together."""
BURST_SECONDS = 1.0
"""Waiting that is saved up in quiet times: ordinary servers hardly ever wait."""
LONGEST_SECONDS = 0.5
"""Most waiting that is owed: the operator's own judge computes in this thread too, and never stops the others."""
PIECE = 4_096
"""Most bytes that are read at one go."""


class ThreadShare:
    """Lets one after the other go on, each when what was computed before is paid for."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._owed = 0.0
        self._seen = time.monotonic()
        self._used = time.thread_time()

    async def turn(self) -> None:
        """Waits for what this thread has computed since the last turn."""
        async with self._turn:
            wait = self._owes()
            if wait > 0:
                await asyncio.sleep(wait)

    def _owes(self) -> float:
        now = time.monotonic()
        used = time.thread_time()
        owed = self._owed + (used - self._used) / SHARE - (now - self._seen)
        self._owed = min(max(owed, -BURST_SECONDS), LONGEST_SECONDS)
        self._seen = now
        self._used = used
        return self._owed


_shares: "WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadShare]" = WeakKeyDictionary()


def share() -> ThreadShare:
    """Returns the share of strangers in the running loop."""
    return _shares.setdefault(asyncio.get_running_loop(), ThreadShare())


class StrangersNetwork(AsyncNetworkBackend):
    """A network whose streams are read within the share."""

    def __init__(self, network: AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(self, *where: Any, **how: Any) -> AsyncNetworkStream:
        await share().turn()
        return _SharedStream(await self._network.connect_tcp(*where, **how))


class _SharedStream(AsyncNetworkStream):
    def __init__(self, stream: AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        piece = await self._stream.read(min(max_bytes, PIECE), timeout)
        await share().turn()
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *how: Any, **more: Any) -> AsyncNetworkStream:
        return _SharedStream(await self._stream.start_tls(*how, **more))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
