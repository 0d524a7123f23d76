"""Intervals: sandwich intervals of Bradley-Terry strengths, ranks, and Wilson's interval of a share.

The sandwich (Huber 1967; for clusters Liang and Zeger 1986) puts the spread of the clusters' scores between two inverse
curvatures of the likelihood. Which votes count as independent decides its width: see `clusters.py`.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Status, Strengths
from arena.ratings.clusters import Cluster, PairClusters, Support, pair_clusters, voter_codes, voter_support
from arena.ratings.votes import ELO, SCORES, Codes, Floats, Votes, summed

LEVEL = 0.95
NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Reach of an interval in standard errors, of a normal."""
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
    cluster: Cluster
    clusters: int
    few: np.ndarray
    """Mask of models with too few clusters: for them, draws of clusters look more certain than they are."""


class Bounds(NamedTuple):
    """Lower and upper bounds, element by element."""

    low: Floats
    high: Floats


def intervals(fit: Strengths, votes: Votes, cluster: Cluster) -> Intervals:
    """Sandwich intervals of a fit to these votes, clustered by `cluster`.

    Boards cluster by tuple where items are known. Raises `VotesError` if the votes lack the items or voters to cluster
    by.
    """
    if cluster == "voter":
        return _intervals(fit, _of_voters(fit, votes), cluster)
    return cluster_intervals(fit, pair_clusters(votes, cluster))


def cluster_intervals(fit: Strengths, clusters: PairClusters) -> Intervals:
    """Sandwich intervals of a fit, from clusters that are already summed up."""
    return _intervals(fit, _of_pairs(fit, clusters), clusters.cluster)


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


def percentiles(values: Floats) -> Bounds:
    """Central bounds of each column's values: a share LEVEL lies within, and as much is left out on either side."""
    return Bounds(*np.quantile(values, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0))


def wilson(wins: Floats | Codes, votes: Floats | Codes) -> Bounds:
    """Wilson's (1927) score interval of the shares wins / votes; 0 to 1 where there are no votes."""
    z, votes = NORMAL, np.asarray(votes, np.float64)
    share = np.divide(wins, votes, out=np.full(votes.shape, 0.5), where=votes > 0)
    middle = share * votes + z * z / 2
    reach = z * np.sqrt(votes * share * (1 - share) + z * z / 4)
    return Bounds(np.maximum((middle - reach) / (votes + z * z), 0), np.minimum((middle + reach) / (votes + z * z), 1))


@dataclass(frozen=True)
class Share:
    """A share of cases with its binomial interval (Wilson's)."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """hits / n; None without cases."""
        return self.hits / self.n if self.n else None


def shares(hits: Floats | Codes, n: Floats | Codes) -> list[Share]:
    """The shares hits / n, with their intervals."""
    columns = (hits.astype(int), n.astype(int), *wilson(hits, n))
    return list(map(Share, *(column.tolist() for column in columns)))


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
    """Sum the outer products of the voters' scores, times C / (C - 1) for few voters."""
    voter, m = voter_codes(votes), votes.models
    surprise = SCORES[votes.outcome] - 1 / (1 + np.exp(fit.strengths[votes.b] - fit.strengths[votes.a]))
    surprise *= fit.comparable[votes.a, votes.b]
    if votes.weights is not None:
        surprise *= votes.weights
    order = np.argsort(voter, kind="stable")
    a, b, voter, surprise = votes.a[order], votes.b[order], voter[order], surprise[order]
    voters = int(voter.max(initial=-1)) + 1
    scores = np.zeros((m, m))
    for first in range(0, voters, BLOCK):
        part = slice(*np.searchsorted(voter, (first, first + BLOCK)))
        row, rows = voter[part] - first, min(BLOCK, voters - first)
        score = summed(row * m + a[part], surprise[part], rows * m)
        score -= summed(row * m + b[part], surprise[part], rows * m)
        score = score.reshape(rows, m)
        scores += score.T @ score
    scores *= voters / max(1, voters - 1)
    return _Spread(scores, voters, voter_support(votes), np.zeros(m), _Alone(voter[:0], voter[:0], surprise[:0]))


def _intervals(fit: Strengths, spread: _Spread, cluster: Cluster) -> Intervals:
    """Intervals around a fit's ratings, for the models that have a number.

    Student's quantile with clusters - 1 degrees of freedom replaces the normal's, less what leverage already added to
    the covariance. If hardly any cluster says something about a model, its interval is at least as wide as the
    curvature says, the variances if all votes were independent: a model that only wins, or only ties, surprises nobody,
    and there the sandwich is blind. A lone cluster has no spread and counts as one vote; so does a cluster that alone
    decides how two models, or two groups of models, stand.
    """
    held, centred = spread.held, fit.centring() @ fit.inverse * ELO.points
    covariance = centred @ spread.scores @ centred.T
    alone = (centred[:, spread.alone.low] - centred[:, spread.alone.high]) ** 2 @ spread.alone.square
    leverage = spread.raised / np.maximum(held.votes, np.finfo(np.float64).tiny)
    sandwich = np.maximum(covariance.diagonal(), 0)
    reach = np.maximum(_quantile(held.clusters) * np.sqrt(1 - leverage), NORMAL) * np.sqrt(sandwich)
    blind = np.array([status is not Status.RATED for status in fit.statuses], dtype=bool)
    few = blind | (np.minimum(held.clusters, held.decided) < FEW) | (alone > sandwich)
    if few.any():
        curvature = (centred @ fit.information @ centred.T).diagonal()
        one_vote = np.where(held.clusters < LONE, held.votes / np.maximum(held.clusters, 1), 1)
        flat = np.where(few, np.maximum(curvature * one_vote, alone), 0)
        covariance = covariance + np.diag(np.maximum(flat - sandwich, 0))
        reach = np.maximum(reach, NORMAL * np.sqrt(flat))
    reach = np.where(np.isnan(fit.ratings), np.nan, reach)
    errors = np.where(np.isnan(fit.ratings), np.nan, np.sqrt(np.maximum(covariance.diagonal(), 0)))
    return Intervals(fit.ratings - reach, fit.ratings + reach, errors, covariance, cluster, spread.clusters, few)


def _quantile(clusters: Floats) -> Floats:
    """Reach of an interval in standard errors: Student's quantile; the normal's for one cluster or very many."""
    several = (clusters >= LONE) & (clusters < MANY)
    if not several.any():  # so that a command line need not wait for SciPy
        return np.full(len(clusters), NORMAL)
    from scipy.special import stdtrit

    return np.where(several, stdtrit(np.maximum(clusters - 1, 1), (1 + LEVEL) / 2), NORMAL)
