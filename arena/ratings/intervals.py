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
from arena.ratings.votes import ELO, SCORES, Codes, Floats, Votes, code_sums

LEVEL = 0.95
NORMAL_QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""The reach of an interval in standard errors, for a normal."""
LEAST_LEVERAGE = 0.01
"""The leverage of a cluster above which its score is corrected for it."""
FIRST_ORDER_LOSS = 0.05
"""The share of a score lost to leverage, above which the score is corrected in full, not only to first order."""
MOST_LEVERAGE = 0.99
"""The share of a cluster's leverage that is corrected; all of it would divide by 0 where a cluster decides alone."""
OUTWEIGHING = 0.5
"""The leverage above which an item says more about some models than all other items together."""
FEW_CLUSTERS = 5
"""The fewest clusters of a model with a reliable spread; with fewer, the curvature may widen the interval."""
MANY_CLUSTERS = 100
"""The fewest clusters of a model for which Student's quantile is taken as the normal's (within 1.3%)."""
ITEM_CLUSTERS: frozenset[Cluster] = frozenset({"picture", "item", "family"})
"""Clusters of items; intervals by these also consider voters."""
CLUSTERS_A_BLOCK = 4096
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
    ties, has no surprises, and the sandwich is blind to it. Where a cluster alone decides between two models, or groups
    of models, its votes on a pair count as one. Raises `VotesError` if the votes lack the column for the clusters.
    """
    bread = fit.centring() @ fit.inverse * ELO.points
    spread = _spread(fit, votes, cluster_codes(votes, cluster))
    covariance = bread @ spread.scores @ bread.T
    variance = _variances(bread, spread.scores)
    alone = _variances(bread, spread.alone)
    reach = student_quantile(spread.model_clusters) * np.sqrt(variance)
    fewest_clusters = spread.model_clusters
    considers_voters = cluster in ITEM_CLUSTERS and has_several(votes.voters)
    if considers_voters:
        voters = _by_voters(fit, votes, bread, spread, variance, cluster)
        reach = np.maximum(reach, voters.reach)
        fewest_clusters = voters.fewest_clusters
    is_unrated = np.array([status is not Status.RATED for status in fit.statuses], dtype=bool)
    informative_clusters = np.minimum(spread.model_clusters, spread.leaning_clusters)
    few = is_unrated | (informative_clusters < FEW_CLUSTERS) | (alone > variance)
    if few.any():
        curvature_variance = np.maximum(_variances(bread, fit.information), alone)
        curvature_reach = NORMAL_QUANTILE * np.sqrt(curvature_variance)
        reach = np.where(few, np.maximum(reach, curvature_reach), reach)
    # The covariance of a normal whose intervals are as wide as those of Student's t.
    scale = np.divide(
        reach, NORMAL_QUANTILE * np.sqrt(variance), out=np.zeros(len(reach)), where=variance > 0
    )
    covariance *= np.outer(scale, scale)
    covariance[np.diag_indices_from(covariance)] = (reach / NORMAL_QUANTILE) ** 2
    reach = np.where(np.isnan(fit.ratings), np.nan, reach)
    return Intervals(
        low=fit.ratings - reach,
        high=fit.ratings + reach,
        covariance=covariance,
        cluster=cluster,
        clusters=spread.clusters,
        few=few,
        freedom=np.where(fewest_clusters > 1, fewest_clusters - 1, np.inf),
        for_new_voters=considers_voters or (cluster == "voter" and has_several(votes.voters)),
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
    """The part of clusters that decide alone, whose votes on a pair count as one: models x models."""
    clusters: int
    """The number of clusters."""
    model_clusters: Floats
    """The number of equal clusters, by model, that would estimate the spread of its clusters equally well."""
    leaning_clusters: Floats
    """The number of clusters, by model, that lean to a side, and so can have surprises."""


class _Terms(NamedTuple):
    """The terms of each vote in the scores and the information, as columns."""

    a: Codes
    b: Codes
    cluster: Codes
    surprise: Floats
    """Side a's part of the win, less the expected one."""
    information: Floats
    """The information on the difference of the two strengths."""
    weight: Floats
    """1, or 0 if the two models aren't comparable."""
    lean: Floats
    """Side a's part of the win, less a half."""

    def take(self, places: np.ndarray) -> "_Terms":
        """Returns the terms at `places` (indices or a mask)."""
        return self._make(column[places] for column in self)

    def leverage(self, fit: Strengths) -> Floats:
        """Returns the share of each vote in the fit of its pair."""
        variance = fit.inverse.diagonal()
        gap_variance = variance[:, None] + variance[None, :] - 2 * fit.inverse
        return self.information * gap_variance[self.a, self.b]

    def sum_by_model(self, column: Floats, models: int) -> Floats:
        """Returns the sum of a column over each model's votes."""
        return code_sums(self.a, column, models) + code_sums(self.b, column, models)

    def single_vote_products(self, surprise: Floats, models: int) -> Floats:
        """Returns the sum of the outer products of the scores of single votes: models x models."""
        codes_a = self.a.astype(np.int64)  # a product of codes needs more bits
        squares = _pair_sums(codes_a, self.b, surprise**2, models)
        return np.diag(squares.sum(1)) - squares

    def sum_by_cluster(self, column: Floats, clusters: int, models: int, sign: int = -1) -> Floats:
        """Returns the sum of a column over each cluster's votes, times `sign` for side b: clusters x models."""
        total = code_sums(self.cluster * models + self.a, column, clusters * models)
        total += sign * code_sums(self.cluster * models + self.b, column, clusters * models)
        return total.reshape(clusters, models)


