"""Forgetting: what is deleted, what stays, and that nobody can tell any more whose it was."""

import asyncio
import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import func, select, true, update

import app  # noqa: F401 every table is there
from arena.admin.actions import latest_actions
from arena.admin.erasure import (
    BROWSER,
    CODE,
    DROPPED,
    HANDED_OVER,
    OWNED,
    Erasure,
    UnknownVoterError,
    code_of,
)
from arena.battles.choices import UnknownBattleError
from arena.battles.tables import BATTLE, TURN, VOTER
from arena.battles.vote_table import VoteTable
from arena.battles.voters import LOGIN, LOGIN_AGE, NOBODY, Account, Voters, selves
from arena.budget import BUDGET
from arena.database import METADATA, Database, now
from arena.fraud.flags import voter_marks
from arena.items.ingest import Ingest
from arena.live.images import OwnImages
from arena.live.store import LiveStore, Opening, TurnAnswers
from arena.seats.links import account_arrival
from arena.server.change_log import voter_keys
from arena.settings import CountSettings
from arena.types import Names
from scoring.jobs.owners import ReportOwners
from scoring.jobs.published import PublishedJobs
from scoring.jobs.store import Jobs
from scoring.jobs.uploads import UploadStore
from scoring.visit_bench.store import SUBMISSION
from tests.support.commands import run
from tests.support.judging_process import Bench
from tests.support.live_votes import COOKIE, SECRET, bring, live_vote
from tests.support.marked_reports import MarkedReport
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.paid_campaigns import PaidCampaign, table
from tests.support.servers import ROOT, drafts
from tests.support.visitors import Visitor

OTHER = hashlib.sha256(b"the cookie of the one who stays").hexdigest()


@pytest.fixture
def images(database, tmp_path) -> OwnImages:
    return OwnImages(database, tmp_path / "own")


@pytest.fixture
def forgetting(database, images) -> Erasure:
    return Erasure(database, images)


def everything(database: Database) -> str:
    """Return every cell of every table as text."""
    with database.read() as connection:
        return repr([[connection.execute(select(table)).all()] for table in METADATA.sorted_tables])


def counted(database: Database) -> list[list[tuple]]:
    """Return the votes without who gave them."""
    with database.read() as connection:
        columns = [c for c in BATTLE.c if c.name not in ("voter_id", "token")]
        return connection.execute(select(*columns).order_by(BATTLE.c.id)).all()


def test_votes_stay_among_those_of_cookies_from_their_day(bank, forgetting):
    visitor = Visitor(bank, COOKIE)
    visitor.decide()
    since = now() - timedelta(days=3)
    with bank.write() as connection:
        connection.execute(update(VOTER).where(VOTER.c.id == visitor.id).values(since=since))
    forgetting.forget(visitor.id, "ada")
    with bank.read() as connection:
        owner = select(VOTER).where(VOTER.c.id == select(BATTLE.c.voter_id).scalar_subquery())
        row = connection.execute(owner).one()
    assert row.id != visitor.id
    assert row.since == since.replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.mark.locks_or_dialect
def test_votes_stay_and_what_leads_to_the_voter_goes(bank, images, forgetting):
    visitor, stays = Visitor(bank, COOKIE), Visitor(bank, OTHER)
    for one in (visitor, stays):
        one.decide()
    with bank.write() as connection:
        keys = voter_keys(connection, [visitor.id, stays.id])
    battle = live_vote(bank, visitor.id)
    token = bring(images, visitor.id, battle, keep=True)
    bring(images, visitor.id, battle, keep=False)
    before = counted(bank)

    forgetting.forget(forgetting.find(code_of(COOKIE)), "ada")

    assert counted(bank) == before, "votes stay as they are"
    told = everything(bank)
    assert keys[visitor.id] not in told and SECRET not in told
    assert COOKIE not in told and OTHER in told
    assert keys[stays.id] in told, "others keep their key"
    assert list(images._folder.iterdir()) == [] and images.path(visitor.id, token) is None
    with bank.read() as connection:
        for column in HANDED_OVER:
            assert visitor.id not in set(connection.scalars(select(column))), column
        owners = set(connection.scalars(select(BATTLE.c.voter_id)))
        assert connection.scalar(select(func.count()).select_from(TURN)) == 1, (
            "that it was asked stays"
        )
        assert connection.scalar(select(TURN.c.answer_a)) == ""
        hashes = connection.scalars(
            select(VOTER.c.cookie_hash).where(VOTER.c.id.in_(owners - {stays.id}))
        )
        assert all(one.startswith("forgotten ") for one in hashes)
        (act,) = latest_actions(connection, 10)
    assert (act.who, act.deed, act.about) == ("ada", "forgot a voter", ""), (
        "the act names nobody either"
    )


