"""Drift: a planted shift is found in the first week; without one, years of weekly looks raise no alarm."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from scoring.calibration.drift import ALPHA, BASELINE_RUNS, DriftLook, drift, level_of, looked

ITEMS, NOISE, WEEKS = 60, 0.09, 200
DAY = datetime(2026, 11, 25, tzinfo=UTC)


def baseline(coin: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A judge's own mean scores, and its noisy runs at acceptance."""
    own = coin.uniform(0.3, 0.7, ITEMS)
    return own, own + coin.normal(0, NOISE, (BASELINE_RUNS, ITEMS))


@pytest.mark.parametrize("runs", [150, pytest.param(3_000, marks=pytest.mark.soak)])
def test_a_shift_of_a_twentieth_is_found_at_the_first_look(runs):
    found = 0
    for run in range(runs):
        coin = np.random.default_rng(run)
        own, before = baseline(coin)
        found += looked(before, own + 0.05 + coin.normal(0, NOISE, ITEMS), 1).has_moved
    assert found / runs >= 0.85


@pytest.mark.parametrize("runs", [50, pytest.param(3_000, marks=pytest.mark.soak)])
def test_a_steady_judge_is_called_moved_in_one_of_a_hundred_at_most(runs):
    alarms = 0
    for run in range(runs):
        coin = np.random.default_rng(10**6 + run)
        own, before = baseline(coin)
        alarms += any(
            looked(before, own + coin.normal(0, NOISE, ITEMS), week).has_moved for week in range(1, WEEKS + 1)
        )
    assert alarms / runs <= (0.01 if runs >= 3_000 else 0.025)


@pytest.mark.parametrize("runs", [50, pytest.param(1_000, marks=pytest.mark.soak)])
def test_a_steady_judge_whose_noise_is_in_few_answers_is_called_moved_as_seldom(runs):
    """Six of the answers get a tenth more or less now and then, as at temperature 0; the others are constant."""
    alarms = 0
    for run in range(runs):
        coin = np.random.default_rng(run)

        def draw(times: int, coin: np.random.Generator = coin) -> np.ndarray:
            flips = (coin.random((times, ITEMS)) < 0.3) * coin.choice([-0.1, 0.1], (times, ITEMS))
            return 0.5 + np.where(np.arange(ITEMS) < 6, flips, 0)

        before = draw(BASELINE_RUNS)
        alarms += any(looked(before, draw(1)[0], week).has_moved for week in range(1, WEEKS + 1))
    assert alarms / runs <= 0.02


def test_the_levels_of_all_looks_there_may_ever_be_sum_to_alpha():
    assert level_of(1) == ALPHA / 2
    assert sum(map(level_of, range(1, 20_000))) == pytest.approx(ALPHA, rel=1e-3)


def test_with_constant_replies_any_change_is_a_change():
    before = np.tile(np.full(ITEMS, 0.4), (BASELINE_RUNS, 1))
    assert not looked(before, before[0], 9).has_moved
    changed = before[0].copy()
    changed[7] = 0.5
    assert looked(before, changed, 9).has_moved


def test_a_judge_that_moved_stays_moved_and_one_not_looked_at_says_so():
    steady, moved = DriftLook(0.001, 0.9, 0.005), DriftLook(-0.06, 1e-5, 0.003)
    assert str(drift([], DAY)) == "never looked at"
    assert str(drift([(DAY, steady)], DAY + timedelta(days=3))) == "steady"
    assert str(drift([(DAY, steady)], DAY + timedelta(days=8))) == "not looked at for 8 days"
    looks = [(DAY, steady), (DAY, moved), (DAY, steady)]
    assert str(drift(looks, DAY + timedelta(days=20))) == "moved by -0.060 (p 1e-05)"
