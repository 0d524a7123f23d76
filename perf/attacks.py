"""Honest votes beside an attacker: `python -m perf.attacks [ATTACK ...]`.

Each attack meets a fresh server with a bank of 140 items and 50,000 votes of 100 models. Voters from networks of their
own (the server trusts one proxy) vote with a short time to think, and `/healthz` is polled. Meanwhile the attacker, one
network in a process of its own, sends on 16 lines as fast as it is answered. At the end somebody else uploads a file.
Targets: 95% of the honest calls and every answer of `/healthz` within a second, every vote and the upload taken.
"""

import asyncio
import csv
import io
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlencode

import httpx

from arena.server.uvicorn_server import allow_many_connections
from arena.web.cookies import COOKIE
from arena.web.results_address import PLOT_NAMES, board_address, model_address
from perf._line import Line
from perf.board_path import FAMILIES, MODELS, Arena
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.benchmarks.mmbench import MMBENCH
from scoring.benchmarks.mmt_bench import subtasks
from scoring.registry import BENCHMARKS
from scoring.task_map.files import FILES
from scoring.task_map.tree import Linkage
from tests.support.circular_passes import RIGHT, passes
from tests.support.servers import AppServer

SECONDS = 20.0
VOTES = 50_000
"""Votes in the database when an attack begins."""
VOTERS = 6
THINKING = 0.5
"""Mean seconds between two calls of an honest voter."""
TARGET = 1.0
"""Most seconds of 95% of the honest calls, and of every answer of `/healthz`."""
LINES = 16
"""Coroutines of an attacker that send at the same time."""
REFUSED_SECONDS = 0.2
"""Seconds after which a refused line sends again."""
PREDICT = "/gradio_api/run/predict"
HEADER = b"index,question,answer,prediction\n"
OPEN_QUOTE = HEADER + b'1,q,a,"'
PRICED = "on_change"
"""The event that prices a scoring."""


def http_client(port: int) -> httpx.AsyncClient:
    """Returns a client for many visitors: it keeps none of their cookies."""
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits, cookies=no_cookies
    )


class Page:
    """Gradio's events and the acts of battles over HTTP, for any number of visitors."""

    def __init__(self, client: httpx.AsyncClient, config: Mapping[str, Any]) -> None:
        self.client = client
        self._events = {event["api_name"]: event for event in config["dependencies"]}
        self._parts = {part["id"]: part["props"] for part in config["components"]}

    async def cookie(self, headers: Mapping[str, str]) -> str:
        """Returns the cookie of a new visitor, as a header's value."""
        answer = await self.client.get("/", headers=headers)
        return f"{COOKIE}={answer.cookies.get(COOKIE, '')}"

    async def call(self, event: str, headers: Mapping[str, str], **values: Any) -> httpx.Response:
        """Calls an event with these values by the parts' `elem_id`; other parts have the values of a fresh page."""
        parts = [self._parts[part] for part in self._events[event]["inputs"]]
        body = {
            "data": [values.get(part.get("elem_id", ""), part.get("value")) for part in parts],
            "fn_index": self._events[event]["id"],
            "session_hash": headers["x-forwarded-for"],
        }
        return await self.client.post(PREDICT, json=body, headers=headers)

    async def act(self, name: str, headers: Mapping[str, str], **fields: str) -> httpx.Response:
        """Acts in a battle."""
        return await self.client.post(f"/battle/{name}", json=fields, headers=headers)


@dataclass
class Service:
    """The service that honest people had during one attack."""

    seconds: list[float] = field(default_factory=list)
    """Seconds of each call of a voter."""
    votes: int = 0
    """Votes taken."""
    failed: list[str] = field(default_factory=list)
    """The replies to votes that were not taken."""
    health_seconds: list[float] = field(default_factory=list)
    """Seconds of each answer of `/healthz`."""
    upload_error: str = ""
    """The error of the upload at the end; "" if the file was taken."""
    requests: Counter[int] = field(default_factory=Counter)
    """Number of the attacker's requests by status; status 0 if unanswered."""

    @property
    def p95(self) -> float:
        """Seconds within which 95 of 100 calls were answered."""
        if len(self.seconds) < 2:
            return float("inf")
        return statistics.quantiles(self.seconds, n=20)[-1]

    def __str__(self) -> str:
        failed = f"{len(self.failed)} failed {self.failed[:1] or ''}".strip()
        slowest = max(self.health_seconds)
        return f"p95 {self.p95:.2f} s, healthz {slowest:.2f} s; {self.votes} votes taken, {failed}"

    @property
    def meets_targets(self) -> bool:
        is_quick = self.p95 < TARGET and max(self.health_seconds) < TARGET
        return is_quick and not self.failed and not self.upload_error


