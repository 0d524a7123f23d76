"""The database: what is durable, what is refused, and that a refusal stores nothing and passes by itself."""

import re
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Barrier, Event, Timer

import pytest
from sqlalchemy import create_engine, func, select, text, update
from sqlalchemy.exc import StatementError

from arena.battles.tables import VOTER
from arena.database import DIGEST, SCHEMA, STEPS, Database, DatabaseError, bump_counter, counter
from tests.support.forked_script import run_script
from tests.support.servers import ROOT, new_postgresql_database

pytestmark = pytest.mark.locks_or_dialect

MOMENT = datetime(2026, 3, 4, 5, 6, 7, 891011, UTC)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request, tmp_path) -> str:
    """The address of a database without tables, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'arena.db'}"
    return new_postgresql_database(request.getfixturevalue("postgresql"))


def add_voter(database: Database, name: str, since: datetime = MOMENT) -> None:
    with database.write() as connection:
        connection.execute(VOTER.insert().values(cookie_hash=name, since=since))


def voters(database: Database) -> set[str]:
    with database.read() as connection:
        return set(connection.scalars(select(VOTER.c.cookie_hash)))


@pytest.fixture
def sqlite(tmp_path):
    """An open database in an SQLite file."""
    opened = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    yield opened
    opened.close()


# Schema


def test_the_schema_version_is_stored_once_and_opens_again(database, database_url):
    again = Database(database_url)
    with again.read() as connection:
        assert connection.execute(select(SCHEMA)).all() == [(len(STEPS), DIGEST)]
    again.close()


def test_a_newer_schema_refuses_to_start_and_stays_as_it_is(database, database_url):
    add_voter(database, "someone")
    with database.write() as connection:
        connection.execute(update(SCHEMA).values(version=len(STEPS) + 1))
    with pytest.raises(
        DatabaseError, match=r"was made by a newer version\. Update this program\.$"
    ):
        Database(database_url)
    with database.read() as connection:
        assert connection.scalar(select(SCHEMA.c.version)) == len(STEPS) + 1
    assert voters(database) == {"someone"}


def test_a_refused_opening_leaves_no_connection_behind(postgresql):
    url = new_postgresql_database(postgresql)
    database = Database(url)
    with database.write() as connection:
        connection.execute(update(SCHEMA).values(version=len(STEPS) + 1))
    database.close()
    with pytest.raises(DatabaseError) as refusal:
        Database(url)
    watcher = create_engine(postgresql)
    with watcher.connect() as connection:
        of_database = text("SELECT count(*) FROM pg_stat_activity WHERE datname = :name")
        assert connection.execute(of_database, {"name": database.url.database}).scalar() == 0, (
            refusal.value
        )
    watcher.dispose()


def test_servers_that_start_at_once_on_an_empty_database_all_open_it(empty_url):
    start = Barrier(6)

    def open_one(_) -> Database:
        start.wait()
        return Database(empty_url)

    with ThreadPoolExecutor(6) as pool:
        opened = list(pool.map(open_one, range(6)))
    with opened[0].read() as connection:
        assert connection.execute(select(SCHEMA)).all() == [(len(STEPS), DIGEST)]
    for one in opened:
        one.close()


def test_opening_waits_while_another_program_sets_the_file_up(tmp_path):
    """SQLite refuses the change to WAL at once, whatever the timeout, while another connection is about to write."""
    other = sqlite3.connect(tmp_path / "arena.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE other (id INTEGER)")
    done = Timer(0.5, other.execute, ["COMMIT"])
    done.start()
    try:
        Database(f"sqlite:///{tmp_path / 'arena.db'}").close()
    finally:
        done.join()
        other.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_what_is_made_for_the_votes_is_for_nobody_else_and_what_was_there_stays_as_it_was(tmp_path):
    """The file holds the voters' keys; SQLite gives the file's mode to those beside it."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs").chmod(0o755)
    for folder, wanted in (("ours", 0o700), ("theirs", 0o755)):
        database = Database(f"sqlite:///{tmp_path / folder / 'arena.db'}")
        add_voter(database, "someone")
        assert mode(tmp_path / folder) == wanted
        assert {file.name: mode(file) for file in (tmp_path / folder).iterdir()} == dict.fromkeys(
            ("arena.db", "arena.db-wal", "arena.db-shm"), 0o600
        )
        database.close()
    (tmp_path / "theirs" / "arena.db").chmod(0o640)
    Database(f"sqlite:///{tmp_path / 'theirs' / 'arena.db'}").close()
    assert mode(tmp_path / "theirs" / "arena.db") == 0o640


