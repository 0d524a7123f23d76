"""A server's judging in a process of its own, killed again and again."""

import importlib
import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from arena.database import Database
from tests.support.forked_app import FORKS
from tests.support.judging_process import HASTY, WIDE, Bench, job_ceiling


class Killed:
    """A server's judging in a process of its own, killed again and again; the log has every level."""

    def __init__(
        self, folder: Path, database_url: str, judge_url: str, key: str, budget: int = WIDE.job
    ) -> None:
        self._given = (folder / "process.log", database_url, judge_url, key, budget)

    def life(self, until: Callable[[], object]) -> None:
        """Start a process and kill it as soon as `until` is done."""
        process = FORKS.Process(target=_judge_until_killed, args=self._given, daemon=True)
        process.start()
        try:
            until()
        finally:
            process.kill()
            process.join()
        assert process.exitcode == -signal.SIGKILL


def _judge_until_killed(
    log: Path, database_url: str, judge_url: str, key: str, budget: int
) -> None:
    """Be a server that judges, for ever, and waits for no hanging call."""
    with log.open("ab") as told:
        os.dup2(told.fileno(), 2)
    logging.basicConfig(level=logging.DEBUG)
    importlib.import_module("openai")
    pace = replace(HASTY, timeout=1.0)
    Bench(Database(database_url), judge_url, key, pace, job_ceiling(budget)).worker.start()
    threading.Event().wait()