def test_files_to_score_are_deleted(bank, images, tmp_path):
    async def content():
        yield b"{}"

    uploads = UploadStore(tmp_path / "uploads")
    kept = []
    for cookie in (COOKIE, OTHER):
        Visitor(bank, cookie).decide()
        kept.append(asyncio.run(uploads.receive(cookie, "mine.json", content())))
    forgetting = Erasure(bank, images, uploads.folder)
    forgetting.forget(forgetting.find(code_of(COOKIE)), "ada")
    assert [one.path.exists() for one in kept] == [False, True]
    assert len(list(uploads.folder.iterdir())) == 2
    assert uploads.find(OTHER, kept[1].token) == kept[1]


@pytest.mark.locks_or_dialect
def test_what_two_models_say_to_who_is_forgotten_meanwhile_is_not_stored(bank, forgetting):
    store = LiveStore(bank)
    store.register_models(["one", "two"])
    visitor, stays = Visitor(bank, COOKIE), Visitor(bank, OTHER)
    asked, others = (store.begin(one.id, Opening(SECRET, 1)) for one in (visitor, stays))
    forgetting.forget(visitor.id, "ada")
    for battle, said in ((asked, f"{SECRET} It is a mole."), (others, "It is a cat.")):
        store.answer(battle.id, TurnAnswers(Names("one", "two"), Names(said, said), False, False))
    assert "It is a mole." not in everything(bank) and "It is a cat." in everything(bank)
    assert store.find(stays.id, others.token).is_settled


def test_every_server_finds_a_newcomer_behind_the_cookie(bank, forgetting):
    visitor = Visitor(bank, COOKIE)
    battle = visitor.vote(visitor.serve())
    forgetting.forget(visitor.id, "ada")
    assert Voters(bank).known(COOKIE) == NOBODY
    again = Visitor(bank, COOKIE)
    assert visitor.store.voter(COOKIE) == again.id != visitor.id, "the same on every server"
    visitor.id = again.id
    assert visitor.store.votes_of(visitor.store.voter(COOKIE)) == 0
    with pytest.raises(UnknownBattleError):
        visitor.reveal(battle)
    visitor.decide()


@pytest.mark.locks_or_dialect
def test_a_person_is_forgotten_with_the_guest_that_they_were(bank, forgetting):
    guest, voters = Visitor(bank, COOKIE), Voters(bank)
    guest.decide()
    fresh = hashlib.sha256(b"the cookie of the login").hexdigest()
    person = voters.log_in(Account("4711", "ann"), COOKIE, fresh)
    assert forgetting.find(code_of(fresh)) == person
    before = counted(bank)
    forgetting.forget(person, "ada")
    told = everything(bank)
    assert fresh not in told and COOKIE not in told
    assert "'ann'" not in told and hashlib.sha256(b"4711").hexdigest() not in told
    assert counted(bank) == before
    with bank.read() as connection:
        assert {guest.id, person}.isdisjoint(connection.scalars(select(BATTLE.c.voter_id)))
    assert voters.voter(fresh) != person, "the login is over"
    assert voters.log_in(Account("4711", "ann"), fresh, "f" * 64) != person, (
        "and who comes again is new"
    )


@pytest.mark.parametrize("ends", ["logged out", "a month later"])
def test_a_person_is_forgotten_with_the_guest_behind_a_login_that_is_over(
    bank, images, forgetting, ends
):
    login, voters = hashlib.sha256(b"the cookie of the login").hexdigest(), Voters(bank)
    person = voters.log_in(Account("4711", "ann"), COOKIE, login)
    if ends == "logged out":
        voters.log_out(login)
    else:
        with bank.write() as connection:
            connection.execute(update(LOGIN).values(since=now() - LOGIN_AGE))
    guest = Visitor(bank, login)
    guest.decide()
    token = bring(images, guest.id, live_vote(bank, guest.id), keep=True)
    assert guest.id != person and forgetting.find(code_of(login)) == person
    forgetting.forget(person, "ada")
    told = everything(bank)
    assert login not in told and SECRET not in told
    assert images.path(guest.id, token) is None
    with bank.read() as connection:
        assert guest.id not in set(connection.scalars(select(BATTLE.c.voter_id)))


