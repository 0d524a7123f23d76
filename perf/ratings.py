"""Rating speed beside peers: `python -m perf.ratings`; `--golden` rewrites the ratings that the tests compare with.

Every side runs in its own process, the peers in their own environments under ~/.cache, and the two sides of a task take
turns; the ratio is of their medians. The ratio of CPU time, which a busy machine distorts less, is printed beside it.
Each side's array operations use one thread, which is the peers' faster setting. FastChat's newest code is read from a
checkout at FASTCHAT=; without one, the last release 0.2.36 replaces it where it can, and the output says so.

Last come two commands that read a file of votes: ours, which writes a report with intervals and plots, may take at most
2.5 times the CPU time of evalica's, which writes ratings. `--small` uses a tenth of the votes and one round.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
CACHE = Path.home() / ".cache" / "stereoscope-peers"
GOLDEN = ROOT / "tests" / "golden" / "peer_ratings.json"
CHECKOUT = os.environ.get("FASTCHAT", "")
NEWEST = "FastChat newest"
RELEASE = "FastChat 0.2.36"
MODELS = 100
CATEGORIES = 70
ITEMS = 574


class Environment(NamedTuple):
    """Packages of a peer's environment: `packages` with their dependencies, `bare` without."""

    packages: tuple[str, ...]
    bare: tuple[str, ...] = ()


ENVIRONMENTS = {
    RELEASE: Environment(
        ("pandas>=3,<4", "scipy>=1.17,<2", "scikit-learn>=1.9,<2", "tqdm>=4,<5"),
        ("fschat==0.2.36",),
    ),
    "evalica": Environment(("evalica==0.4.2",)),
    "arena-rank": Environment(("arena-rank==0.1.1",)),
}


class Comparison(NamedTuple):
    """A comparison of our task with a peer's."""

    title: str
    ours: str
    """Our task, by its name in `rating_sides`."""
    peer: str
    theirs: str
    """The peer's task."""
    least: float | None
    """The target: how many times as fast as the peer's task ours should be; None without a target."""


COMPARISONS = (
    Comparison("online Elo from names", "elo from names", RELEASE, "elo", 3),
    Comparison("Bradley-Terry from stored codes", "bt", NEWEST, "bt", 150),
    Comparison(
        "Bradley-Terry with intervals by item from stored codes",
        "bt and intervals",
        NEWEST,
        "bt",
        20,
    ),
    Comparison(
        "70 category boards with intervals", "category boards", NEWEST, "category boards", 2
    ),
    Comparison(
        "Bradley-Terry with intervals, theirs by 1,000 rounds",
        "bt and intervals",
        NEWEST,
        "bootstrap bt",
        15,
    ),
    Comparison("online Elo from names", "elo from names", "evalica", "elo", 1),
    Comparison("Bradley-Terry from stored codes", "bt", "evalica", "bt", None),
    Comparison(
        "Bradley-Terry with intervals by item from stored codes",
        "bt and intervals",
        "arena-rank",
        "bt",
        None,
    ),
)
COMMAND_VOTES = 100_000
COMMAND_MOST = 2.5
"""Most CPU time of our command, over that of evalica's."""
SLOW = 20.0
"""Seconds from which a peer's task runs only once; the output says so."""


class Run(NamedTuple):
    """One run of a task."""

    seconds: float
    processor: float
    """Seconds of CPU time."""
    megabytes: float
    """The growth of the process's peak memory."""
    ratings: dict[str, float] | None


class Side:
    """A process of `rating_sides` that runs tasks; `tasks` is empty if it could not start."""

    def __init__(self, name: str, python: Path, votes: Path) -> None:
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT) if name == "ours" else ""}
        program = [
            str(python),
            str(Path(__file__).with_name("rating_sides.py")),
            name,
            str(votes),
            CHECKOUT,
        ]
        self._process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.tasks: list[str] = json.loads(self._read_line() or "[]")

    def _read_line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()

    def run(self, task: str) -> Run:
        assert self._process.stdin
        print(task, file=self._process.stdin, flush=True)
        return Run(**json.loads(self._read_line()))

    def stop(self) -> None:
        self._process.communicate()


