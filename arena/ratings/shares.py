"""Shares of wins, with Wilson's interval for votes that partly depend on each other."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.clusters import freedom
from arena.ratings.intervals import NORMAL_QUANTILE, Bounds, student_quantile
from arena.ratings.votes import Codes, Floats, summed


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
    columns = (hits.astype(int), n.astype(int), *wilson(hits / effects, n / effects))
    return list(map(Share, *(column.tolist() for column in columns)))


def clustered_shares(
    hit: np.ndarray, cell: Codes, cells: int, clusterings: Iterable[Codes]
) -> list[Share]:
    """Returns the share of hits in each cell, with intervals for cases in clusters of several kinds."""
    hits = summed(cell, hit.astype(np.float64), cells)
    n = summed(cell, np.ones(len(cell)), cells)
    return shares(hits, n, design_effects(hit, cell, cells, clusterings))


def design_effects(
    hit: np.ndarray, cell: Codes, cells: int, clusterings: Iterable[Codes]
) -> Floats:
    """Returns the factor by which each cell's share varies more because of clusters of several kinds (Kish 1965).

    An effect includes Student's quantile, since few clusters estimate the likeness of their cases badly (degrees of
    freedom by Satterthwaite 1946). A cluster is never less than one case; no effect is below 1.
    """
    size = summed(cell, np.ones(len(cell)), cells)
    hits = summed(cell, hit.astype(np.float64), cells)
    effects = np.ones(cells)
    most_effects = np.ones(cells)
    doubt = np.zeros(cells)
    for cluster in clusterings:
        parts = _parts(hit, cell, cluster, cells)
        others = summed(parts.cell, parts.size * (parts.size - 1), cells) / np.maximum(size, 1)
        more = _alike(parts, size, hits) * others
        effects += more
        most_effects += others
        doubt += (1 + more) ** 2 * others / (others + 1) / _freedom(parts, size)
    degrees = np.divide(effects**2, doubt, out=np.full(cells, np.inf), where=doubt > 0)
    return np.minimum(
        effects * (student_quantile(degrees + 1) / NORMAL_QUANTILE) ** 2, most_effects
    )


class _Parts(NamedTuple):
    """Clusters, divided by the cells of their cases."""

    cell: Codes
    size: Floats
    hits: Floats


def _parts(hit: np.ndarray, cell: Codes, cluster: Codes, cells: int) -> _Parts:
    clusters = int(cluster.max(initial=0)) + 1
    group, place = np.unique(cell * clusters + cluster, return_inverse=True)
    return _Parts(
        cell=group // clusters,
        size=summed(place, np.ones(len(place)), len(group)),
        hits=summed(place, hit.astype(np.float64), len(group)),
    )


def _alike(parts: _Parts, size: Floats, hits: Floats) -> float:
    """Returns the correlation of two cases of a cluster, the same in all cells; 1 if nothing can be compared.

    Cases are compared with the other clusters of their cell, since a busy cluster would pull the cell's mean to itself.
    Each case has the same weight, so that a busy cluster does not decide alone.
    """
    beside = size[parts.cell] - parts.size
    tells = (parts.size > 1) & (beside > 0)
    cell = parts.cell[tells]
    n = parts.size[tells]
    won = parts.hits[tells]
    beside = beside[tells]
    expected = (hits[cell] - won) / beside
    products = (won - n * expected) ** 2
    products -= won * (1 - expected) ** 2 + (n - won) * expected**2
    squares = summed(parts.cell, parts.size**2, len(size))
    variance = hits * (size - hits) / np.maximum(size * (size - 1), 1)
    of_expected = ((squares[cell] - n**2) / beside - 1) / beside
    most = float((n * variance[cell] * (1 + of_expected)).sum())
    likeness = float((products / (n - 1) - n * variance[cell] / beside).sum())
    return min(max(likeness / most, 0.0), 1.0) if most > 0 else 1.0


def _freedom(parts: _Parts, size: Floats) -> float:
    """Returns the degrees of freedom with which all cells together estimate the likeness of a cluster's cases."""
    squares = summed(parts.cell, parts.size**2, len(size))
    largest = np.zeros(len(size))
    np.maximum.at(largest, parts.cell, parts.size)
    degrees = freedom(size, squares, largest)
    is_free = degrees > 0
    weighted = (size[is_free] ** 2 / degrees[is_free]).sum()
    return max(float(size[is_free].sum() ** 2 / max(weighted, 1)), 1.0)
