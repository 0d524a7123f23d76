"""Fraud tests: voters whose choices fit a rigger better than they fit the boards, and careless voters.

The evidence against a voter is a likelihood-ratio e-process. Under the null hypothesis each choice follows
Bradley-Terry fitted to everybody else's votes, with or without a taste of the voter's own: a random effect on each
model, as large as the tastes of all voters are. The null also includes the uncertainty of strengths that few votes of
others leave. The alternatives, in equal parts, are a coin, a contrarian, a voter who always chooses the same side, and
one who chooses for or against one model in all of its battles. By Ville's inequality a voter who follows the null ever
passes 1/alpha with a chance of at most alpha, so the test may be repeated after every vote. Evidence has to hold with
and without a taste, and the weaker counts: a voter who likes one model is no rigger if others like models as strongly.

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
_STEADY_CHANCE = 0.98
"""Probability with which a rigger follows its pattern."""
_LONG_STEP = 0.05
"""The Newton step, in log odds, above which strengths are fitted anew. Up to it, the error is far below the step."""
_CHOICES_A_CHUNK = 1000
"""The choices of a voter in one chunk, which bounds the memory for a voter with a million."""
_TASTES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""The candidates for the standard deviation of all tastes, in log odds; a larger one would hide every rigger."""
_SAMPLE_CHOICES = 4000
"""The choices that the deviation of tastes is estimated from."""
_SAMPLE_A_VOTER = 200
"""The most of these by one voter."""
_MODE_STEPS = 4
"""Newton's steps to the mode of a taste after a choice: the last is below 1e-3."""
_LEARNT_CHOICES = 2000
"""The choices that a voter's taste is learnt from, which bounds the time for a voter with a million."""
_MOST_LOG_ODDS = 30.0
"""The limit of log odds: larger ones are clipped."""
LEAST_OTHERS = 0.5
"""The least ratio of other voters' choices to a voter's own; below it there is nothing to compare with."""
_LIKELY_RATIO = 3.0
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
"""A rigger's patterns, apart from a coin, that concern no model."""
GROUP_REASONS = frozenset(
    {
        Suspicion.COHORT,
        Suspicion.NETWORK,
        Suspicion.CROWD,
        Suspicion.CROWD_FOR,
        Suspicion.CROWD_AGAINST,
    }
)
"""Reasons of flags whose strength is that of the evidence against a whole group of voters."""
WEAK_REASONS = frozenset({Suspicion.ONE_SIDED, Suspicion.HASTY})
"""Habits that honest voters can have: one alone excludes nobody from a board, both together do."""
CROWD_REASONS = frozenset({Suspicion.CROWD_FOR, Suspicion.CROWD_AGAINST})
"""Reasons for leaving out a voter's votes about one model: such a voter may be honest."""
_FAIR_RANGE = NormalDist().inv_cdf(1 - 0.001 / 2)
"""Standard errors within which a fair coin's share lies in 99.9% of cases."""
_LEAST_HASTY = 10
"""Least number of choices for haste to be a habit."""
CHECKS = 10
"""The number of a voter's last check items that are looked at."""
FAILED_CHECKS = 3
"""Failing this many of the last CHECKS flags a voter: a coin is flagged with 95%, an error rate of 1 in 20 with 1%."""
WORDS_A_MINUTE = 250
"""Reading speed."""


class VoterChoices(NamedTuple):
    """Choices in order: the models' codes on either side, whether A was chosen, and the voter."""

    a: Codes
    b: Codes
    chose_a: NDArray[np.bool_]
    voter: Codes

    def take(self, places: np.ndarray | slice) -> "VoterChoices":
        """Returns the choices at `places` (indices, a mask or a slice)."""
        return self._make(column[places] for column in self)


class Flag(NamedTuple):
    """A reason to suspect a voter."""

    voter: int
    reason: Suspicion
    """The suspicion; for evidence, the likeliest pattern when the e-value was largest."""
    model: int | None
    """The code of the model that it concerns."""
    strength: float
    """Its unit depends on the reason:

    - a voter's pattern: the decimal logarithm of the largest e-value
    - a cohort or a network: that of the cohort's e-value, less the evidence for a shared taste
    - a crowd: that of the likelihood ratio
    - one side: standard errors from half
    - other habits: a share
    """
    source: int | None = None
    """The source of the board that has the model; left out by `review`, where each code is a model on one board."""
    multi: bool | None = None
    """Whether that board has several images; left out likewise."""