def python_of(peer: str) -> Path | None:
    """Returns the Python of a peer's environment, creating it if needed; None if it cannot be installed."""
    if peer == "ours":
        return Path(sys.executable)
    name = RELEASE if peer == NEWEST else peer
    folder = CACHE / name.replace(" ", "-").lower()
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        environment = ENVIRONMENTS[name]
        installs = [environment.packages]
        if environment.bare:
            installs.append(("--no-deps", *environment.bare))
        for arguments in installs:
            pip = subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=False)
            if pip.returncode:
                return None
        (folder / "ready").touch()
    return python


def write_votes(path: Path, models: int, votes: int, seed: int) -> None:
    """Writes seeded votes: strengths normal with deviation 110; popular models and categories far more frequent."""
    coin = np.random.default_rng(seed)
    theta = coin.normal(0, 110, models) * np.log(10) / 400
    popularity = coin.permutation(1 / np.arange(1, models + 1) ** 0.7)
    a = coin.choice(models, votes, p=popularity / popularity.sum()).astype(np.int32)
    b = coin.choice(models, votes, p=popularity / popularity.sum()).astype(np.int32)
    b[a == b] = (b[a == b] + 1) % models
    b_wins = coin.random(votes) > 1 / (1 + np.exp(theta[b] - theta[a]))
    category_weights = 1 / np.arange(1, CATEGORIES + 1)
    np.savez(
        path,
        a=a,
        b=b,
        outcome=b_wins.astype(np.int8),
        category=coin.choice(CATEGORIES, votes, p=category_weights / category_weights.sum()).astype(
            np.int16
        ),
        item=coin.integers(0, ITEMS, votes).astype(np.int16),
        models=models,
    )


def start_sides(votes: Path, names: list[str]) -> dict[str, Side]:
    """Starts a process for each available side, and prints the unavailable ones."""
    sides = {}
    for name in names:
        if name == NEWEST and not CHECKOUT:
            print(f"{name}: absent (FASTCHAT= names no checkout)")
            continue
        python = python_of(name)
        side = Side(name, python, votes) if python else None
        if side and side.tasks:
            sides[name] = side
        else:
            print(f"{name}: absent")
    return sides


def compare_speed(comparison: Comparison, ours: Side, theirs: Side, rounds: int) -> None:
    """Runs the two sides in turns and prints the medians and their ratio."""
    ours.run(comparison.ours)  # warms up
    our_runs = []
    peer_runs = []
    for number in range(rounds):
        our_runs += [ours.run(comparison.ours) for _ in range(3)]
        if number == 0 or peer_runs[0].seconds < SLOW:
            peer_runs.append(theirs.run(comparison.theirs))
    our_seconds = statistics.median(run.seconds for run in our_runs)
    peer_seconds = statistics.median(run.seconds for run in peer_runs)
    our_processor = statistics.median(run.processor for run in our_runs)
    peer_processor = statistics.median(run.processor for run in peer_runs)
    target = f"(target {comparison.least:g})" if comparison.least else ""
    print(
        f"{comparison.title:<52} {our_seconds * 1000:>10.2f} ms   "
        f"{comparison.peer:<16} {peer_seconds * 1000:>10.1f} ms x{len(peer_runs)}   "
        f"{peer_seconds / our_seconds:>7.1f} times {target}, "
        f"{peer_processor / our_processor:.1f} by processor time",
        flush=True,
    )


def compare_memory(comparison: Comparison, votes: Path) -> None:
    """Prints the growth of each side's peak memory in its first run of a task."""
    growth = []
    for name, task in (("ours", comparison.ours), (comparison.peer, comparison.theirs)):
        side = start_sides(votes, [name]).get(name)
        if side is None:
            return
        growth.append(side.run(task).megabytes)
        side.stop()
    print(
        f"{comparison.title}: peak memory grows by {growth[0]:.0f} MB, {comparison.peer} by {growth[1]:.0f} MB"
    )


