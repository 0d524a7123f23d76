"""Assignment: the next pair of models and the next item for a worker, by the design of a campaign.

*Balanced* takes the least-served pair, then the item least served with it and overall (a random incomplete block
design, with seats as blocks). *Settle* gives most votes to the pair whose next vote says most about the least settled
order of two neighbours. Their difference in strength has the variance d'Cd, where C is the covariance of the strengths
and d is 1 for the model above and -1 for the one below. A vote on models i and j lowers this variance by
p(1-p)(d'C(e_i-e_j))^2 to first order, where p is i's chance to win and e_i the unit vector of i (a greedy c-optimal
design: Pukelsheim 2006). *Fixed* goes through a list.

No item comes twice in a seat, and started tuples are finished first. Functions here are pure, except for the generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple, TypeVar

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.settled import Order
from arena.ratings.votes import Codes, Floats

UNIFORM_SHARE = 0.2
"""The share of *settle*'s draws that take any pair, so that every order gets votes."""
Code = TypeVar("Code", int, np.ndarray)


def pair_number(low: Code, high: Code, models: int) -> Code:
    """Returns the row of a pair (low < high) in `Served.votes`, or the rows of an array of pairs.

    Pairs are numbered as `np.triu_indices` lists them: (0, 1), (0, 2), ..., (1, 2), ...
    """
    return low * (2 * models - low - 3) // 2 + high - 1


class Assignment(NamedTuple):
    """A pair of models, by code, on an item, and the probability with which the pair was drawn."""

    low: int
    high: int
    item: int
    probability: float


class Pairs(NamedTuple):
    """The models of each pair, by code."""

    low: Codes
    high: Codes


@dataclass(frozen=True, eq=False)
class Served:
    """The votes served so far, and the tuples that may be served."""

    models: int
    votes: Codes
    """The number of votes served on each tuple: pairs x items."""
    lacks_votes: np.ndarray
    """The mask of tuples that may be served, pairs x items: they lack votes, and both models have answered the item."""

    @cached_property
    def pairs(self) -> Pairs:
        return Pairs(*np.triu_indices(self.models, 1))

    @property
    def only_started(self) -> "Served":
        """The same, where only tuples with votes may be served."""
        return replace(self, lacks_votes=self.lacks_votes & (self.votes > 0))

    def tuples_left(self, seat: Sequence[Assignment]) -> np.ndarray:
        """Returns the mask of tuples that a seat may have: none with an item that it already has."""
        left = self.lacks_votes.copy()
        left[:, [assignment.item for assignment in seat]] = False
        return left

    def assign(
        self, pair: int, left: np.ndarray, probability: float, coin: np.random.Generator
    ) -> Assignment:
        """Assigns the remaining item that is least served with this pair, then least served overall, then by chance.

        `left` is the mask of `tuples_left`; `probability` is the one with which the pair was drawn.
        """
        items = np.flatnonzero(left[pair])
        votes_with_pair = self.votes[pair, items]
        votes_overall = self.votes.sum(0)[items]
        # The last key sorts first.
        order = np.lexsort((coin.random(len(items)), votes_overall, votes_with_pair))
        return Assignment(
            low=int(self.pairs.low[pair]),
            high=int(self.pairs.high[pair]),
            item=int(items[order[0]]),
            probability=probability,
        )


def draw_started_first(
    served: Served, draw: Callable[[Served], Assignment | None]
) -> Assignment | None:
    """Draws among started tuples, or among all if the seat can have none of these."""
    return draw(served.only_started) or draw(served)


def draw_balanced(
    served: Served, seat: Sequence[Assignment], size: int, coin: np.random.Generator
) -> Assignment | None:
    """Returns the next tuple of a seat of `size` tuples; None if there is none.

    A tuple takes one place of each of its two models, and a model has ceil(2 size / models) + 1 places in a seat. A
    pair is drawn only if enough places stay free for the tuples after it: t tuples take 2t places, of which one model
    can take at most t.
    """
    tuples_after = size - len(seat) - 1
    if tuples_after < 0:
        return None
    low, high = served.pairs
    seat_models = [assignment.low for assignment in seat]
    seat_models += [assignment.high for assignment in seat]
    most_places = ceil(2 * size / served.models) + 1
    places_taken = np.bincount(seat_models, minlength=served.models)
    # Tuples from `draw_settling` may have taken more places of a model than it has here.
    free_places = np.maximum(0, most_places - places_taken)
    usable_places = np.minimum(free_places, tuples_after)
    # The drawn pair takes a place of each of its models. Those with more than `tuples_after` free places lose none that
    # could be used.
    loses_usable = free_places <= tuples_after
    usable_after_pair = usable_places.sum() - loses_usable[low] - loses_usable[high]
    can_fill_seat = usable_after_pair >= 2 * tuples_after
    left = served.tuples_left(seat)
    has_places = (free_places[low] > 0) & (free_places[high] > 0)
    can_draw = left.any(1) & has_places & can_fill_seat
    if not can_draw.any():
        return None
    votes = np.where(can_draw, served.votes.sum(1), np.inf)
    pairs = np.flatnonzero(votes == votes.min())
    return served.assign(int(coin.choice(pairs)), left, 1 / len(pairs), coin)


def pair_gains(fit: Strengths, orders: Sequence[Order]) -> Floats | None:
    """Returns by how much a vote on each pair lowers the variance of the least settled order, by `pair_number`; None if
    all orders are settled. The formula is in the module's docstring.
    """
    unsettled = [order for order in orders if order.state != "settled"]
    if not unsettled:
        return None
    order = min(unsettled, key=lambda order: order.progress)
    # d'C of the formula: d is 1 for the model above, -1 for the one below.
    order_covariance = fit.inverse[order.above] - fit.inverse[order.below]
    low, high = np.triu_indices(len(order_covariance), 1)
    vote_variance = fit.chances[low, high] * fit.chances[high, low]
    return vote_variance * (order_covariance[low] - order_covariance[high]) ** 2


def draw_settling(
    served: Served, seat: Sequence[Assignment], gains: Floats | None, coin: np.random.Generator
) -> Assignment | None:
    """Returns the next tuple of a seat; None if there is none.

    Most draws take the remaining pair with the largest gain; a share UNIFORM_SHARE takes any remaining pair. `gains`
    are those of `pair_gains`; None: all pairs are equally likely.
    """
    left = served.tuples_left(seat)
    pairs = np.flatnonzero(left.any(1))
    if not len(pairs):
        return None
    chances = np.full(len(pairs), 1 / len(pairs))
    if gains is not None:
        chances *= UNIFORM_SHARE
        chances[gains[pairs].argmax()] += 1 - UNIFORM_SHARE
    drawn = int(coin.choice(len(pairs), p=chances))
    return served.assign(int(pairs[drawn]), left, float(chances[drawn]), coin)


def draw_fixed(served: Served, seat: Sequence[Assignment], tuples: np.ndarray) -> Assignment | None:
    """Returns the first row of `tuples` (lower model, higher model, item) that the seat may have, or None."""
    low, high, item = tuples.T
    is_left = served.tuples_left(seat)[pair_number(low, high, served.models), item]
    if not is_left.any():
        return None
    first = is_left.argmax()
    return Assignment(int(low[first]), int(high[first]), int(item[first]), probability=1.0)
