"""Dawid-Skene (1979): how often each worker answers rightly where nobody knows the right answer, by EM.

Of two answers, each worker has a 2x2 confusion: what he says where the first is better, and where the second is. A
second opinion on workers, never a board's number.
"""

from typing import NamedTuple

import numpy as np

from arena.ratings.votes import Codes, Floats

ROUNDS = 1000
STILL = 1e-9
"""Most rounds of EM, and the change of a probability from which on nothing moves."""
_LEAST = 1e-10


class Confusions(NamedTuple):
    """What was found."""

    says: Floats
    """Probability that a worker says an answer: workers x what he says x what is better."""
    better: Floats
    """Probability that an answer is the better one: tasks x answers."""

    @property
    def accuracy(self) -> Floats:
        """Probability that a worker is right, over the tasks of all."""
        return np.einsum("waa,a->w", self.says, self.better.mean(0))


def dawid_skene(worker: Codes, task: Codes, answer: Codes) -> Confusions:
    """Fits the confusions of workers to their answers, which are 0 or 1; begins at the majority of each task."""
    workers = int(worker.max(initial=-1)) + 1
    tasks = int(task.max(initial=-1)) + 1
    better = np.zeros((tasks, 2))
    np.add.at(better, (task, answer), 1.0)
    better /= np.maximum(better.sum(1, keepdims=True), 1)
    for _ in range(ROUNDS if len(task) else 0):
        log_says = np.log(_says(worker, answer, better[task], workers))
        fit = np.tile(np.log(np.maximum(better.mean(0), _LEAST)), (tasks, 1))
        np.add.at(fit, task, log_says[worker, answer])
        fit = np.exp(fit - fit.max(1, keepdims=True))
        before = better
        better = fit / fit.sum(1, keepdims=True)
        if np.abs(better - before).max() < STILL:
            break
    return Confusions(_says(worker, answer, better[task], workers), better)


def _says(worker: Codes, answer: Codes, better: Floats, workers: int) -> Floats:
    """Workers x what he says x what is better, out of the probabilities of what is better in each answer's task."""
    says = np.zeros((workers, 2, 2))
    np.add.at(says, (worker, answer), better)
    says = np.maximum(says, _LEAST)
    return says / says.sum(1, keepdims=True)
