"""Clusters: groups of votes that depend on each other, such as all votes on one item.

An answer stands in all battles of its model on an item, so that five people's votes on it, or votes on five pairs, are
not five independent votes; nor are a thousand votes of one voter.
"""

from typing import Literal

import numpy as np

from arena.ratings.votes import Codes, Votes, VotesError

Cluster = Literal["item", "voter", "tuple", "vote"]
"""What counts as independent: each item, each voter, each (item, pair) tuple, or each vote."""


def cluster_codes(votes: Votes, cluster: Cluster | Literal["item and voter"]) -> Codes:
    """Code of each vote's cluster, from 0 without gaps. Raises `VotesError` if the votes lack what it needs."""
    if cluster == "vote":
        return np.arange(len(votes))
    if cluster == "voter":
        if votes.voters is None:
            raise VotesError("these votes do not say who cast them: clusters by voter need it")
        return _from_0(votes.voters)
    if votes.items is None:
        raise VotesError(
            f"these votes do not say which item they are about: clusters by {cluster} need it"
        )
    item = _from_0(votes.items)
    if cluster == "item":
        return item
    if cluster == "item and voter":
        voter = cluster_codes(votes, "voter")
        return _from_0(item * (int(voter.max(initial=0)) + 1) + voter)
    low = np.minimum(votes.a, votes.b).astype(np.int64)
    high = np.maximum(votes.a, votes.b)
    return _from_0((item * votes.models + low) * votes.models + high)


def effective_number(sizes: Codes) -> float:
    """How many clusters of one size tell as much as clusters of these sizes (Kish 1965); 0 for none."""
    return float(sizes.sum() ** 2 / max(1, (sizes.astype(np.float64) ** 2).sum()))


def _from_0(codes: Codes) -> Codes:
    """The same codes without gaps; those that are dense already are counted, which is quicker than sorting them."""
    low = int(codes.min(initial=0))
    high = int(codes.max(initial=0))
    if high - low > 2 * len(codes) + 1000:
        return np.unique(codes, return_inverse=True)[1]
    shifted = codes.astype(np.int64) - low
    return (np.cumsum(np.bincount(shifted, minlength=1) > 0) - 1)[shifted]
