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
from functools import cache
from pathlib import Path

import httpx
from sqlalchemy import create_engine, text

from arena.items.ingest import ImageDraft, ItemDraft
from tests.support.forked_app import ForkedApp

ROOT = Path(__file__).parents[2]


def new_postgresql_database(server: str, template: str = "template1") -> str:
    """Make a database on a server, empty or like its template, and return its address."""
    name = f"t{time.monotonic_ns()}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


def drafts(items: int = 6, models: tuple[str, ...] = ("m1", "m2", "m3"), images: int = 1) -> list[ItemDraft]:
    """Return items of three families that models answered; their pictures count as kept."""
    return [
        ItemDraft(
            instruction=f"What is in picture {number}?",
            family=("Counting", "Color", "Directions")[number % 3],
            images=tuple(
                ImageDraft(f"key-{number}-{place}", f"{number}-{place}.png", sha256=f"{number:064x}", suffix="png")
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
        read_on_import = any(name.startswith(("HF_", "PYTHON", "SPACE", "SYSTEM")) for name in environ)
        self._program = program or (ROOT / "app.py" if read_on_import else None)
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.data_dir = data_dir
        self._environ = {**os.environ, "PORT": str(self.port), "DATA_DIR": str(data_dir), **environ}
        self.log = data_dir / "server.log"
        if not (self._program or data_dir.exists() or environ.keys() & {"DATABASE_URL", "DEMO_BANK"}):
            shutil.copytree(_after_a_first_start(), data_dir)
        self.start()

    def start(self) -> None:
        """Start the process and wait until it answers."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.process = self._started()
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.log.read_text()[-2000:]}")
            try:
                if httpx.get(f"{self.address}/healthz", timeout=1).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
