"""The app as a process, fresh PostgreSQL databases, and items to fill a bank with."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import httpx
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import OperationalError

from arena.database import Database
from arena.items.ingest import ImageDraft, ItemDraft
from tests.support.forked_app import ForkedApp

ROOT = Path(__file__).parents[2]


def new_postgresql_database(server: str) -> str:
    """Make an empty database on a server, and return its address."""
    name = f"t{time.monotonic_ns()}"
    with _connected(server) as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    return server.replace("/postgres?", f"/{name}?")


class PostgresqlPool:
    """Databases that have every table and no row, emptied for the next: to make one takes a hundred times as long."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._free: list[str] = []
        self._made: list[tuple] = []

    @contextmanager
    def database(self) -> Iterator[str]:
        """Lend the address of a database."""
        url = self._free.pop() if self._free else self._new()
        yield url
        with suppress(OperationalError):  # a test may have shut its database
            if self._emptied(url):
                self._free.append(url)

    def _new(self) -> str:
        url = new_postgresql_database(self._server)
        Database(url).close()
        with _connected(url) as connection:
            self._made = self._made or _shape(connection)
            connection.execute(text("CREATE SCHEMA first"))
            for name in connection.scalars(text(_TABLES)).all():
                if connection.scalar(text(f'SELECT EXISTS (TABLE "{name}")')):
                    connection.execute(text(f'CREATE TABLE first."{name}" AS TABLE "{name}"'))
        return url

    def _emptied(self, url: str) -> bool:
        """Give a database its first rows, and no others; return whether its tables are as they were made."""
        with _connected(url) as connection:
            if _shape(connection) != self._made:
                return False
            connection.execute(text(_LEAVE))
            steps = [f'DELETE FROM "{name}"' for name in connection.scalars(text(_TABLES))]
            steps += [
                f'INSERT INTO "{name}" TABLE first."{name}"'
                for name in connection.scalars(text(_FILLED))
            ]
            anew = "; ".join(steps)
            connection.execute(text(f"SET session_replication_role = replica; {anew}; {_RESTART}"))
        return True


def _shape(connection: Connection) -> list[tuple]:
    return [tuple(row) for row in connection.execute(text(_SHAPE))]


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
_FILLED = "SELECT tablename FROM pg_tables WHERE schemaname = 'first'"
_SHAPE = """
    SELECT relname, relkind::text, (SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid),
           (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid),
           (SELECT count(*) FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal),
           (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace)
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'public' ORDER BY relname"""
_LEAVE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
_RESTART = "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'"


def drafts(
    items: int = 6, models: tuple[str, ...] = ("m1", "m2", "m3"), images: int = 1
) -> list[ItemDraft]:
    """Return items of three families that models answered; their pictures count as kept."""
    return [
        ItemDraft(
            instruction=f"What is in picture {number}?",
            family=("Counting", "Color", "Directions")[number % 3],
            images=tuple(
                ImageDraft(
                    f"key-{number}-{place}",
                    f"{number}-{place}.png",
                    sha256=f"{number:064x}",
                    suffix="png",
                )
                for place in range(images)
            ),
            answers={model: f"{model} says {number}" for model in models},
        )
        for number in range(items)
    ]


class AppServer:
    """The app as a process of its own: forked from one that has loaded it, or a program started as the README says.

    What libraries read while they are imported needs a program: a start with such a variable is one.
    """

    def __init__(self, data_dir: Path, program: Path | None = None, **environ: str) -> None:
        # a fork reads the Hub's variables anew, and PYTHONPATH
        read_on_import = any(
            name.startswith(("GRADIO_", "SPACE_", "SYSTEM", "TMPDIR")) for name in environ
        )
        self._program = program or (ROOT / "app.py" if read_on_import else None)
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.data_dir = data_dir
        self._environ = {**os.environ, "PORT": str(self.port), "DATA_DIR": str(data_dir), **environ}
        self.log = data_dir / "server.log"
        starts_empty = environ.keys() & {"DATABASE_URL", "DEMO_BANK", "MIRROR"}
        if not (program or data_dir.exists() or starts_empty):
            shutil.copytree(_after_a_first_start(), data_dir)
        self.start()

    def start(self) -> None:
        """Start the process and wait until it answers."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.process = self._started()
        deadline = time.monotonic() + 180
        with httpx.Client(timeout=1) as client:
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    raise RuntimeError(
                        f"the server ended with {self.process.returncode}: {self.log.read_text()[-2000:]}"
                    )
                try:
                    if client.get(f"{self.address}/healthz").status_code == 200:
                        return
                except httpx.TransportError:
                    time.sleep(0.02)
        self.kill()
        raise RuntimeError("the server did not answer within 180 s")

    def _started(self) -> subprocess.Popen | ForkedApp:
        if self._program is None:
            return ForkedApp(self._environ, self.log)
        with self.log.open("ab") as log:
            command = [sys.executable, str(self._program)]
            return subprocess.Popen(command, env=self._environ, cwd=ROOT, stdout=log, stderr=log)

    def kill(self) -> None:
        """End the process as a power cut would: SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End the process in order."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()


@cache
def _after_a_first_start() -> Path:
    """Return a data folder with the demo bank, to copy: to make it takes most of a start."""
    folder = Path(tempfile.mkdtemp(prefix="stereoscope-first-start-"))
    atexit.register(shutil.rmtree, folder)
    first = AppServer(folder)
    first.stop()
    first.log.unlink()
    return folder


def free_port() -> int:
    """Return a port of this machine that nothing listens on, and that nobody else is given while this process runs."""
    reserved = socket.socket()
    # a server that sets it too may listen there
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    atexit.register(reserved.close)
    return reserved.getsockname()[1]
