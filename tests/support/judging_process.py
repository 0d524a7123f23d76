"""Judging as a server does it: its jobs, budget and worker on a database, and the judges that they ask."""

import ssl
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import update

from arena.budget import Budget, Ceilings
from arena.database import Database
from arena.inference.endpoint import Endpoint
from arena.io.fetch import Fetcher
from arena.types import Secret
from scoring.benchmarks.mm_vet import MM_VET, Options
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS, own_sample
from scoring.benchmarks.predictions import fill, read_predictions
from scoring.jobs.store import JOB, Job, Jobs
from scoring.jobs.worker import JobWorker, Operator
from scoring.judges.cache import ReplyCache
from scoring.judges.rate_limit import RateLimits
from scoring.judges.spec import JudgeSpec, Price
from scoring.registry import quote
from scoring.report import QuestionSet, Report
from tests.support.certificates import HOST

SPEC = JudgeSpec("test-judge", True, "max_tokens", True, True, False, 0, Price(2.0, 8.0))
HASTY = RateLimits(concurrency=16, timeout=30.0, attempts=8, backoff=0.02)
LEASE = timedelta(seconds=3)
WIDE = Ceilings(10**9, 10**9, 10**9)
OWNER = "ada"
CALLS = 16 + 4 + 5
"""Our sample in one run has 16 questions, four canaries, and five secret ones."""


def drafted(
    address: str,
    path: Path = SAMPLE_PREDICTIONS,
    questions: QuestionSet | None = None,
    options: Options | None = None,
    spec: JudgeSpec = SPEC,
) -> Report:
    """Return the draft of a file; by default of our own sample, with one run."""
    questions, options = questions or own_sample(), options or Options(runs=1)
    filled = fill(questions, read_predictions(path, questions), options.missing)
    draft = MM_VET.draft(filled, questions, options, spec, address, path.name, "a model")
    return replace(draft, canary_seed=draft.canary_seed and "seed")


class Bench:
    """What one server needs for scoring, on a database."""

    def __init__(
        self,
        database: Database,
        address: str,
        key: str = "sk-test",
        pace: RateLimits = HASTY,
        ceilings: Ceilings = WIDE,
        lends: bool = True,
        **more,
    ) -> None:
        self.database = database
        self.jobs, self.cache = Jobs(database, LEASE), ReplyCache(database)
        self.budget = Budget(database, ceilings)
        self.address = Endpoint(address, Secret(key))
        operator = Operator(self.address, SPEC) if lends else None
        self.worker = JobWorker(self.jobs, self.cache, self.budget, operator, pace, **more)

    def quoted(
        self,
        report: Report | None = None,
        owner: str = OWNER,
        spec: JudgeSpec = SPEC,
        own: bool = False,
        network: str | None = None,
    ) -> Job:
        """Keep a draft as a quoted job."""
        report = report or drafted(self.address.address)
        cost = quote(report, spec, owner if own else None, self.cache)
        return self.jobs.create(owner, report, spec, cost, own, network)

    def begun(self, report: Report | None = None, owner: str = OWNER) -> Job:
        """Keep a draft and start its judging."""
        return self.worker.begin(owner, self.quoted(report, owner).link, None)


def state(bench: Bench, link: str) -> str:
    """Return where a job stands."""
    job = bench.jobs.find(link)
    return job.state if job else "deleted"


def set_job(database: Database, link: str, **values: object) -> None:
    """Change a job behind everybody's back."""
    with database.write() as connection:
        connection.execute(update(JOB).where(JOB.c.link == link).values(values))


def scores(report: Report) -> list[list[float | None]]:
    """Return what a report says that must not depend on kills and faults: the scores, the canaries last."""
    canaries: Sequence[float | None] = [grade.score for grade in report.canaries]
    return [*([grade.score for grade in row.grades] for row in report.rows), list(canaries)]


class Own:
    """A judge of somebody's own: TLS on loopback, its name resolved there."""

    def __init__(self, port: int, certificate: Path) -> None:
        trust = ssl.create_default_context(cafile=str(certificate))
        self.fetcher = Fetcher(self._resolve, lambda address: True, trust, port)
        self.address = f"https://{HOST}/v1"

    async def _resolve(self, host: str) -> list[str]:
        return ["127.0.0.1"]

    def key(self, text: str) -> Endpoint:
        """Return the address with a key."""
        return Endpoint(self.address, Secret(text), OWNER)


def tls(certificate: Path) -> ssl.SSLContext:
    """Return what a server speaks TLS with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def job_ceiling(budget: int) -> Ceilings:
    """Return ceilings of which that of a job is the one in the way."""
    return WIDE._replace(job=budget)