@pytest.mark.locks_or_dialect
def test_a_guest_whom_another_person_was_is_not_forgotten_with_who_had_the_browser_before(
    bank, images, forgetting
):
    voters = Voters(bank)
    ann = voters.log_in(Account("4711", "ann"), COOKIE, "a shared browser")
    voters.log_out("a shared browser")
    guest = Visitor(bank, "a shared browser")
    guest.decide()
    token = bring(images, guest.id, live_vote(bank, guest.id), keep=True)
    bob = voters.log_in(Account("4712", "bob"), "a shared browser", "cookie of bob")
    forgetting.forget(ann, "ada")
    assert images.path(guest.id, token) is not None
    with bank.read() as connection:
        assert set(connection.scalars(selves(bob))) == {bob, guest.id}
        assert guest.id in set(connection.scalars(select(BATTLE.c.voter_id)))
    forgetting.forget(bob, "ada")
    assert images.path(guest.id, token) is None


def test_whether_a_vote_counts_does_not_change(bank, forgetting):
    Visitor(bank, COOKIE).decide()
    person = Voters(bank).log_in(Account("4711", "ann"), COOKIE, "e" * 64)
    table = VoteTable(bank)
    for _ in range(2):
        with bank.read() as connection:
            marks = voter_marks(connection, CountSettings("logged-in"))
        assert marks.counted_mask(table.read().votes).tolist() == [True]
        forgetting.forget(person, "ada")


@pytest.mark.locks_or_dialect
def test_what_was_scored_stays_and_is_nobodys(bank, forgetting):
    """With every cookie that was theirs; what others had scored stays theirs."""
    login = hashlib.sha256(b"the cookie of the login").hexdigest()
    Visitor(bank, COOKIE).decide()
    person = Voters(bank).log_in(Account("4711", "ann"), COOKIE, login)
    bench = Bench(bank, "http://127.0.0.1:9/v1")
    jobs = {owner: bench.quoted(owner=owner, own=True) for owner in (COOKIE, login, OTHER)}
    for owner, job in jobs.items():
        bench.budget.for_job(job.link, owner).reserve(5)
        with bank.write() as connection:
            named = dict.fromkeys(("source", "title", "name", "digest", "file"), owner[::-1])
            values = {**named, "owner": owner, "number": 1, "created": now()}
            connection.execute(SUBMISSION.insert().values(values))
    forgetting.forget(person, "ada")
    assert [len(bench.jobs.of_owner(owner)) for owner in jobs] == [0, 0, 1]
    assert all(bench.jobs.find(job.link) for job in jobs.values())
    with bank.read() as connection:
        owners = list(connection.scalars(select(SUBMISSION.c.owner).order_by(SUBMISSION.c.id)))
        days = list(
            connection.scalars(select(BUDGET.c.name).where(BUDGET.c.name.startswith("day ")))
        )
    assert [owner.startswith("forgotten ") for owner in owners] == [True, True, False]
    assert len(days) == 1 and days[0].endswith(OTHER)
    told = everything(bank)
    assert COOKIE not in told and login not in told and OTHER in told


def test_the_costs_of_a_project_whose_name_is_a_voters_number_stay(bank, forgetting):
    voter = Visitor(bank, COOKIE)
    voter.decide()
    person = Voters(bank).known(COOKIE)
    names = [f"drafts job drafts of {person}", f"drafts day 2026-01-31 {person}", "total"]
    with bank.write() as connection:
        connection.execute(
            BUDGET.insert(), [{"name": name, "spent": 5, "held": 0} for name in names]
        )
    forgetting.forget(person, "ada")
    with bank.read() as connection:
        assert {*connection.scalars(select(BUDGET.c.name))} == {names[0], "total"}


def test_every_table_that_has_an_owner_is_served_with():
    owned = {table.name for table in METADATA.sorted_tables if "owner" in table.c}
    assert owned == {table.name for table in (*OWNED, BROWSER, CODE)}


def test_browsers_with_the_same_reports_are_no_longer_known_together(bank, forgetting):
    owners = ReportOwners(bank)
    voter = Visitor(bank, COOKIE)
    voter.decide()
    owners.enter_code(OTHER, owners.show_code(COOKIE))
    owners.show_code(COOKIE)
    forgetting.forget(Voters(bank).known(COOKIE), "ada")
    assert owners.owner_of(OTHER) == OTHER
    assert COOKIE not in everything(bank)


