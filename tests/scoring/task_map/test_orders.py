"""Kendall's tau by scipy and by the paper's formula, tau_delta by hand, and maps of accuracies."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from scoring.task_map.groups import group_scores, predict_order
from scoring.task_map.orders import paper_taus, performance_map, tau_curve, tau_delta, taus
from scoring.task_map.types import Accuracies, ModelAccuracies, TaskMap, TaskMapError, complete_map

DRAW = np.random.default_rng(0)
TASKS = tuple("abcdef")


def accuracies(values) -> Accuracies:
    models = [
        ModelAccuracies(f"m{number}", dict(zip(TASKS, row, strict=False)), float(np.nanmean(row)))
        for number, row in enumerate(values)
    ]
    return Accuracies(tuple(models), TASKS[: values.shape[1]])


def by_hand(first, second):
    """The paper's formula, word for word."""
    pairs = list(combinations(range(len(first)), 2))
    signs = [-1 if (first[m] - first[n]) * (second[m] - second[n]) < 0 else 1 for m, n in pairs]
    return sum(signs) / len(pairs)


def test_taus_are_those_of_scipy_and_of_the_formula_with_ties():
    values = DRAW.integers(0, 4, (12, 6)).astype(float)
    usual, paper = taus(values), paper_taus(values)
    for s, t in combinations(range(6), 2):
        assert usual[s, t] == pytest.approx(kendalltau(values[:, s], values[:, t]).statistic)
        assert paper[s, t] == pytest.approx(by_hand(values[:, s], values[:, t]))
    assert (np.diag(paper) == 1).all()


def test_missing_accuracies_leave_their_pairs_out():
    values = DRAW.normal(size=(9, 2))
    values[:3, 0] = np.nan
    assert taus(values)[0, 1] == pytest.approx(kendalltau(values[3:, 0], values[3:, 1]).statistic)
    values[:5, 0] = np.nan
    assert np.isnan(taus(values)[0, 1]) and np.isnan(paper_taus(values)[0, 1])


def test_no_tau_below_five_models():
    few = accuracies(DRAW.normal(size=(4, 6)))
    enough = accuracies(DRAW.normal(size=(5, 6)))
    assert group_scores(TASKS, few).tau is None and group_scores(TASKS, enough).tau is not None
    distances = np.ones((6, 6)) - np.eye(6)
    assert tau_curve(TaskMap("", TASKS, distances), few) == [None] * 5
    assert None not in tau_curve(TaskMap("", TASKS, distances), enough)


def test_tau_delta_is_the_mean_of_means_with_the_task_itself():
    distances = np.array([[0, 0.1, 1.0], [0.1, 0, 0.5], [1.0, 0.5, 0]])
    between = np.array([[1, 0.6, 0.2], [0.6, 1, 0.4], [0.2, 0.4, 1]])
    assert tau_delta(distances, between, 1.0) == pytest.approx(between.mean())
    assert tau_delta(distances, between, 1 / 2) == pytest.approx(np.mean([0.8, 2 / 3, 0.7]))
    assert tau_delta(distances, between, 1 / 8) == pytest.approx(np.mean([0.8, 0.8, 1]))


def test_a_performance_map_takes_ten_models_and_leaves_out_what_it_cannot_place():
    values = DRAW.normal(size=(10, 6))
    values[:, 5] = 50.0
    found = performance_map(accuracies(values))
    assert found.left_out == ("f",) and found.of_accuracies and found.distances.shape == (5, 5)
    assert found.distances[0, 1] == pytest.approx(
        1 - kendalltau(values[:, 0], values[:, 1]).statistic
    )
    with pytest.raises(TaskMapError, match=r"^A map needs ten models\. Here: 9\.$"):
        performance_map(accuracies(values[:9]))


def test_gaps_are_left_out_by_the_task_that_has_most():
    distances = np.ones((5, 5)) - np.eye(5)
    distances[1, :] = distances[:, 1] = np.nan
    assert complete_map("", TASKS[:5], distances).left_out == ("b",)


def test_a_tasks_place_is_predicted_by_its_nearest():
    values = np.arange(12.0)[:, None] + DRAW.normal(size=(12, 6)) * 0.01
    values[:, 5] *= -1
    distances = np.full((6, 6), 0.2) + np.arange(6) / 100
    distances[:, 5] = distances[5, :] = 2
    np.fill_diagonal(distances, 0)
    found = predict_order(TaskMap("", TASKS, distances), "a", accuracies(values))
    assert [task for task, _ in found.nearest] == ["b", "c", "d", "e", "f"]
    model, *places = found.places[0]
    assert (model.model, *places) == ("m11", 1, 1) and found.tau == pytest.approx(1)