def write_files(folder: Path) -> tuple[Path, Path]:
    """Writes the same votes as a CSV file of this project and as one of evalica; returns their paths."""
    votes = folder / "votes.npz"
    write_votes(votes, MODELS, COMMAND_VOTES, seed=2)
    columns = np.load(votes)
    names_a = [f"model-{code:03}" for code in columns["a"].tolist()]
    names_b = [f"model-{code:03}" for code in columns["b"].tolist()]
    paths = []
    for name, header, winners in (
        ("ours.csv", "model_a,model_b,winner", ("model_a", "model_b")),
        ("evalica.csv", "left,right,winner", ("left", "right")),
    ):
        outcomes = [winners[code] for code in columns["outcome"].tolist()]
        rows = [",".join(row) for row in zip(names_a, names_b, outcomes, strict=True)]
        path = folder / name
        path.write_text("\n".join([header, *rows]) + "\n")
        paths.append(path)
    return paths[0], paths[1]


def command_seconds(command: list[str]) -> float:
    """Returns the CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_commands(rounds: int) -> bool:
    """Prints the CPU time of both commands; returns whether ours is within the target."""
    python = python_of("evalica")
    if python is None:
        print("commands: evalica is absent")
        return True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, theirs = write_files(folder)
        our_command = [sys.executable, "-m", "arena", "rate", str(ours), "--bootstrap", "0"]
        our_command += ["--out", str(folder / "report")]
        peer_command = [str(python.with_name("evalica")), "-i", str(theirs)]
        peer_command += ["-o", str(folder / "ratings.csv"), "pairwise", "bradley-terry"]
        our_times = []
        peer_times = []
        for _ in range(rounds):
            our_times.append(command_seconds(our_command))
            peer_times.append(command_seconds(peer_command))
    our_seconds = statistics.median(our_times)
    peer_seconds = statistics.median(peer_times)
    ratio = our_seconds / peer_seconds
    print(
        f"a file of {COMMAND_VOTES:,} votes by command: a report {our_seconds:.2f} s of processor time, "
        f"evalica's ratings {peer_seconds:.2f} s: {ratio:.1f} times (at most {COMMAND_MOST:g})"
    )
    return ratio <= COMMAND_MOST


def bench(small: bool) -> bool:
    """Prints every comparison; returns whether our command is within its target."""
    with tempfile.TemporaryDirectory() as name:
        votes = Path(name) / "votes.npz"
        number = 100_000 if small else 1_000_000
        rounds = 1 if small else 3
        write_votes(votes, MODELS, number, seed=1)
        print(f"{number:,} votes, {MODELS} models, medians of {rounds} rounds by turns")
        peers = dict.fromkeys(comparison.peer for comparison in COMPARISONS)
        sides = start_sides(votes, ["ours", *peers])
        for comparison in COMPARISONS:
            peer = comparison.peer
            if peer == NEWEST and NEWEST not in sides and comparison.theirs == "bt":
                peer = RELEASE
            if peer in sides:
                compare_speed(comparison._replace(peer=peer), sides["ours"], sides[peer], rounds)
            else:
                print(f"{comparison.title:<52} no ratio: {peer} is absent", flush=True)
        for side in sides.values():
            side.stop()
        if NEWEST in sides:
            with_bootstrap = (each for each in COMPARISONS if each.theirs == "bootstrap bt")
            compare_memory(next(with_bootstrap), votes)
    return compare_commands(rounds)


def write_golden() -> None:
    """Writes seeded votes with every peer's ratings of them, for the tests."""
    with tempfile.TemporaryDirectory() as name:
        votes = Path(name) / "votes.npz"
        write_votes(votes, models=12, votes=3000, seed=12)
        sides = start_sides(votes, [RELEASE, NEWEST, "evalica", "arena-rank"])
        ratings = {
            f"{name}: {task}": side.run(task).ratings
            for name, side in sides.items()
            for task in ("elo", "bt")
            if task in side.tasks
        }
        columns = {
            name: column.tolist()
            for name, column in np.load(votes).items()
            if name not in ("category", "item")
        }
        for side in sides.values():
            side.stop()
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps({"votes": columns, "ratings": ratings}) + "\n")
    print(f"{GOLDEN.relative_to(ROOT)}: {', '.join(ratings)}")


if __name__ == "__main__":
    if "--golden" in sys.argv:
        write_golden()
    else:
        sys.exit(not bench("--small" in sys.argv))
