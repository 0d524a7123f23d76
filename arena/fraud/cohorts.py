"""Cohorts: the choices of guests with a common network or day of their cookies, tested together.

A few choices of one cookie prove nothing; those of a hundred may. The evidence against a cohort is an e-value: under
the null hypothesis each voter follows Bradley-Terry fitted to everybody else's choices, with a taste of its own; under
an alternative a share of the cohort's voters follows one pattern: for or against one model, contrary to the others, or
to one side. Choices that a shared taste explains, such as that of a class at one school, are no evidence. The factors
of independent voters multiply, and the mean over alternatives is an e-value again, so that an honest cohort passes
1/alpha with a chance of at most alpha. In a cohort that passes, the voters who very likely follow the pattern are
flagged."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.fraud.detectors import (
    ENOUGH,
    LEAST_OTHERS,
    PATTERNS,
    Flag,
    Suspicion,
    VoterChoices,
    log_odds,
    log_ratios,
    odds_with_taste,
    places_by_voter,
    spread_without,
    strengths_without,
    taste_of_voters,
    win_counts,
)
from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.votes import Codes, Floats

SHARES = (0.01, 0.05, 0.2, 0.6, 0.95)
"""Shares of a cohort's voters that follow the pattern, each as likely as the others."""
_SURE_CHANCE = 0.99
"""The least probability of following the pattern that flags a voter."""
FEWEST_IN_COHORT = 3
"""Least number of voters that make a cohort."""
_MOST_LOG_RATIO = 500.0
"""The limit of a log likelihood ratio: larger ones are clipped."""
_SHARED_WIDTH = 0.7
"""The standard deviation, in log odds, of a taste for each model that guests of one network or day may share."""
_NEWTON_STEPS = 10
"""The steps of Newton's method to the mode of a shared taste."""
_PASSES = 4
"""The most passes over all cohorts; each pass leaves out the voters flagged before, who may hide others."""


class _Evidence(NamedTuple):
    """The evidence that voters of a cohort follow a pattern."""

    strength: float
    """The decimal logarithm of the e-value."""
    pattern: int
    """The likeliest pattern, as a row of `_log_ratio_sums`."""
    chances: Floats
    """Each voter's probability of following it."""


class Cohort(NamedTuple):
    """Voters with something in common; `reason` names it in their flags."""

    reason: Suspicion
    voters: Codes


def cohort_flags(
    choices: VoterChoices,
    models: int,
    cohorts: Sequence[Cohort],
    out: Codes,
    set_aside: NDArray[np.bool_] | None = None,
) -> tuple[Flag, ...]:
    """Returns the flags of cohorts, at most one for a voter; choices of voters in `out` are excluded.

    The choices marked in `set_aside`, those of crowds, are not used to estimate models' strengths and voters' tastes.
    """
    flags: dict[int, Flag] = {}
    is_usable = np.ones(len(choices.a), bool) if set_aside is None else ~set_aside
    for _ in range(_PASSES):
        remains = ~np.isin(choices.voter, [*out, *flags])
        remaining = choices.take(remains)
        is_fitted = is_usable[remains]
        fitted = remaining.take(is_fitted)
        fit = bradley_terry(win_counts(fitted, models))
        places = dict(places_by_voter(remaining.voter))
        taste = cache(partial(taste_of_voters, fitted, fit.strengths))
        new_flags = [
            flag
            for cohort in cohorts
            for flag in _flags(remaining, is_fitted, places, cohort, fit, taste)
        ]
        # Reversed, so that of a voter's several flags the first cohort's stays.
        flags |= {flag.voter: flag for flag in reversed(new_flags)}
        if not new_flags:
            break
    return tuple(flags.values())


def _flags(
    choices: VoterChoices,
    is_fitted: NDArray[np.bool_],
    places: Mapping[int, Codes],
    cohort: Cohort,
    fit: Strengths,
    taste: Callable[[], float],
) -> Iterator[Flag]:
    """Yields the flags of a cohort. `places` are each voter's rows in `choices`.

    Tastes, and the uncertainty of strengths, take long and are considered only if the cohort passes without them.
    """
    present = np.array([voter for voter in sorted(cohort.voters.tolist()) if voter in places])
    if len(present) < FEWEST_IN_COHORT:
        return
    rows = np.concatenate([places[voter] for voter in present.tolist()])
    cohort_choices = choices.take(rows)
    if len(choices.a) - len(cohort_choices.a) < LEAST_OTHERS * len(cohort_choices.a):
        return
    fitted = cohort_choices.take(is_fitted[rows])
    won = np.where(fitted.chose_a, fitted.a, fitted.b)
    lost = np.where(fitted.chose_a, fitted.b, fitted.a)
    odds = log_odds(cohort_choices, strengths_without(fit, won, lost))
    models = np.unique(np.concatenate([cohort_choices.a, cohort_choices.b]))
    if _evidence(_log_ratio_sums(cohort_choices, odds, 0.0, models)).strength < ENOUGH:
        return
    evidence = _evidence(_log_ratio_sums(cohort_choices, odds, taste(), models))
    if evidence.strength < ENOUGH:
        return
    uncertain_odds = odds_with_taste(
        cohort_choices, odds, 0.0, spread_without(fit, won, lost, models)
    )
    uncertain = _evidence(_log_ratio_sums(cohort_choices, uncertain_odds, taste(), models))
    strength = evidence.strength - _shared_taste_evidence(cohort_choices, odds, taste(), models)
    strength = min(strength, uncertain.strength)
    if strength < ENOUGH:
        return
    model = _pattern_model(evidence.pattern, models)
    for voter in present[evidence.chances > _SURE_CHANCE].tolist():
        yield Flag(voter, cohort.reason, model, strength)


