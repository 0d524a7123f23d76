"""Cost of a vote over HTTP, beside an empty event of Gradio in the same app: `python -m perf.vote_path [postgresql]`.

A vote is `choose` in a battle that was opened before the clock starts: the cookie's voter and the battle are read, the
vote is committed (on SQLite, with WAL and synchronous=FULL, concurrent votes share a commit), and the scene is
returned. The empty event is that of a report's "Delete", which reads and writes nothing and shows and hides two parts
of a page. Both pass the same middleware. At each number of voters, rounds of the two alternate; a voter sends the next
call when the last is answered. The ratio is time per call: a vote costs no more than an event that does nothing.
"""

import asyncio
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from arena.battles.sampling import PairGrid, draw
from arena.battles.store import BattleStore
from arena.database import Database
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank
from arena.web.cookies import COOKIE, VoterCookies, cookie_hash
from arena.web.rate_limit import VOTER
from perf._databases import asked_kind, databases

ROOT = Path(__file__).parent.parent
VOTERS = (1, 10, 50)
ROUNDS = 4
WARM_UP = 50
CALLS = VOTER.calls.burst // 2 - WARM_UP
"""Calls of each kind in a round, spread over the voters: both kinds together stay within a voter's rate limit."""
VOTE = "choose"
EMPTY = "on_delete_1"
TARGET = 1.0
MEMORY_TARGET = 260


class Call(NamedTuple):
    """Request as bytes on the wire, with the act or event it calls."""

    event: str
    request: bytes


@dataclass(frozen=True)
class Measured:
    """One round of one event."""

    seconds: float
    times: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.times) / self.seconds

    def percentile(self, share: float) -> float:
        """Return the percentile of the times in milliseconds; `share` is 0 to 1."""
        return sorted(self.times)[min(len(self.times) - 1, int(share * len(self.times)))] * 1000


class VoterBattles(NamedTuple):
    """Voter's cookie, with the tokens of the voter's open battles."""

    cookie: str
    tokens: list[str]


def prepare(url: str, people: Sequence[int]) -> list[VoterBattles]:
    """Create an item bank and voters, and open this many battles for each voter; return the voters in that order."""
    database = Database(url)
    drafts = [
        ItemDraft(
            instruction=f"What is in picture {number}?",
            family=f"family {number % 10}",
            images=(
                ImageDraft(f"key-{number}", f"{number}.png", sha256=f"{number:064x}", suffix="png"),
            ),
            answers={
                f"model-{model}": f"Model {model} sees the number {number}." for model in range(8)
            },
        )
        for number in range(max(60, max(people)))
    ]
    Ingest(database).add_items("bench", "folder", drafts)
    items = tuple(ItemBank(database).bank().items.values())
    store = BattleStore(database)
    cookies = VoterCookies(database.secret_key("cookies"))
    coin = secrets.SystemRandom()
    opened = []
    for wanted in people:
        cookie = cookies.new()
        voter = store.voter(cookie_hash(cookie))
        tokens = []
        # a voter may have an open battle on each item, as by links
        for item in coin.sample(items, wanted):
            battle = store.serve(
                voter, lambda seen, one=item: draw(PairGrid([one]), {}, seen, coin), item=item.id
            )
            tokens.append(battle.token if battle else "")
        opened.append(VoterBattles(cookie, tokens))
    database.close()
    return opened


