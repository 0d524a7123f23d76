"""Draws: Elo over orders and bootstraps have the law they claim, and the compiled loops come to the same ratings."""

from dataclasses import replace
from importlib.util import find_spec
from itertools import permutations

import numpy as np
import pytest

from arena.ratings.bootstrap import bootstrap, voter_bootstrap
from arena.ratings.bradley_terry import Anchor, bradley_terry, win_matrix
from arena.ratings.clusters import pair_clusters, vote_clusters
from arena.ratings.elo_orders import compiled_elo, elo_orders
from arena.ratings.intervals import intervals, vote_intervals
from arena.ratings.votes import EloSettings, Votes, VotesError, decided, elo
from tests.support.arenas import even_votes, tuple_arena, voter_arena


def test_the_median_over_orders_is_that_of_all_orders():
    """Seven votes have 5,040 orders; 3,000 seeded ones come close to all of them."""
    votes = decided([0, 0, 1, 2, 3, 0, 2], [1, 2, 2, 0, 0, 3, 3], 4)
    settings = EloSettings(k=100)
    every = np.array([elo(votes.take(np.array(order)), settings).ratings for order in permutations(range(7))])
    drawn = elo_orders(votes, 3000, seed=5, settings=settings)
    assert drawn.median == pytest.approx(np.median(every, axis=0), abs=1.5)
    assert drawn.low == pytest.approx(np.quantile(every, 0.025, axis=0), abs=4)
    assert drawn.high == pytest.approx(np.quantile(every, 0.975, axis=0), abs=4)


def shuffled(votes: Votes, rounds: int, replacement: bool) -> np.ndarray:
    """Elo over draws as numpy makes them, one after another."""
    coin = np.random.default_rng(99)
    places = [
        coin.integers(0, len(votes), len(votes)) if replacement else coin.permutation(len(votes)) for _ in range(rounds)
    ]
    return np.array([elo(votes.take(place)).ratings for place in places])


@pytest.mark.parametrize("draw", ["orders", "bootstrap"])
def test_the_spread_over_draws_is_that_of_plain_draws(draw):
    votes = even_votes(21, 8, 3000, ties=0.1)
    expected = shuffled(votes, 400, draw == "bootstrap")
    drawn = elo_orders(votes, 1000, seed=3, draw=draw)
    assert drawn.median == pytest.approx(np.median(expected, axis=0), abs=4)
    wide = np.quantile(expected, 0.975, axis=0) - np.quantile(expected, 0.025, axis=0)
    assert float(np.mean((drawn.high - drawn.low) / wide)) == pytest.approx(1, abs=0.08)


def test_draws_share_their_pairs_where_that_says_little_about_the_outcome():
    """Many votes a pair make outcomes as free as votes; few, or a circle of models, tie them to the pairs."""
    circle = decided([0, 1, 2] * 900 + [1, 2, 0] * 100, [1, 2, 0] * 900 + [0, 1, 2] * 100, 3)
    dense, sparse = even_votes(6, 8, 30_000, ties=0.1), even_votes(6, 8, 100)
    lanes = [elo_orders(votes, 4, 0, draw="bootstrap").lanes for votes in (dense, sparse, circle)]
    assert lanes == [32, 2, 2]
    assert elo_orders(dense, 4, 0).lanes == 1


def test_draws_that_share_their_pairs_are_nearly_as_good_as_independent_ones():
    """Medians over 32 draws vary by at most a quarter more; 32 lanes would make it four times as much here."""
    votes = even_votes(21, 8, 300)
    assert elo_orders(votes, 32, 0, draw="bootstrap").lanes == 2
    medians = [elo_orders(votes, 32, seed, draw="bootstrap").median for seed in range(60)]
    independent = np.median(shuffled(votes, 60 * 32, replacement=True).reshape(60, 32, -1), axis=1)
    assert np.var(medians, axis=0).mean() / independent.var(axis=0).mean() < 1.6


def test_orders_with_one_vote_and_with_none():
    assert elo_orders(decided([0], [1], 2), 7, seed=0).low.tolist() == [1002, 998]
    for draw in ("orders", "bootstrap"):
        assert elo_orders(decided([], [], 2), 3, seed=0, draw=draw).median.tolist() == [1000, 1000]
    assert elo_orders(decided([0], [1], 2), 3, seed=0, draw="bootstrap").high.tolist() == [1002, 998]


@pytest.mark.parametrize("draw", ["orders", "bootstrap"])
def test_draws_follow_from_their_seed(draw):
    votes = even_votes(2, 5, 300)
    first, again, other = (elo_orders(votes, 60, seed, draw=draw) for seed in (1, 1, 2))
    assert first.median.tolist() == again.median.tolist()
    assert first.median.tolist() != other.median.tolist()
    assert (first.rounds, first.seed, first.draw, first.level) == (60, 1, draw, 0.95)


def test_more_models_than_a_packed_vote_holds_are_refused():
    with pytest.raises(ValueError, match="32,768"):
        elo_orders(decided([0], [1], 40_000), 5, 0)