def evidence(
    choices: VoterChoices, models: int, set_aside: NDArray[np.bool_] | None = None
) -> tuple[Flag, ...]:
    """Returns the evidence against each voter, the strongest first; `models` is the number of model codes.

    The choices marked in `set_aside`, those of crowds, are not used to measure voters. There is no evidence against a
    voter with more than twice the choices of all others. Tastes, and the uncertainty of strengths, are considered only
    for voters flagged without them, so a strength below ENOUGH is an upper bound.
    """
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    is_fitted = np.ones(len(won), bool) if set_aside is None else ~set_aside
    fitted = choices.take(is_fitted)
    fit = bradley_terry(win_counts(fitted, models))
    flags = []
    # A function, since it takes long and mostly no voter needs it.
    taste = cache(partial(taste_of_voters, fitted, fit.strengths))
    for voter, places in places_by_voter(choices.voter):
        if len(won) - len(places) < LEAST_OTHERS * len(places):
            flags.append(Flag(voter, Suspicion.COIN, None, 0.0))
            continue
        own = choices.take(places)
        fitted_places = places[is_fitted[places]]
        winners = won[fitted_places]
        losers = lost[fitted_places]
        odds = log_odds(own, strengths_without(fit, winners, losers))
        flag = _peak_flag(voter, own, odds, [odds])
        if flag.strength >= ENOUGH:
            met_models = np.unique(np.concatenate([own.a, own.b]))
            spread = spread_without(fit, winners, losers, met_models)
            with_taste = odds_with_taste(own, odds, taste(), spread)
            flag = _peak_flag(voter, own, odds, [odds, with_taste])
        flags.append(flag)
    return tuple(sorted(flags, key=lambda flag: (-flag.strength, flag.voter)))


def win_counts(choices: VoterChoices, models: int) -> Floats:
    """Returns the number of choices of each model over each other: models x models."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.bincount(won * models + lost, minlength=models * models)
    return wins.reshape(models, models).astype(np.float64)


def log_odds(choices: VoterChoices, strengths: Floats) -> Floats:
    """Returns the log odds that A is chosen, for each choice, clipped to _MOST_LOG_ODDS."""
    return np.clip(strengths[choices.a] - strengths[choices.b], -_MOST_LOG_ODDS, _MOST_LOG_ODDS)


def taste_of_voters(choices: VoterChoices, strengths: Floats) -> float:
    """Returns the largest deviation of tastes that a sample of the voters makes likely."""
    voters = [places[:_SAMPLE_A_VOTER] for _, places in places_by_voter(choices.voter)]
    samples: list[VoterChoices] = []
    sampled_choices = 0
    for number in np.random.default_rng(0).permutation(len(voters)):
        if sampled_choices >= _SAMPLE_CHOICES:
            break
        samples.append(choices.take(voters[number]))
        sampled_choices += len(voters[number])
    likely_taste = 0.0
    best = -np.inf
    for taste in _TASTES:
        log_likelihood = 0.0
        for sample in samples:
            own_odds = odds_with_taste(sample, log_odds(sample, strengths), taste)
            odds_against = np.where(sample.chose_a, -own_odds, own_odds)
            log_likelihood -= np.logaddexp(0, odds_against).sum()
        best = max(best, log_likelihood)
        if log_likelihood < best - _LIKELY_RATIO:  # The likelihood only falls after its peak.
            break
        likely_taste = taste
    return likely_taste


def odds_with_taste(
    choices: VoterChoices, odds: Floats, taste: float, spread: Floats | float = 0.0
) -> Floats:
    """Returns the log odds that a voter chooses A, for each choice given the ones before; `odds` are everybody's.

    The taste is normal with deviation `taste` on each model. Strengths are normal around those of `odds`, with
    covariance `spread` over the models that the voter met. The mean and covariance of their sum are updated from one
    choice's mode to the next, over the first _LEARNT_CHOICES choices. The uncertainty of both brings the returned log
    odds nearer to 0 (MacKay 1992).
    """
    if taste == 0 and not np.any(spread):
        return odds
    met_models, place = np.unique(np.concatenate([choices.a, choices.b]), return_inverse=True)
    mean = np.zeros(len(met_models))
    covariance = taste**2 * np.eye(len(met_models)) + spread
    own_odds = np.empty(len(odds))
    a_side, b_side = place.reshape(2, -1)
    learnt = slice(_LEARNT_CHOICES)
    signs = np.where(choices.chose_a[learnt], 1, -1)
    learnt_choices = zip(
        odds[learnt].tolist(),
        a_side[learnt].tolist(),
        b_side[learnt].tolist(),
        signs.tolist(),
        strict=True,
    )
    for number, (everybody_odds, a, b, sign) in enumerate(learnt_choices):
        gap_covariance = covariance[a] - covariance[b]
        variance = float(gap_covariance[a] - gap_covariance[b])
        expected = everybody_odds + float(mean[a] - mean[b])
        own_odds[number] = expected / math.sqrt(1 + math.pi * variance / 8)
        mode = expected
        for _ in range(_MODE_STEPS):
            chance_against = 1 / (1 + math.exp(sign * mode))
            slope = sign * chance_against - (mode - expected) / variance
            curvature = chance_against * (1 - chance_against) + 1 / variance
            mode += slope / curvature
        mean += gap_covariance * ((mode - expected) / variance)
        chance_against = 1 / (1 + math.exp(sign * mode))
        information = chance_against * (1 - chance_against)
        shrinkage = information / (1 + variance * information)
        covariance -= np.outer(gap_covariance, gap_covariance) * shrinkage
    rest = slice(_LEARNT_CHOICES, None)
    a = a_side[rest]
    b = b_side[rest]
    variances = covariance.diagonal()
    gap_variances = variances[a] + variances[b] - 2 * covariance[a, b]
    expected_odds = odds[rest] + mean[a] - mean[b]
    own_odds[rest] = expected_odds / np.sqrt(1 + np.pi * gap_variances / 8)
    return own_odds


def places_by_voter(voters: Codes) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yields each voter with the places of their choices, in order."""
    order = np.argsort(voters, kind="stable")
    codes, starts = np.unique(voters[order], return_index=True)
    ends = np.append(starts, len(order))[1:]
    for code, start, end in zip(codes.tolist(), starts, ends, strict=True):
        yield code, order[start:end]


