"""Fraud tests: voters whose choices fit a rigger better than the boards themselves, and careless voters.

The evidence against a voter is a likelihood-ratio e-process. Under the null hypothesis each choice follows
Bradley-Terry fitted to everybody else's votes, with or without a taste of the voter's own: a random effect on each
model, as large as the tastes of all voters are; what few votes of others leave open about strengths is open to the null
too. The alternatives, in equal parts, are a coin, a contrarian, one who always chooses the same side, and one who
chooses for or against one model whenever it is there. By Ville's inequality a voter who follows the null ever passes
1/alpha with a chance of at most alpha, so the test may be repeated after every vote. What counts is the weaker evidence
of the two: who merely likes one model is no rigger, as far as others like as strongly.

Beside it are three habits: choosing one side, choosing faster than anybody reads, and failing check items.
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
"""Choices of one voter weighed at once, so that a voter with a million takes no more memory."""
_TASTES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""Deviations of tastes in log odds, one of which is taken for all voters; a larger one would hide every rigger."""
_ASKED = 4000
_ASKED_EACH = 200
"""Choices, and choices of one voter, that tell how much tastes differ."""
_STEPS = 4
"""Newton's steps to the mode of a taste after a choice: the last is below 1e-3."""
_LEARNT = 2000
"""Choices after which a voter's taste is known, so that one with a million takes no more time."""
_SURE = 30.0
"""Log odds beyond which nothing more is believed."""
OTHERS = 0.5
"""Choices of others for one of a voter, below which nobody can tell which of them is odd."""
_LIKELY = 3.0
"""Natural log of the likelihood ratio to the best deviation up to which a larger one is believed (98.5%)."""


class Suspicion(StrEnum):
    """What a voter's choices look like."""

    COIN = "chooses at random"
    CONTRARIAN = "chooses what others do not"
    LEFT = "chooses A whatever it is"
    RIGHT = "chooses B whatever it is"
    FOR = "chooses one model whenever it is there"
    AGAINST = "chooses against one model whenever it is there"
    ONE_SIDED = "chooses one side more often than a coin would"
    HASTY = "chooses faster than the answers can be read"
    INATTENTIVE = "fails check items"
    COHORT = "chooses as one with others whose cookies are of the same day"
    NETWORK = "chooses as one with others of the same network"
    CROWD = "is almost surely one of a crowd for or against one model"
    CROWD_FOR = "chooses one model as a crowd does, so votes about it are left out"
    CROWD_AGAINST = "chooses against one model as a crowd does, so votes about it are left out"


PATTERNS = (Suspicion.CONTRARIAN, Suspicion.LEFT, Suspicion.RIGHT)
"""Patterns of a rigger that are about no model."""
TOGETHER = frozenset(
    {
        Suspicion.COHORT,
        Suspicion.NETWORK,
        Suspicion.CROWD,
        Suspicion.CROWD_FOR,
        Suspicion.CROWD_AGAINST,
    }
)
"""Reasons whose strength is that of the evidence against many voters."""
WEAK = frozenset({Suspicion.ONE_SIDED, Suspicion.HASTY})
"""Habits that honest voters have too: one alone excludes nobody from a board, both do."""
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
    """Choices in the order they were made: codes of the models on either side, whether A was chosen, and by whom."""

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
    """Of evidence: what the choices looked like most when the e-value was largest."""
    model: int | None
    """The code of the model it is about."""
    strength: float
    """Of evidence: the largest e-value's decimal logarithm. Of one side: standard errors from half. Else: a share."""


def evidence(
    choices: VoterChoices, models: int, apart: NDArray[np.bool_] | None = None
) -> tuple[Flag, ...]:
    """Returns the evidence against each voter, the strongest first; `models` is the number of model codes.

    Voters are not measured by the choices `apart`, those of crowds. Nobody can measure a voter with more than twice the
    choices of all others: there is no evidence. Tastes, and what others leave open, are weighed only against voters
    flagged without them: a strength below ENOUGH is an upper bound.
    """
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    is_measure = np.ones(len(won), bool) if apart is None else ~apart
    measure = choices.take(is_measure)
    fit = bradley_terry(win_counts(measure, models))
    found = []
    taste = cache(partial(taste_of_voters, measure, fit.strengths))
    for voter, places in by_voter(choices.voter):
        if len(won) - len(places) < OTHERS * len(places):
            found.append(Flag(voter, Suspicion.COIN, None, 0.0))
            continue
        one = choices.take(places)
        own = places[is_measure[places]]
        winners = won[own]
        losers = lost[own]
        odds = odds_of(one, without(fit, winners, losers))
        flag = _peak(voter, one, odds, [odds])
        if flag.strength >= ENOUGH:
            there = np.unique(np.concatenate([one.a, one.b]))
            spread = spread_without(fit, winners, losers, there)
            flag = _peak(voter, one, odds, [odds, odds_with_taste(one, odds, taste(), spread)])
        found.append(flag)
    return tuple(sorted(found, key=lambda one: (-one.strength, one.voter)))


