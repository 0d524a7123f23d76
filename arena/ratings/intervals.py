"""Intervals: sandwich intervals of Bradley-Terry strengths, ranks, and Wilson's interval of a share.

The sandwich (Huber 1967; for clusters Liang and Zeger 1986) puts the spread of the clusters' scores between two inverse
curvatures of the likelihood. Which votes count as independent decides its width: see `clusters.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Status, Strengths
from arena.ratings.clusters import Cluster, PairClusters, Support, cluster_codes, pair_clusters, support, vote_clusters
from arena.ratings.votes import SCORES, Codes, Floats, Votes, summed

LEVEL = 0.95
MOST_LEVERAGE = 0.9
"""Largest leverage corrected for: a cluster that alone decides a strength has no surprise left to raise."""
ALONE = 0.5
"""Leverage above which a cluster says more about how its two models stand than all others together."""
FEW = 5
"""Clusters of a model below which their spread is not believed if the curvature says more."""
LONE = 2
"""Clusters of a model below which they have no spread."""
MANY = 100
"""Clusters of a model from which Student's quantile is the normal's (within 1.3%)."""
BLOCK = 4096
"""Clusters whose scores are held at a time."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals by model code, in rating points, with their parameters; NaN for a model without a number."""

    low: Floats
    high: Floats
    errors: Floats
    """Standard errors."""
    covariance: Floats
    """Covariance of the ratings: models x models."""
    level: float
    cluster: Cluster
    clusters: int
    """Number of clusters; with two kinds of clusters, of the first kind."""
    few: np.ndarray
    """Mask of models with too few clusters: for them, draws of clusters look more certain than they are."""


class Bounds(NamedTuple):
    """Lower and upper bounds, element by element."""

    low: Floats
    high: Floats


def intervals(fit: Strengths, votes: Votes, cluster: Cluster, level: float = LEVEL) -> Intervals:
    """Sandwich intervals of a fit to these votes, clustered by `cluster`.

    Boards cluster by tuple where items are known. Raises `VotesError` if the votes lack the items or voters to cluster
    by.
    """
    spreads: list[_Spread] = []

    def scores(kind: Cluster) -> Floats:
        spreads.append(_of_voters(fit, votes) if kind == "voter" else _of_pairs(fit, pair_clusters(votes, kind)))
        return spreads[-1].scores

    of_all = two_way(cluster, scores)
    held = Support(*map(np.minimum, spreads[0].held, spreads[1].held)) if len(spreads) > 1 else spreads[0].held
    return _intervals(fit, spreads[0]._replace(scores=of_all, held=held), cluster, level)


def cluster_intervals(fit: Strengths, clusters: PairClusters, level: float = LEVEL) -> Intervals:
    """Sandwich intervals of a fit, from clusters that are already summed up."""
    spread = _of_pairs(fit, clusters)
    return _intervals(fit, spread, clusters.cluster, level)


def vote_intervals(fit: Strengths, level: float = LEVEL) -> Intervals:
    """Per-vote sandwich intervals from the fit's own win matrix, as if all votes were independent.

    Valid only if they are; next to clustered intervals they are a comparison and must be labelled so. A tie counts as
    half a win and half a loss, which makes boards with many ties a little wide.
    """
    return cluster_intervals(fit, vote_clusters(fit.wins), level)


def ranks(fit: Strengths, bounds: Bounds | Intervals) -> Codes:
    """1 + the number of comparable models whose low bound is above a model's high bound; 0 without a number."""
    above = (bounds.low[None, :] > bounds.high[:, None]) & fit.comparable
    return np.where(np.isnan(fit.ratings), 0, 1 + above.sum(1))


