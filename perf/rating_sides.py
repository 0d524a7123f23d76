"""Rating process: one side of `perf.ratings`, which loads the votes, runs tasks on request and reports their time.

Each line on stdin names a task; each reply is a line of JSON: seconds, CPU seconds, growth of peak memory in megabytes,
and the ratings by model. It runs in a peer's own environment, so it imports nothing of the project except for the side
"ours".
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
OUTCOMES = ("model_a", "model_b", "tie", "tie (bothbad)")
ROUNDS = 1000


class Battles:
    """Votes as codes, as names and as a data frame."""

    def __init__(self, path: Path) -> None:
        columns = np.load(path)
        self.a, self.b, self.outcome = (columns[name] for name in ("a", "b", "outcome"))
        self.category = columns["category"]
        self.item = columns["item"]
        self.models = int(columns["models"])
        names = [f"model-{code:03}" for code in range(self.models)]
        self.names_a = [names[code] for code in self.a.tolist()]
        self.names_b = [names[code] for code in self.b.tolist()]
        self.winners = [OUTCOMES[code] for code in self.outcome.tolist()]

    def frame(self):
        """Return the votes as FastChat reads them, with dtype object (pandas' own strings are slower)."""
        columns = {"model_a": self.names_a, "model_b": self.names_b, "winner": self.winners}
        return import_module("pandas").DataFrame(columns, dtype=object)


def ours(battles: Battles, _: str) -> dict[str, Task]:
    """Return this project's tasks by name."""
    from arena.ratings import bradley_terry as fitting
    from arena.ratings import intervals
    from arena.ratings import votes as ratings

    votes = ratings.Votes(battles.a, battles.b, battles.outcome, battles.models, battles.item)
    score = dict(zip(OUTCOMES, ratings.SCORES.tolist(), strict=True))

    def elo_from_names() -> dict[str, float]:
        return ratings.elo_by_name(
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
    """Return FastChat 0.2.36's functions, cut out of its file, whose other imports are not needed here."""
    spec = import_module("importlib.util").find_spec("fastchat")
    path = Path(spec.submodule_search_locations[0]) / "serve" / "monitor" / "elo_analysis.py"
    functions: list[ast.stmt] = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    space = {
        "defaultdict": defaultdict,
        "np": np,
        "pd": import_module("pandas"),
        "math": import_module("math"),
    }
    exec(compile(ast.Module(functions, []), str(path), "exec"), space)
    frame = battles.frame()
    return {
        "elo": lambda: dict(space["compute_elo"](frame)),
        "bt": lambda: space["compute_elo_mle_with_tie"](frame).to_dict(),
    }


def fastchat_newest(battles: Battles, checkout: str) -> dict[str, Task]:
    """Return the functions of a FastChat checkout's rating_systems.py."""
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
    """Return evalica's Elo and Bradley-Terry, on FastChat's scale."""
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
    """Return arena-rank's Bradley-Terry (with its sandwich intervals)."""
    package = import_module("arena_rank.models.bradley_terry")
    data = import_module("arena_rank.utils.data_utils")
    frame = battles.frame()

    def bt() -> dict[str, float]:
        dataset = data.PairDataset.from_pandas(frame)
        model = package.BradleyTerry(n_competitors=len(dataset.competitors))
        found = model.compute_ratings_and_cis(dataset)
        return dict(zip(found["competitors"], map(float, found["ratings"]), strict=True))

    return {"bt": bt}


SIDES = {
    "ours": ours,
    "FastChat 0.2.36": fastchat_release,
    "FastChat newest": fastchat_newest,
    "evalica": evalica,
    "arena-rank": arena_rank,
}


class Used(NamedTuple):
    """Resources used so far by this process and its children."""

    seconds: float
    processor: float
    """CPU seconds of all threads."""
    megabytes: float
    """Peak memory."""


def used() -> Used:
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(one.ru_utime + one.ru_stime for one in of)
    return Used(time.perf_counter(), processor, sum(one.ru_maxrss for one in of) / 1024)


def main() -> None:
    """Run tasks from stdin; the command line gives the side, the votes and the side's own argument."""
    tasks = SIDES[sys.argv[1]](Battles(Path(sys.argv[2])), sys.argv[3])
    print(json.dumps(list(tasks)), flush=True)
    for line in sys.stdin:
        before = used()
        with contextlib.redirect_stdout(sys.stderr):
            ratings = tasks[line.strip()]()
        spent = (after - start for after, start in zip(used(), before, strict=True))
        print(
            json.dumps({**dict(zip(Used._fields, spent, strict=True)), "ratings": ratings}),
            flush=True,
        )


if __name__ == "__main__":
    main()
