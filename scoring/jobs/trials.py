"""Trials: short calls in the job worker's loop that show which settings a visitor's judge accepts.

The page asks again until a trial is over: no event of a page waits for a server that a visitor named.
"""

import asyncio
import hashlib
import threading
import time
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Literal

from arena.inference.endpoint import Endpoint
from arena.io.fetch import Fetcher
from scoring.judges.client import JudgeError, JudgeFailed, probe
from scoring.judges.rate_limit import RateLimits
from scoring.judges.spec import JudgeSpec

AT_ONCE = 4
"""Visitors whose judges are tried out at one time; one of each network."""
SECONDS = 60.0
"""For all calls of a trial."""
ABANDONED_SECONDS = 10.0
"""A trial ends when its page has not asked for so long; pages ask every second or two."""
_PACE = RateLimits(attempts=2, timeout=20.0, patience=10.0)
TrialState = Literal["none", "runs", "over"]
_MOST_KEPT = 100
"""The most outcomes that are kept for their pages; the oldest goes first."""


class TrialError(RuntimeError):
    """A judge is not tried out; the message says why and what to do."""


class TrialRuns(TrialError):
    """A judge is being tried out: ask again."""


@dataclass(eq=False)
class _Trial:
    judge_digest: str
    network: str | None
    outcome: "Future[JudgeSpec]"
    asked_at: float = field(default_factory=time.monotonic)


class Trials:
    """Trials of one server, by their visitors; each visitor has the last that it asked for."""

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        self._fetcher = fetcher
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._trials: dict[str, _Trial] = {}

    def run_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tries judges out in a running loop, until it is closed."""
        self._loop = loop

    def spec(self, owner: str, address: Endpoint, model: str, network: str | None) -> JudgeSpec:
        """Returns the spec of a visitor's judge from its trial, which the first call begins.

        Raises TrialRuns until it is over, TrialError if all places are taken, and the trial's own error, once.
        """
        judge_digest = _digest(address, model)
        with self._lock:
            trial = self._trials.get(owner)
            if trial is None or trial.judge_digest != judge_digest:
                self._begin(owner, address, model, network)
            else:
                trial.asked_at = time.monotonic()
                if trial.outcome.done():
                    return self._take_outcome(owner, trial)
        raise TrialRuns(f"Testing {model}, for {SECONDS:g} seconds at most.")

    def state(self, owner: str, address: Endpoint, model: str) -> TrialState:
        """Returns the state of the trial of a visitor's judge; like `spec`, shows that its page still waits."""
        with self._lock:
            trial = self._trials.get(owner)
        if trial is None or trial.judge_digest != _digest(address, model):
            return "none"
        trial.asked_at = time.monotonic()
        return "over" if trial.outcome.done() else "runs"

    def _begin(self, owner: str, address: Endpoint, model: str, network: str | None) -> None:
        earlier = self._trials.pop(owner, None)
        if earlier:
            earlier.outcome.cancel()
        running = [trial for trial in self._trials.values() if not trial.outcome.done()]
        if network is not None and any(trial.network == network for trial in running):
            raise TrialError(
                "Another judge is being tested for your network. Press again in a minute."
            )
        if len(running) >= AT_ONCE:
            raise TrialError(f"{AT_ONCE} other judges are being tested. Press again in a minute.")
        if self._loop is None or not self._loop.is_running():
            raise TrialError("The server is starting or stopping. Press again in a moment.")
        outcome = asyncio.run_coroutine_threadsafe(self._run(owner, address, model), self._loop)
        self._trials[owner] = _Trial(_digest(address, model), network, outcome)
        finished = [visitor for visitor, trial in self._trials.items() if trial.outcome.done()]
        for visitor in finished[: max(0, len(finished) - _MOST_KEPT)]:
            del self._trials[visitor]

    def _take_outcome(self, owner: str, trial: _Trial) -> JudgeSpec:
        """Returns the outcome of a trial; a failed trial is forgotten, so that it can be repeated."""
        try:
            return trial.outcome.result()
        except CancelledError as error:
            del self._trials[owner]
            raise TrialError("The test was cut off. Press again.") from error
        except JudgeError:
            del self._trials[owner]
            raise

    async def _run(self, owner: str, address: Endpoint, model: str) -> JudgeSpec:
        """Runs a trial. Raises JudgeError, also when its time is over or its page has gone."""
        probing = asyncio.ensure_future(probe(address, model, _PACE, self._fetcher))
        try:
            async with asyncio.timeout(SECONDS):
                while not probing.done() and not self._is_abandoned(owner):
                    await asyncio.wait({probing}, timeout=1.0)
                if not probing.done():
                    raise JudgeFailed(f"The test of {model} stopped because its page was closed.")
                return probing.result()
        except TimeoutError as error:
            raise JudgeFailed(
                f"The test of {model} took over {SECONDS:g} seconds. Choose another judge, or try again later."
            ) from error
        finally:
            probing.cancel()

    def _is_abandoned(self, owner: str) -> bool:
        with self._lock:
            trial = self._trials.get(owner)
        return trial is None or time.monotonic() - trial.asked_at > ABANDONED_SECONDS


def _digest(address: Endpoint, model: str) -> str:
    """Returns a digest that identifies a judge with its key, and doesn't reveal the key."""
    text = "\n".join((address.address, model, address.key.reveal()))
    return hashlib.sha256(text.encode()).hexdigest()
