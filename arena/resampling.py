"""Ratings over many draws: Elo over orders of the votes, and Bradley-Terry's bootstrap over clusters.

Both draw from numbers that are fixed by their seed before any arithmetic, so that the plain functions here and the
loops of `compiled` (numba, an optional extra) come to the same ratings. Lanes are draws worked on side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from statistics import NormalDist
from threading import Lock
from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from arena.bradley_terry import Strengths, bradley_terry
from arena.clusters import Cluster, PairClusters, voters_of
from arena.intervals import LEVEL, Bounds
from arena.ratings import SCORES, Codes, EloRatings, EloSettings, Floats, Votes, summed

Engine = Literal["plain", "compiled"]
"""Who does the arithmetic: numpy, or loops compiled by numba, which must then be installed."""
Draw = Literal["orders", "bootstrap"]
"""All votes in a random order, or as many votes drawn with replacement (FastChat's bootstrap)."""

LANES_A_SHUFFLE = 50
STEPS_AT_ONCE = 256
LANES = 32
"""Draws of the bootstrap that the compiled loop works on side by side."""
NUMBERS_AT_ONCE = 4_000_000
"""How many numbers a block of the bootstrap's draws may hold."""
MOST_MOVES = 100
WANTED = 0.8
"""Where a step is not smaller than this share of the last, the draw's further steps are halved."""
SETTLED = 1e-6
"""The step, in log odds, under which a draw's fit has converged (0.0002 rating points)."""
NORMALS = 1 << 12
"""How many values stand for the normal."""
LEAST_ROOT = 0.05
"""The least cube root of a weight, so that no cluster is drawn out of existence."""
_COMPILED_RUNS = Lock()
"""Numba's threads serve one caller at a time."""


@dataclass(frozen=True, eq=False)
class EloOrders:
    """Elo over draws of the votes, by model code; its spread is one over orders and rounds, no confidence interval."""

    median: Floats
    low: Floats
    high: Floats
    level: float
    """Share of the draws from low to high."""
    draw: Draw
    rounds: int
    seed: int
    settings: EloSettings


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Ratings of a fit's models over draws of its clusters, with their parameters."""

    ratings: Floats
    """Rounds x models."""
    components: Codes
    cluster: Cluster
    rounds: int
    seed: int
    refitted: int
    """Draws that the quick fit did not settle and Newton's method did."""

    def bounds(self, level: float = LEVEL) -> Bounds:
        """Return percentile bounds of the ratings."""
        return _percentiles(self.ratings, level)

    def rank_bounds(self, level: float = LEVEL) -> Bounds:
        """Return percentile bounds of each model's rank among those it may be compared with; NaN without a number."""
        ranks = np.empty_like(self.ratings)
        for component in np.unique(self.components):
            members = np.flatnonzero(self.components == component)
            order = np.argsort(-self.ratings[:, members], axis=1)
            ranks[:, members] = np.argsort(order, axis=1) + 1
        low, high = (1 - level) / 2, (1 + level) / 2
        return Bounds(
            np.where(np.isnan(self.ratings[0]), np.nan, np.quantile(ranks, low, axis=0, method="inverted_cdf")),
            np.where(np.isnan(self.ratings[0]), np.nan, np.quantile(ranks, high, axis=0, method="inverted_cdf")),
        )


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
    """Rate models by Elo over seeded draws of the votes, and return the median and the spread over these draws.

    One pass of Elo depends on the order it is given (10 to 15 points at K=4), hence the median.
    """
    if rounds < 1:
        raise ValueError("Elo over orders takes at least one round")
    settings = settings or EloSettings()
    picks = _picks(len(votes), rounds, seed, draw)
    if engine == "compiled":
        ratings = _compiled_elo_draws(votes, picks, settings)
    else:
        ratings = _elo_draws(votes, picks, settings)
    ratings += settings.start
    spread = _percentiles(ratings, level)
    return EloOrders(np.median(ratings, axis=0), spread.low, spread.high, level, draw, rounds, seed, settings)


def bootstrap(fit: Strengths, clusters: PairClusters, rounds: int, seed: int, engine: Engine = "plain") -> Bootstrap:
    """Fit strengths anew over draws of clusters that lie within pairs, with the prior and the anchor of the fit.

    The draws are the Bayesian bootstrap's (Rubin 1981): each cluster weighs an exponential number of mean 1, so n alike
    ones Gamma(n), taken as Wilson and Hilferty's (1931) cube of a normal. Unlike draws with replacement these leave no
    model without its few wins, so every draw has a fit where the votes have one.
    """
    pairs = _pairs(fit, clusters)

    def moved(normal: _Normal) -> _Moved:
        if engine == "plain":
            return _settled(fit, pairs, _drawn(pairs, normal))
        least, steps = LEAST_ROOT, (WANTED, SETTLED, MOST_MOVES)
        compiled = _compiled()
        with _COMPILED_RUNS:
            strengths, settled = compiled.bootstrap(
                normal, _normals(), tuple(pairs), fit.strengths, fit.inverse, fit.prior, least, *steps
            )
        if settled.all():
            return _Moved(strengths, 0)
        return _refitted(fit, pairs, _drawn(pairs, normal), strengths, settled)

    return _bootstrap(fit, clusters.cluster, len(pairs.root), rounds, seed, moved)


def voter_bootstrap(fit: Strengths, votes: Votes, rounds: int, seed: int) -> Bootstrap:
    """Fit strengths anew over draws of voters, each with all its votes; as `bootstrap` otherwise."""
    votes = votes.take(fit.comparable[votes.a, votes.b])
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    known, pair = np.unique(low.astype(np.int64) * votes.models + high, return_inverse=True)
    _, voter = np.unique(voters_of(votes), return_inverse=True)
    weight = np.ones(len(votes)) if votes.weights is None else votes.weights
    score = SCORES[votes.outcome]
    won = np.where(votes.a == low, score, 1 - score) * weight
    voters = int(voter.max(initial=-1)) + 1
    one = np.ones(voters)
    pairs = _Pairs(known // votes.models, known % votes.models, np.arange(len(known)), *_roots(one), one, one)

    def moved(normal: _Normal) -> _Moved:
        draws = _weights(pairs, normal)
        drawn = _Drawn(np.empty((len(known), draws.shape[1])), np.empty((len(known), draws.shape[1])))
        for lane, weights in enumerate(draws.T):
            drawn.won[:, lane] = summed(pair, won * weights[voter], len(known))
            drawn.votes[:, lane] = summed(pair, weight * weights[voter], len(known))
        return _settled(fit, pairs, drawn)

    return _bootstrap(fit, "voter", voters, rounds, seed, moved)


class _Picks(NamedTuple):
    """Which vote each lane takes at each step."""

    shuffled: npt.NDArray[np.uint32]
    """Random orders, one for every LANES_A_SHUFFLE lanes; none for draws with replacement."""
    offset: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    """Steps through a random order by a stride that shares no factor with its length: again a random order."""
    key: npt.NDArray[np.uint64]
    """Keys of the lanes' draws with replacement (splitmix64 of key and step)."""

    def at(self, steps: npt.NDArray[np.int64], votes: int) -> npt.NDArray[np.int64]:
        """Return the places of the votes taken: steps x lanes."""
        if len(self.shuffled):
            places = (self.offset + self.stride * steps[:, None]) % votes
            return self.shuffled[np.arange(len(self.offset)) // LANES_A_SHUFFLE, places].astype(np.int64)
        mixed = self.key + steps[:, None].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(32)) * np.uint64(votes) >> np.uint64(32)).astype(
            np.int64
        )


def _picks(votes: int, rounds: int, seed: int, draw: Draw) -> _Picks:
    coin = np.random.default_rng(seed)
    key = coin.integers(0, 1 << 64, rounds, dtype=np.uint64)
    groups = -(-rounds // LANES_A_SHUFFLE) if draw == "orders" else 0
    shuffled = np.empty((groups, votes), np.uint32)
    for order in shuffled:
        order[:] = coin.permutation(votes)
    stride = coin.integers(1, max(1, votes), rounds, endpoint=True)
    while (shared := np.gcd(stride, votes) > 1).any():
        stride[shared] = coin.integers(1, votes, int(shared.sum()), endpoint=True)
    return _Picks(shuffled, coin.integers(0, max(1, votes), rounds), stride, key)


def _elo_draws(votes: Votes, picks: _Picks, settings: EloSettings) -> Floats:
    """Return Elo ratings less their start: rounds x models."""
    rounds = len(picks.key)
    row = np.arange(rounds) * votes.models
    scores = SCORES[votes.outcome]
    ratings = np.zeros(rounds * votes.models)
    rate, k = 1 / settings.points, settings.k
    for first in range(0, len(votes), STEPS_AT_ONCE):
        places = picks.at(np.arange(first, min(first + STEPS_AT_ONCE, len(votes))), len(votes))
        for a, b, score in zip(row + votes.a[places], row + votes.b[places], scores[places], strict=True):
            rating_a, rating_b = ratings[a], ratings[b]
            gain = k * (score - 1 / (1 + np.exp(rate * (rating_b - rating_a))))
            ratings[a] = rating_a + gain
            ratings[b] = rating_b - gain
    return ratings.reshape(rounds, votes.models)


def compiled_elo(votes: Votes, settings: EloSettings | None = None) -> EloRatings:
    """Rate models as `ratings.elo` does, by the compiled loop (to 1e-8 rating points)."""
    settings = settings or EloSettings()
    ratings = _compiled().elo(votes.a, votes.b, votes.outcome, SCORES, votes.models, settings.k, 1 / settings.points)
    return EloRatings(ratings + settings.start, settings)


def _compiled_elo_draws(votes: Votes, picks: _Picks, settings: EloSettings) -> Floats:
    packed, compiled = _packed(votes), _compiled()
    rates = settings.k, 1 / settings.points
    with _COMPILED_RUNS:
        if len(picks.shuffled):
            return compiled.elo_orders(packed[picks.shuffled], votes.models, picks.offset, picks.stride, *rates)
        return compiled.elo_bootstrap(packed, votes.models, picks.key, *rates)


def _packed(votes: Votes) -> npt.NDArray[np.uint32]:
    """Return each vote in one number, as the compiled loops read it: 15 bits a model, 2 of twice the score."""
    if votes.models > 1 << 15:
        raise ValueError("the compiled loops take up to 32,768 models")
    packed = votes.a.astype(np.uint32)
    packed <<= 15
    packed |= votes.b.astype(np.uint32, copy=False)
    packed <<= 2
    packed |= (2 * SCORES).astype(np.uint32)[votes.outcome]
    return packed


_Normal = npt.NDArray[np.uint16]
"""Places in the table of normal quantiles: blocks x kinds of clusters x LANES."""


class _Pairs(NamedTuple):
    """The clusters to draw, by pair of models."""

    low: Codes
    high: Codes
    starts: Codes
    """Where each pair's kinds of clusters begin."""
    root: Floats
    """Mean cube root of the weight of all clusters of a kind."""
    reach: Floats
    """Standard deviation of that cube root."""
    won: Floats
    """As in `PairClusters`, and so the next."""
    votes: Floats


class _Drawn(NamedTuple):
    """Weight of the votes won by the lower code, and of all, in each draw: pairs x draws."""

    won: Floats
    votes: Floats


class _Moved(NamedTuple):
    strengths: Floats
    """Models x draws."""
    refitted: int


class _Roots(NamedTuple):
    root: Floats
    reach: Floats


def _roots(count: Floats) -> _Roots:
    """Return mean and deviation of the cube root of Gamma(count), by Wilson and Hilferty."""
    return _Roots(np.cbrt(count) * (1 - 1 / (9 * count)), np.cbrt(count) / (3 * np.sqrt(count)))


def _pairs(fit: Strengths, clusters: PairClusters) -> _Pairs:
    within = fit.comparable[clusters.low, clusters.high]
    low, high = clusters.low[within], clusters.high[within]
    starts = np.flatnonzero(np.diff(low * clusters.models + high, prepend=-1))
    roots = _roots(clusters.count[within])
    return _Pairs(low[starts], high[starts], starts, *roots, clusters.won[within], clusters.votes[within])


@cache
def _normals() -> npt.NDArray[np.float32]:
    """Return equally likely values of a normal of mean 0 and deviation 1, few enough for a core's first cache."""
    values = np.array([NormalDist().inv_cdf((place + 0.5) / NORMALS) for place in range(NORMALS)])
    return (values / values.std()).astype(np.float32)


def _bootstrap(
    fit: Strengths, cluster: Cluster, kinds: int, rounds: int, seed: int, moved: Callable[[_Normal], _Moved]
) -> Bootstrap:
    if rounds < 1:
        raise ValueError("a bootstrap takes at least one round")
    coin = np.random.default_rng(seed)
    blocks = -(-rounds // LANES)
    at_once = max(1, NUMBERS_AT_ONCE // (max(1, kinds) * LANES))
    parts = []
    for first in range(0, blocks, at_once):
        # Four numbers of 16 bits at a draw of 64; the table takes 12 of each.
        drawn = coin.integers(0, 1 << 64, (min(at_once, blocks - first), kinds, LANES // 4), dtype=np.uint64)
        parts.append(moved(drawn.view(np.uint16) >> np.uint16(4)))
    ratings = fit.rated(np.concatenate([part.strengths for part in parts], axis=1).T[:rounds])
    refitted = sum(part.refitted for part in parts)
    return Bootstrap(ratings, fit.components, cluster, rounds, seed, refitted)


def _weights(pairs: _Pairs, normal: _Normal) -> Floats:
    """Return the weight of all clusters of each kind in each draw: kinds x draws."""
    weights = _normals()[np.moveaxis(normal, 0, 1).reshape(len(pairs.root), len(normal) * LANES)] * pairs.reach[:, None]
    weights += pairs.root[:, None]
    np.maximum(weights, LEAST_ROOT, out=weights)
    return weights * weights * weights


def _drawn(pairs: _Pairs, normal: _Normal) -> _Drawn:
    weights = _weights(pairs, normal)
    if not len(weights):
        return _Drawn(weights, weights)
    won = np.add.reduceat(weights * pairs.won[:, None], pairs.starts)
    weights *= pairs.votes[:, None]
    return _Drawn(won, np.add.reduceat(weights, pairs.starts))


def _settled(fit: Strengths, pairs: _Pairs, drawn: _Drawn) -> _Moved:
    """Fit each draw by steps with the fit's own curvature; where that does not settle, by Newton's method."""
    strengths = np.repeat(fit.strengths[:, None], drawn.won.shape[1], axis=1)
    rows = np.searchsorted(pairs.low, np.arange(len(strengths) + 1))
    share, before = np.ones(strengths.shape[1]), np.full(strengths.shape[1], np.inf)
    with np.errstate(over="ignore"):
        for _ in range(MOST_MOVES):
            move = fit.inverse @ _slopes(strengths, pairs.high, rows, drawn, fit.prior)
            step = np.abs(move).max(axis=0, initial=0.0)
            share[step > WANTED * before] /= 2
            move *= share
            strengths += move
            before = step
            share[step < SETTLED] = 0
            if not share.any():
                break
    return _refitted(fit, pairs, drawn, strengths, share == 0)


def _slopes(strengths: Floats, high: Codes, rows: Codes, drawn: _Drawn, prior: float) -> Floats:
    """Return how far wins exceed expected wins: models x draws."""
    slopes = prior * (1 - 2 / (1 + np.exp(-strengths)))
    for low, (start, end) in enumerate(zip(rows[:-1], rows[1:], strict=True)):
        if start < end:
            rivals = high[start:end]
            surplus = strengths[rivals]
            surplus -= strengths[low]
            np.exp(surplus, out=surplus)
            surplus += 1
            np.divide(drawn.votes[start:end], surplus, out=surplus)
            np.subtract(drawn.won[start:end], surplus, out=surplus)
            slopes[low] += surplus.sum(0)
            slopes[rivals] -= surplus
    return slopes


def _refitted(fit: Strengths, pairs: _Pairs, drawn: _Drawn, strengths: Floats, settled: np.ndarray) -> _Moved:
    """Replace the draws that did not settle by Newton's fits."""
    unsettled = np.flatnonzero(~settled)
    for lane in unsettled:
        wins = np.zeros(fit.wins.shape)
        wins[pairs.low, pairs.high] = drawn.won[:, lane]
        wins[pairs.high, pairs.low] = drawn.votes[:, lane] - drawn.won[:, lane]
        strengths[:, lane] = bradley_terry(np.maximum(wins, 0), fit.prior).strengths
    return _Moved(strengths, len(unsettled))


def _percentiles(values: Floats, level: float) -> Bounds:
    return Bounds(*np.quantile(values, ((1 - level) / 2, (1 + level) / 2), axis=0))


@cache
def _compiled() -> ModuleType:
    """Load the compiled loops; raises ImportError where numba is not installed."""
    return import_module("arena.compiled")
