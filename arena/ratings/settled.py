"""Settled orders: tests of which of two models is better, valid after any vote and with any stop (anytime-valid).

A pair is settled when its gap in log odds, in standard errors, leaves the boundary of a normal mixture (Robbins 1970;
Howard, Ramdas, McAuliffe and Sekhon 2021, equation 14). Two equal models ever leave it with probability `alpha` over
the number of pairs, so some pair of a board does with probability `alpha` (Bonferroni). A model that joins makes the
share of each pair smaller. Its own pairs, one fewer than there are models, add at most alpha * 2 / models to the
probability for the board.

Assumptions: gaps are nearly normal with the variance of `intervals` (asymptotic confidence sequences: Waudby-Smith,
Arbour, Sinha, Kennedy and Ramdas 2024), hence LEAST_VOTES and LEAST_ITEMS. A model's items have to be worth
FEW_CLUSTERS equally busy ones: with most votes on one item, gaps have heavy tails. Models are "equal" if infinitely
many items like those judged, and voters like these, would rate them equal: fewer than FEW_CLUSTERS voters, or unknown
ones, settle nothing, since others may vote differently.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.clusters import cluster_codes, code_counts, effective_number
from arena.ratings.intervals import FEW_CLUSTERS, ITEM_CLUSTERS, Intervals
from arena.ratings.votes import ELO, Codes, Floats, Votes, code_sums

OrderState = Literal["settled", "open", "contradicted"]
ORDER_WORDS: Mapping[str, str] = {
    "settled": "clear",
    "open": "not settled yet",
    "contradicted": "no longer clear",
}
"""The words for an order on screens and in files."""
ALPHA = 0.05
"""The probability that some pair of equal models of a board is ever called settled."""
MIXING = 40.0
"""The inverse variance of the mixing distribution, in log odds to the power of -2. The boundary is lowest for gaps with
an inverse variance of 8 (with 2 models) to 26 (with 100 models) times this.
"""
LEAST_VOTES = 50
LEAST_ITEMS = 20
"""LEAST_VOTES, LEAST_ITEMS: the fewest votes and items of a model in a settled order."""
LOOK_EVERY = 50
"""The votes between two looks; fewer would be equally valid."""


class Settlement(NamedTuple):
    """A model settled above another, by permanent codes, and the board's number of votes at that time."""

    above: int
    below: int
    votes: int


class Order(NamedTuple):
    """The current order of two models, and its settlement."""

    above: int
    below: int
    state: OrderState
    """Each settled order stays on record. Contradicted: the opposite one is on record, whether or not this one is."""
    settled_at: int | None
    """The board's number of votes when either order was first settled."""
    progress: float
    """The gap over the boundary, both in standard errors: the order settles at 1."""


@dataclass(frozen=True, eq=False)
class Look:
    """The state of every pair of models at one moment: models x models."""

    votes: int
    progress: Floats
    """The gap over the boundary, of the row's model above the column's; 0 if they are not comparable."""
    settled: np.ndarray
    """The mask of pairs with the row's model settled above the column's, by these votes alone."""


def boundary(variance: Floats, pairs: int, alpha: float = ALPHA) -> Floats:
    """Returns the standard errors that a gap with this variance (log odds squared) must be away from zero."""
    precision = 1 / variance
    mixed = (precision + MIXING) / (MIXING * (alpha / pairs) ** 2)
    return np.sqrt((1 + MIXING / precision) * np.log(mixed))


