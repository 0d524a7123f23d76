"""Database: engines, transactions and schema migrations on SQLite or PostgreSQL; the only user of SQLAlchemy engines.

SQLite runs in WAL mode with synchronous=FULL and one writing connection behind a lock: with one connection per thread,
writers starve for seconds. PostgreSQL runs with a connection pool and locks the rows that a transaction decides on. On
both, a read transaction sees one snapshot.
"""

import hashlib
import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from filelock import FileLock, Timeout
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    create_engine,
    event,
    false,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection, StaticPool
from sqlalchemy.types import TypeDecorator

from arena.storage import MOUNTS, StorageError, is_full, refuse_network

METADATA = MetaData()
BUSY_SECONDS = 10
"""The longest wait of a transaction while another program writes to the SQLite file."""
CACHE_KB = 65_536
"""SQLite page cache of the writer: at a million votes, it holds the upper pages of the indexes of battles."""
WAL_PAGES = 4000
"""WAL checkpoint size in pages (4 kB each): the vote that triggers one (each 300th) waits some milliseconds."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Step(NamedTuple):
    """One migration: the changes of a release to the tables of the release before it."""

    digest: str
    """`DIGEST` of the release before it."""
    statements: Mapping[str, Sequence[str]]
    """SQL for both databases, by the table that it changes.

    New tables need none, since missing tables are created with their current definition."""


STEPS: tuple[Step, ...] = ()
"""All migrations since the first release, in order; a database's version is the number of those applied to it."""
DIGEST = "82cff54ddc4634c3"
"""Digest of all table definitions. `tests/arena/test_migrations.py` computes it, since commands import only some of the
tables."""

SECRET_KEY = Table(
    "secret_key",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("key", Text, nullable=False),
)
"""Random keys of this database, by purpose; no copy on the Hub and no export has them."""
COPY_KEY = "copy"
"""Name of the key by which the copy on the Hub knows this database. `back_up` leaves it out of a copied file, which
becomes another database as soon as both are used."""
SCHEMA = Table(
    "schema_version",
    METADATA,
    Column("version", Integer, primary_key=True),
    Column("digest", Text, nullable=False),
)
"""One row: the number of `STEPS` applied to this database, and `DIGEST` at that version."""
META = Table(
    "meta",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Integer, nullable=False),
)
"""Counters by name, such as versions of tables; see `counter` and `bump_counter`."""

_COUNTER = select(META.c.value).where(META.c.name == bindparam("name"))

log = logging.getLogger(__name__)


class DatabaseError(RuntimeError):
    """The database cannot be opened or a transaction failed; the message says what to do."""


class Moment(TypeDecorator):
    """An aware UTC time, stored as whole microseconds since 1970: the same number on every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: object) -> int | None:
        return None if value is None else (value - EPOCH) // timedelta(microseconds=1)

    def process_result_value(self, value: int | None, dialect: object) -> datetime | None:
        return None if value is None else EPOCH + timedelta(microseconds=value)


def now() -> datetime:
    """Returns this machine's time, in UTC."""
    return datetime.now(UTC)


class _Engines(NamedTuple):
    writer: Engine
    reader: Engine
    lock_holder: Engine | None
    """One session that keeps this process's advisory locks; None on SQLite, which has one server."""