def _terms(fit: Strengths, votes: Votes, cluster: Codes) -> _Terms:
    a = votes.a
    b = votes.b
    won = SCORES[votes.outcome]
    pair = a.astype(np.int64) * votes.models + b  # a product of codes needs more bits
    chance = fit.chances.ravel()[pair]
    weight = fit.comparable.ravel()[pair]
    return _Terms(
        a=a,
        b=b,
        cluster=cluster,
        surprise=weight * (won - chance),
        information=weight * chance * (1 - chance),
        weight=weight,
        lean=weight * (won - 0.5),
    )


class _Block(NamedTuple):
    """Neighbouring clusters, few enough for their scores to fit into memory."""

    first: int
    """The code of the first cluster."""
    clusters: int
    terms: _Terms
    """Their terms, with clusters coded from 0."""


def _blocks(terms: _Terms, clusters: int) -> Iterator[_Block]:
    """Yields the terms in blocks of CLUSTERS_A_BLOCK clusters."""
    if clusters <= CLUSTERS_A_BLOCK:
        yield _Block(0, clusters, terms)
        return
    terms = terms.take(np.argsort(terms.cluster, kind="stable"))
    for first in range(0, clusters, CLUSTERS_A_BLOCK):
        end = min(first + CLUSTERS_A_BLOCK, clusters)
        start_vote, end_vote = np.searchsorted(terms.cluster, (first, end))
        part = terms.take(np.arange(start_vote, end_vote))
        yield _Block(first, end - first, part._replace(cluster=part.cluster - first))