def strengths_without(fit: Strengths, won: Codes, lost: Codes) -> Floats:
    """Returns the models' strengths, fitted without a voter's choices of `won` over `lost`.

    Models that the voter did not meet keep theirs. A Newton step from the fit of all choices leads there, with an error
    of the order of its length squared; a long step is replaced by a new fit.
    """
    strengths = fit.strengths.copy()
    if not len(won):
        return strengths
    met_models, place = np.unique(np.concatenate([won, lost]), return_inverse=True)
    winner, loser = place.reshape(2, -1)
    chance_against = 1 / (1 + np.exp(strengths[won] - strengths[lost]))
    curvature = chance_against * (1 - chance_against)
    slope = np.zeros(len(met_models))
    np.add.at(slope, winner, chance_against)
    np.add.at(slope, loser, -chance_against)
    information = np.zeros((len(met_models), len(met_models)))
    np.add.at(information, (winner, winner), curvature)
    np.add.at(information, (winner, loser), -curvature)
    np.add.at(information, (loser, loser), curvature)
    np.add.at(information, (loser, winner), -curvature)
    spread = fit.inverse[np.ix_(met_models, met_models)]
    # Solves (spread^-1 - information) @ step = -slope: others' information about these models alone.
    step = np.linalg.solve(np.eye(len(met_models)) - spread @ information, -spread @ slope)
    if np.abs(step).max() > _LONG_STEP:
        return _refit_without(fit, met_models, won, lost)
    strengths[met_models] += step
    return strengths


def spread_without(fit: Strengths, won: Codes, lost: Codes, met_models: Codes) -> Floats:
    """Returns the covariance of some models' strengths, fitted without the choices of `won` over `lost`."""
    wins_of_others = fit.wins.copy()
    np.subtract.at(wins_of_others, (won, lost), 1.0)
    fit_of_others = bradley_terry(wins_of_others, start=fit.strengths)
    return fit_of_others.inverse[np.ix_(met_models, met_models)]


def _refit_without(fit: Strengths, met_models: Codes, won: Codes, lost: Codes) -> Floats:
    """Fits strengths without a voter's choices, only for models that are linked with those the voter met."""
    wins_of_others = fit.wins.copy()
    np.subtract.at(wins_of_others, (won, lost), 1.0)
    linked = np.flatnonzero(fit.comparable[met_models].any(axis=0))
    linked_wins = wins_of_others[np.ix_(linked, linked)]
    strengths = fit.strengths.copy()
    strengths[linked] = bradley_terry(linked_wins, start=strengths[linked]).strengths
    return strengths


def _peak_flag(voter: int, choices: VoterChoices, odds: Floats, nulls: Sequence[Floats]) -> Flag:
    """Returns the flag at the peak of the evidence: the weakest of the e-values against the nulls, computed in chunks.

    `odds` are everybody's log odds that A is chosen, each of `nulls` those of an honest voter.
    """
    met_models = np.unique(np.concatenate([choices.a, choices.b]))
    suspicions = (Suspicion.COIN, *PATTERNS)
    riggers = len(suspicions) + 2 * len(met_models)
    log_ratios_so_far = np.zeros((len(nulls), riggers, 1))
    peak = -np.inf
    suspect = 0
    for start in range(0, len(choices.a), _CHOICES_A_CHUNK):
        chunk = slice(start, start + _CHOICES_A_CHUNK)
        ratios = [
            log_ratios(choices.take(chunk), odds[chunk], null[chunk], met_models) for null in nulls
        ]
        # The log likelihood ratios after each choice: nulls x riggers x choices.
        paths = log_ratios_so_far + np.cumsum(ratios, axis=2)
        log_evidence = np.logaddexp.reduce(paths, axis=1) - np.log(riggers)
        weakest = log_evidence.min(axis=0)
        choice = int(weakest.argmax())
        if weakest[choice] > peak:
            peak = float(weakest[choice])
            weakest_null = log_evidence[:, choice].argmin()
            suspect = int(paths[weakest_null, :, choice].argmax())
        log_ratios_so_far = paths[:, :, -1:]
    strength = max(0.0, peak / np.log(10))
    if suspect < len(suspicions):
        return Flag(voter, suspicions[suspect], None, strength)
    # The riggers after the first ones are each model's supporters, then each model's opponents.
    supported = suspect - len(suspicions)
    if supported < len(met_models):
        return Flag(voter, Suspicion.FOR, int(met_models[supported]), strength)
    opposed = supported - len(met_models)
    return Flag(voter, Suspicion.AGAINST, int(met_models[opposed]), strength)


