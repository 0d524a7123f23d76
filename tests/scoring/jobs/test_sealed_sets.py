"""Sealed sets judge files: what is refused, who may ask how often, and that no row, error or log has their texts."""

import json
import logging
import re
from contextlib import contextmanager

import pytest
from sqlalchemy import insert, select, update

from arena.authoring.events import Reject
from arena.authoring.store import DraftStore
from arena.database import METADATA, now
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.files import FileChoice, JobServiceError
from scoring.jobs.sealed_sets import SealedSets
from scoring.jobs.secret_days import MOST_OF_NETWORK, MOST_OF_OWNER, SECRET_REPORT
from scoring.jobs.service import OwnJudge
from scoring.jobs.store import JOB, JobError
from scoring.jobs.submissions import Submissions
from scoring.registry import BENCHMARKS
from scoring.visit_bench.reader import read_submission
from tests.support.job_worker import ended, running
from tests.support.judging_process import WIDE, Bench
from tests.support.openai_server import OpenAIServer, prompt
from tests.support.scoring_desk import Visit
from tests.support.sealed_project import Sealed, quotes, sealed_project

SEALED = r"(?:caption|reference)q[xy]\d+ "


@contextmanager
def desk(database, folder, reply=quotes, ceilings=WIDE):
    """A person at the desk of a server whose judge says all that it reads."""
    with OpenAIServer(reply) as server:
        blind = Submissions(database, None)
        bench = Bench(
            database,
            server.address,
            ceilings=ceilings,
            is_blind=blind.is_blind,
            open_draft=blind.open_draft,
        )
        yield Visit(bench, folder)


def quoted(visit: Visit, file, network: str | None = None, judge: OwnJudge | None = None):
    draft = visit.service.draft_sealed(visit.owner, visit.brings(file), "hardened", "my-model")
    return visit.service.quote(visit.owner, draft, judge, network)


def rows_beside(database, *but: str) -> str:
    """Every row of every table but these, as text."""
    with database.read() as connection:
        tables = [table for table in METADATA.sorted_tables if table.name not in but]
        return "\n".join(
            f"{table.name} {[*map(str, row)]}"
            for table in tables
            for row in connection.execute(select(table))
        )


