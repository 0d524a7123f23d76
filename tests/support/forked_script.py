"""Lines of Python, or a command, in a process of their own, forked from one that has loaded the app."""

import io
import os
import sys
from contextlib import redirect_stdout
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from tests.support.commands import MAIN
from tests.support.forked_app import FORKS


def run_script(script: str, *arguments: object) -> str:
    """Run Python lines with these arguments and return what they print."""
    receiver, sender = FORKS.Pipe(duplex=False)
    given = (sender, script, [*map(str, arguments)])
    process = FORKS.Process(target=_run, args=given, daemon=True)
    process.start()
    sender.close()
    process.join(60)
    assert process.exitcode == 0
    return receiver.recv()


def _run(sender: Connection, script: str, arguments: list[str]) -> None:
    sys.argv = ["-c", *arguments]
    out = io.StringIO()
    with redirect_stdout(out):
        exec(script, {"__name__": "__main__"})
    sender.send(out.getvalue())


def started(half: str, *words: str) -> BaseProcess:
    """Start `python -m` a half with these words and this process's environment."""
    process = FORKS.Process(target=_command, args=(half, words, dict(os.environ)), daemon=True)
    process.start()
    return process


def _command(half: str, words: tuple[str, ...], environ: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    sys.exit(MAIN[half]([*words]))
