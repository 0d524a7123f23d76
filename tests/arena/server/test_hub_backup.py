"""The mirror: what a wiped disk gets back, what a failing Hub may cost, and what never leaves."""

import hashlib
import json
import random
import shutil
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import permutations
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from huggingface_hub import constants
from sqlalchemy import delete, func, insert, select, update

import app
from arena.admin.actions import ACT, latest_actions, record_action
from arena.admin.erasure import Erasure
from arena.admin.service import AdminService
from arena.battles.settlements import BoardRecord, extend_record, read_record
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, HAS_CHOICE, SEAT, TURN, VOTER, VOTER_NETWORK
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Account, Voters
from arena.budget import BUDGET, Budget
from arena.database import DIGEST, Database, back_up
from arena.formats.registry import read
from arena.fraud.eligibility import choose_first_official, official_board
from arena.fraud.flags import voter_marks
from arena.imports.importer import ImportRequest, VoteImporter
from arena.items.store import ANSWER, SOURCE, ItemBank
from arena.live.exported_votes import AnswerMarks, exported_marks
from arena.live.images import OwnImages
from arena.live.pause import paused_since
from arena.ratings.settled import Look
from arena.seats.campaigns import CampaignStore
from arena.seats.links import Arrival, account_arrival
from arena.server import hub_backup
from arena.server.change_log import OUTBOX, VOTER_KEY, ChangeLog, ChangeLogError, fold_files
from arena.server.hub_backup import (
    EVERY,
    FOLD,
    MIRROR,
    BackupState,
    HubBackup,
    HubDataset,
    HubError,
    due_fold,
)
from arena.settings import CountSettings
from arena.types import Secret
from arena.web.backup_status import backup_line
from tests.support.backup import MODELS, Clock, FolderHub, backup_of, bank, copy_all, rows, use
from tests.support.hub_server import HubServer
from tests.support.judging_process import WIDE, Bench
from tests.support.live_votes import COOKIE, SECRET, bring, live_vote
from tests.support.toy_campaigns import PROLIFIC, TASK, Toys
from tests.support.toy_task import ToySpec
from tests.support.visitors import Visitor


@pytest.mark.parametrize("onto", ["sqlite", "postgresql"])
def test_a_wiped_disk_gets_everything_back_and_goes_on(database, another, tmp_path, onto):
    """Also from one kind of database to the other; new rows get numbers behind the restored ones."""
    hub, rng = FolderHub(), random.Random(1)
    copy_all(backup_of(bank(database), hub, tmp_path))
    use(database, 3, 6, rng)
    copy_all(backup_of(database, hub, tmp_path))
    fresh = another(onto)
    assert backup_of(fresh, hub, tmp_path).restore()
    assert rows(fresh) == rows(database)
    use(fresh, 1, 3, rng)
    with fresh.read() as connection:
        assert len(connection.execute(select(BATTLE)).all()) == len(
            set(connection.scalars(select(BATTLE.c.id)))
        )


def test_a_database_that_is_in_use_is_not_restored(database, another, tmp_path):
    hub = FolderHub()
    copy_all(backup_of(bank(database), hub, tmp_path))
    full = bank(another())
    before = rows(full)
    assert not backup_of(full, hub, tmp_path).restore()
    assert rows(full) == before
    assert not backup_of(another(), FolderHub(), tmp_path).restore(), "there is no copy yet"


def test_a_copy_belongs_to_the_last_database_that_began_with_it(database, another, tmp_path):
    """Two servers, each with a database of its own, and one dataset: it stays a copy of one of them."""
    hub = FolderHub()
    old = backup_of(bank(database), hub, tmp_path)
    copy_all(old)
    new = backup_of(another(), hub, tmp_path)
    assert new.restore()
    use(database, 1, 3, random.Random(1))
    use(new._database, 2, 3, random.Random(2))
    old._commit_waiting()
    assert (
        "another server with its own database writes to the dataset in MIRROR, so copying has stopped here"
        in old.state().problem
    )
    copy_all(new)
    assert not new.state().problem
    third = backup_of(another(), hub, tmp_path)
    assert third.restore()
    assert rows(third._database) == rows(new._database) != rows(database)


def test_a_new_dataset_gets_what_was_copied_to_another_one(database, another, tmp_path):
    """As if MIRROR had been changed: what is copied elsewhere is no change any more."""
    rng = random.Random(18)
    use(bank(database), 2, 3, rng)
    copy_all(backup_of(database, FolderHub(), tmp_path))
    use(database, 1, 1, rng)
    hub = FolderHub()
    copy_all(backup_of(database, hub, tmp_path))
    fresh = another()
    assert backup_of(fresh, hub, tmp_path).restore()
    assert rows(fresh) == rows(database)


