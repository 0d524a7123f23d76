"""Tastes: voters' preferences for a model beyond everybody's rating, as a mixture that is fitted by EM.

Honest tastes for a model are normal; lovers and haters choose for or against the model whatever it meets. The
likelihood of each voter's choices about the model is known for every taste, for a lover and for a hater; tastes for its
opponents are integrated out. Voters with equal choices are one kind, so that a fit costs little for any number of
voters."""

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.fraud.detectors import VoterChoices
from arena.ratings.votes import Codes, Floats

_WIDTH = 0.5
"""The deviation of tastes for opponents, in log odds; the deviation of tastes for the model is fitted."""
_NARROWEST = 0.2
_WIDEST = 2.0
"""_NARROWEST, _WIDEST: the least and the largest deviation."""
_TASTES = np.linspace(-6.0, 6.0, 49)
"""Tastes for the model, in log odds."""
_OPPONENTS = np.linspace(-3.0, 3.0, 13)
"""Tastes for an opponent, in deviations."""
_STEADY = 0.98
"""The probability that a lover chooses the model, and a hater its opponent."""
_APART = 0.05
"""The step to which log odds of two models are rounded, so that voters can have equal choices."""
_LEAST = -400.0
"""The limit of a log likelihood relative to the largest: lower ones are clipped."""
_OTHERS = 32.0
"""The weight of the tastes for other models, as a number of voters."""
_EXPECTED = 0.01
_PRIOR = 100.0
"""_EXPECTED, _PRIOR: the expected share of lovers, and of haters, among honest voters, and its weight as a number of
voters."""
_CROWD = 0.2
"""The share of a crowd at the start of its fit."""
_SETTLED = 0.01
_STEPS = 200
"""_SETTLED, _STEPS: the gain in log likelihood that ends a fit, and its most steps."""
_FEWEST = 2
"""The fewest choices about a model that separate a voter's taste from a misfit of everybody's ratings."""
_AT_ONCE = 4096
"""The rows of likelihoods that are computed at once."""


class ModelVoters(NamedTuple):
    """The voters who met one model more than once."""

    voter: Codes
    choices: Codes
    """Numbers of choices about the model."""
    kind: Codes
    likelihoods: Floats
    """Likelihoods by taste, then for a lover and for a hater, with 1 as the largest: kinds x (tastes + 2)."""

    def take(self, mask: NDArray[np.bool_]) -> "ModelVoters":
        return self._replace(
            voter=self.voter[mask], choices=self.choices[mask], kind=self.kind[mask]
        )


class Mixture(NamedTuple):
    """The tastes of a model's voters: a normal distribution, and the shares of lovers and haters."""

    centre: float
    width: float
    lovers: float
    haters: float

    def weights(self) -> Floats:
        """Returns the share of each taste, then of lovers and of haters."""
        honest = np.exp(-(((_TASTES - self.centre) / self.width) ** 2) / 2)
        honest *= (1 - self.lovers - self.haters) / honest.sum()
        return np.append(honest + 1e-100, [self.lovers, self.haters])


class Fit(NamedTuple):
    """A mixture fitted to a model's voters."""

    log: float
    """The log likelihood, with the prior's."""
    mixture: Mixture
    chances: Floats
    """The chances that a voter of a kind is a lover, or a hater: kinds x 2."""


class _Sides(Enum):
    """A fit's assumption about lovers and haters."""

    NONE = "there are none, and nothing is expected of tastes"
    EVEN = "there are as many of both"
    UNEVEN = "there may be a crowd of one of them"