class Database:
    """The engines of one database, and its transactions.

    Opening applies the missing migrations and creates the tables of every module imported so far. A database whose
    digest is not that of its version is refused. `mounts` is the system's mount table. With `is_prepared`, the parent
    process has already opened the database.
    """

    def __init__(self, url: str, mounts: Path = MOUNTS, is_prepared: bool = False) -> None:
        """Raises DatabaseError."""
        self._turn = Lock()
        self._server_lock: FileLock | None = None
        self.url = _parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if self.is_sqlite and self.url.database in (None, "", ":memory:"):
            raise DatabaseError(
                "The database can't be opened, because SQLite needs a file. Write sqlite:////path/to/arena.db."
            )
        file = Path(self.url.database or "").absolute() if self.is_sqlite else None
        try:
            if file:
                _prepare_file(file, mounts)
            # What SQLite's address has behind a "?" means nothing here, and SQLAlchemy would warn of it.
            address = self.url.set(query={}) if self.is_sqlite else self.url
            open_engines = _sqlite_engines if self.is_sqlite else _postgresql_engines
            engines = open_engines(address)
            self._writer = engines.writer
            self._reader = engines.reader
            self._lock_holder = engines.lock_holder
            if not is_prepared:
                self._prepare_schema()
        except (SQLAlchemyError, sqlite3.Error, OSError, ImportError, StorageError) as error:
            shown_address = _shown_address(self.url)
            reason = _reason(error)
            if file and is_full(file.parent):
                reason = "its disk is full. Free some megabytes and start again"
            raise DatabaseError(
                f"The database {shown_address} can't be opened: {reason}"
            ) from error

    def _prepare_schema(self) -> None:
        """Brings the tables up to date, and closes the engines if that fails."""
        try:
            _prepare_schema(self._writer)
        except (SQLAlchemyError, sqlite3.Error, DatabaseError):
            self.close()
            raise

    def __reduce__(self) -> tuple[object, ...]:
        """Opens the same database in a child process, with the password in its address."""
        address = self.url.render_as_string(hide_password=False)
        return partial(Database, is_prepared=True), (address,)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Runs a transaction that writes: all of the block or, when it raises, nothing. Raises DatabaseError."""
        try:
            with (
                self._turn if self.is_sqlite else nullcontext(),
                self._writer.begin() as connection,
            ):
                yield connection
        except (DBAPIError, PoolTimeoutError) as error:
            log.warning("write refused: %s", _reason(error))
            raise DatabaseError(
                "Not saved: the database refused it. Please try again in a moment."
            ) from error

    @property
    def is_writing(self) -> bool:
        """Whether another thread of this process is writing to the SQLite file, so that a writer has to wait."""
        return self._turn.locked()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Runs a read-only transaction. Raises DatabaseError if the database cannot be read."""
        try:
            with self._reader.begin() as connection:
                yield connection
        except (DBAPIError, PoolTimeoutError) as error:
            log.warning("read refused: %s", _reason(error))
            raise DatabaseError(
                "The database can't be read right now. Please try again."
            ) from error

    def try_write(self) -> None:
        """Opens a write transaction as a vote does, changing nothing. Raises DatabaseError if it is refused."""
        with self.write() as connection:
            connection.execute(update(META).where(false()).values(value=0))

    def empty_log(self) -> None:
        """Empties SQLite's log, which still has deleted data.

        Does nothing while others read, since votes would wait.
        """
        if self.is_sqlite:
            # a raw connection, since a checkpoint can't run within a transaction
            with self._turn, closing(self._writer.raw_connection()) as connection:
                cursor = connection.cursor()
                cursor.execute("PRAGMA busy_timeout=0")
                with suppress(sqlite3.Error):  # if the disk fails, a later checkpoint raises
                    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS}000")

    def insert(self, table: Table):
        """Returns this dialect's INSERT, which has on_conflict_do_nothing and on_conflict_do_update."""
        return _insert(table, self.is_sqlite)

    def secret_key(self, name: str) -> bytes:
        """Returns the random key of this name, created by the first call on any server. Raises DatabaseError."""
        insert_key = (
            self.insert(SECRET_KEY)
            .values(name=name, key=secrets.token_hex(32))
            .on_conflict_do_nothing()
        )
        with self.write() as connection:
            connection.execute(insert_key)
            key = connection.execute(
                select(SECRET_KEY.c.key).where(SECRET_KEY.c.name == name)
            ).scalar_one()
        return bytes.fromhex(key)

    def become_server(self) -> None:
        """Takes the SQLite file's lock for servers until `close`; commands work without it.

        Raises DatabaseError if another server has it.
        """
        if not self.is_sqlite:
            return
        # the same lock for every link to the file
        self._server_lock = FileLock(f"{Path(self.url.database or '').resolve()}.server-lock")
        try:
            self._server_lock.acquire(timeout=0)
        except Timeout as error:
            raise DatabaseError(
                f"Another server already runs on {self.url.database}. Stop it, choose another DATA_DIR, "
                "or use PostgreSQL (DATABASE_URL) for several servers."
            ) from error

    def hold(self, name: str) -> None:
        """Locks a name until `release` or the end of this process, for `is_held_elsewhere` on other servers.

        Does nothing on SQLite, which has one server. Raises DatabaseError.
        """
        self._call_lock(func.pg_advisory_lock_shared, name)

    def release(self, name: str) -> None:
        """Unlocks a name; does nothing if the database is gone."""
        with suppress(DatabaseError):
            self._call_lock(func.pg_advisory_unlock_shared, name)

    def is_held_elsewhere(self, name: str) -> bool:
        """Returns whether another server holds a name; never on SQLite, which has one server. Raises DatabaseError."""
        # the session's own locks do not conflict
        return self._call_lock(func.pg_try_advisory_xact_lock, name) is False

    def _call_lock(self, lock_function: Callable, name: str) -> bool | None:
        """Calls an SQL function on a name's advisory lock, in the session that keeps this process's locks.

        Returns the function's result, and None on SQLite. Raises DatabaseError.
        """
        if self._lock_holder is None:
            return None
        try:
            with self._lock_holder.connect() as connection:
                return connection.scalar(select(lock_function(_lock_number(name))))
        except (DBAPIError, PoolTimeoutError) as error:
            log.warning("lock refused: %s", _reason(error))
            raise DatabaseError(
                "The database isn't answering right now. Please try again."
            ) from error

    def close(self) -> None:
        # a write may be running in another thread
        with self._turn if self.is_sqlite else nullcontext():
            for engine in (self._writer, self._reader, self._lock_holder):
                if engine is not None:
                    engine.dispose()
        if self._server_lock is not None:
            self._server_lock.release()


