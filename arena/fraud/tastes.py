"""Tastes: how far voters like a model more than others do, and the fit of all voters' tastes for it.

Of each voter's choices about a model their likelihood is known for every taste for it, and for a lover and a hater of
it, who choose for or against it whatever it meets. Tastes for its opponents are integrated out. Voters with alike
choices are weighed as one kind, so that a fit costs little however many voters there are.
"""

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.fraud.detectors import VoterChoices
from arena.ratings.votes import Codes, Floats

WIDTH = 0.5
"""Deviation of tastes, in log odds, to begin with."""
_NARROWEST = 0.2
_WIDEST = 2.0
"""Least and largest deviation."""
_TASTES = np.linspace(-6.0, 6.0, 49)
"""Tastes for the model, in log odds."""
_OPPONENTS = np.linspace(-3.0, 3.0, 13)
"""Tastes for an opponent, in deviations."""
_STEADY = 0.98
"""Probability with which lovers choose the model, and haters its opponent."""
_APART = 0.05
"""Log odds to which those of two models are rounded, so that choices are alike."""
_LEAST = -400.0
"""Natural log of the least likelihood beside the largest: nothing more is believed."""
_OTHERS = 8.0
"""Voters that the tastes for other models count for, beside those who met this model."""
_EXPECTED = 0.01
_SEEN = 100.0
"""Share of lovers, and of haters, that is expected among honest voters, and the voters that this counts for."""
_CROWD = 0.2
"""Share of a crowd from which its fit begins."""
_SETTLED = 0.01
_STEPS = 100
"""The gain in log likelihood that ends a fit, and its most rounds."""
_AT_ONCE = 4096
"""Kinds whose likelihoods are computed at once."""


class Cells(NamedTuple):
    """Numbers of choices by voter, model and opponent, in this order; each choice is in two cells."""

    voter: Codes
    model: Codes
    opponent: Codes
    won: Codes
    lost: Codes

    def of(self, model: int) -> "Cells":
        mine = self.model == model
        return Cells(*(column[mine] for column in self))


class Meetings(NamedTuple):
    """Voters and the models they met, in the order of the cells."""

    voter: Codes
    model: Codes
    choices: Codes
    """Numbers of choices."""
    kind: Codes
    likelihoods: Floats
    """By taste, then for a lover and for a hater, the largest 1: kinds x (tastes + 2)."""

    def take(self, mask: NDArray[np.bool_]) -> "Meetings":
        return self._replace(
            voter=self.voter[mask],
            model=self.model[mask],
            choices=self.choices[mask],
            kind=self.kind[mask],
        )


class ModelVoters(NamedTuple):
    """The voters who met one model."""

    kinds: Codes
    number: Floats
    """Voters of each kind."""
    likelihoods: Floats


class Population(NamedTuple):
    """The tastes of a model's voters: a normal distribution, lovers and haters."""

    centre: float
    width: float
    lovers: float
    haters: float


class Fit(NamedTuple):
    """A fit of a model's voters."""

    log: float
    """Log likelihood, with what is expected."""
    population: Population
    chances: Floats
    """That one of a kind is a lover, or a hater: kinds x 2."""


class _Sides(Enum):
    """What a fit holds of lovers and haters."""

    NONE = "there are none, and nothing is expected of tastes"
    EVEN = "there are as many of both"
    UNEVEN = "there may be a crowd of one of them"


def cells_of(choices: VoterChoices, models: int) -> Cells:
    won = np.where(choices.chose_a, choices.a, choices.b).astype(np.int64)
    lost = np.where(choices.chose_a, choices.b, choices.a).astype(np.int64)
    of_winner = (choices.voter * models + won) * models + lost
    of_loser = (choices.voter * models + lost) * models + won
    keys, place = np.unique(np.concatenate([of_winner, of_loser]), return_inverse=True)
    return Cells(
        voter=keys // models // models,
        model=keys // models % models,
        opponent=keys % models,
        won=np.bincount(place[: len(won)], minlength=len(keys)),
        lost=np.bincount(place[len(won) :], minlength=len(keys)),
    )


