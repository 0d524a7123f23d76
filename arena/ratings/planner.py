"""Planner: the number of votes that a campaign needs for a wanted precision, before any vote is paid.

The covariance of the strengths is a sandwich, L^+ B L^+. L is the information of n votes a pair: the Laplacian of
n p(1-p). B is the covariance of the score: L times the design effect 1 + (m-1) rho of m votes on a tuple (Kish 1965),
and the shared part of an item's and of a worker's tuples. Standardised residuals of two votes on different pairs
correlate by rho if they share a model (with the sign of its side) and not at all otherwise; two tuples of a worker on
one pair correlate by twice as much. Individual qualities of answers, or tastes, have this effect to first order.

Assumptions: every pair is equally frequent, and items and workers' pairs are as even as in the *balanced* design.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import ceil, floor
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.clusters import cluster_codes
from arena.ratings.intervals import NORMAL
from arena.ratings.settled import boundary
from arena.ratings.votes import ELO, SCORES, Codes, Floats, Votes, summed

SPREAD = 110.0
"""The standard deviation, in rating points, of the models' strengths before any vote."""
SECONDS = 60.0
"""The time of a vote, before there are any."""
POWER = 0.8
"""The probability that an order with the smallest gap is settled after the planned votes."""
_FRACTIONS = {
    1 / 5: "a fifth",
    1 / 4: "a quarter",
    1 / 3: "a third",
    1 / 2: "half",
    2 / 3: "two thirds",
}
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
_POWER_QUANTILE = NormalDist().inv_cdf(POWER)


class PlanError(ValueError):
    """A plan is impossible with these wishes."""


@dataclass(frozen=True)
class Correlations:
    """Correlations of votes."""

    within_tuple: float = 0.4
    """The correlation of votes on a tuple; 0.33 to 0.50 in VisIT-Bench's 690 tuples of five votes."""
    within_item: float = 0.1
    """The correlation of an item's tuples that share a model."""
    within_worker: float = 0.0
    """The correlation of a worker's tuples that share a model; tastes with a deviation of 0.7 log odds give 0.05."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The goals of a campaign, its models, items and workers, and its pay."""

    strengths: Floats
    """Expected strengths of the models, in log odds."""
    items: int
    half_width: float | None = None
    """The wanted mean half width of the models' 95% intervals, in rating points."""
    gap: float | None = None
    """The smallest gap of two neighbours, in rating points, that has to be settled."""
    correlations: Correlations = Correlations()
    seat: int = 20
    """The votes of a worker."""
    seconds: float = SECONDS
    """The seconds of a vote."""
    pay: float = 12.0
    """The wage of an hour."""
    fee: float = 0.428
    """The platform's fee, as a share of the pay: Prolific's in 2026."""

    @property
    def pairs(self) -> int:
        return len(self.strengths) * (len(self.strengths) - 1) // 2

    @cached_property
    def unit(self) -> tuple[Floats, Floats]:
        """Sandwiches around one vote on every pair: of its own covariance, and of couples that share a model.

        With D the pairs' incidence and W their deviations, the couples' covariance is D'W(DD' - 2)WD.
        """
        chance = 1 / (1 + np.exp(self.strengths[None, :] - self.strengths[:, None]))
        deviation = np.sqrt(chance * chance.T)
        information = _laplacian(deviation**2)
        root = _laplacian(deviation)
        # The rows of a Laplacian sum to 0, so this is the Moore-Penrose inverse.
        mean = 1 / len(information)
        inverse: Floats = np.linalg.inv(information + mean).astype(np.float64, copy=False) - mean
        couples = (
            (root @ root - 2 * information) * self.pairs / max(1, self.pairs * (self.pairs - 1))
        )
        return inverse, inverse @ couples @ inverse


class Cost(NamedTuple):
    """The cost of a precision with `each` votes on a tuple."""

    each: int
    votes: int
    tuples: int
    workers: int
    hours: float
    money: float
    half_width: float
    """The mean over models, in rating points."""
    is_enough: bool
    """False if the items have too few tuples for the wanted precision; then this is the cost of all tuples."""


def expected_strengths(models: int, spread: float = SPREAD) -> Floats:
    """Returns the expected strengths of unjudged models: even quantiles of a normal with this spread in rating
    points.
    """
    quantile = np.array([NormalDist().inv_cdf((place + 0.5) / models) for place in range(models)])
    return quantile / quantile.std() * spread / ELO.points


def measured_correlations(votes: Votes, otherwise: Correlations = Correlations()) -> Correlations:
    """Returns the correlations of these votes, and those of `otherwise` if there are no two votes to compare.

    Raises `VotesError` if the votes do not name their items.
    """
    chance = bradley_terry(win_matrix(votes)).chances[votes.a, votes.b]
    residual = (SCORES[votes.outcome] - chance) / np.sqrt(chance * (1 - chance))
    items = _shared(votes, residual, cluster_codes(votes, "item"))
    known = {"within_tuple": items.same, "within_item": items.other}
    if votes.voters is not None:
        known["within_worker"] = _shared(votes, residual, cluster_codes(votes, "voter")).other
    return replace(
        otherwise, **{name: max(0.0, rho) for name, rho in known.items() if rho is not None}
    )