def back_up(url: str, copy: Path) -> None:
    """Copies the current SQLite file, also while a server writes to it. Raises DatabaseError.

    The copy gets its name once it is complete; after an error nothing remains.
    """
    address = _parse_url(url)
    if address.get_backend_name() != "sqlite":
        raise DatabaseError(
            "The database is PostgreSQL, which this command can't copy. Use pg_dump."
        )
    file = Path(address.database or "").absolute()
    if not file.is_file():
        raise DatabaseError(
            f"There's no {file} to copy. Set DATA_DIR or DATABASE_URL as the server does."
        )
    if copy.exists():
        raise DatabaseError(f"{copy} already exists. Choose another name for the copy.")
    unfinished = copy.with_name(f"{copy.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        _make_private(unfinished)
        try:
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                connection.execute("VACUUM INTO ?", (str(unfinished),))
            with closing(sqlite3.connect(unfinished)) as connection, connection:
                connection.execute("DELETE FROM secret_key WHERE name = ?", (COPY_KEY,))
            with unfinished.open("rb+") as written:
                os.fsync(written.fileno())
            unfinished.replace(copy)
        finally:
            unfinished.unlink(missing_ok=True)
    except (sqlite3.Error, OSError) as error:
        raise DatabaseError(f"{file} can't be copied to {copy}: {_reason(error)}") from error


def _insert(table: Table, is_sqlite: bool):
    return sqlite.insert(table) if is_sqlite else postgresql.insert(table)


def counter(connection: Connection, name: str) -> int:
    """Returns a number from the meta table, 0 if it is absent."""
    return connection.scalar(_COUNTER, {"name": name}) or 0


def bump_counter(connection: Connection, name: str) -> None:
    """Adds one to a number in the meta table."""
    insertion = _insert(META, connection.dialect.name == "sqlite").values(name=name, value=1)
    plus_one = {"value": META.c.value + 1}
    connection.execute(insertion.on_conflict_do_update(index_elements=["name"], set_=plus_one))


def take_turn(connection: Connection, table: Table) -> None:
    """Takes this table's lock, across all servers, until the transaction ends."""
    # SQLite has one writing transaction at a time anyway
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_lock_number(table.name))))


def _lock_number(name: str) -> int:
    """Returns the number of a name's advisory lock, a signed number of 64 bits."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)


def _parse_url(url: str) -> URL:
    """Parses DATABASE_URL. Raises DatabaseError."""
    try:
        return make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise DatabaseError(
            "The database can't be opened, because DATABASE_URL isn't a database's address. Correct it."
        ) from error


def _sqlite_engines(url: URL) -> _Engines:
    def on_connect(connection, _record) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        # the clock of `arena.clock.MachineTime`
        connection.create_function("machine_time", 0, lambda: time.time_ns() // 1000)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS}000")
        connection.execute("PRAGMA foreign_keys=ON")
        _turn_wal_on(connection)

    connect_args = {"check_same_thread": False, "timeout": BUSY_SECONDS}
    writer = create_engine(url, poolclass=StaticPool, connect_args=connect_args)
    reader = create_engine(url, pool_size=8, max_overflow=32, connect_args=connect_args)

    def on_writer(connection, _record) -> None:
        connection.execute(f"PRAGMA cache_size=-{CACHE_KB}")
        connection.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
        # Deleted data are overwritten in the file; Debian's SQLite does so by default, others do not.
        connection.execute("PRAGMA secure_delete=ON")

    event.listen(writer, "connect", on_writer)
    event.listen(writer, "connect", on_connect)
    event.listen(reader, "connect", on_connect)
    _begin_with(writer, "BEGIN IMMEDIATE")
    _begin_with(reader, "BEGIN")
    return _Engines(writer, reader, lock_holder=None)


def _begin_with(engine: Engine, statement: str) -> None:
    """Lets an engine begin its transactions with this statement.

    It goes to the driver: through SQLAlchemy it would take as long as a whole query.
    """

    def do_begin(dbapi_connection: PoolProxiedConnection) -> None:
        dbapi_connection.execute(statement)

    engine.dialect.do_begin = do_begin


def _turn_wal_on(connection: sqlite3.Connection) -> None:
    """Turns WAL on, waiting while another program writes, which SQLite itself does not do here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _postgresql_engines(url: URL) -> _Engines:
    # Two pools, so that a read inside a writing transaction never waits for a connection that another writer holds.
    pool = {"pool_size": 8, "max_overflow": 8, "pool_pre_ping": True}
    reader = create_engine(url, **pool, isolation_level="REPEATABLE READ")
    # A process that hangs inside a transaction would hold up every reveal, which waits for its final number.
    never_idle = {"options": f"-c idle_in_transaction_session_timeout={BUSY_SECONDS}s"}
    writer = create_engine(url, **pool, connect_args=never_idle)
    # one session, whose locks outlive its transactions
    lock_holder = create_engine(
        url, pool_size=1, max_overflow=0, pool_pre_ping=True, isolation_level="AUTOCOMMIT"
    )
    return _Engines(writer, reader, lock_holder)


