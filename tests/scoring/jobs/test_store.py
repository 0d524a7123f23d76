"""Jobs: whose they are, in which order and by whom they are judged; the database decides, however many ask at once."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from arena.database import Database, now
from scoring.jobs import store
from scoring.jobs.published import PublishedJobs
from scoring.jobs.store import JobError
from scoring.judges.run import Progress
from scoring.people.store import MarkEntry
from scoring.serialize import ReportError
from scoring.visit_bench.store import SUBMISSION, SUBMITTED, SubmissionStore
from tests.support.judging_process import CALLS, OWNER, SPEC, Bench, drafted, set_job, state
from tests.support.marked_reports import MarkedReport
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.mmt_reports import mmt_report

NOWHERE = "http://127.0.0.1:9/v1"


# Whose a job is


def test_a_quoted_job_is_kept_whole(database):
    bench = Bench(database, NOWHERE)
    job = bench.quoted()
    assert (job.state, job.title, job.file) == (
        "quoted",
        "a model",
        "mm_vet_sample_predictions.json",
    )
    assert (job.done, job.total, job.model, job.address) == (0, CALLS, "test-judge", NOWHERE)
    assert job.quote.calls == CALLS and job.quote.price == SPEC.price
    assert bench.jobs.find(job.link) == job and bench.jobs.of_owner(OWNER) == (job,)
    assert bench.jobs.find("another") is None and bench.jobs.of_owner("bob") == ()
    assert bench.jobs.report(job.link) is None
    claim = bench.jobs.claim("server", frozenset(), frozenset())
    assert claim is None, "nobody confirmed its cost"
    bench.jobs.start(OWNER, job.link, None)
    claim = bench.jobs.claim("server", frozenset(), frozenset())
    assert claim and claim.spec == SPEC
    assert replace(claim.draft, created="") == replace(drafted(NOWHERE), created="")


def test_links_cannot_be_guessed(database):
    bench = Bench(database, NOWHERE)
    links = {bench.quoted(owner=f"person {number}").link for number in range(5)}
    assert len(links) == 5 and {len(link) for link in links} == {32}, "192 random bits"


def test_a_new_quote_replaces_the_owners_last_and_abandoned_ones_go(database):
    bench = Bench(database, NOWHERE)
    mine, abandoned, other = bench.quoted(), bench.quoted(owner="bob"), bench.quoted(owner="eve")
    set_job(database, abandoned.link, created=now() - timedelta(days=2))
    again = bench.quoted()
    assert bench.jobs.sweep() == 1
    assert [bench.jobs.find(job.link) for job in (mine, abandoned)] == [None, None]
    assert bench.jobs.find(other.link) and bench.jobs.of_owner(OWNER) == (again,)


def test_an_owner_keeps_so_many_jobs_without_a_report_and_they_go_by_age(database):
    bench = Bench(database, NOWHERE)
    stopped = []
    for number in range(store.MOST_OF_OWNER):
        stopped.append(bench.begun().link)
        set_job(database, stopped[-1], state=("failed", "cancelled", "needs_key")[number % 3])
    with pytest.raises(JobError, match=f"You have {store.MOST_OF_OWNER} jobs without a report"):
        bench.quoted()
    judged, other = bench.begun(owner="bob").link, bench.begun(owner="eve").link
    late = now() - store.KEPT_FREE - timedelta(seconds=1)
    for link in (*stopped[:3], judged):
        set_job(database, link, queued=late)
    set_job(database, judged, state="done", finished=late)
    assert bench.jobs.sweep() == 3
    assert {job.link for job in bench.jobs.of_owner(OWNER)} == set(stopped[3:])
    assert bench.quoted() and bench.jobs.find(judged) and bench.jobs.find(other)


@pytest.mark.locks_or_dialect
def test_published_reports_of_one_owner_leave_room_for_those_of_others(database):
    jobs = Bench(database, NOWHERE).jobs
    for owner, number in (("bob", 0), (OWNER, 0), (OWNER, 1), (OWNER, 2)):
        jobs.publish(owner, jobs.add_done(owner, mmt_report(f"{owner} {number}", 0.5)).link, True)
    found = [job.title for job in PublishedJobs(database).newest("mmt-bench", 2)]
    assert found == [f"{OWNER} 2", "bob 0"]


def test_a_network_has_so_many_quotes_a_day(database, monkeypatch):
    monkeypatch.setattr(store, "MOST_OF_NETWORK", 3)
    bench = Bench(database, NOWHERE)
    for number in range(3):
        bench.quoted(owner=f"person {number}", network="one")
    with pytest.raises(JobError, match="Your network has used its 3 quotes"):
        bench.quoted(owner="one more", network="one")
    assert bench.quoted(owner="one more", network="another") and bench.quoted(owner="one more")


def test_only_its_owner_starts_cancels_and_deletes_a_job(database):
    bench = Bench(database, NOWHERE)
    job = bench.begun()
    for link in (job.link, "no such link"):
        for call in (
            bench.jobs.cancel,
            bench.jobs.delete,
            lambda owner, link: bench.jobs.start(owner, link, None),
        ):
            with pytest.raises(JobError, match="You have no such job"):
                call("eve", link)
    assert state(bench, job.link) == "waiting"
    bench.jobs.delete(OWNER, job.link)
    assert bench.jobs.find(job.link) is None


@pytest.mark.locks_or_dialect
def test_one_job_of_an_owner_is_under_way(database):
    bench = Bench(database, NOWHERE)
    first = bench.begun(replace(drafted(NOWHERE), title="the first"))
    second = bench.quoted()
    with pytest.raises(
        JobError, match="Your job 'the first' is still running. Wait until it's done, or cancel it"
    ):
        bench.jobs.start(OWNER, second.link, None)
    with pytest.raises(JobError, match="is waiting already"):
        bench.jobs.start(OWNER, first.link, None)
    bench.begun(owner="bob")
    bench.jobs.cancel(OWNER, first.link)
    assert bench.jobs.start(OWNER, second.link, None).state == "waiting"
    with pytest.raises(JobError, match="Only a running job"):
        bench.jobs.cancel(OWNER, first.link)


@pytest.mark.locks_or_dialect
def test_of_jobs_started_at_once_one_gets_through(database):
    bench = Bench(database, NOWHERE)
    links = []
    for _ in range(8):
        job = bench.quoted()
        set_job(database, job.link, state="cancelled")
        links.append(job.link)

    def start(link: str) -> bool:
        try:
            return bench.jobs.start(OWNER, link, None).state == "waiting"
        except JobError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(start, links)) == 1
    assert sorted(job.state for job in bench.jobs.of_owner(OWNER)) == ["cancelled"] * 7 + [
        "waiting"
    ]


def test_a_judge_without_a_price_is_not_lent(database):
    bench = Bench(database, NOWHERE)
    free = replace(SPEC, price=None)
    with pytest.raises(JobError, match="JUDGE_PRICES"):
        bench.quoted(spec=free)
    assert bench.quoted(spec=free, own=True).quote.dollars is None


@pytest.mark.locks_or_dialect
def test_what_was_found_out_about_a_judge_is_remembered(database):
    bench = Bench(database, NOWHERE)
    probed = replace(SPEC, seed=False)
    bench.quoted(spec=probed, own=True)
    assert bench.jobs.spec(NOWHERE, SPEC.model, OWNER) == probed
    assert bench.jobs.spec(NOWHERE, SPEC.model, "bob") is None, (
        "another person's word for the same address"
    )
    assert bench.jobs.spec(NOWHERE, SPEC.model, None) is None
    assert bench.jobs.spec("http://other/v1", SPEC.model, OWNER) is None


# Who judges a job


@pytest.mark.locks_or_dialect
def test_jobs_are_taken_in_their_order(database):
    bench = Bench(database, NOWHERE)
    jobs = [bench.begun(owner=f"person {number}") for number in range(3)]
    assert [bench.jobs.count_ahead(job.link) for job in jobs] == [0, 1, 2]
    taken = [bench.jobs.claim("server", frozenset(), frozenset()) for _ in range(4)]
    assert [claim.job.link for claim in taken if claim] == [job.link for job in jobs]
    assert taken[-1] is None
    assert state(bench, jobs[0].link) == "judging"


@pytest.mark.locks_or_dialect
def test_a_job_with_a_judge_of_another_release_stops_no_server(database):
    bench = Bench(database, NOWHERE)
    job = bench.begun()
    set_job(database, job.link, spec='{"a field of another release": 1}')
    claim = bench.jobs.claim("server", frozenset(), frozenset())
    assert claim and claim.job.link == job.link
    with pytest.raises(ReportError, match="can't be read"):
        _ = claim.spec
    assert bench.jobs.spec(NOWHERE, SPEC.model, None) is None, "it is tested again"


def test_of_servers_that_take_at_once_each_gets_another_job(database):
    bench = Bench(database, NOWHERE)
    for number in range(6):
        bench.begun(owner=f"person {number}")
    with ThreadPoolExecutor(12) as pool:
        claims = list(
            pool.map(lambda name: bench.jobs.claim(name, frozenset(), frozenset()), "abcdefghijkl")
        )
    links = [claim.job.link for claim in claims if claim]
    assert len(links) == len(set(links)) == 6


@pytest.mark.locks_or_dialect
def test_a_server_whose_clock_is_ahead_takes_no_job_of_a_living_one(database, monkeypatch):
    bench = Bench(database, NOWHERE)
    job = bench.begun()
    assert bench.jobs.claim("alive", frozenset(), frozenset())
    monkeypatch.setattr(store, "now", lambda: now() + timedelta(hours=1))
    assert bench.jobs.claim("ahead", frozenset(), frozenset()) is None
    assert bench.jobs.renew_leases("alive", frozenset({job.link})) == {job.link}


@pytest.mark.locks_or_dialect
def test_a_dead_servers_job_is_taken_up_and_no_longer_its_own(database):
    bench = Bench(database, NOWHERE)
    job = bench.begun()
    claim = bench.jobs.claim("dead", frozenset(), frozenset())
    assert claim
    assert bench.jobs.renew_leases("dead", frozenset({job.link})) == {job.link}
    assert bench.jobs.claim("heir", frozenset(), frozenset()) is None, "its lease has not lapsed"
    set_job(database, job.link, until=now() - timedelta(seconds=1))
    again = bench.jobs.claim("heir", frozenset(), frozenset())
    assert again and again.job.link == job.link
    assert bench.jobs.renew_leases("dead", frozenset({job.link})) == frozenset()
    assert not bench.jobs.finish("dead", job.link, claim.draft)
    assert not bench.jobs.fail("dead", job.link, "late")
    bench.jobs.note_progress("dead", job.link, Progress(99, 99, 99), 9.0)
    assert (bench.jobs.find(job.link) or job).done == 0
    assert bench.jobs.finish("heir", job.link, claim.draft)
    assert not bench.jobs.finish("heir", job.link, claim.draft), "once"


ACTS: dict[str, Callable[[Bench], tuple[str, Callable[[str], object]]]] = {
    "take": lambda bench: (
        bench.begun().link,
        lambda link: bench.jobs.claim("server", frozenset(), frozenset()),
    ),
    "start": lambda bench: (
        bench.quoted().link,
        lambda link: bench.jobs.start(OWNER, link, None),
    ),
    "cancel": lambda bench: (bench.begun().link, lambda link: bench.jobs.cancel(OWNER, link)),
    "publish": lambda bench: (
        bench.jobs.add_done(OWNER, mmt_report("a model", 0.5)).link,
        lambda link: bench.jobs.publish(OWNER, link, True),
    ),
}


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize("act", ACTS)
def test_a_job_that_is_deleted_while_it_changes_goes_after_the_change(database, monkeypatch, act):
    bench = Bench(database, NOWHERE)
    link, change_job = ACTS[act](bench)
    change = bench.jobs._change
    deletions: list[Future] = []
    with ThreadPoolExecutor(1) as pool:

        def change_late(*arguments, **values):
            deletions.append(pool.submit(bench.jobs.delete, OWNER, link))
            wait(deletions, 0.5)
            return change(*arguments, **values)

        monkeypatch.setattr(bench.jobs, "_change", change_late)
        assert change_job(link)
        deletions[0].result()
    assert bench.jobs.find(link) is None


@pytest.mark.locks_or_dialect
def test_a_cancelled_job_is_let_go(database):
    bench = Bench(database, NOWHERE)
    job = bench.begun()
    claim = bench.jobs.claim("server", frozenset(), frozenset())
    assert claim
    bench.jobs.cancel(OWNER, job.link)
    assert bench.jobs.renew_leases("server", frozenset({job.link})) == frozenset()
    assert not bench.jobs.finish("server", job.link, claim.draft)
    bench.jobs.start(OWNER, job.link, None)
    assert bench.jobs.claim("server", frozenset(), frozenset({job.link})) is None, (
        "it is not at its end here"
    )
    assert bench.jobs.claim("server", frozenset(), frozenset())


@pytest.mark.locks_or_dialect
def test_only_who_has_its_key_judges_a_job(database):
    bench = Bench(database, NOWHERE)
    job = bench.quoted(own=True)
    with pytest.raises(JobError, match="your own key. Enter it"):
        bench.jobs.start(OWNER, job.link, None)
    bench.jobs.start(OWNER, job.link, "server")
    mine = frozenset({job.link})
    assert bench.jobs.claim("other", frozenset(), frozenset()) is None
    assert bench.jobs.claim("other", mine, frozenset()) is None
    assert bench.jobs.claim("server", frozenset(), frozenset()) is None, "the key is not there yet"
    assert bench.jobs.claim("server", mine, frozenset())


@pytest.mark.locks_or_dialect
def test_a_network_has_one_own_key_job_judged_at_a_time(database):
    bench = Bench(database, NOWHERE)
    places = {"ada": "one", "bob": "one", "cid": "two", "dan": None, "eve": None}
    links = {
        owner: bench.quoted(owner=owner, own=True, network=network).link
        for owner, network in places.items()
    }
    for owner, link in links.items():
        bench.jobs.start(owner, link, "server")
    busy: list[str] = []
    while claim := bench.jobs.claim("server", frozenset(links.values()), frozenset(busy)):
        busy.append(claim.job.link)
    assert busy == [links[owner] for owner in ("ada", "cid", "dan", "eve")]
    busy.remove(links["ada"])
    claim = bench.jobs.claim("server", frozenset(links.values()), frozenset(busy))
    assert claim and claim.job.owner == "bob"


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize("taken", [False, True], ids=["waiting", "judging"])
@pytest.mark.parametrize("end", ["lapse", "release", "recover"])
def test_a_job_whose_key_is_lost_waits_for_it(database, taken, end):
    bench = Bench(database, NOWHERE)
    lent, own = bench.begun(owner="bob"), bench.quoted(own=True)
    bench.jobs.start(OWNER, own.link, "server")
    keys = frozenset({own.link})
    for _ in range(2 if taken else 0):
        assert bench.jobs.claim("server", keys, frozenset())
    bench.jobs.release_lapsed()
    assert state(bench, own.link) == ("judging" if taken else "waiting"), "its server lives"
    if end == "lapse":
        set_job(database, own.link, until=now() - timedelta(seconds=1))
        bench.jobs.release_lapsed()
    elif end == "release":
        bench.jobs.release("server")
    elif database.is_sqlite:
        bench.jobs.recover()
    else:
        bench.jobs.recover()
        assert state(bench, own.link) == ("judging" if taken else "waiting"), (
            "of several servers others may live"
        )
        return
    assert state(bench, own.link) == "needs_key"
    assert state(bench, lent.link) == ("judging" if taken and end == "lapse" else "waiting")


def test_what_its_owner_takes_away_is_in_no_file_of_a_server_that_rests(tmp_path):
    """A report, a note on one of its answers, and the texts of a submission: also not in SQLite's log."""
    words = ("a planted title", "a planted note", "a planted text")
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as database:
        submissions, one = (
            SubmissionStore(database),
            MarkedReport.on(database, mm_vet_report(title=words[0])),
        )
        seat = one.seat()
        (shown, _) = one.marking.draw(seat)
        one.marking.store.enter(seat, shown.token, MarkEntry("5", note=words[1]))
        with database.write() as connection:
            values = {
                name: OWNER for name in ("owner", "source", "title", "name", "digest", "file")
            }
            connection.execute(SUBMISSION.insert().values(**values, id=1, number=1, created=now()))
            connection.execute(SUBMITTED.insert().values(submission_id=1, item="x", text=words[2]))

        def lying() -> list[str]:
            files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
            return [word for word in words if word.encode() in files]

        assert lying() == list(words)
        submissions.withdraw(OWNER, OWNER, OWNER)
        assert lying() == list(words[:2])
        one.marking.drop(OWNER, one.job.link)
        assert lying() == list(words[:1])
        one.marking.jobs.delete(OWNER, one.job.link)
        assert lying() == []
