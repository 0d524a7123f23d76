"""Assignment: the next pair of models and the next item for a worker, by the design of a campaign.

*Balanced* takes the least-served pair, then the item least served with it and overall (a random incomplete block
design, with seats as blocks). *Settle* gives most votes to the pair that adds most about the least settled neighbours:
a vote on models i and j with win probability p lowers the variance of a contrast d of the strengths, which have the
covariance C, by p(1-p)(d'C(e_i-e_j))^2 to first order (a greedy c-optimal design: Pukelsheim 2006). *Fixed* goes
through a list. No item comes twice in a seat, and started tuples are finished first. Functions here are pure, except
for the generator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.settled import Order
from arena.ratings.votes import Codes, Floats

UNIFORM = 0.2
"""The share of *settle*'s draws that take any pair, so that every order gets votes."""
Code = TypeVar("Code", int, np.ndarray)


def pair_number(low: Code, high: Code, models: int) -> Code:
    """Returns the row of a pair in `Served`, or of an array of pairs."""
    return low * (2 * models - low - 3) // 2 + high - 1


class Assigned(NamedTuple):
    """A pair of models, by code, on an item, and the probability with which the pair was drawn."""

    low: int
    high: int
    item: int
    probability: float


@dataclass(frozen=True, eq=False)
class Served:
    """The votes served so far, and the tuples that may be served: pairs x items."""

    models: int
    votes: Codes
    wanted: np.ndarray
    """The mask of tuples that lack votes; both models have answered the item."""

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """Lower and higher model of each pair."""
        return np.triu_indices(self.models, 1)

    @property
    def started(self) -> "Served":
        """The same, with only started tuples wanted."""
        return replace(self, wanted=self.wanted & (self.votes > 0))

    def tuples_left(self, seat: Sequence[Assigned]) -> np.ndarray:
        """Returns the mask of tuples that a seat may have, without its items."""
        left = self.wanted.copy()
        left[:, [assigned.item for assigned in seat]] = False
        return left

    def assign(
        self, pair: int, left: np.ndarray, probability: float, coin: np.random.Generator
    ) -> Assigned:
        """Assigns the remaining item that is least served with this pair, then least served overall."""
        items = np.flatnonzero(left[pair])
        order = np.lexsort(
            (coin.random(len(items)), self.votes.sum(0)[items], self.votes[pair, items])
        )
        return Assigned(
            int(self.pairs[0][pair]), int(self.pairs[1][pair]), int(items[order[0]]), probability
        )


def finishing_first(served: Served, draw: Callable[[Served], Assigned | None]) -> Assigned | None:
    """Draws among started tuples, or among all if the seat can have none of these."""
    return draw(served.started) or draw(served)


def balanced(
    served: Served, seat: Sequence[Assigned], size: int, coin: np.random.Generator
) -> Assigned | None:
    """Returns the next tuple of a seat of `size` tuples, no model in more than ceil(2 size / models) + 1; None if there
    is none.

    A pair is drawn only if the rest of the seat can still be filled: t more tuples can be, if the remaining places of
    the models, at most t each, add up to 2t.
    """
    low, high = served.pairs
    used = np.bincount(
        [model for assigned in seat for model in (assigned.low, assigned.high)],
        minlength=served.models,
    )
    room = -(-2 * size // served.models) + 1 - used
    after = size - len(seat) - 1
    usable = (
        np.minimum(room, after).sum() - (room <= after)[low] - (room <= after)[high] >= 2 * after
    )
    left = served.tuples_left(seat)
    able = left.any(1) & (room[low] > 0) & (room[high] > 0) & usable
    if after < 0 or not able.any():
        return None
    votes = np.where(able, served.votes.sum(1), np.inf)
    pairs = np.flatnonzero(votes == votes.min())
    return served.assign(int(coin.choice(pairs)), left, 1 / len(pairs), coin)


def gains(fit: Strengths, orders: Sequence[Order]) -> Floats | None:
    """Returns the information that a vote on each pair adds about the least settled order; None if all are settled."""
    unsettled = [order for order in orders if order.state != "settled"]
    if not unsettled:
        return None
    order = min(unsettled, key=lambda order: order.progress)
    pull = fit.inverse[order.above] - fit.inverse[order.below]
    low, high = np.triu_indices(len(pull), 1)
    return fit.chances[low, high] * fit.chances[high, low] * (pull[low] - pull[high]) ** 2


def settle(
    served: Served, seat: Sequence[Assigned], aims: Floats | None, coin: np.random.Generator
) -> Assigned | None:
    """Returns the next tuple of a seat, of the remaining pair with the largest gain, or of any in a share UNIFORM of
    draws.

    None if there is none. `aims` are the pairs' gains; None: all pairs are equally likely.
    """
    left = served.tuples_left(seat)
    pairs = np.flatnonzero(left.any(1))
    if not len(pairs):
        return None
    chances = np.full(len(pairs), 1 / len(pairs))
    if aims is not None:
        chances *= UNIFORM
        chances[aims[pairs].argmax()] += 1 - UNIFORM
    drawn = int(coin.choice(len(pairs), p=chances))
    return served.assign(int(pairs[drawn]), left, float(chances[drawn]), coin)


def fixed(served: Served, seat: Sequence[Assigned], tuples: np.ndarray) -> Assigned | None:
    """Returns the first row of `tuples` (lower model, higher model, item) that the seat may have, or None."""
    low, high, item = tuples.T
    is_left = served.tuples_left(seat)[pair_number(low, high, served.models), item]
    if not is_left.any():
        return None
    first = is_left.argmax()
    return Assigned(int(low[first]), int(high[first]), int(item[first]), probability=1.0)