@pytest.mark.locks_or_dialect
def test_a_dataset_lacks_what_was_copied_to_another_one_meanwhile(database, tmp_path):
    """As if MIRROR had been changed, and changed back."""
    first = FolderHub()
    rng = random.Random(21)
    copy_all(backup_of(bank(database), first, tmp_path))
    use(database, 1, 2, rng)
    again = backup_of(database, first, tmp_path)
    copy_all(again)
    assert again.state().problem == ""
    use(database, 1, 2, rng)
    copy_all(backup_of(database, FolderHub(), tmp_path))
    use(database, 1, 2, rng)
    back = backup_of(database, first, tmp_path)
    before = dict(first.files)
    back._commit_waiting()
    assert "MIRROR lacks changes that were copied to another one" in back.state().problem
    assert first.files == before


@pytest.mark.parametrize("fold", [2, FOLD])
def test_an_older_backup_that_was_put_back_leaves_the_newer_copy_alone(
    another, tmp_path, monkeypatch, fold
):
    """As pg_dump makes it, with the key by which the copy knows the database."""
    monkeypatch.setattr(hub_backup, "FOLD", fold)
    hub, rng = FolderHub(), random.Random(19)
    database = bank(another())
    newer = backup_of(database, hub, tmp_path)
    copy_all(newer)
    database.empty_log()
    file = shutil.copy(str(database.url.database), tmp_path / "older.db")
    for _ in range(4):
        use(database, 1, 2, rng)
        newer._commit_waiting()
        newer._fold()
    assert any("folded-" in path for path in hub.files) == (fold == 2)
    with closing(Database(f"sqlite:///{file}")) as older:
        use(older, 2, 2, rng)
        backup = backup_of(older, hub, tmp_path)
        backup._commit_waiting()
        assert "MIRROR is newer than this database" in backup.state().problem
        moved = FolderHub()
        copy_all(backup_of(older, moved, tmp_path))
        for source, kept in ((hub, database), (moved, older)):
            fresh = another()
            assert backup_of(fresh, source, tmp_path).restore()
            assert rows(fresh) == rows(kept)


def test_a_copied_file_is_another_database_to_the_dataset(another, tmp_path):
    """It may be opened on a second machine, where it has the numbers of the first."""
    hub, rng = FolderHub(), random.Random(20)
    database = bank(another())
    backup = backup_of(database, hub, tmp_path)
    copy_all(backup)
    back_up(str(database.url), tmp_path / "copy.db")
    with closing(Database(f"sqlite:///{tmp_path / 'copy.db'}")) as trial:
        use(trial, 1, 2, rng)
        second = backup_of(trial, hub, tmp_path)
        second._commit_waiting()
        assert "another server with its own database writes" in second.state().problem
    use(database, 1, 2, rng)
    copy_all(backup)
    assert backup.state().problem == ""
    fresh = another()
    assert backup_of(fresh, hub, tmp_path).restore()
    assert rows(fresh) == rows(database)


def test_rows_that_were_there_before_the_backup_are_copied_once(database, tmp_path):
    hub = FolderHub()
    use(bank(database), 1, 2, random.Random(3))
    for _ in range(3):
        copy_all(backup_of(database, hub, tmp_path))
    assert len([path for path in hub.files if path.startswith("votes/")]) == 1


class Life:
    """A server on a clock of its own, whose disk can be wiped, with a Hub that fails."""

    STEP = EVERY / 20

    def __init__(self, open_another, folder: Path, rng: random.Random) -> None:
        self.clock, self.hub, self.rng = Clock(), FolderHub(rng), rng
        self.born: dict[int, datetime] = {}
        """When each vote was given that is there."""
        self.copied: set[int] = set()
        """Votes that commits have taken."""
        self.commits: list[datetime] = []
        self._another, self._folder = open_another, folder
        self.backup = self._begun()
        bank(self.backup._database)
        while self.backup.change_log.count_waiting():
            self.step()

    def step(self, by: timedelta = STEP) -> None:
        self.clock.time += by
        before = len(self.hub.commits)
        self.backup.step()
        if len(self.hub.commits) == before:
            return
        self.commits += [self.clock()] * (len(self.hub.commits) - before)
        if not self.backup.change_log.count_waiting():
            self.copied = set(self.born)

    def vote(self) -> None:
        use(self.backup._database, 1, 1, self.rng)
        self.born |= {vote: self.clock() for vote in self._votes() - self.born.keys()}

    def wipe(self) -> dict[int, datetime]:
        """Wipe the disk and come back; return what was lost, with when it was given."""
        before = self.born
        self.backup = self._begun()
        self.born = {vote: before[vote] for vote in self._votes()}
        assert self.copied <= set(self.born), "what a commit has taken comes back"
        return {vote: given for vote, given in before.items() if vote not in self.born}

    def _begun(self) -> HubBackup:
        while True:
            backup = HubBackup(
                self._another(), self._folder / "pictures", self.hub, EVERY, self.clock
            )
            try:
                backup.restore()
            except HubError:
                assert backup.change_log.is_empty(), "a restore is whole or nothing"
                continue
            backup.change_log.open()
            return backup

    def _votes(self) -> set[int]:
        with self.backup._database.read() as connection:
            return set(connection.scalars(select(BATTLE.c.id).where(HAS_CHOICE)))