def _pattern_model(pattern: int, models: Codes) -> int | None:
    """Returns the model that a pattern is for or against; None for a pattern that concerns no model.

    The rows of `_log_ratio_sums` are PATTERNS, then each model's supporters, then each model's opponents.
    """
    if pattern < len(PATTERNS):
        return None
    return int(models[(pattern - len(PATTERNS)) % len(models)])


def _shared_taste_evidence(
    cohort: VoterChoices, odds: Floats, taste: float, models: Codes
) -> float:
    """Returns the evidence for a shared taste: the decimal logarithm of its likelihood ratio to no shared taste.

    The shared taste is normal with deviation _SHARED_WIDTH for each model, and integrated out around its mode
    (Laplace). A ratio below 1 counts as 1.
    """
    place_a = np.searchsorted(models, cohort.a)
    place_b = np.searchsorted(models, cohort.b)
    signs = np.where(cohort.chose_a, 1.0, -1.0)
    n = len(models)
    shared = np.zeros(n)
    information = np.eye(n)
    for _ in range(_NEWTON_STEPS):
        missed = 1 / (1 + np.exp(signs * (odds + shared[place_a] - shared[place_b])))
        slope = np.bincount(place_a, signs * missed, n)
        slope -= np.bincount(place_b, signs * missed, n) + shared / _SHARED_WIDTH**2
        curvature = missed * (1 - missed)
        side_curvature = np.bincount(place_a * n + place_b, curvature, n**2).reshape(n, n)
        pair_curvature = side_curvature + side_curvature.T
        information = np.diag(pair_curvature.sum(axis=1) + _SHARED_WIDTH**-2) - pair_curvature
        shared += np.linalg.solve(information, slope)
    with_shared = odds + shared[place_a] - shared[place_b]
    gain = _log_likelihood(cohort, with_shared, taste) - _log_likelihood(cohort, odds, taste)
    gain -= shared @ shared / (2 * _SHARED_WIDTH**2)
    gain -= np.linalg.slogdet(_SHARED_WIDTH**2 * information)[1] / 2
    return float(max(gain, 0) / np.log(10))


def _log_likelihood(cohort: VoterChoices, odds: Floats, taste: float) -> float:
    """Returns the natural log of the likelihood of voters' choices, each with a taste of its own."""
    log = 0.0
    for _, places in places_by_voter(cohort.voter):
        own = cohort.take(places)
        own_odds = odds_with_taste(own, odds[places], taste)
        log -= np.logaddexp(0, np.where(own.chose_a, -own_odds, own_odds)).sum()
    return float(log)


def _log_ratio_sums(cohort: VoterChoices, odds: Floats, taste: float, models: Codes) -> Floats:
    """Returns the log likelihood ratio of each pattern for each voter: patterns x voters, without the coin.

    The coin is the first row of `log_ratios`; a cohort that chooses at random rigs nothing.
    """
    sums = []
    for _, places in places_by_voter(cohort.voter):
        own = cohort.take(places)
        own_odds = odds[places]
        ratios = log_ratios(own, own_odds, odds_with_taste(own, own_odds, taste), models)
        sums.append(ratios[1:].sum(axis=1))
    return np.column_stack(sums)


def _evidence(log_ratio_sums: Floats) -> _Evidence:
    """Returns the mean of the e-values over all shares and patterns, and the likeliest pattern."""
    sums = log_ratio_sums.clip(-_MOST_LOG_RATIO, _MOST_LOG_RATIO)
    # Each voter follows the pattern with the chance `share`. The logarithms of the e-values are shares x patterns.
    logs = np.array(
        [np.logaddexp(np.log1p(-share), np.log(share) + sums).sum(axis=1) for share in SHARES]
    )
    mixed = np.logaddexp.reduce(logs, axis=None) - np.log(logs.size)
    share, pattern = np.unravel_index(logs.argmax(), logs.shape)
    odds = np.log(SHARES[share] / (1 - SHARES[share])) + sums[pattern]
    return _Evidence(
        strength=float(mixed / np.log(10)),
        pattern=int(pattern),
        chances=1 / (1 + np.exp(-odds)),
    )
