"""Many voters at one server: `python -m perf.voters [postgresql]`.

First comes the server's processor time for each act of a vote: 100 voters do the same act, eight at a time. Target: 20
ms for the next battle, the choice and the names together. Then voters, each from another network, choose, see the names
and go on: 200 who think 4 to 10 seconds before each act, and 150 who think 1 to 5 seconds. Targets: 95% of their calls
within a second, all votes taken. Then 50 voters do not think at all, which shows how many votes a second saturate this
machine.
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
from perf.attacks import TARGET, Page, Service, http_client, use_honestly
from perf.board_path import Arena
from tests.support.servers import AppServer

VOTES = 50_000
"""Votes in the database when the voters come."""
METERED = 100
"""Voters in the measurement of processor time."""
ROUNDS = 3
AT_ONCE = 8
REST_SECONDS = 30.0
"""Most seconds to wait for the server to rest."""
AT_REST = 0.05
"""Most processor time in a second of a server at rest."""
TOGETHER = ("next", "choose", "names")
TOGETHER_MS = 20.0
"""Most milliseconds of these three acts together."""
THINKERS = 200
"""Voters who think 4 to 10 seconds."""
QUICK = 150
"""Voters who think 1 to 5 seconds."""
THINKING_SECONDS = 60.0
HASTY = 50
"""Voters who do not think."""
HASTY_SECONDS = 20.0


class CostMeter:
    """Measures the server's processor time of acts.

    Each act begins when the server rests, so that no board is being computed meanwhile.
    """

    def __init__(self, page: Page, pid: int) -> None:
        self._page = page
        self._process = psutil.Process(pid)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._calls: defaultdict[str, int] = defaultdict(int)

    def _processor_seconds(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system

    async def rest(self) -> None:
        """Waits until the server rests, at most REST_SECONDS."""
        deadline = time.monotonic() + REST_SECONDS
        is_at_rest = False
        while not is_at_rest and time.monotonic() < deadline:
            before = self._processor_seconds()
            await asyncio.sleep(1)
            is_at_rest = self._processor_seconds() - before <= AT_REST

    async def measure(self, act: str, calls: Iterable[Awaitable[httpx.Response]]) -> list[str]:
        """Sends all voters' calls of an act, AT_ONCE at a time; returns the tokens of the battles in the answers."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def send(call: Awaitable[httpx.Response]) -> str:
            async with limit:
                answer = await call
            return answer.raise_for_status().json()["battle"]

        await self.rest()
        before = self._processor_seconds()
        tokens = await asyncio.gather(*map(send, calls))
        self._seconds[act] += self._processor_seconds() - before
        self._calls[act] += len(tokens)
        return tokens

    async def vote(self, voters: list[dict[str, str]]) -> None:
        """Lets every voter, given by his headers, vote once."""
        act = self._page.act
        tokens = await self.measure("next", [act("next", voter) for voter in voters])
        battles = [*zip(voters, tokens, strict=True)]
        choices = [act("choose", voter, battle=token, value="a") for voter, token in battles]
        await self.measure("choose", choices)
        names = [act("names", voter, battle=token) for voter, token in battles]
        await self.measure("names", names)

    async def hold(self, voters: list[dict[str, str]]) -> None:
        """Lets every voter's page ask for the next battle ahead of time, and then shows it."""
        await self.measure("hold", [self._page.act("hold", voter) for voter in voters])
        await self.measure("next, held", [self._page.act("next", voter) for voter in voters])

    def milliseconds(self) -> Mapping[str, float]:
        """Returns the mean processor time of each act."""
        return {act: 1000 * seconds / self._calls[act] for act, seconds in self._seconds.items()}


async def costs(port: int, pid: int, voters: int, rounds: int) -> Mapping[str, float]:
    """Returns the mean processor time of each act in milliseconds."""
    async with http_client(port) as client:
        # an empty page, since only acts are called and no Gradio event
        page = Page(client, config={"dependencies": (), "components": ()})
        headers = [{"x-forwarded-for": f"13.{number}.1.7"} for number in range(voters)]
        for voter in headers:
            voter["cookie"] = await page.cookie(voter)
        await CostMeter(page, pid).vote(headers)  # fills the server's caches
        meter = CostMeter(page, pid)
        for _ in range(rounds):
            await meter.vote(headers)
        await meter.hold(headers)
        return meter.milliseconds()


def measured_service(
    port: int, voters: int, seconds: float, thinking: Callable[[], float]
) -> Service:
    """Lets so many voters vote for so many seconds, and returns the service that they had."""
    service = Service()
    asyncio.run(use_honestly(port, seconds, service, voters, thinking))
    return service


def main(kind: str = "sqlite", share: float = 1.0, votes: int = VOTES) -> int:
    """Prints the voters' service; `share` shortens all runs. Returns 1 if a target was missed."""
    with (
        tempfile.TemporaryDirectory() as name,
        databases(kind, Path(name), ("arena",)) as (address,),
    ):
        Arena(address, votes).close()  # leaves its votes in the database
        server = AppServer(
            Path(name) / "data", DATABASE_URL=address, TRUSTED_HOPS="1", DEMO_BANK="off"
        )
        try:
            act_ms = asyncio.run(costs(server.port, server.process.pid or 0, METERED, ROUNDS))
            listed = ", ".join(f"{act} {cost:.1f} ms" for act, cost in act_ms.items())
            together = sum(act_ms[act] for act in TOGETHER)
            print(f"processor time: {listed}")
            print(f"{', '.join(TOGETHER)}: {together:.1f} ms (target {TOGETHER_MS:g})", flush=True)
            missed = together > TOGETHER_MS
            seconds = share * THINKING_SECONDS
            for voters, low, high in ((THINKERS, 4, 10), (QUICK, 1, 5)):
                thinking = partial(random.uniform, low, high)
                service = measured_service(server.port, voters, seconds, thinking)
                print(
                    f"{voters} voters who think for {low} to {high} s: {service}; "
                    f"{service.votes / seconds:.0f} votes a second",
                    flush=True,
                )
                missed |= service.p95 > TARGET or bool(service.failed)
            seconds = share * HASTY_SECONDS
            service = measured_service(server.port, HASTY, seconds, lambda: 0)
            print(
                f"{HASTY} voters who do not think: {service}; "
                f"saturated at {service.votes / seconds:.0f} votes a second"
            )
            print(f"load {os.getloadavg()[0]:.1f} on {multiprocessing.cpu_count()} cores")
        finally:
            server.stop()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(database_kind()))
