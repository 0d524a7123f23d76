"""The mirror: a durable copy of the database in a private Hub dataset, for machines whose disk is wiped at a restart.

A thread takes the changes out of the outbox and commits them as files that never change, one every 50 seconds. They are
struck out only after the commit: what a dead network or a restart leaves in between is committed again, and the same
row twice is one row when the copy is taken back. No vote ever waits for the Hub.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, TypeVar

import httpx2
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from sqlalchemy import Column, Integer, Table, Text, select, update

from arena.budget import spend_reserved
from arena.database import METADATA, Database, DatabaseError, Moment, now
from arena.server.change_log import Batch, ChangeLog
from arena.server.hub_requests import HubDownError, HubError, Sleep, repeat, send_again
from arena.types import Secret

EVERY = timedelta(seconds=50)
"""The shortest time between two commits, of all servers on one database together; the Hub takes 128 an hour.

Ten seconds less than a minute, so that what must be sent again does not make a copy late."""
MOST_ROWS = 10_000
"""Changes in one file: while they are read, votes wait."""
MOST_BYTES = 100_000_000
"""About so much goes out in one commit, all its files together: a big import must not keep votes waiting behind it."""
_AT_ONCE = 16
"""Files that a restore reads at one time: a year of votes has many."""
_PATIENCE = 10
"""If the Hub asks for it, the next commit waits for up to so many times `EVERY`."""
_START_WAITS = (4, 8, 16, 32)
"""Seconds after which a start asks a Hub again that was down: many hosts do not start a server twice."""
_FAILURES = (HfHubHTTPError, httpx2.HTTPError, OSError, RuntimeError, ValueError, LookupError)
"""What the Hub's library raises."""
_ROWS = "votes/"
_PICTURES = "pictures/"

MIRROR = Table(
    "mirror",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("tried_at", Moment),
    Column("copied_at", Moment),
    Column("problem", Text, nullable=False),
)

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class Hub(Protocol):
    """Where copies lie."""

    def paths(self) -> frozenset[str]:
        """Return the paths of all files. Raises HubError."""
        ...

    def read(self, path: str) -> bytes:
        """Return a file. Raises HubError."""
        ...

    def commit(self, files: Mapping[str, bytes]) -> None:
        """Add files, all or none. Raises HubError, which may come after they were added."""
        ...


class HubDataset:
    """A private dataset of the Hub; it is made when it is not there, and refused when it is public."""

    def __init__(self, name: str, token: Secret, endpoint: str | None = None, sleep: Sleep = time.sleep) -> None:
        self._name, self._sleep = name, sleep
        self._api = HfApi(endpoint=endpoint, token=token.reveal())
        send_again(sleep)

    def paths(self) -> frozenset[str]:
        """Return the paths of all files. Raises HubError."""
        try:
            self._api.create_repo(self._name, repo_type="dataset", private=True, exist_ok=True)
            self._refuse_public()
            return frozenset(self._api.list_repo_files(self._name, repo_type="dataset"))
        except _FAILURES as error:
            raise _hub_error(error) from error

    def read(self, path: str) -> bytes:
        """Return a file. Raises HubError, which names it."""
        try:
            return repeat(lambda: self._read(path), self._sleep)
        except _FAILURES as error:
            raise _hub_error(error, path) from error

    def _read(self, path: str) -> bytes:
        return Path(self._api.hf_hub_download(self._name, path, repo_type="dataset")).read_bytes()

    def commit(self, files: Mapping[str, bytes]) -> None:
        """Add files, all or none. Raises HubError, which may come after they were added."""
        try:
            self._refuse_public()
            repeat(lambda: self._commit(files), self._sleep)
        except _FAILURES as error:
            raise _hub_error(error) from error

    def _commit(self, files: Mapping[str, bytes]) -> None:
        """Add files; those that are there, since the answer to the last try was lost, are not added again."""
        added = [CommitOperationAdd(path, content) for path, content in files.items()]
        self._api.create_commit(self._name, added, commit_message="A copy of the votes", repo_type="dataset")

    def _refuse_public(self) -> None:
        """Look before each commit: somebody may have made the dataset public meanwhile. The page tells no name."""
        if not self._api.dataset_info(self._name).private:
            raise HubError("the dataset that MIRROR names is public; make it private, votes and uploads stand in it")


