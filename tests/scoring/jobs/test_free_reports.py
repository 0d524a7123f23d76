"""Free reports: kept once, so many for an owner and a network, for a while, and not on a disk that is nearly full."""

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from arena.battles.lending import Lending
from arena.battles.store import BattleStore
from arena.database import Database, now
from arena.live.images import OwnImageError, OwnImages
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.jobs import store
from scoring.jobs.files import FileChoice
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.service import JobService
from scoring.jobs.store import FREE_REPORT, JOB, KEPT_FREE, MOST_OF_OWNER, JobError
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import UploadStore, UploadStoreError
from scoring.registry import open_upload
from tests.support.choice_tables import row, table_file
from tests.support.judging_process import OWNER, Bench, set_job
from tests.support.live_visitor import picture
from tests.support.servers import AppServer

NOWHERE = "http://127.0.0.1:9/v1"


class Visit:
    """A person at the desk of a server whose disk keeps so many bytes for votes."""

    def __init__(self, database: Database, folder: Path, votes_room: int = 0) -> None:
        self.bench = Bench(database, NOWHERE, lends=False)
        self.jobs = self.bench.jobs
        self.upload_store = UploadStore(folder / "uploads", votes_room=votes_room)
        rooms = (
            self.upload_store,
            self.jobs,
            self.bench.worker,
            self.bench.cache,
            None,
            {},
            1000.0,
            Submissions(database, None),
            Lending(database, login=False),
            ReportPictures(database, self.jobs, self.upload_store),
        )
        self.service = JobService({"sample": own_sample()}, *rooms)

    def brings(self, file: Path, owner: str = OWNER, network: str | None = None) -> str:
        """Upload a file and return its token."""

        async def chunks() -> AsyncIterator[bytes]:
            yield file.read_bytes()

        return asyncio.run(self.upload_store.receive(owner, file.name, chunks(), network)).token

    def scores(
        self,
        file: Path,
        owner: str = OWNER,
        network: str | None = None,
        protocol="strict",
        title="",
    ) -> str:
        """Upload a file, have rules read it and return the report's link."""
        token = self.brings(file, owner, network)
        return self.service.report_by_rules(
            owner, token, FileChoice("mmbench"), protocol, title
        ).link


@pytest.fixture
def visit(database, tmp_path) -> Visit:
    return Visit(database, tmp_path)


def answers(folder: Path, number: int = 0) -> Path:
    """Write a file of one answer, another one for each number."""
    return table_file(folder / "model.tsv", [row(1, "B"), row(2, f"Is it {number}?")])


def rows(database: Database, table) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_the_same_file_under_the_same_settings_has_one_report(visit, database, tmp_path):
    file = answers(tmp_path)
    first = visit.scores(file)
    assert [visit.scores(file) for _ in range(5)] == [first] * 5
    assert rows(database, JOB) == rows(database, FREE_REPORT) == 1
    others = {
        visit.scores(file, owner="bob"),
        visit.scores(file, protocol="mmbench-paper"),
        visit.scores(file, title="Another name"),
        visit.scores(answers(tmp_path, 1)),
    }
    assert len(others | {first}) == 5 == rows(database, JOB)
    report = visit.jobs.report(first)
    assert report is not None and report.rows[1].prediction == "Is it 0?"


def test_of_many_presses_at_once_one_report_comes(visit, database, tmp_path):
    found = open_upload(answers(tmp_path), name="model.tsv")
    assert found is not None
    with ThreadPoolExecutor(8) as pool:
        links = set(
            pool.map(
                lambda _: visit.jobs.add_done(OWNER, found.report("strict", "")).link, range(16)
            )
        )
    assert len(links) == 1 == rows(database, JOB)


def test_an_owner_who_has_the_most_reports_is_told_and_loses_none(visit, tmp_path):
    links = [visit.scores(answers(tmp_path, number)) for number in range(MOST_OF_OWNER)]
    with pytest.raises(
        JobError,
        match=f"You have {MOST_OF_OWNER} free reports, the most for one person. Delete one",
    ):
        visit.scores(answers(tmp_path, 99))
    assert {job.link for job in visit.jobs.of_owner(OWNER)} == set(links)
    assert visit.scores(answers(tmp_path, 3)) == links[3], "what is there already is shown"
    assert visit.scores(answers(tmp_path, 99), owner="bob")
    visit.service.delete(OWNER, links[0])
    assert visit.scores(answers(tmp_path, 99))