def look(
    fit: Strengths,
    intervals: Intervals,
    votes: Votes,
    models_ever: int,
    alpha: float = ALPHA,
    judged: bool = False,
) -> Look:
    """Compares every two models of a fit to these votes, with intervals by clusters of items.

    `models_ever` is the number of models that the board ever had, including withdrawn ones; `judged`: a judge model
    cast the votes, so no other voters are in question. Raises ValueError for fewer models than the votes have or
    intervals by other clusters, and `VotesError` if the votes do not name their items.
    """
    if intervals.cluster not in ITEM_CLUSTERS:
        raise ValueError(
            f"orders settle by intervals clustered by item, these are by {intervals.cluster}"
        )
    items = cluster_codes(votes, intervals.cluster)
    models = np.concatenate([votes.a, votes.b]).astype(np.int64)
    played = np.bincount(models, minlength=votes.models)
    with_votes = np.count_nonzero(played)
    if models_ever < with_votes:
        raise ValueError(f"{with_votes} models have votes, but only {models_ever} were ever shown")
    ready = _are_ready(models, np.tile(items, 2), played) & (judged or _has_enough_voters(votes))
    variances = intervals.covariance.diagonal()
    variance = variances[:, None] + variances[None, :] - 2 * intervals.covariance
    variance /= ELO.points**2  # from rating points to log odds
    comparable = fit.comparable & (variance > 0) & ~np.eye(votes.models, dtype=bool)
    variance = np.where(comparable, variance, 1)
    gap = np.where(comparable, fit.strengths[:, None] - fit.strengths[None, :], 0)
    pairs_ever = max(1, models_ever * (models_ever - 1) // 2)
    progress = gap / np.sqrt(variance) / boundary(variance, pairs_ever, alpha)
    return Look(
        votes=len(votes),
        progress=progress,
        settled=(progress > 1) & ready[:, None] & ready[None, :],
    )


def _are_ready(models: Codes, items: Codes, played: Codes) -> np.ndarray:
    """Returns the mask of models with enough votes, on enough items that are busy enough.

    `models` and `items` are those of each vote, first for sides a, then for sides b; `played` is each model's votes.
    """
    item_limit = int(items.max(initial=-1)) + 1
    # one code for each pair of a model and an item
    pair_codes, votes_of_pair = code_counts(models * item_limit + items)
    model_of_pair = pair_codes // max(1, item_limit)
    items_of_model = np.bincount(model_of_pair, minlength=len(played))
    squares = code_sums(model_of_pair, votes_of_pair.astype(np.float64) ** 2, len(played))
    # Equally busy items that would be worth as much: the square of all votes over the sum of squares (Kish 1965).
    are_spread = played.astype(np.float64) ** 2 >= FEW_CLUSTERS * squares
    return (played >= LEAST_VOTES) & (items_of_model >= LEAST_ITEMS) & are_spread


def _has_enough_voters(votes: Votes) -> bool:
    """Returns whether there are enough voters for intervals to include other voters."""
    return (
        votes.voters is not None
        and effective_number(np.bincount(cluster_codes(votes, "voter"), minlength=1))
        >= FEW_CLUSTERS
    )


def add_settlements(latest: Look, record: Sequence[Settlement]) -> tuple[Settlement, ...]:
    """Returns the record with the orders that this look settles for the first time; no order is ever removed."""
    known = {(settlement.above, settlement.below) for settlement in record}
    extended = list(record)
    for above, below in np.argwhere(latest.settled).tolist():
        if (above, below) not in known:
            extended.append(Settlement(above, below, latest.votes))
    return tuple(extended)


def orders(
    latest: Look, pairs: Iterable[tuple[int, int]], record: Iterable[Settlement]
) -> tuple[Order, ...]:
    """Returns the order of each pair; the model that is above now comes first."""
    settled = {(settlement.above, settlement.below): settlement.votes for settlement in record}
    pair_orders = []
    for above, below in pairs:
        votes = settled.get((above, below))
        opposite_votes = settled.get((below, above))
        state: OrderState = "open"
        if opposite_votes is not None:
            state = "contradicted"
        elif votes is not None:
            state = "settled"
        settled_at = [number for number in (votes, opposite_votes) if number is not None]
        first = min(settled_at, default=None)
        pair_orders.append(Order(above, below, state, first, float(latest.progress[above, below])))
    return tuple(pair_orders)


def neighbouring_orders(
    latest: Look, standings: Sequence[int], record: Iterable[Settlement]
) -> tuple[Order, ...]:
    """Returns the orders of neighbours in standings, the models from first to last."""
    return orders(latest, pairwise(standings), record)
