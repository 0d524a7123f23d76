"""Clusters: groups of dependent votes, summed up so that what follows costs the same at any number of votes.

Five people's votes on one (item, pair) tuple are not five independent votes, nor are a thousand of one voter. A cluster
within one pair of models is its number of votes and the wins of the pair's lower code; equal ones are counted together.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.votes import SCORES, Codes, Floats, Outcome, Votes, VotesError, summed

Cluster = Literal["vote", "tuple", "voter", "tuple and voter"]
"""What counts as independent: each vote, each (item, pair) tuple, each voter, or votes that share neither."""


class Support(NamedTuple):
    """Evidence in each model's own votes, by model code."""

    votes: Floats
    """Total weight."""
    clusters: Floats
    """Effective number of clusters: the squared sum of sizes over the sum of squares (Kish 1965)."""
    decided: Floats
    """Clusters (by voter: votes) that lean to a side, and so can surprise."""


@dataclass(frozen=True, eq=False)
class PairClusters:
    """Clusters within one pair of models, ordered by pair; row c stands for `count[c]` equal clusters."""

    low: Codes
    high: Codes
    won: Floats
    """Weight of the votes for `low` in one of these clusters."""
    votes: Floats
    """Weight of the votes in one of these clusters."""
    count: Floats
    models: int
    cluster: Cluster

    @property
    def total(self) -> float:
        """Number of clusters."""
        return float(self.count.sum())

    def win_matrix(self) -> Floats:
        """Wins of all clusters: models x models."""
        m = self.models
        low_won = summed(self.low * m + self.high, self.won * self.count, m * m).reshape(m, m)
        high_won = summed(self.high * m + self.low, (self.votes - self.won) * self.count, m * m).reshape(m, m)
        return low_won + high_won

    def by_model(self, column: Floats) -> Floats:
        """Sums of a column over each model's clusters."""
        return summed(self.low, column, self.models) + summed(self.high, column, self.models)

    def support(self) -> Support:
        weight = self.count * self.votes
        decided = self.count * (2 * self.won != self.votes)
        return _support(self.by_model(weight), self.by_model(weight * self.votes), self.by_model(decided))


def support(votes: Votes, cluster: Cluster) -> Support:
    """Support by votes clustered as asked; by tuple and voter, the smaller of both."""
    if cluster == "tuple and voter":
        return Support(*map(np.minimum, support(votes, "tuple"), support(votes, "voter")))
    if cluster != "voter":
        return pair_clusters(votes, cluster).support()
    m, weight = votes.models, np.ones(len(votes)) if votes.weights is None else votes.weights
    decided = weight * ((votes.outcome == Outcome.A) | (votes.outcome == Outcome.B))
    model = np.concatenate([votes.a, votes.b])
    held, place = np.unique(np.tile(cluster_codes(votes, "voter"), 2) * m + model, return_inverse=True)
    size = summed(place, np.tile(weight, 2), len(held))
    return _support(summed(held % m, size, m), summed(held % m, size**2, m), summed(model, np.tile(decided, 2), m))


def _support(votes: Floats, squares: Floats, decided: Floats) -> Support:
    return Support(votes, np.divide(votes**2, squares, out=np.zeros(len(votes)), where=squares > 0), decided)


def vote_clusters(wins: Floats) -> PairClusters:
    """Each win as its own cluster; a tie is half a cluster won and half a cluster lost."""
    low, high = np.nonzero(np.triu(wins + wins.T))
    count = np.stack([wins[low, high], wins[high, low]], 1).ravel()
    won = np.tile([1.0, 0.0], len(low))
    some = count > 0
    return PairClusters(
        low=np.repeat(low, 2)[some],
        high=np.repeat(high, 2)[some],
        won=won[some],
        votes=np.ones(int(some.sum())),
        count=count[some],
        models=len(wins),
        cluster="vote",
    )


def pair_clusters(votes: Votes, cluster: Literal["vote", "tuple", "tuple and voter"]) -> PairClusters:
    """Sum votes by cluster: each vote, each (item, pair), or each (item, pair) and voter."""
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    pair = low.astype(np.int64) * votes.models + high
    score = SCORES[votes.outcome]
    won = np.where(votes.a == low, score, 1 - score)
    weight = np.ones(len(votes)) if votes.weights is None else votes.weights
    if cluster == "vote":
        return _alike(pair, won * weight, weight, votes.models, cluster)
    code = cluster_codes(votes, cluster)
    clusters = int(code.max(initial=-1)) + 1
    of_cluster = np.zeros(clusters, np.int64)
    of_cluster[code] = pair
    return _alike(
        of_cluster, summed(code, won * weight, clusters), summed(code, weight, clusters), votes.models, cluster
    )


def cluster_codes(votes: Votes, cluster: Cluster) -> Codes:
    """Cluster code of each vote, from 0 without gaps; by tuple and voter, votes that share both are a cluster."""
    if cluster == "vote":
        return np.arange(len(votes))
    if cluster == "voter":
        return np.unique(voters_of(votes), return_inverse=True)[1]
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    codes = _joined(items_of(votes), low.astype(np.int64) * votes.models + high)
    if cluster == "tuple and voter":
        codes = _joined(voters_of(votes), codes)
    return np.unique(codes, return_inverse=True)[1]


def items_of(votes: Votes) -> Codes:
    """The items' column. Raises `VotesError` without one."""
    if votes.items is None:
        raise VotesError("these votes do not say which item they are about: clusters by tuple need it")
    return votes.items


def voters_of(votes: Votes) -> Codes:
    """The voters' column. Raises `VotesError` without one."""
    if votes.voters is None:
        raise VotesError("these votes do not say who cast them: clusters by voter need it")
    return votes.voters


def _joined(outer: Codes, inner: Codes) -> Codes:
    """One code for each combination of two columns' codes."""
    inner = np.unique(inner, return_inverse=True)[1]
    return outer.astype(np.int64) * (int(inner.max(initial=0)) + 1) + inner


def _alike(pair: Codes, won: Floats, votes: Floats, models: int, cluster: Cluster) -> PairClusters:
    order = np.lexsort((won, votes, pair))
    pair, won, votes = pair[order], won[order], votes[order]
    changed = (np.diff(pair) != 0) | (np.diff(won) != 0) | (np.diff(votes) != 0)
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(pair)), bool), changed]))
    count = np.diff(np.append(starts, len(pair))).astype(np.float64)
    return PairClusters(
        pair[starts] // models, pair[starts] % models, won[starts], votes[starts], count, models, cluster
    )