def meetings_of(cells: Cells, strengths: Floats, width: float) -> Meetings:
    """Return the meetings in some cells; `width` is the deviation of tastes for opponents."""
    # the odds of all voters are nearer to even than those of one
    apart = (strengths[cells.model] - strengths[cells.opponent]) * np.sqrt(1 + np.pi * width**2 / 4)
    apart = np.round(apart / _APART).astype(np.int64)
    keys = (apart * (1 + cells.won.max()) + cells.won) * (1 + cells.lost.max()) + cells.lost
    _, one, alike = np.unique(keys, return_index=True, return_inverse=True)
    logs = np.vstack(
        [
            _logs(_APART * apart[part], cells.won[part], cells.lost[part], width)
            for part in _parts(one)
        ]
    )
    is_first = np.ones(len(keys), bool)
    is_first[1:] = (np.diff(cells.voter) != 0) | (np.diff(cells.model) != 0)
    start = np.flatnonzero(is_first)
    end = np.append(start[1:], len(keys))
    # meetings with alike cells, in whatever order, have the same sum of random numbers
    marks = np.random.default_rng(0).integers(0, 2**63, len(one), dtype=np.uint64)
    sums = np.add.reduceat(marks[alike], start)
    _, example, kind = np.unique(sums, return_index=True, return_inverse=True)
    likelihoods = [_likelihoods(logs, alike, start[part], end[part]) for part in _parts(example)]
    return Meetings(
        voter=cells.voter[start],
        model=cells.model[start],
        choices=np.add.reduceat(cells.won + cells.lost, start),
        kind=kind,
        likelihoods=np.vstack(likelihoods),
    )