# Transactions


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_raise_inside_write_stores_nothing_and_the_next_write_works(database, error):
    with pytest.raises(error), database.write() as connection:
        connection.execute(VOTER.insert().values(cookie_hash="lost", since=MOMENT))
        raise error
    add_voter(database, "kept")
    assert voters(database) == {"kept"}


def test_closing_waits_for_a_write_of_another_thread(sqlite):
    """SQLite's connection would be freed under it, which ends the process."""
    writing, goes_on = Event(), Event()

    def write() -> None:
        with sqlite.write() as connection:
            writing.set()
            goes_on.wait(30)
            connection.execute(VOTER.insert().values(cookie_hash="late", since=MOMENT))

    with ThreadPoolExecutor(2) as pool:
        written = pool.submit(write)
        assert writing.wait(30)
        closed = pool.submit(sqlite.close)
        with pytest.raises(FutureTimeout):
            closed.result(0.2)
        goes_on.set()
        written.result(30)
        closed.result(30)
    assert voters(sqlite) == {"late"}


def test_a_refused_row_takes_the_whole_transaction_with_it(database):
    with pytest.raises(DatabaseError, match="Not saved"), database.write() as connection:
        connection.execute(VOTER.insert().values(cookie_hash="one", since=MOMENT))
        connection.execute(VOTER.insert().values(cookie_hash="one", since=MOMENT))
    assert voters(database) == set()


def test_what_is_written_is_read_at_once_and_by_others(database, database_url):
    other = Database(database_url)
    add_voter(database, "someone")
    assert voters(database) == voters(other) == {"someone"}
    other.close()


def test_a_read_sees_one_moment(database):
    with database.read() as connection:
        before = counter(connection, "steps")
        with database.write() as other:
            bump_counter(other, "steps")
        assert counter(connection, "steps") == before
    with database.read() as connection:
        assert counter(connection, "steps") == before + 1


LOCK_OF_META = """
import sys
from sqlalchemy import text
from arena.database import META, Database, take_turn
mine = "SELECT classid, objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
with Database(sys.argv[1]).write() as connection:
    take_turn(connection, META)
    print(connection.execute(text(mine)).all())
"""


def test_servers_share_the_lock_of_a_table(postgresql):
    url = new_postgresql_database(postgresql)
    locks = {run_script(LOCK_OF_META, url) for _ in range(2)}
    assert len(locks) == 1 and locks != {"[]\n"}


def test_servers_that_bump_a_new_counter_at_once_wait_for_one_another(postgresql):
    url = new_postgresql_database(postgresql)
    with closing(Database(url)) as database, closing(Database(url)) as other:

        def bump() -> None:
            with other.write() as connection:
                bump_counter(connection, "steps")

        with ThreadPoolExecutor() as pool:
            with database.write() as connection:
                bump_counter(connection, "steps")
                second = pool.submit(bump)
                with pytest.raises(FutureTimeout):
                    second.result(timeout=0.3)
            second.result(timeout=10)
        with database.read() as connection:
            assert counter(connection, "steps") == 2


def test_counters_lose_no_step_to_threads_and_other_programs(database, database_url):
    other = Database(database_url)

    def bump(number: int) -> None:
        with (database if number % 2 else other).write() as connection:
            bump_counter(connection, "steps")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(bump, range(40)))
    with database.read() as connection:
        assert counter(connection, "steps") == 40
        assert counter(connection, "never bumped") == 0
    other.close()


MOMENTS = (
    MOMENT,
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(2026, 7, 1, 12, 0, 0, 1, timezone(timedelta(hours=5, minutes=30))),
)