def win_counts(choices: VoterChoices, models: int) -> Floats:
    """Returns how often each model was chosen over each other."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.bincount(won * models + lost, minlength=models * models)
    return wins.reshape(models, models).astype(np.float64)


def odds_of(choices: VoterChoices, strengths: Floats) -> Floats:
    return np.clip(strengths[choices.a] - strengths[choices.b], -_SURE, _SURE)


def taste_of_voters(choices: VoterChoices, strengths: Floats) -> float:
    """Returns the largest deviation of tastes that a sample of the voters makes likely."""
    voters = [places[:_ASKED_EACH] for _, places in by_voter(choices.voter)]
    order = np.random.default_rng(0).permutation(len(voters))
    before = np.cumsum([0, *(len(voters[number]) for number in order)])[:-1]
    asked = [choices.take(voters[number]) for number in order[before < _ASKED]]
    likely = 0.0
    best = -np.inf
    for taste in _TASTES:
        log = 0.0
        for one in asked:
            told = odds_with_taste(one, odds_of(one, strengths), taste)
            log -= np.logaddexp(0, np.where(one.chose_a, -told, told)).sum()
        best = max(best, log)
        if log < best - _LIKELY:  # past its peak, the likelihood of a deviation only falls
            break
        likely = taste
    return likely


def odds_with_taste(
    choices: VoterChoices, odds: Floats, taste: float, spread: Floats | float = 0.0
) -> Floats:
    """Returns the log odds that one voter chooses A, at each choice from those before, where `odds` are everybody's.

    The taste is normal with deviation `taste` on each model, and everybody's strengths with covariance `spread`, of the
    models that the voter met, around those of `odds`. Both are followed by their sum's mean and covariance, from one
    choice's mode to the next, over the first _LEARNT choices; a normal around log odds brings them nearer to 0
    (MacKay 1992).
    """
    if not (taste or np.any(spread)):
        return odds
    there, place = np.unique(np.concatenate([choices.a, choices.b]), return_inverse=True)
    mean = np.zeros(len(there))
    covariance = taste**2 * np.eye(len(there)) + spread
    told = np.empty(len(odds))
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
        told[number] = expected / math.sqrt(1 + math.pi * apart / 8)
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
    told[_LEARNT:] = (odds[_LEARNT:] + mean[a] - mean[b]) / np.sqrt(1 + np.pi * apart / 8)
    return told


def by_voter(voters: Codes) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yields each voter with the places of their choices, in order."""
    order = np.argsort(voters, kind="stable")
    codes, starts = np.unique(voters[order], return_index=True)
    for code, start, end in zip(
        codes.tolist(), starts, np.append(starts, len(order))[1:], strict=True
    ):
        yield code, order[start:end]


def without(fit: Strengths, won: Codes, lost: Codes) -> Floats:
    """Returns the models' strengths, fitted without the choices of a voter who met `won` and `lost`.

    Models that the voter did not meet keep theirs. A Newton step from the fit of all choices leads there, with an error
    of the order of its length squared; a long step is replaced by a new fit.
    """
    strengths = fit.strengths.copy()
    if not len(won):
        return strengths
    there, place = np.unique(np.concatenate([won, lost]), return_inverse=True)
    winner, loser = place.reshape(2, -1)
    missed = 1 / (1 + np.exp(strengths[won] - strengths[lost]))
    slope = np.zeros(len(there))
    told = np.zeros((len(there), len(there)))
    for one, other, sign in ((winner, loser, 1.0), (loser, winner, -1.0)):
        np.add.at(slope, one, sign * missed)
        np.add.at(told, (one, one), missed * (1 - missed))
        np.add.at(told, (one, other), -missed * (1 - missed))
    spread = fit.inverse[np.ix_(there, there)]
    step = np.linalg.solve(np.eye(len(there)) - spread @ told, -spread @ slope)
    if np.abs(step).max() > _LONG:
        return _refitted(fit, there, won, lost)
    strengths[there] += step
    return strengths


def spread_without(fit: Strengths, won: Codes, lost: Codes, there: Codes) -> Floats:
    """Returns the covariance of the strengths of some models by all choices but those where `won` met `lost`."""
    others = fit.wins.copy()
    np.subtract.at(others, (won, lost), 1.0)
    return bradley_terry(others, start=fit.strengths).inverse[np.ix_(there, there)]


