"""Fragility: the fewest removed votes, and the fewest new voters, that give first place to another model.

Finding the exact minimum is combinatorial, so votes are removed in the order of their influence on the lead (Broderick,
Giordano and Meager 2020; for arenas Huang, Shen, Wei and Broderick 2025) and the model is refitted. The returned number
does change first place, and bisection finds no smaller one in that order.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.votes import Codes, Floats

RIVALS = 5
"""The number of rivals tried: those nearest to first place, by estimate."""
TURNS = 5
"""The most times that influences are recomputed around the changed fit."""


@dataclass(frozen=True, eq=False)
class Fragility:
    """The votes that support the first place in a fit's largest component."""

    leader: int
    rival: int
    """The model that is first without the removed votes."""
    removed: Floats
    """Wins to remove: winner x loser, half a win on either side for a tie."""
    votes: int
    """The number of removed votes."""


def fragility(fit: Strengths, ties: Floats | None = None) -> Fragility | None:
    """Returns the fewest votes found that change first place when removed; None without a rival.

    `ties` are the votes without a winner, symmetric; the fit's wins have half a win for each side of them. Also None if
    no removal puts a still comparable rival ahead.
    """
    members = np.flatnonzero((fit.components == 0) & ~np.isnan(fit.ratings))
    if len(members) < 2:
        return None
    leader = int(members[np.argmax(fit.ratings[members])])
    tied = np.zeros_like(fit.wins) if ties is None else ties
    leads = [_Lead(fit, tied, leader, int(model)) for model in members if model != leader]
    leads.sort(key=lambda lead: lead.estimate())
    changes = []
    for lead in leads[:RIVALS]:
        removal = lead.find_removal()
        if removal is not None:
            changes.append(Fragility(leader, removal.first, removal.wins, int(removal.wins.sum())))
    return min(changes, key=lambda change: (change.votes, change.rival), default=None)


class _Removal(NamedTuple):
    wins: Floats
    """Removed wins: winner x loser."""
    remaining_fit: Strengths
    """Fit to the remaining votes."""
    is_ahead: bool
    """Whether the rival is ahead."""
    is_apart: bool
    """Whether leader and rival are no longer comparable."""
    first: int
    """The model that is first among those comparable with the rival, which may be another one."""


