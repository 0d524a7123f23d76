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
MISPRINTED_TASK = "traffic_light_understanding"
"""Its printed accuracies can't be right for models of layout A: they aren't shares of its 200 questions."""
_SIGNS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class PublishedCluster:
    """A row of Table 4; the paper gives no thresholds for its lists of domains."""

    number: int
    tasks: int
    """How many tasks it has."""
    accuracy: float
    """Mean accuracy, in percent."""
    tau: float
    """Kendall's tau of the models' order with that of Overall."""
    domain: Domain | None = None


@cache
def published_clusters() -> tuple[PublishedCluster, ...]:
    return read_table(PublishedCluster, "mmt_bench_clusters.csv")


@cache
def tasks_by_cluster() -> Mapping[int, tuple[str, ...]]:
    """The keys of each cluster's subtasks, by its number."""
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
def paper_accuracies(with_shifted: bool = False, as_printed: bool = False) -> Accuracies:
    """The paper's accuracies of the 20 models of layout A.

    `with_shifted` adds the 12 models with shifted columns. `as_printed` keeps the accuracies of `MISPRINTED_TASK`.
    """
    layout_a = {
        str(record.values["model"])
        for record in read_records(DATA / "mmt_bench_published.csv")
        if record.values["layout"] == "A"
    }
    task_rows = [record.values for record in read_records(DATA / "mmt_bench_accuracies.csv")]
    models = []
    for row in published_rows():
        overall = row.scores["Overall"]
        if overall is None or row.model not in task_rows[0]:
            continue
        is_layout_a = row.model in layout_a
        if not is_layout_a and not with_shifted:
            continue
        values = {str(task["subtask"]): float(str(task[row.model])) for task in task_rows}
        if is_layout_a and not as_printed:
            del values[MISPRINTED_TASK]
        models.append(ModelAccuracies(row.model, values, overall))
    return Accuracies(tuple(models), tuple(subtasks()))


def task_key(name: str) -> str:
    """A subtask's key in the files, from its key or its printed name in any spelling; other names stay."""
    return _keys_by_name().get(_folded(name), name)


@cache
def _keys_by_name() -> Mapping[str, str]:
    """The subtasks' keys by their folded names and keys."""
    keys = {}
    for key, subtask in subtasks().items():
        keys[_folded(subtask.name)] = key
        keys[_folded(key)] = key
    return keys


def _folded(name: str) -> str:
    """A name in small letters, without spaces and signs."""
    return _SIGNS.sub("", name.lower())
