"""What "Score a model" says of jobs: of one that waits, for what and until when, on its page and in its row."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from arena.database import Database, now
from arena.inference.endpoint import Endpoint, EndpointError
from arena.types import Secret
from scoring.jobs.store import Job
from scoring.serialize import read_record
from scoring.web.scoring_problems import problem_html, shows_problems
from scoring.web.scoring_view import jobs_html, progress_html, waits_text
from tests.support.judging_process import Bench, set_job

NOWHERE = "http://127.0.0.1:9/v1"


def judged(database: Database, bench: Bench, owner: str, **values: object) -> Job:
    job = bench.begun(owner=owner)
    set_job(database, job.link, state="judging", holder="server", until=now(), **values)
    return job


def test_a_stored_text_that_cannot_be_read_is_a_problem_on_the_page():
    @shows_problems
    def resume(tab: object, request: object) -> dict:
        return {"draft": read_record(Job, "{}")}

    shown = resume(SimpleNamespace(problem="problem"), None)
    assert "The stored report can&#39;t be read. Score the file again." in shown["problem"]


def test_what_is_wrong_with_a_judges_address_begins_as_a_sentence():
    with pytest.raises(EndpointError) as caught:
        Endpoint(NOWHERE, Secret("sk-1"), owner="somebody")
    assert "The address begins with http:" in problem_html(caught.value)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_job_in_the_queue_says_how_many_are_ahead_and_when_a_place_is_free(database):
    bench = Bench(database, NOWHERE)
    first = judged(database, bench, "first", started=now())
    waiting = [bench.begun(owner=owner) for owner in ("second", "third")]

    def told() -> list[str]:
        return [waits_text(job, bench.jobs) for job in waiting]

    free = "a place is free when a running job ends"
    assert told() == [f"yours is next; {free}", f"1 job ahead of yours; {free}"]
    # a grade a second, and three minutes of them left
    pace = {"started": now() - timedelta(seconds=20), "fresh": 20, "done": 20, "total": 200}
    set_job(database, first.link, **pace)
    assert told()[1] == "1 job ahead of yours; a place is free in about 3 minutes"
    set_job(database, first.link, state="done")
    assert told() == ["yours is next", "1 job ahead of yours"]
    own = bench.quoted(owner="fourth", own=True)
    bench.jobs.start("fourth", own.link, "server")
    assert waits_text(bench.jobs.find(own.link), bench.jobs) == "yours is next", (
        "it has places of its own"
    )


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_a_job_waits_for_stands_on_its_page_and_in_its_row(database):
    bench = Bench(database, NOWHERE)
    job = bench.begun()
    money = "for money that other calls hold, until 14:32 UTC at the latest"
    for state, problem, page, row in (
        ("waiting", "", "Waiting: yours is next.", "waiting: yours is next"),
        ("judging", money, f"Waiting {money}.", f"waiting {money}"),
        ("judging", "", "Judging.", "being judged"),
        (
            "failed",
            "Its key ended.",
            "Why it stopped: Its key ended. What has been judged is kept. Resume",
            "stopped",
        ),
    ):
        shown = replace(job, state=state, problem=problem)
        waits = waits_text(shown, bench.jobs)
        assert page in progress_html(shown, waits, ())
        assert f"<span>{row}</span>" in jobs_html([shown], waits)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_only_a_private_free_report_has_a_last_day(database):
    job = replace(Bench(database, NOWHERE).begun(), model="", state="done", finished=now())
    assert "Kept until" in progress_html(job, "", ())
    assert "Kept until" not in progress_html(replace(job, published=True), "", ())
