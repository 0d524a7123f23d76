"""The copy beside a Hub of which three requests in ten fail: what commits, what a wipe loses, what a restore needs."""

import random
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from huggingface_hub import constants
from sqlalchemy import select, update

from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.database import Database
from arena.items.store import SOURCE
from arena.server.change_log import ChangeLogError
from arena.server.hub_backup import EVERY, HubBackup, HubDataset, HubError
from arena.types import Secret
from arena.web.backup_status import LATE, backup_line
from tests.support.backup import Clock, bank, copy_all, rows, use
from tests.support.hub_server import HubServer
from tests.support.voter import Voter

COMMIT = "POST /api/datasets/ada/votes/commit"


class KilledError(BaseException):
    """The machine dies."""


class Ticking(Clock):
    """A clock that waits put forward; `deadly` is in how many of them the machine dies."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.deadly = 0.0
        self._rng = random.Random(seed)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += timedelta(seconds=seconds)
        if self._rng.random() < self.deadly:
            raise KilledError


def backup_of(database: Database, server: HubServer, clock: Ticking, folder: Path) -> HubBackup:
    hub = HubDataset("ada/votes", Secret("hf_canary"), server.address, clock.sleep)
    return HubBackup(database, folder / "pictures", hub, EVERY, clock)


def with_pictures(folder: Path) -> Path:
    """Return the folder of a server that holds the pictures of the bank's twelve items."""
    (folder / "pictures").mkdir(parents=True)
    for number in range(12):
        for name in (f"{number:064x}.png", f"{number:064x}.thumb.jpg"):
            (folder / "pictures" / name).write_bytes(name.encode())
    return folder


def turn(backup: HubBackup, clock: Ticking) -> bool:
    """Change something, let the next turn come, and tell whether it committed."""
    with backup._database.write() as connection:
        connection.execute(update(SOURCE).values(name=SOURCE.c.name))
    clock.time += EVERY
    backup.step()
    return backup.change_log.count_waiting() == 0


def check_turns(another, folder: Path, turns: int, seed: int) -> None:
    clock = Ticking()
    with HubServer() as server:
        server.faults.share, server.faults.rng = 0.3, random.Random(seed)
        backup = backup_of(bank(another()), server, clock, with_pictures(folder))
        backup.change_log.open()
        backup.step()  # a new disk waits for its first turn
        committed = sum(turn(backup, clock) for _ in range(turns))
        print(f"{committed} of {turns} turns; {dict(server.faults.made)}")
        assert committed >= 0.99 * turns and backup.last_state.problem == ""
        paths = [path for commit in server.commits for path in commit]
        assert len(paths) == len(set(paths)) and all(server.commits), (
            "no file twice, and no commit without a file"
        )
        assert len([path for path in paths if path.startswith("pictures/")]) == 24


def test_while_three_requests_in_ten_fail_every_turn_commits_once(another, tmp_path):
    check_turns(another, tmp_path, turns=12, seed=1)


@pytest.mark.soak
def test_while_three_requests_in_ten_fail_four_hundred_turns_commit(another, tmp_path):
    check_turns(another, tmp_path, turns=400, seed=2)


class Life:
    """A server on a clock of its own beside a Hub whose requests fail, until its disk is wiped, and then the next."""

    def __init__(self, another, server: HubServer, folder: Path, seed: int) -> None:
        self.clock, self.rng, self.born = Ticking(seed), random.Random(seed), {}
        self._another, self._server, self._folder = another, server, with_pictures(folder)
        self.backup = backup_of(bank(another()), server, self.clock, folder)
        copy_all(self.backup)

    def tick(self) -> bool:
        """Let the time until the next look go by, with or without a vote; tell whether the machine lives on."""
        if self.rng.random() < 0.1:
            use(self.backup._database, 1, 1, self.rng)
            self.born |= {vote: self.clock() for vote in self._votes() - self.born.keys()}
        self.clock.time += self.backup._pause()
        try:
            self.clock.deadly = 0.05
            self.backup.step()
        except KilledError:
            return False
        finally:
            self.clock.deadly = 0
        return self.rng.random() < 0.98

    def wipe(self) -> tuple[str, timedelta]:
        """Wipe the disk and come back; return what the page said last, and the age of the oldest vote that is lost."""
        said, died, before = (
            backup_line(self.backup.last_state, self.clock()),
            self.clock(),
            self.born,
        )
        self.backup = backup_of(self._another(), self._server, self.clock, self._folder)
        assert self.backup.restore()
        self.backup.change_log.open()
        self.born = {vote: before[vote] for vote in self._votes()}
        lost = [died - given for vote, given in before.items() if vote not in self.born]
        return said, max(lost, default=timedelta(0))

    def _votes(self) -> set[int]:
        with self.backup._database.read() as connection:
            return set(connection.scalars(select(BATTLE.c.id).where(HAS_CHOICE)))


