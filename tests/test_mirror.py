"""The mirror: what a wiped disk gets back, what a failing Hub may cost, and what never leaves."""

import json
import random
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, select

from arena.ballots import BATTLE, SEAT, VOTE, VOTER
from arena.database import METADATA, Database, now
from arena.intake import Intake
from arena.items import ItemBank
from arena.mirror import MIRROR, HubDataset, HubError, Mirror
from arena.outbox import COPIED, OUTBOX, VOTER_KEY, Outbox, OutboxError
from arena.records import Secret
from tests.conftest import drafts, new_postgresql_database
from tests.hub_server import HubServer
from tests.test_store import Visitor
from tests.voter import Voter

OFTEN = timedelta(seconds=0.05)
MODELS = ("m1", "m2", "m3", "m4", "m5")


class FolderHub:
    """A Hub in memory; `rng` lets 30% of its calls fail, half of them after the files were added."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.commits: list[float] = []
        self.down = False
        self._rng = rng

    def _fault(self) -> bool:
        return self.down or (self._rng is not None and self._rng.random() < 0.15)

    def paths(self) -> frozenset[str]:
        if self._fault():
            raise HubError("the Hub answered 502")
        return frozenset(self.files)

    def read(self, path: str) -> bytes:
        return self.files[path]

    def commit(self, files: Mapping[str, bytes]) -> None:
        if self._fault():
            raise HubError("the Hub answered 503")
        for path, content in files.items():
            assert self.files.setdefault(path, content) == content, "a file never changes"
        self.commits.append(time.monotonic())
        if self._fault():
            raise HubError("the Hub cannot be reached (ReadTimeout)")


def bank(database: Database) -> Database:
    Intake(database).add_items("test", "folder", drafts(12, MODELS))
    return database


def mirror_of(database: Database, hub, folder: Path, every: timedelta = OFTEN) -> Mirror:
    return Mirror(database, folder / "pictures", hub, every)


def copy_all(mirror: Mirror) -> None:
    """Copy until nothing waits, as the thread does it when its turn has come."""
    mirror.outbox.open()
    while mirror.outbox.waiting():
        mirror._copy()


def use(database: Database, voters: int, votes: int, rng: random.Random) -> None:
    """Let voters serve themselves, vote, undo, reveal and skip."""
    for voter in range(voters):
        visitor = Visitor(database, f"cookie-{rng.random()}-{voter}")
        for _ in range(votes):
            battle = visitor.serve()
            if battle.choice is not None:  # it was chosen in, and waits for its reveal
                visitor.reveal(battle)
                continue
            if rng.random() < 0.1:
                visitor.skip(battle)
                continue
            visitor.vote(battle, rng.choice("ab"))
            if rng.random() < 0.2:
                battle = visitor.undo(battle)
                visitor.vote(battle, rng.choice("ab"))
            if rng.random() < 0.9:
                visitor.reveal(battle)


def rows(database: Database) -> dict[str, list]:
    """Return all copied rows; a voter is known by the first of their battles."""
    with database.read() as connection:
        first: dict[int, int] = {}
        for row in connection.execute(select(BATTLE).order_by(BATTLE.c.id)):
            first.setdefault(row.voter_id, row.id)
        found = {}
        for name in COPIED & METADATA.tables.keys():
            found[name] = sorted(
                repr([first.get(value) if column == "voter_id" else value for column, value in row._mapping.items()])
                for row in connection.execute(select(METADATA.tables[name]))
            )
        return found


@pytest.fixture
def another(request, tmp_path) -> Iterator:
    """A function that opens one more empty database: a new disk, or a new PostgreSQL database."""
    opened: list[Database] = []

    def open_another(backend: str = "sqlite") -> Database:
        if backend == "sqlite":
            url = f"sqlite:///{tmp_path / f'disk-{len(opened)}' / 'arena.db'}"
        else:
            url = new_postgresql_database(request.getfixturevalue("postgresql"))
        opened.append(Database(url))
        return opened[-1]

    yield open_another
    for database in opened:
        database.close()


@pytest.mark.parametrize("onto", ["sqlite", "postgresql"])
def test_a_wiped_disk_gets_everything_back_and_goes_on(database, another, tmp_path, onto):
    """Also from one kind of database to the other; new rows get numbers behind the restored ones."""
    hub, rng = FolderHub(), random.Random(1)
    copy_all(mirror_of(bank(database), hub, tmp_path))
    use(database, 3, 6, rng)
    copy_all(mirror_of(database, hub, tmp_path))
    fresh = another(onto)
    assert mirror_of(fresh, hub, tmp_path).restore()
    assert rows(fresh) == rows(database)
    use(fresh, 1, 3, rng)
    with fresh.read() as connection:
        assert len(connection.execute(select(VOTE)).all()) == len(set(connection.scalars(select(VOTE.c.id))))


def test_a_database_that_is_in_use_is_not_restored(database, another, tmp_path):
    hub = FolderHub()
    copy_all(mirror_of(bank(database), hub, tmp_path))
    full = bank(another())
    before = rows(full)
    assert not mirror_of(full, hub, tmp_path).restore()
    assert rows(full) == before
    assert not mirror_of(another(), FolderHub(), tmp_path).restore(), "there is no copy yet"


def test_rows_that_were_there_before_the_mirror_are_copied_once(database, tmp_path):
    hub = FolderHub()
    use(bank(database), 1, 2, random.Random(3))
    for _ in range(3):
        copy_all(mirror_of(database, hub, tmp_path))
    assert len(hub.files) == 1


def restored(open_another, hub: FolderHub, folder: Path) -> Mirror:
    """Return the mirror of a new disk that took everything back, however often the Hub failed on the way."""
    while True:
        mirror = mirror_of(open_another(), hub, folder)
        try:
            assert mirror.restore()
            mirror.outbox.open()
            return mirror
        except HubError:
            assert mirror.outbox.empty(), "a restore is whole or nothing"


def wiped_again_and_again(another, tmp_path: Path, wipes: int, seed: int) -> None:
    """Vote, copy through faults, wipe at any moment: lost is only what no commit had taken."""
    rng = random.Random(seed)
    hub = FolderHub(rng)
    mirror = mirror_of(bank(another()), hub, tmp_path)
    copy_all(mirror)
    for wipe in range(wipes):
        safe = keys(mirror)
        hub.down = wipe % 7 == 3  # an outage that outlasts this disk
        for _ in range(rng.randrange(1, 6)):
            use(mirror._database, 1, rng.randrange(1, 4), rng)
            stood, commits = keys(mirror), len(hub.commits)
            mirror._copy()
            if len(hub.commits) > commits and not mirror.outbox.waiting():
                safe = stood
        hub.down = False
        mirror = restored(another, hub, tmp_path)
        assert safe <= keys(mirror)
    copy_all(mirror)
    assert rows(restored(another, hub, tmp_path)._database) == rows(mirror._database), "the files are the database"


def keys(mirror: Mirror) -> set[tuple[str, int]]:
    """Return what must come back: every battle and vote by its number."""
    with mirror._database.read() as connection:
        return {(table.name, one) for table in (BATTLE, VOTE) for one in connection.scalars(select(table.c.id))}


def test_wipes_and_faults_lose_only_what_no_commit_had_taken(another, tmp_path):
    wiped_again_and_again(another, tmp_path, wipes=10, seed=5)


@pytest.mark.soak
def test_a_hundred_wipes(another, tmp_path):
    wiped_again_and_again(another, tmp_path, wipes=100, seed=6)


def test_votes_go_on_while_the_hub_is_down_and_the_copy_catches_up(database, tmp_path):
    hub = FolderHub()
    hub.down = True
    mirror = mirror_of(bank(database), hub, tmp_path)
    mirror.start()
    try:
        use(database, 2, 3, random.Random(7))
        deadline = time.monotonic() + 20
        while not mirror.state().problem:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert mirror.state().problem == "the Hub answered 503" or "502" in mirror.state().problem
        assert mirror.state().waiting and mirror.state().copied_at is None
        hub.down = False
        while mirror.state().waiting:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert mirror.state().problem == "" and mirror.state().copied_at is not None
    finally:
        mirror.stop()


def test_two_servers_together_commit_at_most_once_in_the_agreed_time(database, tmp_path):
    hub, every = FolderHub(), timedelta(seconds=0.3)
    mirrors = [mirror_of(bank(database), hub, tmp_path, every) for _ in range(2)]
    mirrors[0].outbox.open()
    begun = time.monotonic()
    for mirror in mirrors:
        mirror.start()
    while len(hub.commits) < 4:
        use(database, 1, 1, random.Random(8))
        assert time.monotonic() - begun < 60
    took = time.monotonic() - begun
    commits = len(hub.commits)
    for mirror in mirrors:
        mirror.stop()
    assert commits <= took / every.total_seconds() + 1


def test_what_is_left_is_copied_when_the_server_stops(database, tmp_path):
    hub = FolderHub()
    mirror = mirror_of(bank(database), hub, tmp_path, timedelta(hours=1))
    mirror.start()
    use(database, 1, 2, random.Random(9))
    mirror.stop()
    assert mirror.outbox.waiting() == 0 and len(hub.commits) >= 1


def test_a_voter_stands_in_the_copy_under_a_key_that_is_held_here_only(database, tmp_path):
    hub = FolderHub()
    visitor = Visitor(bank(database), "the-hash-of-a-cookie")
    visitor.vote(visitor.serve())
    copy_all(mirror_of(database, hub, tmp_path))
    everything = b"".join(hub.files.values()).decode()
    with database.read() as connection:
        key = connection.scalar(select(VOTER_KEY.c.key).where(VOTER_KEY.c.voter_id == visitor.id))
    assert key and key in everything and "the-hash-of-a-cookie" not in everything
    with database.write() as connection:
        connection.execute(delete(VOTER_KEY))
    visitor.vote(visitor.serve())
    copy_all(mirror_of(database, hub, tmp_path))
    assert sum(f'"{key}"' in content.decode() for content in hub.files.values()) == 1, "the old key is used no more"


def test_a_deleted_row_stays_away(database, another, tmp_path):
    hub = FolderHub()
    copy_all(mirror_of(bank(database), hub, tmp_path))
    visitor = Visitor(database, "c")
    with database.write() as connection:
        seat = {"campaign": "c", "worker": "w", "voter_id": visitor.id, "wanted": 1, "code": "x"}
        connection.execute(SEAT.insert().values(**seat, since=now()))
    copy_all(mirror_of(database, hub, tmp_path))
    with database.write() as connection:
        connection.execute(delete(SEAT))
    copy_all(mirror_of(database, hub, tmp_path))
    fresh = another()
    mirror_of(fresh, hub, tmp_path).restore()
    assert rows(fresh)["seat"] == []


def test_pictures_of_the_bank_come_back(database, another, tmp_path):
    hub, folder = FolderHub(), tmp_path / "pictures"
    folder.mkdir()
    names = [f"{number:064x}{suffix}" for number in range(12) for suffix in (".png", ".thumb.jpg")]
    for name in names:
        (folder / name).write_bytes(name.encode())
    copy_all(mirror_of(bank(database), hub, tmp_path))
    copy_all(mirror_of(database, hub, tmp_path))
    elsewhere = tmp_path / "new disk"
    mirror_of(another(), hub, elsewhere).restore()
    assert {path.name: path.read_bytes() for path in (elsewhere / "pictures").iterdir()} == {
        name: name.encode() for name in names
    }


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"not json\n", b'{"copy": 1, "schema": 1, "at": ""}\n{"table": "vote"}\n', b"\xff\n"]
)
def test_a_torn_copy_is_refused_whole(another, tmp_path, content):
    database = another()
    with pytest.raises(OutboxError, match="not whole|schema version"):
        Outbox(database).take_back([content])
    assert Outbox(database).empty()


def test_a_copy_of_a_newer_program_is_refused(another):
    with pytest.raises(OutboxError, match="schema version 99"):
        Outbox(another()).take_back([json.dumps({"copy": 1, "schema": 99, "at": ""}).encode()])
    line = {"table": "cookies", "key": [1], "row": {"id": 1}}
    head = {"copy": 1, "schema": 1, "at": ""}
    with pytest.raises(OutboxError, match="rows of cookies"):
        Outbox(another()).take_back([f"{json.dumps(head)}\n{json.dumps(line)}\n".encode()])


def test_the_real_client_makes_a_private_dataset_commits_and_reads(database, another, tmp_path):
    with HubServer() as server:
        hub = HubDataset("ada/votes", Secret("hf_canary"), server.address)
        use(bank(database), 1, 2, random.Random(10))
        copy_all(mirror_of(database, hub, tmp_path))
        assert server.private and {path.split("/")[0] for path in server.files} == {"votes"}
        fresh = another()
        assert mirror_of(fresh, hub, tmp_path).restore()
        assert rows(fresh) == rows(database)
        server.status = 403
        with pytest.raises(HubError, match="403") as caught:
            hub.commit({"votes/x": b"x"})
        assert "hf_canary" not in str(caught.value)
    with pytest.raises(HubError, match="cannot be reached"):
        hub.paths()


def test_a_public_dataset_is_refused(tmp_path):
    with HubServer(private=False) as server, pytest.raises(HubError, match="is public"):
        HubDataset("ada/votes", Secret("hf_canary"), server.address).paths()


def test_without_a_mirror_nothing_is_noted(database):
    use(bank(database), 1, 2, random.Random(11))
    with database.read() as connection:
        assert connection.execute(select(OUTBOX)).all() == connection.execute(select(MIRROR)).all() == []
        assert connection.execute(select(VOTER)).all()
    assert len(ItemBank(database).bank().items) == 12


def test_the_app_on_a_wiped_disk_comes_back_with_its_votes(start_server):
    """Two servers, each with a disk of its own and the same dataset, one after the other."""
    with HubServer() as hub:
        settings = {"MIRROR": "ada/votes", "HF_TOKEN": "hf_canary", "HF_ENDPOINT": hub.address}
        first = start_server(**settings)
        with Voter(first.address) as voter:
            voter.load()
            voter.choose("a")
        first.stop()
        second = start_server(**settings)
        back = Database(f"sqlite:///{second.data_dir / 'arena.db'}")
        before = Database(f"sqlite:///{first.data_dir / 'arena.db'}")
        assert rows(back)["vote"] == rows(before)["vote"] != []
        assert rows(back)["item"] == rows(before)["item"] != []
        for database in (back, before):
            database.close()
        second.stop()
        assert "hf_canary" not in first.log.read_text() + second.log.read_text()


def test_a_server_that_cannot_see_its_copy_does_not_start(start_server):
    with (
        HubServer(private=False) as hub,
        pytest.raises(RuntimeError, match="did not start: the dataset ada/votes"),
    ):
        start_server(MIRROR="ada/votes", HF_TOKEN="hf_canary", HF_ENDPOINT=hub.address)
