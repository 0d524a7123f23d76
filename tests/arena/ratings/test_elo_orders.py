"""Elo over orders: the median and the spread of shuffled votes."""

from itertools import permutations

import numpy as np
import pytest

from arena.ratings.elo_orders import elo_orders
from arena.ratings.votes import elo
from tests.support.arenas import decided, even_votes


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
    with pytest.raises(ValueError, match="at least one round"):
        elo_orders(even_votes(1, 3, 20), rounds, 0)
