"""Rate limit: the pace of calls to a judge, and the time to wait for a reply."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from arena.inference.trouble import Retries, Trouble

_ENOUGH_REPLIES = 20
"""Replies after which the slowest of them limits the others."""
_LEAST_SECONDS = 2.0
"""The shortest limit of a reply."""


@dataclass(frozen=True)
class RateLimits(Retries):
    """Concurrency, rate limits, timeout and retries of a judge."""

    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: float = 60.0


class RateLimiter:
    """A rate limiter shared by all calls with one key: no more run at once, and in a minute, than the pace allows.

    A call's tokens delay only the calls after it, so that a minute's last call may exceed the allowed tokens.
    """

    def __init__(self, pace: RateLimits) -> None:
        self._pace = pace
        self.slots = asyncio.Semaphore(pace.concurrency)
        """Places of running calls."""
        self._next_start = 0.0
        """The earliest start of the next call, by the loop's clock in seconds."""
        self._paused_until = 0.0
        """The end of the latest pause, by the same clock."""

    async def wait_turn(self, tokens: int) -> None:
        """Waits until a call of so many tokens may begin; calls held back by a pause queue again after it."""
        loop = asyncio.get_running_loop()
        gap = 0.0
        if self._pace.requests_per_minute:
            gap = 60 / self._pace.requests_per_minute
        if self._pace.tokens_per_minute:
            gap = max(gap, 60 * tokens / self._pace.tokens_per_minute)
        start = -math.inf
        # Once, and again after a pause that begins while this call waits.
        while start < self._paused_until:
            start = max(loop.time(), self._next_start, self._paused_until)
            self._next_start = start + gap
            await asyncio.sleep(start - loop.time())

    def pause_left(self) -> float:
        """Seconds until calls may begin again."""
        return max(0.0, self._paused_until - asyncio.get_running_loop().time())

    def pause(self, seconds: float) -> None:
        """Holds back all calls for so many seconds, but no longer than the pace's patience."""
        until = asyncio.get_running_loop().time() + min(seconds, self._pace.patience)
        self._paused_until = max(self._paused_until, until)


class _RunningCall(NamedTuple):
    """A running call: its start by the loop's clock, and its earlier attempts that were given up as too slow."""

    start: float
    slow_calls: int


class ReplyTimes:
    """Times of one judge's replies, so that a hanging call is given up early.

    After enough replies, a reply may take four times as long as the slowest so far. Each attempt at a question that is
    given up as too slow makes the limit of the next attempt four times as long, up to the timeout.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._replies = 0
        self._slowest = 0.0
        self._running: dict[asyncio.Timeout, _RunningCall] = {}

    def limit(self, slow_calls: int) -> float:
        """Seconds that a reply may take after so many attempts that were too slow."""
        if self._replies < _ENOUGH_REPLIES:
            return self._timeout
        first_limit = max(_LEAST_SECONDS, 4 * self._slowest)
        return min(self._timeout, first_limit * 4**slow_calls)

    @asynccontextmanager
    async def time_call(self, slow_calls: int) -> AsyncIterator[None]:
        """The context of one call. Raises Trouble if the call takes too long."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        timeout = asyncio.timeout(self.limit(slow_calls))
        self._running[timeout] = _RunningCall(start, slow_calls)
        try:
            async with timeout:
                yield
        except TimeoutError as error:
            raise Trouble(
                "slow", f"no reply within {self.limit(slow_calls):.3g} seconds"
            ) from error
        finally:
            del self._running[timeout]
        self._replies += 1
        self._slowest = max(self._slowest, loop.time() - start)
        for other_timeout, call in self._running.items():
            if not other_timeout.expired():
                other_timeout.reschedule(call.start + self.limit(call.slow_calls))