def _refitted(fit: Strengths, there: Codes, won: Codes, lost: Codes) -> Floats:
    """Fits again without a voter's choices, only the models that are linked with those the voter met."""
    others = fit.wins.copy()
    strengths = fit.strengths.copy()
    np.subtract.at(others, (won, lost), 1.0)
    near = np.flatnonzero(fit.comparable[there].any(axis=0))
    strengths[near] = bradley_terry(others[np.ix_(near, near)], start=strengths[near]).strengths
    return strengths


def _peak(voter: int, choices: VoterChoices, odds: Floats, nulls: Sequence[Floats]) -> Flag:
    """Returns the largest that the smallest e-value against any null's log odds ever was, weighed in chunks."""
    there = np.unique(np.concatenate([choices.a, choices.b]))
    names = (Suspicion.COIN, *PATTERNS)
    sums = np.zeros((len(nulls), len(names) + 2 * len(there), 1))
    peak = -np.inf
    suspect = 0
    for start in range(0, len(choices.a), _AT_A_TIME):
        some = slice(start, start + _AT_A_TIME)
        ratios = [log_ratios(choices.take(some), odds[some], null[some], there) for null in nulls]
        paths = sums + np.cumsum(ratios, axis=2)
        mixed = np.logaddexp.reduce(paths, axis=1) - np.log(paths.shape[1])
        weakest = mixed.min(axis=0)
        at = int(weakest.argmax())
        if weakest[at] > peak:
            peak = float(weakest[at])
            suspect = int(paths[mixed[:, at].argmin(), :, at].argmax())
        sums = paths[:, :, -1:]
    about = None if suspect < len(names) else int(there[(suspect - len(names)) % len(there)])
    of_model = Suspicion.FOR if suspect < len(names) + len(there) else Suspicion.AGAINST
    suspicion = names[suspect] if about is None else of_model
    return Flag(voter, suspicion, about, max(0.0, peak / np.log(10)))


def log_ratios(choices: VoterChoices, odds: Floats, null: Floats, there: Codes) -> Floats:
    """Returns the log likelihood ratio of each rigger to an honest voter for each choice: riggers x choices."""
    a = choices.a
    b = choices.b
    chose_a = choices.chose_a
    # chances that A is chosen
    honest = 1 / (1 + np.exp(-null))
    contrary = 1 / (1 + np.exp(odds))
    for_model = np.where(
        there[:, None] == a, _STEADY, np.where(there[:, None] == b, 1 - _STEADY, honest)
    )
    against = np.where(
        there[:, None] == a, 1 - _STEADY, np.where(there[:, None] == b, _STEADY, honest)
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
    """Returns the voters whose share of left choices lies outside what 99.9% of fair coins give."""
    voters, votes, left = _counted(voter, chose_a)
    off = np.abs(2 * left - votes) / np.sqrt(votes)
    return _habits(voters, off, off > _BEYOND, Suspicion.ONE_SIDED)


def hasty(voter: Codes, seconds: Floats, words: Codes) -> list[Flag]:
    """Returns the voters who chose sooner than the words can be read, in more than half of at least _HABIT choices."""
    voters, votes, fast = _counted(voter, seconds < words * (60 / WORDS_A_MINUTE))
    return _habits(voters, fast / votes, (votes >= _HABIT) & (2 * fast > votes), Suspicion.HASTY)


def inattentive(voter: Codes, wrong: NDArray[np.bool_]) -> list[Flag]:
    """Returns the voters who failed FAILED or more of their last CHECKS check items, given in the order they came."""
    last = np.zeros(len(voter), bool)
    for _, places in by_voter(voter):
        last[places[-CHECKS:]] = True
    voters, votes, failed = _counted(voter[last], wrong[last])
    return _habits(voters, failed / votes, failed >= FAILED, Suspicion.INATTENTIVE)


def _counted(voter: Codes, did: NDArray[np.bool_]) -> tuple[Codes, Codes, Codes]:
    """Returns the voters, their numbers of choices, and how many of these are marked in `did`."""
    voters, place, votes = np.unique(voter, return_inverse=True, return_counts=True)
    return voters, votes, np.bincount(place, did, minlength=len(voters)).astype(np.int64)


def _habits(
    voters: Codes, strength: Floats, has: NDArray[np.bool_], habit: Suspicion
) -> list[Flag]:
    found = zip(voters[has].tolist(), strength[has].tolist(), strict=True)
    return [Flag(voter, habit, None, extent) for voter, extent in found]
