"""Groups of tasks: mean accuracy, the models' order beside Overall's, the paper's domains; a task's nearest ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scoring.task_map.orders import tau
from scoring.task_map.published import Domain, clusters, published_clusters
from scoring.task_map.types import Accuracies, Matrix, ModelAccuracies, TaskMap

NEAREST = 5
"""Tasks whose mean predicts the order of models on another."""


class GroupScores(NamedTuple):
    """A group of tasks; None for what no model has, and for tau below five models."""

    tasks: tuple[str, ...]
    accuracy: float | None
    """Mean over models of their means over the tasks."""
    tau: float | None
    """Kendall's tau-b of the models' means with their Overall."""
    in_domain: int
    out_of_domain: int
    """Tasks in the paper's in-domain and out-of-domain clusters."""


def group_scores(tasks: Sequence[str], accuracies: Accuracies) -> GroupScores:
    means = accuracies.means(tasks)
    known = means[~np.isnan(means)]
    return GroupScores(
        tuple(tasks),
        float(known.mean()) if known.size else None,
        tau(means, accuracies.overall) if len(known) else None,
        sum(domain_of(task) == "in" for task in tasks),
        sum(domain_of(task) == "out" for task in tasks),
    )


def domain_of(task: str) -> Domain | None:
    """The list of the paper that a task's cluster is on."""
    for one in published_clusters():
        if one.domain and task in clusters()[one.number]:
            return one.domain
    return None


class OrderPrediction(NamedTuple):
    """The order of models on a task, as its nearest tasks predict it."""

    nearest: tuple[tuple[str, float], ...]
    """The tasks with their distances, nearest first."""
    places: tuple[tuple[ModelAccuracies, int, int | None], ...]
    """Each model with its predicted place and its own, by the predicted one; ties share the better place."""
    tau: float | None


def predicted(found: TaskMap, task: str, accuracies: Accuracies) -> OrderPrediction:
    """Predict by the models' means over the task's nearest ones."""
    row = found.distances[found.tasks.index(task)]
    near = [
        place for place in np.argsort(row, kind="stable").tolist() if found.tasks[place] != task
    ][:NEAREST]
    names = [found.tasks[place] for place in near]
    said = accuracies.means(names)
    own = accuracies.means([task])
    there = _places(said)
    true = _places(own)
    places = [
        (one, int(there[place]), None if np.isnan(true[place]) else int(true[place]))
        for place, one in enumerate(accuracies.models)
        if not np.isnan(there[place])
    ]
    pairs = tuple(zip(names, row[near].tolist(), strict=True))
    return OrderPrediction(
        pairs, tuple(sorted(places, key=lambda one: one[1])), tau(said, own) if len(said) else None
    )


def _places(values: Matrix) -> Matrix:
    """1 for the highest; NaN without a value."""
    higher = (values[None, :] > values[:, None] + 1e-9).sum(axis=1) + 1.0
    return np.where(np.isnan(values), np.nan, higher)
