"""What jobs wait for: they say so, and until when; dead runs keep no money from the one that takes their job over."""

import random
import re
import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from arena.budget import HOLD, LOST_AGE
from arena.database import Database, now
from scoring.benchmarks.mm_vet import Options
from scoring.benchmarks.mm_vet_questions import load_mm_vet
from scoring.jobs import worker
from scoring.jobs.store import Job
from scoring.judges import run as judging
from tests.support.budgets import spent_by
from tests.support.job_worker import ended, running, wait_for
from tests.support.judging_process import (
    HASTY,
    OWNER,
    WIDE,
    Bench,
    drafted,
    job_ceiling,
    set_job,
    state,
)
from tests.support.killed import Killed
from tests.support.openai_server import Faults, OpenAIServer

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def short_ticks(monkeypatch) -> None:
    monkeypatch.setattr(worker, "TICK_SECONDS", 0.1)
    monkeypatch.setattr(judging, "RESERVE_SECONDS", 0.05)


def reserved_by_a_dead_run(bench: Bench, job: Job, amount: int) -> int:
    """Hold money for a run whose server is dead."""
    number = bench.budget.for_job(job.link, OWNER, job.quote.most).reserve(amount)
    lapsed = {"holder": "dead", "until": now() - timedelta(seconds=1)}
    set_job(bench.database, job.link, state="judging", queued=now(), started=now(), **lapsed)
    return number


def held(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(HOLD)).scalar_one()


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize("share", [0.5, 1.0], ids=["half of it", "all of it"])
def test_what_a_dead_run_held_of_a_jobs_money_is_spent_when_it_is_taken_over(database, share):
    with OpenAIServer() as server:
        bench = Bench(database, server.address)
        with running(bench):
            job = bench.quoted()
            lost = round(share * job.quote.most)
            reserved_by_a_dead_run(bench, job, lost)
            found = ended(bench, job.link)
    spent = spent_by(bench.budget, job.link, OWNER).job
    assert held(database) == 0
    if share == 1.0:
        assert (found.state, spent) == ("failed", lost)
        assert "It was quoted at no more" in found.problem
    else:
        assert found.state == "done" and lost < spent <= job.quote.most


def test_a_job_says_that_it_waits_for_money_and_until_when(database):
    """Calls of another job hold all that there is; what it waits for is gone as soon as it goes on."""
    with OpenAIServer() as server:
        bench = Bench(database, server.address, ceilings=WIDE._replace(total=400_000))
        with running(bench):
            others = bench.budget.for_job("other", "bob").reserve(399_000)
            job = bench.begun()
            until = now() + LOST_AGE
            wait_for(lambda: bench.jobs.find(job.link).problem)
            waiting = bench.jobs.find(job.link)
            bench.budget.commit(others, 0)
            done = ended(bench, job.link)
    hours = {f"{until - timedelta(minutes=minutes):%H:%M}" for minutes in (0, 1)}
    told = {f"for money that other calls hold, until {hour} UTC at the latest" for hour in hours}
    assert waiting.state == "judging" and waiting.problem in told
    assert (done.state, done.problem) == ("done", "")


@ON_SQLITE
@pytest.mark.parametrize(
    ("faults", "latency", "told"),
    [
        (
            Faults(1.0, kinds=("429 with Retry-After",), in_a_row=10**6, retry_after="60"),
            0,
            r"for the judge, whose server asks for a pause, until \d\d:\d\d:\d\d UTC",
        ),
        (
            Faults(),
            30,
            r"for the judge: \d+ calls in a row failed, and it stops at 12. The last failure: no reply within 0.5 "
            "seconds",
        ),
    ],
    ids=["pause", "no answer"],
)
def test_a_job_says_that_it_waits_for_its_judge(database, monkeypatch, faults, latency, told):
    monkeypatch.setattr(worker, "GRACE_SECONDS", 0.1)
    with OpenAIServer(faults=faults, latency=latency) as server:
        bench = Bench(database, server.address, pace=replace(HASTY, concurrency=2, timeout=0.5))
        with running(bench):
            job = bench.begun()
            wait_for(lambda: bench.jobs.find(job.link).problem)
            waiting = bench.jobs.find(job.link)
    assert waiting.state == "judging" and re.fullmatch(told, waiting.problem)


BUDGETS = {"three times what it costs": 414_000, "twice": 265_000}
"""Millionths of a US dollar for a job that costs 138,000; its calls under way hold a tenth of a dollar."""


@pytest.mark.parametrize(
    ("kills", "budget"),
    [
        (2, BUDGETS["twice"]),
        pytest.param(10, BUDGETS["twice"], marks=pytest.mark.soak),
        pytest.param(10, BUDGETS["three times what it costs"], marks=pytest.mark.soak),
    ],
)
def test_a_job_does_not_wait_for_the_money_of_its_dead_runs(
    tmp_path, database_url, data, kills, budget
):
    """It is done, or says at once that what the dead runs may have cost leaves it none."""
    questions, path = load_mm_vet(data / "mm-vet"), data / "mm-vet" / "llava_llama2_13b_chat.json"
    kept = questions.questions[:12]
    questions = replace(questions, questions=kept, outside=questions.questions[12:])
    luck = random.Random(20)
    database = Database(database_url)
    with OpenAIServer(faults=Faults(0.3, seed=11, hang=30), latency=0.05) as server:
        bench = Bench(database, server.address, ceilings=job_ceiling(budget))
        job = bench.begun(drafted(server.address, path, questions, Options()))
        killed = Killed(tmp_path, database_url, server.address, "sk-test", budget)
        is_over = lambda: state(bench, job.link) not in ("waiting", "judging")  # noqa: E731
        for _ in range(kills):
            killed.life(lambda: time.sleep(luck.uniform(0.6, 0.9)))
        begun = time.monotonic()
        with suppress(AssertionError):
            killed.life(lambda: wait_for(is_over, 90))
        found = bench.jobs.find(job.link)
        with database.read() as connection:
            held = connection.execute(select(func.count()).select_from(HOLD)).scalar_one()
        seconds = time.monotonic() - begun
        print(
            f"\n{kills} kills, {budget}: {found.state} {seconds:.1f} s, {held} held: {found.problem}"
        )
    database.close()
    assert held == 0
    assert found.state == "done" or "is spent, and the next call may cost" in found.problem
