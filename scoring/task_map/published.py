"""Published numbers of MMT-Bench's task map: clusters (Table A2), Tables 3 and 4, accuracies (A19 to A37).

In the printed tables of accuracies the columns of 12 models have slipped; here they are put back. The numbers of
Table 4 hold for the 20 models whose columns are as headed (layout A).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

from arena.io.tables import read_records
from scoring.benchmarks.base import read_table
from scoring.benchmarks.mmt_bench import published, subtasks
from scoring.report import DATA
from scoring.task_map.types import Accuracies, ModelAccuracies

Domain = Literal["in", "out"]
NO_ACCURACY = "traffic_light_understanding"
"""Its column of the models of layout A holds numbers that no share of its 200 questions can be."""
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
    numbers = [one.number for one in published_clusters()]
    return {
        number: tuple(key for key, one in subtasks().items() if one.cluster == number)
        for number in numbers
    }


@cache
def published_curve() -> Mapping[Fraction, float]:
    """Table 3: tau_delta by delta."""
    rows = [record.values for record in read_records(DATA / "mmt_bench_tau_delta.csv")]
    return {Fraction(str(row["delta"])): float(str(row["tau"])) for row in rows}


@cache
def paper_accuracies(slipped: bool = False, as_printed: bool = False) -> Accuracies:
    """The paper's models of layout A, with the `slipped` ones all 32; `as_printed`: with what is no accuracy."""
    layouts = {
        str(one.values["model"]): one.values["layout"]
        for one in read_records(DATA / "mmt_bench_published.csv")
    }
    rows = [record.values for record in read_records(DATA / "mmt_bench_accuracies.csv")]
    models = []
    for row in published():
        overall = row.scores["Overall"]
        if row.model in rows[0] and overall is not None and (slipped or layouts[row.model] == "A"):
            values = {str(task["subtask"]): float(str(task[row.model])) for task in rows}
            if layouts[row.model] == "A" and not as_printed:
                del values[NO_ACCURACY]
            models.append(ModelAccuracies(row.model, values, overall))
    return Accuracies(tuple(models), tuple(subtasks()))


def task_key(name: str) -> str:
    """A subtask's key in the files, from that or its printed name in any spelling of blanks and case; else the name."""
    return _keys().get(_folded(name), name)


@cache
def _keys() -> Mapping[str, str]:
    return {_folded(name): key for key, one in subtasks().items() for name in (one.name, key)}


def _folded(name: str) -> str:
    return _SIGNS.sub("", name.lower())
