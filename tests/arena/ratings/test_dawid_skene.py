"""Dawid-Skene: as crowd-kit fits it, near the truth where that is known, and where there is nothing to fit."""

import numpy as np
import pytest

from arena.ratings.dawid_skene import dawid_skene

CROWD_KIT = [
    *([0.621065, 0.253208, 0.378935, 0.746792], [0.532018, 0.513651, 0.467982, 0.486349]),
    *([0.553198, 0.296607, 0.446802, 0.703393], [0.756107, 0.439137, 0.243893, 0.560863]),
    *([0.785272, 0.204525, 0.214728, 0.795475], [1.0, 0.0, 0.0, 1.0]),
    *([0.756501, 0.0, 0.243499, 1.0], [0.853147, 0.0, 0.146853, 1.0]),
]
"""`errors_` of crowd-kit 1.4.2's `DawidSkene(n_iter=2000, tol=-1)` on `answers(60, 8, 5, seed=22)`, by worker: what he
says x what is true."""


def answers(tasks: int, workers: int, each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of (worker, task, answer), and the workers' chances to be right, from 0.55 to 0.95."""
    rng, right = np.random.default_rng(seed), np.linspace(0.55, 0.95, workers)
    truth = rng.integers(0, 2, tasks)
    rows = [
        (worker, task, int(truth[task] if rng.random() < right[worker] else 1 - truth[task]))
        for task in range(tasks)
        for worker in rng.choice(workers, each, replace=False)
    ]
    return np.array(rows), right


def test_the_confusions_are_those_of_crowd_kit():
    found = dawid_skene(*answers(60, 8, 5, seed=22)[0].T)
    assert found.choice_chances.reshape(8, 4) == pytest.approx(np.array(CROWD_KIT), abs=2e-6)
    assert found.better[:, 1].mean() == pytest.approx(0.329594, abs=2e-6)


def test_the_accuracies_are_those_of_the_workers():
    rows, right = answers(2000, 10, 5, seed=1)
    assert dawid_skene(*rows.T).accuracy == pytest.approx(right, abs=0.05)


def test_a_worker_who_says_one_thing_is_told_from_one_who_errs():
    rows, _ = answers(500, 8, 6, seed=2)
    rows[rows[:, 0] == 7, 2] = 1
    chances = dawid_skene(*rows.T).choice_chances[7]
    assert chances[1] == pytest.approx([1, 1]), "whatever is better"


def test_nothing_is_made_of_nothing():
    empty = np.zeros(0, np.int64)
    found = dawid_skene(empty, empty, empty)
    assert found.choice_chances.shape == (0, 2, 2) and found.better.shape == (0, 2)
