"""Overhead of live battles over asking the models directly: `python -m perf.live`.

Two endpoints stream the same text, each at its own pace. Rounds alternate: both models asked directly, side by side,
then a battle of both through the app as a page sees it (server-sent events). Time to the first words is compared with
that of the slower of the round's two direct calls, or with the longest delay that is drawn before both begin; words per
second with the slower call's. The targets are at most 50 ms and 10 % more. Then
20 battles run at once while a visitor votes in another tab (p95 under 100 ms). That closing a tab stops its generations
is checked by a test of the full counts.
"""

import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from arena.inference.catalogue import read_catalogue
from arena.inference.openai_model import ApiVLM
from arena.live.sessions import DELAY_SECONDS
from arena.live.streaming import WordBuffer
from arena.settings import secret
from arena.types import VLM, Turn
from tests.support.live_visitor import Visitor, card, catalogue, picture, says
from tests.support.openai_server import OpenAIServer
from tests.support.servers import AppServer
from tests.support.voter import Voter

ROUNDS = 9
BATTLES = 20
VOTES = 60
TEXT = (
    "All of these words are said one after the other at a steady pace of their own so that it can be measured. "
    * 3
)
FIRST_TARGET = 0.05
PACE_TARGET = 0.10
VOTE_TARGET = 0.100


class Heard(NamedTuple):
    """Seconds from the question to the first words, and words per second from then on."""

    first: float
    pace: float


def heard(began: float, times: Sequence[float], words: int) -> Heard:
    """Return the timing of this many words, from the times at which more of them arrived."""
    return Heard(times[0] - began, (words - 1) / (times[-1] - times[0]))


async def direct(vlm: VLM) -> Heard:
    """Ask a model directly; a word counts as complete when the next one begins."""
    began = time.perf_counter()
    times = []
    words = WordBuffer()
    async with aclosing(
        vlm.stream([Turn("user", "Go on.", (picture(),))], vlm.card.generation)
    ) as pieces:
        async for piece in pieces:
            words.add(piece)
            if len(words):
                times.append(time.perf_counter())
    return heard(began, times, len(TEXT.split()))


async def battle(visitor: Visitor) -> Heard:
    """Start a battle and watch it as a page does."""
    image = await visitor.upload(picture())
    began = time.perf_counter()
    times = []
    begun = await visitor.post("/live/battles", {"instruction": "Go on.", "images": [image]})
    async with visitor.watching(f"/live/battles/{begun['battle']}") as messages:
        async for message in messages:
            if message["kind"] == "words" and message["sides"]["a"].get("added"):
                times.append(time.perf_counter())
    return heard(began, times, len(TEXT.split()))


async def compare(address: str, vlms: Sequence[VLM]) -> None:
    """Alternate direct calls and battles; print the medians of what a battle adds."""
    first = []
    pace = []
    slower = []
    async with Visitor(address) as visitor:
        for _ in range(ROUNDS):
            alone = await asyncio.gather(*map(direct, vlms))
            shown = await battle(visitor)
            slower.append(Heard(max(one.first for one in alone), min(one.pace for one in alone)))
            first.append(shown.first - max(slower[-1].first, DELAY_SECONDS[1]))
            pace.append(1 - shown.pace / slower[-1].pace)
    late = statistics.median(first)
    slow = statistics.median(pace)
    told = f"{statistics.median(one.first for one in slower) * 1000:.0f} ms"
    said = f"{statistics.median(one.pace for one in slower):.1f} words/s"
    print(
        f"the slower of two direct calls: first whole word after {told}, {said} (medians of {ROUNDS} rounds)"
    )
    beyond = (
        f"{late * 1000:+.0f} ms beyond the longest delay drawn (target +{FIRST_TARGET * 1000:.0f})"
    )
    print(f"a battle: first words {beyond}, ", end="")
    print(f"words per second {-slow:+.1%} (target -{PACE_TARGET:.0%})", flush=True)


async def crowd(address: str, number: int, leave: threading.Event) -> None:
    """Run this many battles at once until `leave` is set."""

    async def tab() -> None:
        async with Visitor(address) as visitor:
            while True:
                await battle(visitor)

    tabs = [asyncio.create_task(tab()) for _ in range(number)]
    await asyncio.to_thread(leave.wait)
    for one in tabs:
        one.cancel()
    await asyncio.gather(*tabs, return_exceptions=True)


def votes_meanwhile(app: AppServer, server: OpenAIServer) -> None:
    """Vote in another tab while battles run, and print how long a vote takes."""
    times = []
    leave = threading.Event()
    others = threading.Thread(target=lambda: asyncio.run(crowd(app.address, BATTLES, leave)))
    others.start()
    while server.running < BATTLES:
        time.sleep(0.1)
    while len(times) < VOTES:
        with Voter(app.address) as voter:
            voter.load()
            for _ in range(min(10, VOTES - len(times))):
                began = time.perf_counter()
                voter.choose("a")
                times.append(time.perf_counter() - began)
                voter.wait_out_undo()
                voter.next()
    leave.set()
    others.join()
    ordered = sorted(times)
    p50, p95 = (ordered[int(share * len(ordered))] * 1000 for share in (0.5, 0.95))
    print(
        f"a vote while {BATTLES} battles run: p50 {p50:.0f} ms, p95 {p95:.0f} ms (target {VOTE_TARGET * 1000:.0f})"
    )


def main() -> None:
    """Start two endpoints and the app, measure, print."""
    texts = {"fast": TEXT, "slow": TEXT}
    with (
        tempfile.TemporaryDirectory() as name,
        OpenAIServer(says(texts), models=("fast",), pace=0.02) as fast,
    ):
        folder = Path(name)
        with OpenAIServer(says(texts), models=("slow",), pace=0.06, latency=0.3) as slow:
            path = catalogue(folder, card("Fast", "fast", fast), card("Slow", "slow", slow))
            app = AppServer(folder / "data", MODELS=path, LIVE_AT_ONCE="200")
            try:
                asyncio.run(
                    compare(
                        app.address,
                        [ApiVLM(one) for one in read_catalogue(Path(path), secret).cards],
                    )
                )
                votes_meanwhile(app, slow)
            finally:
                app.stop()


if __name__ == "__main__":
    main()
