"""One side of `perf.ratings`: a process that loads the votes, runs rating tasks on request and reports their cost.

Each line on stdin names a task; each reply is a line of JSON: seconds, CPU seconds, growth of peak memory in megabytes,
and the ratings by model. It runs in a peer's own environment, so it imports the project only for the side "ours".
"""

import ast
import contextlib
import json
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

Task = Callable[[], dict[str, float] | None]
"""Rates all votes and returns the ratings by model; None for a task with several boards."""
OUTCOMES = ("model_a", "model_b", "tie", "tie (bothbad)")
ROUNDS = 1000
"""Bootstrap samples of FastChat's intervals."""


class Battles:
    """Votes of a file from `ratings.write_votes`, as codes and as names."""

    def __init__(self, path: Path) -> None:
        columns = np.load(path)
        self.a = columns["a"]
        self.b = columns["b"]
        self.outcome = columns["outcome"]
        self.category = columns["category"]
        self.item = columns["item"]
        self.models = int(columns["models"])
        names = [f"model-{code:03}" for code in range(self.models)]
        self.names_a = [names[code] for code in self.a.tolist()]
        self.names_b = [names[code] for code in self.b.tolist()]
        self.winners = [OUTCOMES[code] for code in self.outcome.tolist()]

    def frame(self):
        """Returns the votes as FastChat's data frame, with dtype object (pandas' own strings are slower)."""
        columns = {"model_a": self.names_a, "model_b": self.names_b, "winner": self.winners}
        return import_module("pandas").DataFrame(columns, dtype=object)


def ours(battles: Battles, _: str) -> dict[str, Task]:
    """Returns this project's tasks by name."""
    from arena.ratings import bradley_terry as fitting
    from arena.ratings import intervals
    from arena.ratings import votes as vote_module

    votes = vote_module.Votes(battles.a, battles.b, battles.outcome, battles.models, battles.item)
    score = dict(zip(OUTCOMES, vote_module.SCORES.tolist(), strict=True))

    def elo_from_names() -> dict[str, float]:
        return vote_module.elo_by_name(
            battles.names_a, battles.names_b, map(score.__getitem__, battles.winners)
        )

    def by_name(values) -> dict[str, float]:
        return {f"model-{model:03}": float(value) for model, value in enumerate(values)}

    def bt() -> dict[str, float]:
        return by_name(fitting.bradley_terry(fitting.win_matrix(votes)).ratings)

    def bt_and_intervals() -> dict[str, float]:
        return by_name(
            intervals.intervals(fitting.bradley_terry(fitting.win_matrix(votes)), votes, "item").low
        )

    def categories() -> None:
        for category in np.unique(battles.category):
            part = votes.take(battles.category == category)
            intervals.intervals(fitting.bradley_terry(fitting.win_matrix(part)), part, "item")

    return {
        "elo from names": elo_from_names,
        "bt": bt,
        "bt and intervals": bt_and_intervals,
        "category boards": categories,
    }


def fastchat_release(battles: Battles, _: str) -> dict[str, Task]:
    """Returns FastChat 0.2.36's tasks; its functions are cut out of their file, as its imports are not installed."""
    spec = import_module("importlib.util").find_spec("fastchat")
    path = Path(spec.submodule_search_locations[0]) / "serve" / "monitor" / "elo_analysis.py"
    functions: list[ast.stmt] = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    namespace = {
        "defaultdict": defaultdict,
        "np": np,
        "pd": import_module("pandas"),
        "math": import_module("math"),
    }
    exec(compile(ast.Module(functions, []), str(path), "exec"), namespace)
    frame = battles.frame()
    return {
        "elo": lambda: dict(namespace["compute_elo"](frame)),
        "bt": lambda: namespace["compute_elo_mle_with_tie"](frame).to_dict(),
    }


