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

    shortest: float = 0.93
    """Least share on the average of the cells: intervals that are too short hold the truth too rarely."""
    longest: float = 0.98
    """Most share on the average of the cells."""
    fewest: float = 0.90
    """Least share of any cell."""
    widest: float = 1.25
    """Most mean width, over the width of the middle 95% of the numbers."""


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
    """Mean width over the width of the middle 95% of the numbers."""

    def misses(self, target: Target) -> bool:
        return not (
            target.shortest <= self.held.mean() <= target.longest
            and self.held.min() >= target.fewest
            and self.width <= target.widest
        )


def results(of_run: Callable[[int], Result], runs: int) -> list[Result]:
    """Returns each run's result; `of_run` gets the run's number from 0 and is pickled, as all cores work."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(of_run, range(runs), chunksize=max(1, runs // 50)))


def coin_of(name: str, run: int) -> np.random.Generator:
    """Returns the random generator of a simulation's run, the same on every machine."""
    return np.random.default_rng((crc32(name.encode()), run))


def coverage(simulation: Simulation, runs: int) -> Coverage:
    """Runs a simulation so many times and returns its coverage."""
    truth = simulation.truth()
    estimates = results(partial(_estimates, simulation), runs)
    value, low, high = (np.array(column) for column in zip(*estimates, strict=True))
    held = (low <= truth) & (truth <= high)
    ends = np.quantile(value, (0.025, 0.975), axis=0)
    return Coverage(held.mean(0), float((high - low).mean() / (ends[1] - ends[0]).mean()))


def _estimates(simulation: Simulation, run: int) -> Estimates:
    return simulation.run(coin_of(simulation.name, run))
