"""Fragility: the fewest votes whose removal gives first place to another model, and the fewest new voters who can.

Finding the very fewest is combinatorial, so votes are removed in the order of their influence on the lead (Broderick,
Giordano and Meager 2020; for arenas Huang, Shen, Wei and Broderick 2025) and the model is refitted: the number returned
does change first place, and bisection finds no smaller one in that order.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.votes import Codes, Floats

RIVALS = 5
"""Rivals tried: those nearest to first place, by estimate."""
TURNS = 5
"""Most times that influences are recomputed around the changed fit."""


@dataclass(frozen=True, eq=False)
class Fragility:
    """The votes that carry the first place of a fit's largest component."""

    leader: int
    rival: int
    """The model that is first without the removed votes."""
    removed: Floats
    """Wins to remove: winner x loser, half a win on either side for a tie."""
    votes: int
    """Number of removed votes."""


def fragility(fit: Strengths, ties: Floats | None = None) -> Fragility | None:
    """Smallest number of votes found whose removal changes first place; None without a rival.

    `ties` are the votes without a winner, symmetric; the fit's wins hold half a win for each side of them. Also None if
    no removal puts a rival ahead that is still comparable.
    """
    members = np.flatnonzero((fit.components == 0) & ~np.isnan(fit.ratings))
    if len(members) < 2:
        return None
    leader = int(members[np.argmax(fit.ratings[members])])
    tied = np.zeros_like(fit.wins) if ties is None else ties
    leads = [_Lead(fit, tied, leader, int(model)) for model in members if model != leader]
    leads.sort(key=lambda lead: lead.estimate())
    found = [
        (int(removed.sum()), lead.rival, removed)
        for lead in leads[:RIVALS]
        if (removed := lead.undone()) is not None
    ]
    if not found:
        return None
    votes, rival, removed = min(found, key=lambda one: one[:2])
    return Fragility(leader, rival, removed, votes)


class _Removal(NamedTuple):
    wins: Floats
    """Removed wins: winner x loser."""
    left: Strengths
    """Fit to the remaining votes."""
    is_ahead: bool
    """Whether the rival is ahead."""
    is_apart: bool
    """Whether leader and rival are no longer comparable."""


class _Lead:
    """The leader's lead over one rival, and the votes that hold it up."""

    def __init__(self, fit: Strengths, ties: Floats, leader: int, rival: int) -> None:
        self._fit = fit
        self._leader = leader
        self.rival = rival
        # Votes by kind: first who beat whom, then, each pair once, who tied with whom.
        self._votes = np.stack([np.round(fit.wins - ties / 2), np.triu(ties)])
        self._order_by(fit)

    def _order_by(self, fit: Strengths) -> None:
        """Order the kinds of votes by how much the lead shrinks for one removed, around a fit."""
        pull = fit.inverse[self._leader] - fit.inverse[self.rival]
        chance = 1 / (1 + np.exp(fit.strengths[None, :] - fit.strengths[:, None]))
        of_win = np.where(fit.comparable, (pull[:, None] - pull[None, :]) * (1 - chance), 0)
        influence = np.stack([of_win, (of_win + of_win.T) / 2]).ravel()
        votes = self._votes.ravel()
        order = np.argsort(-influence, kind="stable")
        self._order = order[(influence[order] > 0) & (votes[order] > 0)]
        self._counts = votes[self._order]
        self._influence = influence[self._order]
        self._ends = np.cumsum(self._counts)

    def estimate(self) -> float:
        """Approximate number of removals that cancel the lead, if influences stayed constant."""
        shrunk = np.cumsum(self._counts * self._influence)
        lead = self._fit.strengths[self._leader] - self._fit.strengths[self.rival]
        place = int(np.searchsorted(shrunk, lead))
        if place == len(shrunk):
            return np.inf
        over = (shrunk[place] - lead) / self._influence[place]
        return float(self._ends[place] - over)

    def undone(self) -> Floats | None:
        """Fewest removals found that put the rival ahead; None if none do."""
        best = None
        for _ in range(TURNS):
            removal = self._fewest()
            if removal is None or (best is not None and removal.wins.sum() >= best.sum()):
                break
            best = removal.wins
            self._order_by(removal.left)
        return best

    def _fewest(self) -> _Removal | None:
        """Fewest removals in this order that put the rival ahead, by doubling and then bisection; None if none do."""
        total = int(self._ends[-1]) if len(self._ends) else 0
        few = 0
        many = max(1, round(min(self.estimate(), total)))
        apart = total + 1
        while not (found := self._removal(many)).is_ahead:
            if found.is_apart:
                apart = many
            else:
                few = many
            many = min(2 * many, total) if apart > total else (few + apart) // 2
            if many <= few:
                return None
        while many - few > 1:
            middle = (few + many) // 2
            closer = self._removal(middle)
            few, many, found = (few, middle, closer) if closer.is_ahead else (middle, many, found)
        return found

    def _removal(self, votes: int) -> _Removal:
        taken = np.zeros_like(self._votes)
        taken.flat[self._order] = np.clip(votes - (self._ends - self._counts), 0, self._counts)
        wins = taken[0] + (taken[1] + taken[1].T) / 2
        left = bradley_terry(self._fit.wins - wins, self._fit.prior)
        is_apart = not left.comparable[self.rival, self._leader]
        return _Removal(
            wins,
            left,
            not is_apart and left.ratings[self.rival] > left.ratings[self._leader],
            is_apart,
        )


class NewVoters(NamedTuple):
    """Voters who always choose one model, and so put it first."""

    rival: int
    voters: int


def fewest_new_voters(fit: Strengths, each: int) -> NewVoters | None:
    """Smallest number of new voters who can change first place, with `each` votes on pairs drawn evenly.

    They choose the rival whenever it is there, and else as others do. None without a rival.
    """
    members = np.flatnonzero((fit.components == 0) & ~np.isnan(fit.ratings))
    order = members[np.argsort(-fit.ratings[members], kind="stable")]
    found = [
        NewVoters(rival, _new_voters(fit, order, rival, each))
        for rival in order[1 : 1 + RIVALS].tolist()
    ]
    return min(found, key=lambda one: one.voters) if found else None


def _new_voters(fit: Strengths, members: Codes, rival: int, each: int) -> int:
    """Smallest number of new voters who put a rival first."""
    a_pair = each / (len(members) * (len(members) - 1) / 2)
    others = members[members != rival]

    def is_first(voters: int) -> bool:
        wins = fit.wins.copy()
        wins[rival, others] += voters * a_pair
        ratings = bradley_terry(wins, fit.prior, start=fit.strengths).ratings
        return bool(ratings[rival] > ratings[others].max())

    many = 1
    while not is_first(many):
        many *= 2
    few = many // 2
    while many - few > 1:
        middle = (few + many) // 2
        if is_first(middle):
            many = middle
        else:
            few = middle
    return many
