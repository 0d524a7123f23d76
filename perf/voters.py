"""Many voters at one server: `python -m perf.voters [postgresql]`.

First, what each act of a vote costs in the server's processor time: 100 voters do the same at one time, on eight lines.
Target: 20 ms for the next battle, the choice and the names together. Then voters from networks of their own choose, see
the names and go on: 200 who think 4 to 10 seconds before each of these, and 150 who think 1 to 5 seconds. Targets: 95%
of their calls within a second, all votes taken. Then 50 voters think no time at all, which tells at how many votes a
second this machine is saturated.
"""

import asyncio
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import httpx
import psutil

from perf._databases import database_kind, databases
from perf.attacks import TARGET, Page, Seen, honest, http_client
from perf.board_path import Arena
from tests.support.servers import AppServer

VOTES = 50_000
"""Votes in the database when the voters come."""
COSTED = 100
ROUNDS = 3
LINES = 8
REST_SECONDS = 30.0
AT_REST = 0.05
"""Seconds of processor time in a second of a server that does nothing."""
TOGETHER = ("next", "choose", "names")
TOGETHER_MS = 20.0
THINKERS = 200
QUICK = 150
THINKING_SECONDS = 60.0
HASTY = 50
HASTY_SECONDS = 20.0


class Costs:
    """Measures the processor time of acts; each begins when the server rests, as after it has computed a board."""

    def __init__(self, page: Page, pid: int) -> None:
        self._page = page
        self._process = psutil.Process(pid)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._calls: defaultdict[str, int] = defaultdict(int)

    def _used(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system

    async def rest(self) -> None:
        """Wait until the server does nothing, if it ever does."""
        deadline = time.monotonic() + REST_SECONDS
        used = 1.0
        while used > AT_REST and time.monotonic() < deadline:
            before = self._used()
            await asyncio.sleep(1)
            used = self._used() - before

    async def together(self, act: str, calls: Iterable[Awaitable[httpx.Response]]) -> list[str]:
        """Send calls of one act and return the tokens of the battles that they answer with."""
        lines = asyncio.Semaphore(LINES)

        async def sent(call: Awaitable[httpx.Response]) -> str:
            async with lines:
                answer = await call
            return answer.raise_for_status().json()["battle"]

        await self.rest()
        before = self._used()
        tokens = await asyncio.gather(*map(sent, calls))
        self._seconds[act] += self._used() - before
        self._calls[act] += len(tokens)
        return tokens

    async def vote(self, people: list[dict[str, str]]) -> None:
        """Let everybody vote once."""
        act = self._page.act
        tokens = await self.together("next", [act("next", one) for one in people])
        votes = [*zip(people, tokens, strict=True)]
        chosen = [act("choose", one, battle=token, value="a") for one, token in votes]
        await self.together("choose", chosen)
        await self.together("names", [act("names", one, battle=token) for one, token in votes])

    async def hold(self, people: list[dict[str, str]]) -> None:
        await self.together("hold", [self._page.act("hold", one) for one in people])
        await self.together("next, held", [self._page.act("next", one) for one in people])

    def milliseconds(self) -> Mapping[str, float]:
        return {act: 1000 * seconds / self._calls[act] for act, seconds in self._seconds.items()}


async def costs(port: int, pid: int, voters: int, rounds: int) -> Mapping[str, float]:
    """Return the milliseconds of processor time of each act, on the average."""
    async with http_client(port) as client:
        page = Page(client, {"dependencies": (), "components": ()})
        people = [{"x-forwarded-for": f"13.{number}.1.7"} for number in range(voters)]
        for one in people:
            one["cookie"] = await page.cookie(one)
        await Costs(page, pid).vote(people)  # what is made once is there
        measured = Costs(page, pid)
        for _ in range(rounds):
            await measured.vote(people)
        await measured.hold(people)
        return measured.milliseconds()


def seen_by(port: int, voters: int, seconds: float, thinking: Callable[[], float]) -> Seen:
    """Return what so many voters see who vote for so many seconds."""
    seen = Seen()
    asyncio.run(honest(port, seconds, seen, voters, thinking))
    return seen


def main(kind: str = "sqlite", share: float = 1.0, votes: int = VOTES) -> int:
    """Print what the voters saw; `share` shortens all runs. Return 1 if a target was missed."""
    with (
        tempfile.TemporaryDirectory() as name,
        databases(kind, Path(name), ("arena",)) as (address,),
    ):
        Arena(address, votes).close()
        server = AppServer(
            Path(name) / "data", DATABASE_URL=address, TRUSTED_HOPS="1", DEMO_BANK="off"
        )
        try:
            cost = asyncio.run(costs(server.port, server.process.pid or 0, COSTED, ROUNDS))
            told = ", ".join(f"{act} {taken:.1f} ms" for act, taken in cost.items())
            together = sum(cost[act] for act in TOGETHER)
            print(f"processor time: {told}")
            print(f"{', '.join(TOGETHER)}: {together:.1f} ms (target {TOGETHER_MS:g})", flush=True)
            late = 0
            for voters, low, high in ((THINKERS, 4, 10), (QUICK, 1, 5)):
                seconds = share * THINKING_SECONDS
                seen = seen_by(server.port, voters, seconds, partial(random.uniform, low, high))
                rate = seen.votes / seconds
                print(
                    f"{voters} voters who think for {low} to {high} s: {seen}; "
                    f"{rate:.0f} votes a second",
                    flush=True,
                )
                late += seen.p95 > TARGET or bool(seen.failed)
            seconds = share * HASTY_SECONDS
            saturated = seen_by(server.port, HASTY, seconds, lambda: 0)
            rate = saturated.votes / seconds
            print(
                f"{HASTY} voters who do not think: {saturated}; saturated at {rate:.0f} votes a second"
            )
            print(f"load {os.getloadavg()[0]:.1f} on {multiprocessing.cpu_count()} cores")
        finally:
            server.stop()
    return int(late > 0 or together > TOGETHER_MS)


if __name__ == "__main__":
    sys.exit(main(database_kind()))