# Honest people
async def vote(
    page: Page,
    port: int,
    number: int,
    service: Service,
    until: float,
    thinking: Callable[[], float],
) -> None:
    """Votes in one battle after another until the monotonic time `until`. Thinks before each call, and times it.

    While a voter reads the names, the page asks for the next battle ahead of time.
    """
    headers = {"x-forwarded-for": f"12.{number}.1.7"}
    await asyncio.sleep(thinking() * random.random())  # so that voters do not come all at once
    headers["cookie"] = await page.cookie(headers)
    line = Line(port, headers)

    async def timed(act: str, **fields: str) -> str:
        await asyncio.sleep(thinking())
        start = time.monotonic()
        try:
            text = await line.act(act, **fields)
        except (OSError, EOFError) as error:
            text = repr(error)
        service.seconds.append(time.monotonic() - start)
        return text

    battle = await timed("next")
    while time.monotonic() < until:
        token = re.search(r'"battle":"([^"]+)"', battle)
        choice = await timed("choose", battle=token[1], value="a") if token else battle
        if token and "You chose A" in choice:
            service.votes += 1
        else:
            service.failed.append(choice[:200])
        await timed("names", battle=token[1] if token else "")
        with suppress(OSError, EOFError):
            await line.act("hold")
        battle = await timed("next")
    line.close()


async def poll_health(client: httpx.AsyncClient, service: Service, until: float) -> None:
    """Polls `/healthz` as a load balancer does, but more often."""
    while time.monotonic() < until:
        start = time.monotonic()
        with suppress(httpx.TransportError):
            await client.get("/healthz")
        service.health_seconds.append(time.monotonic() - start)
        await asyncio.sleep(0.1)


async def upload(page: Page, service: Service) -> None:
    """Uploads a file as an honest researcher."""
    headers = {"x-forwarded-for": "12.99.1.7"}
    headers["cookie"] = await page.cookie(headers)
    answer = await page.client.post("/uploads?name=mine.json", content=b"{}", headers=headers)
    service.upload_error = "" if answer.status_code == 200 else answer.text


async def use_honestly(
    port: int,
    seconds: float,
    service: Service,
    voters: int = VOTERS,
    thinking: Callable[[], float] = lambda: THINKING,
) -> None:
    """Votes and polls for this many seconds, then uploads a file."""
    async with http_client(port) as client:
        page = Page(client, (await client.get("/config")).json())
        until = time.monotonic() + seconds
        await asyncio.gather(
            poll_health(client, service, until),
            *(vote(page, port, number, service, until, thinking) for number in range(voters)),
        )
        await upload(page, service)


