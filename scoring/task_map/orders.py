"""Orders of models: Kendall's tau between tasks, by MMT-Bench's paper (5.1) and as tau-b, and the paper's tau_delta.

Accuracies have the shape (models, tasks), NaN if missing. A pair of tasks with fewer than five models is NaN.
"""

import numpy as np

from arena.locale import t
from scoring.task_map.types import (
    FEWEST_FOR_MAP,
    FEWEST_MODELS,
    Accuracies,
    Matrix,
    TaskMap,
    complete_map,
)

DELTAS = (1.0, 1 / 2, 1 / 4, 1 / 6, 1 / 8)
"""Table 3's thresholds, in units of a map's largest distance."""
_DIGITS = 9
"""Decimals of accuracies in percent: means that differ only in the last bit are equal."""


def paper_taus(values: Matrix) -> Matrix:
    """Kendall's tau by the paper's formula, in which pairs tied on either task count as agreement: sign(0) = 1."""
    signs, known = _pairs(values)
    pairs = known.T @ known
    unequal = np.abs(signs).T @ np.abs(signs)
    return _divided(signs.T @ signs + pairs - unequal, pairs, pairs)


def taus(values: Matrix, fewest: int = FEWEST_MODELS) -> Matrix:
    """Kendall's tau-b; NaN if fewer than `fewest` models have both tasks, or if one task ties all of them."""
    signs, known = _pairs(values)
    unequal = np.abs(signs).T @ known
    return _divided(signs.T @ signs, np.sqrt(unequal * unequal.T), known.T @ known, fewest)


def tau(first: Matrix, second: Matrix) -> float | None:
    """Kendall's tau-b of two columns of models; None if undefined."""
    value = taus(np.column_stack([first, second]))[0, 1]
    return None if np.isnan(value) else float(value)


def _pairs(values: Matrix) -> tuple[Matrix, Matrix]:
    """Signs of the models' differences, and 1 where both models have the task; shape (pairs of models, tasks)."""
    first, second = np.triu_indices(len(values), 1)
    differences = np.round(values[first] - values[second], _DIGITS)
    return np.nan_to_num(np.sign(differences)), (~np.isnan(differences)).astype(float)


def _divided(sums: Matrix, by: Matrix, pairs: Matrix, fewest: int = FEWEST_MODELS) -> Matrix:
    """The quotient; NaN for fewer pairs than those of `fewest` models."""
    enough = (pairs >= fewest * (fewest - 1) / 2) & (by > 0)
    return np.divide(sums, by, out=np.full_like(sums, np.nan), where=enough)


def tau_delta(distances: Matrix, between: Matrix, delta: float) -> float | None:
    """Mean tau of each task with the tasks within `delta` of the largest distance, itself included, over the tasks."""
    near = (distances <= delta * distances.max()) & ~np.isnan(between)
    counts = near.sum(axis=1)
    sums = np.where(near, between, 0).sum(axis=1)
    return float((sums[counts > 0] / counts[counts > 0]).mean()) if counts.any() else None


def tau_curve(task_map: TaskMap, accuracies: Accuracies) -> list[float | None]:
    """The paper's tau_delta on a map at `DELTAS`; None below five models, and without accuracies."""
    if not accuracies.are_enough:
        return [None] * len(DELTAS)
    between = paper_taus(Accuracies(accuracies.models, task_map.tasks).values)
    return [tau_delta(task_map.distances, between, delta) for delta in DELTAS]


def performance_map(accuracies: Accuracies) -> TaskMap:
    """The map of distances 1 - tau-b of the models' orders on two tasks. Raises TaskMapError below ten models."""
    source = t("taskmap.source_orders", count=len(accuracies.models))
    distances = 1 - taus(accuracies.values, FEWEST_FOR_MAP)
    return complete_map(source, accuracies.tasks, distances, of_accuracies=True)
