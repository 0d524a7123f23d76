"""Intervals of Bradley-Terry strengths by the sandwich, ranks, and Wilson's interval of a share.

The sandwich (Huber 1967; for clusters Liang and Zeger 1986) holds the curvature of the likelihood between the spread of
the clusters' scores. Which votes count as independent decides how wide it is: see `clusters`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Status, Strengths
from arena.ratings.clusters import Cluster, PairClusters, Support, cluster_codes, pair_clusters, support, vote_clusters
from arena.ratings.votes import SCORES, Codes, Floats, Votes, summed

LEVEL = 0.95
MOST_LEVERAGE = 0.9
"""A cluster that alone decides a strength has no surprise left to be raised; beyond this leverage it is not tried."""
ALONE = 0.5
"""Leverage beyond which a cluster tells more of how its two models stand than all others together."""
FEW = 5
"""Clusters of a model below which their spread is not believed where the curvature says more."""
LONE = 2
"""Clusters of a model below which they have no spread."""
MANY = 100
"""Clusters of a model from which Student's quantile is the normal's (within 1.3%)."""
BLOCK = 4096
"""Clusters whose scores are held at a time."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals by model code, in rating points, with their parameters; NaN where a model has no number."""

    low: Floats
    high: Floats
    errors: Floats
    """Standard errors."""
    covariance: Floats
    """Of the ratings: models x models."""
    level: float
    cluster: Cluster
    clusters: int
    """How many clusters of the (first) kind there are."""
    few: np.ndarray
    """Of which models too few clusters tell: there draws of clusters look surer than they are."""


class Bounds(NamedTuple):
    """A lower and an upper bound for each place."""

    low: Floats
    high: Floats


def intervals(fit: Strengths, votes: Votes, cluster: Cluster, level: float = LEVEL) -> Intervals:
    """Return sandwich intervals of a fit to these votes, clustered as asked.

    The boards' default is by tuple where items are known. Raises `VotesError` where votes lack the items or voters to
    cluster by.
    """
    spreads: list[_Spread] = []

    def scores(kind: Cluster) -> Floats:
        spreads.append(_of_voters(fit, votes) if kind == "voter" else _of_pairs(fit, pair_clusters(votes, kind)))
        return spreads[-1].scores

    of_all = two_way(cluster, scores)
    held = Support(*map(np.minimum, spreads[0].held, spreads[1].held)) if len(spreads) > 1 else spreads[0].held
    return _intervals(fit, spreads[0]._replace(scores=of_all, held=held), cluster, level)


def cluster_intervals(fit: Strengths, clusters: PairClusters, level: float = LEVEL) -> Intervals:
    """Return sandwich intervals of a fit from clusters that were summed up before."""
    spread = _of_pairs(fit, clusters)
    return _intervals(fit, spread, clusters.cluster, level)


def vote_intervals(fit: Strengths, level: float = LEVEL) -> Intervals:
    """Return per-vote sandwich intervals from the fit's own win matrix, as if all votes were independent.

    Right only where they are; beside clustered intervals it is a comparison, and to be labelled so. A tie counts as
    half a win and half a loss here, which makes boards with many ties a little wide.
    """
    return cluster_intervals(fit, vote_clusters(fit.wins), level)


def ranks(fit: Strengths, bounds: Bounds | Intervals) -> Codes:
    """Return 1 + the number of comparable models whose low bound is above a model's high bound; 0 without a number."""
    above = (bounds.low[None, :] > bounds.high[:, None]) & fit.comparable
    return np.where(np.isnan(fit.ratings), 0, 1 + above.sum(1))


def rank_ranges(fit: Strengths, found: Intervals, drawn: Bounds) -> Bounds:
    """Return what ranks may range over: over draws, with this rank; with few clusters all that intervals allow."""
    rank = ranks(fit, found).astype(np.float64)
    below = ((found.high[None, :] < found.low[:, None]) & fit.comparable).sum(1)
    last = (fit.comparable & ~np.isnan(fit.ratings)).sum(1) - below
    low = np.where(found.few, rank, np.minimum(rank, drawn.low))
    high = np.where(found.few, last, np.maximum(rank, drawn.high))
    return Bounds(*(np.where(np.isnan(fit.ratings), np.nan, bound) for bound in (low, high)))


