"""Pools: the choices of many voters weighed together, of one network or of cookies issued on one day.

A few choices of one cookie prove nothing; those of a hundred may. The evidence against a pool is an e-value: under the
null hypothesis each voter follows Bradley-Terry fitted to everybody else's choices, with a taste of its own; under an
alternative a share of the pool's voters follows one pattern, for or against one model, contrary to the others or to one
side. The factors of independent voters multiply, and the mean over alternatives is an e-value again, so that an honest
pool ever passes 1/alpha with a chance of at most alpha. Of a pool that passes, those voters are flagged that are very
likely to follow the pattern.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from arena.fraud.detectors import (
    ENOUGH,
    OTHERS,
    PATTERNS,
    Flag,
    Suspicion,
    VoterChoices,
    by_voter,
    log_ratios,
    odds_of,
    odds_with_taste,
    taste_of_voters,
    without,
)
from arena.ratings.bradley_terry import Strengths, bradley_terry
from arena.ratings.votes import Codes, Floats

_SHARES = (0.01, 0.05, 0.2, 0.6)
"""Shares of a pool's voters that follow the pattern, each as likely as the others."""
_SURE = 0.9
"""Least probability of following the pattern with which a voter is flagged."""
_FEWEST = 3
"""Least number of voters that make a pool."""
_PASSES = 4
"""Times that all pools are weighed at most: what is found no longer hides what is not."""
_AT_A_TIME = 20_000
"""Choices weighed at once, so that a large pool takes no more memory."""


def pooled(
    choices: VoterChoices, models: int, pools: Sequence[tuple[Suspicion, Codes]], out: Codes
) -> tuple[Flag, ...]:
    """Return the flags of pools, each a reason and its voters; voters in `out` are flagged already and left aside."""
    found: dict[int, Flag] = {}
    taste = None
    for _ in range(_PASSES):
        left = choices.take(~np.isin(choices.voter, [*out, *found]))
        won, lost = np.where(left.chose_a, left.a, left.b), np.where(left.chose_a, left.b, left.a)
        wins = np.bincount(won * models + lost, minlength=models * models).reshape(models, models).astype(np.float64)
        fit = bradley_terry(wins)
        taste = taste_of_voters(left, fit.strengths)
        more = [flag for pool in pools for flag in _weighed(left, fit, taste, *pool)]
        found |= {flag.voter: flag for flag in more}
        if not more:
            break
    return tuple(found.values())


def _weighed(choices: VoterChoices, fit: Strengths, taste: float, reason: Suspicion, voters: Codes) -> Iterator[Flag]:
    """Yield the flags of one pool; tastes are weighed only if it passes without them."""
    pool = choices.take(np.isin(choices.voter, voters))
    count = len(np.unique(pool.voter))
    if count < _FEWEST or len(choices.a) - len(pool.a) < OTHERS * len(pool.a):
        return
    won, lost = np.where(pool.chose_a, pool.a, pool.b), np.where(pool.chose_a, pool.b, pool.a)
    odds = odds_of(pool, without(fit, won, lost))
    for null in dict.fromkeys((0.0, taste)):
        there, sums = _sums(pool, odds, null)
        strength, pattern, likely = _evidence(sums)
        if strength < ENOUGH:
            return
    about = None if pattern < len(PATTERNS) else int(there[(pattern - len(PATTERNS)) % len(there)])
    for voter in np.unique(pool.voter)[likely > _SURE].tolist():
        yield Flag(voter, reason, about, strength)


def _sums(pool: VoterChoices, odds: Floats, taste: float) -> tuple[Codes, Floats]:
    """Return the models there, and the log likelihood ratio of each pattern for each voter: patterns x voters."""
    there, sums = np.unique(np.concatenate([pool.a, pool.b])), []
    for _, places in by_voter(pool.voter):
        one = pool.take(places)
        null = odds_with_taste(one, odds[places], taste)
        sums.append(log_ratios(one, odds[places], null, there).sum(axis=1))
    return there, np.column_stack(sums)[1:]


def _evidence(sums: Floats) -> tuple[float, int, Floats]:
    """Return the decimal logarithm of the pool's e-value, its likeliest pattern, each voter's chance to follow it."""
    sums = sums.clip(-700, 700)
    logs = np.array([np.logaddexp(np.log1p(-share), np.log(share) + sums).sum(axis=1) for share in _SHARES])
    mixed = np.logaddexp.reduce(logs, axis=None) - np.log(logs.size)
    share, pattern = np.unravel_index(logs.argmax(), logs.shape)
    odds = np.log(_SHARES[share] / (1 - _SHARES[share])) + sums[pattern]
    return float(mixed / np.log(10)), int(pattern), 1 / (1 + np.exp(-odds))
