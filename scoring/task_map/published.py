"""Published numbers of MMT-Bench's task map: clusters (Table A2), Tables 3 and 4, accuracies (A19 to A37).

In the printed tables of accuracies the columns of 12 models are shifted; here they are corrected. The numbers of Table
4 are those of the 20 models with correct columns (layout A).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

from arena.io.tables import read_records
from scoring.benchmarks.base import read_table
from scoring.benchmarks.mmt_bench import published_rows, subtasks
from scoring.report import DATA
from scoring.task_map.types import Accuracies, ModelAccuracies

Domain = Literal["in", "out"]
NO_ACCURACY = "traffic_light_understanding"
"""The task with impossible accuracies for models of layout A: they are no shares of its 200 questions."""
_SIGNS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class PublishedCluster:
    """A row of Table 4; the paper gives no thresholds for its lists of domains."""

    number: int
    tasks: int
    accuracy: float
    tau: float
    domain: Domain | None = None


@cache
def published_clusters() -> tuple[PublishedCluster, ...]:
    return read_table(PublishedCluster, "mmt_bench_clusters.csv")


@cache
def clusters() -> Mapping[int, tuple[str, ...]]:
    """The subtasks' keys by the number of their cluster."""
    return {
        cluster.number: tuple(
            key for key, subtask in subtasks().items() if subtask.cluster == cluster.number
        )
        for cluster in published_clusters()
    }


@cache
def published_curve() -> Mapping[Fraction, float]:
    """Table 3: tau_delta by delta."""
    rows = [record.values for record in read_records(DATA / "mmt_bench_tau_delta.csv")]
    return {Fraction(str(row["delta"])): float(str(row["tau"])) for row in rows}


@cache
def paper_accuracies(slipped: bool = False, as_printed: bool = False) -> Accuracies:
    """The paper's models of layout A; `slipped`: all 32; `as_printed`: with the impossible accuracies."""
    layouts = {
        str(record.values["model"]): record.values["layout"]
        for record in read_records(DATA / "mmt_bench_published.csv")
    }
    rows = [record.values for record in read_records(DATA / "mmt_bench_accuracies.csv")]
    models = []
    for row in published_rows():
        overall = row.scores["Overall"]
        if row.model in rows[0] and overall is not None and (slipped or layouts[row.model] == "A"):
            values = {str(task["subtask"]): float(str(task[row.model])) for task in rows}
            if layouts[row.model] == "A" and not as_printed:
                del values[NO_ACCURACY]
            models.append(ModelAccuracies(row.model, values, overall))
    return Accuracies(tuple(models), tuple(subtasks()))


def task_key(name: str) -> str:
    """A subtask's key in the files, from its key or its printed name in any spelling; other names stay."""
    return _keys().get(_folded(name), name)


@cache
def _keys() -> Mapping[str, str]:
    return {
        _folded(name): key for key, subtask in subtasks().items() for name in (subtask.name, key)
    }


def _folded(name: str) -> str:
    return _SIGNS.sub("", name.lower())
