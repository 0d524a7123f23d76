"""Shares: how often a model won, with Wilson's interval for votes of which some hang together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from arena.ratings.clusters import effective_number
from arena.ratings.intervals import NORMAL, Bounds, student_quantile
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
    """Wilson's (1927) score interval of the shares wins / votes; 0 to 1 where there are no votes."""
    z = NORMAL
    votes = np.asarray(votes, np.float64)
    share = np.divide(wins, votes, out=np.full(votes.shape, 0.5), where=votes > 0)
    middle = share * votes + z * z / 2
    reach = z * np.sqrt(votes * share * (1 - share) + z * z / 4)
    return Bounds(
        np.maximum((middle - reach) / (votes + z * z), 0),
        np.minimum((middle + reach) / (votes + z * z), 1),
    )


def shares(hits: Floats | Codes, n: Floats | Codes, effects: Floats | float = 1.0) -> list[Share]:
    """The shares hits / n, with intervals for n / `effects` independent cases."""
    columns = (hits.astype(int), n.astype(int), *wilson(hits / effects, n / effects))
    return list(map(Share, *(column.tolist() for column in columns)))


def clustered_shares(
    hit: np.ndarray, cell: Codes, cells: int, clusterings: Iterable[Codes]
) -> list[Share]:
    """The share of hits in each cell, with intervals for cases that come in clusters of several kinds."""
    hits = summed(cell, hit.astype(np.float64), cells)
    n = summed(cell, np.ones(len(cell)), cells)
    return shares(hits, n, design_effects(hit, cell, cells, clusterings))


def design_effects(
    hit: np.ndarray, cell: Codes, cells: int, clusterings: Iterable[Codes]
) -> Floats:
    """By how much each cell's share varies more because its cases come in clusters of several kinds (Kish 1965).

    Two cases of one cluster are alike to the same degree in all cells: by how much more often both are hits than two
    cases of one cell and two clusters. Of this each case tells as much as any other, so that a busy voter does not tell
    it alone. Where it cannot be told, a cluster is one case. Few clusters tell it badly, so an effect holds what
    Student's quantile adds (degrees of freedom by Satterthwaite 1946). A cluster is never less than one case; no effect
    is below 1.
    """
    size = summed(cell, np.ones(len(cell)), cells)
    hits = summed(cell, hit.astype(np.float64), cells)
    every_pair = size * (size - 1)
    every_both = hits * (hits - 1)
    effects = np.ones(cells)
    most_effects = np.ones(cells)
    doubt = np.zeros(cells)
    for cluster in clusterings:
        sizes, both_hit, of = _clusters(hit, cell, cluster)
        each = np.maximum(sizes - 1, 1)
        pairs = summed(of, sizes * (sizes - 1), cells)
        both = summed(of, both_hit, cells)
        cases = summed(of, sizes * (sizes > 1), cells)
        alike_hit = summed(of, both_hit / each, cells)
        told = every_pair > pairs
        chance = (every_both - both)[told] / (every_pair - pairs)[told]
        most = cases[told] @ (hits[told] / size[told] - chance)
        alike = (
            min(max(float((alike_hit[told] - cases[told] * chance).sum() / most), 0.0), 1.0)
            if most > 0
            else 1.0
        )
        others = pairs / np.maximum(size, 1)
        effects += alike * others
        most_effects += others
        doubt += (alike * others) ** 2 / max(
            effective_number(sizes.astype(int)) - (size > 0).sum(), 1
        )
    freedom = np.divide(effects**2, doubt, out=np.full(cells, np.inf), where=doubt > 0)
    return np.minimum(effects * (student_quantile(freedom + 1) / NORMAL) ** 2, most_effects)


def _clusters(hit: np.ndarray, cell: Codes, cluster: Codes) -> tuple[Floats, Floats, Codes]:
    """Of each cluster in each cell: its cases, the ordered pairs of two hits among them, and its cell."""
    clusters = int(cluster.max(initial=0)) + 1
    group, place = np.unique(cell * clusters + cluster, return_inverse=True)
    size = summed(place, np.ones(len(place)), len(group))
    hits = summed(place, hit.astype(np.float64), len(group))
    return size, hits * (hits - 1), group // clusters
