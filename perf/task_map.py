"""Speed of maps of task vectors: `python -m perf.task_map`.

162 adapters of 3.5 million numbers each (rank 64, the attention and MLP of one layer of width 4096, as in the paper's
probing model) are written, and mapped by each kind of vector in a process of its own. Targets on two cores: 60 s for
stacked factors, 240 s for their products, 1 GB of memory.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scoring.benchmarks.mmt_bench import subtasks
from scoring.task_map.vectors import Vector, vector_map
from tests.support.adapters import list_tasks, random_factors, write_adapter

SHAPES = {"c_attn": (4096, 12288), "c_proj": (4096, 4096), "w1": (4096, 11008), "w2": (4096, 11008)}
RANK = 64
TARGETS: dict[Vector, float] = {"stacked": 60.0, "product": 240.0}
"""Seconds."""
MOST_BYTES = 1_000_000_000


def main() -> int:
    """Measures, prints, and returns 1 if a target was missed or a map failed."""
    missed = False
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for seed, task in enumerate(subtasks()):
            write_adapter(root / task, random_factors(seed, RANK, SHAPES))
        list_tasks(root, list(subtasks()))
        for vector, target in TARGETS.items():
            process = subprocess.run(
                [sys.executable, "-m", "perf.task_map", name, vector],
                capture_output=True,
                text=True,
            )
            print(process.stdout.strip() or process.stderr, flush=True)
            if process.returncode:
                return 1
            seconds, peak = map(float, process.stdout.split()[1:3])
            missed |= seconds > target or peak > MOST_BYTES
    return int(missed)


def measure(root: Path, vector: Vector) -> None:
    """Prints one map's kind of vector, seconds and peak memory in bytes; `main` reads these first three words."""
    start = time.perf_counter()
    task_map = vector_map(root, vector)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    processor = usage.ru_utime + usage.ru_stime
    print(
        f"{vector} {seconds:.1f} {usage.ru_maxrss * 1024} seconds and bytes of memory at most, "
        f"{processor:.0f} s of computing, {len(task_map.tasks)} tasks"
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(Path(sys.argv[1]), "product" if sys.argv[2] == "product" else "stacked")
    else:
        sys.exit(main())