def test_a_moment_comes_back_to_the_microsecond_and_in_utc(database):
    for number, moment in enumerate(MOMENTS):
        add_voter(database, f"voter {number}", moment)
    with database.read() as connection:
        back = connection.scalars(select(VOTER.c.since).order_by(VOTER.c.cookie_hash)).all()
    assert tuple(back) == MOMENTS
    assert all(moment.tzinfo is UTC for moment in back)


def test_a_time_without_a_zone_is_refused(database):
    with pytest.raises((StatementError, DatabaseError)):
        add_voter(database, "someone", MOMENT.replace(tzinfo=None))
    assert voters(database) == set()


# SQLite


@pytest.mark.parametrize("door", ["write", "read"])
@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)]
)
def test_sqlite_keeps_a_log_and_waits_for_the_disk(sqlite, door, pragma, value):
    with getattr(sqlite, door)() as connection:
        assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


def test_a_second_server_on_the_file_is_refused_while_commands_run_beside(sqlite):
    url = str(sqlite.url)
    sqlite.become_server()
    command, second = Database(url), Database(url)
    with pytest.raises(DatabaseError, match="Another server already runs on .*arena.db"):
        second.become_server()
    add_voter(command, "from a command")
    add_voter(sqlite, "from the server")
    assert voters(command) == voters(sqlite) == {"from a command", "from the server"}
    sqlite.close()
    second.become_server()
    second.close()
    command.close()


def test_a_second_server_is_refused_behind_a_link_to_the_file(sqlite, tmp_path):
    sqlite.become_server()
    link = tmp_path / "link.db"
    link.symlink_to(str(sqlite.url.database))
    with (
        closing(Database(f"sqlite:///{link}")) as second,
        pytest.raises(DatabaseError, match="Another server already"),
    ):
        second.become_server()


