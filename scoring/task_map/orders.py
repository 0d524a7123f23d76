"""Orders of models: Kendall's tau between tasks, by MMT-Bench's paper (5.1) and as tau-b, and the paper's tau_delta.

Accuracies have the shape (models, tasks), NaN if missing. A pair of tasks with fewer than five models is NaN.
"""

from typing import NamedTuple

import numpy as np

from arena.locale import t
from scoring.task_map.types import (
    FEWEST_FOR_MAP,
    FEWEST_MODELS,
    Accuracies,
    Matrix,
    TaskMap,
    TaskMapError,
    complete_map,
)

DELTAS = (1.0, 1 / 2, 1 / 4, 1 / 6, 1 / 8)
"""Table 3's thresholds, in units of a map's largest distance."""
_DIGITS = 9
"""Decimals of accuracies in percent: means that differ only in the last bit are equal."""


def paper_taus(values: Matrix) -> Matrix:
    """Kendall's tau by the paper's formula, in which pairs tied on either task count as agreement: sign(0) = 1."""
    models = _model_pairs(values)
    pairs = models.known.T @ models.known
    unequal_on_both = np.abs(models.signs).T @ np.abs(models.signs)
    tied_on_either = pairs - unequal_on_both
    sums = models.signs.T @ models.signs + tied_on_either
    return _quotient(sums, pairs, pairs)


def taus(values: Matrix, fewest: int = FEWEST_MODELS) -> Matrix:
    """Kendall's tau-b; NaN if fewer than `fewest` models have both tasks, or if one task ties all of them."""
    models = _model_pairs(values)
    pairs = models.known.T @ models.known
    # Pairs that are no tie on the row's task, of those with both tasks.
    unequal_on_row = np.abs(models.signs).T @ models.known
    unequal_on_column = unequal_on_row.T
    sums = models.signs.T @ models.signs
    return _quotient(sums, np.sqrt(unequal_on_row * unequal_on_column), pairs, fewest)


def tau(first: Matrix, second: Matrix) -> float | None:
    """Kendall's tau-b of two columns of models; None if undefined."""
    value = taus(np.column_stack([first, second]))[0, 1]
    return None if np.isnan(value) else float(value)


class _ModelPairs(NamedTuple):
    """All pairs of models on each task; shape (pairs of models, tasks)."""

    signs: Matrix
    """Sign of the two accuracies' difference; 0 for a tie, and where a model is missing."""
    known: Matrix
    """1 where both models have the task, else 0."""


def _model_pairs(values: Matrix) -> _ModelPairs:
    first, second = np.triu_indices(len(values), 1)
    differences = np.round(values[first] - values[second], _DIGITS)
    signs = np.nan_to_num(np.sign(differences))
    return _ModelPairs(signs, (~np.isnan(differences)).astype(float))


def _quotient(sums: Matrix, divisor: Matrix, pairs: Matrix, fewest: int = FEWEST_MODELS) -> Matrix:
    """The quotient; NaN where there are fewer `pairs` than `fewest` models make, or nothing to divide by."""
    fewest_pairs = fewest * (fewest - 1) / 2
    is_defined = (pairs >= fewest_pairs) & (divisor > 0)
    return np.divide(sums, divisor, out=np.full_like(sums, np.nan), where=is_defined)


def tau_delta(distances: Matrix, task_taus: Matrix, delta: float) -> float | None:
    """The paper's tau_delta: each task's mean tau with the tasks near it, itself included, then the mean over tasks.

    Near are tasks at `delta` times the largest distance or less. `distances` and `task_taus` have the shape (tasks,
    tasks). None if no tau is known.
    """
    is_near = (distances <= delta * distances.max()) & ~np.isnan(task_taus)
    counts = is_near.sum(axis=1)
    if not counts.any():
        return None
    sums = np.where(is_near, task_taus, 0).sum(axis=1)
    has_near = counts > 0
    return float((sums[has_near] / counts[has_near]).mean())


def tau_curve(task_map: TaskMap, accuracies: Accuracies) -> list[float | None]:
    """The paper's tau_delta on a map at `DELTAS`; None below five models, and without accuracies."""
    if not accuracies.are_enough:
        return [None] * len(DELTAS)
    task_taus = paper_taus(Accuracies(accuracies.models, task_map.tasks).values)
    return [tau_delta(task_map.distances, task_taus, delta) for delta in DELTAS]


def performance_map(accuracies: Accuracies) -> TaskMap:
    """The map of distances 1 - tau-b of the models' orders on two tasks. Raises TaskMapError below ten models."""
    model_count = len(accuracies.models)
    if model_count < FEWEST_FOR_MAP:
        raise TaskMapError(f"A map needs ten models. Here: {model_count}.")
    source = t("taskmap.source_orders", count=model_count)
    distances = 1 - taus(accuracies.values, FEWEST_FOR_MAP)
    return complete_map(source, accuracies.tasks, distances, of_accuracies=True)