def percentiles(values: Floats, level: float = LEVEL) -> Bounds:
    """Return the bounds within which a share `level` of each column's values lies, as much left out on either side."""
    return Bounds(*np.quantile(values, ((1 - level) / 2, (1 + level) / 2), axis=0))


def wilson(wins: Floats | Codes, votes: Floats | Codes, level: float = LEVEL) -> Bounds:
    """Return Wilson's (1927) score interval of shares wins / votes; the whole of 0 to 1 where there are no votes."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    votes = np.asarray(votes, np.float64)
    share = np.divide(wins, votes, out=np.full(votes.shape, 0.5), where=votes > 0)
    middle = share * votes + z * z / 2
    reach = z * np.sqrt(votes * share * (1 - share) + z * z / 4)
    return Bounds(np.maximum((middle - reach) / (votes + z * z), 0), np.minimum((middle + reach) / (votes + z * z), 1))


class _Alone(NamedTuple):
    """Clusters beyond ALONE, each taken for one vote: their own surprise tells nothing."""

    low: Codes
    high: Codes
    square: Floats
    """Of the score such a cluster is expected to have."""


class _Spread(NamedTuple):
    scores: Floats
    """Sum over clusters of the outer product of the cluster's score, models x models."""
    clusters: int
    held: Support
    raised: Floats
    """By model code: the weight of its votes, each times the share by which its score was raised."""
    alone: _Alone


def _of_pairs(fit: Strengths, clusters: PairClusters) -> _Spread:
    """Sum up the scores of clusters within a pair, each raised by its leverage as the jackknife has it (CR3).

    Bell and McCaffrey 2002; without it boards with few votes a model get intervals a fifth too narrow.
    """
    low, high, m = clusters.low, clusters.high, clusters.models
    pair, own = low * m + high, fit.inverse.diagonal()
    chance = 1 / (1 + np.exp(fit.strengths[high] - fit.strengths[low]))
    apart = own[low] + own[high] - 2 * fit.inverse.ravel()[pair]
    told = clusters.votes * chance * (1 - chance)
    leverage = np.minimum(told * apart, MOST_LEVERAGE)
    surprise = ((clusters.won - clusters.votes * chance) / (1 - leverage)) ** 2
    counted = clusters.count * fit.comparable.ravel()[pair]
    half = summed(pair, surprise * counted, m * m).reshape(m, m)
    scores = -half - half.T
    scores[np.diag_indices(m)] = -scores.sum(1)
    raised = clusters.by_model(clusters.count * clusters.votes * leverage)
    those = leverage > ALONE
    alone = _Alone(low[those], high[those], (counted * clusters.votes * told)[those])
    return _Spread(scores, round(clusters.total), clusters.support(), raised, alone)


def _of_voters(fit: Strengths, votes: Votes) -> _Spread:
    voter = cluster_codes(votes, "voter")
    surprise = SCORES[votes.outcome] - 1 / (1 + np.exp(fit.strengths[votes.b] - fit.strengths[votes.a]))
    surprise *= fit.comparable[votes.a, votes.b]
    if votes.weights is not None:
        surprise *= votes.weights
    held, clusters = support(votes, "voter"), int(voter.max(initial=-1)) + 1
    none = _Alone(voter[:0], voter[:0], surprise[:0])
    return _Spread(score_spread(voter, votes, surprise), clusters, held, np.zeros(votes.models), none)


def two_way(cluster: Cluster, scores: Callable[[Cluster], Floats]) -> Floats:
    """Return the spread of scores for a clustering from that for one-way ones.

    By tuple and voter at once it is tuple + voter - both (Cameron, Gelbach and Miller 2011), negative eigenvalues cut
    to 0; `scores("tuple and voter")` is then asked for the votes that share both.
    """
    if cluster != "tuple and voter":
        return scores(cluster)
    values, vectors = np.linalg.eigh(scores("tuple") + scores("voter") - scores(cluster))
    return (vectors * np.maximum(values, 0)) @ vectors.T