def lived(another, folder: Path, minutes: int, wipes: int, seed: int) -> Life:
    """Let minutes go by with votes, faults, an outage of five minutes and wiped disks.

    Lost are votes younger than a minute, and those of a time when the page says that the copy is late.
    """
    rng = random.Random(seed)
    life = Life(another, folder, rng)
    wiped_at = set(rng.sample(range(minutes * 20), wipes))
    for tick in range(minutes * 20):
        life.hub.down = minutes * 10 <= tick < minutes * 10 + 5 * 20
        if rng.random() < 0.1:
            life.vote()
        life.step()
        if tick in wiped_at:
            late, life.hub.down = life.backup.last_state and life.backup.last_state.problem, False
            lost = life.wipe()
            assert late or all(life.clock() - given <= EVERY + Life.STEP for given in lost.values())
    life.hub.down = False
    while life.backup.change_log.count_waiting():
        life.step()
    kept = rows(life.backup._database)
    life.wipe()
    assert rows(life.backup._database) == kept, "the union of the files is the database"
    return life


AN_HOUR = timedelta(hours=1) // EVERY
MOST = AN_HOUR + AN_HOUR // FOLD + 1
"""Commits in an hour, with those that fold files."""


def most_in_an_hour(moments: list[datetime]) -> int:
    return max(sum(one <= other < one + timedelta(hours=1) for other in moments) for one in moments)


def test_on_a_scaled_clock_only_votes_younger_than_a_minute_are_lost(another, tmp_path):
    life = lived(another, tmp_path, minutes=12, wipes=3, seed=1)
    assert life.born and most_in_an_hour(life.commits) <= MOST


@pytest.mark.soak
def test_on_a_scaled_clock_a_hundred_disks_are_wiped(another, tmp_path):
    life = lived(another, tmp_path, minutes=300, wipes=100, seed=2)
    assert life.born and most_in_an_hour(life.commits) <= MOST


def test_a_busy_hour_has_fewer_commits_than_the_hub_takes(another, tmp_path):
    """Also without a fault that slows it down; the Hub takes 128."""
    life = Life(another, tmp_path, random.Random(3))
    life.hub._rng = None
    life.commits.clear()
    for _ in range(AN_HOUR * 2):
        with life.backup._database.write() as connection:  # something changes in each step
            connection.execute(update(SOURCE).values(name=SOURCE.c.name))
        life.step(EVERY / 2)
    assert AN_HOUR * 0.9 <= most_in_an_hour(life.commits) <= MOST


def test_votes_go_on_while_the_hub_is_down_and_the_copy_catches_up(database, tmp_path):
    hub = FolderHub()
    hub.down = True
    backup = backup_of(bank(database), hub, tmp_path)
    backup.start()
    try:
        use(database, 2, 3, random.Random(7))
        deadline = time.monotonic() + 60
        while not backup.state().problem:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert backup.state().problem == "the Hub answered 503" or "502" in backup.state().problem
        assert backup.state().waiting and backup.state().copied_at is None
        hub.down = False
        # the note is written after the rows are struck out
        while backup.state().waiting or backup.state().problem:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert backup.state().copied_at is not None
    finally:
        backup.stop()


def test_what_came_while_the_hub_failed_is_sent_beside_what_is_sent_again(
    database, another, tmp_path
):
    """Or it would wait for another turn, while the page says that all is well."""
    hub, rng = FolderHub(), random.Random(14)
    backup = backup_of(bank(database), hub, tmp_path)
    copy_all(backup)
    hub.down = True
    for _ in range(3):
        use(database, 1, 1, rng)
        backup._commit_waiting()
    hub.down, before = False, len(hub.commits)
    use(database, 1, 1, rng)
    backup._commit_waiting()
    assert (
        len(hub.commits) == before + 1
        and backup.change_log.count_waiting() == 0
        and backup.state().problem == ""
    )
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    assert rows(fresh) == rows(database)


def test_two_servers_together_commit_at_most_once_in_the_agreed_time(database, tmp_path):
    hub, every = FolderHub(), timedelta(seconds=0.3)
    mirrors = [backup_of(bank(database), hub, tmp_path, every) for _ in range(2)]
    mirrors[0].change_log.open()
    begun, rng = time.monotonic(), random.Random(8)
    for backup in mirrors:
        backup.start()
    while len(hub.commits) < 4:
        use(database, 1, 1, rng)
        assert time.monotonic() - begun < 60
    commits = len(hub.commits)
    took = time.monotonic() - begun  # read after the commits: it covers them all
    for backup in mirrors:
        backup.stop()
    assert commits <= took / every.total_seconds() + 1


@pytest.fixture
def small_files(monkeypatch) -> None:
    monkeypatch.setattr(hub_backup, "MOST_ROWS", 1_000)