def _parts(places: Codes) -> list[Codes]:
    return np.array_split(places, 1 + len(places) // _AT_ONCE)


def _logs(apart: Floats, won: Codes, lost: Codes, width: float) -> Floats:
    """Return the log likelihood of choices about a model and one opponent: rows x (tastes + 2)."""
    odds = (apart[:, None] + _TASTES)[:, :, None] - width * _OPPONENTS
    logs = lost[:, None, None] * -odds - (won + lost)[:, None, None] * np.logaddexp(0, -odds)
    weights = np.exp(-(_OPPONENTS**2) / 2)
    largest = logs.max(axis=2)
    honest = largest + np.log(np.exp(logs - largest[:, :, None]) @ (weights / weights.sum()))
    lover = won * np.log(_STEADY) + lost * np.log(1 - _STEADY)
    hater = lost * np.log(_STEADY) + won * np.log(1 - _STEADY)
    return np.column_stack([honest, lover, hater])


def _likelihoods(logs: Floats, alike: Codes, start: Codes, end: Codes) -> Floats:
    """Return the likelihoods of the meetings whose cells begin and end there."""
    length = end - start
    first = np.cumsum(length) - length
    cells = np.arange(length.sum()) + np.repeat(start - first, length)
    sums = np.add.reduceat(logs[alike[cells]], first)
    return np.exp((sums - sums.max(axis=1, keepdims=True)).clip(_LEAST))


def voters_of(meetings: Meetings, model: int) -> ModelVoters:
    number = np.bincount(meetings.kind[meetings.model == model])
    kinds = np.flatnonzero(number)
    return ModelVoters(kinds, number[kinds].astype(np.float64), meetings.likelihoods[kinds])


def width_of(voters: ModelVoters) -> float:
    """Return the deviation of the tastes for a model, those of lovers and haters included."""
    return _fit(voters, _Sides.NONE, Population(0.0, WIDTH, 0.0, 0.0), WIDTH).population.width


def even_fit(voters: ModelVoters, others: float) -> Fit:
    """Fit the voters of a model with as many lovers as haters; `others` is the width of tastes for other models."""
    return _fit(voters, _Sides.EVEN, Population(0.0, others, _EXPECTED, _EXPECTED), others)


def uneven_fit(voters: ModelVoters, others: float) -> Fit:
    """Fit the voters of a model with a crowd of lovers, or of haters; return the better fit."""
    begin = Population(0.0, others, _CROWD, _EXPECTED)
    of_lovers = _fit(voters, _Sides.UNEVEN, begin, others)
    begin = Population(0.0, others, _EXPECTED, _CROWD)
    of_haters = _fit(voters, _Sides.UNEVEN, begin, others)
    return of_lovers if of_lovers.log > of_haters.log else of_haters


def _fit(voters: ModelVoters, sides: _Sides, begin: Population, others: float) -> Fit:
    """Fit by EM: two steps, then a longer one in their direction if it candidates higher (SQUAREM, Varadhan 2008)."""
    fit, first = _step(voters, sides, begin, others)
    point = begin
    for _ in range(_STEPS):
        before = fit.log
        fit, second = _step(voters, sides, first, others)
        if fit.log - before < _SETTLED:
            break
        farther, third = _step(voters, sides, _extrapolated(point, first, second, sides), others)
        if farther.log > fit.log:
            point = farther.population
            fit = farther
            first = third
        else:
            point = second
            fit, first = _step(voters, sides, second, others)
    return fit


def _extrapolated(
    start: Population, first: Population, second: Population, sides: _Sides
) -> Population:
    """Return where a straight way from two steps candidates."""
    step = np.subtract(first, start)
    bend = np.subtract(second, first) - step
    length = np.linalg.norm(step) / max(float(np.linalg.norm(bend)), 1e-9)
    centre, width, lovers, haters = np.asarray(start) + 2 * length * step + length**2 * bend
    least = 0.0 if sides is _Sides.NONE else 1e-6
    shares = np.clip([lovers, haters], least, 0.45 if least else 0.0)
    if sides is _Sides.EVEN:
        shares[:] = shares.mean()
    return Population(
        float(np.clip(centre, _TASTES[0], _TASTES[-1])),
        float(np.clip(width, _NARROWEST, _WIDEST)),
        *shares.tolist(),
    )


def weights_of(population: Population) -> Floats:
    """Return the share of each taste, then of lovers and of haters."""
    shares = np.array([population.lovers, population.haters])
    honest = np.exp(-(((_TASTES - population.centre) / population.width) ** 2) / 2)
    honest = (1 - shares.sum()) * honest / honest.sum() + 1e-100
    return np.append(honest, shares)


def _step(
    voters: ModelVoters, sides: _Sides, population: Population, others: float
) -> tuple[Fit, Population]:
    """Return the fit of a population, and the next by EM."""
    weights = weights_of(population)
    shares = weights[-2:]
    whole = voters.likelihoods @ weights
    numbers = (voters.number / whole) @ voters.likelihoods * weights
    log = float(voters.number @ np.log(whole))
    chances = voters.likelihoods[:, -2:] * shares / whole[:, None]
    if sides is _Sides.NONE:
        return Fit(log, population, chances), Population(*_normal(numbers, others, 0.0), 0.0, 0.0)
    narrower = others / population.width
    log += _OTHERS * (np.log(narrower) - narrower**2 / 2)
    log += _SEEN * (_EXPECTED * np.log(shares.min()) - shares.min())
    lovers, haters = _steady(numbers, sides)
    return Fit(log, population, chances), Population(
        *_normal(numbers, others, _OTHERS), lovers, haters
    )


def _normal(numbers: Floats, others: float, weight: float) -> tuple[float, float]:
    """Return centre and width of tastes, of which `weight` more are as wide as `others`."""
    honest = numbers[: len(_TASTES)]
    centre = honest @ _TASTES / honest.sum()
    squares = honest @ (_TASTES - centre) ** 2 + weight * others**2
    width = np.sqrt(squares / (honest.sum() + weight))
    return float(centre), float(width.clip(_NARROWEST, _WIDEST))


def _steady(numbers: Floats, sides: _Sides) -> list[float]:
    """Return the shares of lovers and haters; of the fewer, or of both if they are even, _EXPECTED is expected."""
    steady = numbers[len(_TASTES) :]
    voters = numbers.sum()
    if sides is _Sides.EVEN:
        return [float((steady.sum() + _EXPECTED * _SEEN) / (2 * voters + _SEEN))] * 2
    fewer = (steady.min() + _EXPECTED * _SEEN) / (voters + _SEEN)
    return np.maximum(steady / voters, fewer).tolist()
