"""Lack of fit: the difference between the pairs' votes and Bradley-Terry's expectations.

Ratings describe the pairs as they were played: if models beat each other in a circle, more votes on one pair move them.
The number here measures this: the root mean square, over votes, of the differences between a pair's win rate and the
expected one, beyond chance. Chance is drawn (wild bootstrap of scores: Kline and Santos 2012): each cluster's surprises
get a random sign, and the part that a fit would absorb is removed. With clusters of items, the differences that voters
add make chance larger.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from arena.locale import t
from arena.ratings.bradley_terry import Status, Strengths
from arena.ratings.clusters import Cluster, cluster_codes, has_several, intersection_codes
from arena.ratings.intervals import ITEM_CLUSTERS
from arena.ratings.votes import SCORES, Codes, Floats, Votes, code_sums

ROUNDS = 399
"""The draws of chance: p is a multiple of 1/400."""
VOTER_ROUNDS = 99
"""The draws for the part that voters add."""
MOST_CLUSTERS = 2048
"""The most clusters; more are joined at random, which leaves them independent."""
MOST_NUMBERS = 2**21
"""The most numbers of draws in memory at once."""
LARGEST_P = 0.05
"""The largest p at which chance does not explain the differences."""
LEAST_CLUSTERS = 8
"""The fewest clusters with enough different random signs to estimate chance."""
SEED = 0
ROUNDING = 1e-9
"""The difference of distances that rounding may cause."""


class LackOfFit(NamedTuple):
    """The difference of a board's pairs from Bradley-Terry, and the most surprising pair."""

    share: float
    """The root mean square of the differences in win rate beyond chance, over votes."""
    p: float
    """The probability of differences this large if Bradley-Terry were true."""
    winner: int
    """The code of the model that won more than expected in the most surprising pair."""
    loser: int
    won: float
    """The winner's share of the pair's wins; a tie is half a win."""
    expected: float
    """The share that Bradley-Terry expects."""
    votes: int
    """Votes of the pair."""

    def in_words(self, winner: str, loser: str) -> str:
        """Returns a sentence without its full stop, with these names of the pair's models."""
        p = "p < 0.01" if self.p < 0.01 else f"p = {self.p:.2f}"
        points = 100 * self.share
        return t(
            "board.lack_of_fit",
            points=points,
            p=p if self.p <= LARGEST_P else t("board.by_chance", p=p),
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

    Models that are not `RATED` are left out. None if no pair can differ, since the pairs form no circle, or if there
    are too few clusters.
    """
    surprises = _Surprises(fit, votes)
    codes = cluster_codes(votes, cluster)
    clusters = len(np.unique(codes[surprises.is_counted]))
    if not surprises.circles or clusters < LEAST_CLUSTERS:
        return None
    coin = np.random.default_rng(seed)
    by_chance = surprises.draw_chance(codes, ROUNDS, coin)
    inflation = 1.0
    if cluster in ITEM_CLUSTERS and has_several(votes.voters):
        voters = cluster_codes(votes, "voter")
        by_voters = surprises.draw_chance(voters, VOTER_ROUNDS, coin)
        both = intersection_codes(codes, voters)
        by_both = surprises.draw_chance(both, VOTER_ROUNDS, coin)
        added = by_voters.distances.mean() - by_both.distances.mean()
        inflation += max(0.0, float(added)) / max(float(by_chance.distances.mean()), ROUNDING)
    distance = surprises.distance(surprises.by_pair)
    chance_distances = inflation * by_chance.distances
    beyond = max(0.0, float(distance - chance_distances.mean())) / surprises.votes.sum()
    deviation = np.sqrt(inflation * by_chance.squares)
    standardized = np.divide(
        np.abs(surprises.by_pair), deviation, where=deviation > 0, out=np.zeros_like(deviation)
    )
    pair = int(standardized.argmax())
    low = int(surprises.low[pair])
    high = int(surprises.high[pair])
    has_low_won_more = surprises.by_pair[pair] > 0
    winner = low if has_low_won_more else high
    loser = high if has_low_won_more else low
    pair_votes = float(surprises.votes[pair])
    expected = float(fit.chances[winner, loser])
    return LackOfFit(
        share=float(np.sqrt(beyond)),
        p=float((1 + (chance_distances >= distance - ROUNDING).sum()) / (1 + ROUNDS)),
        winner=winner,
        loser=loser,
        won=expected + abs(float(surprises.by_pair[pair])) / pair_votes,
        expected=expected,
        votes=int(pair_votes),
    )


class _Chance(NamedTuple):
    """The differences of pairs by chance."""

    distances: Floats
    """The distances by round."""
    squares: Floats
    """The mean square of the surprise, by pair."""


class _Surprises:
    """The wins of the lower model, by code, of each pair that met, less the expected ones."""

    def __init__(self, fit: Strengths, votes: Votes) -> None:
        m = votes.models
        # A difference that only the prior causes is no surprise.
        is_rated = np.array([status is Status.RATED for status in fit.statuses], dtype=bool)
        is_counted = fit.comparable[votes.a, votes.b] & is_rated[votes.a] & is_rated[votes.b]
        self.is_counted = is_counted
        """The mask of votes whose two models have a rating on one scale."""
        is_b_lower = votes.a > votes.b
        low = np.where(is_b_lower, votes.b, votes.a).astype(np.int64)
        high = np.where(is_b_lower, votes.a, votes.b)
        won = np.where(is_b_lower, 1 - SCORES[votes.outcome], SCORES[votes.outcome])
        pairs, self._pair = np.unique((low * m + high)[is_counted], return_inverse=True)
        self._surprise = (won - fit.chances[low, high])[is_counted]
        self.low = pairs // m
        """The lower model of each pair."""
        self.high = pairs % m
        self.by_pair = code_sums(self._pair, self._surprise, len(pairs))
        """The surprise of each pair, in wins of its lower model."""
        self.votes = np.bincount(self._pair, minlength=len(pairs)).astype(np.float64)
        """The number of votes on each pair."""
        self._fit = fit
        chance = fit.chances[self.low, self.high]
        self._information = (self.votes * chance * (1 - chance))[:, None]
        models = np.unique(np.concatenate([self.low, self.high]))
        groups = len(np.unique(fit.components[models]))
        self.circles = len(pairs) - len(models) + groups
        """The number of independent circles in the graph of pairs."""

    def distance(self, by_pair: Floats) -> Floats:
        """Returns the sum over votes of the squared surprise of their pair's win rate.

        `by_pair` has a surprise for each pair, or is pairs x rounds for a distance by round.
        """
        return by_pair.T**2 @ (1 / self.votes)

    def draw_chance(self, codes: Codes, rounds: int, coin: np.random.Generator) -> _Chance:
        """Draws chance for the pairs; votes of a cluster, by `codes`, share their sign."""
        distances = []
        squares = np.zeros(len(self.by_pair))
        for block in self._draw_blocks(codes[self.is_counted], rounds, coin):
            distances.append(self.distance(block))
            squares += (block**2).sum(1)
        return _Chance(np.concatenate(distances), squares / rounds)

    def _draw_blocks(
        self, codes: Codes, rounds: int, coin: np.random.Generator
    ) -> Iterator[Floats]:
        """Yields drawn surprises of the pairs in blocks: pairs x rounds."""
        from scipy.sparse import csr_array

        clusters = int(codes.max(initial=-1)) + 1
        if clusters > MOST_CLUSTERS:
            codes = coin.permutation(clusters)[codes] % MOST_CLUSTERS
            clusters = MOST_CLUSTERS
        shape = (len(self.by_pair), clusters)
        surprises = self._without_own_pull(codes, clusters)
        by_cluster = csr_array((surprises, (self._pair, codes)), shape=shape)
        rounds_a_block = max(1, MOST_NUMBERS // max(shape))
        for first in range(0, rounds, rounds_a_block):
            block_rounds = min(rounds_a_block, rounds - first)
            signs = coin.choice([-1.0, 1.0], (clusters, block_rounds))
            yield self._beyond_fit(by_cluster @ signs)

    def _without_own_pull(self, codes: Codes, clusters: int) -> Floats:
        """Returns each vote's surprise at a fit without the votes of its cluster, to first order."""
        models = len(self._fit.strengths)
        cells = clusters * models
        # The cells of clusters x models that hold each vote's two models.
        low = codes * models + self.low[self._pair]
        high = codes * models + self.high[self._pair]
        score = code_sums(low, self._surprise, cells) - code_sums(high, self._surprise, cells)
        pull = (score.reshape(clusters, models) @ self._fit.inverse).ravel()
        information_a_vote = self._information[:, 0] / self.votes
        return self._surprise + information_a_vote[self._pair] * (pull[low] - pull[high])

    def _beyond_fit(self, by_pair: Floats) -> Floats:
        """Returns surprises (pairs x rounds) without the part that a fit to them absorbs."""
        from scipy.sparse import csr_array

        pairs = len(self.by_pair)
        models = len(self._fit.strengths)
        # The incidence matrix, pairs x models: 1 for the lower model, -1 for the higher.
        signs = np.repeat([1.0, -1.0], pairs)
        rows = np.tile(np.arange(pairs), 2)
        columns = np.concatenate([self.low, self.high])
        incidence = csr_array((signs, (rows, columns)), shape=(pairs, models))
        absorbed = self._fit.inverse @ (incidence.T @ by_pair)
        return by_pair - self._information * (incidence @ absorbed)
