"""Honest voters beside somebody who floods: their votes are taken, and the server stays small."""

import asyncio
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import psutil
import pytest

from arena.web.cookies import VoterCookies, new_cookie_value
from tests.support.servers import AppServer
from tests.support.signer import signer_of
from tests.support.voter import Voter

BYTES = 1_000_000_000
PREDICT = "/gradio_api/run/predict"
REFUSED_SECONDS = 0.5
"""How soon the attacker comes again on a line that was refused; at once, it would only keep its own machine busy."""


@dataclass
class Seen:
    """What became of the honest votes, and of the flood."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    flood: Counter[int] = field(default_factory=Counter)
    held: int = 0
    """Most bytes that the server held."""

    @property
    def p95(self) -> float:
        """Seconds within which 95 of 100 votes were acknowledged."""
        return statistics.quantiles(self.seconds, n=20)[-1]

    def __str__(self) -> str:
        return (
            f"{len(self.seconds)} votes acknowledged, {len(self.failed)} not; p95 {self.p95:.2f} s; "
            f"flood {dict(self.flood)}; {self.held / 1e6:.0f} MB"
        )


class Crowd:
    """Voters from networks of their own, and one attacker from one network, before an app that trusts one proxy."""

    def __init__(
        self, client: httpx.AsyncClient, signer: VoterCookies, event: int, seen: Seen
    ) -> None:
        self._client = client
        self._signer = signer
        self._seen = seen
        self._event = event
        """An event of the page, which the attacker calls too."""

    async def vote(self, number: int, votes: int, pause: float) -> None:
        """Be a voter: open the page, and choose as often as is asked."""
        headers = {
            "cookie": f"stereoscope_voter={self._signer.new()}",
            "x-forwarded-for": f"6.6.6.6, 11.{number // 250}.{number % 250}.7",
        }
        await asyncio.sleep(random.uniform(0, pause))
        shown = await self._next(headers)
        for _ in range(votes):
            token = re.search(r'"battle":"([^"]+)"', shown)
            assert token, shown[:500]
            await asyncio.sleep(random.uniform(0.5, 1.5) * pause)
            begun = time.monotonic()
            answer = await self._acted("choose", headers, battle=token[1], value="a")
            if "You chose A" in answer:
                self._seen.seconds.append(time.monotonic() - begun)
            else:
                self._seen.failed.append(answer[:300])
            await self._acted("names", headers, battle=token[1])
            shown = await self._next(headers)

    async def _next(self, headers: dict[str, str]) -> str:
        """Ask for a battle, and as the page does ask again where the line was lost."""
        shown = ""
        for _ in range(3):
            shown = await self._acted("next", headers)
            if '"battle":' in shown:
                break
        return shown

    async def _acted(self, name: str, headers: dict[str, str], **sent: str) -> str:
        try:
            return (await self._client.post(f"/battle/{name}", json=sent, headers=headers)).text
        except httpx.TransportError as error:
            return repr(error)

    async def flood(self, attacks: httpx.AsyncClient, place: int) -> None:
        """Fill the queue, invent sessions and cookies, take battles, forge headers, and hold lines open, for ever."""
        number = 0
        while True:
            number += 1
            headers = {
                "cookie": f"stereoscope_voter={new_cookie_value()}",
                "x-forwarded-for": f"11.{place % 250}.{number % 250}.1, 12.0.0.{place % 250}",
            }
            body = {
                "fn_index": self._event,
                "session_hash": f"invented {place} {number}",
                "data": ["", ""],
            }
            ways: tuple[Callable[[], Awaitable[httpx.Response]], ...] = (
                lambda body=body, headers=headers: attacks.post(
                    "/gradio_api/queue/join", json=body, headers=headers
                ),
                lambda body=body, headers=headers: attacks.post(
                    PREDICT, json=body, headers=headers
                ),
                lambda headers=headers: attacks.post("/battle/next", json={}, headers=headers),
                lambda headers=headers: attacks.get("/", headers=headers),
                lambda headers=headers: attacks.post(
                    "/uploads?name=x.json", content=b"x" * 9000, headers=headers
                ),
            )
            try:
                status = (await ways[number % len(ways)]()).status_code
            except httpx.TransportError:
                status = 0
            self._seen.flood[status] += 1
            if status == 429:
                await asyncio.sleep(REFUSED_SECONDS)


@dataclass(frozen=True)
class Siege:
    """How many voters vote how often, how many seconds apart, and on how many lines the attacker floods."""

    voters: int
    votes: int
    pause: float
    lines: int


async def besieged(server: AppServer, event: int, siege: Siege) -> Seen:
    """Let the voters vote while the attacker floods, and look at the server's memory."""
    seen, process = Seen(), psutil.Process(server.process.pid)
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=siege.voters, keepalive_expiry=2
    )
    settings: dict[str, Any] = {"base_url": server.address, "timeout": 60, "limits": limits}
    async with httpx.AsyncClient(**settings) as honest, httpx.AsyncClient(**settings) as attacks:
        crowd = Crowd(honest, signer_of(server.data_dir), event, seen)
        floods = [asyncio.create_task(crowd.flood(attacks, place)) for place in range(siege.lines)]
        visits = [
            asyncio.create_task(crowd.vote(n, siege.votes, siege.pause))
            for n in range(siege.voters)
        ]
        pending = set(visits)
        while pending:
            _, pending = await asyncio.wait(pending, timeout=0.5)
            seen.held = max(seen.held, process.memory_info().rss)
        for task in floods:
            task.cancel()
        await asyncio.gather(*floods, return_exceptions=True)
        await asyncio.gather(*visits)
    return seen


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "siege",
    [
        Siege(8, 1, 0.2, lines=4),
        pytest.param(Siege(200, 4, 15.0, lines=450), marks=pytest.mark.soak),
    ],
)
def test_honest_votes_are_taken_beside_a_flood(start_server, siege):
    server = start_server(TRUSTED_HOPS="1")
    with Voter(server.address) as voter:
        event = voter.events["on_look"]["id"]
    seen = asyncio.run(besieged(server, event, siege))
    print(f"\n{siege.voters} voters and a flood: {seen}")
    assert len(seen.seconds) >= 0.99 * siege.voters * siege.votes, seen.failed[:5]
    assert seen.held < BYTES
    if siege.voters == 200:
        assert seen.p95 < 2.0 and seen.flood[429] > 0
