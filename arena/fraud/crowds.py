"""Crowds: voters who choose for or against one model as one, wherever they come from and however few votes each has.

Whoever spreads a crowd over networks and days leaves it one thing in common: the model it chooses. So all voters are
weighed together, model by model. Honest tastes for a model are normal, about as wide as those for other models, and a
few voters are steady lovers or haters of it, as many on either side: a model that divides people has no crowd. A crowd
makes one side larger. The evidence is the likelihood ratio of a fit with a crowd to one with even sides. What one
network alone does is no crowd: its guests may share a taste.

Of a crowd one can say how many it has, hardly ever who they are: a cookie of ten votes looks like an honest voter who
likes the model. Set aside are choices about the model alone, those of the likeliest voters, as many as the crowd made;
what is left has the share of wins that it would have without the crowd.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median_low
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.fraud.detectors import VoterChoices, win_counts
from arena.fraud.tastes import Fit, ModelVoters, even_fit, uneven_fit, voters_of, width_of
from arena.ratings.bradley_terry import bradley_terry
from arena.ratings.votes import Codes, Floats

CHANCE = 0.2
"""Upper bound on the chance that honest voters are taken for a crowd, were their tastes known."""
_ELSEWHERE = 0.5
"""Least part of the evidence that is left without the network that has most of a crowd."""
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

    def covers(self, choices: VoterChoices) -> NDArray[np.bool_]:
        """Returns the mask of the choices that are set aside."""
        has_model = (choices.a == self.model) | (choices.b == self.model)
        return has_model & np.isin(choices.voter, self.voters)


def crowds(
    choices: VoterChoices, models: int, networks: Sequence[Codes] = ()
) -> tuple[VotingCrowd, ...]:
    """Returns the crowds among all voters, the clearest first; `networks` are the voters of each network."""
    left = choices
    found: list[VotingCrowd] = []
    while len(found) < _MOST and len(left.a):
        crowd = _clearest(left, models, networks)
        if crowd is None:
            break
        found.append(crowd)
        left = left.take(~crowd.covers(left))
    return tuple(found)


def stands_out(choices: VoterChoices, models: int, model: int) -> bool:
    """Returns whether a spread crowd for or against a model is clear; of very many choices a sample tells."""
    voters = np.unique(choices.voter)
    some = np.random.default_rng(0).random(len(voters)) < _SAMPLE / len(choices.a)
    sample = choices.take(np.isin(choices.voter, voters[some]))
    if not len(sample.a):
        return False
    by_model = _voters_by_model(sample, models)
    if model not in by_model:
        return False
    gain = next(one.gain for one in _candidates(by_model) if one.model == model)
    return bool(gain * len(choices.a) / len(sample.a) >= _enough(len(by_model)))


class _Candidate(NamedTuple):
    """A model that may have a crowd."""

    model: int
    others: float
    """Width of the tastes for other models."""
    fit: Fit
    gain: float
    """Natural log of the likelihood ratio."""


def _clearest(choices: VoterChoices, models: int, networks: Sequence[Codes]) -> VotingCrowd | None:
    """Returns the clearest crowd of any model, if there is one."""
    by_model = _voters_by_model(choices, models)
    if not by_model:
        return None
    enough = _enough(len(by_model))
    candidates = _candidates(by_model)
    for candidate in sorted(candidates, key=lambda one: -one.gain):
        if candidate.gain < enough:
            break
        voters = by_model[candidate.model]
        crowd = _crowd(voters, candidate)
        rest = voters.take(~np.isin(voters.voter, _foremost(crowd, networks)))
        if not len(rest.voter):
            continue
        if _candidate(candidate.model, rest, candidate.others).gain >= _ELSEWHERE * candidate.gain:
            return crowd
    return None


def _voters_by_model(choices: VoterChoices, models: int) -> dict[int, ModelVoters]:
    strengths = bradley_terry(win_counts(choices, models)).strengths
    there = np.unique(np.concatenate([choices.a, choices.b])).tolist()
    by_model = {model: voters_of(choices, model, strengths) for model in there}
    return {model: voters for model, voters in by_model.items() if len(voters.voter)}


def _candidates(by_model: Mapping[int, ModelVoters]) -> Iterator[_Candidate]:
    widths = {model: width_of(voters) for model, voters in by_model.items()}
    for model, voters in by_model.items():
        others = [width for other, width in widths.items() if other != model]
        yield _candidate(model, voters, median_low(others or [widths[model]]))


def _candidate(model: int, voters: ModelVoters, others: float) -> _Candidate:
    fit = uneven_fit(voters, others)
    return _Candidate(model, others, fit, fit.log - even_fit(voters, others).log)


def _enough(models: int) -> float:
    """Returns the gain that makes a crowd of any of so many models, for it or against it."""
    return float(np.log(2 * models / CHANCE))


def _crowd(voters: ModelVoters, candidate: _Candidate) -> VotingCrowd:
    mixture = candidate.fit.mixture
    is_for = mixture.lovers > mixture.haters
    more = max(mixture.lovers, mixture.haters)
    fewer = min(mixture.lovers, mixture.haters)
    # of the steady voters as many are honest as there are on the other side
    chances = candidate.fit.chances[voters.kind, 0 if is_for else 1] * (1 - fewer / more)
    order = np.argsort(-chances, kind="stable")
    choices = voters.choices[order]
    before = np.cumsum(choices) - choices / 2
    likeliest = order[before < chances @ voters.choices]
    return VotingCrowd(
        model=candidate.model,
        is_for=is_for,
        strength=float(candidate.gain / np.log(10)),
        size=float(chances.sum()),
        voters=voters.voter[likeliest],
        chances=chances[likeliest],
    )


def _foremost(crowd: VotingCrowd, networks: Sequence[Codes]) -> Codes:
    """Returns the voters of the network that has most of a crowd."""
    return max(
        networks,
        key=lambda network: crowd.chances[np.isin(crowd.voters, network)].sum(),
        default=np.zeros(0, np.int64),
    )
