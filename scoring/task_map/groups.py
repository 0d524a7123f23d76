"""Groups of tasks: mean accuracy, the models' order against Overall's, the paper's domains, and nearest tasks."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from scoring.task_map.orders import tau
from scoring.task_map.published import Domain, published_clusters, tasks_by_cluster
from scoring.task_map.types import Accuracies, Matrix, ModelAccuracies, TaskMap

NEAREST = 5
"""Number of nearest tasks whose mean predicts the order of models on a task."""


class GroupScores(NamedTuple):
    """A group of tasks; numbers are None if no model has accuracies, and tau is None below five models."""

    tasks: tuple[str, ...]
    accuracy: float | None
    """Mean over models of their means over the tasks."""
    tau: float | None
    """Kendall's tau-b of the models' means with their Overall."""
    in_domain: int
    """Number of its tasks in the paper's in-domain clusters."""
    out_of_domain: int
    """Number of its tasks in the paper's out-of-domain clusters."""


def group_scores(tasks: Sequence[str], accuracies: Accuracies) -> GroupScores:
    means = accuracies.means(tasks)
    known = means[~np.isnan(means)]
    domains = [domain_of(task) for task in tasks]
    return GroupScores(
        tasks=tuple(tasks),
        accuracy=float(known.mean()) if known.size else None,
        tau=tau(means, accuracies.overall) if known.size else None,
        in_domain=domains.count("in"),
        out_of_domain=domains.count("out"),
    )


def domain_of(task: str) -> Domain | None:
    """The paper's domain of a task's cluster; None if it has none."""
    for cluster in published_clusters():
        if cluster.domain and task in tasks_by_cluster()[cluster.number]:
            return cluster.domain
    return None


class NearTask(NamedTuple):
    """A task, and its distance on a map from another one."""

    task: str
    distance: float


class PredictedPlace(NamedTuple):
    """A model's place on a task, from 1 for the best; ties share the better place."""

    model: ModelAccuracies
    predicted: int
    real: int | None
    """None for a model without an accuracy on the task."""


class OrderPrediction(NamedTuple):
    """The order of models on a task, predicted by its nearest tasks."""

    nearest: tuple[NearTask, ...]
    """Nearest first."""
    places: tuple[PredictedPlace, ...]
    """By the predicted place."""
    tau: float | None
    """Kendall's tau-b of the two orders; None if undefined."""


def predict_order(task_map: TaskMap, task: str, accuracies: Accuracies) -> OrderPrediction:
    """The order of models by their means over the task's nearest tasks; models without such a mean are left out."""
    distances = task_map.distances[task_map.tasks.index(task)]
    order = np.argsort(distances, kind="stable").tolist()
    others = [index for index in order if task_map.tasks[index] != task]
    nearest = [
        NearTask(task_map.tasks[index], float(distances[index])) for index in others[:NEAREST]
    ]
    predicted_means = accuracies.means([near.task for near in nearest])
    own_means = accuracies.means([task])
    places = []
    rows = zip(accuracies.models, _places(predicted_means), _places(own_means), strict=True)
    for model, predicted, real in rows:
        if not np.isnan(predicted):
            real_place = None if np.isnan(real) else int(real)
            places.append(PredictedPlace(model, int(predicted), real_place))
    return OrderPrediction(
        nearest=tuple(nearest),
        places=tuple(sorted(places, key=attrgetter("predicted"))),
        tau=tau(predicted_means, own_means),
    )


def _places(values: Matrix) -> Matrix:
    """Places from 1 for the highest value; NaN without a value."""
    is_higher = values[None, :] > values[:, None] + 1e-9  # values that differ by rounding are equal
    return np.where(np.isnan(values), np.nan, is_higher.sum(axis=1) + 1.0)
