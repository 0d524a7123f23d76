"""The drift watch: looks at the operator's judge, weekly and before late jobs, that stop nothing and are never free."""

from collections.abc import Iterator

import pytest

from arena.budget import Ceilings
from arena.database import Database
from arena.server.change_log import ChangeLog
from scoring.calibration.drift_store import JUDGE_LOOK, DriftError, DriftHistory, DriftStore
from scoring.calibration.drift_watch import PAYER, DriftWatch
from scoring.calibration.frozen_answers import frozen_answers, frozen_digest, ways
from scoring.jobs.worker import Operator
from scoring.registry import BENCHMARKS
from tests.support.budgets import spent_by
from tests.support.drifting_judge import ANSWERS, DriftingJudge, accept, age, is_frozen, key, looked_at, steady
from tests.support.job_worker import ended, running, wait_for
from tests.support.judging_process import OWNER, SPEC, WIDE, Bench, Own, drafted, tls
from tests.support.openai_server import OpenAIServer

PARTLY_RIGHT = 60


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    yield opened
    opened.close()


@pytest.fixture
def judge() -> DriftingJudge:
    return DriftingJudge()


@pytest.fixture
def server(judge) -> Iterator[OpenAIServer]:
    with OpenAIServer(judge) as serving:
        yield serving


def bench(database: Database, server: OpenAIServer, ceilings: Ceilings = WIDE, **more) -> Bench:
    """A server that looks at its judge."""
    made = Bench(database, server.address, ceilings=ceilings, **more)
    watch = DriftWatch(DriftStore(database), made.budget, Operator(made.address, SPEC))
    return Bench(database, server.address, ceilings=ceilings, look=watch.look, **more)


def history(database: Database, server: OpenAIServer) -> DriftHistory:
    found = DriftStore(database).history(key(server))
    assert found
    return found


def frozen_calls(server: OpenAIServer) -> list[int]:
    """Places among all calls so far of those that ask for frozen answers which are partly right."""
    return [place for place, body in enumerate(server.counts.bodies) if is_frozen(body)]


def test_the_frozen_answers_are_ours_and_a_change_of_them_is_no_accident():
    """A changed set ends every judge's baseline: whoever means that changes the hash here."""
    frozen = frozen_answers()
    assert len(frozen) == PARTLY_RIGHT + 4 and len({one.question.id for one in frozen}) == ANSWERS
    assert len({(one.question.text, one.prediction) for one in frozen}) == ANSWERS
    assert all(one.question.truth and one.prediction != one.question.truth for one in frozen)
    assert frozen_digest() == "4abc6b2c5998e5e67a4da463838687394f9a2ddcb4649a0b77f12fbdf410d6a5"
    assert len(ways()) == 4 and {way.benchmark.key for way in ways().values()} <= set(BENCHMARKS)


def test_before_a_job_that_comes_a_week_after_the_last_look_the_judge_is_looked_at(database, server):
    steady(database, server)
    serving = bench(database, server)
    with running(serving):
        assert ended(serving, serving.begun().link).state == "done"
        assert history(database, server).looks == (), "it was accepted today"
        age(database, 7.1)
        before = len(server.counts.bodies)
        assert ended(serving, serving.begun(owner="bob").link).state == "done"
        (look,) = history(database, server).looks
        asked = frozen_calls(server)[-PARTLY_RIGHT:]
        assert asked[0] >= before and asked[-1] < before + ANSWERS, "the job's own calls come after the look"
        assert not look.found.has_moved and str(history(database, server).at(look.at)) == "steady"
        assert ended(serving, serving.begun(owner="kim").link).state == "done"
        age(database, 7.1)
        calls = len(frozen_calls(server))
        assert ended(serving, serving.begun(owner="eve").link).state == "done"
        assert len(history(database, server).looks) == 2
        assert len(frozen_calls(server)) == calls + PARTLY_RIGHT, "kept replies say nothing of today"


def test_a_server_without_jobs_looks_each_week_and_the_hosts_day_budget_pays(database, server):
    steady(database, server)
    age(database, 7.1)
    serving = bench(database, server)
    with running(serving):
        wait_for(lambda: history(database, server).looks, 20)
    spent = spent_by(serving.budget, "any", PAYER)
    assert spent.user_day == spent.total > 0 and serving.budget.total().held == 0


def test_a_judge_that_moves_by_a_twentieth_is_told_at_the_first_look_and_stays_moved(database, server, judge, caplog):
    accept(database, server)
    judge.shift = 0.05
    age(database, 7.1)
    with running(bench(database, server)):
        wait_for(lambda: history(database, server).looks, 20)
    (look,) = history(database, server).looks
    assert look.found.has_moved and 0.03 < look.found.shift < 0.08
    assert "drift: the judge test-judge (MM-Vet, hardened) was looked at: moved by +0.0" in caplog.text
    age(database, 30)
    calls, serving = len(frozen_calls(server)), bench(database, server)
    with running(serving):
        assert ended(serving, serving.begun().link).state == "done", "old scores and new jobs stay"
    assert len(frozen_calls(server)) == calls, "only acceptance tells more"
    assert history(database, server).at(look.at).state == "moved"
    anew = accept(database, server)
    assert history(database, server) == anew and anew.looks == () and anew.baseline.id > 1
    (look,) = looked_at(database, server, anew).looks
    assert not look.found.has_moved, "it is what it was accepted as"


