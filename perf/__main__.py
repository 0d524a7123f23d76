"""All benchmarks, one after the other: `python -m perf`. A failure or missed target does not stop the others.

Timings come first (about 45 minutes on two idle cores), then simulations on all cores (about 90 minutes).
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
BENCHMARKS = (
    "board_path",
    "judge_throughput",
    "seats",
    "ratings",
    "choices",
    "specs",
    "live",
    "voters",
    "attacks",
    "memory",
    "page",
    "task_map",
    "coverage",
    "campaigns",
    "fraud",
)


def main(benchmarks: Sequence[str] = BENCHMARKS) -> int:
    """Runs each benchmark in a process of its own; returns 1 if any failed."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DATA_DIR": folder}
        for name in benchmarks:
            print(f"\n== perf.{name}", flush=True)
            command = [sys.executable, "-m", f"perf.{name}"]
            benchmark = subprocess.run(command, cwd=ROOT, env=environment)
            if benchmark.returncode:
                failed.append(name)
    if failed:
        print(f"\nfailed, or missed a target: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