def check_wipes(another, folder: Path, wipes: int, seed: int) -> None:
    with HubServer() as server:
        life = Life(another, server, folder, seed)
        server.faults.share, server.faults.rng = 0.3, random.Random(seed)
        ages = []
        while len(ages) < wipes:
            if life.tick():
                continue
            said, age = life.wipe()
            ages.append((age, said))
            assert age <= LATE or 'class="late"' in said or "nothing is copied" in said, (age, said)
        over = [age for age, _ in ages if age > LATE]
        print(
            f"{wipes} wipes; {len(over)} lost votes older than {LATE}, and the page had said so; {max(ages)}"
        )
        assert len(over) <= 0.1 * wipes


def test_wiped_at_any_moment_a_machine_loses_nothing_older_than_the_page_said(another, tmp_path):
    check_wipes(another, tmp_path, wipes=3, seed=3)


@pytest.mark.soak
def test_a_hundred_wipes_lose_nothing_older_than_the_page_said(another, tmp_path):
    check_wipes(another, tmp_path, wipes=100, seed=4)


def check_restore(another, folder: Path, turns: int, seed: int) -> None:
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, with_pictures(folder / "before"))
        copy_all(backup)
        for _ in range(turns):
            assert turn(backup, clock)
        server.faults.share, server.faults.rng = 0.3, random.Random(seed)
        fresh = backup_of(another(), server, clock, folder / "after")
        assert fresh.restore()
        print(f"{len(server.files)} files; {dict(server.faults.made)}")
        assert rows(fresh._database) == rows(backup._database)
        kept = [
            {path.name: path.read_bytes() for path in (folder / name / "pictures").iterdir()}
            for name in ("before", "after")
        ]
        assert kept[0] == kept[1]


def test_a_restore_asks_again_for_what_failed(another, tmp_path):
    check_restore(another, tmp_path, turns=10, seed=5)


@pytest.mark.soak
def test_a_restore_of_many_files_asks_again_for_what_failed(another, tmp_path):
    check_restore(another, tmp_path, turns=800, seed=6)


def test_five_faults_of_a_commit_are_one_commit(another, tmp_path):
    """Also if the answer alone was lost, or half of it: what is there is not added again."""
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, tmp_path)
        copy_all(backup)
        for commits, kind in enumerate(
            ("500", "503", "429", "reset before", "reset after", "cut"), 2
        ):
            clock.waits.clear()
            server.faults.planned[COMMIT] = [kind] * 5
            assert turn(backup, clock)
            assert len(server.commits) == commits and backup.state().problem == "", kind
            assert clock.waits == sorted(clock.waits) and all(
                wait >= 2 for wait in clock.waits if kind == "429"
            )


def test_a_hub_that_asks_for_a_long_wait_is_left_alone_for_it(another, tmp_path):
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, tmp_path)
        copy_all(backup)
        server.faults.planned[COMMIT], server.faults.asked_wait = ["429"], "150"
        assert not turn(backup, clock) and clock.waits == []
        assert backup.last_state.problem == "the Hub answered 429"
        assert not turn(backup, clock) and not turn(backup, clock)
        asked = sum(server.faults.made.values())
        clock.time += timedelta(seconds=20)
        backup.step()
        assert sum(server.faults.made.values()) == asked, "two and a half minutes are not over"
        assert turn(backup, clock) and turn(backup, clock), "then a turn a minute again"


