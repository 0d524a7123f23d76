"""The runner: jobs are judged to their end and once, whoever dies on the way, and keys stay where they belong."""

import base64
import gc
import itertools
import json
import random
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from arena.battles.voters import Account, Voters
from arena.database import Database, now
from arena.inference.endpoint import Endpoint
from scoring.benchmarks.mm_vet import Options
from scoring.benchmarks.mm_vet_questions import load_mm_vet
from scoring.jobs import worker
from scoring.jobs.owners import ReportOwners
from scoring.jobs.store import JOB, JobError
from scoring.judges.cache import REPLY
from scoring.report import Report
from scoring.serialize import record_json
from tests.support import judging_process
from tests.support.budgets import spent_by
from tests.support.job_worker import ended, running, wait_for
from tests.support.judging_process import (
    CALLS,
    HASTY,
    LEASE,
    OWNER,
    Bench,
    Own,
    drafted,
    scores,
    set_job,
    state,
    tls,
)
from tests.support.killed import Killed
from tests.support.openai_server import Body, Faults, OpenAIServer, steady_score
from tests.support.scoring_desk import Visit

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NOWHERE = "http://127.0.0.1:9/v1"
STOPPED = "Scoring was stopped"


@pytest.fixture(autouse=True)
def short_ticks(monkeypatch) -> None:
    monkeypatch.setattr(worker, "TICK_SECONDS", 0.1)


@ON_SQLITE
def test_a_job_with_a_quote_of_another_release_fails_alone(database):
    with OpenAIServer() as server:
        bench = Bench(database, server.address)
        old = bench.begun()
        set_job(database, old.link, quote='{"a field of another release": 1}')
        other = bench.begun(owner="bob")
        with running(bench):
            failed = ended(bench, old.link)
            assert ended(bench, other.link).state == "done"
    assert failed.state == "failed" and "Score the file again" in failed.problem
    assert [job.link for job in bench.jobs.of_owner(OWNER)] == [old.link]
    assert [job.link for job in bench.jobs.stopped_jobs(5)] == [old.link]


def test_a_job_is_judged_to_its_report(database):
    with OpenAIServer() as server:
        bench = Bench(database, server.address)
        job = bench.begun()
        with running(bench):
            done = ended(bench, job.link)
        report = bench.jobs.report(job.link)
        assert server.counts.calls == CALLS and server.counts.keys == {"sk-test"}
    assert (done.state, done.done, done.problem) == ("done", CALLS, "")
    assert done.finished and done.started and done.started < done.finished
    assert (
        report
        and report.is_trusted
        and None not in {grade.score for row in report.rows for grade in row.grades}
    )
    assert report.judge.versions == ("test-judge-2026-01-01",)
    assert spent_by(bench.budget, job.link, OWNER).job > 0


@ON_SQLITE
def test_a_jobs_owner_pays_for_it_whoever_was_logged_in_before(database):
    voters = Voters(database)
    voters.log_in(Account("4711", "ann"), "before", "a shared browser")
    voters.log_out("a shared browser")
    with OpenAIServer() as server:
        bench = Bench(database, server.address)
        owner = bench.jobs.owners.owner_of("a shared browser")
        job = bench.begun(owner=owner)
        with running(bench):
            ended(bench, job.link)
    spent = spent_by(bench.budget, job.link, owner)
    assert spent.user_day == spent.job > 0


@ON_SQLITE
@pytest.mark.soak
def test_work_that_hangs_does_not_keep_the_runner_from_ending(database):
    hanging, over = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        hanging.set()
        over.wait()

    with OpenAIServer() as server:
        bench = Bench(database, server.address, on_judged=hang)
        bench.begun()
        bench.worker.start()
        assert hanging.wait(60)
        stopping = threading.Thread(target=bench.worker.stop)
        stopping.start()
        stopping.join(60)
        ended = not stopping.is_alive()
        over.set()
        stopping.join()
    assert ended


@ON_SQLITE
def test_progress_and_corrected_cost_are_seen_on_the_way(database):
    with OpenAIServer(latency=0.3) as server:
        bench = Bench(database, server.address, pace=replace(HASTY, concurrency=8))
        job = bench.begun()
        with running(bench):
            wait_for(lambda: (bench.jobs.find(job.link) or job).fresh > 0)
            seen = bench.jobs.find(job.link)
            assert seen and seen.state == "judging" and 0 < seen.done <= seen.fresh < CALLS
            assert seen.quote.prompt_tokens != job.quote.prompt_tokens
            server.latency = 0
            assert ended(bench, job.link).state == "done"