def many_changes(database: Database) -> None:
    """Note so many changes of answers that they fill several small files, as a big import fills big ones."""
    with database.write() as connection:
        while connection.execute(select(func.count()).select_from(OUTBOX)).scalar_one() < 2_500:
            connection.execute(update(ANSWER).values(text=ANSWER.c.text))


def test_a_vote_behind_a_big_import_is_copied_with_it(database, another, tmp_path, small_files):
    hub = FolderHub()
    backup = backup_of(bank(database), hub, tmp_path)
    copy_all(backup)
    many_changes(database)
    use(database, 1, 1, random.Random(15))
    backup._commit_waiting()
    assert backup.change_log.count_waiting() == 0 and len(hub.commits) == 2, (
        "one commit, several files"
    )
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    assert rows(fresh) == rows(database)


def test_the_page_never_tells_of_a_fresher_copy_than_there_is(database, tmp_path, small_files):
    """Not while a part of an import is copied, nor by the commit's own time; with nothing waiting all is copied."""
    hub, clock = FolderHub(), Clock()
    backup = HubBackup(bank(database), tmp_path / "pictures", hub, EVERY, clock, most_bytes=1)
    backup.change_log.open()
    assert backup.state().copied_at is None
    copy_all(backup)
    idle = clock()
    assert backup.state().copied_at == idle
    clock.time += timedelta(hours=3)
    many_changes(database)
    use(database, 1, 1, random.Random(16))
    for _ in range(2):
        clock.time += timedelta(minutes=1)
        backup.step()
        assert backup.state().waiting and backup.state().copied_at == idle
    assert "Votes from the last 3 h" in backup_line(backup.last_state, clock())
    clock.time += timedelta(minutes=1)
    backup.step()
    assert backup.last_state == BackupState(clock(), 0, "")


def test_whatever_waits_is_copied_when_the_server_stops(database, tmp_path, small_files):
    """Also what does not go into one commit."""
    hub = FolderHub()
    backup = HubBackup(bank(database), tmp_path / "pictures", hub, timedelta(hours=1), most_bytes=1)
    backup.start()
    many_changes(database)
    use(database, 1, 1, random.Random(17))
    backup.stop()
    assert backup.change_log.count_waiting() == 0 and len(hub.commits) == 3


def test_a_stop_does_not_wait_for_a_hub_that_is_down(database, tmp_path):
    hub = FolderHub()
    hub.down = True
    backup = HubBackup(bank(database), tmp_path / "pictures", hub, timedelta(hours=1))
    backup.start()
    backup.stop()
    assert backup.change_log.count_waiting()


def test_an_error_that_nobody_foresaw_does_not_end_the_copy(database, tmp_path, monkeypatch):
    backup = backup_of(bank(database), FolderHub(), tmp_path)
    later = Event()
    steps = iter([ZeroDivisionError])

    def step() -> None:
        for error in steps:
            raise error
        later.set()

    monkeypatch.setattr(backup, "step", step)
    backup.start()
    assert later.wait(10)
    backup.stop()


def test_whose_a_job_is_does_not_leave_and_it_comes_back_under_its_link(
    database, another, tmp_path
):
    """Nor does what a visitor cost on a day, whose budget is named by the cookie."""
    hub, cookie = FolderHub(), hashlib.sha256(b"c").hexdigest()
    job = Bench(bank(database), "http://127.0.0.1:9/v1").quoted(owner=cookie, own=True)
    Budget(database, WIDE).for_job(job.link, cookie).reserve(5)
    copy_all(backup_of(database, hub, tmp_path))
    assert cookie not in b"".join(hub.files.values()).decode()
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    back = Bench(fresh, "http://127.0.0.1:9/v1").jobs
    assert back.find(job.link) == replace(job, owner="", asker="") and back.of_owner(cookie) == ()
    with fresh.read() as connection:
        assert set(connection.scalars(select(BUDGET.c.name))) == {f"job {job.link}", "total"}
        held = connection.execute(select(BUDGET.c.spent, BUDGET.c.held)).all()
        assert held == [(5, 0), (5, 0)], (
            "money on its way to a server that is gone is spent, and not held for ever"
        )


def test_a_worker_is_the_same_voter_in_a_campaign_after_a_wipe(database, another, tmp_path):
    """On one platform: another's worker of that name is somebody else."""
    hub, fresh, kinds = FolderHub(), another(), {"plain": {}, "prolific": PROLIFIC}
    toys = Toys.on(bank(database))
    for kind, values in kinds.items():
        toys.pages.seats.enter(toys.campaign(**values, name=kind), Arrival("w1"), None)
    copy_all(backup_of(database, hub, tmp_path))
    backup_of(fresh, hub, tmp_path).restore()
    toys, before = Toys.on(fresh), {}
    for kind, values in kinds.items():
        (seat,) = toys.pages.seats.all(toys.pages.campaigns.get(kind))
        before[kind] = seat.voter
        again = toys.campaign(**values, name=f"{kind}-again")
        assert toys.pages.seats.enter(again, Arrival("w1"), None).voter == seat.voter
        assert toys.pages.seats.enter(again, Arrival("w2"), None).voter not in before.values()
    assert before["plain"] != before["prolific"]


