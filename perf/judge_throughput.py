"""What 218 x 5 calls to a judge take, beside the ideal and a sequential client: `python -m perf.judge_throughput`.

The server is a process of its own and answers each call after 200 ms. The ideal is calls x latency / concurrency; the
target is at most 1.3 times that. The sequential client is httpx, one call after another over one connection, as the
authors' script asks; it makes a sample of the calls in the same run, and what all would take is extrapolated. Memory is
this process's resident set, once openai is loaded, against its peak while the calls are under way; the target is less
than 100 MB.
"""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from arena.records import Secret
from scoring.address import Address
from scoring.judge import Judge
from scoring.pace import Pace
from scoring.spec import Ask, JudgeSpec, Message, Reply, request

ROOT = Path(__file__).parent.parent
PROMPT = (ROOT / "scoring" / "prompts" / "mm_vet.txt").read_text("utf-8")
LATENCY = 0.2
QUESTIONS, RUNS, CONCURRENCY = 218, 5, 32
SAMPLE = 25
"""Calls of the sequential client."""
TARGET = 1.3
MEMORY_TARGET = 100
SPEC = JudgeSpec("test-judge", True, "max_tokens", True, True, False, False, 0, None)


@contextmanager
def served() -> Iterator[str]:
    """Start the server and give its address."""
    command = [sys.executable, "-m", "tests.openai_server", str(LATENCY)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


def asks() -> list[Ask]:
    """Return what a run over MM-Vet asks under the paper's protocol."""
    return [
        Ask((Message("user", f"{PROMPT}\nQuestion {number}? | truth | {'prediction ' * 40} | "),), 0.0, 3, seed=run)
        for run in range(RUNS)
        for number in range(QUESTIONS)
    ]


@dataclass
class Memory:
    """The peak of this process's resident set for the length of a `with` block."""

    peak: int = 0

    def __enter__(self) -> "Memory":
        self._process, self._end = psutil.Process(), threading.Event()
        self.start = self._process.memory_info().rss
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._end.wait(0.05):
            self.peak = max(self.peak, self._process.memory_info().rss)

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @property
    def growth(self) -> float:
        """In MB."""
        return max(0, self.peak - self.start) / 1e6


async def judged(address: str, wanted: list[Ask]) -> list[Reply]:
    """Ask a judge for all at once."""
    async with Judge(SPEC, Address(address, Secret("none")), Pace(concurrency=CONCURRENCY)) as judge:
        return await asyncio.gather(*map(judge.ask, wanted))


def sequential(address: str, wanted: list[Ask]) -> list[str]:
    """Ask one after another."""
    with httpx.Client(trust_env=False) as client:
        bodies = [json.dumps(request(SPEC, ask)) for ask in wanted]
        answers = [client.post(f"{address}/chat/completions", content=body).json() for body in bodies]
        return [answer["choices"][0]["message"]["content"] for answer in answers]


def main() -> int:
    """Measure, print, and return 1 where a target is missed."""
    with served() as address:
        wanted = asks()
        asyncio.run(judged(address, wanted[:CONCURRENCY]))
        with Memory() as memory:
            start = time.perf_counter()
            replies = asyncio.run(judged(address, wanted))
            wall = time.perf_counter() - start
        start = time.perf_counter()
        texts = sequential(address, wanted[:SAMPLE])
        one_by_one = (time.perf_counter() - start) / SAMPLE * len(wanted)
    assert [reply.texts[0] for reply in replies[:SAMPLE]] == texts
    ideal = len(wanted) * LATENCY / CONCURRENCY
    ratio = wall / ideal
    print(f"{len(wanted):,} calls, {CONCURRENCY} at once, {LATENCY:g} s each: {wall:.2f} s, ideal {ideal:.2f} s")
    print(f"wall / ideal      {ratio:.2f}  (target: at most {TARGET})")
    print(
        f"sequential client {one_by_one:.0f} s, extrapolated from {SAMPLE} calls: {one_by_one / wall:.0f} times as long"
    )
    print(f"memory grew by    {memory.growth:.0f} MB  (target: less than {MEMORY_TARGET})")
    return int(ratio > TARGET or memory.growth >= MEMORY_TARGET)


if __name__ == "__main__":
    sys.exit(main())