@ON_SQLITE
@pytest.mark.soak
def test_two_jobs_are_judged_at_once_and_a_third_waits(database):
    with OpenAIServer(latency=0.1) as server:
        bench = Bench(database, server.address)
        jobs = [
            bench.begun(
                replace(drafted(server.address), rows=_other(server, number)),
                owner=f"person {number}",
            )
            for number in range(3)
        ]
        with running(bench):
            wait_for(
                lambda: (
                    [state(bench, job.link) for job in jobs] == ["judging", "judging", "waiting"]
                )
            )
            server.latency = 0
            assert [ended(bench, job.link).state for job in jobs] == ["done"] * 3


def _other(server: OpenAIServer, number: int) -> tuple:
    rows = drafted(server.address).rows
    return tuple(replace(row, prediction=f"{row.prediction} {number}") for row in rows)


@ON_SQLITE
def test_a_cancelled_job_stops_and_goes_on_where_it_was(database, caplog):
    caplog.set_level("INFO")
    with OpenAIServer(latency=0.2) as server:
        bench = Bench(database, server.address, pace=replace(HASTY, concurrency=4))
        job = bench.begun()
        with running(bench):
            wait_for(lambda: server.counts.calls > 10)
            bench.jobs.cancel(OWNER, job.link)
            bench.worker.wake()
            wait_for(lambda: STOPPED in caplog.text)
            calls = server.counts.calls
            time.sleep(0.3)
            assert server.counts.calls == calls < CALLS
            assert state(bench, job.link) == "cancelled"
            server.latency = 0
            bench.worker.begin(OWNER, job.link, None)
            assert ended(bench, job.link).state == "done"
        assert server.counts.calls == CALLS, "no reply was thrown away"


@ON_SQLITE
def test_a_deleted_job_stops(database, caplog):
    caplog.set_level("INFO")
    with OpenAIServer(latency=0.2) as server:
        bench = Bench(database, server.address, pace=replace(HASTY, concurrency=4))
        job = bench.begun()
        with running(bench):
            wait_for(lambda: server.counts.calls > 10)
            bench.jobs.delete(OWNER, job.link)
            wait_for(lambda: STOPPED in caplog.text)
        assert server.counts.calls < CALLS
    assert bench.jobs.find(job.link) is None


@ON_SQLITE
@pytest.mark.parametrize(
    "change", ["forgotten", "deleted", pytest.param("cancelled", marks=pytest.mark.soak)]
)
def test_what_becomes_public_of_a_job_is_of_its_owner_as_it_stands_at_its_end(database, change):
    """Its owner changes while the judge thinks about the last answer, before the worker looks again."""
    calls, published, links = itertools.count(1), [], []

    def score(body: Body, sample: int) -> str:
        if next(calls) == CALLS:
            if change == "forgotten":
                set_job(database, links[0], owner="forgotten abc")
            else:
                (bench.jobs.delete if change == "deleted" else bench.jobs.cancel)(OWNER, links[0])
        return steady_score(body, sample)

    with OpenAIServer(score) as server:
        bench = Bench(
            database, server.address, on_judged=lambda job, report: published.append(job.owner)
        )
        links.append(bench.begun().link)
        with running(bench):
            wait_for(
                lambda: (
                    state(bench, links[0]) != "judging"
                    and server.counts.calls == CALLS
                    and not server.running
                )
            )
    assert published == (["forgotten abc"] if change == "forgotten" else [])


@ON_SQLITE
def test_a_hopeless_error_fails_the_job_until_it_is_mended(database):
    with OpenAIServer(faults=Faults(1.0, kinds=("401",), in_a_row=10**6)) as server:
        bench = Bench(database, server.address)
        job = bench.begun()
        with running(bench):
            failed = ended(bench, job.link)
            assert failed.state == "failed" and "doesn't accept the key" in failed.problem
            server.faults = Faults()
            bench.worker.begin(OWNER, job.link, None)
            done = ended(bench, job.link)
    assert (done.state, done.problem) == ("done", "")


@ON_SQLITE
def test_a_server_that_ends_in_order_gives_its_jobs_back(database):
    with OpenAIServer(latency=0.1) as server:
        bench = Bench(database, server.address, pace=replace(HASTY, concurrency=4))
        job = bench.begun()
        with running(bench):
            wait_for(lambda: server.counts.calls > 10)
        assert state(bench, job.link) == "waiting"
        heir = Bench(database, server.address)
        with running(heir):
            assert ended(heir, job.link).state == "done"
        assert server.counts.calls == CALLS, "the calls on their way were waited for"