def test_who_logs_in_after_a_wipe_finds_the_own_seat_and_no_other(database, another, tmp_path):
    """The copy has no account: each comes back as a new voter, whose number was somebody else's before."""
    hub, fresh = FolderHub(), another()

    def logged_in(to: Database, name: str) -> Arrival:
        Voters(to).log_in(Account(f"number of {name}", name), "", f"cookie of {name}")
        return account_arrival(*(Voters(to).account(f"cookie of {name}") or ("", "")))

    for guest in range(8):
        Visitor(database, f"guest {guest}")
    toys = Toys.on(bank(database))
    seats, campaign = toys.pages.seats, toys.campaign(platform={"kind": "login"})
    taken = {
        name: seats.enter(campaign, logged_in(database, name), None).id for name in ("ann", "bob")
    }
    copy_all(backup_of(database, hub, tmp_path))
    backup_of(fresh, hub, tmp_path).restore()
    seats, campaign = Toys.on(fresh).pages.seats, CampaignStore(fresh, {TASK: ToySpec}).get("evens")
    for stranger in range(5):
        assert seats.find_by_person(campaign, logged_in(fresh, f"stranger {stranger}")) is None
    found = {name: seats.enter(campaign, logged_in(fresh, name), None) for name in ("bob", "ann")}
    assert {name: seat.id for name, seat in found.items()} == taken and len(
        seats.all(campaign)
    ) == 2


def test_a_deleted_job_does_not_come_back(database, another, tmp_path):
    hub = FolderHub()
    bench = Bench(bank(database), "http://127.0.0.1:9/v1")
    job = bench.quoted(owner="ada")
    copy_all(backup_of(database, hub, tmp_path))
    bench.jobs.delete("ada", job.link)
    copy_all(backup_of(database, hub, tmp_path))
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    assert Bench(fresh, "http://127.0.0.1:9/v1").jobs.find(job.link) is None


def test_a_voter_stands_in_the_copy_under_a_key_that_is_held_here_only(database, tmp_path):
    hub = FolderHub()
    visitor = Visitor(bank(database), "the-hash-of-a-cookie")
    visitor.vote(visitor.serve())
    copy_all(backup_of(database, hub, tmp_path))
    everything = b"".join(hub.files.values()).decode()
    with database.read() as connection:
        key = connection.scalar(select(VOTER_KEY.c.key).where(VOTER_KEY.c.voter_id == visitor.id))
    assert key and key in everything and "the-hash-of-a-cookie" not in everything
    with database.write() as connection:
        connection.execute(delete(VOTER_KEY))
    visitor.vote(visitor.serve())
    copy_all(backup_of(database, hub, tmp_path))
    assert sum(f'"{key}"' in content.decode() for content in hub.files.values()) == 1, (
        "the old key is used no more"
    )


def test_a_deleted_row_stays_away(database, another, tmp_path):
    hub = FolderHub()
    copy_all(backup_of(bank(database), hub, tmp_path))
    visitor = Visitor(database, "c")
    with database.write() as connection:
        connection.execute(
            SEAT.insert().values(
                campaign="c", voter_id=visitor.id, code="x", confirmation="confirmed"
            )
        )
    copy_all(backup_of(database, hub, tmp_path))
    with database.write() as connection:
        connection.execute(delete(SEAT))
    copy_all(backup_of(database, hub, tmp_path))
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    assert rows(fresh)["seat"] == []
    for batches in permutations(hub.batches()):
        assert ChangeLog(database).unpack(batches).rows["seat"] == []


@pytest.mark.locks_or_dialect
def test_what_a_forgotten_voter_had_does_not_come_back(database, another, tmp_path):
    """Rows that have a voter in their key pass to another key."""
    hub = FolderHub()
    Visitor(bank(database), COOKIE).decide()
    voters = Voters(database)
    person = voters.log_in(Account("4711", "ann"), COOKIE, "login")
    with database.write() as connection:
        connection.execute(insert(VOTER_NETWORK).values(voter_id=person, network="home"))
    backup = backup_of(database, hub, tmp_path)
    copy_all(backup)
    Erasure(database, OwnImages(database, tmp_path / "own")).forget(person, "ada")
    copy_all(backup)
    fresh = another()
    assert backup_of(fresh, hub, tmp_path).restore()
    for table in ("person", "adoption", "voter_network"):
        assert len(rows(fresh)[table]) == len(rows(database)[table]) == 1, table