@pytest.mark.parametrize("weeks", [2, pytest.param(40, marks=pytest.mark.soak)])
def test_a_steady_judge_that_is_noisy_stays_steady(database, server, weeks):
    found = steady(database, server)
    for _ in range(weeks):
        found = looked_at(database, server, found)
    assert len({look.scores.runs for look in found.looks}) == weeks, "each look is a run of its own"
    assert [look for look in found.looks if look.found.has_moved] == []


def test_a_job_with_an_own_key_has_nobody_looked_at(database, server, certificate):
    with OpenAIServer(DriftingJudge(), tls=tls(certificate)) as own_server:
        own = Own(own_server.port, certificate)
        steady(database, server)
        serving = bench(database, server, fetcher=own.fetcher)
        job = serving.quoted(drafted(own.address), own=True)
        with running(serving):
            assert ended(serving, serving.begun(owner="bob").link).state == "done"
            age(database, 30)
            calls = server.counts.calls
            serving.worker.begin(OWNER, job.link, own.key("sk-own"))
            assert ended(serving, job.link).state == "done"
        assert server.counts.calls == calls and not frozen_calls(own_server)
    assert history(database, server).looks == ()


def _out_of_money(serving: Bench, judge: DriftingJudge) -> None:
    serving.budget.commit(serving.budget.reserve("spent", PAYER, WIDE.user_day), WIDE.user_day)


def _without_scores(serving: Bench, judge: DriftingJudge) -> None:
    judge.unreadable = True


def _without_a_table(serving: Bench, judge: DriftingJudge) -> None:
    with serving.database.write() as connection:
        JUDGE_LOOK.drop(connection)


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        (_out_of_money, "was not looked at for 9 days: The operator's budget for one person and day is $"),
        (_without_scores, "was not looked at for 9 days: only 4 of the 64 frozen answers got a score in every run"),
        (_without_a_table, "was not looked at: The database cannot be read"),
    ],
)
def test_a_look_that_fails_is_a_line_in_the_log_and_stops_no_job(database, server, judge, caplog, breaks, said):
    steady(database, server)
    serving = bench(database, server, WIDE._replace(total=10 * WIDE.total))
    with running(serving):
        assert ended(serving, serving.begun(owner="bob").link).state == "done"
        age(database, 9)
        breaks(serving, judge)
        assert ended(serving, serving.begun().link).state == "done"
        assert f"drift: the judge test-judge {said}" in caplog.text
        asked = len(frozen_calls(server))
        assert ended(serving, serving.begun(owner="kim").link).state == "done"
        assert len(frozen_calls(server)) == asked, "it is not tried again, and paid again, with each job"


def test_jobs_that_begin_together_have_the_judge_looked_at_once(database, server):
    steady(database, server)
    age(database, 7.1)
    serving = bench(database, server)
    jobs = [serving.begun(owner=owner) for owner in ("ada", "bob")]
    with running(serving):
        assert [ended(serving, job.link).state for job in jobs] == ["done", "done"]
    assert len(history(database, server).looks) == 1


def test_a_look_over_another_set_is_none_of_the_baseline(database, server, caplog):
    found = steady(database, server)
    store, others = DriftStore(database), found.baseline.scores._replace(frozen="another set")
    one = others._replace(runs=others.runs[:1])
    with pytest.raises(DriftError, match="the frozen answers are others than when the judge was accepted"):
        store.add_look(found.baseline, one)
    store.accept(key(server), others)
    age(database, 8)
    calls, serving = server.counts.calls, bench(database, server)
    with running(serving):
        wait_for(lambda: "cannot be compared; accept it anew" in caplog.text, 20)
    assert server.counts.calls == calls, "nothing is paid for what cannot be compared"
    assert DriftStore(database).history(key(server)).looks == ()


def test_a_judge_is_its_address_its_model_and_its_prompt(database, server):
    steady(database, server)
    store, same = DriftStore(database), key(server)
    others = (same._replace(address="https://other/v1"), same._replace(model="m"), same._replace(prompt="p"))
    assert store.history(same) and not any(map(store.history, others))


def test_what_the_server_calls_the_model_and_its_machine_is_kept(database, server):
    found = steady(database, server)
    server.fingerprint = "fp_changed"
    (look,) = looked_at(database, server, found).looks
    assert found.baseline.scores.versions == look.scores.versions == ("test-judge-2026-01-01",)
    assert (found.baseline.scores.fingerprints, look.scores.fingerprints) == ((), ("fp_changed",))


def test_a_wiped_disk_gets_its_acceptances_and_looks_back(database, server, tmp_path):
    log = ChangeLog(database)
    log.open()
    found = looked_at(database, server, steady(database, server))
    batch = log.batch(100)
    assert batch
    fresh = Database(f"sqlite:///{tmp_path / 'fresh.db'}")
    ChangeLog(fresh).take_back(ChangeLog(fresh).unpacked([batch.content]))
    assert history(fresh, server) == found
    fresh.close()


def test_some_answers_without_a_score_are_left_out_of_the_comparison(database, server):
    found = steady(database, server)
    runs = found.baseline.scores.runs
    run = tuple(None if place < 10 else score for place, score in enumerate(runs[0]))
    (look,) = DriftStore(database).add_look(found.baseline, found.baseline.scores._replace(runs=(run,))).looks
    assert not look.found.has_moved and look.scores.runs == (run,)
