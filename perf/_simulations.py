"""Simulations of intervals: their targets, and the share of runs whose intervals hold the truth."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol, TypeVar
from zlib import crc32

import numpy as np

from arena.ratings.votes import Floats

Result = TypeVar("Result")


class Target(NamedTuple):
    """Bounds for the share of runs whose intervals hold the truth, and for the intervals' width."""

    least_share: float = 0.93
    """Least mean of the cells' shares: intervals that are too short hold the truth too rarely."""
    most_share: float = 0.98
    """Most mean of the cells' shares."""
    least_cell_share: float = 0.90
    """Least share of any cell."""
    most_width: float = 1.25
    """Most mean width of the intervals, divided by the width of the middle 95% of the numbers."""


class Estimates(NamedTuple):
    """Numbers of one run with their intervals, by cell (a model, a mean, ...)."""

    value: Floats
    low: Floats
    high: Floats


class Simulation(Protocol):
    """An experiment that draws new data in every run; its intervals should hold the truth."""

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> Target: ...

    def truth(self) -> Floats: ...

    def run(self, coin: np.random.Generator) -> Estimates: ...


class Coverage(NamedTuple):
    """The coverage of a simulation over all its runs."""

    held: Floats
    """By cell, the share of runs whose interval holds the truth."""
    width: float
    """The quotient that `Target.most_width` bounds."""

    def misses(self, target: Target) -> bool:
        return not (
            target.least_share <= self.held.mean() <= target.most_share
            and self.held.min() >= target.least_cell_share
            and self.width <= target.most_width
        )


def results(of_run: Callable[[int], Result], runs: int) -> list[Result]:
    """Returns each run's result. `of_run` takes its number, from 0, and is pickled, since it runs on all cores."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(of_run, range(runs), chunksize=max(1, runs // 50)))


def coin_of(name: str, run: int) -> np.random.Generator:
    """Returns the random generator of a simulation's run, the same on every machine."""
    return np.random.default_rng((crc32(name.encode()), run))


def coverage(simulation: Simulation, runs: int) -> Coverage:
    """Runs a simulation this many times and returns its coverage."""
    truth = simulation.truth()
    estimates = results(partial(_estimates, simulation), runs)
    value = np.array([estimate.value for estimate in estimates])
    low = np.array([estimate.low for estimate in estimates])
    high = np.array([estimate.high for estimate in estimates])
    held = (low <= truth) & (truth <= high)
    middle_low, middle_high = np.quantile(value, (0.025, 0.975), axis=0)
    width = (high - low).mean() / (middle_high - middle_low).mean()
    return Coverage(held.mean(0), float(width))


def _estimates(simulation: Simulation, run: int) -> Estimates:
    return simulation.run(coin_of(simulation.name, run))
