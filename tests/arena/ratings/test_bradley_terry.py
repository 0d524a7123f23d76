"""Bradley-Terry: the maximum of the likelihood, finite where it should be and blank where it is not."""

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.ratings.bradley_terry import (
    ConvergenceError,
    Status,
    bradley_terry,
    mean_win_chances,
    win_chances,
    win_matrix,
)
from arena.ratings.votes import Outcome, Votes
from tests.support.arenas import POINTS, even_votes, tuple_arena

RATED, UNBEATEN, WINLESS, SEPARATED, UNPLAYED = Status


def wins_of(*cells: tuple[int, int, float], models: int = 4) -> np.ndarray:
    wins = np.zeros((models, models))
    for winner, loser, number in cells:
        wins[winner, loser] = number
    return wins


@pytest.mark.parametrize(
    ("seed", "models", "number"), [(1, 2, 50), (2, 7, 1000), (3, 30, 20_000), (4, 120, 100_000)]
)
def test_without_prior_it_is_choix(seed, models, number):
    wins = win_matrix(even_votes(seed, models, number, ties=0.2))
    fit = bradley_terry(wins, prior=0)
    expected = 1000 + choix.ilsr_pairwise_dense(wins, tol=1e-12) * POINTS
    assert fit.ratings == pytest.approx(expected, abs=1e-6)
    assert set(fit.statuses) == {RATED}
    assert fit.residual < 1e-6


def test_a_winner_of_ten_in_eleven_stands_400_points_above():
    fit = bradley_terry(wins_of((0, 1, 10), (1, 0, 1), models=2), prior=0)
    assert fit.ratings.tolist() == pytest.approx([1200, 800])


@pytest.mark.parametrize("prior", [0, 0.5])
def test_where_the_fit_begins_saves_steps_and_changes_nothing(prior):
    wins = win_matrix(even_votes(5, 20, 5000))
    before = bradley_terry(wins, prior)
    wins[3, 4] += 1
    fit, far = bradley_terry(wins, prior), bradley_terry(wins, prior, start=np.linspace(-3, 3, 20))
    near = bradley_terry(wins, prior, start=before.strengths)
    assert near.ratings == pytest.approx(fit.ratings, abs=1e-6)
    assert far.ratings == pytest.approx(fit.ratings, abs=1e-6)
    assert near.steps < fit.steps
    beside = fit.strengths + np.linspace(0, 1e-6, 20)
    assert bradley_terry(wins, prior, start=beside).steps == 1


def test_the_prior_is_a_tied_game_with_a_phantom_of_mean_strength():
    wins = wins_of((0, 1, 5), (1, 2, 3), (2, 0, 1), (0, 2, 4), models=3)
    prior = 0.7
    with_phantom = np.zeros((4, 4))
    with_phantom[:3, :3] = wins
    with_phantom[3, :3] = with_phantom[:3, 3] = prior
    phantom = bradley_terry(with_phantom, 0).strengths
    assert bradley_terry(wins, prior).strengths == pytest.approx(phantom[:3] - phantom[3], abs=1e-9)


@pytest.mark.parametrize("kind", [Outcome.TIE, Outcome.BOTH_BAD])
def test_ties_count_half_to_each_side_and_both_bad_not_at_all_if_left_out(kind):
    one = np.ones(1, np.int32)
    votes = Votes(0 * one, one, (kind * one).astype(np.int8), 2)
    assert win_matrix(votes).tolist() == [[0, 0.5], [0.5, 0]]
    left = 0 if kind == Outcome.BOTH_BAD else 1
    assert win_matrix(votes.take(votes.outcome != Outcome.BOTH_BAD)).sum() == left


