"""Rate limit: how fast a judge may be asked, and how long to wait for it."""

import asyncio
import random
from dataclasses import dataclass

_LONGEST_BACKOFF = 30.0
_FIRST_GAP, _LONGEST_GAP = 0.02, 10.0


@dataclass(frozen=True)
class RateLimits:
    """Concurrency, rate limits, timeout and retries of a judge."""

    concurrency: int = 16
    """Maximum concurrent calls."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: float = 60.0
    """Seconds for one whole attempt."""
    attempts: int = 8
    """Maximum attempts per question."""
    backoff: float = 0.5
    """Seconds before the second attempt; doubled before each further one, up to 30."""

    def wait(self, attempt: int, asked: float | None) -> float:
        """Return the seconds to wait after a failed attempt (from 1): what the server asked for, else a backoff.

        Jitter keeps calls that failed together from retrying together.
        """
        backoff = min(self.backoff * 2 ** (attempt - 1), _LONGEST_BACKOFF)
        return backoff * random.uniform(0.5, 1.0) if asked is None else asked + self.backoff * random.uniform(0.0, 0.5)


class RateLimiter:
    """Rate limiter shared by all calls with one key: no minute exceeds the allowed requests or tokens.

    If the server still reports that it is busy, the gap between calls grows; it shrinks again with each reply.
    """

    def __init__(self, pace: RateLimits) -> None:
        self._pace = pace
        self._next = 0.0
        self._gap = 0.0
        self._widened = 0.0

    async def turn(self, tokens: int) -> None:
        """Wait until a call with this many tokens may start."""
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + max(
            self._gap,
            60 / self._pace.requests_per_minute if self._pace.requests_per_minute else 0.0,
            60 * tokens / self._pace.tokens_per_minute if self._pace.tokens_per_minute else 0.0,
        )
        if start > now:
            await asyncio.sleep(start - now)

    def busy(self) -> None:
        """Widen the gap after a "too many requests" reply; several within a second count once."""
        now = asyncio.get_running_loop().time()
        if now - self._widened > 1.0:
            self._widened = now
            self._gap = min(max(2 * self._gap, _FIRST_GAP), _LONGEST_GAP)

    def free(self) -> None:
        """Narrow the gap after a reply."""
        self._gap = 0.9 * self._gap if self._gap > _FIRST_GAP / 2 else 0.0
