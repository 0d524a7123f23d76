"""Groups of tasks: mean accuracy, the models' order against Overall's, the paper's domains, and nearest tasks."""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from scoring.task_map.orders import tau
from scoring.task_map.published import Domain, clusters, published_clusters
from scoring.task_map.types import Accuracies, Matrix, ModelAccuracies, TaskMap

NEAREST = 5
"""Tasks with a mean that predicts the order of models on another task."""


class GroupScores(NamedTuple):
    """A group of tasks; numbers are None if no model has accuracies, and tau is None below five models."""

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
    """The paper's domain of a task's cluster; None if it has none."""
    for cluster in published_clusters():
        if cluster.domain and task in clusters()[cluster.number]:
            return cluster.domain
    return None


class OrderPrediction(NamedTuple):
    """The order of models on a task, predicted by its nearest tasks."""

    nearest: tuple[tuple[str, float], ...]
    """The tasks with their distances, nearest first."""
    places: tuple[tuple[ModelAccuracies, int, int | None], ...]
    """Each model with its predicted and its real place, by the predicted place; ties share the better place."""
    tau: float | None


def predicted(task_map: TaskMap, task: str, accuracies: Accuracies) -> OrderPrediction:
    """The order of models by their means over the task's nearest tasks."""
    row = task_map.distances[task_map.tasks.index(task)]
    order = np.argsort(row, kind="stable").tolist()
    nearest = [place for place in order if task_map.tasks[place] != task][:NEAREST]
    names = [task_map.tasks[place] for place in nearest]
    predicted_means = accuracies.means(names)
    own_means = accuracies.means([task])
    places = []
    rows = zip(accuracies.models, _places(predicted_means), _places(own_means), strict=True)
    for model, predicted_place, own_place in rows:
        if not np.isnan(predicted_place):
            own = None if np.isnan(own_place) else int(own_place)
            places.append((model, int(predicted_place), own))
    places.sort(key=itemgetter(1))
    return OrderPrediction(
        nearest=tuple(zip(names, row[nearest].tolist(), strict=True)),
        places=tuple(places),
        tau=tau(predicted_means, own_means) if len(predicted_means) else None,
    )


def _places(values: Matrix) -> Matrix:
    """Places from 1 for the highest value; NaN without a value."""
    higher = (values[None, :] > values[:, None] + 1e-9).sum(axis=1) + 1.0
    return np.where(np.isnan(values), np.nan, higher)
