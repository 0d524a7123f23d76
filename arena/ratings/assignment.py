"""Assignment: which pair of models a worker judges next, and on which item, by the design of a campaign.

*Balanced* takes the least-served pair, then the item least served with it and at all (a random incomplete block design,
a seat being a block). *Settle* gives most votes to the pair left that tells most about the least settled neighbours:
a vote on models i and j with win probability p lowers the variance of a contrast d of the strengths, which have the
covariance C, by p(1-p)(d'C(e_i-e_j))^2 to first order (a greedy c-optimal design: Pukelsheim 2006). *Fixed* goes
through a list. In a seat no item comes twice, and what was started is finished first. Functions here are pure but for
the generator that they are given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Strengths
from arena.ratings.settled import Order
from arena.ratings.votes import Codes, Floats

UNIFORM = 0.2
"""Share of *settle*'s draws that may be any pair, so that every order stays in sight."""


def pair_number(low: int, high: int, models: int) -> int:
    """Row of a pair in `Served`."""
    return low * (2 * models - low - 3) // 2 + high - 1


class Assigned(NamedTuple):
    """A pair of models, by code, on an item, and the probability with which the pair was drawn."""

    low: int
    high: int
    item: int
    probability: float


@dataclass(frozen=True, eq=False)
class Served:
    """Votes served so far, and what may be served: pairs x items."""

    models: int
    votes: Codes
    wanted: np.ndarray
    """Mask of the tuples that lack votes, of models that both answered the item."""

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """Lower and higher model of each pair."""
        return np.triu_indices(self.models, 1)

    @property
    def started(self) -> "Served":
        """The same with only those tuples wanted that have votes already."""
        return replace(self, wanted=self.wanted & (self.votes > 0))

    def tuples_left(self, seat: Sequence[Assigned]) -> np.ndarray:
        """Mask of the tuples that a seat may have, without its items."""
        left = self.wanted.copy()
        left[:, [one.item for one in seat]] = False
        return left

    def assign(
        self, pair: int, left: np.ndarray, probability: float, coin: np.random.Generator
    ) -> Assigned:
        """The item left that is least served with this pair, among equals the one least served at all."""
        items = np.flatnonzero(left[pair])
        order = np.lexsort(
            (coin.random(len(items)), self.votes.sum(0)[items], self.votes[pair, items])
        )
        return Assigned(
            int(self.pairs[0][pair]), int(self.pairs[1][pair]), int(items[order[0]]), probability
        )


def finishing_first(served: Served, draw: Callable[[Served], Assigned | None]) -> Assigned | None:
    """A draw of a tuple that has votes already or, only where a seat can have none of these, of any."""
    return draw(served.started) or draw(served)


def balanced(
    served: Served, seat: Sequence[Assigned], size: int, coin: np.random.Generator
) -> Assigned | None:
    """The next tuple of a seat of `size` tuples, no model in more than ceil(2 size / models) + 1; None if none is left.

    A pair is drawn only if the rest of the seat can still be filled: t tuples can where models that may stand in c
    more each can stand in 2t in all, none in more than t.
    """
    low, high = served.pairs
    used = np.bincount([model for one in seat for model in one[:2]], minlength=served.models)
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
    """How much a vote on each pair tells about the least settled of these orders; None if all are settled."""
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
    """The next tuple of a seat: of the pair left that gains most or, in a share UNIFORM of draws, of any left.

    None if none is left. `aims` are each pair's gains; None: every pair is as likely.
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


def fixed(
    served: Served, seat: Sequence[Assigned], tuples: Sequence[tuple[int, int, int]]
) -> Assigned | None:
    """The first tuple of a list (lower model, higher model, item) that the seat may have; None if none is left."""
    left = served.tuples_left(seat)
    for low, high, item in tuples:
        if left[pair_number(low, high, served.models), item]:
            return Assigned(low=low, high=high, item=item, probability=1.0)
    return None
