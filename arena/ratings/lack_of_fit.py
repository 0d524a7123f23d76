"""Lack of fit: the difference between the pairs' votes and Bradley-Terry's expectations.

Ratings describe the pairs as they were played: if models beat each other in a circle, more votes on one pair move them.
The number here measures this: the root mean square, over votes, of the differences between a pair's win rate and the
expected one, beyond chance. Chance is drawn (wild bootstrap of scores: Kline and Santos 2012): each cluster's surprises
get a random sign, and the part that a fit would absorb is removed. Voters make chance larger if they count too.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from arena.locale import t
from arena.ratings.bradley_terry import Status, Strengths
from arena.ratings.clusters import Cluster, cluster_codes, has_several, intersection_codes
from arena.ratings.intervals import OF_ITEMS
from arena.ratings.votes import SCORES, Codes, Floats, Votes, summed

ROUNDS = 399
"""The draws of chance: p is a multiple of 1/400."""
FEWER = 99
"""The draws for the part that voters add."""
MOST_CLUSTERS = 2048
"""The most clusters; more are joined at random, which leaves them independent."""
CELLS = 2**21
"""The most numbers of draws in memory at once."""
SURE = 0.05
"""The largest p that chance does not explain."""
LEAST_CLUSTERS = 8
"""The fewest clusters with enough different random signs to estimate chance."""
SEED = 0
ROUNDED = 1e-9
"""The difference of distances that rounding may cause."""


class LackOfFit(NamedTuple):
    """The difference of a board's pairs from Bradley-Terry, and the most surprising pair."""

    share: float
    """The root mean square of the differences in win rate beyond chance, over votes."""
    p: float
    """The probability of differences this large if Bradley-Terry were true."""
    winner: int
    """The model of the most surprising pair that won more than expected, by code."""
    loser: int
    won: float
    """Its share of the pair's wins; a tie is half a win."""
    expected: float
    votes: int
    """Votes of the pair."""

    def in_words(self, winner: str, loser: str) -> str:
        """Returns a sentence without its full stop, with these names of the pair's models."""
        p = "p < 0.01" if self.p < 0.01 else f"p = {self.p:.2f}"
        points = 100 * self.share
        return t(
            "board.lack_of_fit",
            points=points,
            p=p if self.p <= SURE else t("board.by_chance", p=p),
            winner=winner,
            loser=loser,
            won=self.won,
            votes=self.votes,
            expected=self.expected,
        )


def lack_of_fit(
    fit: Strengths, votes: Votes, cluster: Cluster, seed: int = SEED
) -> LackOfFit | None:
    """Compares the pairs of votes with a fit to them, clustered as intervals are.

    Models that have only won or only lost are left out. None if no pair can differ, since no three models met in a
    circle, or if there are too few clusters.
    """
    surprises = _Surprises(fit, votes)
    codes = cluster_codes(votes, cluster)
    if not surprises.circles or int(codes.max(initial=-1)) + 1 < LEAST_CLUSTERS:
        return None
    coin = np.random.default_rng(seed)
    chance = surprises.chance(codes, ROUNDS, coin)
    more = 1.0
    if cluster in OF_ITEMS and has_several(votes.voters):
        voters = cluster_codes(votes, "voter")
        by_voters = surprises.chance(voters, FEWER, coin)
        by_both = surprises.chance(intersection_codes(codes, voters), FEWER, coin)
        added = by_voters.distances.mean() - by_both.distances.mean()
        more += max(0.0, float(added)) / max(float(chance.distances.mean()), ROUNDED)
    distance = surprises.distance(surprises.pairs)
    by_chance = more * chance.distances
    beyond = max(0.0, float(distance - by_chance.mean())) / surprises.games.sum()
    deviation = np.sqrt(more * chance.squares)
    size = np.divide(
        np.abs(surprises.pairs), deviation, where=deviation > 0, out=np.zeros_like(deviation)
    )
    most = int(size.argmax())
    low, high = divmod(int(surprises.codes[most]), votes.models)
    has_low_won = surprises.pairs[most] > 0
    winner = low if has_low_won else high
    loser = high if has_low_won else low
    games = float(surprises.games[most])
    expected = float(fit.chances[winner, loser])
    return LackOfFit(
        share=float(np.sqrt(beyond)),
        p=float((1 + (by_chance >= distance - ROUNDED).sum()) / (1 + ROUNDS)),
        winner=winner,
        loser=loser,
        won=expected + abs(float(surprises.pairs[most])) / games,
        expected=expected,
        votes=int(games),
    )


