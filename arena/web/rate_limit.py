"""Rate limiter: token buckets and limits on open requests, per voter cookie and per network.

Neither cookie nor network is stored: both are counted under a keyed hash whose random key lives and dies with the
process.
"""

import asyncio
import hashlib
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple

from arena.network import client_address, network_of, public_network


class Rate(NamedTuple):
    """Token bucket parameters: burst size, and tokens regained per second."""

    burst: int
    per_second: float


class Allowance(NamedTuple):
    """The limits of a voter or a network. A page takes about a hundred files, a battle three calls."""

    files: Rate
    """Requests of static files, which are the same for everybody and nearly free."""
    calls: Rate
    """All other requests."""
    open: int
    """The most open requests, waiting or in work; each open event stream is one."""
    large: int
    """The most open requests with a large body or answer. A page sends the ten images of a battle in parallel."""


VOTER = Allowance(files=Rate(1_000, 50), calls=Rate(500, 20), open=100, large=10)
NETWORK = Allowance(files=Rate(15_000, 300), calls=Rate(1_500, 40), open=400, large=40)
MOST_LARGE = 160
"""The most open requests with a large body or answer overall: these take memory or disk."""
TURNS = 4
"""The most calls of a network in work at the same time. More wait, so that a flood delays only itself."""


class Caller(NamedTuple):
    """Keyed hashes of a request's voter and network."""

    voter: str
    """Hash of the cookie; without a cookie, of the network."""
    network: str | None
    """None for a private address, which is a proxy's or the operator's own network."""


class Buckets:
    """Token buckets by key. Beyond `most`, the least recently used one is dropped, which refills it."""

    def __init__(
        self, rate: Rate, most: int = 50_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._most = most
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """The time at which a key's bucket is full again, if no more tokens are taken."""

    def take(self, key: str) -> float:
        """Takes a token and returns 0; if there is none, returns the seconds until the next."""
        now = self._clock()
        full_at = max(self._full_at.pop(key, now), now)
        # A bucket has a token if no more than `burst - 1` are missing until it is full.
        seconds_for_other_tokens = (self._rate.burst - 1) / self._rate.per_second
        wait = full_at - now - seconds_for_other_tokens
        if wait <= 0:
            full_at += 1 / self._rate.per_second
        self._full_at[key] = full_at
        if len(self._full_at) > self._most:
            self._full_at.popitem(last=False)
        return max(wait, 0.0)

    def __len__(self) -> int:
        return len(self._full_at)


class _Counters:
    """The counters of all voters, or of all networks."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._files = Buckets(allowance.files)
        self._calls = Buckets(allowance.calls)
        self.open: Counter[str] = Counter()
        self.large: Counter[str] = Counter()

    def wait_seconds(self, key: str, is_call: bool, is_large: bool) -> float:
        """Takes a token and returns 0 if a request is allowed; otherwise returns the seconds until a retry."""
        if self.open[key] >= self._allowance.open:
            return 1.0
        if is_large and self.large[key] >= self._allowance.large:
            return 1.0
        buckets = self._calls if is_call else self._files
        return buckets.take(key)


class _CountedKey(NamedTuple):
    """The counters that a caller is counted in, and the caller's key there."""

    counters: _Counters
    key: str


class RateLimiter:
    """Counts the requests of voters and networks. Not thread-safe: use it from the server's event loop only."""

    def __init__(
        self, trusted_hops: int = 0, voter: Allowance = VOTER, network: Allowance = NETWORK
    ) -> None:
        self._hops = trusted_hops
        self._key = secrets.token_bytes(32)
        self._voters = _Counters(voter)
        self._networks = _Counters(network)
        self._turns: dict[str, asyncio.Semaphore] = {}

    def caller(self, cookie: str | None, peer: str, forwarded: Sequence[str]) -> Caller:
        """Returns the caller of a request. `forwarded`: the addresses in its `X-Forwarded-For` headers."""
        address = client_address(peer, forwarded, self._hops)
        network = public_network(address)
        # Without a cookie, all visitors of a network share the allowance of a voter.
        voter = f"cookie {cookie}" if cookie else f"network {network_of(address)}"
        return Caller(
            voter=self._hash(voter),
            network=self._hash(network) if network else None,
        )

    def wait_seconds(self, caller: Caller, is_call: bool, is_large: bool = False) -> float:
        """Takes tokens and returns 0 if a request is allowed; otherwise returns the seconds until a retry.

        A request that the network alone refuses takes a token of its voter. `is_call`: whether it is not for a static
        file; `is_large`: whether its body, or its answer, may be large.
        """
        if is_large and self._voters.large.total() >= MOST_LARGE:
            return 1.0
        # The voter comes first: a voter's refused requests take no tokens of the network's other people.
        wait = self._voters.wait_seconds(caller.voter, is_call, is_large)
        if wait or caller.network is None:
            return wait
        return self._networks.wait_seconds(caller.network, is_call, is_large)

    def enter(self, caller: Caller, is_large: bool = False) -> None:
        """Counts a request as open until `leave`."""
        for counters, key in self._counters_of(caller):
            counters.open[key] += 1
            if is_large:
                counters.large[key] += 1

    def leave(self, caller: Caller, is_large: bool = False) -> None:
        """Ends a request that `enter` counted."""
        for counters, key in self._counters_of(caller):
            counters.open[key] -= 1
            if is_large:
                counters.large[key] -= 1
            if not counters.open[key]:
                # A Counter lets a key be deleted that it doesn't have.
                del counters.open[key], counters.large[key]
                self._turns.pop(key, None)

    def _counters_of(self, caller: Caller) -> Iterator[_CountedKey]:
        yield _CountedKey(self._voters, caller.voter)
        if caller.network is not None:
            yield _CountedKey(self._networks, caller.network)

    def turn(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """Waits for one of a network's `TURNS` slots and holds it. Use it between `enter` and `leave`."""
        if caller.network is None:
            return nullcontext()
        return self._turns.setdefault(caller.network, asyncio.Semaphore(TURNS))

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(
            text.encode("utf-8", "surrogateescape"), key=self._key, digest_size=16
        ).hexdigest()