# Attackers
class Attacker:
    """One network's client: counts its requests by the status of the answer, and waits a little when refused."""

    def __init__(self, page: Page, port: int, requests: Counter[int]) -> None:
        self.page = page
        self.port = port
        self.requests = requests
        self.numbers = itertools.count()
        """Numbers by which an attack's requests differ, shared by its lines."""
        self._addresses = itertools.count()

    def headers(self, cookie: str = "") -> dict[str, str]:
        """Returns the headers of a request from another address of the network; a forged address comes first."""
        number = next(self._addresses)
        return {
            "x-forwarded-for": f"14.{number % 250}.1.1, 11.7.7.{number % 250}",
            "cookie": cookie,
        }

    async def count(self, call: Awaitable[httpx.Response]) -> httpx.Response | None:
        """Waits for an answer and counts it; None without one."""
        try:
            answer = await call
        except httpx.TransportError:
            self.requests[0] += 1
            return None
        self.requests[answer.status_code] += 1
        if answer.status_code == 429:
            await asyncio.sleep(REFUSED_SECONDS)
        return answer

    async def get(self, path: str, cookie: str = "") -> None:
        await self.count(self.page.client.get(path, headers=self.headers(cookie)))

    async def upload(self, name: str, content: bytes, cookie: str = "") -> tuple[str, str]:
        """Uploads a file, by default with a new cookie; returns the cookie and the file's token, "" if refused."""
        cookie = cookie or await self.page.cookie(self.headers())
        call = self.page.client.post(
            f"/uploads?name={name}", content=content, headers=self.headers(cookie)
        )
        answer = await self.count(call)
        if answer is None or answer.status_code != 200:
            return cookie, ""
        return cookie, answer.text

    async def read(self, name: str, content: bytes) -> None:
        """Uploads a file and has it read."""
        cookie, token = await self.upload(name, content)
        form = {"upload-token": token}
        await self.count(self.page.call("on_arrived", self.headers(cookie), **form))

    async def score(self, name: str, content: bytes, cookie: str = "") -> str:
        """Uploads a file and has it scored by rules; returns the report's link, "" without one."""
        cookie, token = await self.upload(name, content, cookie)
        form = {
            "upload-token": token,
            "benchmark": MMBENCH.name,
            "protocol": next(iter(MMBENCH.protocols)),
        }
        await self.count(self.page.call("on_arrived", self.headers(cookie), **form))
        answer = await self.count(self.page.call("on_check", self.headers(cookie), **form))
        link = re.search(r'"data":\["([\w-]{16,})"', answer.text) if answer is not None else None
        return link[1] if link else ""


async def nobody(attacker: Attacker) -> None:
    """Does nothing, for comparison."""


async def page_loads(attacker: Attacker) -> None:
    for path in itertools.cycle(("/", "/config")):
        await attacker.get(path)


async def item_search(attacker: Attacker) -> None:
    """Searches for as many words as are allowed, and every fourth time for far more."""
    cookie = await attacker.page.cookie(attacker.headers())
    for number in itertools.count():
        length = 60 if number % 4 else 9_000
        words = " ".join(f"{word:x}" for word in range(number, number + length))
        await attacker.count(attacker.page.act("search", attacker.headers(cookie), value=words))


async def dated_boards(attacker: Attacker) -> None:
    """Opens a board of another day each time, with another plot and other parameters."""
    cookie = await attacker.page.cookie(attacker.headers())
    for number, plot in zip(attacker.numbers, itertools.cycle(PLOT_NAMES), strict=False):
        query = {
            "source": "bench",
            "family": f"family {number % FAMILIES}" if number % 3 else "",
            "since": str(date(2020, 1, 1) + timedelta(number)),
            "voters": "all" if number % 2 else "",
            "plot": plot,
        }
        await attacker.get(board_address(query), cookie)


async def dated_files(attacker: Attacker) -> None:
    """Reads the table of a board of another day each time."""
    for number in attacker.numbers:
        day = date(2020, 1, 1) + timedelta(number)
        family = "" if number % 2 else "family+3"
        await attacker.get(f"/boards/board.csv?source=bench&since={day}&family={family}")


async def plot_pages(attacker: Attacker) -> None:
    """Reads the plots of one board again and again, and its table."""
    for name in itertools.cycle(("plot.svg", "plot.png", "board.csv")):
        await attacker.get(f"/boards/{name}?source=bench&plot=families")


async def model_pages(attacker: Attacker) -> None:
    """Reads the models' pages, with another family and from another battle each time."""
    for number in attacker.numbers:
        query = {
            "source": "bench",
            "family": f"family {number % FAMILIES}" if number % 2 else "",
            "before": str(VOTES - number),
        }
        await attacker.get(model_address(f"model-{number % MODELS:03}", query))


async def slow_heads(attacker: Attacker) -> None:
    """Sends heads of requests at a few bytes a second, on a hundred sockets a line."""

    async def drip() -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", attacker.port)
                attacker.requests[0] += 1
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n")
                for number in itertools.count():
                    await asyncio.sleep(1)
                    writer.write(b"X-%d: b\r\n" % number)
                    await writer.drain()

    await asyncio.gather(*(drip() for _ in range(100)))


