"""The app as a process forked from one that has loaded it: what a start costs without its imports."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

from arena.inference import openai_client
from arena.live import queue, sessions
from tests.support.judging_process import Own

FORKS = multiprocessing.get_context("forkserver")
IMPORTED_BY_A_START = [
    "pydantic.v1.dataclasses",
    "anyio._backends._asyncio",
    "pyarrow.pandas_compat",
]
FORKS.set_forkserver_preload(["app", "openai", *IMPORTED_BY_A_START])


class ForkedApp:
    """A running app, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, environ: dict[str, str], log: Path) -> None:
        self._process = FORKS.Process(target=_run, args=(environ, log), daemon=True)
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, minus the number of the signal that ended the process, or None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit status, or None while the process runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status; raise TimeoutExpired after `timeout` seconds."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("app.py", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal unless the process has ended."""
        if self.returncode is None:
            os.kill(self._process.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)


def _run(environ: dict[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environ)
    with log.open("ab") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    gc.disable()  # until it serves, as a program does
    import app  # loaded already, but in the process that this one is forked from alone

    sessions.DELAY_SECONDS = 0.5, 0.7
    # a test without a page, in which pictures must come before the words
    if "LIVE_SOON" in environ:
        sessions.DELAY_SECONDS = 0.0, 0.2
        queue.DISCONNECT_SECONDS = 1.0
    # the servers of visitors' own judges: all at one port of this machine
    if "JUDGES_OF_VISITORS" in environ:
        port, _, certificate = environ["JUDGES_OF_VISITORS"].partition(":")
        own = Own(int(port), Path(certificate))
        openai_client.Fetcher = lambda: own.fetcher

    sys.exit(app.main())
