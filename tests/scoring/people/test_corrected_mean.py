"""Corrected mean: simulated truth. An interval that is called 95% holds the people's mean in 93% of runs or more."""

import json
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import t

from scoring.people.corrected_mean import PSEUDO, MarkedScores, corrected_mean, difference
from scoring.people.measures import MarksError

PEERS = json.loads((Path(__file__).parents[2] / "golden" / "calibration_peers.json").read_text())
N = 218
LEAST = 0.93


def truth(coin: np.random.Generator) -> np.ndarray:
    """People's marks of N answers: many right, many wrong, some between."""
    between = np.where(coin.random(N) < 0.6, 0.0, coin.integers(0, 11, N) / 10)
    return np.where(coin.random(N) < 0.45, 1.0, between)


def judged(kind: str, marks: np.ndarray, coin: np.random.Generator) -> np.ndarray:
    """A judge's scores in tenths: rarely wrong, also too kind below full marks, or noisy everywhere."""
    scores = marks.copy()
    if kind == "noisy":
        scores = scores + coin.normal(0, 0.35, N)
    else:
        scores += np.where((kind == "kind") & (marks < 1), 0.1, 0.0)
        scores += np.where(coin.random(N) < 0.06, coin.normal(0, 0.3, N), 0.0)
    return np.round(np.clip(scores, 0, 1), 1)


def coverage(kind: str, n: int, runs: int, pseudo: float = PSEUDO) -> tuple[float, float]:
    """Share of intervals that hold the truth, and their mean half width over that of the marks alone."""
    held, widths = 0, []
    for run in range(runs):
        coin = np.random.default_rng(run)
        marks = truth(coin)
        scores, some = judged(kind, marks, coin), coin.choice(N, n, replace=False)
        found = corrected_mean(MarkedScores(scores, some, marks[some]), run, pseudo=pseudo)
        held += found.corrected.low <= marks.mean() <= found.corrected.high
        widths.append(found.corrected.half_width / found.alone.half_width)
    return held / runs, float(np.mean(widths))


