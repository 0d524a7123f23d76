"""Shares of wins, with Wilson's interval for votes that partly depend on each other."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.clusters import freedom
from arena.ratings.intervals import NORMAL_QUANTILE, Bounds, student_quantile
from arena.ratings.votes import Codes, Floats, code_sums


@dataclass(frozen=True)
class Share:
    """A share of cases with its 95% interval (Wilson's)."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """hits / n; None without cases."""
        return self.hits / self.n if self.n else None


def wilson(wins: Floats | Codes, votes: Floats | Codes) -> Bounds:
    """Returns Wilson's (1927) score interval of the shares wins / votes; 0 to 1 without votes."""
    z = NORMAL_QUANTILE
    votes = np.asarray(votes, np.float64)
    share = np.divide(wins, votes, out=np.full(votes.shape, 0.5), where=votes > 0)
    middle = share * votes + z * z / 2
    reach = z * np.sqrt(votes * share * (1 - share) + z * z / 4)
    return Bounds(
        np.maximum((middle - reach) / (votes + z * z), 0),
        np.minimum((middle + reach) / (votes + z * z), 1),
    )


def shares(hits: Floats | Codes, n: Floats | Codes, effects: Floats | float = 1.0) -> list[Share]:
    """Returns the shares hits / n, with intervals for n / `effects` independent cases."""
    bounds = wilson(hits / effects, n / effects)
    rows = zip(
        hits.astype(int).tolist(),
        n.astype(int).tolist(),
        bounds.low.tolist(),
        bounds.high.tolist(),
        strict=True,
    )
    return [
        Share(hits=hit_count, n=case_count, low=low, high=high)
        for hit_count, case_count, low, high in rows
    ]


def clustered_shares(
    hit: np.ndarray, cell: Codes, cells: int, clusterings: Iterable[Codes]
) -> list[Share]:
    """Returns the share of hits in each cell, with intervals for cases in clusters of several kinds.

    `hit` is a mask of cases, `cell` the code of each case's cell; a clustering has the code of each case's cluster.
    """
    hits = code_sums(cell, hit.astype(np.float64), cells)
    n = code_sums(cell, np.ones(len(cell)), cells)
    return shares(hits, n, design_effects(hit, cell, cells, clusterings))


def design_effects(
    hit: np.ndarray, cell: Codes, cells: int, clusterings: Iterable[Codes]
) -> Floats:
    """Returns the factor by which each cell's share varies more because of clusters of several kinds (Kish 1965).

    An effect includes Student's quantile, since few clusters estimate the likeness of their cases badly (degrees of
    freedom by Satterthwaite 1946). No effect is below 1, nor above that of clusters whose cases are all alike, each
    cluster then counting as one case. Parameters are as in `clustered_shares`.
    """
    size = code_sums(cell, np.ones(len(cell)), cells)
    hits = code_sums(cell, hit.astype(np.float64), cells)
    effects = np.ones(cells)
    limits = np.ones(cells)
    uncertainty = np.zeros(cells)
    for cluster in clusterings:
        parts = _parts(hit, cell, cluster, cells)
        # The other cases of a case's cluster, on average.
        others = code_sums(parts.cell, parts.size * (parts.size - 1), cells) / np.maximum(size, 1)
        added = _likeness(parts, size, hits) * others
        effects += added
        limits += others
        # The estimated part of this effect, squared: none in cells where each case is a cluster of its own.
        estimated = (1 + added) ** 2 * others / (others + 1)
        uncertainty += estimated / _freedom(parts, size)
    degrees = np.divide(effects**2, uncertainty, out=np.full(cells, np.inf), where=uncertainty > 0)
    clusters = degrees + 1  # student_quantile takes off one
    student = student_quantile(clusters) / NORMAL_QUANTILE
    return np.minimum(effects * student**2, limits)


class _Parts(NamedTuple):
    """Clusters, divided by the cells of their cases, as columns."""

    cell: Codes
    size: Floats
    """The number of cases."""
    hits: Floats


def _parts(hit: np.ndarray, cell: Codes, cluster: Codes, cells: int) -> _Parts:
    clusters = int(cluster.max(initial=0)) + 1
    parts, part_of_case = np.unique(cell * clusters + cluster, return_inverse=True)
    return _Parts(
        cell=parts // clusters,
        size=code_sums(part_of_case, np.ones(len(part_of_case)), len(parts)),
        hits=code_sums(part_of_case, hit.astype(np.float64), len(parts)),
    )


def _likeness(parts: _Parts, size: Floats, hits: Floats) -> float:
    """Returns the correlation of two cases of a cluster, the same in all cells; 1 if nothing can be compared.

    Cases are compared with the other clusters of their cell, since a busy cluster would pull the cell's mean to itself.
    Each case has the same weight, so that a busy cluster does not decide alone. `size` and `hits` are those of the
    cells.
    """
    others_of_part = size[parts.cell] - parts.size
    is_comparable = (parts.size > 1) & (others_of_part > 0)
    cell = parts.cell[is_comparable]
    n = parts.size[is_comparable]
    part_hits = parts.hits[is_comparable]
    other_cases = others_of_part[is_comparable]
    expected = (hits[cell] - part_hits) / other_cases
    # Over ordered couples of different cases, the products of their deviations from the other clusters' mean.
    products = (part_hits - n * expected) ** 2
    products -= part_hits * (1 - expected) ** 2 + (n - part_hits) * expected**2
    squares = code_sums(parts.cell, parts.size**2, len(size))
    variance = hits * (size - hits) / np.maximum(size * (size - 1), 1)
    # The other clusters' mean has an error, which adds to a product. Here, in variances: how much more it adds if the
    # cases of a cluster are all alike than if they are independent.
    excess = ((squares[cell] - n**2) / other_cases - 1) / other_cases
    most = float((n * variance[cell] * (1 + excess)).sum())
    if most <= 0:
        return 1.0
    measured = float((products / (n - 1) - n * variance[cell] / other_cases).sum())
    return min(max(measured / most, 0.0), 1.0)


def _freedom(parts: _Parts, size: Floats) -> float:
    """Returns the degrees of freedom with which all cells together estimate the likeness of a cluster's cases.

    Each cell's degrees are weighted by its cases (Satterthwaite 1946).
    """
    squares = code_sums(parts.cell, parts.size**2, len(size))
    largest = np.zeros(len(size))
    np.maximum.at(largest, parts.cell, parts.size)
    degrees = freedom(size, squares, largest)
    is_free = degrees > 0
    weighted = (size[is_free] ** 2 / degrees[is_free]).sum()
    return max(float(size[is_free].sum() ** 2 / max(weighted, 1)), 1.0)
