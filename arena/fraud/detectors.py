"""Fraud tests: voters whose choices fit a rigger better than the boards themselves, and careless voters.

The evidence against a voter is a likelihood-ratio e-process. Under the null hypothesis each choice follows
Bradley-Terry fitted to everybody else's votes, with or without a taste of the voter's own: a random effect on each
model, as large as the tastes of all voters are. The null also includes the uncertainty of strengths that few votes of
others leave. The alternatives, in equal parts, are a coin, a contrarian, a voter who always chooses the same side, and
one who chooses for or against one model in all of its battles. By Ville's inequality a voter who follows the null ever
passes 1/alpha with a chance of at most alpha, so the test may be repeated after every vote. The weaker evidence of the
two counts: a voter who likes one model is no rigger if others like models as strongly.

Three habits are tested too: choosing one side, choosing faster than anybody reads, and failing check items.
"""

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache, partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.votes import Codes, Floats

ALPHA = 0.001
"""Upper bound on the chance that an honest voter is ever flagged."""
ENOUGH = -np.log10(ALPHA)
"""Strength of the evidence that flags a voter."""
_STEADY = 0.98
"""Probability with which a rigger follows its pattern."""
_LONG = 0.05
"""The Newton step, in log odds, above which strengths are fitted anew: its error is far below its length."""
_AT_A_TIME = 1000
"""The choices of a voter in one chunk, which bounds the memory for a voter with a million."""
_TASTES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""The candidates for the standard deviation of all tastes, in log odds; a larger one would hide every rigger."""
_SAMPLE = 4000
_SAMPLE_EACH = 200
"""_SAMPLE, _SAMPLE_EACH: the choices, and the most of one voter, that the deviation of tastes is estimated from."""
_STEPS = 4
"""Newton's steps to the mode of a taste after a choice: the last is below 1e-3."""
_LEARNT = 2000
"""The choices that a voter's taste is learnt from, which bounds the time for a voter with a million."""
_SURE = 30.0
"""The limit of log odds: larger ones are clipped."""
OTHERS = 0.5
"""The least ratio of other voters' choices to a voter's own; below it there is nothing to compare with."""
_LIKELY = 3.0
"""The log likelihood ratio to the best deviation within which a larger one is still likely (98.5%)."""


class Suspicion(StrEnum):
    """A pattern that a voter's choices show."""

    COIN = "chooses at random"
    CONTRARIAN = "chooses what others don't"
    LEFT = "always chooses A"
    RIGHT = "always chooses B"
    FOR = "always chooses one model"
    AGAINST = "always chooses against one model"
    ONE_SIDED = "chooses one side more often than a coin flip would"
    HASTY = "chooses faster than anyone can read the answers"
    INATTENTIVE = "fails check items"
    COHORT = "votes in step with others whose cookies are from the same day"
    NETWORK = "votes in step with others on the same network"
    CROWD = "almost certainly belongs to a crowd for or against one model"
    CROWD_FOR = "chooses one model like a crowd does, so votes about it are left out"
    CROWD_AGAINST = "chooses against one model like a crowd does, so votes about it are left out"


PATTERNS = (Suspicion.CONTRARIAN, Suspicion.LEFT, Suspicion.RIGHT)
"""A rigger's patterns that concern no model."""
TOGETHER = frozenset(
    {
        Suspicion.COHORT,
        Suspicion.NETWORK,
        Suspicion.CROWD,
        Suspicion.CROWD_FOR,
        Suspicion.CROWD_AGAINST,
    }
)
"""Reasons with the strength of evidence against many voters."""
WEAK = frozenset({Suspicion.ONE_SIDED, Suspicion.HASTY})
"""Habits that honest voters can have: one alone excludes nobody from a board, both together do."""
OF_CROWD = frozenset({Suspicion.CROWD_FOR, Suspicion.CROWD_AGAINST})
"""Reasons for leaving out a voter's votes about one model: such a voter may be honest."""
_BEYOND = NormalDist().inv_cdf(1 - 0.001 / 2)
"""Standard errors within which a fair coin's share lies in 99.9% of cases."""
_HABIT = 10
"""Least number of choices for haste to be a habit."""
CHECKS = 10
FAILED = 3
"""Failing this many of the last check items flags a voter: a coin is flagged with 95%, an error rate of 1 in 20 with
1%.
"""
WORDS_A_MINUTE = 250
"""Reading speed."""


