"""MMT-Bench's published labels: the counts of Table A11, and the exam that they are."""

import json
from collections import Counter
from pathlib import Path

import pytest

from scoring.people.errors import NO_ERRORS
from scoring.people.published import CASE_MODELS, PAPER_SHARES, error_cases, exam_result

PEERS = json.loads((Path(__file__).parents[2] / "golden" / "error_analysis_peers.json").read_text())
COUNTS = {
    "GPT-4V": Counter(
        perception=12, capability=4, knowledge=3, reasoning=2, refuse=2, instruction=1
    ),
    "GeminiProVision": Counter(perception=14, reasoning=3, knowledge=1, instruction=1),
    "InternVL-Chat": Counter(perception=17, instruction=4, reasoning=1, knowledge=1),
}
"""Counted by hand in the paper's text."""


def test_table_a11_has_its_96_labels():
    cases = error_cases()
    assert len(cases) == 96 and {figure for figure, _ in cases} == {
        f"A{number}" for number in range(5, 37)
    }
    for model in CASE_MODELS:
        kinds = Counter(kind for (_, who), kind in cases.items() if who == model)
        assert kinds.pop(None) == 32 - COUNTS[model].total() and kinds == COUNTS[model]
    assert not NO_ERRORS & set(cases.values())
    assert all(sum(shares.values()) <= 1 for shares in PAPER_SHARES.values())


def test_the_exam_counts_what_is_not_answered_as_wrong():
    truth = {case: kind for case, kind in error_cases().items() if kind}
    best, lazy = exam_result(truth), exam_result(dict.fromkeys(truth, "perception"))
    assert (best.cases, best.right, best.unanswered, best.kappa) == (66, 66, 0, 1.0)
    assert (lazy.right, lazy.most_common, lazy.kappa) == (43, 43, 0.0)
    half = exam_result(dict(list(truth.items())[:30]))
    assert (half.cases, half.right, half.unanswered) == (66, 30, 36)
    assert exam_result({}).kappa is None and exam_result({}).right == 0


def test_kappa_is_scikit_learns():
    truth = {case: kind for case, kind in error_cases().items() if kind}
    given = {
        case: "reasoning" if place % 4 == 0 else kind
        for place, (case, kind) in enumerate(truth.items())
    }
    assert exam_result(given).kappa == pytest.approx(PEERS["kappa"], abs=1e-12)
