"""Rate limit: the pace of calls to a judge, and the time to wait for a reply."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from arena.inference.trouble import Retries, Trouble

_ENOUGH = 20
_LEAST_SECONDS = 2.0


@dataclass(frozen=True)
class RateLimits(Retries):
    """Concurrency, rate limits, timeout and retries of a judge."""

    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: float = 60.0


class RateLimiter:
    """A rate limiter shared by all calls with one key: no minute exceeds the allowed requests or tokens."""

    def __init__(self, pace: RateLimits) -> None:
        self._pace = pace
        self._next = 0.0
        self._paused = 0.0

    async def turn(self, tokens: int) -> None:
        """Waits until a call of so many tokens may begin; calls held back by a pause queue again after it."""
        loop = asyncio.get_running_loop()
        gap = 0.0
        if self._pace.requests_per_minute:
            gap = 60 / self._pace.requests_per_minute
        if self._pace.tokens_per_minute:
            gap = max(gap, 60 * tokens / self._pace.tokens_per_minute)
        start = -math.inf
        while start < self._paused:
            start = max(loop.time(), self._next, self._paused)
            self._next = start + gap
            await asyncio.sleep(start - loop.time())

    def pause_left(self) -> float:
        """Seconds until calls may begin again."""
        return max(0.0, self._paused - asyncio.get_running_loop().time())

    def pause(self, seconds: float) -> None:
        until = asyncio.get_running_loop().time() + min(seconds, self._pace.patience)
        self._paused = max(self._paused, until)


class ReplyTimes:
    """Times of one judge's replies, so that a hanging call is given up early.

    After enough replies, a reply may take four times as long as the slowest so far. Each attempt at a question that is
    given up as too slow makes the limit of the next attempt four times as long, up to the timeout.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._replies = 0
        self._slowest = 0.0
        self._running: dict[asyncio.Timeout, tuple[float, int]] = {}
        """The start of each running call, and its earlier attempts that were given up as too slow."""

    def limit(self, slow_calls: int) -> float:
        """Seconds that a reply may take after so many attempts that were too slow."""
        if self._replies < _ENOUGH:
            return self._timeout
        return min(self._timeout, max(_LEAST_SECONDS, 4 * self._slowest) * 4**slow_calls)

    @asynccontextmanager
    async def limited(self, slow_calls: int) -> AsyncIterator[None]:
        """The context of one call. Raises Trouble if the call takes too long."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        running = asyncio.timeout(self.limit(slow_calls))
        self._running[running] = start, slow_calls
        try:
            async with running:
                yield
        except TimeoutError as error:
            raise Trouble(
                "slow", f"no reply within {self.limit(slow_calls):.3g} seconds"
            ) from error
        finally:
            del self._running[running]
        self._replies = self._replies + 1
        self._slowest = max(self._slowest, loop.time() - start)
        for other, (began, too_slow) in self._running.items():
            if not other.expired():
                other.reschedule(began + self.limit(too_slow))