@pytest.mark.soak
def test_another_server_takes_up_what_a_dead_one_judged(database):
    """Both work on the database at once; the dead one has taken the job and is silent."""
    with OpenAIServer() as server:
        bench, other = Bench(database, server.address), Bench(database, server.address)
        with running(bench, other):
            job = bench.quoted()
            set_job(
                database,
                job.link,
                state="judging",
                queued=now(),
                holder="dead",
                until=now() + LEASE,
                started=now(),
            )
            assert ended(bench, job.link).state == "done"
        assert server.counts.calls == CALLS


@ON_SQLITE
def test_a_judge_that_is_no_longer_lent_says_so(database):
    bench = Bench(database, NOWHERE)
    job = bench.begun()
    for later in (Bench(database, "http://127.0.0.1:10/v1"), Bench(database, NOWHERE, lends=False)):
        with running(later):
            failed = ended(bench, job.link)
        assert (
            failed.state == "failed"
            and "at the operator's own server is no longer offered here" in failed.problem
        )
        bench.jobs.start(OWNER, job.link, None)


@ON_SQLITE
@pytest.mark.parametrize(
    ("draft", "problem"),
    [("{", "Score the file again"), ("a room's error", "An unexpected error")],
)
def test_a_job_that_cannot_be_judged_fails_alone(database, draft, problem):
    with OpenAIServer() as server:
        bench = Bench(database, server.address)
        broken, sound = bench.begun(), bench.begun(owner="bob")
        if draft != "{":
            values = json.loads(_draft(database, broken.link))
            draft = json.dumps({**values, "benchmark": "no such benchmark"})
        set_job(database, broken.link, draft=draft)
        with running(bench):
            assert problem in ended(bench, broken.link).problem
            assert ended(bench, sound.link).state == "done"


@ON_SQLITE
def test_an_unforeseen_error_of_one_look_ends_no_worker(database, monkeypatch, caplog):
    with OpenAIServer() as server:
        bench = Bench(database, server.address)
        lapse, errors = bench.jobs.release_lapsed, iter([LookupError("unforeseen")])

        def fail_once() -> None:
            for error in errors:
                raise error
            lapse()

        monkeypatch.setattr(bench.jobs, "release_lapsed", fail_once)
        with running(bench):
            wait_for(lambda: "unforeseen" in caplog.text)
            assert ended(bench, bench.begun().link).state == "done"


def _draft(database: Database, link: str) -> str:
    with database.read() as connection:
        return connection.execute(select(JOB.c.draft).where(JOB.c.link == link)).scalar_one()


# A person's own key


@ON_SQLITE
def test_an_own_key_serves_its_job_only_and_is_gone_after_it(database, certificate, caplog):
    caplog.set_level("DEBUG")
    with OpenAIServer(tls=tls(certificate)) as server, OpenAIServer() as operators:
        own = Own(server.port, certificate)
        bench = Bench(database, operators.address, "sk-operators", fetcher=own.fetcher)
        job = bench.quoted(drafted(own.address), own=True)
        address = own.key("sk-planted-" + "0123456789")
        seen = weakref.ref(address)
        with running(bench):
            with pytest.raises(JobError, match="was priced for"):
                bench.worker.begin(
                    OWNER, job.link, Endpoint("https://elsewhere.example/v1", address.key, OWNER)
                )
            bench.worker.begin(OWNER, job.link, address)
            del address
            done = ended(bench, job.link)
            assert done.state == "done", done.problem
            wait_for(lambda: gc.collect() >= 0 and seen() is None)
        assert server.counts.keys == {"sk-planted-0123456789"} and operators.counts.calls == 0
    assert spent_by(bench.budget, job.link, OWNER).total == 0
    assert not traces("sk-planted-0123456789", caplog.text.encode())


def test_strangers_with_a_judge_that_hardly_replies_keep_no_lent_job_waiting(
    database, certificate, monkeypatch
):
    monkeypatch.setattr(worker, "GRACE_SECONDS", 0.1)
    with OpenAIServer(latency=30, tls=tls(certificate)) as slow, OpenAIServer() as operators:
        own = Own(slow.port, certificate)
        bench = Bench(database, operators.address, fetcher=own.fetcher)
        theirs = [
            bench.quoted(drafted(own.address), owner=f"stranger {number}", own=True)
            for number in range(3)
        ]
        with running(bench):
            for job in theirs:
                bench.worker.begin(job.owner, job.link, own.key("sk-stranger"))
            wait_for(
                lambda: (
                    [state(bench, job.link) for job in theirs] == ["judging", "judging", "waiting"]
                )
            )
            assert ended(bench, bench.begun().link).state == "done"
            assert [state(bench, job.link) for job in theirs] == ["judging", "judging", "waiting"]