@pytest.mark.parametrize(
    ("wins", "statuses", "components", "without_prior"),
    [
        (wins_of(), [UNPLAYED] * 4, [-1] * 4, [False] * 4),
        (wins_of((0, 1, 1)), [UNBEATEN, WINLESS, UNPLAYED, UNPLAYED], [0, 0, -1, -1], [False] * 4),
        (
            wins_of((0, 1, 2), (1, 0, 1), (3, 0, 5)),
            [RATED, RATED, UNPLAYED, UNBEATEN],
            [0, 0, -1, 0],
            [True, True, False, False],
        ),
        (
            wins_of((0, 1, 2), (1, 0, 1), (0, 3, 1), (3, 2, 1)),
            [RATED, RATED, WINLESS, SEPARATED],
            [0, 0, 0, 0],
            [True, True, False, False],
        ),
        (
            wins_of((0, 1, 2), (1, 0, 1), (2, 3, 1), (3, 2, 1)),
            [RATED] * 4,
            [0, 0, 1, 1],
            [True] * 4,
        ),
        (
            wins_of((0, 1, 2), (1, 0, 1), (2, 3, 1), (3, 2, 1), (0, 2, 1)),
            [SEPARATED] * 4,
            [0, 0, 0, 0],
            [True] * 4,
        ),
        (
            wins_of((0, 1, 2), (1, 2, 1), (2, 0, 1), (0, 3, 0.5), (3, 0, 0.5)),
            [RATED] * 4,
            [0] * 4,
            [True] * 4,
        ),
    ],
    ids=[
        "no vote",
        "one vote",
        "unbeaten",
        "winless and separated",
        "disconnected",
        "two halves",
        "tied once",
    ],
)
def test_what_the_votes_leave_open_is_said(wins, statuses, components, without_prior):
    fit = bradley_terry(wins)
    assert list(fit.statuses) == statuses
    assert fit.components.tolist() == components
    played = fit.components >= 0
    assert np.isfinite(fit.ratings[played]).all()
    assert np.isnan(fit.ratings[~played]).all()
    assert np.abs(fit.ratings[played] - 1000).max(initial=0) < 1200
    bare = bradley_terry(wins, prior=0)
    assert (~np.isnan(bare.ratings)).tolist() == without_prior
    assert list(bare.statuses) == statuses


def test_no_models_at_all():
    fit = bradley_terry(np.zeros((0, 0)))
    assert (len(fit.ratings), fit.statuses) == (0, ())
    assert win_chances(fit).shape == (0, 0)


def test_models_that_never_met_have_means_of_their_own_and_are_not_compared():
    wins = wins_of((0, 1, 3), (1, 0, 1), (2, 3, 9), (3, 2, 1), (3, 4, 4), (4, 3, 4), models=5)
    fit = bradley_terry(wins, 0)
    assert fit.components.tolist() == [1, 1, 0, 0, 0]
    assert fit.ratings[:2].mean() == pytest.approx(1000)
    assert fit.ratings[2:].mean() == pytest.approx(1000)
    assert fit.to_ratings(fit.strengths + [3, 3, 0, 0, 0]) == pytest.approx(fit.ratings), (
        "nothing says where a group stands"
    )
    assert np.isnan(win_chances(fit)[0, 2:]).all()
    assert mean_win_chances(fit)[:2].tolist() == pytest.approx([0.75, 0.25])


def test_without_prior_battles_across_a_separation_move_nothing():
    cycle = wins_of((0, 1, 5), (1, 2, 3), (2, 0, 2), models=5)
    across = cycle + wins_of((3, 0, 7), (3, 1, 9), (2, 4, 3), models=5)
    assert bradley_terry(across, 0).ratings[:3] == pytest.approx(
        bradley_terry(cycle, 0).ratings[:3], abs=1e-9
    )


def test_equal_models_are_equal():
    fit = bradley_terry(np.ones((6, 6)) - np.eye(6))
    assert fit.ratings == pytest.approx(1000)
    assert win_chances(fit)[0, 1:] == pytest.approx(0.5)
    assert mean_win_chances(fit) == pytest.approx(0.5)


def test_predicted_wins_are_those_of_the_difference():
    fit = bradley_terry(wins_of((0, 1, 10), (1, 0, 1), (1, 2, 1), (2, 1, 1), models=3), 0)
    chances = win_chances(fit)
    assert chances[0, 1] == pytest.approx(10 / 11)
    assert (chances + chances.T)[0, 1] == pytest.approx(1)
    assert mean_win_chances(fit)[0] == pytest.approx(chances[0, 1:].mean())
    assert np.isnan(chances.diagonal()).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 0.5]))
def test_order_sides_and_splits_change_nothing(seed, prior):
    votes = even_votes(seed, 6, 120, ties=0.2)
    fit = bradley_terry(win_matrix(votes), prior)
    order = np.random.default_rng(seed).permutation(len(votes))
    swapped = Votes(votes.b, votes.a, np.array([1, 0, 2, 3])[votes.outcome], 6)
    halves = [votes.take(order[:50]), votes.take(order[50:])]
    for same in (win_matrix(votes.take(order)), win_matrix(swapped), sum(map(win_matrix, halves))):
        assert bradley_terry(same, prior).ratings == pytest.approx(
            fit.ratings, abs=1e-9, nan_ok=True
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_doubled_votes_leave_ratings_without_prior_and_renaming_moves_names_only(seed):
    votes = even_votes(seed, 5, 60)
    wins = win_matrix(votes)
    fit = bradley_terry(wins, 0)
    assert bradley_terry(2 * wins, 0).ratings == pytest.approx(fit.ratings, abs=1e-7, nan_ok=True)
    names = np.random.default_rng(seed).permutation(5)
    renamed = bradley_terry(wins[names][:, names], 0.5)
    assert renamed.ratings == pytest.approx(bradley_terry(wins, 0.5).ratings[names], abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 10**6)), max_size=12)
)
def test_whatever_the_votes_the_numbers_are_finite_and_the_fit_is_a_maximum(cells):
    wins = np.zeros((5, 5))
    for winner, hop, number in cells:
        wins[winner, (winner + hop) % 5] += number
    for prior in (0, 0.01, 0.5):
        fit = bradley_terry(wins, prior)
        numbered = ~np.isnan(fit.ratings)
        assert np.isfinite(fit.ratings[numbered]).all()
        assert fit.residual < 1e-4
        assert numbered.all() or prior == 0 or (fit.components[~numbered] == -1).all()


