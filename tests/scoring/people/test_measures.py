"""Measures of a judge against marks: MM-Vet's tables, other programs' numbers, and what no number may hide."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.benchmarks.mm_vet_questions import truth_parts
from scoring.people.measures import (
    LEAST_INTERVAL,
    MarksError,
    compare_scores,
    delta_of_mean,
    delta_of_median,
    distance_interval,
    icc,
    keyword_score,
    mean_of_deltas,
    spearman,
    weighted_kappa,
)
from scoring.people.published import PAPER_DELTAS, PAPER_PANELS

PEERS = json.loads((Path(__file__).parents[2] / "golden" / "calibration_peers.json").read_text())
"""Numbers of pingouin (ICC), scikit-learn (kappa) and SciPy (Spearman) on made-up grades; of ppi-python."""
TENTHS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=3, max_size=40)


def test_table_7_is_the_mean_of_the_deltas_of_table_6():
    for panel, printed in PAPER_PANELS.items():
        assert mean_of_deltas([PAPER_DELTAS[one] for one in panel]) == pytest.approx(
            printed, abs=0.0003
        )


@given(st.lists(TENTHS, min_size=1, max_size=5))
def test_a_panels_own_delta_is_at_most_the_mean_of_its_members(panels):
    size = min(map(len, panels))
    scores = np.array([[one for one, _ in members[:size]] for members in panels]) / 10
    marks = np.array([mark for _, mark in panels[0][:size]]) / 10
    each = np.abs(scores - marks).mean(1)
    assert delta_of_mean(scores, marks) <= mean_of_deltas(each.tolist()) + 1e-12
    if len(panels) == 1:
        assert delta_of_median(scores, marks) == pytest.approx(each[0])


@pytest.mark.parametrize("made", PEERS["agreement"])
def test_other_programs_have_the_same_numbers(made):
    scores, marks = np.array(made["scores"]) / 10, np.array(made["marks"]) / 10
    found = compare_scores(scores, marks)
    assert found.icc == pytest.approx(made["icc"], abs=1e-9)
    assert found.kappa == pytest.approx(made["kappa"], abs=1e-9)
    assert found.spearman == pytest.approx(made["spearman"], abs=1e-9)


def test_shrout_and_fleiss_have_their_printed_icc():
    """Shrout and Fleiss (1979), Table 2 and 4: six targets, four judges; ICC(2,1) is 0.29."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    assert icc(np.array(ratings, float)) == pytest.approx(0.2898, abs=0.00005)


def test_a_judge_that_is_always_too_kind_disagrees_but_ranks_alike():
    marks = np.array([0, 0.1, 0.3, 0.4, 0.6, 0.7, 0.8])
    found = compare_scores(marks + 0.2, marks)
    assert (
        found.bias == pytest.approx(0.2) and found.delta == pytest.approx(0.2) and found.near == 0
    )
    assert found.spearman == pytest.approx(1)
    assert (
        found.icc is not None
        and found.icc < 0.95
        and found.kappa is not None
        and found.kappa < 0.95
    )


@given(TENTHS)
def test_equal_scores_agree_wholly(pairs):
    marks = np.array([mark for _, mark in pairs]) / 10
    found = compare_scores(marks, marks)
    assert found.delta == 0 and found.near == 1 and found.bias == 0
    assert found.kappa in (None, pytest.approx(1)) and found.spearman in (None, pytest.approx(1))


def test_what_is_constant_has_no_correlation():
    assert spearman(np.array([1.0, 1, 1]), np.array([0.0, 0.5, 1])) is None
    assert weighted_kappa(np.array([1.0, 1, 1]), np.array([1.0, 1, 1])) is None
    assert icc(np.ones((4, 2))) is None
    for grade in np.arange(11) / 10:
        alike = compare_scores(np.full(7, grade), np.full(7, grade))
        assert (alike.spearman, alike.icc, alike.kappa) == (None, None, None)


def test_means_of_runs_that_are_equal_are_ties():
    """The mean of 0.1 and 0.2 is another float than that of 0 and 0.3."""
    means = np.array([(0.1 + 0.2) / 2, (0 + 0.3) / 2, (0.1 + 0.1 + 0.1) / 3, 0.1, 0.9])
    marks = np.array([0.6, 0.4, 0.3, 0.2, 1.0])
    assert len(set(means)) == 5
    assert compare_scores(means, marks) == compare_scores(
        np.array([0.15, 0.15, 0.1, 0.1, 0.9]), marks
    )


@pytest.mark.parametrize("marked", [LEAST_INTERVAL - 1, LEAST_INTERVAL])
def test_few_marks_have_a_delta_and_no_interval(marked):
    """Ten scores that are all right do not prove that all are."""
    found = compare_scores(np.ones(marked), np.ones(marked))
    assert found.delta == 0
    if marked < LEAST_INTERVAL:
        assert found.delta_interval is None
    else:
        assert found.delta_interval is not None
        assert found.delta_interval.low == 0 and 0.15 < found.delta_interval.high < 0.35


@given(st.lists(st.integers(0, 10), min_size=LEAST_INTERVAL, max_size=60))
def test_an_interval_of_delta_holds_it_and_stays_on_the_scale(tenths):
    found = distance_interval(np.array(tenths) / 10)
    assert found is not None and 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(
    ("truth", "answer", "score"),
    [
        ("4", "There are 4 cars", 1.0),
        ("red<AND>blue", "It is RED.", 0.5),
        ("no<OR>false", "That is false", 1.0),
        ("a<AND>b<OR>c", "c", 1.0),
        ("x<AND>y", "z", 0.0),
    ],
)
def test_keywords_are_counted_in_the_best_branch(truth, answer, score):
    assert keyword_score(truth_parts(truth), answer) == score


def test_too_few_marks_and_unequal_lengths_are_refused():
    with pytest.raises(MarksError, match="This needs 3 marked answers, and has 2"):
        compare_scores(np.zeros(2), np.zeros(2))
    with pytest.raises(MarksError, match="3 scores and 4 marks"):
        compare_scores(np.zeros(3), np.zeros(4))