def test_a_voter_who_gets_the_number_of_another_one_replaces_no_row(another, tmp_path):
    """Voters have other numbers after a wipe."""
    hub = FolderHub()
    numbers = set()
    for guests, name in ((3, "ann"), (2, "bob"), (1, "cem")):
        server = another()
        backup = backup_of(server, hub, tmp_path)
        backup.restore()
        for guest in range(guests):
            Visitor(server, f"guest {guest} before {name}")
        account = Account(f"number of {name}", name)
        numbers.add(Voters(server).log_in(account, "", f"cookie of {name}"))
        copy_all(backup)
    assert len(numbers) == 1
    fresh = another()
    assert backup_of(fresh, hub, tmp_path).restore()
    assert len(rows(fresh)["person"]) == 3


def test_pictures_of_the_bank_come_back(database, another, tmp_path):
    hub, folder = FolderHub(), tmp_path / "pictures"
    folder.mkdir()
    names = [f"{number:064x}{suffix}" for number in range(12) for suffix in (".png", ".thumb.jpg")]
    for name in names:
        (folder / name).write_bytes(name.encode())
    copy_all(backup_of(bank(database), hub, tmp_path))
    copy_all(backup_of(database, hub, tmp_path))
    import_summary = tmp_path / "new disk"
    backup_of(another(), hub, import_summary).restore()
    assert {path.name: path.read_bytes() for path in (import_summary / "pictures").iterdir()} == {
        name: name.encode() for name in names
    }


def test_what_came_back_is_not_copied_again(database, another, tmp_path):
    hub = FolderHub()
    use(bank(database), 1, 2, random.Random(12))
    copy_all(backup_of(database, hub, tmp_path))
    fresh = backup_of(another(), hub, tmp_path)
    fresh.restore()
    fresh.change_log.open()
    assert fresh.change_log.count_waiting() == 0
    use(fresh._database, 1, 1, random.Random(13))
    assert 0 < fresh.change_log.count_waiting() < 20


def test_a_picture_that_cannot_be_fetched_ends_the_restore_before_it_begins(
    database, another, tmp_path
):
    hub, folder = FolderHub(), tmp_path / "pictures"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:064x}.png").write_bytes(b"picture")
    copy_all(backup_of(bank(database), hub, tmp_path))
    gone = hub.files.pop(f"pictures/{3:064x}.png")
    hub.paths = lambda: frozenset([*hub.files, f"pictures/{3:064x}.png"])
    fresh = backup_of(another(), hub, tmp_path / "new")
    with pytest.raises(KeyError):
        fresh.restore()
    assert fresh.change_log.is_empty(), "or the picture would be missing for ever"
    hub.files[f"pictures/{3:064x}.png"] = gone
    assert fresh.restore()
    assert len(list((tmp_path / "new" / "pictures").iterdir())) == 12


def test_live_votes_come_back_and_what_was_said_does_not_leave(database, another, tmp_path):
    hub = FolderHub()
    battle = live_vote(database, BattleStore(database).voter("cookie"))
    copy_all(backup_of(database, hub, tmp_path))
    assert SECRET not in b"".join(hub.files.values()).decode()
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    with fresh.read() as connection:
        assert connection.scalars(select(BATTLE.c.id).where(HAS_CHOICE)).all() == [battle]
        assert connection.scalars(select(TURN.c.answer_a)).all() == [""]
        marks = exported_marks(connection).live[battle]
    assert VoteTable(fresh).pair_votes(live=True) == {(1, 2): 1}
    assert marks.a == marks.b == AnswerMarks(None, cut=False), (
        "how much it thought left with its words"
    )


def test_own_images_and_imported_votes_are_not_copied(database, tmp_path):
    hub, images = FolderHub(), OwnImages(bank(database), tmp_path / "own")
    voter = BattleStore(database).voter("cookie")
    token = bring(images, voter, live_vote(database, voter), keep=True)
    file = tmp_path / "votes.jsonl"
    row = {
        "question_id": "1",
        "model_a": "m1",
        "model_b": "m2",
        "winner": "model_a",
        "judge": "ann-of-a-log",
    }
    file.write_text(json.dumps(row))
    assert VoteImporter(database).add(read(file), ImportRequest("a log")).votes == 1
    copy_all(backup_of(database, hub, tmp_path))
    everything = b"".join(hub.files.values())
    assert b'"table":"turn"' in everything
    picture = images.path(voter, token)
    assert picture and picture.read_bytes() not in everything
    assert token.encode() not in everything and b"ann-of-a-log" not in everything


def test_that_somebody_logged_in_is_copied_but_not_who(database, another, tmp_path):
    hub, voters = FolderHub(), Voters(bank(database))
    account = "the-account-of-ann"
    Visitor(database, "guest-hash").decide()
    voters.log_in(Account(account, "ann-of-the-hub"), "guest-hash", "login-hash")
    copy_all(backup_of(database, hub, tmp_path))
    everything = b"".join(hub.files.values()).decode()
    for told in (
        account,
        hashlib.sha256(account.encode()).hexdigest(),
        "ann-of-the-hub",
        "guest-hash",
        "login-hash",
    ):
        assert told not in everything
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    with fresh.read() as connection:
        marks = voter_marks(connection, CountSettings("logged-in"))
    assert marks.counted_mask(VoteTable(fresh).read().votes).tolist() == [True], "it still counts"


