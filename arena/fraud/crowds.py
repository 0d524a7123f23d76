"""Crowds: voters who choose for or against one model as one, wherever they come from and however few votes each has.

Whoever spreads a crowd over networks and days leaves it one thing in common: the model it chooses. So all voters are
weighed together, model by model. Honest tastes for a model are normal, about as wide as those for other models, and a
few voters are steady lovers or haters of it, as many on either side: a model that divides people has no crowd. A crowd
makes one side larger. The evidence is the likelihood ratio of a fit with a crowd to one with even sides. How wide
tastes are is told by a median over models, so that a crowd does not hide in the tastes that it is measured by, however
large it is. What one network alone does is no crowd: its guests may share a taste.

Of a crowd one can say how many it has, hardly ever who they are: a cookie of ten votes looks like an honest voter who
likes the model. Set aside are choices about the model alone, those of the likeliest voters, as many as the crowd made;
what is left has the share of wins that it would have without the crowd.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.fraud.cohorts import Cohort
from arena.fraud.detectors import Suspicion, VoterChoices, win_counts
from arena.fraud.gathered import Steadiness, chances_by_cohort, gathered_gain, places_of
from arena.fraud.tastes import (
    WIDTH,
    Cells,
    Meetings,
    cells_of,
    even_fit,
    meetings_of,
    uneven_fit,
    voters_of,
    width_of,
)
from arena.ratings.bradley_terry import bradley_terry
from arena.ratings.votes import Codes, Floats

CHANCE = 0.2
"""Upper bound on the chance that honest voters are taken for a crowd, were their tastes known."""
_REFINED = 3
"""Times that strengths without a crowd, and the crowd by these strengths, are fitted."""
_LARGEST = 1e9
"""Likelihood ratio beyond which nothing more is believed."""
_SAMPLE = 50_000
"""Choices that tell whether a crowd would be clear."""
_MOST = 20
"""Most crowds."""


class VotingCrowd(NamedTuple):
    """Voters who choose for or against a model as one."""

    model: int
    is_for: bool
    strength: float
    """The likelihood ratio's decimal logarithm."""
    size: float
    """Expected number of voters."""
    voters: Codes
    """Those whose choices about the model are set aside, the likeliest first."""
    chances: Floats
    """Their chances to be of the crowd."""
    cohorts: Codes
    """The cohort of each with most of the crowd, by place; -1: none has more than its share."""

    def covers(self, choices: VoterChoices) -> NDArray[np.bool_]:
        """Return the mask of the choices that are set aside."""
        has_model = (choices.a == self.model) | (choices.b == self.model)
        return has_model & np.isin(choices.voter, self.voters)


class _Candidate(NamedTuple):
    """A model that may have a crowd."""

    model: int
    gain: float
    """Natural log of the likelihood ratio."""
    others: float
    """Width of the tastes for other models."""


def crowds(
    choices: VoterChoices, models: int, cohorts: Sequence[Cohort] = ()
) -> tuple[VotingCrowd, ...]:
    """Return the crowds among all voters, the clearest first; `models` is the number of model codes.

    Cohorts tell who is of a crowd: its cookies may come from few networks, or be of one day.
    """
    left = choices
    found: list[VotingCrowd] = []
    width = WIDTH
    while len(found) < _MOST and len(left.a):
        cells = cells_of(left, models)
        wins = win_counts(left, models)
        strengths = bradley_terry(wins).strengths
        if not found:
            width = _median(_widths(meetings_of(cells, strengths, width)))
        candidate = _clearest(meetings_of(cells, strengths, width), cohorts)
        if candidate is None:
            break
        crowd = _crowd(cells, wins, width, candidate, cohorts)
        found.append(crowd)
        left = left.take(~crowd.covers(left))
    return tuple(found)


def stands_out(choices: VoterChoices, models: int, model: int) -> bool:
    """Return whether a spread crowd for or against a model is clear; of very many choices a sample tells."""
    voters = np.unique(choices.voter)
    some = np.random.default_rng(0).random(len(voters)) < _SAMPLE / len(choices.a)
    sample = choices.take(np.isin(choices.voter, voters[some]))
    if not len(sample.a):
        return False
    cells = cells_of(sample, models)
    strengths = bradley_terry(win_counts(sample, models)).strengths
    width = _median(_widths(meetings_of(cells, strengths, WIDTH)))
    meetings = meetings_of(cells, strengths, width)
    widths = _widths(meetings)
    gain = _candidate(meetings, widths, model, ()).gain
    there = int((~np.isnan(widths)).sum())
    return gain * len(choices.a) / len(sample.a) >= _enough(there)