class _Chance(NamedTuple):
    """The differences of pairs by chance."""

    distances: Floats
    """The distances by round."""
    squares: Floats
    """The mean square of the surprise, by pair."""


class _Surprises:
    """The wins of the first model, by code, of each pair that met, less the expected ones."""

    def __init__(self, fit: Strengths, votes: Votes) -> None:
        m = votes.models
        # A difference that only the prior causes is no surprise.
        rated = np.array([status is Status.RATED for status in fit.statuses], dtype=bool)
        counted = fit.comparable[votes.a, votes.b] & rated[votes.a] & rated[votes.b]
        self._counted = counted
        turned = votes.a > votes.b
        low = np.where(turned, votes.b, votes.a).astype(np.int64)
        high = np.where(turned, votes.a, votes.b)
        won = np.where(turned, 1 - SCORES[votes.outcome], SCORES[votes.outcome])
        self.codes, self._pair = np.unique((low * m + high)[counted], return_inverse=True)
        self._surprise = (won - fit.chances[low, high])[counted]
        size = len(self.codes)
        self.pairs = summed(self._pair, self._surprise, size)
        self.games = np.bincount(self._pair, minlength=size).astype(np.float64)
        self._low = self.codes // m
        self._high = self.codes % m
        self._fit = fit
        chance = fit.chances[self._low, self._high]
        self._information = (self.games * chance * (1 - chance))[:, None]
        met = np.unique(np.concatenate([self._low, self._high]))
        groups = len(np.unique(fit.components[met]))
        self.circles = size - len(met) + groups

    def distance(self, pairs: Floats) -> Floats:
        """Returns the sum over votes of the squared surprise of their pair's win rate."""
        return (pairs.T**2 @ (1 / self.games)).T

    def chance(self, codes: Codes, rounds: int, coin: np.random.Generator) -> _Chance:
        """Draws chance for the pairs; votes of a cluster share their sign."""
        distances = []
        squares = np.zeros(len(self.pairs))
        for drawn in self._drawn(codes[self._counted], rounds, coin):
            distances.append(self.distance(drawn))
            squares += (drawn**2).sum(1)
        return _Chance(np.concatenate(distances), squares / rounds)

    def _drawn(self, codes: Codes, rounds: int, coin: np.random.Generator) -> Iterator[Floats]:
        """Yields blocks of draws: pairs x rounds."""
        from scipy.sparse import csr_array

        clusters = int(codes.max(initial=-1)) + 1
        if clusters > MOST_CLUSTERS:
            codes = coin.permutation(clusters)[codes] % MOST_CLUSTERS
            clusters = MOST_CLUSTERS
        shape = (len(self.pairs), clusters)
        own = csr_array((self._without_own(codes, clusters), (self._pair, codes)), shape=shape)
        block = max(1, CELLS // max(shape))
        for first in range(0, rounds, block):
            signs = coin.choice([-1.0, 1.0], (clusters, min(block, rounds - first)))
            yield self._beyond_fit(own @ signs)

    def _without_own(self, codes: Codes, clusters: int) -> Floats:
        """Returns the votes' surprises, to first order, at a fit that their own cluster did not pull towards itself."""
        models = len(self._fit.strengths)
        cells = clusters * models
        low = codes * models + self._low[self._pair]
        high = codes * models + self._high[self._pair]
        score = summed(low, self._surprise, cells) - summed(high, self._surprise, cells)
        pull = (score.reshape(clusters, models) @ self._fit.inverse).ravel()
        per_vote = self._information[:, 0] / self.games
        return self._surprise + per_vote[self._pair] * (pull[low] - pull[high])

    def _beyond_fit(self, pairs: Floats) -> Floats:
        """Returns these surprises without the part that a fit to them absorbs."""
        from scipy.sparse import csr_array

        size = len(self.pairs)
        models = len(self._fit.strengths)
        row = np.tile(np.arange(size), 2)
        sides = csr_array(
            (np.repeat([1.0, -1.0], size), (row, np.concatenate([self._low, self._high]))),
            shape=(size, models),
        )
        moved = self._fit.inverse @ (sides.T @ pairs)
        return pairs - self._information * (sides @ moved)
