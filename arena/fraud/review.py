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

    Crowds come first, since other voters are measured without them. A voter has a flag for each crowd.
    """
    networks = [cohort.voters for cohort in cohorts if cohort.reason is Suspicion.NETWORK]
    voting_crowds = crowds(choices, models, networks)
    set_aside = _crowds_mask(choices, voting_crowds)
    flags = [flag for flag in evidence(choices, models, set_aside) if flag.strength >= ENOUGH]
    flags += [flag for crowd in voting_crowds for flag in _sure_members(crowd)]
    # A cohort is tested without the voters flagged so far, who may hide others.
    flags += cohort_flags(choices, models, cohorts, _flagged_voters(flags), set_aside)
    # The doubtful ones come last: a voter with a flag already is not doubtful.
    flagged_voters = _flagged_voters(flags)
    flags += [flag for crowd in voting_crowds for flag in _doubtful_members(crowd, flagged_voters)]
    return tuple(flags)


def _crowds_mask(choices: VoterChoices, voting_crowds: Sequence[VotingCrowd]) -> NDArray[np.bool_]:
    """Returns the mask of the choices that any crowd sets aside."""
    mask = np.zeros(len(choices.a), bool)
    for crowd in voting_crowds:
        mask |= crowd.mask(choices)
    return mask


def _flagged_voters(flags: Sequence[Flag]) -> Codes:
    return np.array([flag.voter for flag in flags], np.int64)


def _sure_members(crowd: VotingCrowd) -> Iterator[Flag]:
    """Yields the flags of the voters whose votes are all left out."""
    for voter in crowd.voters[crowd.chances > SURE].tolist():
        yield Flag(voter, Suspicion.CROWD, crowd.model, crowd.strength)


def _doubtful_members(crowd: VotingCrowd, flagged_voters: Codes) -> Iterator[Flag]:
    """Yields the flags of the other voters, of whom only the votes about the crowd's model are left out."""
    reason = Suspicion.CROWD_FOR if crowd.is_for else Suspicion.CROWD_AGAINST
    for voter in crowd.voters[~np.isin(crowd.voters, flagged_voters)].tolist():
        yield Flag(voter, reason, crowd.model, crowd.strength)
