"""Intervals from people's marks hold the truth as often as they say, also where it is hard."""

from dataclasses import replace

import pytest

from perf._mark_coverage import CORRECTED, HARD, TABLE
from perf._simulations import coverage

SUITE = 100
LEAST = 0.82
"""Bound for a cell of 100 runs of what is to hold in 90% of all: it falls below in one of 200."""
SOAKED = (
    "judge fails half of the right, 120 of 1000, stratified",
    "judge passes half of the wrong, 30 of 1000",
    "judge says nothing, 25 of 3000",
    "judge fails half of the right, 15 of 60",
    "judge passes half of the wrong, 120 of 1000",
    "judge fails half of the right, 60 of 218",
    "judge has one in 20 upside down, 20 of 100",
    "judge is noisy, 30 of 218, with tenths",
    "two models, judge has one in 20 upside down, 60 of 218, 0% alike",
    "two models, judge is noisy, 20 of 218, 80% alike",
    "judge has one in 7 upside down, 30 of 218",
    "two models, judge fails half of the right, 120 of 1000, 80% alike",
)
"""Names of simulations that are near others."""
ALL = [simulation for _, simulations in TABLE for simulation in simulations]


@pytest.mark.parametrize(
    "simulation",
    [
        pytest.param(one, marks=pytest.mark.soak if one.name in SOAKED else (), id=one.name)
        for one in ALL
    ],
)
def test_intervals_of_marks_hold_the_truth(simulation):
    found = coverage(simulation, SUITE)
    assert found.held.mean() >= simulation.target.least_share and found.held.min() >= LEAST
    assert found.width <= simulation.target.most_width


@pytest.mark.soak
@pytest.mark.parametrize("simulation", ALL, ids=[one.name for one in ALL])
def test_intervals_of_marks_hold_the_truth_in_many_runs(simulation):
    assert not coverage(simulation, 1000).misses(HARD)


def test_with_smaller_pseudo_residuals_they_would_not():
    """Judges that err on one side need larger ones than judges whose errors are rare and small."""
    (design,) = (one for one in CORRECTED if (one.marked, one.answers) == (45, 3_000))
    assert coverage(replace(design, pseudo=0.3), SUITE).held.min() < LEAST