def test_a_judged_report_has_counts_and_no_row_or_log_a_sealed_text(database, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    sealed = sealed_project(database)
    with desk(database, tmp_path) as visit, running(visit.bench):
        file = sealed.answers(tmp_path / "mine.jsonl")
        found = visit.service.recognise(visit.owner, visit.brings(file))
        assert found.benchmark == "sealed-items"
        assert found.lines[0] == "held-out: answers to 47 of 47 sealed items"
        job = quoted(visit, file)
        visit.service.start(visit.owner, job.link, None)
        job = ended(visit.bench, job.link)
        assert (job.state, job.score) == ("done", "51.1"), job.problem
        report = visit.bench.jobs.report(job.link)
    benchmark = BENCHMARKS[job.benchmark]
    lines = {line.name: (line.n, line.mean) for line in benchmark.scores(report)}
    assert lines == {
        "All items": (47, pytest.approx(100 * 24 / 47)),
        "Counting": (25, pytest.approx(52)),
        "Color": (22, pytest.approx(50)),
    }
    files = benchmark.files(report)
    shown = "".join(files[name].decode() for name in files) + repr(report)
    assert sealed.told_by(shown + caplog.text) == []
    assert sealed.told_by(rows_beside(database, "draft_event", "reply")) == []
    assert sealed.told_by(rows_beside(database)), "the judge was sent the texts"


@pytest.mark.parametrize("status", [None, 404])
def test_a_judge_that_fails_repeats_nothing_sealed(database, tmp_path, caplog, status):
    """Replies that cannot be read, and an error that echoes the prompt."""
    caplog.set_level(logging.DEBUG)
    sealed = sealed_project(database)
    echoed = json.dumps({"error": {"message": f"The model is not found: {sealed.texts[0]}"}})
    answer = (
        f"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: {len(echoed)}"
        f"\r\n\r\n{echoed}"
    )
    with OpenAIServer(lambda body, sample: "".join(re.findall(SEALED, prompt(body)))) as server:
        blind = Submissions(database, None)
        bench = Bench(
            database, server.address, is_blind=blind.is_blind, open_draft=blind.open_draft
        )
        visit = Visit(bench, tmp_path)
        if status:
            server.answers += [answer.encode()] * 100
        with running(bench):
            job = quoted(visit, sealed.answers(tmp_path / "mine.jsonl"))
            visit.service.start(visit.owner, job.link, None)
            job = ended(bench, job.link)
            assert job.state == "failed"
            assert visit.service.first_grades(job) == []
    assert sealed.told_by(job.problem + caplog.text) == []
    assert ("no longer offers" in job.problem) == bool(status)


@pytest.mark.parametrize("limit", ["user_day", "total", "job"])
def test_a_budget_that_is_used_up_names_no_amount_that_shows_how_long_a_sealed_text_is(
    database, tmp_path, limit
):
    sealed = sealed_project(database)
    ceilings = WIDE._replace(**{limit: 2_000})
    with desk(database, tmp_path, ceilings=ceilings) as visit, running(visit.bench):
        job = quoted(visit, sealed.answers(tmp_path / "mine.jsonl"))
        visit.service.start(visit.owner, job.link, None)
        job = ended(visit.bench, job.link)
    assert job.state == "failed" and "has no room for the next call. Use your own" in job.problem
    assert not re.search(r"[$\d]", job.problem)


def test_prices_do_not_tell_which_text_is_long(database, tmp_path):
    """An answer to a short item, and to a long one: the price is the same."""
    sealed = sealed_project(database)
    with desk(database, tmp_path) as visit:
        costs = []
        for number in (12, 32):
            path = tmp_path / f"only-{number}.jsonl"
            rows = [
                {"item": key, "prediction": "A cat." if place == number else ""}
                for place, key in enumerate(sealed.keys)
            ]
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            costs.append(quoted(visit, path).quote)
    assert costs[0].calls == 2
    assert costs[0].prompt_tokens == costs[1].prompt_tokens


def test_a_judge_of_ones_own_is_never_sent_them(database, tmp_path):
    sealed = sealed_project(database)
    with desk(database, tmp_path) as visit, running(visit.bench):
        own = OwnJudge("gpt-4", Endpoint("https://example.org/v1", Secret("sk"), "ada"), True)
        file = sealed.answers(tmp_path / "mine.jsonl")
        draft = visit.service.draft_sealed(visit.owner, visit.brings(file), "hardened", "my-model")
        with pytest.raises(JobServiceError, match="Only this site's judge may see"):
            visit.service.price(visit.owner, draft, own)
        with pytest.raises(JobServiceError, match="Only this site's judge may see"):
            visit.service.quote(visit.owner, draft, replace_known(own), None)
        job = quoted(visit, file)
        visit.bench.jobs.start(visit.owner, job.link, None)
        visit.bench.jobs.cancel(visit.owner, job.link)
        with pytest.raises(JobServiceError, match="Only this site's judge may see"):
            visit.service.with_another_judge(visit.owner, job.link, replace_known(own))


def replace_known(own: OwnJudge) -> OwnJudge:
    """The same with a model that needs no trial."""
    return OwnJudge("gpt-4-0613", own.address, own.may_be_tried_out)


def test_five_reports_a_day_for_an_owner_and_twenty_for_a_network(database, tmp_path):
    """Deleted ones count; a stopped one that goes on does not."""
    sealed = sealed_project(database)
    with desk(database, tmp_path) as visit:
        jobs = visit.bench.jobs
        file = sealed.answers(tmp_path / "mine.jsonl")
        for number in range(MOST_OF_OWNER):
            job = quoted(visit, file, "192.0.2.1")
            jobs.start(visit.owner, job.link, None)
            jobs.cancel(visit.owner, job.link)
            if number % 2:
                jobs.delete(visit.owner, job.link)
        going_on = jobs.of_owner(visit.owner)[0].link
        jobs.start(visit.owner, going_on, None)
        jobs.cancel(visit.owner, going_on)
        with pytest.raises(JobError, match="your 5 reports"):
            jobs.start(visit.owner, quoted(visit, file, "192.0.2.1").link, None)
        lines = visit.service.recognise(visit.owner, visit.brings(file)).lines
        assert "Left for you today: 0 of 5" in " ".join(lines)
        with database.write() as connection:
            network = connection.scalar(select(SECRET_REPORT.c.network))
            assert network and "192.0.2.1" not in network
            others = [
                {
                    "kind": "sealed",
                    "owner": f"other {number}",
                    "network": network,
                    "benchmark": "",
                    "at": now(),
                }
                for number in range(MOST_OF_NETWORK - MOST_OF_OWNER)
            ]
            connection.execute(insert(SECRET_REPORT), others)
        visit.owner = "bob"
        job = quoted(visit, file, "192.0.2.1")
        with pytest.raises(JobError, match="Your network"):
            jobs.start("bob", job.link, None)
        yesterday = now().replace(hour=0, minute=0, second=0, microsecond=0)
        with database.write() as connection:
            connection.execute(update(SECRET_REPORT).values(at=yesterday.replace(year=2020)))
        jobs.start("bob", job.link, None)
        jobs.sweep()
        with database.read() as connection:
            assert connection.scalars(select(SECRET_REPORT.c.owner)).all() == ["bob"]


def drafted(sealed: Sealed, database, path, **changes):
    rows = [json.loads(line) for line in sealed.answers(path).read_text().splitlines()]
    rows = changes.get("rows", lambda rows: rows)(rows)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    file = read_submission(path)
    return SealedSets(database).draft(file, "hardened", changes.get("title", ""), "judge", "")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rows": lambda rows: rows[1:]}, "these items have no row: 1"),
        ({"rows": lambda rows: [*rows, rows[0]]}, "more than once"),
        ({"title": "Human-verified reference"}, "Choose another name"),
        ({"title": "m" * 121}, "Shorten it to 120"),
        ({"rows": lambda rows: [{"item": "x", "prediction": ""}]}, "in a sealed set"),
    ],
)
def test_a_set_is_answered_whole_by_a_model_with_a_name(database, tmp_path, changes, told):
    sealed = sealed_project(database)
    with pytest.raises(UploadError) as error:
        drafted(sealed, database, tmp_path / "mine.jsonl", **changes)
    assert told in " ".join(error.value.problems)
    assert sealed.told_by(str(error.value)) == []


