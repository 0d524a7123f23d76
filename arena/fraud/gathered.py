"""Gathered crowds: what networks and days tell of a crowd, whose cookies may come from few of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arena.fraud.cohorts import FEWEST, SHARED, SHARES, Cohort
from arena.fraud.tastes import Meetings, ModelVoters, Population, weights_of
from arena.ratings.votes import Codes, Floats

_SHARED_TASTES = np.linspace(-3.0, 3.0, 13)
"""Tastes that the voters of a cohort may share, in deviations."""
_COHORT = 0.3
"""Voters that a crowd's share of all counts for in a cohort, beside the cohort's own."""
_ROUNDS = 20
"""Times that the shares of cohorts, and the chances of voters by these, are computed."""


class Steadiness(NamedTuple):
    """How steadily a model's voters choose for it, or against it."""

    is_for: bool
    share: float
    """Of the crowd."""
    honest: float
    """Share of honest voters who are as steady: as many as there are on the other side."""
    ratios: Floats
    """Of the likelihoods of being steady and of not being so, by meeting."""


class Chances(NamedTuple):
    """Voters' chances to be of a crowd."""

    chances: Floats
    cohorts: Codes
    """The cohort of each with most of the crowd, by place; -1: none has more than its share."""


def gathered_gain(
    met: Meetings, voters: ModelVoters, population: Population, cohorts: Sequence[Cohort]
) -> float:
    """Return the natural log of the likelihood ratio of a crowd in some cohorts to one that is spread evenly.

    Each cohort's voters may share a taste for the model. Networks and days are weighed apart.
    """
    kinds = np.searchsorted(voters.kinds, met.kind)
    gains = []
    for reason in sorted({cohort.reason for cohort in cohorts}):
        those = [cohort for cohort in cohorts if cohort.reason is reason]
        place, cohort = places_of(met.voter, [one for one in those if len(one.voters) >= FEWEST])
        if len(place):
            ratios = _ratios(kinds[place], cohort, voters.likelihoods, population)
            gains.append(_of_some(ratios))
    return float(np.logaddexp.reduce(gains) - np.log(len(gains))) if gains else 0.0


def _of_some(ratios: Floats) -> float:
    """Return the log of the likelihood ratio that a share of all cohorts has the crowd."""
    logs = [np.logaddexp(np.log1p(-share), np.log(share) + ratios).sum() for share in SHARES]
    return float(np.logaddexp.reduce(logs) - np.log(len(logs)))


def _ratios(kinds: Codes, cohort: Codes, likelihoods: Floats, population: Population) -> Floats:
    """Return, by cohort, the log of the likelihood ratio of a share of its own of the crowd to everybody's."""
    is_for = population.lovers > population.haters
    fewer = min(population.lovers, population.haters)
    prior = np.exp(-(_SHARED_TASTES**2) / 2)
    prior = np.log(prior / prior.sum())
    even = []
    own = []
    for taste, log in zip(_SHARED_TASTES.tolist(), prior.tolist(), strict=True):
        shifted = population._replace(centre=population.centre + taste * SHARED)
        even.append(log + _logs(kinds, cohort, likelihoods, shifted))
        for share in SHARES:
            crowd = share * (1 - fewer)
            lovers = crowd if is_for else fewer
            haters = fewer if is_for else crowd
            theirs = shifted._replace(lovers=lovers, haters=haters)
            own.append(log + _logs(kinds, cohort, likelihoods, theirs))
    return np.logaddexp.reduce(own) - np.log(len(SHARES)) - np.logaddexp.reduce(even)


def _logs(kinds: Codes, cohort: Codes, likelihoods: Floats, population: Population) -> Floats:
    """Return the log likelihood of each cohort's choices, were its voters like this."""
    logs = np.log(likelihoods @ weights_of(population))
    return np.bincount(cohort, logs[kinds]).astype(np.float64)


def chances_by_cohort(steadiness: Steadiness, voters: Codes, cohorts: Sequence[Cohort]) -> Chances:
    """Return voters' chances to be of a crowd, by how steady they are and by the crowd's share of their cohorts.

    A cohort's share is told by its other voters; the crowd's share of all stays.
    """
    place, cohort = places_of(voters, cohorts)
    size = np.bincount(cohort, minlength=len(cohorts))[cohort]
    share = steadiness.share
    ratios = steadiness.ratios
    base = share / (1 - share)
    more = np.zeros(len(cohort))
    chances = np.zeros(len(voters))
    for _ in range(_ROUNDS):
        odds = base * np.exp(np.bincount(place, more, len(voters)))
        prior = odds / (1 + odds)
        honest = (1 - prior) * (1 - steadiness.honest + steadiness.honest * ratios)
        chances = prior * ratios / (prior * ratios + honest)
        others = np.bincount(cohort, chances[place], len(cohorts))[cohort] - chances[place]
        of_cohort = (others + _COHORT * share) / (size - 1 + _COHORT)
        more = np.log(of_cohort / (1 - of_cohort) * (1 - share) / share)
        base *= share * len(voters) / chances.sum()
    most = np.full(len(voters), -1)
    order = np.argsort(more, kind="stable")
    order = order[more[order] > 0]
    most[place[order]] = cohort[order]
    return Chances(chances, most)


def places_of(voters: Codes, cohorts: Sequence[Cohort]) -> tuple[Codes, Codes]:
    """Return, for each voter in each cohort, the voter's place in sorted `voters` and the cohort's number."""
    member = np.concatenate([np.zeros(0, np.int64), *(cohort.voters for cohort in cohorts)])
    number = np.repeat(np.arange(len(cohorts)), [len(cohort.voters) for cohort in cohorts])
    place = np.searchsorted(voters, member).clip(max=len(voters) - 1)
    is_there = voters[place] == member
    return place[is_there], number[is_there]