class _SpreadSums:
    """The sums of a spread, to which clusters are added."""

    def __init__(self, fit: Strengths, outweighing: float) -> None:
        m = len(fit.strengths)
        self._fit = fit
        self._models = m
        self._outweighing = outweighing
        self._scores = np.zeros((m, m))
        self._alone = np.zeros((m, m))
        # The votes of each model by cluster: their sum, the sum of their squares, and the most in one cluster.
        self._size = np.zeros(m)
        self._squares = np.zeros(m)
        self._largest = np.zeros(m)
        self._leaning = np.zeros(m)

    def spread(self, clusters: int) -> _Spread:
        """Returns the spread of the clusters that were added."""
        degrees = freedom(self._size, self._squares, self._largest)
        return _Spread(
            scores=self._scores,
            alone=self._alone,
            clusters=clusters,
            model_clusters=np.where(self._size > 0, 1 + degrees, 0),
            leaning_clusters=self._leaning,
        )

    def add_single_votes(self, terms: _Terms) -> None:
        """Adds votes that are a cluster each, in closed form, since files without items have only these."""
        m = self._models
        leverage = terms.leverage(self._fit)
        corrected = terms.surprise / (1 - MOST_LEVERAGE * leverage)
        self._scores += terms.single_vote_products(corrected, m)
        size = terms.sum_by_model(terms.weight, m)
        self._size += size
        self._squares += terms.sum_by_model(terms.weight**2, m)
        # Each cluster has one vote, so the largest of a model has 1, or 0 if the model has none here.
        self._largest = np.maximum(self._largest, np.minimum(size, 1))
        self._leaning += terms.sum_by_model((terms.lean != 0).astype(np.float64), m)
        for vote in np.flatnonzero(leverage > self._outweighing).tolist():
            self._add_decided_alone(_Heavy(self._fit, terms.take(np.array([vote]))))

    def add_clusters(self, terms: _Terms, clusters: int, leverage: Floats) -> None:
        """Adds clusters coded from 0, with the leverage of each."""
        m = self._models
        sizes = terms.sum_by_cluster(terms.weight, clusters, m, sign=1)
        self._size += sizes.sum(0)
        self._squares += (sizes**2).sum(0)
        self._largest = np.maximum(self._largest, sizes.max(0, initial=0))
        self._leaning += (terms.sum_by_cluster(terms.lean, clusters, m) != 0).sum(0)
        scores = terms.sum_by_cluster(terms.surprise, clusters, m)
        is_levered = leverage > LEAST_LEVERAGE
        if is_levered.any():
            self._correct(scores, terms, leverage, is_levered)
        self._scores += scores.T @ scores

    def _correct(
        self, scores: Floats, terms: _Terms, leverage: Floats, is_levered: np.ndarray
    ) -> None:
        """Corrects the scores of clusters in place for the part that the fit lost to them."""
        m = self._models
        clusters = len(scores)
        # To first order, a cluster moved the strengths by its pull, and its score lost this times its information.
        pull = scores @ self._fit.inverse
        pull_a = pull.ravel()[terms.cluster * m + terms.a]
        pull_b = pull.ravel()[terms.cluster * m + terms.b]
        lost = terms.sum_by_cluster((pull_a - pull_b) * terms.information, clusters, m)
        lost *= is_levered[:, None]
        needs_full = (pull * lost).sum(1) > FIRST_ORDER_LOSS * (pull * scores).sum(1)
        is_outweighing = leverage > self._outweighing
        scores += lost
        for cluster in np.flatnonzero(needs_full | is_outweighing).tolist():
            heavy = _Heavy(self._fit, terms.take(np.flatnonzero(terms.cluster == cluster)))
            scores[cluster] = 0
            scores[cluster, heavy.models] = heavy.score()
            if is_outweighing[cluster]:
                self._add_decided_alone(heavy)

    def _add_decided_alone(self, heavy: "_Heavy") -> None:
        decided = heavy.decided_alone(self._outweighing)
        self._alone[np.ix_(heavy.models, heavy.models)] += decided


def _spread(
    fit: Strengths, votes: Votes, cluster: Codes, outweighing: float = OUTWEIGHING
) -> _Spread:
    """Returns the sums over clusters, each score corrected for its leverage as in the jackknife (CR3: Bell and
    McCaffrey 2002).

    `outweighing`: the leverage above which a cluster decides alone.
    """
    terms = _terms(fit, votes, cluster)
    clusters = int(cluster.max(initial=-1)) + 1
    sums = _SpreadSums(fit, outweighing)
    is_single = np.bincount(cluster, minlength=clusters)[cluster] == 1
    if is_single.any():
        sums.add_single_votes(terms.take(np.flatnonzero(is_single)))
        terms = terms.take(np.flatnonzero(~is_single))
        terms = terms._replace(cluster=np.unique(terms.cluster, return_inverse=True)[1])
    larger_clusters = int(terms.cluster.max(initial=-1)) + 1
    leverage = code_sums(terms.cluster, terms.leverage(fit), larger_clusters)
    for block in _blocks(terms, larger_clusters):
        block_leverage = leverage[block.first : block.first + block.clusters]
        sums.add_clusters(block.terms, block.clusters, block_leverage)
    return sums.spread(clusters)


class _Heavy:
    """A cluster that bends the fit towards itself, among its own models."""

    def __init__(self, fit: Strengths, terms: _Terms) -> None:
        self.models, place = np.unique(np.concatenate([terms.a, terms.b]), return_inverse=True)
        self._inverse = fit.inverse[np.ix_(self.models, self.models)]
        k = len(self.models)
        a, b = place.reshape(2, -1)
        information = _pair_sums(a, b, terms.information, k)
        self._information = np.diag(information.sum(1)) - information
        # As if all votes of a pair were the same: n of them have n times the variance of n independent ones.
        one_vote = information * _pair_sums(a, b, terms.weight, k)
        self._one_vote_products = np.diag(one_vote.sum(1)) - one_vote
        self._shares = self._information @ self._inverse
        self._score = code_sums(a, terms.surprise, k) - code_sums(b, terms.surprise, k)

    def score(self) -> Floats:
        """Returns the score of the cluster around the fit without it, by model of the cluster."""
        rest = np.eye(len(self._score)) - MOST_LEVERAGE * self._shares
        return np.linalg.solve(rest, self._score).astype(np.float64, copy=False)

    def decided_alone(self, outweighing: float) -> Floats:
        """Returns the expected outer product of the score in the directions where this cluster outweighs all others,
        with the votes on a pair as one; 0 if there are none.
        """
        # No eigenvalue is above the root of their sum of squares.
        if (self._shares * self._shares.T).sum() <= outweighing**2:
            return np.zeros_like(self._information)
        # The components of root.T @ score have the variance 1 in the fit, so that an eigenvalue is the cluster's share
        # in a direction. `back` turns what is projected there into a score again.
        root = np.linalg.cholesky(self._inverse)
        share, direction = np.linalg.eigh(root.T @ self._information @ root)
        projection = direction * (share > outweighing) @ direction.T
        back = np.linalg.solve(root.T, projection)
        return back @ root.T @ self._one_vote_products @ root @ back.T


