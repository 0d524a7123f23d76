"""Elo over many draws of the votes: all votes in random orders, or as many drawn with replacement.

The seed fixes all draws before any arithmetic, so that the numpy functions here and the loops of `compiled.py` (numba,
an optional extra) give the same ratings.

With replacement, a vote is a pair of models drawn from all votes, and an outcome drawn from that pair's outcomes. Lanes
are draws computed side by side: they share the pairs and each draws its own outcomes, so that all lanes do the same
arithmetic and nothing is looked up for a single lane. Each draw has the distribution of FastChat's bootstrap; two draws
that share their pairs are alike only as far as a pair's outcomes differ from what its models' strengths predict. This
is known beforehand, and the number of lanes keeps it small.
"""

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.intervals import LEVEL, percentiles
from arena.ratings.votes import SCORES, Codes, EloRatings, EloSettings, Floats, Outcome, Votes

Engine = Literal["plain", "compiled"]
"""Arithmetic by numpy, or by loops compiled by numba, which must then be installed."""
Draw = Literal["orders", "bootstrap"]
"""All votes in a random order, or as many votes drawn with replacement (FastChat's bootstrap)."""

ORDERS_A_SHUFFLE = 50
STEPS_AT_ONCE = 256
MOST_LANES = 32
MOST_ALIKE = 0.25
"""Largest share by which lanes may widen the variance of a median over the draws; there are at least two lanes."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Step of splitmix64 (Steele, Lea and Flood 2014)."""

_Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class EloOrders:
    """Elo over draws of the votes, by model code; its spread is over orders and rounds, not a confidence interval."""

    median: Floats
    low: Floats
    high: Floats
    level: float
    """Share of the draws from low to high."""
    draw: Draw
    rounds: int
    seed: int
    settings: EloSettings
    lanes: int
    """Draws with replacement that share their pairs; 1 for orders."""


def elo_orders(
    votes: Votes,
    rounds: int,
    seed: int,
    *,
    draw: Draw = "orders",
    settings: EloSettings | None = None,
    level: float = LEVEL,
    engine: Engine = "plain",
) -> EloOrders:
    """Median and spread of Elo ratings over seeded draws of the votes. Raises ValueError without a round.

    One pass of Elo depends on the order of the votes (10 to 15 points at K=4), hence the median.
    """
    if rounds < 1:
        raise ValueError("Elo over orders takes at least one round")
    settings = settings or EloSettings()
    coin = np.random.default_rng(seed)
    drawn = _orders(votes, rounds, coin) if draw == "orders" else _resamples(votes, rounds, coin)
    rated = (_compiled_draws if engine == "compiled" else _plain_draws)(votes, drawn, settings)
    ratings = np.moveaxis(rated, 1, 2).reshape(-1, votes.models)[:rounds] + settings.start
    spread = percentiles(ratings, level)
    lanes = rated.shape[2]
    return EloOrders(np.median(ratings, axis=0), spread.low, spread.high, level, draw, rounds, seed, settings, lanes)


def compiled_elo(votes: Votes, settings: EloSettings | None = None) -> EloRatings:
    """Elo as `votes.elo` computes it, by the compiled loop (equal to 1e-8 rating points)."""
    settings = settings or EloSettings()
    ratings = _compiled().elo(votes.a, votes.b, votes.outcome, SCORES, votes.models, settings.k, 1 / settings.points)
    return EloRatings(ratings + settings.start, settings)


class _Met(NamedTuple):
    """Pairings of some steps, steps x blocks, with side a's score: steps x blocks x lanes."""

    a: Codes
    b: Codes
    score: Floats


class _Orders(NamedTuple):
    """Random orders of the votes, each a block of one lane."""

    shuffled: npt.NDArray[np.uint32]
    """Packed votes in a random order: one order for every ORDERS_A_SHUFFLE blocks."""
    offset: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    """Stride through a random order, coprime to its length: this gives another random order."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of blocks, and of lanes in each."""
        return len(self.offset), 1

    def met(self, steps: npt.NDArray[np.int64]) -> _Met:
        votes = self.shuffled.shape[1]
        hops = self.offset + self.stride * steps[:, None]
        places = hops - hops // votes * votes  # quicker than %
        places += np.arange(len(self.offset)) // ORDERS_A_SHUFFLE * votes
        packed = self.shuffled.ravel().take(places)
        return _Met(packed >> 17, packed >> 2 & 32767, 0.5 * (packed & 3)[..., None])


class _Resamples(NamedTuple):
    """Draws with replacement, in blocks of lanes that share their pairs."""

    pair: npt.NDArray[np.uint32]
    """Pair of each vote."""
    low: Codes
    high: Codes
    """Models of each pair: the lower and the higher code."""
    won: npt.NDArray[np.int64]
    """Of 2 ** 32 numbers, those below this are a win of the pair's lower code."""
    unlost: npt.NDArray[np.int64]
    """Those below this are its win or a tie."""
    key: _Numbers
    """Key of a block's pairs: drawn by splitmix64 of key and step."""
    lane_keys: _Numbers
    """Keys of two neighbouring lanes' outcomes: blocks x lanes / 2."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of blocks, and of lanes in each."""
        return len(self.key), 2 * self.lane_keys.shape[1]

    def met(self, steps: npt.NDArray[np.int64]) -> _Met:
        jumps = steps[:, None].astype(np.uint64) * GOLDEN
        places = (_mixed(self.key + jumps) >> np.uint64(32)) * np.uint64(len(self.pair)) >> np.uint64(32)
        pair = self.pair[places.astype(np.int64)]
        number = _mixed(self.lane_keys + jumps[..., None]).view(np.uint32)
        score = 0.5 * (number < self.won[pair][..., None]) + 0.5 * (number < self.unlost[pair][..., None])
        return _Met(self.low[pair], self.high[pair], score)


