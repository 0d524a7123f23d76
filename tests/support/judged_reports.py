"""Our own sample as a report that a judge's server grades."""

import asyncio
from collections.abc import Iterator

import pytest

from arena.budget import JobBudget
from arena.database import Database
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.benchmarks.mm_vet import Options
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge
from scoring.judges.rate_limit import RateLimits
from scoring.judges.run import Progress
from scoring.registry import score
from scoring.report import Report
from tests.support.judging_process import HASTY, SPEC, drafted
from tests.support.openai_server import OpenAIServer

PAPER = Options("paper", 2)


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    yield opened
    opened.close()


@pytest.fixture
def cache(database) -> ReplyCache:
    return ReplyCache(database)


def scored(
    server: OpenAIServer,
    cache: ReplyCache,
    report: Report | None = None,
    pace: RateLimits = HASTY,
    job_budget: JobBudget | None = None,
    told: list[Progress] | None = None,
    stop_at: int | None = None,
    address: Endpoint | None = None,
    spec=SPEC,
) -> Report:
    """Score a draft, by default that of our own sample; `stop_at` grades it is told to stop."""
    report = report or drafted(server.address)
    heard = [] if told is None else told

    async def run() -> Report:
        stop = asyncio.Event()

        def tell(progress: Progress) -> None:
            heard.append(progress)
            if progress.done == stop_at:
                stop.set()

        where = address or Endpoint(server.address, Secret("sk-test"))
        async with Judge(spec, where, pace, job_budget) as judge:
            return await score(report, judge, cache, tell, stop)

    return asyncio.run(run())
