"""Speed of YAML benchmarks: 5,000 answers to each are read, scored and tabulated: `python -m perf.specs`.

Every file is opened as if a visitor had chosen its benchmark, scored under the first two protocols, and made into
tables with intervals; no judge gives marks. The target is 3 s of one core for each report.
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
"""Seconds of a report."""
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
    """Returns a CSV file with every column that the spec names.

    Columns that only this spec needs have eight values, each in two adjacent rows, so that units have several rows.
    """
    coin = random.Random(56)
    needed = list(spec.groups)
    if spec.splits:
        needed.append(spec.splits)
    for name in spec.figures:
        needed += spec.needed_columns(name)
    for case in spec.rule:
        needed += [column for column in case.rule.required if column != "truth"]
    sources = dict.fromkeys(map(spec.source_of, needed))
    truth_column = spec.columns.truth or "truth"
    usual = (spec.columns.id, "question", truth_column)
    columns = [column for column in sources if column not in usual]
    # some columns are derived from parts of the id
    has_parts = any(derived.part is not None for derived in spec.derive.values())
    heads = ["index", "question", "A", "B", "C", truth_column, *columns, "prediction"]
    rows = []
    for number in range(ROWS):
        index = f"a_b_c_{number // 8 % 40}_{number // 4}_{number}" if has_parts else number
        cells = [f"value {number // 2 % 8}" for _ in columns]
        truth = coin.choice(("A", "Yes", "12.5"))
        options = ["Yes", "No", "a red car"]
        answer = coin.choice(ANSWERS)
        rows.append([index, f"What is in picture {number}?", *options, truth, *cells, answer])
    return csv_bytes(heads, rows)


def seconds(path: Path, benchmark: str) -> float:
    """Returns the CPU seconds of a report and its tables: a mean of two protocols, for which the file is read once."""
    start = time.process_time()
    opened = open_upload(path, benchmark=benchmark)
    assert opened
    protocols = [*opened.benchmark.protocols.values()][:2]
    for protocol in protocols:
        report = opened.report(protocol)
        opened.benchmark.sheets(report)
        opened.benchmark.sentence(report)
    return (time.process_time() - start) / len(protocols)


def main() -> int:
    """Prints the seconds of each spec; returns 1 if one takes more than the target."""
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        for benchmark in BENCHMARKS.values():
            if not isinstance(benchmark, SpecBenchmark):
                continue
            path = Path(folder) / f"{benchmark.key}.csv"
            path.write_bytes(table(benchmark.spec))
            took = seconds(path, benchmark.key)
            slow += took > TARGET
            print(f"{benchmark.key:16} {took:5.2f} s{'  over the target' if took > TARGET else ''}")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
