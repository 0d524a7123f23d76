"""What the tests share: real databases, a real server process, a real browser, and the shared data."""

import gc
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import certifi
import pgserver
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import Phase, settings
from playwright.sync_api import Browser, Expect, Page
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache
from starlette.testclient import TestClient

import arena.database
import arena.io.tables
from arena.database import METADATA, Database
from arena.items.ingest import Ingest
from tests.support.certificates import certificate as certificate
from tests.support.screens import (
    PHONE,
    PlaywrightLoop,
    PolledAssertions,
    chromium,
    fresh_page,
)
from tests.support.servers import AppServer, PostgresqlPool, drafts

# importing and collecting make much that stays: looking through it takes long
gc.set_threshold(100_000, 50, 50)

FIRST_FAILURE = (Phase.explicit, Phase.generate)
"""Without making a failing example smaller, which takes minutes."""

settings.register_profile("suite", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("soak", deadline=None, max_examples=300)
settings.register_profile("mutants", settings.get_profile("suite"), phases=FIRST_FAILURE)
settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Begin no test in a day's last minute: limits and budgets count by days (UTC)."""
    left = 86_400 - time.time() % 86_400
    if left < 60:
        time.sleep(left + 1)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Leave to the soak what PostgreSQL does no differently than SQLite: all tests without that marker."""
    for item in items:
        chosen = item.callspec.params.get("database_url") if hasattr(item, "callspec") else None
        if chosen == "postgresql" and not item.get_closest_marker("locks_or_dialect"):
            item.add_marker(pytest.mark.soak)


_END = "-----END CERTIFICATE-----\n"


@pytest.fixture(scope="session", autouse=True)
def home() -> Iterator[Path]:
    """A home folder of this run's own; a command or server that a test gives no `DATA_DIR` gets this run's."""
    # paid work is refused in memory
    folder = Path(tempfile.mkdtemp(prefix="stereoscope-home-", dir="/var/tmp"))
    (folder / "data").mkdir()
    one = folder / "one.pem"
    one.write_text(Path(certifi.where()).read_text("utf-8").partition(_END)[0] + _END)
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("HOME", str(folder))
        # nothing outside is asked, and each client would read all of them
        environ.setenv("SSL_CERT_FILE", str(one))
        environ.setenv("DATA_DIR", str(folder / "data"))
        yield folder
    left = [path.name for path in folder.glob(".stereoscope/*")]
    shutil.rmtree(folder)
    assert not left, (
        f"left in ~/.stereoscope, where a person's own votes lie: {left}; give the command a DATA_DIR"
    )


@pytest.fixture(scope="session")
def data() -> Path:
    """The shared test data; skips where it is absent, fails where CI says it must be there."""
    folder = os.environ.get("STEREOSCOPE_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if os.environ.get("CI") == "true":
        pytest.fail("STEREOSCOPE_DATA names no folder, and CI=true needs it")
    pytest.skip("STEREOSCOPE_DATA names no folder of shared test data")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a real PostgreSQL server for this run, in a folder that other runs leave alone."""
    folder = tempfile.mkdtemp(prefix="stereoscope-postgresql-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    engine = create_engine(server.get_uri(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:  # the tests end processes, not the power
        connection.execute(text("ALTER SYSTEM SET fsync = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
    engine.dispose()
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session", autouse=True)
def compiled_once() -> Iterator[None]:
    """Databases of a kind share their compiled statements: to compile them anew was a quarter of a test's work.

    SQLAlchemy keeps statements by their dialect, of which every database has its own; those of a kind are alike.
    """
    statements = LRUCache(10_000)

    def create(url: str, **options: object) -> Engine:
        engine = create_engine(url, **options)
        engine.update_execution_options(compiled_cache=statements)
        return engine

    with pytest.MonkeyPatch.context() as patched:
        for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
            patched.setattr(dialect, "__eq__", lambda self, other: type(self) is type(other))
            patched.setattr(dialect, "__hash__", lambda self: hash(type(self)))
        patched.setattr(arena.database, "create_engine", create)
        yield


@pytest.fixture(scope="session", autouse=True)
def tables_written_once() -> Iterator[None]:
    """A new database is made by the statements that made one like it before: to write them was most of its work."""
    written: dict[tuple[str, frozenset[str]], list[tuple[str, Any]]] = {}
    create_missing = arena.database._create_missing

    def create_as_before(connection: Connection) -> None:
        missing = METADATA.tables.keys() - {*inspect(connection).get_table_names()}
        key = (connection.dialect.name, frozenset(missing))
        if key not in written:
            written[key] = _noted(connection, create_missing)
            return
        for statement, values in written[key]:
            connection.exec_driver_sql(statement, values)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(arena.database, "_create_missing", create_as_before)
        yield


@pytest.fixture(scope="session", autouse=True)
def tables_read_once() -> Iterator[None]:
    """A workbook or Parquet file that was read before gives the same rows: a process of its own reads it anew."""
    rows: dict[tuple[object, ...], list[tuple[int, Any]]] = {}
    read = arena.io.tables._bounded_rows

    def read_as_before(reader: Path, file: BinaryIO, *how: object) -> Iterator[tuple[int, Any]]:
        content = file.read()
        file.seek(0)
        key = (reader, hashlib.sha256(content).digest(), *how)
        if key not in rows:
            rows[key] = [*read(reader, file, *how)]
        yield from rows[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(arena.io.tables, "_bounded_rows", read_as_before)
        yield


def _noted(connection: Connection, work: Callable[[Connection], None]) -> list[tuple[str, Any]]:
    """Do the work; return its statements that are no questions, with their values."""
    noted: list[tuple[str, Any]] = []

    def note(_connection: Connection, _cursor: object, said: str, values: Any, *_: object) -> None:
        if said.lstrip().startswith(("CREATE", "INSERT", "ALTER")):
            noted.append((said, values or None))

    event.listen(connection, "before_cursor_execute", note)
    work(connection)
    event.remove(connection, "before_cursor_execute", note)
    return noted


@pytest.fixture(scope="session", autouse=True)
def requests_in_one_loop() -> Iterator[None]:
    """A `TestClient` in the tests' own thread asks in one event loop: a loop and its threads a request cost more."""
    own_portal = TestClient._portal_factory

    @contextmanager
    def portal_of(client: TestClient) -> Iterator[BlockingPortal]:
        if client.portal is None and threading.current_thread() is threading.main_thread():
            yield shared
            return
        with own_portal(client) as portal:
            yield portal

    with start_blocking_portal() as shared, pytest.MonkeyPatch.context() as patched:
        patched.setattr(TestClient, "_portal_factory", portal_of)
        yield


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory) -> Path:
    """An SQLite file that has every table and no row, to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "arena.db"
    Database(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def postgresql_pool(postgresql) -> PostgresqlPool:
    """PostgreSQL databases that have every table and no row."""
    return PostgresqlPool(postgresql)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path) -> Iterator[str]:
    """The address of a database without rows, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('sqlite_tables'), tmp_path / 'arena.db')}"
        return
    with request.getfixturevalue("postgresql_pool").database() as url:
        yield url


@pytest.fixture
def database(database_url) -> Iterator[Database]:
    """An open, empty database, once on SQLite and once on PostgreSQL."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def bank(database) -> Database:
    """A database with a source "test" of six items and three models."""
    Ingest(database).add_items("test", "folder", drafts())
    return database


@pytest.fixture
def start_server(tmp_path) -> Iterator:
    """A function that starts an app server with settings; all are stopped at the end."""
    servers: list[AppServer] = []

    def start(program: Path | None = None, **environ: str) -> AppServer:
        servers.append(AppServer(tmp_path / f"data-{len(servers)}", program, **environ))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[AppServer]:
    """One app server with the demo bank, shared by tests that leave it as usable as they found it."""
    running = AppServer(tmp_path_factory.mktemp("app") / "data")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def playwright_loop() -> Iterator[PlaywrightLoop]:
    """Playwright's event loop; it begins with the first file that looks at pages."""
    begun = PlaywrightLoop()
    yield begun
    begun.close()


@pytest.fixture(scope="session")
def run_browser(playwright_loop) -> Iterator[Browser]:
    """Chromium without windows, or the one that CHROMIUM names: to start it takes longer than most tests."""
    once = Expect.__call__
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            Expect, "__call__", lambda expect, *actual: PolledAssertions(once(expect, *actual))
        )
        with playwright_loop.running():
            opened = chromium(playwright_loop.playwright)
        yield opened
        with playwright_loop.running():
            opened.close()


@pytest.fixture(scope="module")
def browser(playwright_loop, run_browser) -> Iterator[Browser]:
    """The run's Chromium; its event loop rests between files, where tests run loops of their own."""
    with playwright_loop.running():
        yield run_browser


@pytest.fixture
def page(browser) -> Iterator[Page]:
    """A fresh voter's page, on a phone."""
    with fresh_page(browser, PHONE) as opened:
        yield opened


@pytest.fixture
def another(request, tmp_path) -> Iterator:
    """A function that opens one more empty database: a new disk, or a new PostgreSQL database."""
    with ExitStack() as lent:

        def open_another(backend: str = "sqlite") -> Database:
            if backend == "sqlite":
                tables = request.getfixturevalue("sqlite_tables")
                url = (
                    f"sqlite:///{shutil.copy(tables, tmp_path / f'disk-{time.monotonic_ns()}.db')}"
                )
            else:
                url = lent.enter_context(request.getfixturevalue("postgresql_pool").database())
            return lent.enter_context(closing(Database(url)))

        yield open_another
