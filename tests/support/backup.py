"""A Hub in a folder, a clock to set, and a bank whose changes the backup copies."""

import random
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import select

from arena.battles.tables import BATTLE
from arena.database import METADATA, Database
from arena.items.ingest import Ingest
from arena.server.change_log import COPIED, LOCAL_COLUMNS
from arena.server.hub_backup import HubBackup, HubError, refuse_another
from tests.support.servers import drafts
from tests.support.visitors import Visitor

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

    def batches(self) -> list[bytes]:
        """The files that hold rows."""
        return [content for path, content in self.files.items() if path.startswith("votes/")]

    def paths(self) -> frozenset[str]:
        if self._fault():
            raise HubError("the Hub answered 502")
        return frozenset(self.files)

    def read(self, path: str) -> bytes:
        return self.files[path]

    def commit(
        self, files: Mapping[str, bytes], gone: Collection[str] = (), writer: str = ""
    ) -> None:
        if self._fault():
            raise HubError("the Hub answered 503")
        refuse_another(writer, self.files)
        for path, content in files.items():
            assert self.files.setdefault(path, content) == content, "a file never changes"
        for path in gone:
            self.files.pop(path, None)
        self.commits.append(time.monotonic())
        if self._fault():
            raise HubError("the Hub can't be reached (ReadTimeout)")


def bank(database: Database) -> Database:
    Ingest(database).add_items("test", "folder", drafts(12, MODELS))
    return database


def backup_of(database: Database, hub, folder: Path, every: timedelta = OFTEN) -> HubBackup:
    return HubBackup(database, folder / "pictures", hub, every)


def copy_all(backup: HubBackup) -> None:
    """Copy until nothing waits, as the thread does it when its turn has come."""
    backup.change_log.open()
    while backup.change_log.count_waiting():
        backup._commit_waiting()


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
    """Return all copied rows, in what is copied of them; a voter is known by the first of their battles."""
    with database.read() as connection:
        first: dict[int, int] = {}
        for row in connection.execute(select(BATTLE).order_by(BATTLE.c.id)):
            first.setdefault(row.voter_id, row.id)
        found = {}
        for name in COPIED & METADATA.tables.keys():
            found[name] = sorted(
                repr(
                    [
                        first.get(value) if column == "voter_id" else value
                        for column, value in row._mapping.items()
                        if (name, column) not in LOCAL_COLUMNS
                    ]
                )
                for row in connection.execute(select(METADATA.tables[name]))
            )
        return found


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time
