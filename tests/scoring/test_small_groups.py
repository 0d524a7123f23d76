"""Small groups: which sums over groups together give away a few answers."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from scoring.small_groups import reveals_few

CELLS = {f"{row}{column}": 10 for row in range(5) for column in range(5)}
LINES = [
    *([f"{row}{column}" for column in range(5)] for row in range(5)),
    *([f"{row}{column}" for row in range(5)] for column in range(5)),
]
"""Groups of two columns that cross each other in small cells."""
NEARLY = {"A": 30, "B": 30, "x": 1, "y": 2, "C": 30, "D": 30, "E": 30, "F": 30}
NEARLY_WITHIN = [["A", "x"], ["B", "y"], ["C", "D"], ["E", "F"], ["A", "B"], ["D", "E"]]
"""The first two make up the fifth but for x and y, which are in different groups."""


def groups(sizes: Mapping[str, int], members: Sequence[Sequence[str]]) -> np.ndarray:
    """Groups of kinds of answers as (groups, answers), the first with all of them."""
    kind = np.repeat(list(sizes), list(sizes.values()))
    return np.array([np.isin(kind, group) for group in (list(sizes), *members)]).astype(np.int64)


@pytest.mark.parametrize(
    ("sizes", "members", "is_revealed"),
    [
        (CELLS, LINES, False),
        (NEARLY, NEARLY_WITHIN, True),
        ({**NEARLY, "x": 10, "y": 9}, NEARLY_WITHIN, True),
        ({**NEARLY, "x": 10, "y": 10}, NEARLY_WITHIN, False),
        ({**NEARLY, "x": 1, "y": 30}, NEARLY_WITHIN, False),
        ({"A": 30, "B": 30, "x": 1}, [["A", "B"]], True),
    ],
)
def test_groups_that_make_up_another_but_for_a_few_give_these_away(sizes, members, is_revealed):
    assert reveals_few(groups(sizes, members)) == is_revealed