@pytest.mark.parametrize("runs", [150, pytest.param(2_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("n", [30, 60, 120])
@pytest.mark.parametrize("kind", ["rare", "kind", "noisy"])
def test_the_interval_covers_the_peoples_mean(kind, n, runs):
    covered, width = coverage(kind, n, runs)
    assert covered >= LEAST
    assert width <= (0.5 if kind != "noisy" else 0.7), "the judge's scores are worth something"


def test_without_pseudo_residuals_it_would_not():
    assert coverage("rare", 30, 150, pseudo=0.0)[0] < 0.75


def test_a_stratified_draw_is_weighted_by_its_strata_and_covers():
    held = 0
    for run in range(300):
        coin = np.random.default_rng(run)
        marks = truth(coin)
        scores = judged("kind", marks, coin)
        # where the judge is split, twice as many are marked
        strata = (np.abs(scores - 0.5) < 0.45).astype(int)
        parts = [np.flatnonzero(strata == one) for one in (0, 1)]
        some = np.concatenate(
            [coin.choice(part, min(len(part), 25), replace=False) for part in parts]
        )
        found = corrected_mean(MarkedScores(scores, some, marks[some], strata), run)
        held += found.corrected.low <= marks.mean() <= found.corrected.high
        whole = np.average(
            [marks[some][strata[some] == one].mean() for one in (0, 1)], weights=[*map(len, parts)]
        )
        assert found.alone.value == pytest.approx(whole)
    assert held / 300 >= LEAST


def test_all_marked_leaves_nothing_open():
    coin = np.random.default_rng(1)
    marks = truth(coin)
    found = corrected_mean(MarkedScores(judged("noisy", marks, coin), np.arange(N), marks))
    assert found.alone.value == pytest.approx(marks.mean()) and found.alone.half_width == 0
    assert found.corrected.half_width == 0 and found.corrected.value == pytest.approx(marks.mean())
    assert found.is_whole


def test_marks_are_worth_the_number_that_says_as_much_without_the_judge():
    """By the textbook's variance of a mean out of N; never more marks than answers, which leave nothing to say."""
    for kind in ("rare", "noisy"):
        for n in (30, 120):
            coin = np.random.default_rng(n)
            marks = truth(coin)
            scores, some = judged(kind, marks, coin), coin.choice(N, n, replace=False)
            found = corrected_mean(MarkedScores(scores, some, marks[some]))
            assert n < found.worth < N
            of_worth = (1 / found.worth - 1 / N) / (1 / n - 1 / N)
            assert found.alone.half_width * of_worth**0.5 == pytest.approx(
                found.corrected.half_width
            )
    assert corrected_mean(MarkedScores(marks, np.arange(N), marks)).worth == pytest.approx(N)


def test_a_stratum_without_marks_is_not_known():
    marks = np.repeat([1.0, 0.0, 0.5], [150, 67, 1])
    scores, strata = marks.copy(), np.repeat([0, 1, 2], [150, 67, 1])
    found = corrected_mean(MarkedScores(scores, np.arange(N - 1), marks[:-1], strata))
    assert not found.is_whole and found.corrected.half_width > 0
    assert found.corrected.value == pytest.approx((150 + 0.5) / N, abs=0.01)


@pytest.mark.parametrize("mark", [0.0, 1.0])
def test_marks_that_are_all_alike_leave_the_rest_open(mark):
    """Ten answers of 200 that are all right do not prove that all are."""
    found = corrected_mean(MarkedScores(np.full(N, mark), np.arange(10), np.full(10, mark)))
    assert not found.is_whole and found.alone.half_width > 0.05 and found.worth == pytest.approx(10)


def test_a_judge_that_says_nothing_costs_nothing():
    coin = np.random.default_rng(2)
    marks, some = truth(coin), coin.choice(N, 60, replace=False)
    constant = corrected_mean(MarkedScores(np.full(N, 0.5), some, marks[some]))
    assert constant.corrected.value == pytest.approx(constant.alone.value)
    assert constant.corrected.half_width == pytest.approx(constant.alone.half_width, rel=0.02)


def test_the_difference_of_two_models_is_paired_by_question():
    held = 0
    for run in range(300):
        coin = np.random.default_rng(run)
        marks = truth(coin)
        better = np.clip(marks + np.where(coin.random(N) < 0.2, 0.4, 0.0), 0, 1)
        some, more = coin.choice(N, 60, replace=False), coin.choice(N, 20, replace=False)
        of_both = np.unique(np.concatenate([some, more]))
        first = MarkedScores(judged("rare", better, coin), of_both, better[of_both])
        second = MarkedScores(judged("rare", marks, coin), some, marks[some])
        found = difference(first, second)
        assert found.marks == 60, "only answers that both have marks for"
        held += found.corrected.low <= better.mean() - marks.mean() <= found.corrected.high
    assert held / 300 >= LEAST


def test_too_few_marks_are_refused():
    with pytest.raises(MarksError, match="A corrected mean needs 5 marks, and has 3"):
        corrected_mean(MarkedScores(np.ones(9), np.arange(3), np.ones(3)))


@pytest.mark.parametrize("made", PEERS["ppi"])
def test_ppi_python_has_the_same_interval_in_its_own_conventions(made):
    """Its set is infinite and without the marked answers, its quantile the normal's, its variance by n."""
    coin, n, size = np.random.default_rng(made["seed"]), made["n"], 4000
    scores = coin.integers(0, 11, size) / 10
    marks = np.clip(scores[:n] + coin.normal(0, 0.2, n), 0, 1)
    found = corrected_mean(MarkedScores(scores, np.arange(n), marks), lam=1.0, pseudo=0.0).corrected
    unmarked = scores[n:]
    value = found.value - scores.mean() + unmarked.mean()
    spread = (found.half_width / t.ppf(0.975, n - 1)) ** 2 / (1 - n / size) * (n - 1)
    reach = NormalDist().inv_cdf(0.975) * np.sqrt(spread / n + unmarked.var() / len(unmarked))
    assert (value - reach, value + reach) == pytest.approx((made["low"], made["high"]), abs=1e-9)
