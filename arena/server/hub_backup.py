"""Hub backup: a durable copy of the database in a private Hub dataset, for machines whose disk is wiped at a restart.

A thread reads batches from the change log and commits them as immutable files, one commit every 50 seconds. Changes are
acknowledged only after the commit: after a dropped connection or a restart they are committed again, and a row that is
there twice is restored once. No vote ever waits for the Hub.
"""

import logging
import re
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, DatasetInfo, HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from sqlalchemy import Column, Integer, Table, Text, select, update

from arena.database import COPY_KEY, METADATA, Database, DatabaseError, Moment, now
from arena.server.change_log import Batch, ChangeLog, ChangeLogError, fold_files
from arena.server.hub_requests import (
    FAILURES,
    HubDownError,
    HubError,
    Sleep,
    retry,
    retry_hub_requests,
    status_of,
)
from arena.types import Secret

EVERY = timedelta(seconds=50)
"""Shortest time between two commits by all servers of one database together; the Hub allows 128 an hour.

Ten seconds less than a minute, so that a retried commit does not make the backup late."""
MOST_ROWS = 10_000
"""Most changes in one file: votes wait while they are read."""
MOST_BYTES = 100_000_000
"""Approximate size of one commit, all its files together: a big import must not hold up the votes behind it."""
_READS_AT_ONCE = 16
"""The number of files that a restore reads at the same time: a year of votes has many."""
_MOST_TURNS_WAITED = 10
"""The most multiples of `EVERY` that the next commit waits if the Hub asks for it."""
_START_WAITS = (4, 8, 16, 32)
"""Seconds between attempts to reach the Hub at start. Many hosts don't restart a server whose start failed."""
_ROWS = "votes/"
_FOLDED = re.compile(r"votes/folded-([0-9]+)/")
"""The folder of a folded file, as in votes/folded-1/, with its level."""
_NUMBERED = re.compile(
    r"votes/(?:[0-9-]{10}/[0-9a-f]{16}|folded-[0-9]+/[0-9a-f]{16}-[0-9a-f]{8})-([0-9]+)\.jsonl"
)
"""The path of a file of rows, with the number of its latest batch: 57 in votes/2026-11-30/0123456789abcdef-57.jsonl and
in votes/folded-1/0123456789abcdef-01234567-57.jsonl."""
FOLD = 16
"""The number of files of a level that become one of the next level: a year's 600,000 commits leave fewer than 80."""
_FOLD_AT_ONCE = 256
"""The most files in one fold. Many are left after the Hub has failed for long."""
_PICTURES = "pictures/"
_WRITER = "writer/"
"""The folder of the writer's file, which is empty and named for the one database that writes here. Two databases would
spoil each other's backups."""

MIRROR = Table(
    "mirror",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("tried_at", Moment),
    Column("copied_at", Moment),
    Column("problem", Text, nullable=False),
)
"""The state of the backup, in one row: when a server last began a commit, until when all is copied, and its problem."""

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class HubDataset:
    """A private dataset of the Hub, created if it is missing and refused if it is public."""

    def __init__(
        self, name: str, token: Secret, endpoint: str | None = None, sleep: Sleep = time.sleep
    ) -> None:
        self._name = name
        self._sleep = sleep
        self._api = HfApi(endpoint=endpoint, token=token.reveal())
        retry_hub_requests(sleep)

    def paths(self) -> frozenset[str]:
        """Returns the paths of all files. Raises HubError."""
        with _as_hub_errors():
            self._api.create_repo(self._name, repo_type="dataset", private=True, exist_ok=True)
            _refuse_public(self._api.dataset_info(self._name))
            return frozenset(self._api.list_repo_files(self._name, repo_type="dataset"))

    def read(self, path: str) -> bytes:
        """Returns the content of a file, which leaves nothing on this disk. Raises HubError, which names it."""
        # Without a folder, the Hub's library would keep each file in HF_HOME.
        with _as_hub_errors(path), TemporaryDirectory() as folder:
            download = partial(
                self._api.hf_hub_download, self._name, path, repo_type="dataset", local_dir=folder
            )
            return retry(lambda: Path(download()).read_bytes(), self._sleep)

    def commit(
        self, files: Mapping[str, bytes], deleted: Collection[str] = (), writer: str = ""
    ) -> None:
        """Adds files and deletes those in `deleted`, all or none. `writer`: the path of this database's writer's file.

        Raises HubError if `writer` is given and another writer's file is there, if the dataset is public, and for a
        failure, which may come after the commit was made.
        """
        with _as_hub_errors():
            dataset = self._api.dataset_info(self._name)
            _refuse_public(dataset)
            refuse_another(writer, [file.rfilename for file in dataset.siblings or ()])
            retry(lambda: self._commit(files, deleted), self._sleep)

    def _commit(self, files: Mapping[str, bytes], deleted: Collection[str]) -> None:
        # An earlier attempt may have succeeded although its answer was lost. Then its files are gone already.
        existing = self._api.list_repo_files(self._name, repo_type="dataset") if deleted else ()
        changes = [
            *(CommitOperationAdd(path, content) for path, content in files.items()),
            *(CommitOperationDelete(path) for path in deleted if path in existing),
        ]
        self._api.create_commit(
            self._name, changes, commit_message="A copy of the votes", repo_type="dataset"
        )


