"""Rate limit: how fast a judge may be asked, and how long to wait for it."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from arena.inference.openai_client import Retries, Trouble

_ENOUGH, _LEAST_SECONDS = 20, 2.0


@dataclass(frozen=True)
class RateLimits(Retries):
    """Concurrency, rate limits, timeout and retries of a judge."""

    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: float = 60.0


class RateLimiter:
    """Rate limiter shared by all calls with one key: no minute exceeds the allowed requests or tokens."""

    def __init__(self, pace: RateLimits) -> None:
        self._pace = pace
        self._next = 0.0
        self._paused = 0.0

    async def turn(self, tokens: int) -> None:
        loop = asyncio.get_running_loop()
        start = max(loop.time(), self._next)
        self._next = start + max(
            60 / self._pace.requests_per_minute if self._pace.requests_per_minute else 0.0,
            60 * tokens / self._pace.tokens_per_minute if self._pace.tokens_per_minute else 0.0,
        )
        while (wait := max(start, self._paused) - loop.time()) > 0:
            await asyncio.sleep(wait)

    def pause(self, seconds: float) -> None:
        until = asyncio.get_running_loop().time() + min(seconds, self._pace.patience)
        self._paused = max(self._paused, until)


class ReplyTimes:
    """How long one judge's replies take, so that a call that hangs is given up early.

    Once enough came, a reply may take four times as long as the slowest so far, and each further attempt at a question
    four times as long as the one before, up to the timeout.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._replies, self._slowest = 0, 0.0
        self._running: dict[asyncio.Timeout, tuple[float, int]] = {}
        """Start and attempt of the calls under way."""

    def limit(self, attempt: int) -> float:
        known = self._replies >= _ENOUGH
        return min(self._timeout, max(_LEAST_SECONDS, 4 * self._slowest) * 4 ** (attempt - 1) if known else math.inf)

    @asynccontextmanager
    async def limited(self, attempt: int) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        start, running = loop.time(), asyncio.timeout(self.limit(attempt))
        self._running[running] = start, attempt
        try:
            async with running:
                yield
        except TimeoutError as error:
            raise Trouble("slow", f"no reply within {self.limit(attempt):.3g} seconds") from error
        finally:
            del self._running[running]
        self._replies, self._slowest = self._replies + 1, max(self._slowest, loop.time() - start)
        for other, (began, tried) in self._running.items():
            if not other.expired():
                other.reschedule(began + self.limit(tried))
