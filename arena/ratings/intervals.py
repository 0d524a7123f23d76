"""Intervals: sandwich intervals of Bradley-Terry strengths, and the ranks that follow.

The sandwich (Huber 1967; for clusters Liang and Zeger 1986) puts the spread of the clusters' scores between two inverse
curvatures of the likelihood. Its width depends on the clusters of votes (`clusters.py`). Clustered by item, an interval
covers the fit to the expected votes on infinitely many items like those judged, by voters like these. With a single
voter, or unknown voters, it is for these voters only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Status, Strengths
from arena.ratings.clusters import Cluster, cluster_codes, freedom, has_several, intersection_codes
from arena.ratings.votes import ELO, SCORES, Codes, Floats, Votes, summed

LEVEL = 0.95
NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""The reach of an interval in standard errors, for a normal."""
NOTED = 0.01
"""Leverage of a cluster above which its score is corrected for it."""
BENT = 0.05
"""The share of a score lost to leverage, above which the score is corrected in full, not only to first order."""
MOST_LEVERAGE = 0.99
"""The share of a cluster's leverage that is corrected; without a limit, a cluster that decides alone has no rest."""
ALONE = 0.5
"""The leverage above which an item says more about some models than all other items together."""
FEW = 5
"""The fewest clusters of a model with a reliable spread; with fewer, the curvature may widen the interval."""
MANY = 100
"""The fewest clusters of a model for which Student's quantile is taken as the normal's (within 1.3%)."""
OF_ITEMS: frozenset[Cluster] = frozenset({"picture", "item", "family"})
"""Clusters of items; intervals by these also consider voters."""
BLOCK = 4096
"""The clusters with scores in memory at once."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals by model code, in rating points, with their parameters; NaN for a model without a number."""

    low: Floats
    high: Floats
    covariance: Floats
    """The covariance of a normal with these intervals: models x models."""
    cluster: Cluster
    clusters: int
    few: np.ndarray
    """The mask of models with too few clusters for a reliable spread."""
    freedom: Floats
    """The degrees of freedom of each model's variance; infinite if it counts as known."""
    for_new_voters: bool
    """Whether they are for new voters like these; otherwise they are for these voters only."""


class Bounds(NamedTuple):
    """Lower and upper bounds, element by element."""

    low: Floats
    high: Floats


def intervals(fit: Strengths, votes: Votes, cluster: Cluster) -> Intervals:
    """Returns the sandwich intervals of a fit to these votes, clustered by `cluster`; with clusters of items, also by
    voter if that is wider.

    Student's quantile replaces the normal's (degrees of freedom: `clusters.freedom`). With few clusters of a model, its
    interval is at least as wide as by the curvature, the variance of independent votes: a model that only wins, or only
    ties, has no surprises, and the sandwich is blind to it. A cluster that alone decides between two models, or groups
    of models, decides by one vote for each pair. Raises `VotesError` if the votes lack the column for the clusters.
    """
    bread = fit.centring() @ fit.inverse * ELO.points
    spread = _spread(fit, votes, cluster_codes(votes, cluster))
    covariance = bread @ spread.scores @ bread.T
    variance = _variances(bread, spread.scores)
    alone = _variances(bread, spread.alone)
    reach = student_quantile(spread.clusters_of) * np.sqrt(variance)
    clusters_of = spread.clusters_of
    by_voters = cluster in OF_ITEMS and has_several(votes.voters)
    if by_voters:
        voters = _by_voters(fit, votes, bread, spread, variance, cluster)
        reach = np.maximum(reach, voters.reach)
        clusters_of = voters.clusters_of
    blind = np.array([status is not Status.RATED for status in fit.statuses], dtype=bool)
    few = blind | (np.minimum(spread.clusters_of, spread.decided) < FEW) | (alone > variance)
    if few.any():
        flat = np.maximum(_variances(bread, fit.information), alone)
        reach = np.where(few, np.maximum(reach, NORMAL * np.sqrt(flat)), reach)
    scale = np.divide(
        reach, NORMAL * np.sqrt(variance), out=np.zeros(len(reach)), where=variance > 0
    )
    covariance *= np.outer(scale, scale)
    covariance[np.diag_indices_from(covariance)] = (reach / NORMAL) ** 2
    reach = np.where(np.isnan(fit.ratings), np.nan, reach)
    return Intervals(
        low=fit.ratings - reach,
        high=fit.ratings + reach,
        covariance=covariance,
        cluster=cluster,
        clusters=spread.clusters,
        few=few,
        freedom=np.where(clusters_of > 1, clusters_of - 1, np.inf),
        for_new_voters=by_voters or (cluster == "voter" and has_several(votes.voters)),
    )


