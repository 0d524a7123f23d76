"""Elo over seeded random orders of the votes, since a single pass depends on their order (10 to 15 points at K=4)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.ratings.intervals import percentiles
from arena.ratings.votes import ELO, SCORES, Floats, Votes

ORDERS_A_SHUFFLE = 50
STEPS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class EloOrders:
    """Elo over orders of the votes, by model code; its spread is over orders, not a confidence interval."""

    median: Floats
    low: Floats
    high: Floats


def elo_orders(votes: Votes, rounds: int, seed: int) -> EloOrders:
    """Returns the median and the spread of Elo over seeded orders of all votes. Raises ValueError without a round.

    Each group of ORDERS_A_SHUFFLE orders walks through one shuffle of the votes, by strides coprime to their number.
    """
    if rounds < 1:
        raise ValueError("Elo over orders takes at least one round")
    n = len(votes)
    m = votes.models
    packed = _packed(votes)
    coin = np.random.default_rng(seed)
    shuffled = np.concatenate(
        [coin.permutation(packed) for _ in range(-(-rounds // ORDERS_A_SHUFFLE))]
    )
    stride = coin.integers(1, max(1, n), rounds, endpoint=True)
    while (shared := np.gcd(stride, n) > 1).any():
        stride[shared] = coin.integers(1, n, int(shared.sum()), endpoint=True)
    offset = coin.integers(0, max(1, n), rounds)
    order = np.arange(rounds)
    ratings = np.zeros(rounds * m)
    rate = 1 / ELO.points
    for first in range(0, n, STEPS_AT_ONCE):
        hops = offset + stride * np.arange(first, min(first + STEPS_AT_ONCE, n))[:, None]
        met = shuffled.take(hops - hops // n * n + order // ORDERS_A_SHUFFLE * n)  # faster than %
        for a, b, score in zip(
            order * m + (met >> 17), order * m + (met >> 2 & 32767), 0.5 * (met & 3), strict=True
        ):
            rating_a = ratings.take(a)
            rating_b = ratings.take(b)
            gain = ELO.k * (score - 1 / (1 + np.exp(rate * (rating_b - rating_a))))
            ratings[a] = rating_a + gain
            ratings[b] = rating_b - gain
    ratings = ratings.reshape(rounds, m) + ELO.start
    bounds = percentiles(ratings)
    return EloOrders(np.median(ratings, axis=0), bounds.low, bounds.high)


def _packed(votes: Votes) -> npt.NDArray[np.uint32]:
    """Returns each vote packed into one number: 15 bits per model, 2 for twice the score."""
    if votes.models > 1 << 15:
        raise ValueError("Elo over orders takes up to 32,768 models")
    packed = votes.a.astype(np.uint32)
    packed <<= 15
    packed |= votes.b.astype(np.uint32, copy=False)
    packed <<= 2
    packed |= (2 * SCORES).astype(np.uint32)[votes.outcome]
    return packed
