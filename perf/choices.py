"""Multiple-choice speed: extracting and tabulating 31,325 predictions, beside VLMEvalKit: `python -m perf.choices`.

A file as large as MMT-Bench's ALL split, with answers in the forms that models write, is read, extracted under each
protocol and tabulated in a process of its own on one thread; the targets are under 3 s for `strict` with its tables and
under 300 MB in total. VLMEvalKit's `can_infer` reads the same predictions in a separate process. It is imported from
the checkout that VLMEVALKIT= names, alone, since it needs none of the toolkit's other packages.
"""

import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arena.io.tables import COMMAND_LINE
from scoring.benchmarks.choice_report import under_protocol
from scoring.benchmarks.mmt_bench import subtasks
from scoring.multiple_choice.types import LETTERS, PROTOCOL_WORDS
from scoring.registry import choice_benchmark, open_upload

ROOT = Path(__file__).parent.parent
CHECKOUT = os.environ.get("VLMEVALKIT", "")
ROUNDS = 5
SECONDS_TARGET = 3.0
MEMORY_TARGET = 300
"""MB."""
FORMS = (
    (70, "{letter}"),
    (14, "{letter}. {text}"),
    (6, "The answer is {letter}."),
    (4, "{text}"),
    (
        3,
        "A person can be seen here, and I would say that it is {text}, as the light and the colours tell.",
    ),
    (
        2,
        "Let us think step by step. First I look at the left side, then at the right.\n\nAnswer: ({letter})",
    ),
    (1, "It is hard to say from the picture alone what is meant."),
)
"""Forms of predictions, with how many in 100 have them."""
PEER_SCRIPT = """
import importlib.util, json, logging, sys, time, types
for name in ("vlmeval", "vlmeval.utils", "vlmeval.smp", "vlmeval.smp.log"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["vlmeval.smp.log"].get_logger = logging.getLogger
spec = importlib.util.spec_from_file_location("vlmeval.utils.matching_util", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
with open(sys.argv[2], encoding="utf-8") as file:
    rows = [json.loads(line) for line in file]
start = time.process_time()
read = sum(bool(module.can_infer(prediction, options)) for prediction, options in rows)
print(json.dumps([time.process_time() - start, read]))
"""
"""Prints the fields of a `PeerRun`. The empty modules stand in for those that `matching_util` imports."""


def answers() -> Iterator[tuple[list[str], str]]:
    """Yields the cells of each row and its prediction; every call yields the same."""
    coin = random.Random(31325)
    words = "red green blue small large left right upper lower round square old new open closed metal wooden".split()
    things = "car dog cup house tree door lamp boat chair bird table clock fish bridge horse train".split()
    index = 0
    for subtask in subtasks().values():
        for _ in range(subtask.samples):
            count = coin.choice((2, 4, 4, 4, 4, 6, 9))
            drawn = coin.sample([f"a {word} {thing}" for word in words for thing in things], count)
            letter = coin.choice(LETTERS[:count])
            form = coin.choices([form for _, form in FORMS], [weight for weight, _ in FORMS])[0]
            options = drawn + [""] * (9 - count)
            prediction = form.format(letter=letter, text=drawn[LETTERS.index(letter)])
            truth = coin.choice(LETTERS[:count])
            question = 'What is shown?\nLook at "the middle" of it.'
            cells = [str(index), question, *options, truth]
            cells += [subtask.key, subtask.meta_task, "test"]
            yield cells, prediction
            index += 1


def write_file(path: Path) -> int:
    """Writes the predictions as a quoted TSV, like the toolkit, and returns their number."""
    head = [
        "index",
        "question",
        *LETTERS[:9],
        "answer",
        "category",
        "l2-category",
        "split",
        "prediction",
    ]
    rows = [[*cells, prediction] for cells, prediction in answers()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([head, *rows])
    return len(rows)


def measure(path: Path) -> None:
    """Prints as JSON this process's CPU seconds per protocol, the number of answers read, and its peak memory in MB."""
    opened = open_upload(path, COMMAND_LINE)
    assert opened
    report = opened.report("strict")
    seconds: dict[str, float] = {}
    read: dict[str, int] = {}
    for protocol in PROTOCOL_WORDS:
        start = time.process_time()
        reading = under_protocol(report, protocol)
        choice_benchmark(reading).choice_tables(reading)
        seconds[protocol] = time.process_time() - start
        read[protocol] = sum(row.decision.letter is not None for row in reading.rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"seconds": seconds, "read": read, "peak": peak}))


class PeerRun(NamedTuple):
    """The toolkit's extraction from all predictions."""

    seconds: float
    """CPU seconds."""
    read: int
    """Number of predictions with a letter."""


def run_peer(path: Path, folder: Path) -> PeerRun | None:
    """Extracts with the toolkit; None without a checkout."""
    source = Path(CHECKOUT) / "vlmeval" / "utils" / "matching_util.py"
    if not CHECKOUT or not source.is_file():
        return None
    opened = open_upload(path, COMMAND_LINE)
    assert opened
    lines = folder / "rows.jsonl"
    with lines.open("w", encoding="utf-8") as file:
        for row in opened.file.rows:
            file.write(json.dumps([row.prediction, dict(row.question.options)]) + "\n")
    process = subprocess.run(
        [sys.executable, "-I", "-c", PEER_SCRIPT, source, lines],
        capture_output=True,
        text=True,
        check=True,
    )
    return PeerRun(*json.loads(process.stdout))


def main() -> int:
    """Measures, prints, and returns 1 if a target is missed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "choices_MMT-Bench_ALL.tsv"
        count = write_file(path)
        runs = []
        peer_runs = []
        for _ in range(ROUNDS):
            command = [sys.executable, "-m", "perf.choices", str(path)]
            process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            runs.append(json.loads(process.stdout))
            peer_runs.append(run_peer(path, Path(folder)))
    print(f"{count:,} predictions, best of {ROUNDS} runs, seconds of one core")
    best = {protocol: min(run["seconds"][protocol] for run in runs) for protocol in PROTOCOL_WORDS}
    for protocol, seconds in best.items():
        print(
            f"{protocol:<16}{seconds:6.2f} s with tables, {runs[0]['read'][protocol] / count:.1%} read"
        )
    finished = [run for run in peer_runs if run]
    if finished:
        peer = min(finished, key=lambda run: run.seconds)
        print(
            f"{'VLMEvalKit':<16}{peer.seconds:6.2f} s extraction alone, {peer.read / count:.1%} read"
        )
    else:
        print("VLMEvalKit: absent (VLMEVALKIT= names no checkout)")
    peak = max(run["peak"] for run in runs)
    print(f"strict: {best['strict']:.2f} s (target: under {SECONDS_TARGET:g})")
    print(f"peak memory: {peak:.0f} MB (target: under {MEMORY_TARGET})")
    return int(best["strict"] >= SECONDS_TARGET or peak >= MEMORY_TARGET)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(main())
    measure(Path(sys.argv[1]))  # in a process that `main` started
