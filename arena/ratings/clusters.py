"""Clusters: groups of votes that depend on each other, such as all votes on one item.

An answer takes part in all battles of its model on an item, so five people's votes on it, or votes on five pairs, are
not five independent votes. Nor are votes on five questions about one picture, or a thousand votes of one voter.
"""

from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.votes import Codes, Floats, Votes, VotesError

Cluster = Literal["picture", "item", "family", "voter", "tuple", "vote"]
"""The independent units: pictures, items, families of items, voters, (item, pair) tuples, or votes."""
_ITEMS = "which items they're about"
_MISSING: dict[Cluster, str] = {
    "picture": _ITEMS,
    "item": _ITEMS,
    "family": "which family their items belong to",
    "voter": "which people cast them",
    "tuple": _ITEMS,
}


def cluster_codes(votes: Votes, cluster: Cluster) -> Codes:
    """Returns the code of each vote's cluster, from 0 without gaps. Raises `VotesError` if the votes lack the column.

    If pictures are unknown, each item has a picture of its own.
    """
    if cluster == "vote":
        return np.arange(len(votes))
    pictures = votes.items if votes.pictures is None else votes.pictures
    columns = {
        "picture": pictures,
        "item": votes.items,
        "family": votes.families,
        "voter": votes.voters,
        "tuple": votes.items,
    }
    column = columns[cluster]
    if column is None:
        raise VotesError(
            f"These votes don't say {_MISSING[cluster]}. Choose another --cluster than {cluster}."
        )
    codes = _from_0(column)
    if cluster != "tuple":
        return codes
    # A tuple's number is that of its item and pair, read as digits.
    low = np.minimum(votes.a, votes.b).astype(np.int64)
    high = np.maximum(votes.a, votes.b)
    return _from_0((codes * votes.models + low) * votes.models + high)


def intersection_codes(codes: Codes, other: Codes) -> Codes:
    """Returns codes of the intersections of two kinds of clusters, from 0 without gaps."""
    others = int(other.max(initial=0)) + 1
    return _from_0(codes.astype(np.int64) * others + other)


def has_several(codes: Codes | None) -> bool:
    """Returns whether the codes are known and differ."""
    return codes is not None and bool((codes != codes[:1]).any())


def effective_number(sizes: Codes) -> float:
    """Returns the number of equal clusters with the same information as clusters of these sizes (Kish 1965)."""
    return float(sizes.sum() ** 2 / max(1, (sizes.astype(np.float64) ** 2).sum()))


def freedom(total: Floats, squares: Floats, largest: Floats) -> Floats:
    """Returns the degrees of freedom of a spread between clusters, from sums over their sizes: one less than their
    number if they are equal, 0 for a single one.

    A busy cluster among many causes most of the error, but the many others show its distance from them well. Hence the
    geometric mean of two numbers: Kish's effective number of all clusters less one, and that of all but the largest.
    Student's 95% quantile with it covers the jackknife's t of normally distributed clusters in 94% to 99% of cases, for
    any sizes.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(squares > 0, total**2 / squares, 1)
        other_squares = squares - largest**2
        others = np.where(other_squares > 0, (total - largest) ** 2 / other_squares, 0)
    return np.sqrt(np.maximum(effective - 1, 0) * others)


class CodeCounts(NamedTuple):
    """The codes that occur, in order, and how often each does."""

    codes: Codes
    counts: Codes


def code_counts(codes: Codes) -> CodeCounts:
    """Counts codes, none of which is below 0."""
    if not _are_dense(codes):
        return CodeCounts(*np.unique(codes, return_counts=True))
    counts = np.bincount(codes, minlength=1)
    present = np.flatnonzero(counts)
    return CodeCounts(present, counts[present])


def _are_dense(codes: Codes) -> bool:
    """Whether codes have few gaps, so that counting them is faster than sorting."""
    low = int(codes.min(initial=0))
    high = int(codes.max(initial=0))
    return high - low <= 2 * len(codes) + 1000


def _from_0(codes: Codes) -> Codes:
    """Returns the codes numbered anew, in their order, from 0 without gaps."""
    if not _are_dense(codes):
        return np.unique(codes, return_inverse=True)[1]
    shifted = codes.astype(np.int64) - int(codes.min(initial=0))
    is_present = np.bincount(shifted, minlength=1) > 0
    new_code = np.cumsum(is_present) - 1
    return new_code[shifted]