def _prepare_schema(engine: Engine) -> None:
    """Applies missing migrations, each in one transaction, then creates missing tables. Raises DatabaseError."""
    is_current = False
    while not is_current:
        with engine.begin() as connection:
            take_turn(connection, SCHEMA)  # servers that start at once wait for one another
            version = _stored_version(connection)
            is_current = version == len(STEPS)
            if is_current:
                _create_missing(connection)
            else:
                _migrate(connection, version)


def _create_missing(connection: Connection) -> None:
    """Creates missing tables; SQLAlchemy would check each of them with a query, which is slow."""
    present = set(inspect(connection).get_table_names())
    missing = [table for name, table in METADATA.tables.items() if name not in present]
    METADATA.create_all(connection, tables=missing, checkfirst=False)


def _stored_version(connection: Connection) -> int:
    """Returns the number of migrations applied to a database. Raises DatabaseError.

    An empty database needs none, so the newest version is stored in it.
    """
    tables = METADATA.tables.keys() & set(inspect(connection).get_table_names())
    if not tables:
        SCHEMA.create(connection)
        connection.execute(insert(SCHEMA).values(version=len(STEPS), digest=DIGEST))
        return len(STEPS)
    row = None
    if SCHEMA.name in tables:
        row = connection.execute(select(SCHEMA)).one_or_none()
    if row is not None and row.version > len(STEPS):
        raise DatabaseError(
            f"{_name(connection)} was made by a newer version. Update this program."
        )
    if row is None or row.version < 0 or row.digest != _digest_at(row.version):
        empty = "folder" if connection.dialect.name == "sqlite" else "database"
        raise DatabaseError(
            f"{_name(connection)} was made by a development version. Start with an empty {empty}."
        )
    return row.version


def _name(connection: Connection) -> str:
    """Returns a database's name for messages: SQLite's file, or PostgreSQL's address without its password."""
    url = connection.engine.url
    if connection.dialect.name == "sqlite":
        return str(url.database)
    return f"The database {_shown_address(url)}"


def _shown_address(url: URL) -> str:
    """Returns a database's address for messages, without its password and its query, which may hold one too."""
    return url.set(query={}).render_as_string(hide_password=True)


def _digest_at(version: int) -> str:
    """Returns the digest of all table definitions at a version."""
    return STEPS[version].digest if version < len(STEPS) else DIGEST


def _migrate(connection: Connection, version: int) -> None:
    """Applies the migration after this version."""
    for table, statements in STEPS[version].statements.items():
        if inspect(connection).has_table(table):
            for statement in statements:
                connection.execute(text(statement))
    connection.execute(update(SCHEMA).values(version=version + 1, digest=_digest_at(version + 1)))


def _prepare_file(file: Path, mounts: Path) -> None:
    """Creates the SQLite file and its folder if they are missing. Raises StorageError on a network's file system."""
    refuse_network(file, mounts)
    file.parent.mkdir(0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        _make_private(file)


def _make_private(file: Path) -> None:
    """Creates an empty file that only its owner can read; SQLite copies its mode to its other files."""
    # An existing file must not be opened, since closing it would drop SQLite's locks.
    file.touch(0o600, exist_ok=False)


def _reason(error: BaseException) -> str:
    """Returns the driver's one-line reason, without the statement and its parameters."""
    cause = error
    if isinstance(error, DBAPIError) and error.orig is not None:
        cause = error.orig
    text = str(cause).strip()
    return text.splitlines()[0] if text else type(cause).__name__