class VoterChoices(NamedTuple):
    """Choices in order: the models' codes on either side, whether A was chosen, and the voter."""

    a: Codes
    b: Codes
    chose_a: NDArray[np.bool_]
    voter: Codes

    def take(self, places: np.ndarray | slice) -> "VoterChoices":
        return self._make(column[places] for column in self)


class Flag(NamedTuple):
    """A reason to suspect a voter."""

    voter: int
    reason: Suspicion
    """The suspicion; for evidence, the likeliest pattern when the e-value was largest."""
    model: int | None
    """The code of the model that it concerns."""
    strength: float
    """The decimal logarithm of the largest e-value for evidence, standard errors from half for one side, else a
    share.
    """


def evidence(
    choices: VoterChoices, models: int, apart: NDArray[np.bool_] | None = None
) -> tuple[Flag, ...]:
    """Returns the evidence against each voter, the strongest first; `models` is the number of model codes.

    The choices marked in `apart`, those of crowds, are not used to measure voters. There is no evidence against a voter
    with more than twice the choices of all others. Tastes, and the uncertainty of strengths, are considered only for
    voters flagged without them, so a strength below ENOUGH is an upper bound.
    """
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    is_measure = np.ones(len(won), bool) if apart is None else ~apart
    measure = choices.take(is_measure)
    fit = bradley_terry(win_counts(measure, models))
    flags = []
    taste = cache(partial(taste_of_voters, measure, fit.strengths))
    for voter, places in by_voter(choices.voter):
        if len(won) - len(places) < OTHERS * len(places):
            flags.append(Flag(voter, Suspicion.COIN, None, 0.0))
            continue
        own = choices.take(places)
        measured = places[is_measure[places]]
        winners = won[measured]
        losers = lost[measured]
        odds = odds_of(own, without(fit, winners, losers))
        flag = _peak(voter, own, odds, [odds])
        if flag.strength >= ENOUGH:
            met_models = np.unique(np.concatenate([own.a, own.b]))
            spread = spread_without(fit, winners, losers, met_models)
            flag = _peak(voter, own, odds, [odds, odds_with_taste(own, odds, taste(), spread)])
        flags.append(flag)
    return tuple(sorted(flags, key=lambda flag: (-flag.strength, flag.voter)))


def win_counts(choices: VoterChoices, models: int) -> Floats:
    """Returns the number of choices of each model over each other: models x models."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.bincount(won * models + lost, minlength=models * models)
    return wins.reshape(models, models).astype(np.float64)


def odds_of(choices: VoterChoices, strengths: Floats) -> Floats:
    return np.clip(strengths[choices.a] - strengths[choices.b], -_SURE, _SURE)


def taste_of_voters(choices: VoterChoices, strengths: Floats) -> float:
    """Returns the largest deviation of tastes that a sample of the voters makes likely."""
    voters = [places[:_SAMPLE_EACH] for _, places in by_voter(choices.voter)]
    order = np.random.default_rng(0).permutation(len(voters))
    before = np.cumsum([0, *(len(voters[number]) for number in order)])[:-1]
    samples = [choices.take(voters[number]) for number in order[before < _SAMPLE]]
    likely = 0.0
    best = -np.inf
    for taste in _TASTES:
        log = 0.0
        for sample in samples:
            own_odds = odds_with_taste(sample, odds_of(sample, strengths), taste)
            log -= np.logaddexp(0, np.where(sample.chose_a, -own_odds, own_odds)).sum()
        best = max(best, log)
        if log < best - _LIKELY:  # The likelihood only falls after its peak.
            break
        likely = taste
    return likely


def odds_with_taste(
    choices: VoterChoices, odds: Floats, taste: float, spread: Floats | float = 0.0
) -> Floats:
    """Returns the log odds that a voter chooses A, for each choice given the ones before; `odds` are everybody's.

    The taste is normal with deviation `taste` on each model. Strengths are normal around those of `odds`, with
    covariance `spread` over the models that the voter met. The mean and covariance of their sum are updated from one
    choice's mode to the next, over the first _LEARNT choices; a normal around log odds brings them nearer to 0
    (MacKay 1992).
    """
    if not (taste or np.any(spread)):
        return odds
    met_models, place = np.unique(np.concatenate([choices.a, choices.b]), return_inverse=True)
    mean = np.zeros(len(met_models))
    covariance = taste**2 * np.eye(len(met_models)) + spread
    own_odds = np.empty(len(odds))
    a_side, b_side = place.reshape(2, -1)
    first = slice(_LEARNT)
    signs = np.where(choices.chose_a[first], 1, -1)
    sides = zip(
        odds[first].tolist(),
        a_side[first].tolist(),
        b_side[first].tolist(),
        signs.tolist(),
        strict=True,
    )
    for number, (everybody, a, b, sign) in enumerate(sides):
        column = covariance[a] - covariance[b]
        apart = float(column[a] - column[b])
        expected = everybody + float(mean[a] - mean[b])
        own_odds[number] = expected / math.sqrt(1 + math.pi * apart / 8)
        mode = expected
        missed = 0.0
        for _ in range(_STEPS):
            missed = 1 / (1 + math.exp(sign * mode))
            mode += (sign * missed - (mode - expected) / apart) / (
                missed * (1 - missed) + 1 / apart
            )
        mean += column * ((mode - expected) / apart)
        missed = 1 / (1 + math.exp(sign * mode))
        bent = missed * (1 - missed)
        covariance -= np.outer(column, column) * (bent / (1 + apart * bent))
    a = a_side[_LEARNT:]
    b = b_side[_LEARNT:]
    own = covariance.diagonal()
    apart = own[a] + own[b] - 2 * covariance[a, b]
    own_odds[_LEARNT:] = (odds[_LEARNT:] + mean[a] - mean[b]) / np.sqrt(1 + np.pi * apart / 8)
    return own_odds


def by_voter(voters: Codes) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yields each voter with the places of their choices, in order."""
    order = np.argsort(voters, kind="stable")
    codes, starts = np.unique(voters[order], return_index=True)
    for code, start, end in zip(
        codes.tolist(), starts, np.append(starts, len(order))[1:], strict=True
    ):
        yield code, order[start:end]


