"""Coverage of the intervals in simulated arenas: `python -m perf.coverage [--cluster tuple] [--runs 100]`.

Each design draws items and voters anew in every run. The truth is the Bradley-Terry fit to the expected votes on
infinitely many items, by infinitely many voters of the same kind, with the design's pairs: every model's answer to an
item has a quality of its own, every voter tastes of his own. Targets: intervals of 95% hold the truth in 93 to 98% of
runs on the average of the models and in 90% for each, and are at most 1.25 times as wide as the middle 95% of the
ratings over the runs; with fewer than 20 items they hold it in 90%. `perf.mark_coverage` follows: people's marks.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.clusters import Cluster
from arena.ratings.intervals import intervals
from arena.ratings.votes import Floats, Outcome, Votes
from perf import mark_coverage

RUNS = 1000
SCALE = 0.65
"""Deviation of most designs' strengths in log odds: 113 rating points."""
FEWEST = 0.90
SHORTEST = 0.93
LONGEST = 0.98
WIDEST = 1.25
FEW_ITEMS = 20
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True)
class Design:
    """An arena: how many take part, and how they vote."""

    name: str
    models: int
    items: int
    votes: int
    voters: int = 400
    quality: float = 0.5
    """Deviation, in log odds, of an answer's own quality."""
    taste: float = 0.0
    """Deviation of a voter's liking of a model."""
    bias: float = 0.0
    """Log odds that the left side has on its side."""
    lazy: float = 0.0
    """Share of votes by the toss of a coin."""
    ties: float = 0.0
    """Share of votes that are ties."""
    each: int = 1
    """Votes, by different voters, on an (item, pair) tuple."""
    star: bool = False
    """Whether all battles are with the first model."""
    scale: float = SCALE
    """Deviation of the models' strengths; 0 where all are equal."""

    @property
    def strengths(self) -> Floats:
        drawn = np.random.default_rng(7).normal(0, self.scale, self.models)
        return drawn - drawn.mean()


DESIGNS = (
    Design("63 items", 8, 63, 2_000),
    Design("63 items, more votes", 8, 63, 10_000),
    Design("63 items, few votes", 8, 63, 1_000, quality=1.0),
    Design("574 items", 7, 574, 20_000),
    Design("574 items, all answers alike", 12, 574, 5_000, quality=0.0),
    Design("574 items, answers far apart", 12, 574, 20_000, quality=1.0),
    Design("star around a hub", 10, 574, 10_000, quality=1.0, star=True),
    Design("five votes a tuple", 8, 574, 5_000, quality=1.0, each=5),
    Design("biased, lazy, ties", 8, 63, 5_000, bias=0.5, lazy=0.2, ties=0.2),
    Design("tasteful voters", 8, 574, 10_000, voters=60, taste=0.7),
    Design("15 items", 6, 15, 2_000, quality=1.0),
    Design("8 items", 4, 8, 400, quality=1.0),
)


class Coverage(NamedTuple):
    """What the intervals of a design's runs hold: by model, and their mean width beside the ratings' own."""

    held: Floats
    width: float
    """Mean width over the width of the middle 95% of the ratings."""

    def misses(self, design: Design) -> bool:
        """Return whether a target is missed."""
        if design.items < FEW_ITEMS:
            return bool(self.held.mean() < FEWEST)
        return not (
            SHORTEST <= self.held.mean() <= LONGEST
            and self.held.min() >= FEWEST
            and self.width <= WIDEST
        )


def truth(design: Design) -> Floats:
    """Return the ratings of a fit to the expected votes."""
    gap = design.strengths[:, None] - design.strengths[None, :]
    spread = np.sqrt(2 * (design.quality**2 + design.taste**2))
    shifted = gap[:, :, None, None] + spread * NODES + design.bias * np.array([[1], [-1]])
    chance = (1 / (1 + np.exp(-shifted)) @ WEIGHTS / WEIGHTS.sum()).mean(2)
    wins = (1 - design.lazy) * chance + design.lazy / 2
    wins = (1 - design.ties) * wins + design.ties / 2
    met = np.ones_like(wins) - np.eye(design.models)
    if design.star:
        met[1:, 1:] = 0
    return bradley_terry(1e6 * wins * met).ratings


def votes_of(design: Design, coin: np.random.Generator) -> Votes:
    """Draw the votes of one run."""
    m = design.models
    tuples = design.votes // design.each
    item = coin.integers(0, design.items, tuples).repeat(design.each)
    a = coin.integers(0, m, tuples)
    b = (a + coin.integers(1, m, tuples)) % m
    if design.star:
        a = np.zeros(tuples, int)
        b = coin.integers(1, m, tuples)
        swap = coin.random(tuples) < 0.5
        a, b = np.where(swap, b, a), np.where(swap, a, b)
    a = a.repeat(design.each)
    b = b.repeat(design.each)
    voter = coin.integers(0, design.voters, len(a))
    worth = coin.normal(0, design.quality, (design.items, m))
    liking = coin.normal(0, design.taste, (design.voters, m))
    side = np.where(coin.random(len(a)) < 0.5, 1, -1)
    gap = (
        design.strengths[a]
        - design.strengths[b]
        + worth[item, a]
        - worth[item, b]
        + liking[voter, a]
    )
    chance = 1 / (1 + np.exp(-(gap - liking[voter, b] + design.bias * side)))
    chance = np.where(coin.random(len(a)) < design.lazy, 0.5, chance)
    outcome = np.where(coin.random(len(a)) < chance, Outcome.A, Outcome.B)
    outcome = np.where(coin.random(len(a)) < design.ties, Outcome.TIE, outcome).astype(np.int8)
    return Votes(a, b, outcome, m, item, voter)


def coverage(design: Design, runs: int, cluster: Cluster = "item") -> Coverage:
    """Return the share of a design's runs whose intervals hold the truth."""
    wanted = truth(design)
    held = []
    ratings = []
    widths = []
    for run in range(runs):
        votes = votes_of(design, np.random.default_rng(run))
        fit = bradley_terry(win_matrix(votes))
        found = intervals(fit, votes, cluster)
        held.append((found.low <= wanted) & (wanted <= found.high))
        ratings.append(fit.ratings)
        widths.append(found.high - found.low)
    low, high = np.quantile(ratings, (0.025, 0.975), axis=0)
    return Coverage(np.mean(held, axis=0), float(np.mean(widths) / np.mean(high - low)))


def main(words: Sequence[str] = ()) -> int:
    """Print each design's coverage; return 1 if a target was missed."""
    parser = ArgumentParser("python -m perf.coverage")
    parser.add_argument("--cluster", choices=("item", "tuple", "voter", "vote"), default="item")
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args(words)
    missed = 0
    print(
        f"intervals by {asked.cluster}, {asked.runs} runs; the truth is the fit for new items and voters of this kind"
    )
    print(f"{'':>30} {'models':>6} {'items':>5} {'votes':>6} {'held':>6} {'least':>6} {'width':>6}")
    for design in DESIGNS:
        found = coverage(design, asked.runs, asked.cluster)
        missed += found.misses(design)
        told = f"{found.held.mean():>6.1%} {found.held.min():>6.1%} {found.width:>6.2f}"
        shape = f"{design.name:>30} {design.models:>6} {design.items:>5} {design.votes:>6}"
        print(f"{shape} {told}{'  misses its target' if found.misses(design) else ''}", flush=True)
    missed += mark_coverage.printed(asked.runs)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