def test_after_a_turn_that_failed_the_next_is_a_minute_later(another, tmp_path):
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, tmp_path)
        copy_all(backup)
        for _ in range(3):
            server.faults.planned[COMMIT] = ["503"] * 7
            assert not turn(backup, clock) and backup.last_state.problem == "the Hub answered 503"
            assert "the Hub answered 503. Votes from the last" in backup_line(
                backup.last_state, clock()
            )
        assert turn(backup, clock) and backup.last_state.problem == ""


def test_what_the_hub_refuses_is_not_asked_again(another, tmp_path):
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, tmp_path)
        copy_all(backup)
        for request_part in ("/tree/", "/resolve/", "/create"):
            server.faults.planned[request_part] = ["418"]
            with pytest.raises(HubError, match="^the Hub answered 418"):
                backup_of(another(), server, clock, tmp_path).restore()
            assert clock.waits == []


def test_a_file_that_is_missing_is_named(another, tmp_path):
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, with_pictures(tmp_path / "before"))
        copy_all(backup)
        (lost,) = (path for path in server.files if path.startswith("votes/"))
        server.missing.add(lost)
        fresh = backup_of(another(), server, clock, tmp_path / "after")
        with pytest.raises(
            HubError, match=f"^{lost} is listed in the dataset but missing. Restore it"
        ):
            fresh.restore()
        assert fresh.change_log.is_empty()


def test_a_file_that_is_damaged_is_named(another, tmp_path):
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, tmp_path)
        copy_all(backup)
        assert turn(backup, clock)
        lost = max(path for path in server.files if path.startswith("votes/"))
        server.files[lost] = server.files[lost][:-9]
        fresh = backup_of(another(), server, clock, tmp_path)
        with pytest.raises(
            ChangeLogError,
            match=f"^{lost} isn't whole. Delete it from the dataset or restore it there",
        ):
            fresh.restore()
        assert fresh.change_log.is_empty()


def test_pictures_come_by_lfs_in_spite_of_faults(another, tmp_path, monkeypatch):
    """Where Xet cannot be used: an upload's body is sent again from its beginning."""
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    clock = Ticking()
    with HubServer() as server:
        server.large, server.faults.share = "pictures/", 0.3
        backup = backup_of(bank(another()), server, clock, with_pictures(tmp_path))
        copy_all(backup)
        there = {
            path: content for path, content in server.files.items() if path.startswith("pictures/")
        }
        assert there == {
            f"pictures/{path.name}": path.read_bytes() for path in (tmp_path / "pictures").iterdir()
        }


@pytest.mark.soak
def test_a_start_waits_for_a_hub_that_is_down(another, tmp_path):
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, tmp_path)
        copy_all(backup)
        server.faults.planned["/tree/"] = ["503"] * 8
        fresh = backup_of(another(), server, clock, tmp_path)
        assert fresh.restore() and rows(fresh._database) == rows(backup._database)


@pytest.mark.soak
def test_the_app_keeps_its_votes_while_requests_fail(start_server):
    """At the start, in its turns and when it ends; then on a new disk."""
    with HubServer() as hub:
        hub.faults.share = 0.3
        settings = {"MIRROR": "ada/votes", "HF_TOKEN": "hf_canary", "HF_ENDPOINT": hub.address}
        servers = []
        for _ in range(3):
            servers.append(start_server(**settings))
            with Voter(servers[-1].address) as voter:
                voter.load()
                voter.choose("a")
            servers[-1].stop()
        with (
            closing(Database(f"sqlite:///{servers[-1].data_dir / 'arena.db'}")) as last,
            last.read() as connection,
        ):
            assert len(connection.scalars(select(BATTLE.c.id).where(HAS_CHOICE)).all()) == 3


@pytest.mark.soak
def test_a_hub_that_says_nothing_does_not_stop_the_copy(another, tmp_path):
    """It takes as long as a request may take."""
    clock = Ticking()
    with HubServer() as server:
        backup = backup_of(bank(another()), server, clock, tmp_path)
        copy_all(backup)
        server.faults.planned[COMMIT] = ["silent"]
        assert turn(backup, clock) and len(server.commits) == 2