def voters_of(choices: VoterChoices, model: int, strengths: Floats) -> ModelVoters:
    """Returns the voters who met a model _FEWEST times or more; `strengths` are everybody's, by model."""
    met = choices.take((choices.a == model) | (choices.b == model))
    opponent = np.where(met.a == model, met.b, met.a)
    is_won = (met.a == model) == met.chose_a
    meetings, meeting = np.unique(met.voter * len(strengths) + opponent, return_inverse=True)
    won = np.bincount(meeting, is_won).astype(np.int64)
    lost = np.bincount(meeting, ~is_won).astype(np.int64)
    # The odds of all voters together are nearer to even than those of a single voter.
    odds = strengths[model] - strengths[meetings % len(strengths)]
    odds = np.round(odds * np.sqrt(1 + np.pi * _WIDTH**2 / 4) / _APART)
    voter, start = np.unique(meetings // len(strengths), return_index=True)
    rows, row = _alike(np.column_stack([odds.astype(np.int64), won, lost]))
    logs = np.vstack([_logs(part) for part in np.array_split(rows, 1 + len(rows) // _AT_ONCE)])
    # Voters with equal rows, in any order, have the same sum of random numbers.
    marks = np.random.default_rng(0).integers(0, 2**63, len(rows), dtype=np.uint64)
    _, first, kind = np.unique(
        np.add.reduceat(marks[row], start), return_index=True, return_inverse=True
    )
    end = np.append(start[1:], len(row))
    sums = np.array(
        [logs[row[start[number] : end[number]]].sum(axis=0) for number in first.tolist()]
    )
    voters = ModelVoters(
        voter=voter,
        choices=np.add.reduceat(won + lost, start),
        kind=kind,
        likelihoods=np.exp((sums - sums.max(axis=1, keepdims=True)).clip(_LEAST)),
    )
    return voters.take(voters.choices >= _FEWEST)


def _alike(rows: Codes) -> tuple[Codes, Codes]:
    """Returns the distinct rows, and the place of each row among them."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    return distinct, place.ravel()


def _logs(rows: Codes) -> Floats:
    """Returns the log likelihood of choices about a model and one opponent: rows x (tastes + 2)."""
    odds, won, lost = rows.T
    of_taste = (_APART * odds[:, None] + _TASTES)[:, :, None] - _WIDTH * _OPPONENTS
    logs = -lost[:, None, None] * of_taste
    logs -= (won + lost)[:, None, None] * np.logaddexp(0, -of_taste)
    weights = np.exp(-(_OPPONENTS**2) / 2)
    largest = logs.max(axis=2)
    honest = largest + np.log(np.exp(logs - largest[:, :, None]) @ (weights / weights.sum()))
    lover = won * np.log(_STEADY) + lost * np.log(1 - _STEADY)
    hater = lost * np.log(_STEADY) + won * np.log(1 - _STEADY)
    return np.column_stack([honest, lover, hater])


def width_of(voters: ModelVoters) -> float:
    """Returns the deviation of the tastes for a model, including those of lovers and haters."""
    return _fit(voters, _Sides.NONE, Mixture(0.0, _WIDTH, 0.0, 0.0), _WIDTH).mixture.width


def even_fit(voters: ModelVoters, others: float) -> Fit:
    """Fits as many lovers as haters; `others` is the width of tastes for other models."""
    return _fit(voters, _Sides.EVEN, Mixture(0.0, others, _EXPECTED, _EXPECTED), others)


def uneven_fit(voters: ModelVoters, others: float) -> Fit:
    """Fits a crowd of lovers, or of haters; returns the better fit."""
    of_lovers = _fit(voters, _Sides.UNEVEN, Mixture(0.0, others, _CROWD, _EXPECTED), others)
    of_haters = _fit(voters, _Sides.UNEVEN, Mixture(0.0, others, _EXPECTED, _CROWD), others)
    return of_lovers if of_lovers.log > of_haters.log else of_haters


def _fit(voters: ModelVoters, sides: _Sides, begin: Mixture, others: float) -> Fit:
    number = np.bincount(voters.kind, minlength=len(voters.likelihoods))
    mixture = begin
    log = -np.inf
    for _ in range(_STEPS):
        before = log
        weights = mixture.weights()
        whole = voters.likelihoods @ weights
        log = float(number @ np.log(whole)) + _expected(mixture, sides, others)
        if log - before < _SETTLED:
            break
        expected = (number / whole) @ voters.likelihoods * weights
        mixture = _next(expected, sides, others)
    return Fit(log, mixture, voters.likelihoods[:, -2:] * weights[-2:] / whole[:, None])


def _expected(mixture: Mixture, sides: _Sides, others: float) -> float:
    """Returns the prior's log likelihood: tastes as wide as for other models, few lovers and haters."""
    if sides is _Sides.NONE:
        return 0.0
    narrower = others / mixture.width
    fewer = min(mixture.lovers, mixture.haters)
    of_width = np.log(narrower) - narrower**2 / 2
    return float(_OTHERS * of_width + _PRIOR * (_EXPECTED * np.log(fewer) - fewer))


def _next(expected: Floats, sides: _Sides, others: float) -> Mixture:
    """Returns the likeliest mixture for the expected numbers of voters by taste, of lovers and of haters."""
    honest = expected[:-2]
    steady = expected[-2:]
    voters = expected.sum()
    weight = 0.0 if sides is _Sides.NONE else _OTHERS
    centre = honest @ _TASTES / honest.sum()
    squares = honest @ (_TASTES - centre) ** 2 + weight * others**2
    width = np.sqrt(squares / (honest.sum() + weight)).clip(_NARROWEST, _WIDEST)
    if sides is _Sides.EVEN:
        share = (steady.sum() + 2 * _EXPECTED * _PRIOR) / (2 * (voters + _PRIOR))
        shares = np.array([share, share])
    else:
        fewer = (steady.min() + _EXPECTED * _PRIOR) / (voters + _PRIOR)
        shares = np.maximum(steady / voters, fewer if sides is _Sides.UNEVEN else 0.0)
    return Mixture(float(centre), float(width), float(shares[0]), float(shares[1]))
