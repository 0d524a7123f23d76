"""`python -m arena` and `python -m scoring` in this process, or in one of their own where it is to be killed."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import arena.__main__
import scoring.__main__
from tests.support.servers import ROOT

KEY = "sk-planted-command-77aa"
MAIN = {"arena": arena.__main__.main, "scoring": scoring.__main__.main}


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def run(
    half: str, *words: object, answer: str = "", environ: Mapping[str, str] | None = None
) -> Done:
    """Run a command here; `answer` is typed, and `environ` added to this process's own for as long as it runs."""
    out, err = io.StringIO(), io.StringIO()
    typed = patch("sys.stdin", io.StringIO(answer))
    with patch.dict(os.environ, environ or {}), typed, redirect_stdout(out), redirect_stderr(err):
        code = MAIN[half]([*map(str, words)])
    return Done(code, out.getvalue(), err.getvalue())


class Command:
    """`python -m scoring` with its own data folder, key and settings; its results lie in `out`."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder, self.out = folder, folder / "results"
        self.environ = {"DATA_DIR": str(folder / "data"), "OPENAI_API_KEY": KEY, **environ}

    def __call__(self, *words: object, answer: str = "", **environ: str) -> Done:
        return self.run(*words, "--out", self.out, answer=answer, **environ)

    def run(self, *words: object, answer: str = "", **environ: str) -> Done:
        done = run("scoring", *words, answer=answer, environ={**self.environ, **environ})
        assert "Traceback" not in done.err and KEY not in done.out + done.err
        return done

    @contextmanager
    def process(self, *words: object) -> Iterator[subprocess.Popen[str]]:
        """A process that runs the command."""
        call = [sys.executable, "-m", "scoring", *map(str, words), "--out", str(self.out)]
        environ = {**os.environ, **self.environ}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # a run in the background ignores it
        heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen(
            call, env=environ, cwd=ROOT, text=True, preexec_fn=heard, **pipes
        ) as process:
            yield process

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder / 'data' / 'arena.db'}"

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}
