"""What 218 x 5 calls to a judge take, beside the ideal and a sequential client: `python -m perf.judge_throughput`.

A file of 218 answers is scored in 5 runs under the paper's protocol, with the cache. The server is a process of its own
and answers each call after 200 ms. The ideal is calls x latency / concurrency; the target is at most 1.3 times that.
Scored once more, the file comes from the cache without any call; the target is under 2 s. The sequential client is
httpx, one call after another over one connection, as in the authors' script; it makes a sample of the calls, and the
time of all is extrapolated. Memory is the growth of this process's resident set from the moment that openai is loaded
to its peak during the calls; the target is less than 100 MB.

Then the file is scored by a server without latency, where 30% of the calls go wrong: refused with and without a time to
wait, failed, cut off, or hanging until they are given up. The targets are 30 s and 1.6 calls a grade.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from arena.database import Database
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.benchmarks.mm_vet import MM_VET, Options, grading
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge
from scoring.judges.rate_limit import RateLimits
from scoring.judges.spec import Ask, JudgeSpec, request_body
from scoring.registry import score
from scoring.report import Filled, Question, QuestionSet, Report
from tests.support.openai_server import Faults, OpenAIServer

ROOT = Path(__file__).parent.parent
LATENCY = 0.2
QUESTIONS = 218
RUNS = 5
CALLS = QUESTIONS * RUNS
CONCURRENCY = 32
SAMPLE = 25
"""Calls of the sequential client."""
RATIO_TARGET = 1.3
"""Most of the quotient wall time / ideal time."""
MEMORY_TARGET = 100
"""MB."""
CACHED_TARGET = 2.0
"""Seconds."""
FAULTS = Faults(
    0.3,  # of the calls
    kinds=("429", "429 with Retry-After", "500", "503", "reset", "truncated", "hang"),
    hang=120.0,
)
FAULTS_TARGET = 30.0
"""Seconds."""
CALLS_TARGET = 1.6
"""Calls a grade."""
SPEC = JudgeSpec(
    model="test-judge",
    temperature=True,
    tokens="max_tokens",
    samples=True,
    seed=True,
    json_schema=False,
    reasoning_tokens=0,
    price=None,
)


@contextmanager
def openai_server() -> Iterator[str]:
    """Starts the server and yields its address."""
    command = [sys.executable, "-m", "tests.support.openai_server", str(LATENCY)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


def answers() -> list[Filled]:
    """Returns questions with answers of the usual length."""
    return [
        Filled(
            Question(f"q{number}", f"Question {number}?", "truth", ("rec",)),
            f"{number}: {'prediction ' * 40}",
        )
        for number in range(QUESTIONS)
    ]


def first_asks(filled: list[Filled]) -> list[Ask]:
    """Returns the questions of the first run to the judge."""
    return [
        next(grading(answer, run=0, protocol="paper", spec=SPEC, samples=1)) for answer in filled
    ]


@dataclass
class Memory:
    """The peak of this process's resident set for the length of a `with` block."""

    peak: int = 0

    def __enter__(self) -> "Memory":
        self._process = psutil.Process()
        self._end = threading.Event()
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
        """The growth in MB."""
        return max(0, self.peak - self.start) / 1e6


async def score_file(address: str, filled: list[Filled], cache: ReplyCache) -> Report:
    """Scores the file as the app does."""
    questions = QuestionSet(
        benchmark="mm-vet",
        name="bench",
        digest="",
        official=False,
        questions=tuple(answer.question for answer in filled),
    )
    report = MM_VET.draft(
        filled,
        questions,
        options=Options(protocol="paper", runs=RUNS),
        spec=SPEC,
        address=address,
        file="bench.json",
        title="bench",
    )
    async with Judge(
        SPEC, Endpoint(address, Secret("none")), RateLimits(concurrency=CONCURRENCY)
    ) as judge:
        return await score(report, judge, cache, lambda progress: None, asyncio.Event())


def ask_in_turn(address: str, asks: list[Ask]) -> list[str]:
    """Asks one after another; returns the replies."""
    with httpx.Client(trust_env=False) as client:
        bodies = [json.dumps(request_body(SPEC, ask)) for ask in asks]
        replies = [
            client.post(f"{address}/chat/completions", content=body).json() for body in bodies
        ]
        return [reply["choices"][0]["message"]["content"] for reply in replies]


def score_under(faults: Faults, filled: list[Filled]) -> tuple[float, float]:
    """Scores the file by a server with faults; returns the seconds and the calls a grade."""
    with OpenAIServer(faults=faults) as server, tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/bench.db")
        start = time.perf_counter()
        asyncio.run(score_file(server.address, filled, ReplyCache(database)))
        seconds = time.perf_counter() - start
        database.close()
    return seconds, server.counts.calls / CALLS


def main() -> int:
    """Measures, prints, and returns 1 where a target is missed."""
    filled = answers()
    with openai_server() as address, tempfile.TemporaryDirectory() as folder:
        # Loads openai. A cache of its own, so that the measured run makes all its calls.
        warm_up_database = Database(f"sqlite:///{folder}/warm_up.db")
        asyncio.run(score_file(address, filled[:1], ReplyCache(warm_up_database)))
        warm_up_database.close()
        database = Database(f"sqlite:///{folder}/bench.db")
        with Memory() as memory:
            start = time.perf_counter()
            report = asyncio.run(score_file(address, filled, ReplyCache(database)))
            wall = time.perf_counter() - start

        start = time.perf_counter()
        cached_report = asyncio.run(score_file(address, filled, ReplyCache(database)))
        cached_seconds = time.perf_counter() - start

        start = time.perf_counter()
        ask_in_turn(address, first_asks(filled)[:SAMPLE])
        sequential = (time.perf_counter() - start) / SAMPLE * CALLS
        database.close()
    assert cached_report.rows == report.rows
    faultless, _ = score_under(Faults(), filled)
    faulty, calls_a_grade = score_under(FAULTS, filled)
    ideal = CALLS * LATENCY / CONCURRENCY
    ratio = wall / ideal
    print(
        f"{CALLS:,} calls, {CONCURRENCY} at once, {LATENCY:g} s each: {wall:.2f} s, ideal {ideal:.2f} s"
    )
    print(f"wall / ideal      {ratio:.2f}  (target: at most {RATIO_TARGET})")
    print(f"from the cache    {cached_seconds:.2f} s  (target: under {CACHED_TARGET:g} s)")
    print(
        f"sequential client {sequential:.0f} s, extrapolated from {SAMPLE} calls: {sequential / wall:.0f} times as long"
    )
    print(f"memory grew by    {memory.growth:.0f} MB  (target: less than {MEMORY_TARGET})")
    print(
        f"30% faults        {faulty:.1f} s  (target: at most {FAULTS_TARGET:g} s; {faultless:.1f} s without)"
    )
    print(f"calls a grade     {calls_a_grade:.2f}  (target: at most {CALLS_TARGET:g})")
    misses = (
        ratio > RATIO_TARGET,
        cached_seconds >= CACHED_TARGET,
        memory.growth >= MEMORY_TARGET,
        faulty > FAULTS_TARGET,
        calls_a_grade > CALLS_TARGET,
    )
    return int(any(misses))


if __name__ == "__main__":
    sys.exit(main())
