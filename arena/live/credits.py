"""Credits: the keys with which visitors have their own live battles answered, at their own cost.

A key is in this process's memory alone, by visitor, until logout, expiry, erasure or the server's end. It is never
stored, copied or logged, and a battle of one visitor is never asked with the key of another.
"""

import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

from arena.inference.openai_model import ApiVLM
from arena.types import VLM, ModelError, Secret

LONGEST_SECONDS = 30 * 86_400.0
LOGIN_OVER = "Your Hugging Face login has run out. Log in again."
CREDITS_USED = "Your Hugging Face credits are used up."
NOT_ALLOWED = "This login may not use Inference Providers."
UNSERVED = "Hugging Face has no server for this battle at the moment. Please try again."
BUSY = "Hugging Face takes no more questions from you at the moment. Please try again in a minute."
_REFUSALS: Mapping[int | None, str] = {
    401: LOGIN_OVER,
    402: CREDITS_USED,
    403: NOT_ALLOWED,
    404: UNSERVED,
    429: BUSY,
}
"""What a visitor is told by the status that a router answers. None names a model or a side."""
OF_ROUTER = frozenset((404, 429))
"""Of these, those that may be the router's or a provider's: the operator sees them beside the model's failures."""
_TOKEN = re.compile(r"[!-~]{8,2000}")


class _Kept(NamedTuple):
    key: Secret
    until: float


class Credits:
    """Visitors' keys, or the operator's own where nobody can log in: there the operator is the visitor."""

    def __init__(
        self,
        operator_key: Callable[[], Secret] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`operator_key` returns the operator's key, empty if there is none; None: each visitor brings one."""
        self._operator_key = operator_key
        self._clock = clock
        self._kept: dict[int, _Kept] = {}

    @property
    def are_visitors(self) -> bool:
        """Whether visitors pay, and not the operator."""
        return self._operator_key is None

    def key(self, voter: int) -> Secret | None:
        """Returns the key for a visitor's battles; None if there is none, or not any more."""
        if self._operator_key is not None:
            return self._operator_key() or None
        kept = self._kept.get(voter)
        return kept.key if kept and kept.until > self._clock() else None

    def keep(self, voter: int, key: Secret, seconds: float) -> None:
        """Keeps a visitor's key for so long. What is no key is not kept."""
        if _TOKEN.fullmatch(key.reveal()):
            self._kept[voter] = _Kept(key, self._clock() + min(seconds, LONGEST_SECONDS))

    def drop(self, voter: int, key: Secret | None = None) -> None:
        """Drops a visitor's key; with `key`, only if it is still that one."""
        kept = self._kept.get(voter)
        if kept and key in (None, kept.key):
            self._kept.pop(voter, None)

    @property
    def voters(self) -> tuple[int, ...]:
        """The visitors whose keys are in memory."""
        return tuple(self._kept)

    def tidy(self, logged_in: Callable[[Collection[int]], Collection[int]]) -> None:
        """Drops what has expired, and the keys of visitors who are not logged in any more.

        `logged_in` returns those of some visitors who are. A key that comes meanwhile is kept.
        """
        kept = dict(self._kept)
        there = logged_in(tuple(kept))
        for voter, (key, until) in kept.items():
            if until <= self._clock() or voter not in there:
                self.drop(voter, key)


@asynccontextmanager
async def with_key(vlm: VLM, key: Secret | None) -> AsyncIterator[VLM]:
    """Lend a model as it is asked with a visitor's key, for one answer; any other model is lent as it is."""
    if key is None or not vlm.card.visitor_key:
        yield vlm
        return
    own = ApiVLM(replace(vlm.card, key=key))
    try:
        yield own
    finally:
        await own.aclose()


def refusal_of(vlm: VLM, error: ModelError) -> str | None:
    """What to tell a visitor whose key was refused; None for a failure of the model."""
    return _REFUSALS.get(error.status) if vlm.card.visitor_key else None