def without(fit: Strengths, won: Codes, lost: Codes) -> Floats:
    """Returns the models' strengths, fitted without a voter's choices of `won` over `lost`.

    Models that the voter did not meet keep theirs. A Newton step from the fit of all choices leads there, with an error
    of the order of its length squared; a long step is replaced by a new fit.
    """
    strengths = fit.strengths.copy()
    if not len(won):
        return strengths
    met_models, place = np.unique(np.concatenate([won, lost]), return_inverse=True)
    winner, loser = place.reshape(2, -1)
    missed = 1 / (1 + np.exp(strengths[won] - strengths[lost]))
    slope = np.zeros(len(met_models))
    information = np.zeros((len(met_models), len(met_models)))
    for side, other, sign in ((winner, loser, 1.0), (loser, winner, -1.0)):
        np.add.at(slope, side, sign * missed)
        np.add.at(information, (side, side), missed * (1 - missed))
        np.add.at(information, (side, other), -missed * (1 - missed))
    spread = fit.inverse[np.ix_(met_models, met_models)]
    step = np.linalg.solve(np.eye(len(met_models)) - spread @ information, -spread @ slope)
    if np.abs(step).max() > _LONG:
        return _refitted(fit, met_models, won, lost)
    strengths[met_models] += step
    return strengths


def spread_without(fit: Strengths, won: Codes, lost: Codes, met_models: Codes) -> Floats:
    """Returns the covariance of some models' strengths, fitted without the choices of `won` over `lost`."""
    others = fit.wins.copy()
    np.subtract.at(others, (won, lost), 1.0)
    return bradley_terry(others, start=fit.strengths).inverse[np.ix_(met_models, met_models)]


def _refitted(fit: Strengths, met_models: Codes, won: Codes, lost: Codes) -> Floats:
    """Fits strengths without a voter's choices, only for models that are linked with those the voter met."""
    others = fit.wins.copy()
    strengths = fit.strengths.copy()
    np.subtract.at(others, (won, lost), 1.0)
    near = np.flatnonzero(fit.comparable[met_models].any(axis=0))
    strengths[near] = bradley_terry(others[np.ix_(near, near)], start=strengths[near]).strengths
    return strengths