@pytest.mark.parametrize(
    ("prior", "cells"),
    [
        (0.01, [(0, 1, 1653), (0, 3, 1176), (1, 0, 7), (1, 4, 10317), (2, 3, 194078), (4, 2, 3)]),
        (
            0.5,
            [
                (1, 0, 650),
                (1, 3, 866351),
                (1, 4, 6),
                (2, 0, 811432),
                (3, 2, 11),
                (4, 0, 1),
                (4, 3, 5888),
            ],
        ),
    ],
)
def test_few_upsets_among_very_many_wins_do_not_throw_the_fit_off(prior, cells):
    """Newton's full steps end at strengths of billions here."""
    fit = bradley_terry(wins_of(*cells, models=5), prior)
    assert fit.residual < 1e-6
    assert np.abs(fit.strengths).max() < 30


@pytest.mark.parametrize(
    ("wins", "prior", "problem"),
    [
        (np.zeros((2, 3)), 0.5, "square"),
        (np.array([[0, -1], [1, 0]]), 0.5, "from 0"),
        (np.array([[0, np.nan], [1, 0]]), 0.5, "finite"),
        (np.eye(2), 0.5, "cannot beat itself"),
        (np.zeros((2, 2)), -1, "a prior is 0"),
        (np.zeros((2, 2)), float("nan"), "a prior is 0"),
    ],
)
def test_what_is_no_board_is_refused(wins, prior, problem):
    with pytest.raises(ValueError, match=problem):
        bradley_terry(wins, prior)


def test_a_fit_that_does_not_settle_is_an_error(monkeypatch):
    monkeypatch.setattr("arena.ratings.bradley_terry.MOST_STEPS", 2)
    with pytest.raises(ConvergenceError, match="did not settle in 2 steps"):
        bradley_terry(wins_of((0, 1, 1000), (1, 0, 1), models=2), 0)


def test_planted_strengths_come_back():
    arena = tuple_arena(11, 20, 400_000)
    ratings = bradley_terry(win_matrix(arena.votes)).ratings
    print("seed 11, rms error", np.sqrt(np.mean((ratings - arena.truth) ** 2)))
    assert np.sqrt(np.mean((ratings - arena.truth) ** 2)) < 8


@pytest.mark.parametrize(
    ("models", "wins"), [pytest.param(300, 100, marks=pytest.mark.soak), (100, 1e4), (30, 1e9)]
)
def test_models_that_beat_all_below_them_settle_however_far_apart(models, wins):
    fit = bradley_terry(np.triu(np.full((models, models), float(wins)), 1))
    assert (np.diff(fit.ratings) < 0).all() and np.isfinite(fit.ratings).all()


@pytest.mark.parametrize("prior", [0.003, 0.001, 1e-4])
def test_very_many_wins_settle_under_a_weak_prior(prior):
    wins = np.zeros((6, 6))
    wins[0, [3, 5]] = 19931780, 150708696
    wins[1, [0, 3, 4, 5]] = 689100, 2, 19, 372
    wins[2, [1, 3, 4, 5]] = 5017962, 404394440, 292878241, 201
    wins[3, [1, 2, 4]] = 13, 369497, 390
    wins[4, [0, 1, 5]] = 1, 10911, 2987582
    wins[5, [0, 2, 3, 4]] = 3370680, 593, 407060, 294535435
    assert bradley_terry(wins, prior).ratings == pytest.approx(
        bradley_terry(wins, 0.01).ratings, abs=0.01
    )


@pytest.mark.parametrize("prior", [-1, 1e-300, 1e-5, float("nan"), float("inf")])
def test_a_prior_that_arithmetic_cannot_tell_from_none_is_refused(prior):
    with pytest.raises(ValueError, match="a prior is 0"):
        bradley_terry(np.array([[0, 1], [0, 0.0]]), prior)
