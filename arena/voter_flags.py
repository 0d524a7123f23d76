"""Voter flags: which voters' choices fit a rigger better than the boards themselves.

The evidence against a voter is a likelihood-ratio e-process. Under the null hypothesis each choice follows
Bradley-Terry fitted to everybody else's votes. Against it stand, in equal parts, a coin, a contrarian, one who chooses
always the same side, and one who chooses for or against one model whenever it is there. By Ville's inequality a voter
who follows the null ever passes 1/alpha with a chance of at most alpha, so it may be looked at after every vote.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.bradley_terry import PRIOR, bradley_terry
from arena.ratings import Codes, Floats

ALPHA = 0.001
"""The chance that an honest voter is ever flagged, at most."""
_STEADY = 0.98
"""How surely a rigger does what a rigger does."""


class Suspicion(StrEnum):
    """What a voter's choices look like."""

    COIN = "chooses at random"
    CONTRARIAN = "chooses what others do not"
    LEFT = "chooses A whatever it is"
    RIGHT = "chooses B whatever it is"
    FOR = "chooses one model whenever it is there"
    AGAINST = "chooses against one model whenever it is there"


class Choices(NamedTuple):
    """Choices in the order they were made: codes of the models on either side, whether A was chosen, and by whom."""

    a: Codes
    b: Codes
    chose_a: NDArray[np.bool_]
    voter: Codes


@dataclass(frozen=True)
class Evidence:
    """What speaks against one voter."""

    voter: int
    votes: int
    strength: float
    """Decimal logarithm of the largest e-value so far; a voter is flagged from `-log10(alpha)`."""
    suspicion: Suspicion
    """What the choices looked like most when the e-value was largest."""
    model: int | None
    """Which model the suspicion is about."""

    def flagged(self, alpha: float = ALPHA) -> bool:
        """Tell whether the evidence passes 1/alpha."""
        return self.strength >= -np.log10(alpha)


def evidence(choices: Choices, models: int, prior: float = PRIOR) -> tuple[Evidence, ...]:
    """Return the evidence against each voter, the strongest first; `models` is how many codes there are."""
    won, lost = np.where(choices.chose_a, choices.a, choices.b), np.where(choices.chose_a, choices.b, choices.a)
    wins = np.bincount(won * models + lost, minlength=models * models).reshape(models, models).astype(np.float64)
    start = bradley_terry(wins, prior).strengths
    found = []
    for voter, places in _by_voter(choices.voter):
        others = wins.copy()
        np.subtract.at(others, (won[places], lost[places]), 1.0)
        strengths = bradley_terry(others, prior, start=start).strengths
        one = Choices(choices.a[places], choices.b[places], choices.chose_a[places], choices.voter[places])
        found.append(_evidence(voter, one, strengths))
    return tuple(sorted(found, key=lambda one: (-one.strength, one.voter)))


def _by_voter(voters: Codes) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Return each voter with the places of their choices, in order."""
    order = np.argsort(voters, kind="stable")
    codes, starts = np.unique(voters[order], return_index=True)
    for code, start, end in zip(codes.tolist(), starts, np.append(starts, len(order))[1:], strict=True):
        yield code, order[start:end]


def _evidence(voter: int, choices: Choices, strengths: Floats) -> Evidence:
    """Return the largest e-value that one voter's choices ever reached."""
    a, b, chose_a = choices.a, choices.b, choices.chose_a
    honest = 1 / (1 + np.exp(strengths[b] - strengths[a]))  # the chance that A is chosen
    there = np.unique(np.concatenate([a, b]))
    for_model = np.where(there[:, None] == a, _STEADY, np.where(there[:, None] == b, 1 - _STEADY, honest))
    against = np.where(there[:, None] == a, 1 - _STEADY, np.where(there[:, None] == b, _STEADY, honest))
    steady = np.full((1, len(a)), _STEADY)
    chances = np.vstack([np.full((1, len(a)), 0.5), 1 - honest[None], steady, 1 - steady, for_model, against])
    ratios = np.where(chose_a, np.log(chances) - np.log(honest), np.log1p(-chances) - np.log1p(-honest))
    paths = ratios.cumsum(axis=1)
    mixed = np.logaddexp.reduce(paths, axis=0) - np.log(len(paths))
    peak = int(mixed.argmax())
    suspect = int(paths[:, peak].argmax())
    names = (Suspicion.COIN, Suspicion.CONTRARIAN, Suspicion.LEFT, Suspicion.RIGHT)
    about = None if suspect < len(names) else int(there[(suspect - len(names)) % len(there)])
    of_model = Suspicion.FOR if suspect < len(names) + len(there) else Suspicion.AGAINST
    suspicion = names[suspect] if about is None else of_model
    return Evidence(voter, len(a), max(0.0, float(mixed[peak]) / np.log(10)), suspicion, about)
