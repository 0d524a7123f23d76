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
_FAITHFUL = 0.98
"""The probability that a lover chooses the model, and a hater its opponent."""
_ODDS_STEP = 0.05
"""The step to which log odds of two models are rounded, so that voters can have equal choices."""
_LEAST_LOG = -400.0
"""The limit of a log likelihood relative to the largest: lower ones are clipped."""
_WIDTH_WEIGHT = 32.0
"""The weight of the usual width, which is that of tastes for other models, as a number of voters."""
_USUAL_SHARE = 0.01
_SHARE_WEIGHT = 100.0
"""_USUAL_SHARE, _SHARE_WEIGHT: the expected share of lovers, and of haters, among honest voters, and its weight, as a
number of voters."""
_CROWD_SHARE = 0.2
"""The share of a crowd at the start of its fit."""
_LEAST_GAIN = 0.01
_MOST_STEPS = 200
"""_LEAST_GAIN, _MOST_STEPS: the gain in log likelihood below which a fit ends, and its most steps."""
_FEWEST = 2
"""The fewest choices about a model that separate a voter's taste from a misfit of everybody's ratings."""
_AT_ONCE = 4096
"""The rows of likelihoods that are computed at once."""


class ModelVoters(NamedTuple):
    """The voters who met one model more than once."""

    voter: Codes
    choices: Codes
    """The number of each voter's choices about the model."""
    kind: Codes
    """Each voter's kind, a row of `likelihoods`; voters with equal choices are one kind."""
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
        # Far from the centre the shares round to 0; a voter who fits these alone would have the likelihood 0, which has
        # no logarithm.
        return np.append(honest + 1e-100, [self.lovers, self.haters])


class Fit(NamedTuple):
    """A mixture fitted to a model's voters."""

    log_likelihood: float
    """The log likelihood, with the prior's."""
    mixture: Mixture
    chances: Floats
    """The chances that a voter of a kind is a lover, or a hater: kinds x 2."""


class _Extremes(Enum):
    """A fit's assumption about lovers and haters, the extremes of taste."""

    NONE = "there are none, and nothing is expected of tastes"
    EVEN = "there are as many of both"
    UNEVEN = "there may be a crowd of one of them"


