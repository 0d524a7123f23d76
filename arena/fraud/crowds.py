"""Crowds: voters who choose for or against one model as one, wherever they come from and however few votes each has.

Whoever spreads a crowd over networks and days leaves it one thing in common: the model it chooses. So all voters are
weighed together, model by model. Honest tastes for a model are normal, about as wide as those for other models, and a
few voters are steady lovers or haters of it, as many on either side: a model that divides people is no crowd's. A crowd
makes one side larger. The evidence is the likelihood ratio of a fit with sides of their own to one with even sides.
Both are fitted with lovers and haters apart from the honest tastes, and how wide these are for other models is told by
a median over models: a crowd does not hide in the tastes that it is measured by, however large it is.

Of a crowd one can say how many it has, hardly ever who they are: a cookie of ten votes looks like an honest voter who
likes the model. Set aside are choices about the model alone, those of the likeliest voters, as many as the crowd made;
what is left has the share of wins that it would have without the crowd.
"""

from typing import NamedTuple

import numpy as np

from arena.fraud.detectors import VoterChoices
from arena.ratings.bradley_terry import bradley_terry
from arena.ratings.votes import Codes, Floats

CHANCE = 0.1
"""Upper bound on the chance that honest voters are taken for a crowd, if their tastes were known."""
_STEADY = 0.98
"""Probability with which lovers choose the model, and haters its opponent."""
_TASTES = np.linspace(-6.0, 6.0, 49)
"""Tastes for the model that a voter may have, in log odds."""
_OPPONENTS = np.linspace(-3.0, 3.0, 13)
"""Tastes for its opponents, in deviations."""
_APART = 0.05
"""Log odds to which those of two models are rounded, so that alike choices are weighed once."""
_NARROWEST = 0.2
_WIDEST = 2.0
_WIDTH = 0.5
"""Deviations of tastes, in log odds: the least, the largest, and one to begin with."""
_OTHERS = 8.0
"""Voters that the tastes for other models count for, beside those who met this model."""
_STEADY_HONEST = 0.01
_SEEN = 100.0
"""Share of honest lovers, and of haters, that is expected, and the voters that the expectation counts for."""
_LOVERS = np.array([0.2, _STEADY_HONEST])
"""Shares of lovers and haters by which the search for a crowd begins."""
_SETTLED = 0.01
_STEPS = 200
"""The gain in log likelihood that ends a fit, and its most steps."""
_REFINED = 3
"""Times that strengths without a crowd, and the crowd by these strengths, are fitted."""
_MOST = 20
"""Most crowds."""
_AT_ONCE = 4096


class Crowd(NamedTuple):
    """Voters who choose for or against a model as one."""

    model: int
    is_for: bool
    strength: float
    """The likelihood ratio's decimal logarithm."""
    size: float
    """Expected number of voters."""
    voters: Codes
    """Those whose choices about the model are set aside, the likeliest first."""

    def covers(self, choices: VoterChoices) -> np.ndarray:
        """Return the mask of the choices that are set aside."""
        has_model = (choices.a == self.model) | (choices.b == self.model)
        return has_model & np.isin(choices.voter, self.voters)


class _Cells(NamedTuple):
    """Numbers of choices, by voter, model and opponent in this order; each choice is in two cells."""

    voter: Codes
    model: Codes
    opponent: Codes
    won: Codes
    lost: Codes

    def take(self, mask: np.ndarray) -> "_Cells":
        return _Cells(*(column[mask] for column in self))


class _Meetings(NamedTuple):
    """What voters chose about models that they met, alike choices as one kind."""

    voter: Codes
    model: Codes
    choices: Codes
    kind: Codes
    likelihoods: Floats
    """By taste, then for a lover and for a hater, the largest 1: kinds x (tastes + 2)."""


class _Voters(NamedTuple):
    """The voters who met a model."""

    kinds: Codes
    number: Floats
    """Voters of each kind."""
    likelihoods: Floats


class _Fit(NamedTuple):
    """The voters of a model: honest tastes, lovers and haters."""

    log: float
    """Log likelihood, with what is expected of tastes."""
    centre: float
    width: float
    shares: Floats
    """Of lovers and of haters."""
    chances: Floats
    """That one of a kind is a lover, or a hater: kinds x 2."""


class _Found(NamedTuple):
    model: int
    gain: float
    """Natural log of the likelihood ratio."""
    others: float
    """Width of the tastes for other models."""


def crowds(choices: VoterChoices, models: int) -> tuple[Crowd, ...]:
    """Return the crowds among all voters, the clearest first; `models` is the number of model codes."""
    left = choices
    found: list[Crowd] = []
    width = _WIDTH
    while len(found) < _MOST and len(left.a):
        cells = _cells(left, models)
        strengths = bradley_terry(_wins(cells, models)).strengths
        if not found:
            width = _median(_widths(_meetings(cells, strengths, width)))
        clearest = _clearest(_meetings(cells, strengths, width))
        if clearest is None:
            break
        crowd = _members(cells, strengths, width, clearest)
        found.append(crowd)
        left = left.take(~crowd.covers(left))
    return tuple(found)