def _clearest(meetings: Meetings, cohorts: Sequence[Cohort]) -> _Candidate | None:
    """Return the model that most clearly has a crowd, if any has."""
    widths = _widths(meetings)
    there = np.flatnonzero(~np.isnan(widths)).tolist()
    candidates = [_candidate(meetings, widths, model, cohorts) for model in there]
    enough = _enough(len(there))
    for candidate in sorted(candidates, key=lambda one: -one.gain):
        if candidate.gain < enough:
            break
        foremost = _foremost(meetings, candidate, cohorts)
        rest = meetings.take(~np.isin(meetings.voter, foremost))
        if _candidate(rest, widths, candidate.model, cohorts).gain >= enough:
            return candidate
    return None


def _candidate(
    meetings: Meetings, widths: Floats, model: int, cohorts: Sequence[Cohort]
) -> _Candidate:
    """Return how clear a model's crowd is, spread evenly or gathered in cohorts, either as likely as the other."""
    others = _others(widths, model)
    met = meetings.take(meetings.model == model)
    voters = voters_of(met, model)
    fit = uneven_fit(voters, others)
    spread = fit.log - even_fit(voters, others).log
    gathered = gathered_gain(met, voters, fit.population, cohorts)
    return _Candidate(model, float(np.logaddexp(spread, gathered) - np.log(2)), others)


def _enough(models: int) -> float:
    """Return the gain that makes a crowd of any of so many models, for it or against it."""
    return float(np.log(2 * models / CHANCE))


def _widths(meetings: Meetings) -> Floats:
    """Return the width of the tastes for each model, NaN for one that nobody met."""
    widths = np.full(int(meetings.model.max()) + 1, np.nan)
    for model in np.unique(meetings.model).tolist():
        widths[model] = width_of(voters_of(meetings, model))
    return widths


def _others(widths: Floats, model: int) -> float:
    """Return the width of the tastes for other models than one, or for it where there is no other."""
    others = np.delete(widths, model)
    return float(widths[model]) if np.isnan(others).all() else _median(others)


def _median(values: Floats) -> float:
    """Return the median of the numbers among the values, of an even number the smaller."""
    numbers = np.sort(values[~np.isnan(values)])
    return float(numbers[(len(numbers) - 1) // 2])


def _foremost(meetings: Meetings, candidate: _Candidate, cohorts: Sequence[Cohort]) -> Codes:
    """Return the guests of the network that has most of a crowd."""
    networks = [cohort for cohort in cohorts if cohort.reason is Suspicion.NETWORK]
    if not networks:
        return np.zeros(0, np.int64)
    met = meetings.take(meetings.model == candidate.model)
    steadiness = _steadiness(met, candidate)
    ratios = steadiness.share * steadiness.ratios
    place, network = places_of(met.voter, networks)
    number = np.bincount(network, (ratios / (1 + ratios))[place], len(networks))
    return networks[int(number.argmax())].voters


def _steadiness(met: Meetings, candidate: _Candidate) -> Steadiness:
    """Return how steady the voters are who met a model."""
    voters = voters_of(met, candidate.model)
    fit = uneven_fit(voters, candidate.others)
    shares = np.array([fit.population.lovers, fit.population.haters])
    side = int(shares.argmax())
    ratios = np.zeros(len(met.likelihoods))
    chances = fit.chances[:, side]
    odds = chances / np.maximum(1 - chances, 1 / _LARGEST)
    ratios[voters.kinds] = odds * (1 - shares[side]) / shares[side]
    return Steadiness(side == 0, shares[side] - shares.min(), shares.min(), ratios[met.kind])


def _crowd(
    cells: Cells, wins: Floats, width: float, candidate: _Candidate, cohorts: Sequence[Cohort]
) -> VotingCrowd:
    """Return a model's crowd, by strengths that are fitted without it."""
    model = candidate.model
    mine = cells.of(model)
    of_voter = np.unique(mine.voter, return_inverse=True)[1]
    chances = np.zeros(int(of_voter.max()) + 1)
    for _ in range(_REFINED):
        weight = chances[of_voter]
        rest = wins.copy()
        rest[model] -= np.bincount(mine.opponent, weight * mine.won, len(wins))
        rest[:, model] -= np.bincount(mine.opponent, weight * mine.lost, len(wins))
        met = meetings_of(mine, bradley_terry(rest.clip(0)).strengths, width)
        steadiness = _steadiness(met, candidate)
        chances, of_cohorts = chances_by_cohort(steadiness, met.voter, cohorts)
    order = np.argsort(-chances, kind="stable")
    choices = met.choices[order]
    before = np.cumsum(choices) - choices / 2
    likeliest = order[before < chances @ met.choices]
    return VotingCrowd(
        model=model,
        is_for=steadiness.is_for,
        strength=float(candidate.gain / np.log(10)),
        size=float(chances.sum()),
        voters=met.voter[likeliest],
        chances=chances[likeliest],
        cohorts=of_cohorts[likeliest],
    )