def rank_ranges(fit: Strengths, found: Intervals, drawn: Bounds) -> Bounds:
    """Range of each rank: over draws, this rank included; with few clusters, all ranks that the intervals allow."""
    rank = ranks(fit, found).astype(np.float64)
    below = ((found.high[None, :] < found.low[:, None]) & fit.comparable).sum(1)
    last = (fit.comparable & ~np.isnan(fit.ratings)).sum(1) - below
    low = np.where(found.few, rank, np.minimum(rank, drawn.low))
    high = np.where(found.few, last, np.maximum(rank, drawn.high))
    return Bounds(*(np.where(np.isnan(fit.ratings), np.nan, bound) for bound in (low, high)))


def percentiles(values: Floats, level: float = LEVEL) -> Bounds:
    """Central bounds of each column's values: a share `level` lies within, and as much is left out on either side."""
    return Bounds(*np.quantile(values, ((1 - level) / 2, (1 + level) / 2), axis=0))


def wilson(wins: Floats | Codes, votes: Floats | Codes, level: float = LEVEL) -> Bounds:
    """Wilson's (1927) score interval of the shares wins / votes; 0 to 1 where there are no votes."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    votes = np.asarray(votes, np.float64)
    share = np.divide(wins, votes, out=np.full(votes.shape, 0.5), where=votes > 0)
    middle = share * votes + z * z / 2
    reach = z * np.sqrt(votes * share * (1 - share) + z * z / 4)
    return Bounds(np.maximum((middle - reach) / (votes + z * z), 0), np.minimum((middle + reach) / (votes + z * z), 1))


class _Alone(NamedTuple):
    """Clusters above ALONE, each counted as one vote: their own surprise says nothing."""

    low: Codes
    high: Codes
    square: Floats
    """Expected square of their scores."""


class _Spread(NamedTuple):
    scores: Floats
    """Sum over clusters of the outer product of the cluster's score: models x models."""
    clusters: int
    held: Support
    raised: Floats
    """By model code: the weight of its votes, each times the leverage that its score was corrected for."""
    alone: _Alone


def _of_pairs(fit: Strengths, clusters: PairClusters) -> _Spread:
    """Sum the scores of clusters within pairs, each corrected for its leverage as in the jackknife (CR3).

    Bell and McCaffrey (2002); without the correction, intervals are a fifth too narrow on boards with few votes per
    model.
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
    """Spread of scores for any clustering, computed from one-way spreads.

    By tuple and voter at once it is tuple + voter - both (Cameron, Gelbach and Miller 2011), with negative eigenvalues
    cut to 0; `scores("tuple and voter")` is then the spread for votes that share both.
    """
    if cluster != "tuple and voter":
        return scores(cluster)
    values, vectors = np.linalg.eigh(scores("tuple") + scores("voter") - scores(cluster))
    return (vectors * np.maximum(values, 0)) @ vectors.T


def score_spread(clusters: Codes, votes: Votes, surprise: Floats, covariates: Floats | None = None) -> Floats:
    """Sum of the outer products of the clusters' scores, times C / (C - 1) for few clusters.

    `clusters` are codes without gaps, `surprise` is each vote's weighted score minus its chance, `covariates` are
    further columns beside the models' (votes x covariates); the result is square in models + covariates.
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
    """Intervals around ratings from their covariance, for the models that have a number in the fit.

    Student's quantile with clusters - 1 degrees of freedom replaces the normal's, less what leverage already added to
    the covariance. If hardly any cluster says something about a model, its interval is at least as wide as `curvature`
    says, the variances if all votes were independent: a model that only wins, or only ties, surprises nobody, and there
    the sandwich is blind. A lone cluster has no spread and counts as one vote; so does a cluster that alone decides how
    two models, or two groups of models, stand: `alone` are the variances from such clusters.
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
    """Reach of an interval in standard errors: Student's quantile; the normal's for one cluster or very many."""
    several = (clusters >= LONE) & (clusters < MANY)
    if not several.any():  # so that a command line need not wait for SciPy
        return np.full(len(clusters), z)
    from scipy.special import stdtrit

    return np.where(several, stdtrit(np.maximum(clusters - 1, 1), (1 + level) / 2), z)
