"""Pace: how fast a judge may be asked, and how long it is waited for."""

import asyncio
import random
from dataclasses import dataclass

_LONGEST_BACKOFF = 30.0
_FIRST_GAP, _LONGEST_GAP = 0.02, 10.0


@dataclass(frozen=True)
class RateLimits:
    """How fast a judge may be asked."""

    concurrency: int = 16
    """Calls under way at one time."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: float = 60.0
    """Seconds for one attempt, whole."""
    attempts: int = 8
    """For one question to the judge."""
    backoff: float = 0.5
    """Seconds before the second attempt; doubled before each further one, up to 30."""

    def wait(self, attempt: int, asked: float | None) -> float:
        """Return the seconds to wait after a failed attempt (from 1): what the server asked, else a back-off.

        Jitter keeps calls that failed together from coming back together.
        """
        backoff = min(self.backoff * 2 ** (attempt - 1), _LONGEST_BACKOFF)
        return backoff * random.uniform(0.5, 1.0) if asked is None else asked + self.backoff * random.uniform(0.0, 0.5)


class RateLimiter:
    """Space the calls out so that no minute holds more requests or tokens than allowed: one for all that share a key.

    A server that is busy nevertheless is asked ever less often, and as it replies, more often again.
    """

    def __init__(self, pace: RateLimits) -> None:
        self._pace = pace
        self._next = 0.0
        self._gap = 0.0
        self._widened = 0.0

    async def turn(self, tokens: int) -> None:
        """Wait until a call of so many tokens may start."""
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
        """Note that the server said it is asked too often; many at one time count once."""
        now = asyncio.get_running_loop().time()
        if now - self._widened > 1.0:
            self._widened = now
            self._gap = min(max(2 * self._gap, _FIRST_GAP), _LONGEST_GAP)

    def free(self) -> None:
        """Note that the server replied."""
        self._gap = 0.9 * self._gap if self._gap > _FIRST_GAP / 2 else 0.0
