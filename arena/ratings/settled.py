"""Settled orders: which of two models is better, decided so that one may look after any vote and stop (anytime-valid).

A pair is settled when its gap in log odds, in standard errors, leaves the boundary of a normal mixture (Robbins 1970;
Howard, Ramdas, McAuliffe and Sekhon 2021, equation 14): two equal models leave it at any look at all with probability
`alpha` over the number of pairs, so some pair of a board's with probability `alpha` (Bonferroni). A model that joins
makes the share of each pair smaller, and adds what its own pairs may spend: alpha * 2 / models.

Assumed: gaps are nearly normal with the variance of `intervals` (asymptotic confidence sequences: Waudby-Smith, Arbour,
Sinha, Kennedy and Ramdas 2024), hence LEAST_VOTES and LEAST_ITEMS, and a model's items are to tell as much as FEW
equally busy ones: where most votes are on one item, gaps have the tails of few. "Equal" are models that infinitely many
items like those judged, and voters like these, would leave equal: what fewer voters than FEW like, or voters whom
nobody named, settles nothing, since others may come.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.clusters import cluster_codes, effective_number
from arena.ratings.intervals import FEW, OF_ITEMS, Intervals
from arena.ratings.votes import ELO, Floats, Votes, summed

OrderState = Literal["settled", "open", "contradicted"]
ORDER_WORDS: Mapping[str, str] = {
    "settled": "clear",
    "open": "not settled yet",
    "contradicted": "no longer clear",
}
"""What screens and files call an order."""
ALPHA = 0.05
"""Probability with which some pair of equal models of a board is ever called settled."""
MIXING = 40.0
"""Inverse variance (log odds to the power of -2) of the mixed gaps: about there the boundary is tightest."""
LEAST_VOTES = 50
LEAST_ITEMS = 20
"""Votes and items of a model before which nothing about it settles."""
LOOK_EVERY = 50
"""Votes between two looks; fewer would be as valid."""


class Settlement(NamedTuple):
    """One model settled above another, by codes that the caller keeps for good, at a number of votes of the board."""

    above: int
    below: int
    votes: int


class Order(NamedTuple):
    """The order of two models as they stand now, and what was settled about it."""

    above: int
    below: int
    state: OrderState
    """Settled stays settled. Contradicted: the other order was settled, now or before, and this one may be too."""
    settled_at: int | None
    """Number of votes of the board when either order was first settled."""
    progress: float
    """Gap over the boundary, both in standard errors: it settles at 1."""


@dataclass(frozen=True, eq=False)
class Look:
    """What the votes say about every pair of models at one moment: models x models."""

    votes: int
    progress: Floats
    """Gap over the boundary, of the row's model above the column's; 0 where they are not comparable."""
    settled: np.ndarray
    """Mask of the pairs whose row's model is settled above the column's, by these votes alone."""


def boundary(variance: Floats, pairs: int, alpha: float = ALPHA) -> Floats:
    """Standard errors that a gap of this variance (log odds squared) must be away from zero."""
    told = 1 / variance
    return np.sqrt((1 + MIXING / told) * np.log((told + MIXING) / (MIXING * (alpha / pairs) ** 2)))


def look(
    fit: Strengths,
    found: Intervals,
    votes: Votes,
    shown: int,
    alpha: float = ALPHA,
    judged: bool = False,
) -> Look:
    """Compares every two models of a fit to these votes, whose intervals are by clusters of items.

    `shown` is the number of models that the board ever had, those withdrawn too; `judged`: a judge model cast the
    votes, whose taste is asked for, not that of other voters. Raises ValueError for fewer models than the votes have or
    intervals that are by other clusters, and `VotesError` if the votes do not name their items.
    """
    if found.cluster not in OF_ITEMS:
        raise ValueError(
            f"orders settle by intervals clustered by item, these are by {found.cluster}"
        )
    items = cluster_codes(votes, found.cluster)
    size = int(items.max(initial=-1)) + 1
    sides = np.concatenate([votes.a, votes.b]).astype(np.int64) * size + np.tile(items, 2)
    cells, on_cell = np.unique(sides, return_counts=True)
    model = cells // max(1, size)
    on_items = np.bincount(model, minlength=votes.models)
    squares = summed(model, on_cell.astype(np.float64) ** 2, votes.models)
    if shown < np.count_nonzero(on_items):
        raise ValueError(
            f"{np.count_nonzero(on_items)} models have votes, but only {shown} were ever shown"
        )
    played = np.bincount(votes.a, minlength=votes.models) + np.bincount(
        votes.b, minlength=votes.models
    )
    ready = (played >= LEAST_VOTES) & (on_items >= LEAST_ITEMS)
    ready &= played.astype(np.float64) ** 2 >= FEW * squares
    ready &= judged or _are_several(votes)
    own = found.covariance.diagonal()
    variance = (own[:, None] + own[None, :] - 2 * found.covariance) / ELO.points**2
    known = fit.comparable & (variance > 0) & ~np.eye(votes.models, dtype=bool)
    variance = np.where(known, variance, 1)
    gap = np.where(known, fit.strengths[:, None] - fit.strengths[None, :], 0)
    progress = gap / np.sqrt(variance) / boundary(variance, max(1, shown * (shown - 1) // 2), alpha)
    return Look(len(votes), progress, (progress > 1) & ready[:, None] & ready[None, :])


def _are_several(votes: Votes) -> bool:
    """Whether there are enough voters for intervals to tell what others would choose."""
    return (
        votes.voters is not None
        and effective_number(np.bincount(cluster_codes(votes, "voter"), minlength=1)) >= FEW
    )


def recorded(seen: Look, record: Sequence[Settlement]) -> tuple[Settlement, ...]:
    """The record with what this look settles for the first time; nothing is ever taken out of it."""
    known = {(one.above, one.below) for one in record}
    pairs = (pair for pair in map(tuple, np.argwhere(seen.settled).tolist()) if pair not in known)
    return (*record, *(Settlement(above, below, seen.votes) for above, below in pairs))


def orders(
    seen: Look, pairs: Iterable[tuple[int, int]], record: Iterable[Settlement]
) -> tuple[Order, ...]:
    """The order of each pair, the model that now stands above named first."""
    settled = {(one.above, one.below): one.votes for one in record}
    found = []
    for above, below in pairs:
        so = settled.get((above, below))
        otherwise = settled.get((below, above))
        state: OrderState = (
            "contradicted" if otherwise is not None else "open" if so is None else "settled"
        )
        first = min((votes for votes in (so, otherwise) if votes is not None), default=None)
        found.append(Order(above, below, state, first, float(seen.progress[above, below])))
    return tuple(found)


def neighbouring_orders(
    seen: Look, standings: Sequence[int], record: Iterable[Settlement]
) -> tuple[Order, ...]:
    """The orders of neighbours in standings, which hold models from the first to the last."""
    return orders(seen, pairwise(standings), record)