def score_spread(clusters: Codes, votes: Votes, surprise: Floats, covariates: Floats | None = None) -> Floats:
    """Sum the outer products of the clusters' scores, times C / (C - 1) for few clusters.

    `clusters` are codes without gaps, `surprise` each vote's weighted score less its chance, `covariates` columns that
    stand beside the models' (votes x covariates); the result is square in models + covariates.
    """
    m = votes.models
    order = np.argsort(clusters, kind="stable")
    a, b, clusters, surprise = votes.a[order], votes.b[order], clusters[order], surprise[order]
    columns = [] if covariates is None else list((covariates[order] * surprise[:, None]).T)
    total = int(clusters.max(initial=-1)) + 1
    scores = np.zeros((m + len(columns), m + len(columns)))
    for first in range(0, total, BLOCK):
        part = slice(*np.searchsorted(clusters, (first, first + BLOCK)))
        row, rows = clusters[part] - first, min(BLOCK, total - first)
        of_models = summed(row * m + a[part], surprise[part], rows * m)
        of_models -= summed(row * m + b[part], surprise[part], rows * m)
        beside = [summed(row, column[part], rows)[:, None] for column in columns]
        score = np.hstack([of_models.reshape(rows, m), *beside])
        scores += score.T @ score
    return scores * (total / max(1, total - 1))


def _intervals(fit: Strengths, spread: _Spread, cluster: Cluster, level: float) -> Intervals:
    centred = fit.centring() @ fit.inverse * fit.settings.points

    def curvature() -> Floats:
        return (centred @ fit.information @ centred.T).diagonal()

    covariance = centred @ spread.scores @ centred.T
    alone = (centred[:, spread.alone.low] - centred[:, spread.alone.high]) ** 2 @ spread.alone.square
    held, leverage = spread.held, spread.raised / np.maximum(spread.held.votes, np.finfo(np.float64).tiny)
    return interval_of(fit, fit.ratings, covariance, curvature, held, cluster, spread.clusters, level, leverage, alone)


def interval_of(
    fit: Strengths,
    ratings: Floats,
    covariance: Floats,
    curvature: Callable[[], Floats],
    held: Support,
    cluster: Cluster,
    clusters: int,
    level: float = LEVEL,
    leverage: Floats | float = 0.0,
    alone: Floats | float = 0.0,
) -> Intervals:
    """Return intervals around ratings from their covariance, for the models that a fit gives numbers.

    Student's quantile with clusters - 1 degrees of freedom stands for the normal's, less what the covariance was raised
    by leverage. Where hardly a cluster tells of a model, its interval is not narrower than what `curvature` says, the
    variances if votes were independent: who only wins, or only ties, surprises nobody, and there the sandwich is blind.
    A lone cluster has no spread at all, and is taken for one vote; so is one that alone tells how two models stand, or
    two groups of them: `alone` are the variances by such clusters.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    sandwich = np.maximum(covariance.diagonal(), 0)
    reach = np.maximum(_quantile(held.clusters, level, z) * np.sqrt(1 - leverage), z) * np.sqrt(sandwich)
    blind = np.array([status is not Status.RATED for status in fit.statuses], dtype=bool)
    few = blind | (np.minimum(held.clusters, held.decided) < FEW) | (alone > sandwich)
    if few.any():
        one_vote = np.where(held.clusters < LONE, held.votes / np.maximum(held.clusters, 1), 1)
        flat = np.where(few, np.maximum(curvature() * one_vote, alone), 0)
        covariance = covariance + np.diag(np.maximum(flat - sandwich, 0))
        reach = np.maximum(reach, z * np.sqrt(flat))
    reach = np.where(np.isnan(fit.ratings), np.nan, reach)
    errors = np.where(np.isnan(fit.ratings), np.nan, np.sqrt(np.maximum(covariance.diagonal(), 0)))
    return Intervals(ratings - reach, ratings + reach, errors, covariance, level, cluster, clusters, few)


def _quantile(clusters: Floats, level: float, z: float) -> Floats:
    """Return how many standard errors an interval reaches: Student's quantile, the normal's of one or very many."""
    several = (clusters >= LONE) & (clusters < MANY)
    if not several.any():  # a command line need not wait for SciPy
        return np.full(len(clusters), z)
    student = import_module("scipy.special").stdtrit(np.maximum(clusters - 1, 1), (1 + level) / 2)
    return np.where(several, student, z)