@pytest.mark.parametrize("forgotten", [COOKIE, OTHER])
def test_of_devices_that_a_code_joined_reports_and_files_are_forgotten_together(
    bank, images, tmp_path, forgotten
):
    """Votes are forgotten by each device's own code, as its page says."""
    owners = ReportOwners(bank)
    uploads = UploadStore(tmp_path / "uploads")
    jobs = Jobs(bank)

    async def content():
        yield b"{}"

    def score() -> None:
        for cookie in (COOKIE, OTHER):
            owner = owners.owner_of(cookie)
            jobs.add_done(owner, mm_vet_report(0.2))
            asyncio.run(uploads.receive(owner, f"{cookie[:4]}.json", content()))

    for cookie in (COOKIE, OTHER):
        Visitor(bank, cookie).decide()
    score()
    owners.enter_code(OTHER, owners.show_code(COOKIE))
    score()
    forgetting = Erasure(bank, images, uploads.folder)
    forgetting.forget(forgetting.find(code_of(forgotten)), "ada")
    assert [jobs.of_owner(owners.owner_of(cookie)) for cookie in (COOKIE, OTHER)] == [(), ()]
    assert list(uploads.folder.iterdir()) == []
    known = [bool(Voters(bank).known(cookie)) for cookie in (COOKIE, OTHER)]
    assert known == [cookie != forgotten for cookie in (COOKIE, OTHER)]


@pytest.mark.locks_or_dialect
def test_published_reports_of_who_is_forgotten_are_private_again(bank, forgetting):
    Visitor(bank, COOKIE).decide()
    jobs = Jobs(bank)
    slugs = {}
    for owner in (COOKIE, OTHER):
        link = jobs.add_done(owner, mm_vet_report(0.2)).link
        slugs[owner] = jobs.publish(owner, link, True).slug
    forgetting.forget(forgetting.find(code_of(COOKIE)), "ada")
    assert jobs.find(slugs[COOKIE]) is None and jobs.find(slugs[OTHER])
    assert PublishedJobs(bank).counts_by_benchmark() == {"mm-vet": 1}


@pytest.mark.locks_or_dialect
def test_a_worker_is_found_by_the_seat_and_forgotten_with_its_place_in_the_platforms_list(
    bank, forgetting
):
    one = PaidCampaign(bank)
    seat, stays = one.answer("ann-worker"), one.answer("bob-worker")
    one.admin.seats.bring_participants(
        one.campaign, {"ann-worker": "APPROVED", "bob-worker": "APPROVED"}
    )
    for name in (f"Seat {seat.id}", seat.code, f" {seat.code.lower()} "):
        assert forgetting.find(name) == seat.voter
    for name in ("seat 0", "seat", f"seat {seat.id}x", "0" * 10):
        with pytest.raises(UnknownVoterError):
            forgetting.find(name)
    before = counted(bank)
    forgetting.forget(seat.voter, "ada")
    told = everything(bank)
    assert (
        "ann-worker" not in told
        and seat.code not in told
        and "bob-worker" in told
        and stays.code in told
    )
    assert counted(bank) == before, "what was voted stays"
    kept, sheet = one.admin.seats.participants(one.campaign), table(one.admin.sheet("pilot"))
    assert kept == {"bob-worker": "APPROVED"}
    assert str(sheet[0]["person"]).startswith("forgotten ") and sheet[0]["votes"] == 3
    again = one.seat("ann-worker")
    assert again.voter != seat.voter and again.id != seat.id, "who comes again is new"


def test_who_logged_in_to_a_campaign_is_forgotten_with_the_seat(bank, forgetting):
    one = PaidCampaign(bank)

    def logged_in(cookie: str) -> tuple[str, str]:
        return Voters(bank).account(cookie * 64) or ("", "")

    person = Voters(bank).log_in(Account("4711", "ann-account"), COOKIE, "e" * 64)
    Voters(bank).log_in(Account("4712", "bob-account"), OTHER, "f" * 64)
    seat, stays = (
        one.admin.seats.enter(one.campaign, account_arrival(*logged_in(cookie)), None)
        for cookie in "ef"
    )
    assert seat.person in everything(bank)
    forgetting.forget(person, "ada")
    told = everything(bank)
    assert seat.person not in told and "ann-account" not in told and seat.code not in told
    assert stays.person in told and "bob-account" in told and stays.code in told