async def half_open_sockets(attacker: Attacker) -> None:
    """Opens thousands of sockets and sends nothing."""
    open_sockets = list[socket.socket]()
    loop = asyncio.get_running_loop()
    while True:
        with suppress(OSError):
            new_socket = socket.socket()
            new_socket.setblocking(False)
            open_sockets.append(new_socket)
            # `wait_for` of Python 3.11 may lose the end of the attack.
            async with asyncio.timeout(5):
                await loop.sock_connect(new_socket, ("127.0.0.1", attacker.port))
            attacker.requests[0] += 1
        await asyncio.sleep(0.01)


async def small_uploads(attacker: Attacker) -> None:
    """Uploads two bytes with a new cookie each time."""
    while True:
        await attacker.upload("x.json", b"{}")


async def hostile_cells(attacker: Attacker) -> None:
    """Scores small files with cells that make careless patterns slow."""
    for unit in itertools.cycle(("'", '"', " ", "it is ", "A. ", "(", "**A** ", "not A ")):
        await attacker.score("x.csv", table(unit * (4_000 // len(unit)), 3))


async def large_reports(attacker: Attacker) -> None:
    """Scores files of 40,000 rows, and reads the reports."""
    content = table("It is a dog or a cat, and so the answer is B.", 10_000)
    while True:
        # For its cookie, with which the reports are read.
        cookie, _ = await attacker.upload("x.json", b"{}")
        link = await attacker.score("x.csv", content, cookie)
        for _ in range(10):
            for file in ("x-audit.jsonl", "x_acc.csv"):
                await attacker.get(f"/report/{link}", cookie)
                await attacker.get(f"/reports/{link}/{file}", cookie)


async def report_pages(attacker: Attacker) -> None:
    """Reads a report of 200 rows, its answers, its comparison with itself and its files again and again."""
    link = ""
    while not link:
        link = await attacker.score("x.csv", table("It is a dog, so the answer is B.", 50))
    files = [f"/reports/{link}/{name}" for name in ("partial_x-audit.jsonl", "partial_x_acc.csv")]
    pages = (f"/report/{link}", f"/report/{link}/answers?page=2", f"/report/{link}?with={link}")
    for path in itertools.cycle((*pages, *files)):
        await attacker.get(path)


async def open_quotes(attacker: Attacker) -> None:
    """Uploads 30 MB of lines in one quote that is never closed, and has them read."""
    content = OPEN_QUOTE + b"x\n" * 15_000_000
    while True:
        await attacker.read("x.csv", content)


async def long_cells(attacker: Attacker) -> None:
    """Uploads 28 MB of lines in cells of 900 kB each, and has them read."""
    row = b'1,q,a,"' + b"x\n" * 450_000 + b'"\n'
    content = HEADER + row * 31
    while True:
        await attacker.read("x.csv", content)


async def priced_again(attacker: Attacker) -> None:
    """Uploads 16 MB of answers to MM-Vet, and asks for their price again and again with other settings."""
    cookie, token = await attacker.upload("x.json", answers(15_800_000))
    for number in attacker.numbers:
        form = {
            "upload-token": token,
            "benchmark": BENCHMARKS["mm-vet"].name,
            "judge": "My own key",
            "own-model": f"judge {number}",
            "own-key": "k",
            "missing": "Leave them unscored",
            "protocol": list(BENCHMARKS["mm-vet"].protocols)[number % 2],
            "questions": own_sample().name,
        }
        await attacker.count(attacker.page.call(PRICED, attacker.headers(cookie), **form))


async def task_maps(attacker: Attacker) -> None:
    """Opens maps of tasks with other parameters each time."""
    tasks = list(subtasks())
    for number in attacker.numbers:
        query = {
            "paper": ("20", "32")[number % 2],
            "linkage": get_args(Linkage)[number % 3],
            "clusters": 2 + number % 30,
            "task": tasks[number % len(tasks)],
        }
        name = ("", "/" + FILES[0], "/" + FILES[-1])[number % 3]
        await attacker.get(f"/task-map{name}?{urlencode(query)}")


def answers(size: int, inserted: str = "") -> bytes:
    """Returns answers to our own sample of MM-Vet, of about this many bytes in all and with these words in them."""
    ids = [question.id for question in own_sample().questions]
    words = f"It is a dog {inserted} or a cat, so 4. "
    length = size // len(ids)
    repeated = words * (length // len(words))
    return json.dumps({id: f"{id} {repeated}"[:length] for id in ids}).encode()


def table(answer: str, questions: int) -> bytes:
    """Returns a circular MMBench file of this many questions, each answered four times with this text."""
    rows = [row for base in range(questions) for row in passes(base, [*RIGHT[:3], answer])]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


Attack = Callable[[Attacker], Coroutine[Any, Any, None]]
ATTACKS: Mapping[str, Attack] = {
    attack.__name__.replace("_", " "): attack
    for attack in (
        nobody,
        page_loads,
        item_search,
        dated_boards,
        dated_files,
        plot_pages,
        model_pages,
        slow_heads,
        half_open_sockets,
        small_uploads,
        hostile_cells,
        large_reports,
        report_pages,
        open_quotes,
        long_cells,
        priced_again,
        task_maps,
    )
}


def attack(name: str, port: int, seconds: float, pipe: Connection) -> None:
    """Attacks for this many seconds, in this process, and sends the counts of requests down the pipe."""
    allow_many_connections()
    requests = Counter[int]()

    async def lines() -> None:
        async with http_client(port) as client:
            page = Page(client, (await client.get("/config")).json())
            attacker = Attacker(page, port, requests)
            attacks = asyncio.gather(*(ATTACKS[name](attacker) for _ in range(LINES)))
            with suppress(TimeoutError):
                await asyncio.wait_for(attacks, seconds)

    try:
        asyncio.run(lines())
    finally:
        pipe.send(requests)


def service_under(name: str, folder: Path, seconds: float) -> Service:
    """Starts a server on a copy of the folder, attacks it while people vote, and returns the service that they had."""
    data_dir = folder.parent / name
    service = Service()
    shutil.copytree(folder, data_dir)
    server = AppServer(data_dir, TRUSTED_HOPS="1", DEMO_BANK="off")
    processes = multiprocessing.get_context("spawn")
    receiver, sender = processes.Pipe(duplex=False)
    attacker = processes.Process(
        target=attack, args=(name, server.port, seconds, sender), daemon=True
    )
    try:
        attacker.start()
        # longer than the attack, which takes a while to start
        asyncio.run(use_honestly(server.port, seconds + 3, service))
        service.requests = receiver.recv() if receiver.poll(30) else Counter()
        if not service.requests and name != "nobody":
            service.failed.append("the attacker sent nothing")
    finally:
        attacker.kill()
        server.stop()
        shutil.rmtree(data_dir)
    return service


def main(names: Sequence[str] = (), seconds: float = SECONDS, votes: int = VOTES) -> int:
    """Prints honest people's service during each attack; returns 1 if a target was missed, 2 for an unknown attack."""
    unknown = [name for name in names if name not in ATTACKS]
    if unknown:
        print(f"There is no attack {', '.join(unknown)}. There are: {', '.join(ATTACKS)}.")
        return 2
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "planted"
        folder.mkdir()
        Arena(f"sqlite:///{folder / 'arena.db'}", votes).close()
        print(
            f"{'attack':<18} {'requests by status':<34} verdict what honest people saw", flush=True
        )
        missed = 0
        for name in names or ATTACKS:
            service = service_under(name, folder, seconds)
            missed += not service.meets_targets
            requests = ", ".join(
                f"{status or '-'}: {count:,}" for status, count in sorted(service.requests.items())
            )
            verdict = "ok" if service.meets_targets else "MISSED"
            summary = str(service)
            if service.upload_error:
                summary += f", an upload refused: {service.upload_error}"
            print(f"{name:<18} {requests:<34} {verdict:<7} {summary}", flush=True)
        print(f"load {os.getloadavg()[0]:.1f} on {multiprocessing.cpu_count()} cores")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
