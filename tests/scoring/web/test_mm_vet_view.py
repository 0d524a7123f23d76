"""MM-Vet's list of questions: its filters."""

import pytest

from scoring.report import Grade, Question, Row
from scoring.web.mm_vet_view import SHOWS


@pytest.mark.parametrize(
    ("scores", "is_shown"),
    [
        ((0.5, 0.7), True),
        ((0.1, 0.3), True),
        ((0.2, 0.4), True),
        ((0.5, 0.6), False),
        ((0.7, None), False),
        ((None, None), False),
    ],
)
def test_runs_disagree_from_two_tenths(scores, is_shown):
    grades = tuple(Grade("v1_0", run, score) for run, score in enumerate(scores))
    row = Row(Question("v1_0", "What is it?", "cat", ("rec",)), "a cat", grades)
    assert SHOWS["runs disagree"](row) is is_shown
