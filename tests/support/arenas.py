"""Simulated arenas: models of known strength, and votes that hang together or do not."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arena.ratings.votes import Codes, Floats, Votes

POINTS = 400 / np.log(10)


class Arena(NamedTuple):
    """Planted ratings (mean 1000) and votes on them."""

    truth: Floats
    votes: Votes


def decided(winners: Sequence[int], losers: Sequence[int], models: int) -> Votes:
    """Votes without ties, from the codes of winners and losers."""
    won, lost = np.asarray(winners, np.int32), np.asarray(losers, np.int32)
    return Votes(won, lost, np.zeros(len(won), np.int8), models)


def strengths(coin: np.random.Generator, models: int) -> Floats:
    drawn = coin.normal(0, 110 / POINTS, models)
    return drawn - drawn.mean()


def matches(coin: np.random.Generator, models: int, number: int) -> np.ndarray:
    """Draw pairs of models, the popular ones more often; every model plays."""
    popularity = 1 / np.arange(1, models + 1) ** 0.7
    drawn = coin.choice(models, (number, 2), p=coin.permutation(popularity / popularity.sum()))
    drawn[:models, 0] = np.arange(models)[: min(number, models)]
    alike = drawn[:, 0] == drawn[:, 1]
    drawn[alike, 1] = (drawn[alike, 1] + coin.integers(1, models, alike.sum())) % models
    return drawn


def tuple_arena(seed: int, models: int, number: int, each: int = 5, spread: float = 2.0) -> Arena:
    """Votes that come `each` to an (item, pair) tuple, whose own chance of a win is Beta around the models'.

    The chance's mean is Bradley-Terry's, so the planted strengths are the truth; 1 / (1 + spread) is how much of a
    vote's variance its tuple explains (spread 0: none).
    """
    coin = np.random.default_rng(seed)
    theta = strengths(coin, models)
    pairs = matches(coin, models, number // each)
    chance = 1 / (1 + np.exp(theta[pairs[:, 1]] - theta[pairs[:, 0]]))
    own = coin.beta(chance * spread, (1 - chance) * spread) if spread else chance
    a, b = np.repeat(pairs, each, axis=0).T.astype(np.int32)
    lost = (coin.random(len(a)) > np.repeat(own, each)).astype(np.int8)
    items = np.repeat(np.arange(len(pairs)), each)
    return Arena(theta * POINTS + 1000, Votes(a, b, lost, models, items=items))


def voter_arena(
    seed: int, models: int, number: int, voters: int, stubborn: float, each: int = 1
) -> Arena:
    """Votes of people who, so often as they are stubborn, decide by their own fixed threshold instead of a fresh one.

    A threshold is even over 0 to 1, so every vote alone has Bradley-Terry's chance; a voter's votes hang together. With
    `each` above 1 the votes of a tuple share a threshold as often as a voter's do.
    """
    coin = np.random.default_rng(seed)
    theta = strengths(coin, models)
    pairs = matches(coin, models, number // each)
    pairs.sort(axis=1)
    a, b = np.repeat(pairs, each, axis=0).T.astype(np.int32)
    voter = coin.integers(0, voters, len(a))
    item = np.repeat(np.arange(len(pairs)), each)
    threshold = coin.random(len(a))
    kind = coin.random(len(a))
    threshold = np.where(kind < stubborn, coin.random(voters)[voter], threshold)
    if each > 1:
        threshold = np.where(kind > 1 - stubborn, coin.random(len(pairs))[item], threshold)
    lost = (threshold > 1 / (1 + np.exp(theta[b] - theta[a]))).astype(np.int8)
    return Arena(theta * POINTS + 1000, Votes(a, b, lost, models, items=item, voters=voter))


def even_votes(seed: int, models: int, number: int, ties: float = 0.0) -> Votes:
    """Votes on models of random strength, every pair as likely, some tied or bad on both sides."""
    coin = np.random.default_rng(seed)
    theta = strengths(coin, models)
    a = coin.integers(0, models, number)
    b = (a + coin.integers(1, models, number)) % models
    outcome: Codes = (coin.random(number) > 1 / (1 + np.exp(theta[b] - theta[a]))).astype(np.int8)
    tied = coin.random(number) < ties
    outcome[tied] = coin.integers(2, 4, tied.sum())
    return Votes(
        a.astype(np.int32), b.astype(np.int32), outcome, models, coin.integers(0, 50, number), a % 7
    )


def votes_of_wins(wins: Floats) -> Votes:
    """Each win of a matrix as a vote."""
    won, lost = np.nonzero(wins)
    count = wins[won, lost].astype(int)
    return decided(np.repeat(won, count), np.repeat(lost, count), len(wins))


REFERENCE, SINGLE = 0, (1439, 1462, 1507, 1345, 1315, 1513, 1441)
AGAINST = ((244, 0.2623), (259, 0.2741), (214, 0.1495), (194, 0.1237), (299, 0.1472), (229, 0.1048))


def table_3() -> Votes:
    """Votes with the totals of Table 3's single-image board: who met whom as often as the totals leave."""
    winners, losers = [], []
    for model, (met, rate) in enumerate(AGAINST, 1):
        won = round(met * rate)
        winners += [model] * won + [REFERENCE] * (met - won)
        losers += [REFERENCE] * won + [model] * (met - won)
    left = {model: total - AGAINST[model - 1][0] for model, total in enumerate(SINGLE) if model}
    while any(left.values()):
        first, second = sorted(left, key=lambda model: -left[model])[:2]
        winners.append(first)
        losers.append(second)
        left[first] -= 1
        left[second] -= 1
    return decided(winners, losers, len(SINGLE))