def _clearest(meetings: _Meetings) -> _Found | None:
    """Return the model that most clearly has a crowd, if any has."""
    widths = _widths(meetings)
    found = []
    for model in np.flatnonzero(~np.isnan(widths)).tolist():
        others = np.delete(widths, model)
        width = widths[model] if np.isnan(others).all() else _median(others)
        voters = _voters(meetings, model)
        gain = _uneven(voters, width).log - _even(voters, width).log
        found.append(_Found(model, gain, width))
    best = max(found, key=lambda one: one.gain)
    return best if best.gain >= np.log(2 * len(found) / CHANCE) else None


def _widths(meetings: _Meetings) -> Floats:
    """Return the deviation of the tastes for each model that was met, NaN for others."""
    widths = np.full(int(meetings.model.max()) + 1, np.nan)
    for model in np.unique(meetings.model).tolist():
        widths[model] = _width(_voters(meetings, model))
    return widths


def _members(cells: _Cells, strengths: Floats, width: float, found: _Found) -> Crowd:
    """Return a model's crowd, by strengths fitted without it."""
    model = found.model
    wins = _wins(cells, len(strengths))
    mine = cells.take(cells.model == model)
    for _ in range(_REFINED):
        meetings = _meetings(mine, strengths, width)
        voters = _voters(meetings, model)
        fit = _uneven(voters, found.others)
        side = int(fit.shares.argmax())
        # as many honest voters are as steady as there are on the other side
        share = 1 - fit.shares.min() / fit.shares.max()
        chances = np.zeros(len(meetings.likelihoods))
        chances[voters.kinds] = share * fit.chances[:, side]
        chance = chances[meetings.kind]
        weight = np.repeat(chance, np.unique(mine.voter, return_counts=True)[1])
        rest = wins.copy()
        rest[model] -= np.bincount(mine.opponent, weight * mine.won, len(rest))
        rest[:, model] -= np.bincount(mine.opponent, weight * mine.lost, len(rest))
        strengths = bradley_terry(rest.clip(0), start=strengths).strengths
    order = np.argsort(-chance, kind="stable")
    choices = meetings.choices[order]
    before = np.cumsum(choices) - choices / 2
    likeliest = order[before < chance @ meetings.choices]
    return Crowd(
        model=model,
        is_for=side == 0,
        strength=float(found.gain / np.log(10)),
        size=float(chance.sum()),
        voters=meetings.voter[likeliest],
    )


def _cells(choices: VoterChoices, models: int) -> _Cells:
    won = np.where(choices.chose_a, choices.a, choices.b).astype(np.int64)
    lost = np.where(choices.chose_a, choices.b, choices.a).astype(np.int64)
    of_winner = (choices.voter * models + won) * models + lost
    of_loser = (choices.voter * models + lost) * models + won
    keys, place = np.unique(np.concatenate([of_winner, of_loser]), return_inverse=True)
    return _Cells(
        voter=keys // models // models,
        model=keys // models % models,
        opponent=keys % models,
        won=np.bincount(place[: len(won)], minlength=len(keys)),
        lost=np.bincount(place[len(won) :], minlength=len(keys)),
    )


def _wins(cells: _Cells, models: int) -> Floats:
    pair = cells.model * models + cells.opponent
    return np.bincount(pair, cells.won, models * models).reshape(models, models).astype(np.float64)


