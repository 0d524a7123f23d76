"""Bradley-Terry's bootstrap over clusters of votes.

What is drawn is fixed by the seed before any arithmetic, so that the plain functions here and the loops of `compiled`
(numba, an optional extra) come to the same ratings. Lanes are draws worked on side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from statistics import NormalDist
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.clusters import Cluster, PairClusters, voters_of
from arena.ratings.elo_orders import Engine
from arena.ratings.intervals import LEVEL, Bounds, percentiles
from arena.ratings.votes import SCORES, Codes, Floats, Votes, summed

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
        return percentiles(self.ratings, level)

    def rank_bounds(self, level: float = LEVEL) -> Bounds:
        """Return percentile bounds of each model's rank among those it may be compared with; NaN without a number.

        Models that draw level share all the ranks they take together.
        """
        best, worst = (np.full_like(self.ratings, np.nan) for _ in range(2))
        for component in np.unique(self.components):
            members = np.flatnonzero((self.components == component) & ~np.isnan(self.ratings[0]))
            for ratings, first, last in zip(self.ratings[:, members], best, worst, strict=True):
                rising = np.sort(ratings)
                first[members] = len(members) + 1 - np.searchsorted(rising, ratings, "right")
                last[members] = len(members) - np.searchsorted(rising, ratings, "left")
        low, high = (1 - level) / 2, (1 + level) / 2
        return Bounds(
            np.quantile(best, low, axis=0, method="inverted_cdf"),
            np.quantile(worst, high, axis=0, method="inverted_cdf"),
        )


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
        with compiled.RUNS:
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


@cache
def _compiled() -> ModuleType:
    """Load the compiled loops; raises ImportError where numba is not installed."""
    return import_module("arena.ratings.compiled")
