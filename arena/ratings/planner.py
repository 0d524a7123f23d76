"""Planner: the number of votes that a campaign needs for a wanted precision, before any vote is paid.

The covariance of the strengths is a sandwich, L^+ B L^+. L is the information of n votes a pair: the Laplacian of
n p(1-p). B is the covariance of the score, a sum: L times the design effect 1 + (m-1) rho of m votes on a tuple (Kish
1965), plus what the tuples of an item share, plus what those of a worker share. Standardised residuals of two votes on
different pairs correlate by rho if the pairs share a model (with the sign of its side) and not at all otherwise. Two
tuples of a worker on one pair share both models, and correlate by twice as much. Individual qualities of answers, or
tastes, have this effect to first order.

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
from arena.ratings.intervals import NORMAL_QUANTILE
from arena.ratings.settled import boundary
from arena.ratings.votes import ELO, SCORES, Codes, Floats, Votes, code_sums

SPREAD = 110.0
"""The standard deviation, in rating points, of the models' strengths before any vote."""
VOTE_SECONDS = 60.0
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


class _Sandwiches(NamedTuple):
    """The sandwiches around one vote on every pair: models x models each."""

    own: Floats
    """The sandwich of the votes' own covariance."""
    couples: Floats
    """The sandwich of couples of votes on different pairs: a mean in which couples that share no model count 0."""


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
    seconds: float = VOTE_SECONDS
    """The seconds of a vote."""
    pay: float = 12.0
    """The wage of an hour."""
    fee: float = 0.428
    """The platform's fee, as a share of the pay: Prolific's in 2026."""

    @property
    def pairs(self) -> int:
        return len(self.strengths) * (len(self.strengths) - 1) // 2

    @cached_property
    def unit_sandwiches(self) -> _Sandwiches:
        """The sandwiches around one vote on every pair.

        With D the pairs' incidence and W their deviations, the couples' covariance is D'W(DD' - 2)WD.
        """
        chance = 1 / (1 + np.exp(self.strengths[None, :] - self.strengths[:, None]))
        deviation = np.sqrt(chance * chance.T)
        information = _laplacian(deviation**2)
        deviations = _laplacian(deviation)
        # The rows of a Laplacian sum to 0, so this is the Moore-Penrose inverse.
        shift = 1 / len(information)
        inverse: Floats = np.linalg.inv(information + shift).astype(np.float64, copy=False) - shift
        # With more votes, each of the two inverses has a factor pairs / votes. `covariance` multiplies by
        # pairs / votes**2, so the other factor pairs is here.
        couples = (deviations @ deviations - 2 * information) * self.pairs
        # The mean over ordered couples of different pairs.
        couples /= max(1, self.pairs * (self.pairs - 1))
        return _Sandwiches(inverse, inverse @ couples @ inverse)


class Cost(NamedTuple):
    """The cost of a precision, with `per_tuple` votes on each tuple."""

    per_tuple: int
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

    They are kept from 0 to 1: the mean product of a few residuals can be outside. Raises `VotesError` if the votes do
    not name their items.
    """
    chance = bradley_terry(win_matrix(votes)).chances[votes.a, votes.b]
    residual = (SCORES[votes.outcome] - chance) / np.sqrt(chance * (1 - chance))
    items = _couple_correlations(votes, residual, cluster_codes(votes, "item"))
    measured = {"within_tuple": items.same_pair, "within_item": items.shared_model}
    if votes.voters is not None:
        workers = _couple_correlations(votes, residual, cluster_codes(votes, "voter"))
        measured["within_worker"] = workers.shared_model
    known = {name: min(max(0.0, rho), 1.0) for name, rho in measured.items() if rho is not None}
    return replace(otherwise, **known)


class _CoupleCorrelations(NamedTuple):
    """The mean products of the residuals of two votes of a cluster; None without such votes."""

    same_pair: float | None
    shared_model: float | None
    """For two votes on different pairs that share a model."""


class _CoupleSums(NamedTuple):
    """The sums of products over ordered couples of votes of a cluster."""

    same_pair: float
    shared_model: float
    """Over votes on different pairs that share a model."""


def _couple_correlations(votes: Votes, residual: Floats, cluster: Codes) -> _CoupleCorrelations:
    """`residual` is the standardised residual of side a's score, `cluster` the code of each vote's cluster."""
    models = votes.models
    clusters = int(cluster.max(initial=-1)) + 1
    low = np.minimum(votes.a, votes.b)
    high = np.maximum(votes.a, votes.b)
    tuples, tuple_code = np.unique((cluster * models + low) * models + high, return_inverse=True)

    def couple_sums(on_a: Floats, on_b: Floats, on_low: Floats) -> _CoupleSums:
        """Sums the products of two votes' numbers over the couples.

        A vote has a number for each of its models, such as its residuals, which have opposite signs: `on_a` for side
        a's model, `on_b` for side b's, and `on_low` for the lower one, by which votes on one pair are compared.
        """
        squares = float((on_low**2).sum())
        by_model = code_sums(cluster * models + votes.a, on_a, clusters * models)
        by_model += code_sums(cluster * models + votes.b, on_b, clusters * models)
        by_tuple = code_sums(tuple_code, on_low, len(tuples))
        same_pair = float((by_tuple**2).sum()) - squares
        # A vote meets itself at both of its models, and so does each couple on the same pair.
        shared_model = float((by_model**2).sum()) - 2 * squares - 2 * same_pair
        return _CoupleSums(same_pair, shared_model)

    products = couple_sums(residual, -residual, np.where(votes.a < votes.b, residual, -residual))
    # With 1 for every residual, the sums are the numbers of couples.
    ones = np.ones(len(votes))
    couples = couple_sums(ones, ones, ones)
    return _CoupleCorrelations(
        same_pair=products.same_pair / couples.same_pair if couples.same_pair else None,
        shared_model=products.shared_model / couples.shared_model if couples.shared_model else None,
    )


def covariance(plan: Plan, votes: float, per_tuple: int) -> Floats:
    """Returns the covariance of the strengths after this many votes, `per_tuple` on a tuple: models x models."""
    rho = plan.correlations
    pairs = plan.pairs
    # The summed correlations of ordered couples of votes on one pair, each vote with itself included.
    same_pair = votes * (1 + (per_tuple - 1) * rho.within_tuple)
    # The same on different pairs, as if all of these shared a model: the sandwich is a mean in which others count 0.
    different_pairs = 0.0

    def add_clusters(clusters: float, tuples: float, correlation: float) -> None:
        """Adds the couples of tuples within clusters to both sums; `tuples` is the number of tuples in each cluster.

        `correlation` is that of two tuples that share a model.
        """
        nonlocal same_pair, different_pairs
        couples_on_pair = pairs * _couples(tuples / pairs)
        # Couples on one pair share both models.
        same_pair += clusters * correlation * 2 * couples_on_pair
        different_pairs += clusters * correlation * (_couples(tuples) - couples_on_pair)

    # Two tuples of an item have per_tuple**2 couples of votes.
    add_clusters(plan.items, votes / per_tuple / plan.items, rho.within_item * per_tuple**2)
    add_clusters(votes / plan.seat, plan.seat, rho.within_worker)
    total = same_pair * plan.unit_sandwiches.own + different_pairs * plan.unit_sandwiches.couples
    return total * pairs / votes**2


def half_widths(plan: Plan, votes: float, per_tuple: int) -> Floats:
    """Returns the half widths of the models' 95% intervals, in rating points."""
    return NORMAL_QUANTILE * ELO.points * np.sqrt(covariance(plan, votes, per_tuple).diagonal())