def log_ratios(choices: VoterChoices, odds: Floats, null: Floats, met_models: Codes) -> Floats:
    """Returns the log likelihood ratio of each rigger to an honest voter for each choice: riggers x choices.

    Riggers are a coin, those of PATTERNS, then supporters and opponents of each model. `odds` are everybody's log odds
    that A is chosen, `null` those of an honest voter.
    """
    # The chances that A is chosen.
    honest = 1 / (1 + np.exp(-null))
    contrary = 1 / (1 + np.exp(odds))
    is_a = met_models[:, None] == choices.a
    is_b = met_models[:, None] == choices.b
    supporters = np.select([is_a, is_b], [_STEADY_CHANCE, 1 - _STEADY_CHANCE], honest)
    opponents = np.select([is_a, is_b], [1 - _STEADY_CHANCE, _STEADY_CHANCE], honest)
    coin = np.full((1, len(choices.a)), 0.5)
    left = np.full((1, len(choices.a)), _STEADY_CHANCE)
    right = 1 - left
    chances = np.vstack([coin, contrary[None], left, right, supporters, opponents])
    return np.where(
        choices.chose_a,
        np.log(chances) - np.log(honest),
        np.log1p(-chances) - np.log1p(-honest),
    )


# Habits.
def one_sided_flags(voter: Codes, chose_a: NDArray[np.bool_]) -> list[Flag]:
    """Returns flags on voters with a share of left choices outside the range of 99.9% of fair coins."""
    counts = _habit_counts(voter, chose_a)
    # Standard errors between the share of left choices and a half.
    distance = np.abs(2 * counts.marked - counts.choices) / np.sqrt(counts.choices)
    return _habit_flags(counts.voters, distance, distance > _FAIR_RANGE, Suspicion.ONE_SIDED)


def hasty_flags(voter: Codes, seconds: Floats, words: Codes) -> list[Flag]:
    """Returns flags on voters who were faster than anybody reads in more than half of at least _LEAST_HASTY choices."""
    is_fast = seconds < words * (60 / WORDS_A_MINUTE)
    counts = _habit_counts(voter, is_fast)
    is_hasty = (counts.choices >= _LEAST_HASTY) & (2 * counts.marked > counts.choices)
    return _habit_flags(counts.voters, counts.marked / counts.choices, is_hasty, Suspicion.HASTY)


def inattentive_flags(voter: Codes, wrong: NDArray[np.bool_]) -> list[Flag]:
    """Returns flags on voters who failed FAILED_CHECKS or more of their last CHECKS check items, which are in order."""
    is_last = np.zeros(len(voter), bool)
    for _, places in places_by_voter(voter):
        is_last[places[-CHECKS:]] = True
    counts = _habit_counts(voter[is_last], wrong[is_last])
    is_inattentive = counts.marked >= FAILED_CHECKS
    share = counts.marked / counts.choices
    return _habit_flags(counts.voters, share, is_inattentive, Suspicion.INATTENTIVE)


class _HabitCounts(NamedTuple):
    """Numbers of choices, by voter."""

    voters: Codes
    choices: Codes
    marked: Codes
    """The choices that show the habit."""


def _habit_counts(voter: Codes, is_marked: NDArray[np.bool_]) -> _HabitCounts:
    voters, place, choices = np.unique(voter, return_inverse=True, return_counts=True)
    marked = np.bincount(place, is_marked, minlength=len(voters)).astype(np.int64)
    return _HabitCounts(voters, choices, marked)


def _habit_flags(
    voters: Codes, strength: Floats, has_habit: NDArray[np.bool_], habit: Suspicion
) -> list[Flag]:
    """Returns a flag for each voter with the habit."""
    rows = zip(voters[has_habit].tolist(), strength[has_habit].tolist(), strict=True)
    return [Flag(voter, habit, None, voter_strength) for voter, voter_strength in rows]