def test_instructions_and_pictures_name_items_too(database, tmp_path):
    sealed = sealed_project(database)

    def by_picture(rows):
        return [
            {
                "instruction": f"What is in picture {number}?",
                "image": f"{number}.png",
                "m prediction": "A dog.",
            }
            for number in range(len(rows))
        ]

    report = drafted(sealed, database, tmp_path / "mine.jsonl", rows=by_picture)
    assert [answer.item for answer in report.answers] == list(sealed.keys)
    assert report.title == "m"


@pytest.mark.parametrize(
    "changes",
    [{"visibility": "open"}, {"ended": False}, {"families": ("Counting",) * 19}],
)
def test_a_project_that_is_open_or_goes_on_or_is_small_judges_nothing(database, tmp_path, changes):
    sealed = sealed_project(database, **changes)
    with desk(database, tmp_path) as visit:
        token = visit.brings(sealed.answers(tmp_path / "mine.jsonl"))
        assert visit.service.recognise(visit.owner, token).benchmark == "visit-bench"
        chosen = visit.service.recognise(visit.owner, token, FileChoice("sealed-items"))
        assert chosen.benchmark == "sealed-items"


def test_an_item_that_was_taken_out_stops_the_jobs_before(database, tmp_path):
    sealed = sealed_project(database)
    with desk(database, tmp_path) as visit:
        job = quoted(visit, sealed.answers(tmp_path / "mine.jsonl"))
        store = DraftStore(database)
        store.append(store.drafts(sealed.campaign)[0].id, Reject(fault="picture"))
        with running(visit.bench):
            visit.service.start(visit.owner, job.link, None)
            assert "have changed since" in ended(visit.bench, job.link).problem
        with database.read() as connection:
            assert connection.scalar(select(JOB.c.report).where(JOB.c.link == job.link)) is None