def _meetings(cells: _Cells, strengths: Floats, width: float) -> _Meetings:
    """Return the meetings in these cells; `width` is that of the tastes for opponents."""
    # the odds of all voters are nearer to even than those of one without tastes
    apart = (strengths[cells.model] - strengths[cells.opponent]) * np.sqrt(1 + np.pi * width**2 / 4)
    apart = np.round(apart / _APART).astype(np.int64)
    keys = (apart * (1 + cells.won.max()) + cells.won) * (1 + cells.lost.max()) + cells.lost
    _, one, place = np.unique(keys, return_index=True, return_inverse=True)
    parts = np.array_split(one, 1 + len(one) // _AT_ONCE)
    logs = np.vstack(
        [_logs(_APART * apart[part], cells.won[part], cells.lost[part], width) for part in parts]
    )
    is_first = np.ones(len(keys), bool)
    is_first[1:] = (np.diff(cells.voter) != 0) | (np.diff(cells.model) != 0)
    start = np.flatnonzero(is_first)
    # meetings of the same cells, in any order, have the same sum of random numbers
    marks = np.random.default_rng(0).integers(0, 2**63, len(one), dtype=np.uint64)
    _, example, kind = np.unique(
        np.add.reduceat(marks[place], start), return_index=True, return_inverse=True
    )
    end = np.append(start[1:], len(keys))
    sums = [
        _sums(logs, place, start[part], end[part])
        for part in np.array_split(example, 1 + len(example) // _AT_ONCE)
    ]
    return _Meetings(
        voter=cells.voter[start],
        model=cells.model[start],
        choices=np.add.reduceat(cells.won + cells.lost, start),
        kind=kind,
        likelihoods=np.vstack(sums),
    )


def _logs(apart: Floats, won: Codes, lost: Codes, width: float) -> Floats:
    """Return the log likelihood of choices about a model and one opponent, by taste, for a lover and for a hater."""
    wins = won[:, None, None]
    losses = lost[:, None, None]
    odds = (apart[:, None] + _TASTES)[:, :, None] - width * _OPPONENTS
    logs = losses * -odds - (wins + losses) * np.logaddexp(0, -odds)
    weights = np.exp(-(_OPPONENTS**2) / 2)
    largest = logs.max(axis=2)
    honest = largest + np.log(np.exp(logs - largest[:, :, None]) @ (weights / weights.sum()))
    lover = won * np.log(_STEADY) + lost * np.log(1 - _STEADY)
    hater = lost * np.log(_STEADY) + won * np.log(1 - _STEADY)
    return np.column_stack([honest, lover, hater])


def _sums(logs: Floats, place: Codes, start: Codes, end: Codes) -> Floats:
    """Return the likelihoods of the meetings whose cells begin and end there."""
    length = end - start
    first = np.cumsum(length) - length
    cells = np.arange(length.sum()) + np.repeat(start - first, length)
    sums = np.add.reduceat(logs[place[cells]], first)
    return np.exp(sums - sums.max(axis=1, keepdims=True))


def _voters(meetings: _Meetings, model: int) -> _Voters:
    number = np.bincount(meetings.kind[meetings.model == model])
    kinds = np.flatnonzero(number)
    return _Voters(kinds, number[kinds].astype(np.float64), meetings.likelihoods[kinds])


def _width(voters: _Voters) -> float:
    """Return the deviation of the tastes for a model, lovers and haters included."""
    centre = 0.0
    width = _WIDTH
    before = -np.inf
    for _ in range(_STEPS):
        log, sums, _ = _expected(voters, centre, width, np.zeros(2))
        if log - before < _SETTLED:
            break
        before = log
        centre, width = _normal(sums, 0.0, 0.0)
    return width


def _even(voters: _Voters, others: float) -> _Fit:
    """Fit the voters of a model with as many lovers as haters."""
    return _fit(voters, others, np.full(2, _STEADY_HONEST), is_even=True)


def _uneven(voters: _Voters, others: float) -> _Fit:
    """Fit the voters of a model with a crowd on either side, and return the better fit."""
    fits = [_fit(voters, others, shares, is_even=False) for shares in (_LOVERS, _LOVERS[::-1])]
    return max(fits, key=lambda fit: fit.log)


def _fit(voters: _Voters, others: float, shares: Floats, is_even: bool) -> _Fit:
    """Fit from these shares by EM; `others` is the width of the tastes for other models."""
    centre = 0.0
    width = others
    before = -np.inf
    for _ in range(_STEPS):
        log, sums, chances = _expected(voters, centre, width, shares)
        fewer = shares.min()
        log -= _OTHERS * (np.log(width / others) + (others / width) ** 2 / 2)
        log += _SEEN * (_STEADY_HONEST * np.log(fewer) - fewer)
        if log - before < _SETTLED:
            break
        before = log
        centre, width = _normal(sums, others, _OTHERS)
        steady = sums[-2:]
        if is_even:
            both = (steady.sum() + _STEADY_HONEST * _SEEN) / (2 * sums.sum() + _SEEN)
            shares = np.full(2, both)
        else:
            fewer = (steady.min() + _STEADY_HONEST * _SEEN) / (sums.sum() + _SEEN)
            shares = np.maximum(steady / sums.sum(), fewer)
    return _Fit(log, centre, width, shares, chances)


def _expected(
    voters: _Voters, centre: float, width: float, shares: Floats
) -> tuple[float, Floats, Floats]:
    """Return the log likelihood, expected numbers by taste, of lovers and of haters, and the chances of these two."""
    honest = np.exp(-(((_TASTES - centre) / width) ** 2) / 2)
    weights = np.append((1 - shares.sum()) * honest / honest.sum(), shares)
    whole = voters.likelihoods @ weights
    sums = (voters.number / whole) @ voters.likelihoods * weights
    log = float(voters.number @ np.log(whole))
    return log, sums, voters.likelihoods[:, -2:] * shares / whole[:, None]


def _normal(numbers: Floats, others: float, weight: float) -> tuple[float, float]:
    """Return centre and width of tastes, of which `weight` more were as wide as `others`."""
    honest = numbers[: len(_TASTES)]
    centre = float(honest @ _TASTES / honest.sum())
    squares = honest @ (_TASTES - centre) ** 2 + weight * others**2
    width = float(np.sqrt(squares / (honest.sum() + weight)))
    return centre, min(max(width, _NARROWEST), _WIDEST)


def _median(values: Floats) -> float:
    """Return the median of the numbers among the values, of an even number the smaller."""
    numbers = np.sort(values[~np.isnan(values)])
    return float(numbers[(len(numbers) - 1) // 2])
