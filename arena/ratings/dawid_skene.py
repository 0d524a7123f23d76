"""Dawid-Skene (1979): each worker's accuracy without known right answers, by EM.

Each worker has a 2x2 confusion: the chances to choose either answer if the first is better, and if the second is. It is
a second opinion on workers, and no board uses it.
"""

from typing import NamedTuple

import numpy as np

from arena.ratings.votes import Codes, Floats

ROUNDS = 1000
STILL = 1e-9
"""ROUNDS, STILL: the most rounds of EM, and the change of a probability below which EM has converged."""
_LEAST = 1e-10
"""The number in place of smaller ones, so that every logarithm is finite."""


class Confusions(NamedTuple):
    """The confusions of workers, and the better answer of each task."""

    choice_chances: Floats
    """The probability that a worker chooses an answer: workers x chosen answer x better answer."""
    better: Floats
    """The probability that an answer is the better one: tasks x answers."""

    @property
    def accuracy(self) -> Floats:
        """The probability that a worker is right, over all workers' tasks."""
        # The diagonal of a confusion: the worker chooses the better answer.
        return np.einsum("waa,a->w", self.choice_chances, self.better.mean(0))


def dawid_skene(worker: Codes, task: Codes, answer: Codes) -> Confusions:
    """Fits the confusions of workers to their answers; begins at the shares of the answers to each task.

    The arrays have an entry for each answer that a worker gave: the worker, the task, and the answer, 0 or 1.
    """
    workers = int(worker.max(initial=-1)) + 1
    tasks = int(task.max(initial=-1)) + 1
    better = np.zeros((tasks, 2))
    np.add.at(better, (task, answer), 1.0)
    better /= np.maximum(better.sum(1, keepdims=True), 1)
    rounds = ROUNDS if len(task) else 0  # Without answers there is no mean to begin with.
    for _ in range(rounds):
        log_chances = np.log(_choice_chances(worker, answer, better[task], workers))
        log_prior = np.log(np.maximum(better.mean(0), _LEAST))
        log_posterior = np.tile(log_prior, (tasks, 1))
        np.add.at(log_posterior, task, log_chances[worker, answer])
        # Divided by its largest, so that no task has only zeros.
        posterior = np.exp(log_posterior - log_posterior.max(1, keepdims=True))
        before = better
        better = posterior / posterior.sum(1, keepdims=True)
        if np.abs(better - before).max() < STILL:
            break
    return Confusions(_choice_chances(worker, answer, better[task], workers), better)


def _choice_chances(worker: Codes, answer: Codes, better: Floats, workers: int) -> Floats:
    """Returns workers x chosen answer x better answer; `better` are the probabilities in each answer's task."""
    chances = np.zeros((workers, 2, 2))
    np.add.at(chances, (worker, answer), better)
    chances = np.maximum(chances, _LEAST)
    return chances / chances.sum(1, keepdims=True)
