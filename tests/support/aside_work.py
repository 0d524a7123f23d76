"""Functions that tests have called aside."""

import os
import subprocess
import sys
import time
from pathlib import Path

from arena.io.strict_json import RowsError
from scoring.benchmarks.predictions import UploadError


def niceness(added: int) -> int:
    return os.nice(0) + added


def refuses_a_row() -> None:
    raise RowsError("expected another", "x.csv", 7, "answer")


def refuses_an_upload() -> None:
    raise UploadError("x.csv", ("one", "two"))


def breaks() -> float:
    return 1 / 0


def takes(megabytes: int) -> int:
    return len(b"x" * (megabytes * 1_000_000))


def computes(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def sleeps_with_a_child(told: Path) -> None:
    """Write the numbers of this process and of one that it starts, and sleep."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    told.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
    told.with_suffix(".part").rename(told)
    time.sleep(60)