def _mixed(numbers: _Numbers) -> _Numbers:
    """splitmix64's outputs for its states."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _orders(votes: Votes, rounds: int, coin: np.random.Generator) -> _Orders:
    n, packed = len(votes), _packed(votes)
    shuffled = np.empty((-(-rounds // ORDERS_A_SHUFFLE), n), np.uint32)
    for order in shuffled:
        order[:] = coin.permutation(packed)
    stride = coin.integers(1, max(1, n), rounds, endpoint=True)
    while (shared := np.gcd(stride, n) > 1).any():
        stride[shared] = coin.integers(1, n, int(shared.sum()), endpoint=True)
    return _Orders(shuffled, coin.integers(0, max(1, n), rounds), stride)


def _packed(votes: Votes) -> npt.NDArray[np.uint32]:
    """Each vote packed into one number: 15 bits per model, 2 for twice the score."""
    if votes.models > 1 << 15:
        raise ValueError("Elo over orders takes up to 32,768 models")
    packed = votes.a.astype(np.uint32)
    packed <<= 15
    packed |= votes.b.astype(np.uint32, copy=False)
    packed <<= 2
    packed |= (2 * SCORES).astype(np.uint32)[votes.outcome]
    return packed


def _resamples(votes: Votes, rounds: int, coin: np.random.Generator) -> _Resamples:
    m = votes.models
    cell = np.minimum(votes.a, votes.b).astype(np.int64) * m + np.maximum(votes.a, votes.b)
    low_won = (votes.outcome == Outcome.A) == (votes.a < votes.b)
    tied = votes.outcome >= Outcome.TIE
    cells = np.bincount(cell, minlength=m * m)
    known = np.flatnonzero(cells)
    number = np.zeros(m * m, np.uint32)
    number[known] = np.arange(len(known))
    n, low, high = cells[known], known // m, known % m
    won, unlost = (np.bincount(cell[of], minlength=m * m)[known] for of in (low_won & ~tied, low_won | tied))
    lanes = _lanes(votes, low, high, n, won, unlost)
    key = coin.integers(0, 1 << 64, (-(-rounds // lanes), 1 + lanes // 2), dtype=np.uint64)
    won, unlost = (np.rint(counted / n * 2.0**32).astype(np.int64) for counted in (won, unlost))
    return _Resamples(number[cell], low, high, won, unlost, key[:, 0].copy(), key[:, 1:].copy())


def _lanes(votes: Votes, low: Codes, high: Codes, n: Codes, won: Codes, unlost: Codes) -> int:
    """Number of draws that may share their pairs.

    Of the variance of a step's surprise (score minus Bradley-Terry's chance), they share what lies between pairs, a
    share r; the variance of a median of so many draws grows by 1 + (lanes - 1) r.
    """
    strengths = bradley_terry(win_matrix(votes)).strengths
    score = (won + unlost) / 2
    between = (score - n / (1 + np.exp(strengths[high] - strengths[low]))) ** 2 / n
    within = (won + (unlost - won) / 4) - score**2 / n
    lanes = MOST_LANES
    while lanes > 2 and (lanes - 1) * between.sum() > MOST_ALIKE * (between + within).sum():
        lanes //= 2
    return lanes


def _plain_draws(votes: Votes, drawn: _Orders | _Resamples, settings: EloSettings) -> Floats:
    """Elo ratings minus their start: blocks x models x lanes."""
    blocks, lanes = drawn.sizes
    row = np.arange(blocks) * votes.models
    ratings = np.zeros((blocks * votes.models, lanes))
    rate, k = 1 / settings.points, settings.k
    for first in range(0, len(votes), STEPS_AT_ONCE):
        met = drawn.met(np.arange(first, min(first + STEPS_AT_ONCE, len(votes))))
        for a, b, score in zip(row + met.a, row + met.b, met.score, strict=True):
            rating_a, rating_b = ratings.take(a, axis=0), ratings.take(b, axis=0)
            gain = k * (score - 1 / (1 + np.exp(rate * (rating_b - rating_a))))
            ratings[a] = rating_a + gain
            ratings[b] = rating_b - gain
    return ratings.reshape(blocks, votes.models, lanes)


def _compiled_draws(votes: Votes, drawn: _Orders | _Resamples, settings: EloSettings) -> Floats:
    compiled, rates = _compiled(), (settings.k, 1 / settings.points)
    with compiled.RUNS:
        if isinstance(drawn, _Resamples):
            return compiled.elo_bootstrap(tuple(drawn), votes.models, *rates)
        return compiled.elo_orders(tuple(drawn), votes.models, *rates)[..., None]


@cache
def _compiled() -> ModuleType:
    """Import the compiled loops. Raises ImportError if numba is not installed."""
    from arena.ratings import compiled

    return compiled
