"""Credits: visitors' own keys, which pay for the answers in their live battles.

A key is only in this process's memory, by visitor, until logout, expiry, erasure or the server's end. It is never
stored, copied or logged, and never used for a battle of another visitor."""

import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

from arena.inference.openai_model import ApiVLM
from arena.types import VLM, ModelError, Secret

LONGEST_SECONDS = 30 * 86_400.0
LOGIN_OVER = "Your Hugging Face login has expired. Log in again."
CREDITS_USED = "Your Hugging Face credits are used up."
NOT_ALLOWED = "This login isn't allowed to use Inference Providers."
UNSERVED = "Hugging Face has no server for this battle right now. Please try again."
BUSY = "Hugging Face isn't taking more questions from you right now. Please try again in a minute."
_REFUSALS: Mapping[int | None, str] = {
    401: LOGIN_OVER,
    402: CREDITS_USED,
    403: NOT_ALLOWED,
    404: UNSERVED,
    429: BUSY,
}
"""The messages for a visitor, by the status of a router's answer; they never name a model or a side."""
ROUTER_FAULTS = frozenset((404, 429))
"""The statuses that may be the router's or a provider's fault; the operator sees them among the model's failures."""
_TOKEN = re.compile(r"[!-~]{8,2000}")


class _Lent(NamedTuple):
    """A visitor's key, and its end by the clock of `Credits`."""

    key: Secret
    until: float


class Credits:
    """The keys that pay for visitors' battles: each visitor's own, or the operator's key for all.

    The operator's key pays where nobody can log in, since the operator is the only visitor there.
    """

    def __init__(
        self,
        operator_key: Callable[[], Secret] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`operator_key` returns the operator's key, empty if there is none; without it, each visitor brings one."""
        self._operator_key = operator_key
        self._clock = clock
        self._lent: dict[int, _Lent] = {}

    @property
    def do_visitors_pay(self) -> bool:
        """Whether visitors pay, not the operator."""
        return self._operator_key is None

    def key(self, voter: int) -> Secret | None:
        """Returns the key for a visitor's battles; None if there is none, or it has expired."""
        if self._operator_key is not None:
            return self._operator_key() or None
        lent = self._lent.get(voter)
        return lent.key if lent and lent.until > self._clock() else None

    def keep(self, voter: int, key: Secret, seconds: float) -> None:
        """Keeps a visitor's key for `seconds`, at most LONGEST_SECONDS; ignores a malformed key."""
        if _TOKEN.fullmatch(key.reveal()):
            self._lent[voter] = _Lent(key, self._clock() + min(seconds, LONGEST_SECONDS))

    def drop(self, voter: int, key: Secret | None = None) -> None:
        """Drops a visitor's key; with `key`, only if it is still this one."""
        lent = self._lent.get(voter)
        if lent and (key is None or key == lent.key):
            self._lent.pop(voter, None)

    @property
    def voters(self) -> tuple[int, ...]:
        """The visitors with keys in memory."""
        return tuple(self._lent)

    def tidy(self, logged_in: Callable[[Collection[int]], Collection[int]]) -> None:
        """Drops expired keys, and the keys of visitors who are no longer logged in.

        `logged_in` returns the logged-in visitors among some. A key that arrives meanwhile stays.
        """
        lent = dict(self._lent)
        still_logged_in = logged_in(tuple(lent))
        for voter, (key, until) in lent.items():
            if until <= self._clock() or voter not in still_logged_in:
                self.drop(voter, key)


@asynccontextmanager
async def with_key(vlm: VLM, key: Secret | None) -> AsyncIterator[VLM]:
    """Yields a copy of a model, with a visitor's key; the model itself if it takes no key or there is none."""
    if key is None or not vlm.card.visitor_key:
        yield vlm
        return
    keyed_vlm = ApiVLM(replace(vlm.card, key=key))
    try:
        yield keyed_vlm
    finally:
        await keyed_vlm.aclose()


def refusal_of(vlm: VLM, error: ModelError) -> str | None:
    """Returns the message for a visitor after a router refused a call with a key; None for a failure of the model."""
    return _REFUSALS.get(error.status) if vlm.card.visitor_key else None
