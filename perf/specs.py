"""Specs' speed: 5,000 answers to each YAML benchmark, read, scored and tabulated: `python -m perf.specs`.

Every file is opened as one whose benchmark a visitor chose, scored under its first protocol and under the toolkit's,
and made into tables with intervals; marks that a judge gives stay open. The target is 3 s of one core for each.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from scoring.benchmarks.spec_benchmark import SpecBenchmark
from scoring.registry import BENCHMARKS, open_upload
from scoring.report import csv_bytes
from scoring.specs.schema import Spec

ROWS = 5_000
TARGET = 3.0
"""Seconds."""
ANSWERS = (
    "A",
    "Yes",
    "No.",
    "The answer is B.",
    "12.5",
    "It shows a red car beside a tree, so that I would say C, as the light tells.",
    "I cannot tell from this picture. " * 8,
    "The picture shows a red car beside a tree. Option A says that it is blue, which it is not. "
    * 8
    + "So the answer is C.",
)


def table(spec: Spec) -> bytes:
    """A file with every column that the spec names; groups have eight values, units two rows."""
    coin = random.Random(56)
    named = [*spec.groups, *filter(None, [spec.splits])]
    named += [column for name in spec.figures for column in spec.needed_columns(name)]
    named += [column for case in spec.rule for column in case.rule.needed if column != "truth"]
    sources = dict.fromkeys(map(spec.source_of, named))
    truth_column = spec.columns.truth or "truth"
    own = (spec.columns.id, "question", truth_column)
    columns = [column for column in sources if column not in own]
    has_parts = any(derived.part is not None for derived in spec.derive.values())
    heads = ["index", "question", "A", "B", "C", truth_column, *columns, "prediction"]
    rows = []
    for place in range(ROWS):
        index = f"a_b_c_{place // 8 % 40}_{place // 4}_{place}" if has_parts else place
        cells = [f"value {place // 2 % 8}" for _ in columns]
        truth = coin.choice(("A", "Yes", "12.5"))
        options = ["Yes", "No", "a red car"]
        said = coin.choice(ANSWERS)
        rows.append([index, f"What is in picture {place}?", *options, truth, *cells, said])
    return csv_bytes(heads, rows)


def seconds(path: Path, benchmark: str) -> float:
    """Of one core, for a report and all its tables under each of two protocols."""
    begun = time.process_time()
    opened = open_upload(path, benchmark=benchmark)
    assert opened
    for protocol in [*opened.benchmark.protocols.values()][:2]:
        report = opened.report(protocol)
        opened.benchmark.sheets(report)
        opened.benchmark.sentence(report)
    return time.process_time() - begun


def main() -> int:
    """Print the seconds of each spec; return 1 if one takes more than the target."""
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        for benchmark in BENCHMARKS.values():
            if not isinstance(benchmark, SpecBenchmark):
                continue
            path = Path(folder) / f"{benchmark.key}.csv"
            path.write_bytes(table(benchmark.spec))
            took = seconds(path, benchmark.key) / 2
            slow += took > TARGET
            print(f"{benchmark.key:16} {took:5.2f} s{'  over the target' if took > TARGET else ''}")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