def test_what_operators_did_comes_back(database, another, tmp_path):
    hub = FolderHub()
    logged_in = CountSettings("logged-in")
    choose_first_official(database, logged_in, "everyone")
    service = AdminService(bank(database), OwnImages(database, tmp_path / "own"), logged_in)
    key = next(iter(ItemBank(database).bank().items.values())).key
    service.do("ada", "hide", key)
    service.do("ada", "pause", "")
    service.do("ada", "official", "counted")
    copy_all(backup_of(database, hub, tmp_path))
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    assert ItemBank(fresh).bank().by_key(key) is None
    choose_first_official(fresh, logged_in, "everyone")  # the start after it
    with fresh.read() as connection:
        assert (
            paused_since(connection)
            and [act.who for act in latest_actions(connection, 9)] == ["ada"] * 3
        )
        assert official_board(connection, logged_in) == "counted"


def test_what_was_settled_on_a_board_comes_back(database, another, tmp_path):
    hub, models = FolderHub(), len(MODELS)
    bank(database)
    seen = Look(350, np.zeros((models, models)), np.triu(np.ones((models, models), bool), 3))
    record = extend_record(
        database, "one", BoardRecord(frozenset(), {}), range(1, models + 1), seen
    )
    copy_all(backup_of(database, hub, tmp_path))
    fresh = another()
    backup_of(fresh, hub, tmp_path).restore()
    with fresh.read() as connection:
        assert read_record(connection, "one") == record and record.settled == {
            (1, 4): 350,
            (1, 5): 350,
            (2, 5): 350,
        }


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}\n",
        b"not json\n",
        b'{"copy": 1, "schema": "", "at": ""}\n{"table": "vote"}\n',
        b"\xff\n",
        *(
            f'{{"copy": 1, "schema": "{DIGEST}"}}\n{{"table": "item", {members}}}\n'.encode()
            for members in ('"key": 1, "row": null', '"key": [1], "row": 1')
        ),
    ],
)
def test_a_torn_copy_is_refused_whole(another, tmp_path, content):
    database = another()
    with pytest.raises(ChangeLogError, match="isn't whole"):
        ChangeLog(database).unpack([content])
    assert ChangeLog(database).is_empty()


@pytest.mark.parametrize("schema", ["another digest", 11])
def test_a_copy_of_other_tables_is_refused(database, another, tmp_path, schema):
    hub = FolderHub()
    bank(database)
    copy_all(backup_of(database, hub, tmp_path))
    path, content = next(
        (path, content) for path, content in hub.files.items() if path.startswith("votes/")
    )
    hub.files[path] = content.replace(json.dumps(DIGEST).encode(), json.dumps(schema).encode(), 1)
    fresh = another()
    with pytest.raises(
        ChangeLogError, match=f"^{path} was made by a development version. Start with an empty data"
    ):
        backup_of(fresh, hub, tmp_path).restore()
    assert ChangeLog(fresh).is_empty()


def test_a_copy_with_an_unknown_table_is_refused(another):
    line = {"table": "cookies", "key": [1], "row": {"id": 1}}
    head = {"copy": 1, "schema": DIGEST, "at": ""}
    with pytest.raises(ChangeLogError, match="rows of cookies"):
        ChangeLog(another()).unpack([f"{json.dumps(head)}\n{json.dumps(line)}\n".encode()])


def test_the_real_client_makes_a_private_dataset_commits_and_reads(database, another, tmp_path):
    with HubServer() as server:
        hub = HubDataset("ada/votes", Secret("hf_canary"), server.address, sleep=lambda _: None)
        use(bank(database), 1, 2, random.Random(10))
        copy_all(backup_of(database, hub, tmp_path))
        assert server.private and {path.split("/")[0] for path in server.files} == {
            "votes",
            "writer",
        }
        fresh = another()
        assert backup_of(fresh, hub, tmp_path).restore()
        assert rows(fresh) == rows(database)
        server.status = 403
        with pytest.raises(HubError, match="403") as caught:
            hub.commit({"votes/x": b"x"})
        assert "hf_canary" not in str(caught.value)
    with pytest.raises(HubError, match="can't be reached"):
        hub.paths()