def _peak(voter: int, choices: VoterChoices, odds: Floats, nulls: Sequence[Floats]) -> Flag:
    """Returns a flag with the peak of the weakest e-value against the nulls' log odds, computed in chunks."""
    met_models = np.unique(np.concatenate([choices.a, choices.b]))
    names = (Suspicion.COIN, *PATTERNS)
    sums = np.zeros((len(nulls), len(names) + 2 * len(met_models), 1))
    peak = -np.inf
    suspect = 0
    for start in range(0, len(choices.a), _AT_A_TIME):
        some = slice(start, start + _AT_A_TIME)
        ratios = [
            log_ratios(choices.take(some), odds[some], null[some], met_models) for null in nulls
        ]
        paths = sums + np.cumsum(ratios, axis=2)
        mixed = np.logaddexp.reduce(paths, axis=1) - np.log(paths.shape[1])
        weakest = mixed.min(axis=0)
        at = int(weakest.argmax())
        if weakest[at] > peak:
            peak = float(weakest[at])
            suspect = int(paths[mixed[:, at].argmin(), :, at].argmax())
        sums = paths[:, :, -1:]
    strength = max(0.0, peak / np.log(10))
    if suspect < len(names):
        return Flag(voter, names[suspect], None, strength)
    # The rows after the names are each model's supporters, then each model's opponents.
    of_model = suspect - len(names)
    suspicion = Suspicion.FOR if of_model < len(met_models) else Suspicion.AGAINST
    model = int(met_models[of_model % len(met_models)])
    return Flag(voter, suspicion, model, strength)


def log_ratios(choices: VoterChoices, odds: Floats, null: Floats, met_models: Codes) -> Floats:
    """Returns the log likelihood ratio of each rigger to an honest voter for each choice: riggers x choices."""
    a = choices.a
    b = choices.b
    chose_a = choices.chose_a
    # The chances that A is chosen.
    honest = 1 / (1 + np.exp(-null))
    contrary = 1 / (1 + np.exp(odds))
    for_model = np.where(
        met_models[:, None] == a, _STEADY, np.where(met_models[:, None] == b, 1 - _STEADY, honest)
    )
    against = np.where(
        met_models[:, None] == a, 1 - _STEADY, np.where(met_models[:, None] == b, _STEADY, honest)
    )
    steady = np.full((1, len(a)), _STEADY)
    chances = np.vstack(
        [np.full((1, len(a)), 0.5), contrary[None], steady, 1 - steady, for_model, against]
    )
    return np.where(
        chose_a, np.log(chances) - np.log(honest), np.log1p(-chances) - np.log1p(-honest)
    )


# Habits.
def one_sided(voter: Codes, chose_a: NDArray[np.bool_]) -> list[Flag]:
    """Returns flags on voters with a share of left choices outside the range of 99.9% of fair coins."""
    voters, votes, left = _counted(voter, chose_a)
    off = np.abs(2 * left - votes) / np.sqrt(votes)
    return _habits(voters, off, off > _BEYOND, Suspicion.ONE_SIDED)


def hasty(voter: Codes, seconds: Floats, words: Codes) -> list[Flag]:
    """Returns flags on voters who were faster than anybody reads in more than half of at least _HABIT choices."""
    voters, votes, fast = _counted(voter, seconds < words * (60 / WORDS_A_MINUTE))
    return _habits(voters, fast / votes, (votes >= _HABIT) & (2 * fast > votes), Suspicion.HASTY)


def inattentive(voter: Codes, wrong: NDArray[np.bool_]) -> list[Flag]:
    """Returns flags on voters who failed FAILED or more of their last CHECKS check items, which are in order."""
    last = np.zeros(len(voter), bool)
    for _, places in by_voter(voter):
        last[places[-CHECKS:]] = True
    voters, votes, failed = _counted(voter[last], wrong[last])
    return _habits(voters, failed / votes, failed >= FAILED, Suspicion.INATTENTIVE)


def _counted(voter: Codes, did: NDArray[np.bool_]) -> tuple[Codes, Codes, Codes]:
    """Returns the voters, their numbers of choices, and the numbers of choices marked in `did`."""
    voters, place, votes = np.unique(voter, return_inverse=True, return_counts=True)
    return voters, votes, np.bincount(place, did, minlength=len(voters)).astype(np.int64)


def _habits(
    voters: Codes, strength: Floats, has: NDArray[np.bool_], habit: Suspicion
) -> list[Flag]:
    extents = zip(voters[has].tolist(), strength[has].tolist(), strict=True)
    return [Flag(voter, habit, None, extent) for voter, extent in extents]