@ON_SQLITE
def test_after_a_restart_a_job_waits_for_its_key_and_what_is_judged_stays(database, certificate):
    with OpenAIServer(latency=0.1, tls=tls(certificate)) as server:
        own = Own(server.port, certificate)
        bench = Bench(database, NOWHERE, pace=replace(HASTY, concurrency=4), fetcher=own.fetcher)
        job = bench.quoted(drafted(own.address), own=True)
        with running(bench):
            bench.worker.begin(OWNER, job.link, own.key("sk-first-key"))
            wait_for(lambda: server.counts.calls > 10)
        assert state(bench, job.link) == "needs_key"
        again = Bench(database, NOWHERE, fetcher=own.fetcher)
        with running(again):
            time.sleep(0.5)
            assert state(again, job.link) == "needs_key"
            with pytest.raises(JobError, match="Enter it to resume"):
                again.worker.begin(OWNER, job.link, None)
            again.worker.begin(OWNER, job.link, own.key("sk-second-key"))
            assert ended(again, job.link).state == "done"
        assert server.counts.calls == CALLS
        assert server.counts.keys == {"sk-first-key", "sk-second-key"}


MOVES: dict[str, Callable[[ReportOwners], None]] = {
    "a login": lambda owners: owners.log_in(Account("4711", "ann"), OWNER),
    "a code": lambda owners: owners.enter_code(OWNER, owners.show_code("eve")),
}


@ON_SQLITE
@pytest.mark.parametrize("move", MOVES)
def test_a_job_that_goes_on_with_another_owner_pays_for_no_reply_again(
    database, certificate, tmp_path, caplog, move
):
    caplog.set_level("INFO")
    with OpenAIServer(latency=0.1, tls=tls(certificate)) as server:
        own = Own(server.port, certificate)
        bench = Bench(database, NOWHERE, pace=replace(HASTY, concurrency=4), fetcher=own.fetcher)
        service = Visit(bench, tmp_path).service
        job = bench.quoted(drafted(own.address), own=True)
        with running(bench):
            bench.worker.begin(OWNER, job.link, own.key("sk-guests-key"))
            wait_for(lambda: server.counts.calls > 10)
            bench.jobs.cancel(OWNER, job.link)
            wait_for(lambda: STOPPED in caplog.text)
            before = service.first_grades(bench.jobs.find(job.link))
            MOVES[move](bench.jobs.owners)
            moved = bench.jobs.find(job.link)
            assert moved and moved.owner != OWNER
            assert service.first_grades(moved) == before != []
            server.latency = 0
            key = replace(own.key("sk-owners-key"), owner=moved.owner)
            bench.worker.begin(moved.owner, job.link, key)
            assert ended(bench, job.link).state == "done"
        assert server.counts.calls == CALLS


@ON_SQLITE
def test_the_most_that_an_own_key_pays_counts_over_all_runs_of_its_job(database, certificate):
    """However often it is resumed, also after a restart."""
    with OpenAIServer(tls=tls(certificate)) as server:
        own = Own(server.port, certificate)
        pace = replace(HASTY, concurrency=1)
        benches = [Bench(database, NOWHERE, pace=pace, fetcher=own.fetcher) for _ in range(2)]
        job = benches[0].quoted(drafted(own.address), own=True)
        set_job(database, job.link, quote=record_json(replace(job.quote, most=15_000)))
        calls = []
        for bench in benches:
            with running(bench):
                for _ in range(2):
                    bench.worker.begin(OWNER, job.link, own.key("sk-own-key"))
                    stopped = ended(bench, job.link)
                    assert "Score the file again to continue" in stopped.problem
                    calls.append(server.counts.calls)
        assert 0 < calls[0] < CALLS and calls == calls[:1] * 4
        assert 0 < benches[0].jobs.find(job.link).spent <= 15_000


