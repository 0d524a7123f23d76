"""The app as a process forked from one that has loaded it: what a start costs without its imports."""

import gc
import importlib
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from arena.inference import local_process, openai_client
from arena.io import aside
from arena.live import queue, sessions, streaming
from tests.support import loaded
from tests.support.judging_process import Own

FORKS = multiprocessing.get_context("forkserver")
IMPORTED_BY_A_START = [
    "pydantic.v1.dataclasses",
    "anyio._backends._asyncio",
    "pyarrow.pandas_compat",
]
FORKS.set_forkserver_preload(
    ["app", "tests.support.loaded", "openai", *IMPORTED_BY_A_START, __name__]
)


def loaded_by_a_start() -> frozenset[str]:
    """Return the names of the modules that a new process has loaded once it has imported `app`."""
    ours, theirs = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_send_loaded, args=(theirs,))
    process.start()
    names = ours.recv()
    process.join()
    return names


def _send_loaded(answer: Connection) -> None:
    answer.send(loaded.BY_A_START)


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


class ForkedHelper:
    """The helper of work aside, forked from an app before that has threads; with the methods of `Popen` used there.

    It would load in seconds what the app has loaded. One that was ended is started anew as the program does it.
    """

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            self._ours.close()
            _help_when_asked(theirs)
        theirs.close()

    def lend_to(self, helped: aside.Aside) -> None:
        helped._control = self._ours
        helped._helper = self

    def poll(self) -> int | None:
        """Return 0 once the process has ended, and None while it runs."""
        return 0 if os.waitpid(self.pid, os.WNOHANG)[0] else None

    def wait(self) -> None:
        os.waitpid(self.pid, 0)


def _help_when_asked(control: socket.socket) -> None:
    """Do as `python -m arena.io.aside`, but get ready for the first order only: most apps give none."""
    try:
        asked = select.poll()
        asked.register(control, select.POLLIN)
        asked.poll()
        from scoring.context import LOADED_ASIDE

        aside.main(str(control.detach()), *LOADED_ASIDE)
    finally:
        os._exit(0)


def _run(environ: dict[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environ)
    sys.path[:0] = filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))
    with log.open("ab") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    gc.disable()  # until it serves, as a program does
    helpers = [ForkedHelper()]
    start = aside.Aside._start
    aside.Aside._start = lambda self: helpers.pop().lend_to(self) if helpers else start(self)
    # loaded already, but in the process that this one is forked from alone
    from huggingface_hub import constants

    import app

    importlib.reload(constants)  # the Hub's address and folders stand in the environment
    sessions.DELAY_SECONDS = 0.5, 0.7
    # what makes both sides look alike, but a test that compares them need not be waited for
    if "LIVE_PACE" not in environ:
        streaming.PAUSE_SECONDS = 0.1
        streaming.LAST_SECONDS = 0.3
    # a test without a page, in which pictures must come before the words
    if "LIVE_SOON" in environ:
        sessions.DELAY_SECONDS = 0.0, 0.2
        queue.DISCONNECT_SECONDS = 1.0
    # models of this machine say words at once, where torch would be loaded for seconds
    if "STAND_IN_MODELS" in environ:
        begin = local_process.line_process
        local_process.line_process = lambda _: begin("tests.support.stand_in_model")
    # the servers of visitors' own judges: all at one port of this machine
    if "JUDGES_OF_VISITORS" in environ:
        port, _, certificate = environ["JUDGES_OF_VISITORS"].partition(":")
        own = Own(int(port), Path(certificate))
        openai_client.Fetcher = lambda: own.fetcher

    sys.exit(app.main())
