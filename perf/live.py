"""Overhead of live battles over asking the models directly: `python -m perf.live`.

Two endpoints stream the same text, each at its own pace. In each round both models are first asked directly, side by
side, and then in a battle through the app, as a page receives it (server-sent events). The app waits for both models
and for a drawn delay, so a battle's first words are due once the slower direct call has them and the longest delay is
over. They may come 50 ms later. A battle's words per second may be 10% fewer than those of the slower call.

Then 20 battles run at once while a visitor votes in another tab (p95 under 100 ms). That closing a tab stops its
generations is checked by a soak test.
"""

import asyncio
import statistics
import sys
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
VOTES_OF_VOTER = 10
"""Votes of one visitor, before another one comes."""
TEXT = (
    "All of these words are said one after the other at a steady pace of their own so that it can be measured. "
    * 3
)
FIRST_TARGET = 0.05
"""Most seconds that a battle adds to the time to the first words."""
PACE_TARGET = 0.10
"""Largest share of the words per second that a battle may lose."""
VOTE_TARGET = 0.100
"""Most seconds of 95% of the votes."""


class Pace(NamedTuple):
    """The pace of one reply."""

    first: float
    """Seconds from the question to the first words."""
    rate: float
    """Words per second after the first words."""


def reply_pace(start: float, times: Sequence[float], words: int) -> Pace:
    """Returns the pace of a reply of so many words, from the times at which some of them arrived."""
    return Pace(times[0] - start, (words - 1) / (times[-1] - times[0]))


async def ask_directly(vlm: VLM) -> Pace:
    """Asks a model directly; a word counts as complete when the next one begins."""
    start = time.perf_counter()
    times = []
    words = WordBuffer()
    turns = [Turn("user", "Go on.", (picture(),))]
    async with aclosing(vlm.stream(turns, vlm.card.generation)) as pieces:
        async for piece in pieces:
            words.add(piece)
            has_whole_word = len(words) > 0
            if has_whole_word:
                times.append(time.perf_counter())
    return reply_pace(start, times, len(TEXT.split()))


async def run_battle(visitor: Visitor) -> Pace:
    """Starts a battle and watches it to its end as a page does."""
    image = await visitor.upload(picture())
    start = time.perf_counter()
    times = []
    started = await visitor.post("/live/battles", {"instruction": "Go on.", "images": [image]})
    async with visitor.watching(f"/live/battles/{started['battle']}") as messages:
        async for message in messages:
            # Both sides are shown in step, so one of them is enough.
            if message["kind"] == "words" and message["sides"]["a"].get("added"):
                times.append(time.perf_counter())
    return reply_pace(start, times, len(TEXT.split()))


async def compare(address: str, vlms: Sequence[VLM]) -> bool:
    """Alternates direct calls and battles; prints the median pace of the slower call and what a battle adds to it.

    Returns whether a target was missed.
    """
    slower_calls = []
    added_seconds = []
    lost_rates = []
    longest_delay = DELAY_SECONDS[1]
    async with Visitor(address) as visitor:
        for _ in range(ROUNDS):
            calls = await asyncio.gather(*map(ask_directly, vlms))
            battle = await run_battle(visitor)
            slower = Pace(max(call.first for call in calls), min(call.rate for call in calls))
            slower_calls.append(slower)
            added_seconds.append(battle.first - max(slower.first, longest_delay))
            lost_rates.append(1 - battle.rate / slower.rate)
    first_ms = statistics.median(call.first for call in slower_calls) * 1000
    rate = statistics.median(call.rate for call in slower_calls)
    print(
        f"the slower of two direct calls: first whole word after {first_ms:.0f} ms, {rate:.1f} words/s "
        f"(medians of {ROUNDS} rounds)"
    )
    added_ms = statistics.median(added_seconds) * 1000
    lost = statistics.median(lost_rates)
    print(
        f"a battle: first words {added_ms:+.0f} ms beyond the longest delay drawn "
        f"(target +{FIRST_TARGET * 1000:.0f}), words per second {-lost:+.1%} (target -{PACE_TARGET:.0%})",
        flush=True,
    )
    return added_ms > FIRST_TARGET * 1000 or lost > PACE_TARGET


async def run_battles(address: str, number: int, stop: threading.Event) -> None:
    """Runs this many battles at once until `stop` is set."""

    async def tab() -> None:
        async with Visitor(address) as visitor:
            while True:
                await run_battle(visitor)

    tabs = [asyncio.create_task(tab()) for _ in range(number)]
    await asyncio.to_thread(stop.wait)
    for task in tabs:
        task.cancel()
    await asyncio.gather(*tabs, return_exceptions=True)


def vote_beside_battles(app: AppServer, endpoint: OpenAIServer) -> bool:
    """Votes in another tab while battles run, and prints how long a vote takes; every battle asks the `endpoint`.

    Returns whether the target was missed.
    """
    times = []
    stop = threading.Event()
    battles = threading.Thread(target=lambda: asyncio.run(run_battles(app.address, BATTLES, stop)))
    battles.start()
    while endpoint.running < BATTLES:
        time.sleep(0.1)
    while len(times) < VOTES:
        with Voter(app.address) as voter:
            voter.load()
            for _ in range(min(VOTES_OF_VOTER, VOTES - len(times))):
                start = time.perf_counter()
                voter.choose("a")
                times.append(time.perf_counter() - start)
                voter.wait_out_undo()
                voter.next()
    stop.set()
    battles.join()
    ordered = sorted(times)
    p50 = ordered[int(0.5 * len(ordered))] * 1000
    p95 = ordered[int(0.95 * len(ordered))] * 1000
    print(
        f"a vote while {BATTLES} battles run: p50 {p50:.0f} ms, p95 {p95:.0f} ms (target {VOTE_TARGET * 1000:.0f})"
    )
    return p95 > VOTE_TARGET * 1000


def main() -> int:
    """Starts two endpoints and the app, measures, and prints. Returns 1 if a target was missed."""
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
                cards = read_catalogue(Path(path), secret).cards
                vlms = [ApiVLM(model_card) for model_card in cards]
                is_slow = asyncio.run(compare(app.address, vlms))
                is_vote_slow = vote_beside_battles(app, slow)
            finally:
                app.stop()
    return int(is_slow or is_vote_slow)


if __name__ == "__main__":
    sys.exit(main())
