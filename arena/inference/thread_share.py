"""A thread's share: reading from strangers' servers takes only a small part of this thread's time.

A server may send endless headers, one byte at a time, or data that is slow to parse. Each reading is balanced by
waiting before the next. Other threads of this process answer votes, and wait whenever this thread computes."""

import asyncio
import time
from typing import Any
from weakref import WeakKeyDictionary

from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

SHARE = 0.1
"""The share of the thread's time for all strangers' servers together."""
SAVED_SECONDS = 1.0
"""The most waiting that is saved up in quiet times, so that ordinary servers rarely wait."""
MOST_OWED_SECONDS = 0.5
"""The most waiting that is owed. The operator's own judge also computes in this thread, and its time is counted as if
it were the strangers'.
"""
PIECE_BYTES = 4_096
"""The most bytes that are read at once."""


class ThreadShare:
    """Gives turns in order, each once the computation before is balanced by waiting.

    Computation of one second is balanced by 1 / SHARE seconds, itself included.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._owed = 0.0
        """Seconds of waiting that are owed; negative if they are saved up."""
        self._last_time = time.monotonic()
        self._last_used = time.thread_time()
        """The thread's seconds of computation at the last turn."""

    async def turn(self) -> None:
        """Waits to balance this thread's computation since the last turn."""
        async with self._turn:
            self._update_owed()
            if self._owed > 0:
                await asyncio.sleep(self._owed)

    def _update_owed(self) -> None:
        now = time.monotonic()
        used = time.thread_time()
        elapsed = now - self._last_time
        owed = self._owed + (used - self._last_used) / SHARE - elapsed
        self._owed = min(max(owed, -SAVED_SECONDS), MOST_OWED_SECONDS)
        self._last_time = now
        self._last_used = used


_shares: "WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadShare]" = WeakKeyDictionary()


def share() -> ThreadShare:
    """Returns the share of strangers in the running loop."""
    loop = asyncio.get_running_loop()
    if loop not in _shares:
        _shares[loop] = ThreadShare()
    return _shares[loop]


class StrangersNetwork(AsyncNetworkBackend):
    """A network that reads its streams within the share."""

    def __init__(self, network: AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(self, *arguments: Any, **options: Any) -> AsyncNetworkStream:
        await share().turn()
        return _SharedStream(await self._network.connect_tcp(*arguments, **options))


class _SharedStream(AsyncNetworkStream):
    """A connection that reads small pieces, and waits for a turn after each."""

    def __init__(self, stream: AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        piece = await self._stream.read(min(max_bytes, PIECE_BYTES), timeout)
        await share().turn()
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *arguments: Any, **options: Any) -> AsyncNetworkStream:
        return _SharedStream(await self._stream.start_tls(*arguments, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
