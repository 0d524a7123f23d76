"""What simulations of intervals share: their targets, and how often their intervals hold the truth."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol, TypeVar
from zlib import crc32

import numpy as np

from arena.ratings.votes import Floats

Result = TypeVar("Result")


class Target(NamedTuple):
    """What the intervals of a simulation are to hold."""

    shortest: float = 0.93
    longest: float = 0.98
    """Least and most share of runs that hold the truth, on the average of the cells."""
    fewest: float = 0.90
    """The same of each cell."""
    widest: float = 1.25
    """Most mean width, over the width of the middle 95% of the numbers."""


class Estimates(NamedTuple):
    """Numbers of one run with their intervals, by cell."""

    value: Floats
    low: Floats
    high: Floats


class Simulation(Protocol):
    """What is drawn anew in every run, and the truth that its intervals should hold."""

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> Target: ...

    def truth(self) -> Floats: ...

    def run(self, coin: np.random.Generator) -> Estimates: ...


class Coverage(NamedTuple):
    """What the intervals of a simulation's runs hold: by cell, and their mean width beside the numbers' own."""

    held: Floats
    width: float
    """Mean width over the width of the middle 95% of the numbers."""

    def misses(self, target: Target) -> bool:
        return not (
            target.shortest <= self.held.mean() <= target.longest
            and self.held.min() >= target.fewest
            and self.width <= target.widest
        )


def results(of_run: Callable[[int], Result], runs: int) -> list[Result]:
    """Return what each run gives, by its number from 0; all cores work. `of_run` is pickled."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(of_run, range(runs), chunksize=max(1, runs // 50)))


def coin_of(name: str, run: int) -> np.random.Generator:
    return np.random.default_rng((crc32(name.encode()), run))


def coverage(simulation: Simulation, runs: int) -> Coverage:
    """Return the share of a simulation's runs whose intervals hold the truth."""
    truth = simulation.truth()
    found = results(partial(_estimates, simulation), runs)
    value, low, high = (np.array(column) for column in zip(*found, strict=True))
    held = (low <= truth) & (truth <= high)
    ends = np.quantile(value, (0.025, 0.975), axis=0)
    return Coverage(held.mean(0), float((high - low).mean() / (ends[1] - ends[0]).mean()))


def _estimates(simulation: Simulation, run: int) -> Estimates:
    return simulation.run(coin_of(simulation.name, run))
