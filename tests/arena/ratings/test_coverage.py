"""Intervals hold the truth as often as they say, in arenas that are drawn anew in every run."""

import pytest

from perf.coverage import DESIGNS, FEW_ITEMS, LONGEST, SHORTEST, WIDEST, coverage

RUNS = 100
ALIKE = ("63 items", "574 items", "574 items, all answers alike", "574 items, answers far apart")
"""Names of designs that are near others."""


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(one, marks=pytest.mark.soak if one.name in ALIKE else (), id=one.name)
        for one in DESIGNS
    ],
)
def test_intervals_hold_for_new_items_and_voters(design):
    found = coverage(design, RUNS)
    print(found)
    assert SHORTEST <= found.held.mean() <= (LONGEST if design.items >= FEW_ITEMS else 1)
    assert found.held.min() >= 0.88, "a fair 95% falls below in one of 300"
    assert found.width <= (WIDEST if design.items >= FEW_ITEMS else 1.5)


BY_TUPLE = [design for design in DESIGNS if design.quality > 0 and not design.star][:4]


@pytest.mark.parametrize(
    "design", [*(pytest.param(one, marks=pytest.mark.soak) for one in BY_TUPLE[1:]), BY_TUPLE[0]]
)
def test_intervals_by_tuple_would_be_too_narrow(design):
    """One answer of a model stands in many pairs: what happens to it happens to all of them."""
    assert coverage(design, RUNS, "tuple").misses(design)