def voters_of(choices: VoterChoices, model: int, strengths: Floats) -> ModelVoters:
    """Returns the voters who met a model _FEWEST times or more; `strengths` are everybody's, by model."""
    met = choices.take((choices.a == model) | (choices.b == model))
    opponent = np.where(met.a == model, met.b, met.a)
    is_won = (met.a == model) == met.chose_a
    # A meeting is a voter with an opponent. Sorted by their codes, the meetings of a voter follow one another.
    meetings, meeting = np.unique(met.voter * len(strengths) + opponent, return_inverse=True)
    won = np.bincount(meeting, is_won).astype(np.int64)
    lost = np.bincount(meeting, ~is_won).astype(np.int64)
    # The odds of all voters together are nearer to even than those of a single voter, by about
    # sqrt(1 + pi / 8 * variance) (MacKay 1992). The variance is that of tastes for two models: 2 * _WIDTH**2.
    odds = strengths[model] - strengths[meetings % len(strengths)]
    odds = np.round(odds * np.sqrt(1 + np.pi * _WIDTH**2 / 4) / _ODDS_STEP)
    voter, start = np.unique(meetings // len(strengths), return_index=True)
    # A meeting's score: its rounded odds, and the choices won and lost.
    scores, score_place = _distinct_rows(np.column_stack([odds.astype(np.int64), won, lost]))
    parts = np.array_split(scores, 1 + len(scores) // _AT_ONCE)
    logs = np.vstack([_log_likelihoods(part) for part in parts])
    kind, example = _kinds(score_place, start)
    end = np.append(start[1:], len(score_place))
    scores_of_kinds = [score_place[start[place] : end[place]] for place in example.tolist()]
    sums = np.array([logs[kind_scores].sum(axis=0) for kind_scores in scores_of_kinds])
    voters = ModelVoters(
        voter=voter,
        choices=np.add.reduceat(won + lost, start),
        kind=kind,
        likelihoods=np.exp((sums - sums.max(axis=1, keepdims=True)).clip(_LEAST_LOG)),
    )
    return voters.take(voters.choices >= _FEWEST)


def _kinds(score_place: Codes, start: Codes) -> tuple[Codes, Codes]:
    """Returns the kind of each voter, and the place of one voter of each kind.

    `score_place` is the place of each meeting's score, `start` that of each voter's first meeting. Voters with equal
    scores, in any order, are one kind. They have equal sums of `marks`, a random number for each score.
    """
    marks = np.random.default_rng(0).integers(
        0, 2**63, int(score_place.max(initial=-1)) + 1, dtype=np.uint64
    )
    sums = np.add.reduceat(marks[score_place], start)
    _, example, kind = np.unique(sums, return_index=True, return_inverse=True)
    return kind, example


def _distinct_rows(rows: Codes) -> tuple[Codes, Codes]:
    """Returns the distinct rows, and the place of each row among them."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    return distinct, place.ravel()


def _log_likelihoods(scores: Codes) -> Floats:
    """Returns the log likelihood of scores, each the odds, choices won and choices lost of a meeting.

    The result has scores x (tastes + 2), the steps before it scores x tastes x tastes for the opponent.
    """
    odds, won, lost = scores.T
    odds_with_tastes = (_ODDS_STEP * odds[:, None] + _TASTES)[:, :, None] - _WIDTH * _OPPONENTS
    # The chance to win is p = 1 / (1 + exp(-odds)), so log(p) = -logaddexp(0, -odds) and log(1 - p) = log(p) - odds.
    logs = -lost[:, None, None] * odds_with_tastes
    logs -= (won + lost)[:, None, None] * np.logaddexp(0, -odds_with_tastes)
    weights = np.exp(-(_OPPONENTS**2) / 2)
    largest = logs.max(axis=2)
    honest = largest + np.log(np.exp(logs - largest[:, :, None]) @ (weights / weights.sum()))
    lover = won * np.log(_FAITHFUL) + lost * np.log(1 - _FAITHFUL)
    hater = lost * np.log(_FAITHFUL) + won * np.log(1 - _FAITHFUL)
    return np.column_stack([honest, lover, hater])


def width_of(voters: ModelVoters) -> float:
    """Returns the deviation of the tastes for a model, including those of lovers and haters."""
    return _fit(voters, _Extremes.NONE, Mixture(0.0, _WIDTH, 0.0, 0.0), _WIDTH).mixture.width


def even_fit(voters: ModelVoters, usual_width: float) -> Fit:
    """Fits as many lovers as haters; `usual_width` is that of tastes for other models."""
    return _fit(
        voters, _Extremes.EVEN, Mixture(0.0, usual_width, _USUAL_SHARE, _USUAL_SHARE), usual_width
    )


def uneven_fit(voters: ModelVoters, usual_width: float) -> Fit:
    """Fits a crowd of lovers, or of haters; returns the better fit."""
    of_lovers = _fit(
        voters, _Extremes.UNEVEN, Mixture(0.0, usual_width, _CROWD_SHARE, _USUAL_SHARE), usual_width
    )
    of_haters = _fit(
        voters, _Extremes.UNEVEN, Mixture(0.0, usual_width, _USUAL_SHARE, _CROWD_SHARE), usual_width
    )
    return of_lovers if of_lovers.log_likelihood > of_haters.log_likelihood else of_haters


def _fit(voters: ModelVoters, extremes: _Extremes, start: Mixture, usual_width: float) -> Fit:
    """Fits a mixture by EM, which begins with `start`."""
    voters_of_kind = np.bincount(voters.kind, minlength=len(voters.likelihoods))
    mixture = start
    log = -np.inf
    for _ in range(_MOST_STEPS):
        before = log
        weights = mixture.weights()
        likelihood = voters.likelihoods @ weights
        log = float(voters_of_kind @ np.log(likelihood))
        log += _prior_log(mixture, extremes, usual_width)
        if log - before < _LEAST_GAIN:
            break
        expected = (voters_of_kind / likelihood) @ voters.likelihoods * weights
        mixture = _likeliest_mixture(expected, extremes, usual_width)
    chances = voters.likelihoods[:, -2:] * weights[-2:] / likelihood[:, None]
    return Fit(log, mixture, chances)


def _prior_log(mixture: Mixture, extremes: _Extremes, usual_width: float) -> float:
    """Returns the prior's log likelihood: tastes as wide as for other models, few lovers and haters."""
    if extremes is _Extremes.NONE:
        return 0.0
    width_ratio = usual_width / mixture.width
    width_log = np.log(width_ratio) - width_ratio**2 / 2
    smaller_share = min(mixture.lovers, mixture.haters)
    share_log = _USUAL_SHARE * np.log(smaller_share) - smaller_share
    return float(_WIDTH_WEIGHT * width_log + _SHARE_WEIGHT * share_log)


def _likeliest_mixture(expected: Floats, extremes: _Extremes, usual_width: float) -> Mixture:
    """Returns the likeliest mixture for the expected numbers of voters by taste, of lovers and of haters."""
    honest = expected[:-2]
    extreme = expected[-2:]
    voters = expected.sum()
    weight = 0.0 if extremes is _Extremes.NONE else _WIDTH_WEIGHT
    centre = honest @ _TASTES / honest.sum()
    squares = honest @ (_TASTES - centre) ** 2 + weight * usual_width**2
    width = np.sqrt(squares / (honest.sum() + weight)).clip(_NARROWEST, _WIDEST)
    if extremes is _Extremes.EVEN:
        # One share for both sides, each of them with the prior's voters.
        share = (extreme.sum() + 2 * _USUAL_SHARE * _SHARE_WEIGHT) / (2 * (voters + _SHARE_WEIGHT))
        shares = np.array([share, share])
    else:
        # The prior is about the smaller share; the larger one may be a crowd's.
        smaller_share = (extreme.min() + _USUAL_SHARE * _SHARE_WEIGHT) / (voters + _SHARE_WEIGHT)
        least_share = smaller_share if extremes is _Extremes.UNEVEN else 0.0
        shares = np.maximum(extreme / voters, least_share)
    return Mixture(float(centre), float(width), float(shares[0]), float(shares[1]))
