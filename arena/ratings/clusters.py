"""Clusters: groups of dependent votes, summed up so that what follows costs the same at any number of votes.

Five people's votes on one (item, pair) tuple are not five independent votes, nor are a thousand of one voter. A cluster
within one pair of models is its number of votes and the wins of the pair's lower code; equal ones are counted together.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.votes import SCORES, Codes, Floats, Outcome, Votes, VotesError, outcome_counts, summed

Cluster = Literal["vote", "tuple", "voter"]
"""What counts as independent: each vote, each (item, pair) tuple, or each voter."""


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
        return float(self.count.sum())

    def win_matrix(self) -> Floats:
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


def voter_support(votes: Votes) -> Support:
    """Support by votes clustered by voter."""
    m, weight = votes.models, np.ones(len(votes)) if votes.weights is None else votes.weights
    decided = weight * ((votes.outcome == Outcome.A) | (votes.outcome == Outcome.B))
    model = np.concatenate([votes.a, votes.b])
    held, place = np.unique(np.tile(voter_codes(votes), 2) * m + model, return_inverse=True)
    size = summed(place, np.tile(weight, 2), len(held))
    return _support(summed(held % m, size, m), summed(held % m, size**2, m), summed(model, np.tile(decided, 2), m))


def _support(votes: Floats, squares: Floats, decided: Floats) -> Support:
    return Support(votes, np.divide(votes**2, squares, out=np.zeros(len(votes)), where=squares > 0), decided)


def pair_clusters(votes: Votes, cluster: Literal["vote", "tuple"]) -> PairClusters:
    """Sum votes by cluster: each vote, or each (item, pair). Raises `VotesError` by tuple without items."""
    m = votes.models
    if cluster == "vote" and votes.weights is None:  # equal votes are counted, which is quicker than sorting them
        counts = outcome_counts(votes)
        won, tied = counts[Outcome.A] + counts[Outcome.B].T, counts[Outcome.TIE] + counts[Outcome.BOTH_BAD]
        counted = np.moveaxis(np.triu([won.T, tied + tied.T, won]), 0, 2)
        low, high, score = np.nonzero(counted)
        return PairClusters(low, high, score / 2, np.ones(len(low)), counted[low, high, score], m, cluster)
    low = np.minimum(votes.a, votes.b)
    pair = low.astype(np.int64) * m + np.maximum(votes.a, votes.b)
    score = SCORES[votes.outcome]
    won = np.where(votes.a == low, score, 1 - score)
    weight = np.ones(len(votes)) if votes.weights is None else votes.weights
    if cluster == "vote":
        return _alike(pair, won * weight, weight, m, cluster)
    if votes.items is None:
        raise VotesError("these votes do not say which item they are about: clusters by tuple need it")
    item = np.unique(votes.items, return_inverse=True)[1]
    tuples, code = np.unique(pair * (int(item.max(initial=0)) + 1) + item, return_inverse=True)
    of_tuple = np.zeros(len(tuples), np.int64)
    of_tuple[code] = pair
    return _alike(of_tuple, summed(code, won * weight, len(tuples)), summed(code, weight, len(tuples)), m, cluster)


def voter_codes(votes: Votes) -> Codes:
    """Code of each vote's voter, from 0 without gaps. Raises `VotesError` without voters."""
    if votes.voters is None:
        raise VotesError("these votes do not say who cast them: clusters by voter need it")
    return np.unique(votes.voters, return_inverse=True)[1]


def _alike(pair: Codes, won: Floats, votes: Floats, models: int, cluster: Cluster) -> PairClusters:
    order = np.lexsort((won, votes, pair))
    pair, won, votes = pair[order], won[order], votes[order]
    changed = (np.diff(pair) != 0) | (np.diff(won) != 0) | (np.diff(votes) != 0)
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(pair)), bool), changed]))
    count = np.diff(np.append(starts, len(pair))).astype(np.float64)
    return PairClusters(
        pair[starts] // models, pair[starts] % models, won[starts], votes[starts], count, models, cluster
    )