@pytest.mark.parametrize("rounds", [0, -1])
def test_no_rounds_are_refused(rounds):
    votes = even_votes(1, 3, 20)
    fit = bradley_terry(win_matrix(votes))
    for refused in (
        lambda: elo_orders(votes, rounds, 0),
        lambda: bootstrap(fit, vote_clusters(fit.wins), rounds, 0),
        lambda: voter_bootstrap(fit, votes, rounds, 0),
    ):
        with pytest.raises(ValueError, match="at least one round"):
            refused()


@pytest.mark.parametrize(("models", "number"), [(6, 2000), (30, 20_000)])
def test_the_bootstrap_over_votes_spreads_like_the_sandwich(models, number):
    fit = bradley_terry(win_matrix(even_votes(31, models, number)))
    drawn = bootstrap(fit, vote_clusters(fit.wins), 1000, seed=0)
    assert float(np.mean(drawn.ratings.std(0) / vote_intervals(fit).errors)) == pytest.approx(1, abs=0.04)
    assert drawn.ratings.mean(0) == pytest.approx(fit.ratings, abs=5)
    assert (drawn.rounds, drawn.seed, drawn.cluster, drawn.refitted) == (1000, 0, "vote", 0)


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
    drawn = bootstrap(fit, vote_clusters(fit.wins), 50, seed=4)
    double = bradley_terry(2 * fit.wins)
    again = bootstrap(double, vote_clusters(double.wins), 50, seed=4)
    assert float(np.mean(drawn.ratings.std(0) / again.ratings.std(0))) == pytest.approx(np.sqrt(2), rel=0.08)


def test_draws_that_do_not_settle_are_fitted_by_newton(monkeypatch):
    fit = bradley_terry(win_matrix(even_votes(18, 12, 200)))
    clusters = vote_clusters(fit.wins)
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
    drawn = bootstrap(fit, vote_clusters(wins), 200, seed=0)
    numbered = ~np.isnan(fit.ratings)
    assert np.isfinite(drawn.ratings[:, numbered]).all()
    assert np.isnan(drawn.ratings[:, ~numbered]).all()
    assert drawn.ratings[:, [3, 4]].mean(1) == pytest.approx(1000)
    ranks = drawn.rank_bounds()
    assert ranks.high[[3, 4]].tolist() == [2, 2]
    assert np.isnan(ranks.low[5])


def test_an_empty_board_has_an_empty_bootstrap():
    fit = bradley_terry(np.zeros((3, 3)))
    assert np.isnan(bootstrap(fit, vote_clusters(fit.wins), 10, 0).ratings).all()


def test_the_anchor_holds_in_every_draw():
    fit = bradley_terry(win_matrix(even_votes(19, 5, 500)), anchor=Anchor(1, 1114))
    assert bootstrap(fit, vote_clusters(fit.wins), 40, 0).ratings[:, 1] == pytest.approx(1114)


def test_rank_bounds_tell_the_sure_from_the_open():
    wins = np.array([[0, 900, 900, 900], [100, 0, 500, 900], [100, 500, 0, 900], [100, 100, 100, 0.0]])
    drawn = bootstrap(bradley_terry(wins), vote_clusters(wins), 500, 0)
    ranks = drawn.rank_bounds()
    assert ranks.low.tolist() == [1, 2, 2, 4]
    assert ranks.high.tolist() == [1, 3, 3, 4]
    bounds = drawn.bounds()
    assert (bounds.low < drawn.ratings.mean(0)).all()
    assert (drawn.ratings.mean(0) < bounds.high).all()


def test_a_bootstrap_over_voters_needs_voters():
    votes = decided([0], [1], 2)
    with pytest.raises(VotesError, match="who cast"):
        voter_bootstrap(bradley_terry(win_matrix(votes)), votes, 5, 0)


@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
class TestCompiled:
    """The loops that numba compiles, where it is installed."""

    @pytest.mark.parametrize("seed", [1, 2])
    def test_one_pass(self, seed):
        votes = even_votes(seed, 40, 30_000, ties=0.2)
        settings = EloSettings(k=16)
        assert compiled_elo(votes, settings).ratings == pytest.approx(elo(votes, settings).ratings, abs=1e-8)
        assert compiled_elo(decided([], [], 2)).ratings.tolist() == [1000, 1000]

    @pytest.mark.parametrize(("draw", "models"), [("orders", 20), ("bootstrap", 4), ("bootstrap", 12)])
    def test_draws(self, draw, models):
        votes = even_votes(3, models, 3000, ties=0.2)
        plain, compiled = (elo_orders(votes, 120, 9, draw=draw, engine=engine) for engine in ("plain", "compiled"))
        for one, other in ((plain.median, compiled.median), (plain.low, compiled.low), (plain.high, compiled.high)):
            assert other == pytest.approx(one, abs=1e-8)

    @pytest.mark.parametrize(("models", "number"), [(4, 100), (25, 3000), (25, 100_000)])
    def test_bootstrap(self, models, number):
        votes = tuple_arena(4, models, number).votes
        fit = bradley_terry(win_matrix(votes))
        clusters = pair_clusters(votes, "tuple")
        plain, compiled = (bootstrap(fit, clusters, 70, 6, engine) for engine in ("plain", "compiled"))
        assert compiled.ratings == pytest.approx(plain.ratings, abs=1e-3)
        assert compiled.ratings.shape == (70, models)