@dataclass(frozen=True)
class BackupState:
    """How the copy stands, for the page."""

    copied_at: datetime | None
    """Whatever was stored until then is copied; None while that is not known."""
    waiting: int
    """Changes that are not copied yet."""
    problem: str


class HubBackup:
    """Copy one database's changes and the pictures they speak of, from `start` to `stop`."""

    def __init__(
        self,
        database: Database,
        pictures: Path,
        hub: Hub,
        every: timedelta = EVERY,
        clock: Callable[[], datetime] = now,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.change_log = ChangeLog(database)
        self.seen: BackupState | None = None
        """How the copy stood some seconds ago; reading it never waits. None before the start."""
        self._database, self._pictures, self._hub, self._every, self._clock = database, pictures, hub, every, clock
        self._most_bytes = most_bytes
        self._instance = secrets.token_hex(8)
        self._sent: frozenset[str] | None = None
        """Pictures that are on the Hub; None before it was asked."""
        self._idle_at: datetime | None = None
        """When nothing was seen to wait last."""
        self._rest = every
        """How long after the last turn the next one comes."""
        self._turn_at: datetime | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)

    def restore(self) -> bool:
        """Fill an empty database and the picture folder from the copy; tell whether there was one.

        Raises HubError and ChangeLogError: a server that cannot see its copy does not begin a second one.
        """
        if not self.change_log.empty():
            return False
        paths = self._asked(self._hub.paths)
        with ThreadPoolExecutor(_AT_ONCE) as readers:
            rows = sorted(path for path in paths if path.startswith(_ROWS))
            copy = self.change_log.unpacked(readers.map(self._read, rows), rows)
            list(readers.map(self._fetch, [name for name in copy.pictures if f"{_PICTURES}{name}" in paths]))
        self.change_log.take_back(copy)
        spend_reserved(self._database)
        return copy.number > 0

    def _fetch(self, picture: str) -> None:
        """Bring a picture back that is not here."""
        path = self._pictures / picture
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_name(f"{picture}.being-fetched")
            new.write_bytes(self._read(f"{_PICTURES}{picture}"))
            new.replace(path)

    def _read(self, path: str) -> bytes:
        return self._asked(lambda: self._hub.read(path))

    def _asked(self, ask: Callable[[], Answer]) -> Answer:
        """Return what the Hub answers; a start waits for it longer than a turn."""
        for wait in _START_WAITS:
            try:
                return ask()
            except HubDownError as error:
                log.warning("the start waits for its copy: %s", error)
                self._ending.wait(max(wait, min(error.wait, _PATIENCE * self._every.total_seconds())))
        return ask()

    def start(self) -> None:
        """Note changes and copy them in the background."""
        self.change_log.open()
        self.seen = self.state()
        self._thread.start()

    def stop(self) -> None:
        """Copy what is left, in as many commits as it takes, and end."""
        self._ending.set()
        self._thread.join()
        while self._copy():
            pass

    def state(self) -> BackupState:
        """Return how the copy stands. Raises DatabaseError."""
        present = self._clock()
        waiting = self.change_log.waiting()
        if not waiting:
            self._idle_at = present
        with self._database.read() as connection:
            row = connection.execute(select(MIRROR)).one_or_none()
        self._turn_at = row.tried_at + self._rest if row and row.tried_at else None
        known = [moment for moment in (self._idle_at, row.copied_at if row else None) if moment]
        return BackupState(max(known, default=None), waiting, row.problem if row else "")

    def step(self) -> None:
        """Copy if it is time to, and look how the copy stands; the thread does so every few seconds."""
        try:
            if self._our_turn():
                self._copy()
            self.seen = self.state()
        except DatabaseError as error:
            log.warning("the copy waits for the database: %s", error)

    def _run(self) -> None:
        while not self._ending.wait(self._pause().total_seconds()):
            self.step()

    def _pause(self) -> timedelta:
        """Return the time until the next look, which is not after the next turn."""
        look = self._every / 20
        turn = self._turn_at - self._clock() if self._turn_at else look
        return turn if timedelta(0) < turn < look else look

    def _our_turn(self) -> bool:
        """Take the turn to commit if nobody committed too lately; a clock that was set back does not stop it."""
        present, rest, tried = self._clock(), self._rest, MIRROR.c.tried_at
        due = (tried <= present - rest) | (tried > present + rest) | tried.is_(None)
        if not self.change_log.waiting():
            return False
        with self._database.write() as connection:
            values = {"id": 1, "problem": "", "tried_at": present}  # a new disk waits: another may have just ended
            connection.execute(self._database.insert(MIRROR).values(values).on_conflict_do_nothing())
            return connection.execute(update(MIRROR).where(due).values(tried_at=present)).rowcount == 1

    def _copy(self) -> bool:
        """Commit what waits, the oldest first; tell whether some of it did not go into this commit."""
        begun = self._clock()
        try:
            batches = self._batches()
            if not batches:
                return False
            self._commit(batches)
            for batch in batches:
                self.change_log.acknowledge(batch)
        except (OSError, DatabaseError) as error:
            asked = timedelta(seconds=error.wait if isinstance(error, HubError) else 0)
            self._rest = max(self._every, min(asked, _PATIENCE * self._every))
            log.warning("the copy is late: %s", error)
            self._note(problem=str(error))
            return False
        self._rest = self._every
        more = len(batches[-1].ids) == MOST_ROWS
        self._note(problem="", **({} if more else {"copied_at": begun}))
        return more

    def _batches(self) -> Sequence[Batch]:
        """Return the oldest changes, as many as go into one commit; only the last parcel may not be full."""
        batches: list[Batch] = []
        size = 0
        while size < self._most_bytes:
            batch = self.change_log.batch(MOST_ROWS, batches[-1].ids[-1] if batches else 0)
            if batch is None:
                break
            batches.append(batch)
            size += len(batch.content)
            if len(batch.ids) < MOST_ROWS:
                break
        return batches

    def _commit(self, batches: Sequence[Batch]) -> None:
        if self._sent is None:
            self._sent = frozenset(path.removeprefix(_PICTURES) for path in self._hub.paths())
        spoken_of = frozenset().union(*(batch.pictures for batch in batches))
        fresh = [name for name in spoken_of - self._sent if (self._pictures / name).is_file()]
        files = {f"{_PICTURES}{name}": (self._pictures / name).read_bytes() for name in fresh}
        for batch in batches:
            files[f"{_ROWS}{batch.day}/{self._instance}-{batch.number}.jsonl"] = batch.content
        self._hub.commit(files)
        self._sent |= frozenset(fresh)

    def _note(self, **values: object) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(self._database.insert(MIRROR).values(id=1, problem="").on_conflict_do_nothing())
                connection.execute(update(MIRROR).values(values))
        except DatabaseError as error:
            log.warning("how the copy stands is not noted: %s", error)


def _hub_error(error: Exception, path: str = "") -> HubError:
    """Return what to tell an operator, without the server's own words: they may hold a token."""
    if isinstance(error, HubDownError) and path:
        return HubDownError(f"{path}: {error}", error.wait)
    if isinstance(error, HubError):
        return error
    if isinstance(error, RepositoryNotFoundError):
        return HubError("the dataset that MIRROR names is not there, or the token may not see it")
    cause = error if isinstance(error, HfHubHTTPError) else error.__cause__
    response = cause.response if isinstance(cause, HfHubHTTPError) else None
    status = response.status_code if response is not None else None
    if status == 404 and path:
        return HubError(f"{path} is listed in the dataset but not there; restore it from the dataset's history")
    return HubError(f"the Hub answered {status}" if status else f"the Hub cannot be reached ({type(error).__name__})")
