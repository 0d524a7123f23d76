"""Two models' kinds of error on the questions that both got wrong: Bowker's test of symmetry, then each kind.

Bowker (1948) asks whether the models exchange kinds alike, over the pairs of kinds that occur; McNemar's exact test
asks of each kind whether one model has it more often, with Holm's (1979) correction over the kinds.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from arena.ratings.votes import Codes
from scoring.multiple_choice.metrics import Comparison, compared, holm
from scoring.people.error_shares import KEYS, merged
from scoring.people.errors import ErrorKey, Label


class Symmetry(NamedTuple):
    """Bowker's test."""

    statistic: float
    freedom: int
    """Pairs of kinds that the models exchange at least once."""
    p: float
    """1.0 if they never differ."""


class KindDifference(NamedTuple):
    """One kind in two models."""

    counts: Comparison
    holm: float
    """p with Holm's correction over the kinds that occur."""


class ErrorComparison(NamedTuple):
    """Two models on common items."""

    items: int
    table: Codes
    """Items by the first model's kind (row) and the second's (column), in the order of the keys."""
    symmetry: Symmetry
    kinds: Mapping[ErrorKey, KindDifference]


def compare_errors(first: Iterable[Label], second: Iterable[Label]) -> ErrorComparison:
    """Compare the main kinds of two models, each with its own labels."""
    one, other = (
        {label.item: label.main for label in merged(labels)} for labels in (first, second)
    )
    pairs = [(main, other[item]) for item, main in one.items() if item in other]
    table = np.zeros((len(KEYS), len(KEYS)), int)
    for here, there in pairs:
        table[KEYS.index(here), KEYS.index(there)] += 1
    tests: dict[ErrorKey, Comparison] = {
        key: compared(key, [(here == key, there == key) for here, there in pairs])
        for key in KEYS
        if any(key in pair for pair in pairs)
    }
    corrected = holm([test.p for test in tests.values()])
    kinds: dict[ErrorKey, KindDifference] = {
        key: KindDifference(test, p)
        for (key, test), p in zip(tests.items(), corrected, strict=True)
    }
    return ErrorComparison(len(pairs), table, bowker(table), kinds)


def bowker(table: Codes) -> Symmetry:
    """Bowker's test of a square table of counts; pairs that never occur have no degree of freedom."""
    from scipy.special import chdtrc

    above, below = (side[np.triu_indices(len(table), 1)] for side in (table, table.T))
    seen = above + below > 0
    freedom = int(seen.sum())
    statistic = float(((above - below)[seen] ** 2 / (above + below)[seen]).sum())
    return Symmetry(statistic, freedom, float(chdtrc(freedom, statistic)) if freedom else 1.0)