def test_a_killed_server_leaves_no_lock(sqlite):
    script = (
        "import sys\nfrom arena.database import Database\ndatabase = Database(sys.argv[1])\n"
        "database.become_server()\nprint('up', flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(sqlite.url)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdout and server.stdout.readline() == b"up\n"
        with pytest.raises(DatabaseError, match="Another server"):
            sqlite.become_server()
        server.send_signal(signal.SIGKILL)
        server.wait()
    sqlite.become_server()


def test_several_servers_may_share_a_postgresql_database(postgresql):
    url = new_postgresql_database(postgresql)
    servers = [Database(url), Database(url)]
    for server in servers:
        server.become_server()
        server.close()


# Refusals of the disk: one sentence for visitors, the reason in the log, nothing stored; it passes without a restart.

REFUSED = "^Not saved: the database refused it. Please try again in a moment.$"


def test_a_locked_database_refuses_and_recovers(sqlite, caplog):
    with sqlite.write() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=200")
    other = sqlite3.connect(str(sqlite.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(3):
        with pytest.raises(DatabaseError, match=REFUSED):
            add_voter(sqlite, "lost")
        assert "write refused: database is locked" in caplog.text
        assert voters(sqlite) == set(), "reading goes on"
    other.execute("ROLLBACK")
    other.close()
    add_voter(sqlite, "kept")
    assert voters(sqlite) == {"kept"}


def test_a_database_that_may_not_grow_refuses_and_recovers(sqlite, caplog):
    with sqlite.write() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1")
    for _ in range(2):
        with pytest.raises(DatabaseError, match=REFUSED):
            add_voter(sqlite, "x" * 1_000_000)
        assert "full" in caplog.text
        assert voters(sqlite) == set()
    with sqlite.write() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    add_voter(sqlite, "kept")
    assert voters(sqlite) == {"kept"}


FULL_DISK = """
import resource, sys
from tests.arena.test_database import add_voter, voters
from arena.database import Database, DatabaseError
database = Database(sys.argv[1])
add_voter(database, "before")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        add_voter(database, "x" * 1_000_000)
    except DatabaseError as error:
        print(error)
    print(sorted(voters(database)))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
add_voter(database, "kept")
print(sorted(voters(database)))
"""


def test_a_full_disk_refuses_and_recovers(sqlite):
    lines = run_script(FULL_DISK, sqlite.url).splitlines()
    assert lines[0] == lines[2]
    assert re.match(REFUSED, lines[0])
    assert lines[1] == lines[3] == "['before']"
    assert lines[4] == "['before', 'kept']"


READ_ONLY = """
import os, sys
from pathlib import Path
from tests.arena.test_database import add_voter, voters
from arena.database import Database, DatabaseError
folder, closed, file_mode, folder_mode = Path(sys.argv[1]), sys.argv[2] == "closed", 0o444, 0o555
if os.getuid() == 0:  # root may write everywhere
    os.chown(folder, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
url = f"sqlite:///{folder / 'arena.db'}"
if not closed:
    database = Database(url)
    add_voter(database, "kept")
    database.close()
    (folder / "arena.db").chmod(file_mode)
folder.chmod(folder_mode)
try:
    Database(url).become_server()
    print("opened")
except DatabaseError as error:
    print(error)
folder.chmod(0o755)
if not closed:
    (folder / "arena.db").chmod(0o644)
database = Database(url)
database.become_server()
print(sorted(voters(database)))
"""


@pytest.mark.parametrize(
    ("state", "left"),
    [pytest.param("closed", "[]", marks=pytest.mark.soak), ("read-only", "['kept']")],
)
def test_a_read_only_folder_is_named_at_the_start_and_passes(state, left):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        message, after = run_script(READ_ONLY, folder, state).splitlines()
    assert folder in message, f"expected the database to be named, found: {message}"
    assert re.search(r"can't be opened|may not be written|read-?only", message)
    assert after == left


def test_a_lost_postgresql_connection_refuses_and_recovers(postgresql):
    url = new_postgresql_database(postgresql)
    database = Database(url)
    killer = create_engine(postgresql, isolation_level="AUTOCOMMIT")
    kill = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name")

    def cut() -> None:
        with killer.connect() as connection:
            connection.execute(kill, {"name": database.url.database})

    with pytest.raises(DatabaseError, match="Not saved"), database.write() as connection:
        connection.execute(VOTER.insert().values(cookie_hash="lost", since=MOMENT))
        cut()
        connection.execute(select(func.count()).select_from(VOTER))
    add_voter(database, "kept")
    cut()
    assert voters(database) == {"kept"}
    database.close()
    killer.dispose()


# Opening


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///{folder}/garbage.db",
        "sqlite:///{folder}/sub",
        "sqlite:///{folder}/garbage.db/below/arena.db",
        "postgresql://someone:hunter2@127.0.0.1:1/arena",
        "postgresql://someone:hunter2@127.0.0.1:port/arena",
        "postgresql://someone:hunter2@no.such.host.invalid/arena",
        "postgresql://127.0.0.1:1/arena?user=someone&password=hunter2",
        "nonsense",
        "sqlite:///:memory:",
    ],
)
def test_what_cannot_be_opened_is_named_without_its_password(tmp_path, url):
    (tmp_path / "garbage.db").write_bytes(b"no database " * 1000)
    (tmp_path / "sub").mkdir()
    address = url.format(folder=tmp_path)
    with pytest.raises(DatabaseError) as caught:
        Database(address)
    message = str(caught.value)
    assert "can't be opened" in message
    assert "\n" not in message
    assert "hunter2" not in message
    if address.startswith("sqlite:////"):
        assert address.removeprefix("sqlite:///") in message


@pytest.mark.parametrize("query", ["mode=rwc", "timeout=3", "uri=true&cache=shared", "x"])
def test_the_query_of_an_sqlite_address_means_nothing(tmp_path, query):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Database(f"sqlite:///{tmp_path / 'arena.db'}?{query}").close()
    assert {path.name for path in tmp_path.glob("*.db*")} == {"arena.db"}


def test_a_message_never_holds_the_row(database):
    secret = "a-cookie-hash-that-is-nobody's-business"
    add_voter(database, secret)
    with pytest.raises(DatabaseError) as caught:
        add_voter(database, secret)
    assert secret not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_database_gone_while_running_is_a_database_error(sqlite):
    sqlite.close()
    path = Path(str(sqlite.url.database))
    for part in path.parent.glob("arena.db*"):
        part.unlink()
    path.mkdir()
    with pytest.raises(DatabaseError, match="can.t be read"):
        voters(sqlite)
    with pytest.raises(DatabaseError, match="Not saved"):
        add_voter(sqlite, "lost")