def ranks(fit: Strengths, bounds: Bounds | Intervals) -> Codes:
    """Returns 1 + the number of comparable models with a low bound above a model's high bound; 0 without a number."""
    above = (bounds.low[None, :] > bounds.high[:, None]) & fit.comparable
    return np.where(np.isnan(fit.ratings), 0, 1 + above.sum(1))


def percentiles(values: Floats) -> Bounds:
    """Returns the central bounds of each column's values: a share LEVEL is within, with equal shares on both sides."""
    low, high = np.quantile(values, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    return Bounds(low, high)


class _Spread(NamedTuple):
    """The scores of clusters of votes, and the part that clusters decide alone."""

    scores: Floats
    """Sum over clusters of the outer product of the cluster's score: models x models."""
    alone: Floats
    """The expected sum of decisions of clusters above ALONE, each pair of models by one vote: models x models."""
    clusters: int
    clusters_of: Floats
    """The number of equal clusters, by model, with the same information on how far clusters differ."""
    decided: Floats
    """The number of clusters, by model, that lean to a side, and so can have surprises."""


class _Terms(NamedTuple):
    """The terms of each vote, as columns."""

    a: Codes
    b: Codes
    cluster: Codes
    surprise: Floats
    """Side a's part of the win, less the expected one."""
    information: Floats
    """The information on the difference of the two strengths."""
    weight: Floats
    lean: Floats
    """Side a's part of the win, less a half."""

    def take(self, places: np.ndarray) -> "_Terms":
        return self._make(column[places] for column in self)

    def leverage(self, fit: Strengths) -> Floats:
        """Returns the share of each vote in the fit of its pair."""
        own = fit.inverse.diagonal()
        return self.information * (own[:, None] + own[None, :] - 2 * fit.inverse)[self.a, self.b]

    def summed(self, column: Floats, models: int) -> Floats:
        """Returns the sum of a column over each model's votes."""
        return summed(self.a, column, models) + summed(self.b, column, models)

    def squared(self, column: Floats, models: int) -> Floats:
        """Returns the sum of the outer products of the scores of single votes: models x models."""
        square = summed(
            self.a.astype(np.int64) * models + self.b, column**2, models * models
        ).reshape(models, models)
        square += square.T
        return np.diag(square.sum(1)) - square

    def by_model(self, column: Floats, clusters: int, models: int, sign: int = -1) -> Floats:
        """Returns the sum of a column over each cluster's votes, with the other sign for side b: clusters x models."""
        total = summed(self.cluster * models + self.a, column, clusters * models)
        total += sign * summed(self.cluster * models + self.b, column, clusters * models)
        return total.reshape(clusters, models)


def _terms(fit: Strengths, votes: Votes, cluster: Codes) -> _Terms:
    a = votes.a
    b = votes.b
    won = SCORES[votes.outcome]
    pair = a.astype(np.int64) * votes.models + b
    chance = fit.chances.ravel()[pair]
    weight = fit.comparable.ravel()[pair]
    return _Terms(
        a,
        b,
        cluster,
        weight * (won - chance),
        weight * chance * (1 - chance),
        weight,
        weight * (won - 0.5),
    )


def _blocks(terms: _Terms, clusters: int) -> Iterator[tuple[int, int, _Terms]]:
    """Yields the first of BLOCK clusters, their number, and their terms with clusters coded from 0."""
    if clusters <= BLOCK:
        yield 0, clusters, terms
        return
    terms = terms.take(np.argsort(terms.cluster, kind="stable"))
    for first in range(0, clusters, BLOCK):
        part = terms.take(np.arange(*np.searchsorted(terms.cluster, (first, first + BLOCK))))
        yield first, min(BLOCK, clusters - first), part._replace(cluster=part.cluster - first)


def _spread(fit: Strengths, votes: Votes, cluster: Codes, outweighing: float = ALONE) -> _Spread:
    """Returns the sums over clusters, each score corrected for its leverage as in the jackknife (CR3: Bell and
    McCaffrey 2002).

    `outweighing`: the leverage above which a cluster decides alone.
    """
    terms = _terms(fit, votes, cluster)
    m = votes.models
    clusters = int(cluster.max(initial=-1)) + 1
    scores = np.zeros((m, m))
    alone = np.zeros((m, m))
    size = np.zeros(m)
    squares = np.zeros(m)
    largest = np.zeros(m)
    decided = np.zeros(m)
    single = np.bincount(cluster, minlength=clusters)[cluster] == 1
    if single.any():  # In closed form, since files without items have a cluster for each vote.
        part = terms.take(np.flatnonzero(single))
        terms = terms.take(np.flatnonzero(~single))
        terms = terms._replace(cluster=np.unique(terms.cluster, return_inverse=True)[1])
        leverage = part.leverage(fit)
        scores += part.squared(part.surprise / (1 - MOST_LEVERAGE * leverage), m)
        single_size = part.summed(part.weight, m)
        size += single_size
        squares += part.summed(part.weight**2, m)
        largest = np.minimum(single_size, 1)
        decided += part.summed((part.lean != 0).astype(np.float64), m)
        for number in np.flatnonzero(leverage > outweighing).tolist():
            heavy = _Heavy(fit, part.take(np.array([number])))
            alone[np.ix_(heavy.models, heavy.models)] += heavy.decided_alone(outweighing)
    several = int(terms.cluster.max(initial=-1)) + 1
    leverage = summed(terms.cluster, terms.leverage(fit), several)
    for first, rows, part in _blocks(terms, several):
        sizes = part.by_model(part.weight, rows, m, sign=1)
        size += sizes.sum(0)
        squares += (sizes**2).sum(0)
        largest = np.maximum(largest, sizes.max(0, initial=0))
        decided += (part.by_model(part.lean, rows, m) != 0).sum(0)
        score = part.by_model(part.surprise, rows, m)
        of_these = leverage[first : first + rows]
        if (noted := of_these > NOTED).any():
            pull = score @ fit.inverse
            moved = (
                pull.ravel()[part.cluster * m + part.a] - pull.ravel()[part.cluster * m + part.b]
            ) * part.information
            echo = part.by_model(moved, rows, m) * noted[:, None]
            bent = (pull * echo).sum(1) > BENT * (pull * score).sum(1)
            score += echo
            for number in np.flatnonzero(bent | (of_these > outweighing)).tolist():
                heavy = _Heavy(fit, part.take(np.flatnonzero(part.cluster == number)))
                score[number] = 0
                score[number, heavy.models] = heavy.score()
                if of_these[number] > outweighing:
                    alone[np.ix_(heavy.models, heavy.models)] += heavy.decided_alone(outweighing)
        scores += score.T @ score
    clusters_of = np.where(size > 0, 1 + freedom(size, squares, largest), 0)
    return _Spread(scores, alone, clusters, clusters_of, decided)


class _Heavy:
    """A cluster that bends the fit towards itself, among its own models."""

    def __init__(self, fit: Strengths, terms: _Terms) -> None:
        self.models, place = np.unique(np.concatenate([terms.a, terms.b]), return_inverse=True)
        self._inverse = fit.inverse[np.ix_(self.models, self.models)]
        k = len(self.models)
        (a, b) = place.reshape(2, -1)
        between = _paired(a, b, terms.information, k)
        self._information = np.diag(between.sum(1)) - between
        # As if all votes of a pair were the same.
        between = between * _paired(a, b, terms.weight, k)
        self._alike = np.diag(between.sum(1)) - between
        self._shares = self._information @ self._inverse
        self._score = summed(a, terms.surprise, k) - summed(b, terms.surprise, k)

    def score(self) -> Floats:
        """Returns the scores of the cluster around the fit without it."""
        left = np.eye(len(self._score)) - MOST_LEVERAGE * self._shares
        return np.linalg.solve(left, self._score).astype(np.float64, copy=False)

    def decided_alone(self, outweighing: float) -> Floats:
        """Returns the expected square of the score if this cluster outweighs all others, each pair by one vote."""
        # No eigenvalue is above the root of their sum of squares.
        if (self._shares * self._shares.T).sum() <= outweighing**2:
            return np.zeros_like(self._information)
        root = np.linalg.cholesky(self._inverse)
        share, direction = np.linalg.eigh(root.T @ self._information @ root)
        heavy = direction * (share > outweighing) @ direction.T
        back = np.linalg.solve(root.T, heavy)
        return back @ root.T @ self._alike @ root @ back.T


def _paired(a: Codes, b: Codes, column: Floats, models: int) -> Floats:
    """Returns the sum of a column over the votes of each pair: models x models, symmetric."""
    between = summed(a * models + b, column, models * models).reshape(models, models)
    return between + between.T


class _ByVoters(NamedTuple):
    """The part that voters add to intervals by clusters of items."""

    reach: Floats
    clusters_of: Floats
    """The number of equal clusters by model, of items or voters, whichever are fewer."""


def _by_voters(
    fit: Strengths,
    votes: Votes,
    bread: Floats,
    items: _Spread,
    variance: Floats,
    cluster: Cluster,
) -> _ByVoters:
    """Returns the reach of intervals by clusters of items and by voter (Cameron, Gelbach and Miller 2011).

    Voters add their spread beyond the clusters of both: nothing if no voter votes twice. A voter who alone decides
    between models decides by one vote for each pair, since others may decide differently.
    """
    voters_of = cluster_codes(votes, "voter")
    voters = _spread(fit, votes, voters_of, outweighing=MOST_LEVERAGE)
    both = _light_scores(fit, votes, intersection_codes(cluster_codes(votes, cluster), voters_of))
    added = np.maximum(_variances(bread, voters.scores) - _variances(bread, both), 0)
    clusters_of = np.minimum(items.clusters_of, voters.clusters_of)
    several = student_quantile(clusters_of)
    alone = _variances(bread, voters.alone)
    reach = np.sqrt(several**2 * (variance + added) + NORMAL**2 * alone)
    return _ByVoters(reach, clusters_of)


def _light_scores(fit: Strengths, votes: Votes, cluster: Codes) -> Floats:
    """Returns the scores of `_spread`; the many clusters that need no correction are summed as a sparse matrix."""
    terms = _terms(fit, votes, cluster)
    m = votes.models
    light = (np.bincount(cluster) > 1) & (
        summed(cluster, terms.leverage(fit), int(cluster.max()) + 1) <= NOTED
    )
    plain = light[cluster]
    scores = _spread(
        fit, votes.take(~plain), np.unique(cluster[~plain], return_inverse=True)[1]
    ).scores
    if plain.any():
        from scipy.sparse import csr_array

        part = terms.take(plain)
        places = np.tile(part.cluster, 2), np.concatenate([part.a, part.b])
        score = csr_array(
            (np.concatenate([part.surprise, -part.surprise]), places), shape=(len(light), m)
        )
        scores += (score.T @ score).toarray()
    return scores


def _variances(bread: Floats, scores: Floats) -> Floats:
    return np.maximum(np.einsum("ij,jk,ik->i", bread, scores, bread, optimize=True), 0)


def student_quantile(clusters: Floats) -> Floats:
    """Returns the reach of an interval in standard errors: Student's quantile; the normal's for one or MANY
    clusters.
    """
    several = (clusters > 1) & (clusters < MANY)
    if not several.any():  # Importing SciPy is slow, and commands should start fast.
        return np.full(len(clusters), NORMAL)
    from scipy.special import stdtrit

    return np.where(several, stdtrit(np.maximum(clusters - 1, 1), (1 + LEVEL) / 2), NORMAL)