class Server:
    """The app in a process of its own."""

    def __init__(self, folder: Path, database: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environ = {
            **os.environ,
            "PORT": str(self.port),
            "DATA_DIR": str(folder),
            "DATABASE_URL": database,
            "DEMO_BANK": "off",
        }
        self._log = (folder / "server.log").open("wb")
        started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=environ, stderr=self._log
        )
        while not self._answers():
            if self._process.poll() is not None:
                raise RuntimeError((folder / "server.log").read_text("utf-8"))
            time.sleep(0.02)
        self.start_seconds = time.perf_counter() - started

    def _answers(self) -> bool:
        try:
            self.get("/healthz")
        except OSError:
            return False
        return True

    def get(self, path: str) -> bytes:
        """Return the body of a page."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return answer.read()

    def memory(self) -> float:
        """Return the resident memory of the process in MB (10^6 bytes)."""
        return psutil.Process(self._process.pid).memory_info().rss / 1e6

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        self._log.close()


def call(port: int, path: str, cookie: str, sent: dict[str, object]) -> bytes:
    """Return a post as bytes."""
    body = json.dumps(sent).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        f"Cookie: {COOKIE}={cookie}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def vote(port: int, cookie: str, token: str) -> Call:
    return Call(VOTE, call(port, f"/battle/{VOTE}", cookie, {"battle": token, "value": "a"}))


def empty(port: int, event: int, cookie: str) -> Call:
    sent = {"data": [], "fn_index": event, "session_hash": cookie[:10]}
    return Call(EMPTY, call(port, "/gradio_api/run/predict", cookie, sent))


async def voter(port: int, calls: Sequence[Call]) -> list[float]:
    """Send calls one after the other over one connection; return the seconds of each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = []
    for one in calls:
        began = time.perf_counter()
        writer.write(one.request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        body = await reader.readexactly(length)
        times.append(time.perf_counter() - began)
        if not head.startswith(b"HTTP/1.1 200") or (
            one.event == VOTE and b"You chose A" not in body
        ):
            raise RuntimeError(f"{one.event} was refused: {body[:500]!r}")
    writer.close()
    return times


async def round_of(port: int, hands: Sequence[Sequence[Call]]) -> Measured:
    """Have voters send their calls concurrently."""
    began = time.perf_counter()
    times = await asyncio.gather(*(voter(port, calls) for calls in hands))
    return Measured(time.perf_counter() - began, tuple(taken for hand in times for taken in hand))


def measure(
    port: int, event: int, voters: int, people: list[VoterBattles]
) -> dict[str, list[Measured]]:
    """Alternate rounds of empty events and of votes, starting with either in turn."""
    measured: dict[str, list[Measured]] = {EMPTY: [], VOTE: []}
    for number in range(len(people) // voters):
        mine = people[number * voters : (number + 1) * voters]
        hands = {
            EMPTY: [[empty(port, event, one.cookie)] * len(one.tokens) for one in mine],
            VOTE: [[vote(port, one.cookie, token) for token in one.tokens] for one in mine],
        }
        # A voter has opened the page before voting: the session and the voter are known when the clock starts.
        opening = [
            [Call("search", call(port, "/battle/search", one.cookie, {})), hand[0]]
            for one, hand in zip(mine, hands[EMPTY], strict=True)
        ]
        asyncio.run(round_of(port, opening))
        for name in sorted(hands, reverse=bool(number % 2)):
            measured[name].append(asyncio.run(round_of(port, hands[name])))
    return measured


def middle(rounds: Sequence[Measured]) -> tuple[float, float, float]:
    """Return the medians over rounds of calls per second, and of p50 and p99 in milliseconds."""
    return (
        statistics.median(one.rate for one in rounds),
        statistics.median(one.percentile(0.5) for one in rounds),
        statistics.median(one.percentile(0.99) for one in rounds),
    )


def main(kind: str = "sqlite", sizes: Sequence[int] = VOTERS, rounds: int = ROUNDS) -> int:
    """For each number of voters, measure so many rounds and print the results; return 1 if a target was missed."""
    worst = 0.0
    wanted = [WARM_UP] + [CALLS // voters for voters in sizes for _ in range(rounds * voters)]
    with (
        tempfile.TemporaryDirectory() as name,
        databases(kind, Path(name), ("arena",)) as (address,),
    ):
        print(f"opening {sum(wanted)} battles ...", flush=True)
        people = prepare(address, wanted)
        server = Server(Path(name), address)
        try:
            memory = server.memory()
            config = json.loads(server.get("/config"))
            events = {event["api_name"]: event["id"] for event in config["dependencies"]}
            event = events[EMPTY]
            cookie = people[0].cookie
            first = [vote(server.port, cookie, token) for token in people[0].tokens]
            nothing = empty(server.port, event, cookie)
            asyncio.run(round_of(server.port, [first, [nothing] * WARM_UP]))
            people = people[1:]
            print(
                f"{'voters':>6} {'event':>12} {'per s':>7} {'p50 ms':>7} {'p99 ms':>7}   ratio (time per call)"
            )
            for voters in sizes:
                measured = measure(server.port, event, voters, people[: rounds * voters])
                people = people[rounds * voters :]
                empty_rate, vote_rate = (middle(measured[name])[0] for name in (EMPTY, VOTE))
                for name, played in measured.items():
                    rate, p50, p99 = middle(played)
                    ratio = empty_rate / vote_rate
                    worst = max(worst, ratio)
                    shown = f"{ratio:.2f} (target {TARGET})" if name == VOTE else ""
                    print(
                        f"{voters:>6} {name:>12} {rate:>7.0f} {p50:>7.1f} {p99:>7.1f}   {shown}",
                        flush=True,
                    )
            print(
                f"ready after {server.start_seconds:.1f} s with {memory:.0f} MB resident (target {MEMORY_TARGET}), ",
                end="",
            )
            print(f"now {server.memory():.0f} MB; medians of {rounds} rounds of {CALLS} calls")
        finally:
            server.stop()
    return int(worst > TARGET or memory > MEMORY_TARGET)


if __name__ == "__main__":
    sys.exit(main(asked_kind()))