def fastchat_newest(battles: Battles, checkout: str) -> dict[str, Task]:
    """Returns the tasks of a FastChat checkout's rating_systems.py."""
    path = Path(checkout) / "fastchat" / "serve" / "monitor" / "rating_systems.py"
    spec = import_module("importlib.util").spec_from_file_location("rating_systems", path)
    module = import_module("importlib.util").module_from_spec(spec)
    sys.modules["rating_systems"] = module
    spec.loader.exec_module(module)
    frame = battles.frame()
    parts = [frame[battles.category == number] for number in np.unique(battles.category)]

    def categories() -> None:
        for part in parts:
            module.compute_bt(part)

    return {
        "elo": lambda: dict(module.compute_elo(frame)),
        "bt": lambda: module.compute_bt(frame).to_dict(),
        "bootstrap bt": lambda: (
            module.compute_bootstrap_bt(frame, ROUNDS).quantile(0.025).to_dict()
        ),
        "category boards": categories,
    }


def evalica(battles: Battles, _: str) -> dict[str, Task]:
    """Returns evalica's tasks, Elo and Bradley-Terry on FastChat's scale."""
    package = import_module("evalica")
    sides = (package.Winner.X, package.Winner.Y, package.Winner.Draw, package.Winner.Draw)
    winners = [sides[code] for code in battles.outcome.tolist()]

    def bt() -> dict[str, float]:
        scores = package.bradley_terry(battles.names_a, battles.names_b, winners).scores
        ratings = np.log10(scores) * 400
        return (ratings - ratings.mean() + 1000).to_dict()

    return {
        "elo": lambda: package.elo(
            battles.names_a, battles.names_b, winners, initial=1000, scale=400, k=4
        ).scores.to_dict(),
        "bt": bt,
    }


def arena_rank(battles: Battles, _: str) -> dict[str, Task]:
    """Returns arena-rank's task, Bradley-Terry with its sandwich intervals."""
    package = import_module("arena_rank.models.bradley_terry")
    data = import_module("arena_rank.utils.data_utils")
    frame = battles.frame()

    def bt() -> dict[str, float]:
        dataset = data.PairDataset.from_pandas(frame)
        model = package.BradleyTerry(n_competitors=len(dataset.competitors))
        rated = model.compute_ratings_and_cis(dataset)
        return dict(zip(rated["competitors"], map(float, rated["ratings"]), strict=True))

    return {"bt": bt}


SIDES = {
    "ours": ours,
    "FastChat 0.2.36": fastchat_release,
    "FastChat newest": fastchat_newest,
    "evalica": evalica,
    "arena-rank": arena_rank,
}


class Usage(NamedTuple):
    """Resources that this process and its children used so far."""

    seconds: float
    processor: float
    """CPU seconds of all threads."""
    megabytes: float
    """Peak memory."""


def usage() -> Usage:
    """Returns the resources used up to now; `seconds` by a clock without a fixed start."""
    processes = [
        resource.getrusage(resource.RUSAGE_SELF),
        resource.getrusage(resource.RUSAGE_CHILDREN),
    ]
    return Usage(
        seconds=time.perf_counter(),
        processor=sum(process.ru_utime + process.ru_stime for process in processes),
        megabytes=sum(process.ru_maxrss for process in processes) / 1024,
    )


def main() -> None:
    """Runs tasks from stdin; the command line gives the side, the votes and the side's own argument."""
    tasks = SIDES[sys.argv[1]](Battles(Path(sys.argv[2])), sys.argv[3])
    print(json.dumps(list(tasks)), flush=True)
    for line in sys.stdin:
        before = usage()
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for replies alone
            ratings = tasks[line.strip()]()
        after = usage()
        run = {
            "seconds": after.seconds - before.seconds,
            "processor": after.processor - before.processor,
            "megabytes": after.megabytes - before.megabytes,
            "ratings": ratings,
        }
        print(json.dumps(run), flush=True)


if __name__ == "__main__":
    main()