class _Shared(NamedTuple):
    same: float | None
    """The mean product of the residuals of two votes of a cluster on the same pair; None without such votes."""
    other: float | None
    """The same for two votes on different pairs that share a model."""


def _shared(votes: Votes, residual: Floats, cluster: Codes) -> _Shared:
    m = votes.models
    sign = np.where(votes.a < votes.b, 1.0, -1.0)
    clusters = int(cluster.max()) + 1
    pair = (cluster * m + np.minimum(votes.a, votes.b)) * m + np.maximum(votes.a, votes.b)
    tuples, of_tuple = np.unique(pair, return_inverse=True)

    def couples(column: Floats, signed: float) -> tuple[float, float]:
        """Returns the sum of products over ordered couples: on the same pair, and on pairs that share a model."""
        by_model = summed(cluster * m + votes.a, column, clusters * m)
        by_model += signed * summed(cluster * m + votes.b, column, clusters * m)
        by_tuple = summed(of_tuple, column * (sign if signed < 0 else 1.0), len(tuples))
        same = float((by_tuple**2).sum() - (column**2).sum())
        return same, float((by_model**2).sum() - 2 * (column**2).sum()) - 2 * same

    products = couples(residual, -1.0)
    numbers = couples(np.ones(len(votes)), 1.0)
    return _Shared(*(total / n if n else None for total, n in zip(products, numbers, strict=True)))


def covariance(plan: Plan, votes: float, each: int) -> Floats:
    """Returns the covariance of the strengths after this many votes, `each` on a tuple: models x models."""
    rho = plan.correlations
    pairs = plan.pairs
    alike = votes * (1 + (each - 1) * rho.within_tuple)
    across = 0.0
    for clusters, weight, tuples in (
        (plan.items, rho.within_item * each**2, votes / each / plan.items),
        (votes / plan.seat, rho.within_worker, plan.seat),
    ):
        on_pair = pairs * _couples(tuples / pairs)
        alike += clusters * weight * 2 * on_pair
        across += clusters * weight * (_couples(tuples) - on_pair)
    of_one, of_two = plan.unit
    return (alike * of_one + across * of_two) * pairs / votes**2


def half_widths(plan: Plan, votes: float, each: int) -> Floats:
    """Returns the half widths of the models' 95% intervals, in rating points."""
    return NORMAL * ELO.points * np.sqrt(covariance(plan, votes, each).diagonal())


def cost(plan: Plan, each: int) -> Cost:
    """Returns the fewest votes that are enough, by bisection, since more are never worse; or all that the items allow.

    Raises `PlanError` for a plan without a goal.
    """
    if plan.half_width is None and plan.gap is None:
        raise PlanError("A plan needs a goal. Give --half-width or --gap.")
    few = 0
    many = plan.pairs * plan.items
    is_enough = _is_enough(plan, many * each, each)
    while is_enough and many - few > 1:
        middle = (few + many) // 2
        if _is_enough(plan, middle * each, each):
            many = middle
        else:
            few = middle
    votes = many * each
    hours = votes * plan.seconds / 3600
    money = hours * plan.pay * (1 + plan.fee)
    mean = float(half_widths(plan, votes, each).mean())
    return Cost(each, votes, many, ceil(votes / plan.seat), hours, money, mean, is_enough)


def comparison(costs: Sequence[Cost]) -> list[str]:
    """Returns sentences that compare one vote per tuple with the costs after it; none if it isn't cheaper."""
    lines = []
    for single, several in combinations(costs, 2):
        if single.each != 1 or not (single.is_enough and several.is_enough):
            continue
        share = single.votes / several.votes
        if share < 1:
            number = _NUMBERS.get(several.each, several.each)
            lines.append(f"One vote per tuple costs {_fraction(share)} of {number}.")
    return lines


def _fraction(share: float) -> str:
    nearest = min(_FRACTIONS, key=lambda fraction: abs(fraction - share))
    return _FRACTIONS[nearest] if abs(nearest - share) < 0.05 * share else f"{share:.0%}"


def _is_enough(plan: Plan, votes: int, each: int) -> bool:
    if plan.half_width is not None and half_widths(plan, votes, each).mean() > plan.half_width:
        return False
    if plan.gap is None:
        return True
    spread = covariance(plan, votes, each)
    order = np.argsort(plan.strengths)
    apart = spread.diagonal()[:, None] + spread.diagonal()[None, :] - 2 * spread
    variance = apart[order[1:], order[:-1]].max()
    return bool(
        plan.gap / ELO.points / np.sqrt(variance)
        >= boundary(variance, plan.pairs) + _POWER_QUANTILE
    )


def _laplacian(weights: Floats) -> Floats:
    """Returns the Laplacian of a graph with these weights of links; the diagonal is ignored."""
    apart = weights - np.diag(weights.diagonal())
    return np.diag(apart.sum(1)) - apart


def _couples(mean: float) -> float:
    """Returns the mean number of ordered couples in groups with this mean size, whose sizes differ by at most one."""
    least = floor(mean)
    return least * (least - 1) + 2 * least * (mean - least)