def cost(plan: Plan, per_tuple: int) -> Cost:
    """Returns the cost of the fewest votes that are enough, or of all that the items allow.

    More votes are never worse, so bisection finds the fewest.
    Raises `PlanError` for a plan without a goal.
    """
    if plan.half_width is None and plan.gap is None:
        raise PlanError("A plan needs a goal. Give --half-width or --gap.")
    # Numbers of tuples: `few` are too few, `many` are enough if any are.
    few = 0
    many = plan.pairs * plan.items
    is_enough = _is_enough(plan, many * per_tuple, per_tuple)
    while is_enough and many - few > 1:
        middle = (few + many) // 2
        if _is_enough(plan, middle * per_tuple, per_tuple):
            many = middle
        else:
            few = middle
    votes = many * per_tuple
    hours = votes * plan.seconds / 3600
    money = hours * plan.pay * (1 + plan.fee)
    return Cost(
        per_tuple=per_tuple,
        votes=votes,
        tuples=many,
        workers=ceil(votes / plan.seat),
        hours=hours,
        money=money,
        half_width=float(half_widths(plan, votes, per_tuple).mean()),
        is_enough=is_enough,
    )


def comparison(costs: Sequence[Cost]) -> list[str]:
    """Returns sentences that compare the cost of one vote per tuple with each later cost, where it is cheaper."""
    lines = []
    for single, several in combinations(costs, 2):  # each cost with each later one
        if single.per_tuple != 1 or not (single.is_enough and several.is_enough):
            continue
        share = single.votes / several.votes
        if share < 1:
            number = _NUMBERS.get(several.per_tuple, several.per_tuple)
            lines.append(f"One vote per tuple costs {_fraction(share)} of {number}.")
    return lines


def _fraction(share: float) -> str:
    """Returns a share in words: a plain fraction if one is near, else percent."""
    nearest = min(_FRACTIONS, key=lambda fraction: abs(fraction - share))
    return _FRACTIONS[nearest] if abs(nearest - share) < 0.05 * share else f"{share:.0%}"


def _is_enough(plan: Plan, votes: int, per_tuple: int) -> bool:
    """Returns whether this many votes, `per_tuple` on a tuple, reach the plan's goals."""
    if plan.half_width is not None and half_widths(plan, votes, per_tuple).mean() > plan.half_width:
        return False
    if plan.gap is None:
        return True
    strength_covariance = covariance(plan, votes, per_tuple)
    variance = strength_covariance.diagonal()
    gap_variance = variance[:, None] + variance[None, :] - 2 * strength_covariance
    order = np.argsort(plan.strengths)
    neighbours_variance = gap_variance[order[1:], order[:-1]].max()
    gap_in_errors = plan.gap / ELO.points / np.sqrt(neighbours_variance)
    needed = boundary(neighbours_variance, plan.pairs) + _POWER_QUANTILE
    return bool(gap_in_errors >= needed)


def _laplacian(weights: Floats) -> Floats:
    """Returns the Laplacian of a graph with these weights of links; the diagonal is ignored."""
    links = weights - np.diag(weights.diagonal())
    return np.diag(links.sum(1)) - links


def _couples(mean: float) -> float:
    """Returns the mean number of ordered couples in groups with this mean size, whose sizes differ by at most one."""
    size = floor(mean)
    share_larger = mean - size
    # A group of one more has 2 * size more ordered couples.
    return size * (size - 1) + 2 * size * share_larger