def test_a_network_has_so_many_reports_a_day(visit, database, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOST_OF_NETWORK", 3)
    file = answers(tmp_path)
    first = visit.scores(file, owner="person 0", network="one")
    for number in range(1, 3):
        visit.scores(file, owner=f"person {number}", network="one")
    with pytest.raises(JobError, match="Your network has used its 3 free reports"):
        visit.scores(file, owner="one more", network="one")
    assert rows(database, JOB) == 3
    assert visit.scores(file, owner="person 0", network="one") == first
    assert visit.scores(file, owner="one more", network="another") and visit.scores(
        file, owner="at home"
    )


def test_a_free_report_goes_by_age_and_what_a_judge_was_asked_for_stays(visit, database, tmp_path):
    old, asked_again = visit.scores(answers(tmp_path, 1)), visit.scores(answers(tmp_path, 2))
    judged, quoted = visit.bench.begun(owner="bob").link, visit.bench.quoted(owner="eve").link
    late = now() - KEPT_FREE - timedelta(seconds=1)
    for link in (old, asked_again, judged):
        set_job(database, link, state="done", created=late, finished=late)
    set_job(database, quoted, created=now() - timedelta(days=2))
    assert visit.scores(answers(tmp_path, 2)) == asked_again, "it is young again"
    assert visit.jobs.sweep() == 2 and visit.jobs.sweep() == 0
    left = [visit.jobs.find(link) is not None for link in (old, asked_again, judged, quoted)]
    assert left == [False, True, True, False]
    assert rows(database, FREE_REPORT) == 1


def test_a_server_deletes_what_is_too_old_when_it_starts(start_server, tmp_path):
    app: AppServer = start_server(DEMO_BANK="off")
    app.stop()
    database = Database(f"sqlite:///{app.data_dir / 'arena.db'}")
    visit = Visit(database, tmp_path)
    old, fresh = visit.scores(answers(tmp_path, 1)), visit.scores(answers(tmp_path, 2))
    set_job(database, old, finished=now() - KEPT_FREE - timedelta(seconds=1))
    app.start()
    while visit.jobs.find(old):
        assert app.process.poll() is None
        time.sleep(0.05)
    assert visit.jobs.find(fresh)
    app.stop()
    database.close()


def test_a_report_that_is_deleted_takes_its_file_along(visit, database, tmp_path):
    link = visit.scores(answers(tmp_path))
    theirs = visit.brings(answers(tmp_path), owner="bob")
    with pytest.raises(JobError, match="You have no such job"):
        visit.service.delete("bob", link)
    assert len(list((tmp_path / "uploads").iterdir())) == 4, "two files, each with its slip"
    visit.service.delete(OWNER, link)
    assert rows(database, JOB) == rows(database, FREE_REPORT) == 0
    assert visit.upload_store.find("bob", theirs).path.is_file()
    assert len(list((tmp_path / "uploads").iterdir())) == 2


@pytest.mark.parametrize("has_same_name", [False, True])
def test_another_file_that_waits_outlives_a_report(visit, tmp_path, has_same_name):
    scored = answers(tmp_path)
    link = visit.scores(scored)
    path = scored if has_same_name else tmp_path / "other.tsv"
    waiting = visit.brings(table_file(path, [row(1, "B")]))
    visit.service.delete(OWNER, link)
    assert visit.upload_store.find(OWNER, waiting).path.is_file()


def test_a_file_that_comes_while_a_judge_reads_another_of_its_name_outlives_that_report(
    visit, database, tmp_path
):
    job = visit.bench.quoted()
    waiting = visit.brings(table_file(tmp_path / job.file, [row(1, "B")]))
    set_job(database, job.link, state="done", finished=now())
    visit.service.delete(OWNER, job.link)
    assert visit.upload_store.find(OWNER, waiting).path.is_file()


def test_a_disk_that_is_nearly_full_takes_no_upload_no_free_report_and_no_own_image(
    database, tmp_path
):
    visit, full = Visit(database, tmp_path), Visit(database, tmp_path, votes_room=10**18)
    token = visit.brings(answers(tmp_path))
    with pytest.raises(UploadStoreError, match="are kept for votes"):
        full.brings(answers(tmp_path), owner="bob")
    with pytest.raises(UploadStoreError, match="are kept for votes"):
        full.service.report_by_rules(OWNER, token, FileChoice("mmbench"), "strict", "")
    voter = BattleStore(database).voter("owner")
    images = OwnImages(database, tmp_path / "own", votes_room=10**18)

    async def chunks() -> AsyncIterator[bytes]:
        yield picture()

    with pytest.raises(OwnImageError, match="are kept for votes"):
        asyncio.run(images.receive(voter, chunks()))
    assert rows(database, JOB) == 0 and list((tmp_path / "own").iterdir()) == []
    assert visit.service.report_by_rules(OWNER, token, FileChoice("mmbench"), "strict", "").link