def test_what_is_read_of_the_copy_leaves_no_file(database, another, tmp_path, monkeypatch):
    """It has worker ids and user names of people who may be forgotten later."""
    for folder in ("cache", "temporary"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with HubServer() as server:
        hub = HubDataset("ada/votes", Secret("hf_canary"), server.address, sleep=lambda _: None)
        copy_all(backup_of(bank(database), hub, tmp_path))
        assert backup_of(another(), hub, tmp_path).restore()
    for folder in ("cache", "temporary"):
        assert list((tmp_path / folder).rglob("*")) == [], folder


def test_a_public_dataset_is_refused(tmp_path):
    with HubServer(private=False) as server, pytest.raises(HubError, match="is public"):
        HubDataset("ada/votes", Secret("hf_canary"), server.address).paths()


def test_a_dataset_that_was_made_public_gets_no_more(tmp_path):
    with HubServer() as server:
        hub = HubDataset("ada/votes", Secret("hf_canary"), server.address)
        hub.paths()
        hub.commit({"votes/1": b"1"})
        server.private = False
        with pytest.raises(HubError, match="is public. Make it private") as refused:
            hub.commit({"votes/2": b"2"})
        assert set(server.files) == {"votes/1"} and "ada/votes" not in str(refused.value), (
            "visitors read it"
        )


def test_without_a_backup_nothing_is_noted(database):
    use(bank(database), 1, 2, random.Random(11))
    with database.read() as connection:
        assert (
            connection.execute(select(OUTBOX)).all()
            == connection.execute(select(MIRROR)).all()
            == []
        )
        assert connection.execute(select(VOTER)).all()
    assert len(ItemBank(database).bank().items) == 12


def test_a_server_whose_copy_is_public_does_not_start(monkeypatch, tmp_path, capsys):
    with HubServer(private=False) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        for name, value in {
            "MIRROR": "ada/votes",
            "HF_TOKEN": "hf_canary",
            "DATA_DIR": str(tmp_path),
        }.items():
            monkeypatch.setenv(name, value)
        assert app.main() == 2
    assert "didn't start: the dataset in MIRROR is public" in capsys.readouterr().err


@pytest.mark.parametrize("fold", [4, pytest.param(FOLD, marks=pytest.mark.soak)])
def test_old_files_are_folded_and_a_wiped_disk_gets_everything_back(
    another, tmp_path, monkeypatch, fold
):
    """Rows that changed again and rows that are gone, in files of two levels."""
    monkeypatch.setattr(hub_backup, "FOLD", fold)
    hub, clock = FolderHub(), Clock()
    database = bank(another())
    backup = HubBackup(database, tmp_path / "pictures", hub, EVERY, clock)
    backup.change_log.open()
    backup.step()
    rng = random.Random(5)
    for number in range(fold * fold + 5):
        with database.write() as connection:
            connection.execute(update(SOURCE).values(name=f"name {number}"))
            if number % 3 == 0:
                record_action(connection, f"ada {number}", "hide")
            if number % 10 == 0:
                connection.execute(
                    delete(ACT).where(ACT.c.id < select(func.max(ACT.c.id)).scalar_subquery())
                )
        if number % 12 == 0:
            use(database, 1, 2, rng)
        clock.time += EVERY
        backup.step()
        assert len(hub.files) < 3 * fold
    assert any("folded-2/" in path for path in hub.files)
    fresh = HubBackup(another(), tmp_path / "pictures", hub)
    assert fresh.restore()
    assert rows(fresh._database) == rows(database)


def test_old_files_are_folded_also_where_every_start_is_a_short_one(another, tmp_path):
    """As on a Space that sleeps: each start commits twice."""
    hub, clock, database = FolderHub(), Clock(), bank(another())
    for number in range(3 * FOLD):
        backup = HubBackup(database, tmp_path / "pictures", hub, EVERY, clock)
        backup.change_log.open()
        for step in range(2):
            with database.write() as connection:
                connection.execute(update(SOURCE).values(name=f"name {number} {step}"))
            clock.time += EVERY
            backup.step()
    assert len(hub.files) < 3 * FOLD


def test_of_a_year_of_commits_fewer_than_a_hundred_files_are_left():
    paths: set[str] = set()
    # twenty days at 72 commits an hour; a year has one level more
    for number in range(20 * 24 * 72):
        paths.add(f"votes/day/i-{number}.jsonl")
        if number % FOLD:
            continue
        while due := due_fold(paths):
            level, old = due
            paths -= set(old)
            paths.add(f"votes/folded-{level}/i-{number}.jsonl")
    assert len(paths) < 4 * FOLD


def test_whichever_files_are_folded_the_last_version_of_a_row_stands(another):
    """Not only neighbours: a file of another server may come late."""
    log = ChangeLog(another())

    def file(number: int, **names: str | None) -> bytes:
        lines = [{"copy": number, "schema": DIGEST, "at": "2026-01-01"}]
        for key, name in names.items():
            row = name and {"id": 1, "name": name, "key": key}
            lines.append({"table": "source", "key": [key], "row": row})
        return "".join(json.dumps(line) + "\n" for line in lines).encode()

    files = [
        file(1, a="one", b="one"),
        file(2, a="two", b=None),
        file(3, c="three"),
        file(4, c=None, d="four"),
    ]
    whole = log.unpack(files)
    for first, second in permutations(range(4), 2):
        rest = [content for place, content in enumerate(files) if place not in (first, second)]
        both = fold_files([files[first], files[second]], ["", ""])
        for order in ([both, *rest], [*rest, both]):
            found = log.unpack(order)
            assert found.number == 4
            assert {row["name"] for row in found.rows["source"]} == {
                row["name"] for row in whole.rows["source"]
            }
