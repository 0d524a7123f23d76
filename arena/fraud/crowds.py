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

FALSE_ALARM_CHANCE = 0.2
"""The upper bound on the chance that honest voters count as a crowd, if their tastes were known."""
_LEAST_ELSEWHERE = 0.5
"""The least share of the evidence that has to remain without the network with most of a crowd."""
_SAMPLE_CHOICES = 50_000
"""The choices in a sample that shows whether a crowd would be clear."""
_MOST_CROWDS = 20


class VotingCrowd(NamedTuple):
    """Voters who choose together for or against a model."""

    model: int
    is_for: bool
    """Whether they choose for the model; otherwise against it."""
    strength: float
    """The likelihood ratio's decimal logarithm."""
    size: float
    """Expected number of voters."""
    voters: Codes
    """The voters with choices about the model that are set aside, the likeliest first."""
    chances: Floats
    """Their chances to belong to the crowd."""

    def mask(self, choices: VoterChoices) -> NDArray[np.bool_]:
        """Returns the mask of the choices that are set aside."""
        has_model = (choices.a == self.model) | (choices.b == self.model)
        return has_model & np.isin(choices.voter, self.voters)


def crowds(
    choices: VoterChoices, models: int, networks: Sequence[Codes] = ()
) -> tuple[VotingCrowd, ...]:
    """Returns the crowds among all voters, the clearest first.

    `models` is the number of model codes; `networks` are the voters of each network.
    """
    remaining = choices
    clear_crowds: list[VotingCrowd] = []
    while len(clear_crowds) < _MOST_CROWDS and len(remaining.a):
        crowd = _clearest_crowd(remaining, models, networks)
        if crowd is None:
            break
        clear_crowds.append(crowd)
        remaining = remaining.take(~crowd.mask(remaining))
    return tuple(clear_crowds)


def stands_out(choices: VoterChoices, models: int, model: int) -> bool:
    """Returns whether a spread crowd for or against a model is clear, from a sample if there are many choices.

    `models` is the number of model codes, `model` is one of them.
    """
    voters = np.unique(choices.voter)
    # A sample has all choices of its voters; with few choices, it has all voters.
    sampled_share = _SAMPLE_CHOICES / len(choices.a)
    is_sampled = np.random.default_rng(0).random(len(voters)) < sampled_share
    sample = choices.take(np.isin(choices.voter, voters[is_sampled]))
    if not len(sample.a):
        return False
    by_model = _voters_by_model(sample, models)
    if model not in by_model:
        return False
    gains = {candidate.model: candidate.gain for candidate in _candidates(by_model)}
    # Evidence grows with the number of choices.
    whole_gain = gains[model] * len(choices.a) / len(sample.a)
    return bool(whole_gain >= _needed_gain(len(by_model)))


class _Candidate(NamedTuple):
    """A model that may have a crowd."""

    model: int
    usual_width: float
    """The width of tastes for other models."""
    fit: Fit
    gain: float
    """Natural log of the likelihood ratio."""


def _clearest_crowd(
    choices: VoterChoices, models: int, networks: Sequence[Codes]
) -> VotingCrowd | None:
    """Returns the clearest crowd of any model, if there is one."""
    by_model = _voters_by_model(choices, models)
    if not by_model:
        return None
    needed_gain = _needed_gain(len(by_model))
    candidates = _candidates(by_model)
    for candidate in sorted(candidates, key=lambda candidate: -candidate.gain):
        if candidate.gain < needed_gain:
            break
        voters = by_model[candidate.model]
        crowd = _crowd(voters, candidate)
        elsewhere = voters.take(~np.isin(voters.voter, _main_network(crowd, networks)))
        if not len(elsewhere.voter):
            continue
        gain_elsewhere = _candidate(candidate.model, elsewhere, candidate.usual_width).gain
        if gain_elsewhere >= _LEAST_ELSEWHERE * candidate.gain:
            return crowd
    return None


def _voters_by_model(choices: VoterChoices, models: int) -> dict[int, ModelVoters]:
    """Returns the voters of each model that has any."""
    strengths = bradley_terry(win_counts(choices, models)).strengths
    met_models = np.unique(np.concatenate([choices.a, choices.b])).tolist()
    by_model = {model: voters_of(choices, model, strengths) for model in met_models}
    return {model: voters for model, voters in by_model.items() if len(voters.voter)}


def _candidates(by_model: Mapping[int, ModelVoters]) -> Iterator[_Candidate]:
    """Yields every model with its evidence for a crowd."""
    widths = {model: width_of(voters) for model, voters in by_model.items()}
    for model, voters in by_model.items():
        other_widths = [width for other, width in widths.items() if other != model]
        usual_width = median_low(other_widths) if other_widths else widths[model]
        yield _candidate(model, voters, usual_width)


def _candidate(model: int, voters: ModelVoters, usual_width: float) -> _Candidate:
    with_crowd = uneven_fit(voters, usual_width)
    without_crowd = even_fit(voters, usual_width)
    gain = with_crowd.log_likelihood - without_crowd.log_likelihood
    return _Candidate(model, usual_width, with_crowd, gain)


def _needed_gain(models: int) -> float:
    """Returns the gain that proves a crowd for or against any of this many models."""
    # Without a crowd, a likelihood ratio exceeds a bound with a chance of at most 1 / bound. Each model has two sides.
    return float(np.log(2 * models / FALSE_ALARM_CHANCE))


def _crowd(voters: ModelVoters, candidate: _Candidate) -> VotingCrowd:
    """Returns the likeliest crowd of a candidate's voters."""
    mixture = candidate.fit.mixture
    is_for = mixture.lovers > mixture.haters
    more = max(mixture.lovers, mixture.haters)
    fewer = min(mixture.lovers, mixture.haters)
    side = 0 if is_for else 1  # The columns of the fit's chances are lovers and haters.
    # As many of the steady voters are honest as there are on the other side.
    crowd_share = 1 - fewer / more
    chances = candidate.fit.chances[voters.kind, side] * crowd_share
    order = np.argsort(-chances, kind="stable")
    choices = voters.choices[order]
    # The likeliest voters, until they have as many choices as the crowd is expected to have made.
    choices_to_middle = np.cumsum(choices) - choices / 2
    expected_choices = chances @ voters.choices
    likeliest = order[choices_to_middle < expected_choices]
    return VotingCrowd(
        model=candidate.model,
        is_for=is_for,
        strength=float(candidate.gain / np.log(10)),
        size=float(chances.sum()),
        voters=voters.voter[likeliest],
        chances=chances[likeliest],
    )


def _main_network(crowd: VotingCrowd, networks: Sequence[Codes]) -> Codes:
    """Returns the voters of the network that has most of a crowd; nobody without networks."""

    def expected_members(network: Codes) -> float:
        return float(crowd.chances[np.isin(crowd.voters, network)].sum())

    return max(networks, key=expected_members, default=np.zeros(0, np.int64))
