"""Draws: Elo over orders and bootstraps have the law they claim."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from arena.ratings.bootstrap import bootstrap, voter_bootstrap
from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.clusters import pair_clusters
from arena.ratings.elo_orders import elo_orders
from arena.ratings.intervals import intervals
from arena.ratings.votes import VotesError, elo
from tests.support.arenas import decided, even_votes, tuple_arena, voter_arena, wins_as_clusters


def test_the_median_over_orders_is_that_of_all_orders():
    """Seven votes have 5,040 orders; 3,000 seeded ones come close to all of them."""
    votes = decided([0, 0, 1, 2, 3, 0, 2], [1, 2, 2, 0, 0, 3, 3], 4)
    every = np.array([elo(votes.take(np.array(order))) for order in permutations(range(7))])
    drawn = elo_orders(votes, 3000, seed=5)
    assert drawn.median == pytest.approx(np.median(every, axis=0), abs=0.01)
    assert drawn.low == pytest.approx(np.quantile(every, 0.025, axis=0), abs=0.02)
    assert drawn.high == pytest.approx(np.quantile(every, 0.975, axis=0), abs=0.02)


def test_the_spread_over_orders_is_that_of_plain_shuffles():
    votes, coin = even_votes(21, 8, 3000, ties=0.1), np.random.default_rng(99)
    expected = np.array([elo(votes.take(coin.permutation(len(votes)))) for _ in range(400)])
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
        lambda: bootstrap(fit, wins_as_clusters(fit.wins), rounds, 0),
        lambda: voter_bootstrap(fit, votes, rounds, 0),
    ):
        with pytest.raises(ValueError, match="at least one round"):
            refused()


@pytest.mark.parametrize(("models", "number"), [(6, 2000), (30, 20_000)])
def test_the_bootstrap_over_votes_spreads_like_the_sandwich(models, number):
    votes = even_votes(31, models, number)
    fit = bradley_terry(win_matrix(votes))
    drawn = bootstrap(fit, pair_clusters(votes, "vote"), 1000, seed=0)
    assert float(np.mean(drawn.ratings.std(0) / intervals(fit, votes, "vote").errors)) == pytest.approx(1, abs=0.04)
    assert drawn.ratings.mean(0) == pytest.approx(fit.ratings, abs=5)
    assert (len(drawn.ratings), drawn.cluster, drawn.refitted) == (1000, "vote", 0)


def test_the_bootstrap_over_tuples_and_voters_spreads_like_theirs():
    votes = tuple_arena(14, 10, 8000).votes
    fit = bradley_terry(win_matrix(votes))
    by_tuple = bootstrap(fit, pair_clusters(votes, "tuple"), 1000, seed=1)
    assert float(np.mean(by_tuple.ratings.std(0) / intervals(fit, votes, "tuple").errors)) == pytest.approx(1, abs=0.05)
    votes = voter_arena(15, 10, 8000, 200, 0.6).votes
    fit = bradley_terry(win_matrix(votes))
    by_voter = voter_bootstrap(fit, votes, 600, seed=1)
    assert float(np.mean(by_voter.ratings.std(0) / intervals(fit, votes, "voter").errors)) == pytest.approx(1, abs=0.06)
    assert by_voter.cluster == "voter"


def test_weights_hold_in_the_bootstrap_over_voters():
    votes = even_votes(16, 5, 2000)
    weighted = replace(votes, weights=np.full(2000, 0.5))
    plain, halved = (bradley_terry(win_matrix(one), 0) for one in (votes, weighted))
    drawn, light = voter_bootstrap(plain, votes, 40, 3), voter_bootstrap(halved, weighted, 40, 3)
    assert light.ratings == pytest.approx(drawn.ratings, abs=0.01)


def test_the_spread_falls_with_the_root_of_the_votes():
    fit = bradley_terry(win_matrix(even_votes(17, 5, 300)))
    drawn = bootstrap(fit, wins_as_clusters(fit.wins), 50, seed=4)
    double = bradley_terry(2 * fit.wins)
    again = bootstrap(double, wins_as_clusters(double.wins), 50, seed=4)
    assert float(np.mean(drawn.ratings.std(0) / again.ratings.std(0))) == pytest.approx(np.sqrt(2), rel=0.08)


def test_draws_that_do_not_settle_are_fitted_by_newton(monkeypatch):
    fit = bradley_terry(win_matrix(even_votes(18, 12, 200)))
    clusters = wins_as_clusters(fit.wins)
    quick = bootstrap(fit, clusters, 64, seed=0)
    monkeypatch.setattr("arena.ratings.bootstrap.MOST_MOVES", 3)
    slow = bootstrap(fit, clusters, 64, seed=0)
    assert slow.refitted > 32
    assert slow.ratings == pytest.approx(quick.ratings, abs=0.01)


@pytest.mark.parametrize("prior", [0, 0.5])
def test_winless_and_separate_models_stay_finite_in_every_draw(prior):
    wins = np.zeros((6, 6))
    wins[0, 1], wins[1, 0], wins[2, 0] = 4, 2, 3
    wins[3, 4] = wins[4, 3] = 1
    fit = bradley_terry(wins, prior)
    drawn = bootstrap(fit, wins_as_clusters(wins), 200, seed=0)
    numbered = ~np.isnan(fit.ratings)
    assert np.isfinite(drawn.ratings[:, numbered]).all()
    assert np.isnan(drawn.ratings[:, ~numbered]).all()
    assert drawn.ratings[:, [3, 4]].mean(1) == pytest.approx(1000)
    ranks = drawn.rank_bounds()
    assert ranks.high[[3, 4]].tolist() == [2, 2]
    assert np.isnan(ranks.low[5])


def test_an_empty_board_has_an_empty_bootstrap():
    fit = bradley_terry(np.zeros((3, 3)))
    assert np.isnan(bootstrap(fit, wins_as_clusters(fit.wins), 10, 0).ratings).all()


def test_rank_bounds_tell_the_sure_from_the_open():
    wins = np.array([[0, 900, 900, 900], [100, 0, 500, 900], [100, 500, 0, 900], [100, 100, 100, 0.0]])
    drawn = bootstrap(bradley_terry(wins), wins_as_clusters(wins), 500, 0)
    ranks = drawn.rank_bounds()
    assert ranks.low.tolist() == [1, 2, 2, 4]
    assert ranks.high.tolist() == [1, 3, 3, 4]


def test_a_bootstrap_over_voters_needs_voters():
    votes = decided([0], [1], 2)
    with pytest.raises(VotesError, match="who cast"):
        voter_bootstrap(bradley_terry(win_matrix(votes)), votes, 5, 0)