def _pair_sums(a: Codes, b: Codes, column: Floats, models: int) -> Floats:
    """Returns the sum of a column over the votes of each pair: models x models, symmetric."""
    between = code_sums(a * models + b, column, models * models).reshape(models, models)
    return between + between.T


class _ByVoters(NamedTuple):
    """Intervals by clusters of items, with the part that voters add."""

    reach: Floats
    """The half widths, in rating points."""
    fewest_clusters: Floats
    """The `model_clusters` of items or of voters, by model, whichever are fewer."""


def _by_voters(
    fit: Strengths,
    votes: Votes,
    bread: Floats,
    items: _Spread,
    variance: Floats,
    cluster: Cluster,
) -> _ByVoters:
    """Returns the reach of intervals by clusters of items and by voter (Cameron, Gelbach and Miller 2011).

    The voters' spread is added, less that of clusters of one voter's votes on one cluster of items, which the items'
    spread has already: nothing is added if no voter votes twice. Where a voter alone decides between models, the votes
    on a pair count as one, since others may decide differently.
    """
    voters_of = cluster_codes(votes, "voter")
    voters = _spread(fit, votes, voters_of, outweighing=MOST_LEVERAGE)
    shared_scores = _spread_scores(
        fit, votes, intersection_codes(cluster_codes(votes, cluster), voters_of)
    )
    added = np.maximum(_variances(bread, voters.scores) - _variances(bread, shared_scores), 0)
    fewest_clusters = np.minimum(items.model_clusters, voters.model_clusters)
    quantile = student_quantile(fewest_clusters)
    alone = _variances(bread, voters.alone)
    reach = np.sqrt(quantile**2 * (variance + added) + NORMAL_QUANTILE**2 * alone)
    return _ByVoters(reach, fewest_clusters)


def _spread_scores(fit: Strengths, votes: Votes, cluster: Codes) -> Floats:
    """Returns the `scores` of `_spread` alone; the many clusters without a correction are summed as a sparse matrix."""
    terms = _terms(fit, votes, cluster)
    m = votes.models
    clusters = int(cluster.max()) + 1
    leverage = code_sums(cluster, terms.leverage(fit), clusters)
    # Single votes have a closed form in `_spread`.
    is_light = (np.bincount(cluster) > 1) & (leverage <= LEAST_LEVERAGE)
    in_light = is_light[cluster]
    other_clusters = np.unique(cluster[~in_light], return_inverse=True)[1]
    products = _spread(fit, votes.take(~in_light), other_clusters).scores
    if in_light.any():
        from scipy.sparse import csr_array

        part = terms.take(in_light)
        surprise = np.concatenate([part.surprise, -part.surprise])
        rows = np.tile(part.cluster, 2)
        columns = np.concatenate([part.a, part.b])
        scores = csr_array((surprise, (rows, columns)), shape=(clusters, m))
        products += (scores.T @ scores).toarray()
    return products


def _variances(bread: Floats, scores: Floats) -> Floats:
    """Returns the diagonal of the sandwich bread x scores x bread', without the rounding below 0."""
    return np.maximum(np.einsum("ij,jk,ik->i", bread, scores, bread, optimize=True), 0)


def student_quantile(clusters: Floats) -> Floats:
    """Returns the reach of an interval in standard errors, for numbers of clusters: Student's quantile with one degree
    of freedom less than clusters; the normal's for at most one cluster, and from MANY_CLUSTERS on.
    """
    has_student = (clusters > 1) & (clusters < MANY_CLUSTERS)
    if not has_student.any():  # Importing SciPy is slow, and commands should start fast.
        return np.full(len(clusters), NORMAL_QUANTILE)
    from scipy.special import stdtrit

    student = stdtrit(np.maximum(clusters - 1, 1), (1 + LEVEL) / 2)
    return np.where(has_student, student, NORMAL_QUANTILE)