@pytest.mark.locks_or_dialect
def test_marks_of_who_is_forgotten_stay_and_who_comes_again_is_new(bank, forgetting):
    one = MarkedReport.on(bank)
    helper, owner = one.seat("helper-1"), one.seat()
    one.mark(helper, "5", 2)
    one.mark(owner, "5", 2)
    assert one.marking.draw(helper), "an answer is shown to the helper"
    before = [mark._replace(marker="") for mark in one.marks()]
    forgetting.forget(helper.voter, "ada")
    told = everything(bank)
    assert helper.person not in told and owner.person in told
    assert [mark._replace(marker="") for mark in one.marks()] == before
    again = one.seat("helper-1")
    assert again.id != helper.id
    one.mark(again, "7", 2)
    assert [mark.score for mark in one.marks() if mark.marker == again.person] == [0.7, 0.7]


def test_what_is_forgotten_is_not_in_the_file_of_a_database_either(tmp_path, monkeypatch):
    """Where SQLite is built as its authors build it, which leaves what is deleted in the file's free places."""
    connect = sqlite3.dbapi2.connect

    def built_by_its_authors(*where, **options) -> sqlite3.Connection:
        connection = connect(*where, **options)
        connection.execute("PRAGMA secure_delete=OFF")
        return connection

    monkeypatch.setattr(sqlite3.dbapi2, "connect", built_by_its_authors)
    file = tmp_path / "arena.db"
    with closing(Database(f"sqlite:///{file}")) as database:
        Ingest(database).add_items("test", "folder", drafts())
        one = PaidCampaign(database)
        seat = one.answer("ann-worker")
        one.admin.seats.bring_participants(one.campaign, {"ann-worker": "APPROVED"})
        Erasure(database, OwnImages(database, tmp_path / "own")).forget(seat.voter, "ada")
        log = (tmp_path / "arena.db-wal").read_bytes()
    for secret in ("ann-worker", seat.code):
        assert secret.encode() not in log + file.read_bytes()


def test_nobody_is_found_by_what_is_no_code(bank, forgetting):
    visitor = Visitor(bank, COOKIE)
    assert (
        forgetting.find(str(visitor.id))
        == forgetting.find(f" {code_of(COOKIE).upper()} ")
        == visitor.id
    )
    for name in (
        "",
        "0",
        "99999",
        code_of(OTHER),
        "%",
        "person:",
        "' OR 1=1 --",
        COOKIE,
        "abc",
        "\ud800",
        "1" * 5000,
    ):
        with pytest.raises(UnknownVoterError, match="/you"):
            forgetting.find(name)


def test_every_place_that_names_a_voter_is_served_with():
    places = {
        f"{table.name}.{column.name}"
        for table in METADATA.sorted_tables
        for column in table.columns
        for key in column.foreign_keys
        if key.column is VOTER.c.id
    }
    assert places == {f"{column.table.name}.{column.name}" for column in (*DROPPED, *HANDED_OVER)}


@pytest.mark.locks_or_dialect
def test_what_was_interrupted_can_be_done_again(bank, images, forgetting):
    visitor = Visitor(bank, COOKIE)
    bring(images, visitor.id, live_vote(bank, visitor.id), keep=True)
    (picture,) = images._folder.iterdir()
    picture.unlink()  # as if the program had been ended in between
    forgetting.forget(visitor.id, "ada")
    assert images.take_down(true()) == 0


def test_the_command_forgets_and_is_recorded(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts())
    visitor = Visitor(database, COOKIE)
    visitor.decide()
    bench = Bench(database, "http://127.0.0.1:9/v1")
    bench.quoted(owner=COOKIE)

    here = {"DATA_DIR": str(tmp_path)}
    unknown = run("arena", "forget", "--voter", code_of(OTHER), environ=here)
    assert unknown.code == 2 and "No visitor" in unknown.err and "Traceback" not in unknown.err
    line = [sys.executable, "-m", "arena", "forget", "--voter", code_of(COOKIE)]
    subprocess.run(line, cwd=ROOT, env={**os.environ, **here}, check=True)
    assert bench.jobs.of_owner(COOKIE) == (), "also where scoring is not imported"
    with database.read() as connection:
        assert visitor.id not in set(connection.scalars(select(BATTLE.c.voter_id)))
        assert [act.who for act in latest_actions(connection, 10)] == ["the command line"]
    database.close()
