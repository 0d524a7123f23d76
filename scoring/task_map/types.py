"""Records of task maps: accuracies of models on tasks, and distances between tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]
FEWEST_MODELS = 5
"""Fewest models for an order of models, and for a tau."""
FEWEST_FOR_MAP = 10
"""Fewest models with accuracies for a map."""


class TaskMapError(ValueError):
    """A map that cannot be made or compared; the message says why, and what to correct."""


@dataclass(frozen=True)
class ModelAccuracies:
    """A model's accuracies in percent by task, without missing ones, and its Overall."""

    model: str
    accuracies: Mapping[str, float]
    overall: float


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Accuracies of models on tasks, in percent."""

    models: tuple[ModelAccuracies, ...]
    tasks: tuple[str, ...]

    @cached_property
    def values(self) -> Matrix:
        """Shape (models, tasks); NaN for a missing accuracy."""
        rows = [
            [model.accuracies.get(task, np.nan) for task in self.tasks] for model in self.models
        ]
        return np.array(rows, dtype=float).reshape(len(self.models), len(self.tasks))

    @property
    def overall(self) -> Matrix:
        """Each model's Overall: shape (models,)."""
        return np.array([model.overall for model in self.models])

    @property
    def are_enough(self) -> bool:
        """Whether there are enough models for an order of models."""
        return len(self.models) >= FEWEST_MODELS

    def means(self, tasks: Sequence[str]) -> Matrix:
        """Returns the mean of each model over these tasks, of shape (models,); NaN for a model without any of them."""
        places = [self.tasks.index(task) for task in tasks if task in self.tasks]
        values = self.values[:, places]
        known = ~np.isnan(values)
        sums = np.where(known, values, 0).sum(axis=1)
        counts = known.sum(axis=1)
        return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


@dataclass(frozen=True, eq=False)
class TaskMap:
    """Distances between tasks, from 0 to 2: 1 minus a cosine or a rank correlation."""

    source: str
    """The data behind the distances, in a clause."""
    tasks: tuple[str, ...]
    distances: Matrix
    """Shape (tasks, tasks), symmetric, 0 on the diagonal, without gaps."""
    left_out: tuple[str, ...] = ()
    """Tasks without distances."""
    notices: tuple[str, ...] = ()
    """The map's limits, in sentences."""
    of_accuracies: bool = False
    """Whether it is made from orders of models, so that conclusions about such orders are circular."""


def complete_map(
    source: str,
    tasks: Sequence[str],
    distances: Matrix,
    notices: tuple[str, ...] = (),
    of_accuracies: bool = False,
) -> TaskMap:
    """Returns a map without gaps (NaN): the task with the most gaps is left out, again and again, until there are none.

    Raises TaskMapError if fewer than three tasks remain.
    """
    places = list(range(len(tasks)))
    inner = distances
    while np.isnan(inner).any():
        gaps = np.isnan(inner).sum(axis=1)
        places.pop(int(gaps.argmax()))
        inner = distances[np.ix_(places, places)]
    if len(places) < 3:
        raise TaskMapError(
            f"A map needs three tasks with distances to each other. Here: {len(places)}."
        )
    chosen = tuple(tasks[place] for place in places)
    left_out = tuple(task for task in tasks if task not in chosen)
    symmetric = np.clip((inner + inner.T) / 2, 0, 2)
    np.fill_diagonal(symmetric, 0)
    return TaskMap(
        source=source,
        tasks=chosen,
        distances=symmetric,
        left_out=left_out,
        notices=notices,
        of_accuracies=of_accuracies,
    )
