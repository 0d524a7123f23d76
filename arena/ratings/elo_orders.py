"""Elo over seeded random orders of the votes, since a single pass depends on their order (10 to 15 points at K=4)."""

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from arena.ratings.intervals import percentiles
from arena.ratings.votes import ELO, SCORES, Floats, Votes

ORDERS_A_SHUFFLE = 50
STEPS_AT_ONCE = 256
"""The votes of each order that are looked up at once."""
_MODEL_BITS = 15
_SCORE_BITS = 2
_MOST_MODELS = 1 << _MODEL_BITS
_MODEL_MASK = _MOST_MODELS - 1
_SCORE_MASK = (1 << _SCORE_BITS) - 1


@dataclass(frozen=True, eq=False)
class EloOrders:
    """Elo over orders of the votes, by model code; its spread is over orders, not a confidence interval."""

    median: Floats
    low: Floats
    high: Floats


def elo_orders(votes: Votes, rounds: int, seed: int) -> EloOrders:
    """Returns the median and the spread of Elo over `rounds` seeded orders of all votes.

    Raises ValueError without a round, and for more than 32,768 models.

    Each group of ORDERS_A_SHUFFLE orders walks through one shuffle of the votes, by strides coprime to their number.
    """
    if rounds < 1:
        raise ValueError("Elo over orders takes at least one round")
    n = len(votes)
    m = votes.models
    packed = _pack(votes)
    coin = np.random.default_rng(seed)
    shuffles = ceil(rounds / ORDERS_A_SHUFFLE)
    shuffled = np.concatenate([coin.permutation(packed) for _ in range(shuffles)])
    stride = coin.integers(1, max(1, n), rounds, endpoint=True)
    has_common_divisor = np.gcd(stride, n) > 1
    while has_common_divisor.any():
        stride[has_common_divisor] = coin.integers(
            1, n, int(has_common_divisor.sum()), endpoint=True
        )
        has_common_divisor = np.gcd(stride, n) > 1
    offset = coin.integers(0, max(1, n), rounds)
    order = np.arange(rounds)
    shuffle_start = order // ORDERS_A_SHUFFLE * n
    ratings = np.zeros(rounds * m)  # Each order's models, one order after the other.
    rate = 1 / ELO.points
    for first in range(0, n, STEPS_AT_ONCE):
        step = np.arange(first, min(first + STEPS_AT_ONCE, n))[:, None]
        hops = offset + stride * step
        place = hops - hops // n * n  # hops % n, but faster
        vote = shuffled.take(shuffle_start + place)
        models_a = order * m + (vote >> (_MODEL_BITS + _SCORE_BITS))
        models_b = order * m + ((vote >> _SCORE_BITS) & _MODEL_MASK)
        scores = 0.5 * (vote & _SCORE_MASK)
        for a, b, score in zip(models_a, models_b, scores, strict=True):
            rating_a = ratings.take(a)
            rating_b = ratings.take(b)
            gain = ELO.k * (score - 1 / (1 + np.exp(rate * (rating_b - rating_a))))
            ratings[a] = rating_a + gain
            ratings[b] = rating_b - gain
    ratings = ratings.reshape(rounds, m) + ELO.start
    bounds = percentiles(ratings)
    return EloOrders(np.median(ratings, axis=0), bounds.low, bounds.high)


def _pack(votes: Votes) -> npt.NDArray[np.uint32]:
    """Returns each vote packed into one number: model a, model b, and twice the score of a in the lowest bits."""
    if votes.models > _MOST_MODELS:
        raise ValueError("Elo over orders takes up to 32,768 models")
    packed = votes.a.astype(np.uint32)
    packed <<= _MODEL_BITS
    packed |= votes.b.astype(np.uint32, copy=False)
    packed <<= _SCORE_BITS
    packed |= (2 * SCORES).astype(np.uint32)[votes.outcome]
    return packed
