"""A server's judging in a process of its own, killed again and again."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.judging_process import WIDE
from tests.support.servers import ROOT


class Killed:
    """A server's judging in a process of its own, killed again and again."""

    def __init__(
        self, folder: Path, database_url: str, judge_url: str, key: str, budget: int = WIDE.job
    ) -> None:
        self.log = (folder / "process.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.judging_process", database_url, judge_url, str(budget)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )  # fmt: skip
        self._say(key)

    def _say(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())

    def life(self, until: Callable[[], object]) -> None:
        """Start a child and kill it as soon as `until` is done."""
        self._say("go")
        child = self._hear()
        try:
            until()
        finally:
            kill(child)
        assert self._hear() == -signal.SIGKILL

    def end(self) -> None:
        self._process.communicate(timeout=20)
        self.log.close()


def kill(process: int) -> None:
    subprocess.run(["kill", "-9", str(process)], check=True)