def _refuse_public(dataset: DatasetInfo) -> None:
    """Raises HubError, which doesn't name the dataset, if it is public; it may have become so at any time."""
    if not dataset.private:
        raise HubError(
            "the dataset in MIRROR is public. Make it private, since it has votes and uploads"
        )


def refuse_another(writer: str, paths: Iterable[str]) -> None:
    """Raises HubError if another writer's file than `writer` is among the paths. If `writer` is "", checks nothing."""
    if writer and any(path.startswith(_WRITER) and path != writer for path in paths):
        raise HubError(
            "another server with its own database writes to the dataset in MIRROR, so copying has stopped here. "
            "Give each server its own dataset"
        )


@dataclass(frozen=True)
class BackupState:
    """The state of the backup, for the page."""

    copied_at: datetime | None
    """Everything stored until then is backed up; None if it is unknown."""
    waiting: int
    """The number of changes that aren't backed up yet."""
    problem: str


class HubBackup:
    """Backs up one database's changes and the pictures they refer to, between `start` and `stop`."""

    def __init__(
        self,
        database: Database,
        pictures: Path,
        hub: HubDataset,
        every: timedelta = EVERY,
        clock: Callable[[], datetime] = now,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.change_log = ChangeLog(database)
        self.last_state: BackupState | None = None
        """The state some seconds ago, for readers that must not wait; None before the start."""
        self._database = database
        self._pictures = pictures
        self._hub = hub
        self._every = every
        self._clock = clock
        self._most_bytes = most_bytes
        self._instance = secrets.token_hex(8)
        self._writer = f"{_WRITER}{database.secret_key(COPY_KEY).hex()[:16]}"
        self._is_checked = False
        """Whether the dataset was found to be this database's copy."""
        self._sent_pictures: frozenset[str] = frozenset()
        """The pictures on the Hub, once the dataset is checked."""
        self._commits = FOLD
        """Commits since the last fold. It starts at FOLD, because earlier runs may have left files to fold."""
        self._idle_at: datetime | None = None
        """The last time at which the change log was empty."""
        self._commit_interval = every
        """The time between the last commit and the next."""
        self._turn_at: datetime | None = None
        """The time of the next commit, as `state` last noted it; None before the first."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)

    def restore(self) -> bool:
        """Restores an empty database and the picture folder. Returns whether there was a backup.

        From then on the backup is this database's: a server with another database can't write there any more.
        Raises HubError and ChangeLogError: a server that can't read its backup must not begin a second one.
        """
        if not self.change_log.is_empty():
            return False
        paths = self._ask_patiently(self._hub.paths)
        writers = [path for path in paths if path.startswith(_WRITER)]
        other_writers = [path for path in writers if path != self._writer]
        self._ask_patiently(self._hub.commit, {self._writer: b""}, other_writers)
        paths = self._ask_patiently(self._hub.paths)  # Another server may have written meanwhile.
        read = partial(self._ask_patiently, self._hub.read)
        with ThreadPoolExecutor(_READS_AT_ONCE) as readers:
            batch_paths = sorted(path for path in paths if path.startswith(_ROWS))
            copy = self.change_log.unpack(readers.map(read, batch_paths), batch_paths)
            pictures = [name for name in copy.pictures if f"{_PICTURES}{name}" in paths]
            list(readers.map(self._fetch, pictures))  # Waits for all, and raises their errors.
        self.change_log.restore(copy)
        return copy.number > 0  # Batches are numbered from 1.

    def _fetch(self, picture: str) -> None:
        """Writes a picture of the backup into the folder, unless it is there. Raises HubError."""
        path = self._pictures / picture
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{picture}.being-fetched")
        unfinished.write_bytes(self._ask_patiently(self._hub.read, f"{_PICTURES}{picture}"))
        unfinished.replace(path)

    def _ask_patiently(self, ask: Callable[..., Answer], *arguments: object) -> Answer:
        """Returns the Hub's answer, and waits for it longer than a commit does, since a failed start may be final."""
        for wait in _START_WAITS:
            try:
                return ask(*arguments)
            except HubDownError as error:
                log.warning("the start waits for its copy: %s", error)
                longest = _MOST_TURNS_WAITED * self._every.total_seconds()
                self._ending.wait(max(wait, min(error.wait, longest)))
        return ask(*arguments)

    def start(self) -> None:
        """Starts to record and to back up changes."""
        self.change_log.open()
        self.last_state = self.state()
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread and backs up all waiting changes, in as many commits as needed."""
        self._ending.set()
        self._thread.join()
        while self._commit_waiting():
            pass

    def state(self) -> BackupState:
        """Returns the current state, and notes when the next commit is due. Raises DatabaseError."""
        present = self._clock()
        waiting = self.change_log.count_waiting()
        if not waiting:
            self._idle_at = present
        with self._database.read() as connection:
            row = connection.execute(select(MIRROR)).one_or_none()
        self._turn_at = row.tried_at + self._commit_interval if row and row.tried_at else None
        copied_at = row.copied_at if row else None
        moments = [moment for moment in (self._idle_at, copied_at) if moment]
        return BackupState(
            copied_at=max(moments, default=None),
            waiting=waiting,
            problem=row.problem if row else "",
        )

    def step(self) -> None:
        """Commits if it is time, and updates `last_state`. The thread calls this every few seconds."""
        try:
            if self._claim_turn():
                self._commit_waiting()
                self._fold()
            self.last_state = self.state()
        except DatabaseError as error:
            log.warning("the copy waits for the database: %s", error)

    def _run(self) -> None:
        while not self._ending.wait(self._pause().total_seconds()):
            try:
                self.step()
            except Exception:  # or nothing would be copied until the next start
                log.exception("the copy is late")

    def _pause(self) -> timedelta:
        """Returns the time until the next step, which comes no later than the next commit."""
        usual = self._every / 20
        if self._turn_at is None:
            return usual
        until_turn = self._turn_at - self._clock()
        return until_turn if timedelta(0) < until_turn < usual else usual

    def _claim_turn(self) -> bool:
        """Claims the next commit if the last is long enough ago. A clock that was set back doesn't block it."""
        if not self.change_log.count_waiting():
            return False
        present = self._clock()
        tried_at = MIRROR.c.tried_at
        is_long_ago = tried_at <= present - self._commit_interval
        is_in_future = tried_at > present + self._commit_interval
        is_due = is_long_ago | is_in_future | tried_at.is_(None)
        with self._database.write() as connection:
            # A new database's first commit is one interval away, because another server may have just stopped.
            values = {"id": 1, "problem": "", "tried_at": present}
            connection.execute(
                self._database.insert(MIRROR).values(values).on_conflict_do_nothing()
            )
            claim = connection.execute(update(MIRROR).where(is_due).values(tried_at=present))
            return claim.rowcount == 1

    def _commit_waiting(self) -> bool:
        """Commits waiting changes, the oldest first. Returns whether some are left."""
        begun = self._clock()
        try:
            if not self.change_log.count_waiting():
                return False
            if not self._is_checked:
                self._check_dataset()
            batches = self._batches()
            if not batches:
                return False
            self._commit(batches)
            for batch in batches:
                self.change_log.acknowledge(batch)
        except (OSError, DatabaseError) as error:
            asked_wait = timedelta(seconds=error.wait if isinstance(error, HubError) else 0)
            self._commit_interval = max(
                self._every, min(asked_wait, _MOST_TURNS_WAITED * self._every)
            )
            log.warning("the copy is late: %s", error)
            self._store_state(problem=str(error))
            return False
        self._commit_interval = self._every
        has_more = len(batches[-1].ids) == MOST_ROWS
        if has_more:
            self._store_state(problem="")
        else:
            self._store_state(problem="", copied_at=begun)
        return has_more

    def _check_dataset(self) -> None:
        """Checks the dataset before the first commit. A new dataset gets all rows.

        Raises HubError if it is the copy of another database, or of a later state of this one, or if it lacks changes
        that were copied to another dataset.
        """
        # Read before the paths, since another server of this database may commit meanwhile.
        acknowledged_number = self.change_log.acknowledged_number()
        paths = self._hub.paths()
        refuse_another(self._writer, paths)
        # Read after the paths, since another server of this database may commit meanwhile.
        last_number = self.change_log.last_number()
        if _latest_number(paths) > last_number:
            raise HubError(
                "the dataset in MIRROR is newer than this database, as if an older backup was put back, so copying has "
                "stopped here. Set MIRROR to a new dataset"
            )
        if self._writer in paths and _latest_number(paths) < acknowledged_number:
            raise HubError(
                "the dataset in MIRROR lacks changes that were copied to another one, so copying has stopped here. "
                "Set MIRROR to a new dataset"
            )
        if last_number and self._writer not in paths:
            self.change_log.start_anew()
        self._sent_pictures = frozenset(path.removeprefix(_PICTURES) for path in paths)
        self._is_checked = True

    def _batches(self) -> Sequence[Batch]:
        """Returns the oldest changes that fit into one commit. Every batch but the last is full."""
        batches: list[Batch] = []
        while sum(len(batch.content) for batch in batches) < self._most_bytes:
            last_id = batches[-1].ids[-1] if batches else 0
            batch = self.change_log.batch(MOST_ROWS, last_id)
            if batch is None:
                break
            batches.append(batch)
            if len(batch.ids) < MOST_ROWS:
                break
        return batches

    def _commit(self, batches: Sequence[Batch]) -> None:
        """Commits batches, with the pictures they name that are not on the Hub yet. Raises HubError and OSError."""
        named_pictures = frozenset().union(*(batch.pictures for batch in batches))
        unsent = named_pictures - self._sent_pictures
        new_pictures = [name for name in unsent if (self._pictures / name).is_file()]
        files = {
            f"{_PICTURES}{name}": (self._pictures / name).read_bytes() for name in new_pictures
        }
        files[self._writer] = b""
        for batch in batches:
            files[f"{_ROWS}{batch.day}/{self._instance}-{batch.number}.jsonl"] = batch.content
        self._hub.commit(files, writer=self._writer)
        self._commits += 1
        self._sent_pictures |= frozenset(new_pictures)

    def _fold(self) -> None:
        """Folds the files of a level into one once there are enough, so that a restore reads few."""
        if self._commits < FOLD:
            return
        self._commits = 0
        try:
            while fold := due_fold(self._hub.paths()):
                content = fold_files((self._hub.read(path) for path in fold.paths), fold.paths)
                name = f"{self._instance}-{secrets.token_hex(4)}-{_latest_number(fold.paths)}.jsonl"
                path = f"{_ROWS}folded-{fold.level}/{name}"
                self._hub.commit({path: content}, fold.paths, self._writer)
        except (OSError, ChangeLogError) as error:
            log.warning("files of the copy are not folded: %s", error)

    def _store_state(self, **values: object) -> None:
        """Stores columns of the table `mirror`."""
        try:
            with self._database.write() as connection:
                connection.execute(
                    self._database.insert(MIRROR).values(id=1, problem="").on_conflict_do_nothing()
                )
                connection.execute(update(MIRROR).values(values))
        except DatabaseError as error:
            log.warning("how the copy stands is not noted: %s", error)


class Fold(NamedTuple):
    """Files that become one of the next level."""

    level: int
    """The level of the folded file; a commit's files are of level 0."""
    paths: Sequence[str]


def due_fold(paths: Iterable[str]) -> Fold | None:
    """Returns the fold of the lowest level with at least FOLD files; None if no level has enough."""
    levels: defaultdict[int, list[str]] = defaultdict(list)
    for path in paths:
        if path.startswith(_ROWS):
            match = _FOLDED.match(path)
            levels[int(match[1]) if match else 0].append(path)
    full = [level for level, files in levels.items() if len(files) >= FOLD]
    if not full:
        return None
    level = min(full)
    return Fold(level + 1, sorted(levels[level])[:_FOLD_AT_ONCE])


def _latest_number(paths: Iterable[str]) -> int:
    """Returns the number of the latest batch in files of rows, by their names; 0 if there is none."""
    matches = map(_NUMBERED.fullmatch, paths)
    return max((int(match[1]) for match in matches if match), default=0)


@contextmanager
def _as_hub_errors(path: str = "") -> Iterator[None]:
    """Turns the exceptions of the Hub's library into HubError, which names the path."""
    try:
        yield
    except FAILURES as error:
        raise _hub_error(error, path) from error


def _hub_error(error: Exception, path: str = "") -> HubError:
    """Returns an error for the operator without the server's own words, which may hold a token."""
    if isinstance(error, HubDownError) and path:
        return HubDownError(f"{path}: {error}", error.wait)
    if isinstance(error, HubError):
        return error
    if isinstance(error, RepositoryNotFoundError):
        return HubError("the dataset in MIRROR doesn't exist, or the token can't see it")
    # The library's error for a file that it can't get has the Hub's answer in its cause.
    status = status_of(error) or status_of(error.__cause__)
    if status == 404 and path:
        return HubError(
            f"{path} is listed in the dataset but missing. Restore it from the dataset's history"
        )
    if status:
        return HubError(f"the Hub answered {status}")
    return HubError(f"the Hub can't be reached ({type(error).__name__})")
