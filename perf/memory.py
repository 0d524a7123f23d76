"""Memory that strangers leave behind: `python -m perf.memory [REQUESTS]`.

28 uploads of 16 MB, whose answers, columns or options are long and different each time, are read and priced. A minute
after the last one the server and its child processes must hold less than 400 MB. Then come 10,000 ordinary requests.
After them the memory must be less than 10% above the highest of three: that before them, after 2,000 and after 4,000.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

from perf.attacks import PRICED, Attacker, Page, answers, http_client
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.registry import BENCHMARKS
from tests.support.servers import AppServer

UPLOADS = 28
REQUESTS = 10_000
TARGET = 400_000_000
"""Bytes."""
PATIENCE_SECONDS = 3.0
"""Seconds that an attacker waits for an answer."""
REST_SECONDS = 60.0
SIZE = 15_800_000
"""Bytes of an upload, of 16 MB that are allowed."""
PATHS = ("/", "/results", "/healthz", "/score", "/config", "/task-map", "/boards/board.csv")


def held_bytes(pid: int) -> int:
    """Returns the bytes that a server and its child processes hold; shared memory counts once."""
    process = psutil.Process(pid)
    total = process.memory_info().rss
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a child may have just ended
            total += child.memory_full_info().uss
    return total


def hostile_file(number: int) -> tuple[str, bytes]:
    """Returns the name and content of one upload: of every four, two with long answers, one with long names of columns
    and one with long options.
    """
    if number % 4 == 1:
        names = [f"{number} {column} {'name ' * 190_000}" for column in range(14)]
        head = ",".join(["index", "question", "A", "answer", "prediction", *names])
        return "x.csv", f"{head}\n1,q,a,A,A{',' * len(names)}\n".encode()
    if number % 4 == 3:
        rows = [f"{row},q,{number} {'cat ' * 200_000},dog {row},A,It is B" for row in range(18)]
        return "x.csv", "\n".join(["index,question,A,B,answer,prediction", *rows]).encode()
    return "x.json", answers(SIZE, f"number {number}")


async def attack(attacker: Attacker) -> None:
    """Uploads hostile files, and has them read and priced."""
    form = {
        "benchmark": BENCHMARKS["mm-vet"].name,
        "judge": "My own key",
        "own-model": "judge",
        "own-key": "k",
        "missing": "Leave them unscored",
        "questions": own_sample().name,
        "protocol": next(iter(BENCHMARKS["mm-vet"].protocols)),
    }
    for number in range(UPLOADS):
        cookie, token = await attacker.upload(*hostile_file(number))
        values = {**form, "upload-token": token}
        for event in ("on_arrived", PRICED):
            call = attacker.page.call(event, attacker.headers(cookie), **values)
            with suppress(TimeoutError):
                await asyncio.wait_for(attacker.count(call), PATIENCE_SECONDS)


async def visit(client: httpx.AsyncClient, first: int, last: int) -> None:
    """Sends the requests with these numbers (without the last), from many networks, eight at a time."""

    async def send_every_eighth(start: int) -> None:
        for number in range(first + start, last, 8):
            headers = {"x-forwarded-for": f"12.{number % 200}.{number // 200 % 200}.7"}
            await client.get(PATHS[number % len(PATHS)], headers=headers)

    await asyncio.gather(*map(send_every_eighth, range(8)))


async def measure(server: AppServer, requests: int) -> list[int]:
    """Prints the memory before, after and a minute after the uploads, and while ordinary visitors come.

    Returns it in bytes a minute after the uploads, and after each fifth of the ordinary requests.
    """
    pid = server.process.pid or 0
    statuses = Counter[int]()

    def print_held(when: str) -> int:
        size = held_bytes(pid)
        print(f"{when:<40} {size / 1e6:7,.0f} MB", flush=True)
        return size

    async with http_client(server.port) as client:
        page = Page(client, (await client.get("/config")).json())
        await visit(client, 0, 200)
        print_held("after 200 requests")
        start = time.monotonic()
        await attack(Attacker(page, server.port, statuses))
        print_held(f"after {UPLOADS} uploads in {time.monotonic() - start:.0f} s")
        await asyncio.sleep(REST_SECONDS)
        sizes = [print_held(f"{REST_SECONDS:.0f} s later")]
        for part in range(5):
            end = requests * (part + 1) // 5
            await visit(client, requests * part // 5, end)
            sizes.append(print_held(f"after {end:,} ordinary requests"))
    print(f"answers by status: {json.dumps(statuses)}; load {os.getloadavg()[0]:.1f}")
    return sizes


def main(requests: int = REQUESTS) -> int:
    """Measures, prints, and returns 1 if a target was missed."""
    with tempfile.TemporaryDirectory() as folder:
        server = AppServer(Path(folder) / "data", TRUSTED_HOPS="1")
        try:
            sizes = asyncio.run(measure(server, requests))
        finally:
            server.stop()
    # Before the requests, and after the first and the second fifth of them.
    highest_before = max(sizes[:3])
    is_flat = sizes[-1] < 1.1 * highest_before
    return int(sizes[0] > TARGET or not is_flat)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
