"""Review: all flags that choices raise, by evidence against single voters, cohorts and crowds."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from arena.fraud.cohorts import Cohort, cohort_flags
from arena.fraud.crowds import VotingCrowd, crowds
from arena.fraud.detectors import ENOUGH, Flag, Suspicion, VoterChoices, evidence
from arena.ratings.votes import Codes

SURE = 0.995
"""The least chance of belonging to a crowd at which all votes of a voter are left out, not only those about its
model."""


def review(choices: VoterChoices, models: int, cohorts: Sequence[Cohort]) -> tuple[Flag, ...]:
    """Returns the flags on voters; `models` is the number of model codes.

    Crowds come first, since other voters are measured without them.
    """
    networks = [cohort.voters for cohort in cohorts if cohort.reason is Suspicion.NETWORK]
    voting_crowds = crowds(choices, models, networks)
    apart = _set_aside(choices, voting_crowds)
    alone = [flag for flag in evidence(choices, models, apart) if flag.strength >= ENOUGH]
    sure = [flag for crowd in voting_crowds for flag in _sure(crowd)]
    out = np.array([flag.voter for flag in (*alone, *sure)], np.int64)
    flags = [*alone, *sure, *cohort_flags(choices, models, cohorts, out, apart)]
    out = np.array([flag.voter for flag in flags], np.int64)
    flags += [flag for crowd in voting_crowds for flag in _doubtful(crowd, out)]
    return tuple({(flag.voter, flag.reason): flag for flag in reversed(flags)}.values())


def _set_aside(choices: VoterChoices, voting_crowds: Sequence[VotingCrowd]) -> NDArray[np.bool_]:
    apart = np.zeros(len(choices.a), bool)
    for crowd in voting_crowds:
        apart |= crowd.mask(choices)
    return apart


def _sure(crowd: VotingCrowd) -> Iterator[Flag]:
    for voter in crowd.voters[crowd.chances > SURE].tolist():
        yield Flag(voter, Suspicion.CROWD, crowd.model, crowd.strength)


def _doubtful(crowd: VotingCrowd, out: Codes) -> Iterator[Flag]:
    reason = Suspicion.CROWD_FOR if crowd.is_for else Suspicion.CROWD_AGAINST
    for voter in crowd.voters[~np.isin(crowd.voters, out)].tolist():
        yield Flag(voter, reason, crowd.model, crowd.strength)
