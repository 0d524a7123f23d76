"""Draws: Elo over orders and bootstraps have the law they claim."""

from itertools import permutations

import numpy as np
import pytest

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.elo_orders import elo_orders
from arena.ratings.intervals import bootstrap, intervals
from arena.ratings.votes import elo
from tests.support.arenas import decided, even_votes, voter_arena, votes_of_wins


def test_the_median_over_orders_is_that_of_all_orders():
    """Six votes have 720 orders; 3,000 seeded ones come close to all of them."""
    votes = decided([0, 0, 1, 2, 3, 2], [1, 2, 2, 0, 0, 3], 4)
    every = np.array([elo(votes.take(np.array(order))) for order in permutations(range(6))])
    drawn = elo_orders(votes, 3000, seed=5)
    assert drawn.median == pytest.approx(np.median(every, axis=0), abs=0.01)
    assert drawn.low == pytest.approx(np.quantile(every, 0.025, axis=0), abs=0.02)
    assert drawn.high == pytest.approx(np.quantile(every, 0.975, axis=0), abs=0.02)


def test_the_spread_over_orders_is_that_of_plain_shuffles():
    votes, coin = even_votes(21, 8, 3000, ties=0.1), np.random.default_rng(99)
    expected = np.array([elo(votes.take(coin.permutation(len(votes)))) for _ in range(200)])
    drawn = elo_orders(votes, 1000, seed=3)
    assert drawn.median == pytest.approx(np.median(expected, axis=0), abs=4)
    wide = np.quantile(expected, 0.975, axis=0) - np.quantile(expected, 0.025, axis=0)
    assert float(np.mean((drawn.high - drawn.low) / wide)) == pytest.approx(1, abs=0.08)


def test_orders_with_one_vote_and_with_none():
    assert elo_orders(decided([0], [1], 2), 7, seed=0).low.tolist() == [1002, 998]
    assert elo_orders(decided([], [], 2), 3, seed=0).median.tolist() == [1000, 1000]


def test_orders_follow_from_their_seed():
    votes = even_votes(2, 5, 300)
    first, again, other = (elo_orders(votes, 60, seed) for seed in (1, 1, 2))
    assert first.median.tolist() == again.median.tolist()
    assert first.median.tolist() != other.median.tolist()


def test_more_models_than_a_packed_vote_holds_are_refused():
    with pytest.raises(ValueError, match="32,768"):
        elo_orders(decided([0], [1], 40_000), 5, 0)


@pytest.mark.parametrize("rounds", [0, -1])
def test_no_rounds_are_refused(rounds):
    votes = even_votes(1, 3, 20)
    fit = bradley_terry(win_matrix(votes))
    for refused in (
        lambda: elo_orders(votes, rounds, 0),
        lambda: bootstrap(fit, intervals(fit, votes, "vote"), rounds, 0),
    ):
        with pytest.raises(ValueError, match="at least one round"):
            refused()


@pytest.mark.parametrize("cluster", ["vote", "item", "tuple", "voter"])
def test_draws_spread_as_far_as_the_intervals(cluster):
    votes = voter_arena(15, 10, 8000, 200, 0.6, each=5).votes
    fit = bradley_terry(win_matrix(votes))
    found = intervals(fit, votes, cluster)
    drawn = bootstrap(fit, found, 4000, seed=1).ratings
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    assert high - low == pytest.approx(found.high - found.low, rel=0.08)
    assert drawn.mean(0) == pytest.approx(fit.ratings, abs=2)


def test_draws_hang_together_as_refits_to_drawn_votes_do():
    """The distance of two models, not only where each stands, is as far spread as over draws of votes."""
    votes = even_votes(31, 6, 2000)
    fit, coin = bradley_terry(win_matrix(votes)), np.random.default_rng(3)
    again = [
        bradley_terry(win_matrix(votes.take(coin.integers(0, 2000, 2000)))).ratings
        for _ in range(400)
    ]
    drawn = bootstrap(fit, intervals(fit, votes, "vote"), 2000, seed=0).ratings
    spreads = [
        np.std(one[:, :, None] - one[:, None, :], axis=0) for one in (np.array(again), drawn)
    ]
    apart = ~np.eye(6, dtype=bool)
    assert float(np.mean(spreads[1][apart] / spreads[0][apart])) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("prior", [0, 0.5])
def test_winless_and_separate_models_stay_finite_in_every_draw(prior):
    wins = np.zeros((6, 6))
    wins[0, 1], wins[1, 0], wins[2, 0] = 4, 2, 3
    wins[3, 4] = wins[4, 3] = 1
    fit = bradley_terry(wins, prior)
    drawn = bootstrap(fit, intervals(fit, votes_of_wins(wins), "vote"), 200, seed=0)
    numbered = ~np.isnan(fit.ratings)
    assert np.isfinite(drawn.ratings[:, numbered]).all()
    assert np.isnan(drawn.ratings[:, ~numbered]).all()


def test_an_empty_board_has_an_empty_bootstrap():
    fit = bradley_terry(np.zeros((3, 3)))
    found = intervals(fit, decided([], [], 3), "vote")
    assert np.isnan(bootstrap(fit, found, 10, 0).ratings).all()
