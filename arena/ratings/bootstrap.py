"""Bootstrap: Bradley-Terry ratings and ranks over draws of vote clusters.

The seed fixes all draws before any arithmetic. Lanes are draws computed side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.clusters import Cluster, PairClusters, voter_codes
from arena.ratings.intervals import LEVEL, Bounds
from arena.ratings.votes import SCORES, Codes, Floats, Votes, summed

LANES = 32
"""Draws that share a block of random numbers."""
NUMBERS_AT_ONCE = 4_000_000
"""Most numbers in a block of draws."""
MOST_MOVES = 100
WANTED = 0.8
"""Largest ratio of a step to the last one; above it, the draw's further steps are halved."""
SETTLED = 1e-6
"""Step, in log odds, below which a draw's fit has converged (0.0002 rating points)."""
NORMALS = 1 << 12
"""Number of values that stand for the normal."""
LEAST_ROOT = 0.05
"""Smallest cube root of a weight, so that no cluster drops out."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Ratings of a fit's models over draws of its clusters, with their parameters."""

    ratings: Floats
    """Rounds x models."""
    components: Codes
    cluster: Cluster
    refitted: int
    """Draws that Newton's method fitted, since the quick fit did not converge."""

    def rank_bounds(self) -> Bounds:
        """Percentile bounds of each model's rank among the models comparable with it; NaN without a number.

        Models that tie in a draw share all the ranks they take together.
        """
        best, worst = (np.full_like(self.ratings, np.nan) for _ in range(2))
        for component in np.unique(self.components):
            members = np.flatnonzero((self.components == component) & ~np.isnan(self.ratings[0]))
            for ratings, first, last in zip(self.ratings[:, members], best, worst, strict=True):
                rising = np.sort(ratings)
                first[members] = len(members) + 1 - np.searchsorted(rising, ratings, "right")
                last[members] = len(members) - np.searchsorted(rising, ratings, "left")
        low, high = (1 - LEVEL) / 2, (1 + LEVEL) / 2
        return Bounds(
            np.quantile(best, low, axis=0, method="inverted_cdf"),
            np.quantile(worst, high, axis=0, method="inverted_cdf"),
        )


def bootstrap(fit: Strengths, clusters: PairClusters, rounds: int, seed: int) -> Bootstrap:
    """Fit strengths to draws of clusters within pairs, with the prior of the fit.

    The draws are the Bayesian bootstrap's (Rubin 1981): each cluster has an exponential weight of mean 1, so that n
    equal ones have Gamma(n), computed as Wilson and Hilferty's (1931) cube of a normal. Unlike draws with replacement,
    they leave no model without its few wins, so every draw has a fit if the votes have one.
    """
    pairs = _pairs(fit, clusters)

    def moved(normal: _Normal) -> _Moved:
        weights = _weights(pairs, normal)
        if not len(weights):
            return _settled(fit, pairs, _Drawn(weights, weights))
        won = np.add.reduceat(weights * pairs.won[:, None], pairs.starts)
        weights *= pairs.votes[:, None]
        return _settled(fit, pairs, _Drawn(won, np.add.reduceat(weights, pairs.starts)))

    return _bootstrap(fit, clusters.cluster, len(pairs.root), rounds, seed, moved)


def voter_bootstrap(fit: Strengths, votes: Votes, rounds: int, seed: int) -> Bootstrap:
    """Fit strengths to draws of voters, each with all of their votes; otherwise as `bootstrap`."""
    votes = votes.take(fit.comparable[votes.a, votes.b])
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    known, pair = np.unique(low.astype(np.int64) * votes.models + high, return_inverse=True)
    voter = voter_codes(votes)
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
"""Indices into the table of normal quantiles: blocks x kinds of clusters x LANES."""


class _Pairs(NamedTuple):
    """Clusters to draw, by pair of models."""

    low: Codes
    high: Codes
    starts: Codes
    """Index of each pair's first kind of clusters."""
    root: Floats
    """Mean cube root of the total weight of a kind's clusters."""
    reach: Floats
    """Standard deviation of that cube root."""
    won: Floats
    """As in `PairClusters`, like `votes`."""
    votes: Floats


class _Drawn(NamedTuple):
    """Weight of the votes won by the lower code, and of all votes, in each draw: pairs x draws."""

    won: Floats
    votes: Floats


class _Moved(NamedTuple):
    strengths: Floats
    """Models x draws."""
    refitted: int


def _roots(count: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of the cube root of Gamma(count), by Wilson and Hilferty."""
    return np.cbrt(count) * (1 - 1 / (9 * count)), np.cbrt(count) / (3 * np.sqrt(count))


def _pairs(fit: Strengths, clusters: PairClusters) -> _Pairs:
    within = fit.comparable[clusters.low, clusters.high]
    low, high = clusters.low[within], clusters.high[within]
    starts = np.flatnonzero(np.diff(low * clusters.models + high, prepend=-1))
    roots = _roots(clusters.count[within])
    return _Pairs(low[starts], high[starts], starts, *roots, clusters.won[within], clusters.votes[within])


@cache
def _normals() -> npt.NDArray[np.float32]:
    """Equally likely values of a normal with mean 0 and deviation 1, few enough for a core's first-level cache."""
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
        # Four 16-bit numbers from each 64-bit draw; the table takes 12 bits of each.
        drawn = coin.integers(0, 1 << 64, (min(at_once, blocks - first), kinds, LANES // 4), dtype=np.uint64)
        parts.append(moved(drawn.view(np.uint16) >> np.uint16(4)))
    ratings = fit.rated(np.concatenate([part.strengths for part in parts], axis=1).T[:rounds])
    refitted = sum(part.refitted for part in parts)
    return Bootstrap(ratings, fit.components, cluster, refitted)


def _weights(pairs: _Pairs, normal: _Normal) -> Floats:
    """Total weight of each kind's clusters in each draw: kinds x draws."""
    weights = _normals()[np.moveaxis(normal, 0, 1).reshape(len(pairs.root), len(normal) * LANES)] * pairs.reach[:, None]
    weights += pairs.root[:, None]
    np.maximum(weights, LEAST_ROOT, out=weights)
    return weights * weights * weights


def _settled(fit: Strengths, pairs: _Pairs, drawn: _Drawn) -> _Moved:
    """Fit each draw by steps with the fit's own curvature; draws that do not converge, by Newton's method."""
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
    """Wins minus expected wins: models x draws."""
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
    """Replace the draws that did not converge by Newton's fits."""
    unsettled = np.flatnonzero(~settled)
    for lane in unsettled:
        wins = np.zeros(fit.wins.shape)
        wins[pairs.low, pairs.high] = drawn.won[:, lane]
        wins[pairs.high, pairs.low] = drawn.votes[:, lane] - drawn.won[:, lane]
        strengths[:, lane] = bradley_terry(np.maximum(wins, 0), fit.prior).strengths
    return _Moved(strengths, len(unsettled))