class _Lead:
    """The leader's lead over a rival, and the votes that support it."""

    def __init__(self, fit: Strengths, ties: Floats, leader: int, rival: int) -> None:
        self._fit = fit
        self._leader = leader
        self.rival = rival
        # Votes by kind, 2 x models x models: first who beat whom, then, each pair once, who tied with whom.
        # Rounded, since a vote is removed as a whole.
        self._votes = np.stack([np.round(fit.wins - ties / 2), np.triu(ties)])
        self._order_by(fit)

    def _order_by(self, fit: Strengths) -> None:
        """Sorts the kinds of votes by their influence on the lead, around a fit."""
        lead_covariance = fit.inverse[self._leader] - fit.inverse[self.rival]
        win_chance = 1 / (1 + np.exp(fit.strengths[None, :] - fit.strengths[:, None]))
        # A win of i over j adds 1 - win_chance[i, j] to the gradient at i, and takes it off at j; times the inverse,
        # that is the change of the strengths.
        winner_effect = lead_covariance[:, None]
        loser_effect = lead_covariance[None, :]
        win_influence = (winner_effect - loser_effect) * (1 - win_chance)
        win_influence = np.where(fit.comparable, win_influence, 0)
        tie_influence = (win_influence + win_influence.T) / 2
        influence = np.stack([win_influence, tie_influence]).ravel()
        votes = self._votes.ravel()
        order = np.argsort(-influence, kind="stable")
        self._order = order[(influence[order] > 0) & (votes[order] > 0)]
        self._counts = votes[self._order]
        self._influence = influence[self._order]
        self._ends = np.cumsum(self._counts)
        """The running total of `_counts`: the place in the order at which each kind of vote ends."""

    def estimate(self) -> float:
        """Returns the approximate number of removals that cancel the lead, if influences stayed constant."""
        lost_lead = np.cumsum(self._counts * self._influence)
        lead = self._fit.strengths[self._leader] - self._fit.strengths[self.rival]
        last_kind = int(np.searchsorted(lost_lead, lead))
        if last_kind == len(lost_lead):
            return np.inf
        unneeded = (lost_lead[last_kind] - lead) / self._influence[last_kind]
        return float(self._ends[last_kind] - unneeded)

    def find_removal(self) -> _Removal | None:
        """Returns the fewest removals found that put the rival ahead; None if there are none."""
        best = None
        for _ in range(TURNS):
            removal = self._find_fewest()
            if removal is None or (best is not None and removal.wins.sum() >= best.wins.sum()):
                break
            best = removal
            self._order_by(removal.remaining_fit)
        return best

    def _find_fewest(self) -> _Removal | None:
        """Returns the fewest removals in this order that put the rival ahead; None without any.

        Searches for a number that is enough, from the estimate on, then for the least by bisection.
        """
        total = int(self._ends[-1]) if len(self._ends) else 0
        few = 0  # Too few removals: the leader stays ahead.
        apart = total + 1  # Too many: leader and rival are no longer comparable.
        many = max(1, round(min(self.estimate(), total)))
        removal = self._remove(many)
        while not removal.is_ahead:
            if removal.is_apart:
                apart = many
            else:
                few = many
            is_bounded = apart <= total
            many = (few + apart) // 2 if is_bounded else min(2 * many, total)
            if many <= few:  # No number is left between too few and too many.
                return None
            removal = self._remove(many)
        while many - few > 1:
            middle = (few + many) // 2
            smaller = self._remove(middle)
            if smaller.is_ahead:
                many = middle
                removal = smaller
            else:
                few = middle
        return removal

    def _remove(self, votes: int) -> _Removal:
        """Removes the most influential votes and refits."""
        starts = self._ends - self._counts
        removed = np.zeros_like(self._votes)
        removed.flat[self._order] = np.clip(votes - starts, 0, self._counts)
        removed_wins, removed_ties = removed
        wins = removed_wins + (removed_ties + removed_ties.T) / 2
        fit = bradley_terry(self._fit.wins - wins, self._fit.prior)
        is_apart = not fit.comparable[self.rival, self._leader]
        is_ahead = fit.ratings[self.rival] > fit.ratings[self._leader]
        comparable_ratings = np.where(fit.comparable[self.rival], fit.ratings, -np.inf)
        return _Removal(
            wins=wins,
            remaining_fit=fit,
            is_ahead=not is_apart and is_ahead,
            is_apart=is_apart,
            first=int(comparable_ratings.argmax()),
        )


class NewVoters(NamedTuple):
    """The number of voters who put a rival first by always choosing it."""

    rival: int
    voters: int


def fewest_new_voters(fit: Strengths, votes_each: int) -> NewVoters | None:
    """Returns the fewest new voters who can change first place, with `votes_each` votes on evenly drawn pairs.

    They choose the rival in all of its battles, and otherwise choose as others do. None without a rival.
    """
    members = np.flatnonzero((fit.components == 0) & ~np.isnan(fit.ratings))
    order = members[np.argsort(-fit.ratings[members], kind="stable")]
    candidates = [
        NewVoters(rival, _fewest_for_rival(fit, order, rival, votes_each))
        for rival in order[1 : 1 + RIVALS].tolist()
    ]
    return min(candidates, key=lambda candidate: candidate.voters, default=None)


def _fewest_for_rival(fit: Strengths, members: Codes, rival: int, votes_each: int) -> int:
    """Returns the fewest new voters who put a rival first among the members, by doubling and bisection."""
    pairs = len(members) * (len(members) - 1) / 2
    votes_per_pair = votes_each / pairs
    others = members[members != rival]

    def is_first(voters: int) -> bool:
        # Their votes on other pairs are left out: such votes agree with the fit already.
        wins = fit.wins.copy()
        wins[rival, others] += voters * votes_per_pair
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