def test_jobs_outlive_a_database_that_fails(database, certificate, monkeypatch):
    """The table of replies is away for a while: a lent job goes on when it is back, another waits for its key."""
    monkeypatch.setattr(judging_process, "LEASE", timedelta(seconds=1))
    with OpenAIServer(tls=tls(certificate)) as server, OpenAIServer() as operators:
        own = Own(server.port, certificate)
        bench = Bench(database, operators.address, fetcher=own.fetcher)
        mine, lent = bench.quoted(drafted(own.address), own=True), bench.begun(owner="bob")
        with database.write() as connection:
            REPLY.drop(connection)
        with running(bench):
            bench.worker.begin(OWNER, mine.link, own.key("sk-first-key"))
            assert ended(bench, mine.link).state == "needs_key"
            wait_for(lambda: state(bench, lent.link) == "judging")
            with database.write() as connection:
                REPLY.create(connection)
            bench.worker.begin(OWNER, mine.link, own.key("sk-first-key"))
            assert ended(bench, mine.link).state == ended(bench, lent.link).state == "done"


def test_a_key_that_its_server_echoes_is_in_no_problem_and_no_file(tmp_path, certificate, caplog):
    caplog.set_level("DEBUG")
    key = "sk-planted-echoed-key"
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    echo = Faults(1.0, kinds=("401",), in_a_row=10**6)
    with OpenAIServer(faults=echo, tls=tls(certificate)) as server:
        own = Own(server.port, certificate)
        bench = Bench(database, NOWHERE, fetcher=own.fetcher)
        job = bench.quoted(drafted(own.address), own=True)
        with running(bench):
            bench.worker.begin(OWNER, job.link, own.key(key))
            failed = ended(bench, job.link)
    assert failed.state == "failed" and key in server.counts.keys
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not traces(key, failed.problem.encode(), caplog.text.encode(), *files)
    database.close()


def traces(key: str, *texts: bytes) -> list[str]:
    """Return what of a key stands in texts: itself, its ends, or its middle in base64 wherever it starts."""
    raw = key.encode()
    forms = [raw, raw[:12], raw[-12:]]
    forms += [base64.b64encode(bytes(shift) + raw)[4:-4] for shift in range(3)]
    return [form.decode() for form in forms for text in texts if form in text]


# Kills


@ON_SQLITE
@pytest.mark.parametrize(
    ("kills", "outputs"), [(1, 12), pytest.param(20, 218, marks=pytest.mark.soak)]
)
def test_kills_and_faults_change_no_score(tmp_path, database_url, data, kills, outputs):
    """Real outputs for MM-Vet in five runs: the undisturbed scores bit for bit, at most 1.6 times the calls."""
    key = "sk-planted-kill-key-42"
    questions, path = load_mm_vet(data / "mm-vet"), data / "mm-vet" / "llava_llama2_13b_chat.json"
    kept = questions.questions[:outputs]
    questions = replace(questions, questions=kept, outside=questions.questions[outputs:])
    luck = random.Random(20)
    with OpenAIServer() as calm:
        expected, needed = (
            undisturbed(tmp_path, calm, drafted(calm.address, path, questions, Options())),
            calm.counts.paid,
        )
    faults = Faults(0.3, seed=11, hang=30)
    database = Database(database_url)
    with OpenAIServer(faults=faults, latency=0.05) as server:
        bench = Bench(database, server.address, key)
        job = bench.begun(drafted(server.address, path, questions, Options()))
        killed = Killed(tmp_path, database_url, server.address, key)
        for number in range(kills):
            before = server.counts.paid
            killed.life(lambda before=before: lived(server, before, luck))
            assert state(bench, job.link) == "judging", (
                f"it was done after {number} kills: kill faster"
            )
        killed.life(
            lambda: wait_for(lambda: state(bench, job.link) not in ("waiting", "judging"), 120)
        )
        report = bench.jobs.report(job.link)
        print(
            f"{needed} calls needed, {server.counts.paid} paid: {server.counts.paid / needed:.2f}"
        )
        assert report and scores(report) == scores(expected)
        assert server.counts.paid <= 1.6 * needed
        assert server.counts.keys == {key}
    database.close()
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 3 and not traces(key, *files)


def lived(server: OpenAIServer, before: int, luck: random.Random) -> None:
    """Wait until the child has asked something, and then a while."""
    wait_for(lambda: server.counts.paid > before)
    time.sleep(luck.uniform(0.05, 0.3))


def undisturbed(folder: Path, server: OpenAIServer, report: Report) -> Report:
    database = Database(f"sqlite:///{folder / 'calm.db'}")
    bench = Bench(database, server.address)
    job = bench.begun(report)
    with running(bench):
        ended(bench, job.link)
    done = bench.jobs.report(job.link)
    database.close()
    assert done
    return done
