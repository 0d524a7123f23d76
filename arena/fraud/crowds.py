"""Crowds: voters who choose together for or against one model, from any network and with few votes each.

A crowd spread over networks and days still has one thing in common: the model that it chooses. So all voters are tested
together, model by model. Honest tastes for a model are normal, about as wide as those for other models, and a few
voters are steady lovers or haters of it, equally many on both sides: a model that divides people has no crowd. A crowd
makes one side larger. The evidence is the likelihood ratio of a fit with a crowd to a fit with even sides. Voters of a
single network are no crowd, since its guests may share a taste.

The size of a crowd can be estimated, but hardly its members: a cookie of ten votes looks like an honest voter who likes
the model. So only choices about the model are set aside: those of the likeliest voters, as many as the crowd made. The
other choices have the share of wins that they would have without the crowd."""

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
"""The upper bound on the chance to take honest voters for a crowd, if their tastes were known."""
_ELSEWHERE = 0.5
"""The least share of the evidence that has to remain without the network with most of a crowd."""
_SAMPLE = 50_000
"""The choices in a sample that shows whether a crowd would be clear."""
_MOST = 20
"""The most crowds."""


class VotingCrowd(NamedTuple):
    """Voters who choose together for or against a model."""

    model: int
    is_for: bool
    strength: float
    """The likelihood ratio's decimal logarithm."""
    size: float
    """Expected number of voters."""
    voters: Codes
    """The voters with choices about the model that are set aside, the likeliest first."""
    chances: Floats
    """Their chances to belong to the crowd."""

    def covers(self, choices: VoterChoices) -> NDArray[np.bool_]:
        """Returns the mask of the choices that are set aside."""
        has_model = (choices.a == self.model) | (choices.b == self.model)
        return has_model & np.isin(choices.voter, self.voters)


def crowds(
    choices: VoterChoices, models: int, networks: Sequence[Codes] = ()
) -> tuple[VotingCrowd, ...]:
    """Returns the crowds among all voters, the clearest first; `networks` are the voters of each network."""
    left = choices
    clear_crowds: list[VotingCrowd] = []
    while len(clear_crowds) < _MOST and len(left.a):
        crowd = _clearest(left, models, networks)
        if crowd is None:
            break
        clear_crowds.append(crowd)
        left = left.take(~crowd.covers(left))
    return tuple(clear_crowds)


def stands_out(choices: VoterChoices, models: int, model: int) -> bool:
    """Returns whether a spread crowd for or against a model is clear, from a sample if there are many choices."""
    voters = np.unique(choices.voter)
    some = np.random.default_rng(0).random(len(voters)) < _SAMPLE / len(choices.a)
    sample = choices.take(np.isin(choices.voter, voters[some]))
    if not len(sample.a):
        return False
    by_model = _voters_by_model(sample, models)
    if model not in by_model:
        return False
    gains = {candidate.model: candidate.gain for candidate in _candidates(by_model)}
    return bool(gains[model] * len(choices.a) / len(sample.a) >= _enough(len(by_model)))


class _Candidate(NamedTuple):
    """A model that may have a crowd."""

    model: int
    usual_width: float
    """The width of tastes for other models."""
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
    for candidate in sorted(candidates, key=lambda candidate: -candidate.gain):
        if candidate.gain < enough:
            break
        voters = by_model[candidate.model]
        crowd = _crowd(voters, candidate)
        rest = voters.take(~np.isin(voters.voter, _foremost(crowd, networks)))
        if not len(rest.voter):
            continue
        if (
            _candidate(candidate.model, rest, candidate.usual_width).gain
            >= _ELSEWHERE * candidate.gain
        ):
            return crowd
    return None


def _voters_by_model(choices: VoterChoices, models: int) -> dict[int, ModelVoters]:
    strengths = bradley_terry(win_counts(choices, models)).strengths
    met_models = np.unique(np.concatenate([choices.a, choices.b])).tolist()
    by_model = {model: voters_of(choices, model, strengths) for model in met_models}
    return {model: voters for model, voters in by_model.items() if len(voters.voter)}


def _candidates(by_model: Mapping[int, ModelVoters]) -> Iterator[_Candidate]:
    widths = {model: width_of(voters) for model, voters in by_model.items()}
    for model, voters in by_model.items():
        others = [width for other, width in widths.items() if other != model]
        yield _candidate(model, voters, median_low(others or [widths[model]]))


def _candidate(model: int, voters: ModelVoters, usual_width: float) -> _Candidate:
    fit = uneven_fit(voters, usual_width)
    return _Candidate(
        model, usual_width, fit, fit.log_likelihood - even_fit(voters, usual_width).log_likelihood
    )


def _enough(models: int) -> float:
    """Returns the gain that proves a crowd for or against any of this many models."""
    return float(np.log(2 * models / CHANCE))


def _crowd(voters: ModelVoters, candidate: _Candidate) -> VotingCrowd:
    mixture = candidate.fit.mixture
    is_for = mixture.lovers > mixture.haters
    more = max(mixture.lovers, mixture.haters)
    fewer = min(mixture.lovers, mixture.haters)
    # As many of the steady voters are honest as there are on the other side.
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
