"""Rate limit: how fast a judge may be asked, and how long to wait for it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from arena.inference.openai_client import Retries, Trouble

_KNOWN, _LATEST = 20, 50
"""Replies after which, and latest replies from which, it is known how long a reply takes."""
_TIMES, _LEAST_SECONDS = 4, 2.0


@dataclass(frozen=True)
class RateLimits(Retries):
    """Concurrency, rate limits, timeout and retries of a judge."""

    concurrency: int = 16
    """Maximum concurrent calls."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: float = 60.0
    """Maximum seconds for one whole attempt."""


class RateLimiter:
    """Rate limiter shared by all calls with one key: no minute exceeds the allowed requests or tokens."""

    def __init__(self, pace: RateLimits) -> None:
        self._pace = pace
        self._next = 0.0
        self._paused = 0.0

    async def turn(self, tokens: int) -> None:
        """Wait until a call with this many tokens may start."""
        loop = asyncio.get_running_loop()
        start = max(loop.time(), self._next)
        self._next = start + max(
            60 / self._pace.requests_per_minute if self._pace.requests_per_minute else 0.0,
            60 * tokens / self._pace.tokens_per_minute if self._pace.tokens_per_minute else 0.0,
        )
        while (wait := max(start, self._paused) - loop.time()) > 0:
            await asyncio.sleep(wait)

    def pause(self, seconds: float) -> None:
        """Start no call for as long as the server asked."""
        until = asyncio.get_running_loop().time() + min(seconds, self._pace.patience)
        self._paused = max(self._paused, until)


class ReplyTimes:
    """How long one judge's replies take, so that a call that hangs is given up early.

    Once enough are known, a reply may take four times as long as the slowest of the latest ones, and each further
    attempt at a question four times as long as the one before, up to the timeout.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._latest: deque[float] = deque(maxlen=_LATEST)
        self._running: dict[asyncio.Timeout, tuple[float, int]] = {}
        """Start and attempt of the calls under way."""

    def limit(self, attempt: int) -> float:
        """Return how many seconds an attempt (from 1) may take."""
        if len(self._latest) < _KNOWN:
            return self._timeout
        return min(self._timeout, max(_LEAST_SECONDS, _TIMES * max(self._latest)) * 4 ** (attempt - 1))

    @asynccontextmanager
    async def limited(self, attempt: int) -> AsyncIterator[None]:
        """Limit the time of a call. Raises Trouble."""
        start = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self.limit(attempt)) as running:
                self._running[running] = start, attempt
                try:
                    yield
                finally:
                    del self._running[running]
        except TimeoutError as error:
            raise Trouble("slow", f"no reply within {self.limit(attempt):.3g} seconds") from error
        self._latest.append(asyncio.get_running_loop().time() - start)
        for other, (began, tried) in self._running.items():
            if not other.expired():
                other.reschedule(began + self.limit(tried))
