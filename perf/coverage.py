"""Coverage of intervals in simulations: `python -m perf.coverage [--runs 100] [--only "busy"]`.

Each simulation draws items and voters anew in every run, seeded by its name. A board's truth is the Bradley-Terry
fit to the expected votes on infinitely many items, by infinitely many voters of the same kind, with the design's pairs:
every model's answer to an item has a quality of its own, and every voter a taste. The truth of win rates is likewise a
model's expected share; `_score_coverage` and `_mark_coverage` say what the truth of scores and marks is.

Targets: intervals of 95% hold the truth in 93 to 98% of runs on the average of the cells (models) and in 90% for each,
and are at most 1.25 times as wide as the middle 95% of the numbers over the runs. Harder simulations have targets of
their own.

Boards of equal models are looked at every 50 votes: on at most 5% some pair is ever settled. On at most 7% of boards
some model's place is outside its rank set. On at most 7% votes drawn by Bradley-Terry are found to differ from it.
(The level of rank sets, and of this test, is 5%.) Models that beat each other in a circle are found on at least 90%.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.clusters import Cluster
from arena.ratings.intervals import intervals
from arena.ratings.lack_of_fit import LARGEST_P, lack_of_fit
from arena.ratings.rank_sets import rank_sets
from arena.ratings.settled import ALPHA, LOOK_EVERY, look
from arena.ratings.shares import clustered_shares
from arena.ratings.votes import Floats, Outcome, Votes
from perf import _mark_coverage
from perf._score_coverage import SCORES
from perf._simulations import Estimates, Simulation, Target, coin_of, coverage, results

RUNS = 1000
SCALE = 0.65
"""Deviation of most designs' strengths in log odds: 113 rating points."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
"""Gauss-Hermite quadrature, for expectations over a normal distribution."""
FEW_ITEMS = Target(least_share=0.90, most_share=1.0, most_width=2.0)
FEW_VOTERS = Target(most_share=1.0, most_width=10.0)
"""Wide, since the spread of two voters has one degree of freedom: Student's quantile is 12.7."""
SHARES = Target(least_share=0.92, most_share=1.0, most_width=2.0)


@dataclass(frozen=True)
class Design:
    """An arena: how many take part, and how they vote.

    In the lists below, the numbers after the name are models, items, votes and voters.
    """

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
    """Log odds in favour of one side of the screen."""
    lazy: float = 0.0
    """Share of votes by the toss of a coin."""
    ties: float = 0.0
    """Share of votes that are ties."""
    votes_per_tuple: int = 1
    """Votes on an (item, pair) tuple, each by a voter drawn anew."""
    is_star: bool = False
    """Whether the first model is in all battles."""
    scale: float = SCALE
    """Deviation of the models' strengths; 0 where all are equal."""
    busy: float = 0.0
    """Share of the votes that the busiest voter casts; 0 if all voters are equally busy."""
    has_lone_voter: bool = False
    """Whether one voter casts all votes on the first model."""
    on_picture: int = 1
    """Items on one picture, on which a model's answers all have the same quality."""
    has_names: bool = True
    """Whether the votes say who cast them."""
    circle: float = 0.0
    """Log odds beyond Bradley-Terry that a model has against the half of the models after it in a ring."""
    cluster: Cluster = "picture"
    target: Target = Target()

    @property
    def strengths(self) -> Floats:
        drawn = np.random.default_rng(7).normal(0, self.scale, self.models)
        return drawn - drawn.mean()

    def truth(self) -> Floats:
        """Returns the ratings of a fit to the expected votes."""
        gap = self.strengths[:, None] - self.strengths[None, :]
        spread = np.sqrt(2 * (self.quality**2 + self.taste**2))
        shifted = gap[:, :, None, None] + spread * NODES + self.bias * np.array([[1], [-1]])
        # By model, other model, side of the screen and node: the weighted mean over nodes, then the mean over sides.
        chance_at_node = 1 / (1 + np.exp(-shifted))
        chance_on_side = chance_at_node @ WEIGHTS / WEIGHTS.sum()
        chance = chance_on_side.mean(2)
        wins = (1 - self.lazy) * chance + self.lazy / 2
        wins = (1 - self.ties) * wins + self.ties / 2
        met = np.ones_like(wins) - np.eye(self.models)
        if self.is_star:
            met[1:, 1:] = 0
        # So many votes that the fit's prior doesn't count.
        return bradley_terry(1e6 * wins * met).ratings

    def run(self, coin: np.random.Generator) -> Estimates:
        votes = votes_of(self, coin)
        fit = bradley_terry(win_matrix(votes))
        rating_intervals = intervals(fit, votes, self.cluster)
        return Estimates(fit.ratings, rating_intervals.low, rating_intervals.high)


DESIGNS = (
    Design("63 items", 8, 63, 2_000),
    Design("63 items, more votes", 8, 63, 10_000),
    Design("63 items, few votes", 8, 63, 1_000, quality=1.0),
    Design("574 items", 7, 574, 20_000),
    Design("574 items, all answers alike", 12, 574, 5_000, quality=0.0),
    Design("574 items, answers far apart", 12, 574, 20_000, quality=1.0),
    Design("star around a hub", 10, 574, 10_000, quality=1.0, is_star=True),
    Design("five votes a tuple", 8, 574, 5_000, quality=1.0, votes_per_tuple=5),
    Design("biased, lazy, ties", 8, 63, 5_000, bias=0.5, lazy=0.2, ties=0.2),
    Design("tasteful voters", 8, 574, 10_000, voters=60, taste=0.7),
    Design("15 items", 6, 15, 2_000, quality=1.0, target=FEW_ITEMS),
    Design("8 items", 4, 8, 400, quality=1.0, target=FEW_ITEMS),
)
"""Ordinary boards."""


def busy_board(share: float) -> Design:
    """Returns a board where one of 41 voters casts this share of the votes."""
    name = f"one voter with {share:.0%}, 40 others"
    # With most votes from one voter, a board shows little of how voters differ, so its intervals may be wider.
    most_width = 1.25 if share < 0.7 else 2.0
    target = Target(most_share=1.0, most_width=most_width)
    return Design(name, 7, 574, 4_000, voters=41, taste=0.7, busy=share, target=target)


FEW_OR_BUSY = (
    *(busy_board(share) for share in (0.35, 0.5, 0.6, 0.8, 0.9)),
    Design(
        "one voter with 60%, 3 others", 7, 574, 4_000, 4, taste=0.7, busy=0.6, target=FEW_VOTERS
    ),
    *(
        Design(f"{voters} voters", 7, 574, 4_000, voters, taste=0.7, target=FEW_VOTERS)
        for voters in (2, 3, 4, 5, 6)
    ),
    Design("12 voters", 7, 574, 4_000, voters=12, taste=0.7),
    Design(
        "one voter for one model",
        7,
        574,
        4_000,
        voters=40,
        taste=0.7,
        has_lone_voter=True,
        target=Target(most_share=1.0, most_width=1.5),
    ),
)
"""Boards whose voters are few, or one of them busy."""
SHARED_PICTURES = (
    Design("40 pictures of 5 items", 8, 200, 4_000, quality=1.0, on_picture=5),
    Design("25 pictures of 10 near copies", 8, 250, 4_000, quality=1.0, on_picture=10),
    Design("400 pictures, some votes", 8, 800, 4_000, on_picture=2),
)
"""Boards with several items on a picture."""


@dataclass(frozen=True)
class WinRates:
    """Shares of the decided battles with the reference that each model won; voters cast unequally many votes."""

    name: str
    models: int
    voters: int
    zeal: float
    """Exponent of the power law of the voters' numbers of votes by rank; 0 if all cast as many."""
    busy: float = 0.0
    taste: float = 1.0
    quality: float = 0.5
    votes: int = 2_000
    items: int = 200
    target: Target = SHARES

    @property
    def strengths(self) -> Floats:
        return np.linspace(-1.5, 1.5, self.models)

    def truth(self) -> Floats:
        spread = np.hypot(self.taste, self.quality) * NODES
        chance = 1 / (1 + np.exp(-self.strengths[:, None] - spread))
        return (chance @ WEIGHTS / WEIGHTS.sum()).astype(np.float64)

    def run(self, coin: np.random.Generator) -> Estimates:
        model = coin.integers(0, self.models, self.votes)
        item = coin.integers(0, self.items, self.votes)
        voter = coin.choice(
            self.voters, self.votes, p=vote_shares(self.voters, self.busy, self.zeal)
        )
        log_odds = self.strengths[model]
        log_odds = log_odds + coin.normal(0, self.quality, (self.models, self.items))[model, item]
        log_odds += coin.normal(0, self.taste, (self.models, self.voters))[model, voter]
        won = coin.random(self.votes) < 1 / (1 + np.exp(-log_odds))
        shares = clustered_shares(won, model, self.models, [item, voter])
        return Estimates(
            np.array([share.hits / max(share.n, 1) for share in shares]),
            np.array([share.low for share in shares]),
            np.array([share.high for share in shares]),
        )


WIN_RATES = (
    WinRates("win rates, 12 uneven voters", 6, 12, 1.0),
    WinRates("win rates, 12 very uneven voters", 6, 12, 2.0),
    WinRates("win rates, one voter with 80%", 6, 12, 0.0, busy=0.8),
    WinRates("one win rate, 12 uneven voters", 1, 12, 1.0),
    WinRates("one win rate, 12 very uneven voters", 1, 12, 2.0, taste=0.5),
    WinRates("win rates, 3 voters", 6, 3, 0.0),
    WinRates("win rates, 200 voters", 6, 200, 0.5, target=Target(most_share=0.985)),
)
EQUAL = (
    Design("equal, one voter with half", 7, 574, 2_000, 41, taste=0.7, scale=0, busy=0.5),
    Design("equal, 6 voters", 7, 574, 2_000, 6, taste=0.7, scale=0),
    Design("equal, unnamed voters", 7, 574, 2_000, 6, taste=0.7, scale=0, has_names=False),
    Design("equal, groups of 10 copies", 8, 400, 2_000, quality=1.0, scale=0, on_picture=10),
)
"""Boards of equal models."""


RANKED = (
    Design("ranks of 6 models", 6, 574, 4_000),
    Design("ranks of 20 models", 20, 574, 10_000),
    Design("ranks of 60 models", 60, 574, 20_000),
    Design("ranks of 6 equal models", 6, 574, 4_000, scale=0),
    Design("ranks of 20 equal models", 20, 574, 10_000, scale=0),
    Design("ranks of 60 equal models", 60, 574, 20_000, scale=0),
    Design("ranks of 6 equal models, 15 items", 6, 15, 1_500, quality=1.0, scale=0),
    Design("ranks of 20 equal models, 30 items", 20, 30, 6_000, quality=1.0, scale=0),
    Design("ranks of 20 equal models, 6 voters", 20, 574, 6_000, 6, taste=0.7, scale=0),
    Design("ranks of 60 equal models, 12 voters", 60, 574, 12_000, 12, taste=0.7, scale=0),
)
"""Boards whose rank sets should hold every model's place."""
FITTING = (
    Design("fits, 7 models", 7, 574, 4_000),
    Design("fits, 8 models on 63 items", 8, 63, 5_000, quality=1.0),
    Design("fits, 6 models on 15 items", 6, 15, 1_500, quality=1.0),
    Design("fits, 20 models", 20, 574, 10_000),
    Design("fits, five votes a tuple", 8, 574, 5_000, quality=1.0, votes_per_tuple=5),
    Design("fits, 60 tasteful voters", 7, 574, 6_000, 60, taste=0.7),
    Design("fits, 5 tasteful voters", 7, 574, 4_000, 5, taste=0.7),
)
"""Boards with votes drawn by Bradley-Terry."""
CIRCLES = (
    Design("a circle, 7 models", 7, 574, 4_000, circle=0.3),
    Design("a circle, 8 models on 63 items", 8, 63, 5_000, quality=1.0, circle=0.5),
    Design("a circle, 20 models", 20, 574, 10_000, circle=0.4),
    Design("a circle, 60 tasteful voters", 7, 574, 6_000, 60, taste=0.7, circle=0.3),
)
"""Boards with models that beat each other in a circle."""


def vote_shares(voters: int, busiest: float, exponent: float = 0.0) -> Floats:
    """Returns each voter's share of the votes: in proportion to rank ** -exponent, except that the first voter has the
    share `busiest` if it isn't 0.
    """
    votes = np.arange(1, voters + 1, dtype=np.float64) ** -exponent
    if busiest:
        votes[0] = votes[1:].sum() * busiest / (1 - busiest)
    return votes / votes.sum()


def votes_of(design: Design, coin: np.random.Generator) -> Votes:
    """Draws the votes of one run."""
    m = design.models
    tuples = design.votes // design.votes_per_tuple
    item = coin.integers(0, design.items, tuples).repeat(design.votes_per_tuple)
    a = coin.integers(0, m, tuples)
    b = (a + coin.integers(1, m, tuples)) % m
    if design.is_star:
        hub = np.zeros(tuples, int)
        other = coin.integers(1, m, tuples)
        is_swapped = coin.random(tuples) < 0.5
        a = np.where(is_swapped, other, hub)
        b = np.where(is_swapped, hub, other)
    a = a.repeat(design.votes_per_tuple)
    b = b.repeat(design.votes_per_tuple)
    voter = coin.integers(0, design.voters, len(a))
    if design.busy:
        voter = coin.choice(design.voters, len(a), p=vote_shares(design.voters, design.busy))
    if design.has_lone_voter:
        voter = np.where((a == 0) | (b == 0), 0, voter)
    picture = item // design.on_picture
    worth = coin.normal(0, design.quality, (design.items, m))
    liking = coin.normal(0, design.taste, (design.voters, m))
    side = np.where(coin.random(len(a)) < 0.5, 1, -1)
    gap = design.strengths[a] - design.strengths[b] + worth[picture, a] - worth[picture, b]
    gap = gap + liking[voter, a] - liking[voter, b]
    # Model a has the advantage if b is among the half of the ring that follows a, else b has it.
    ahead = (b - a) % m
    gap = gap + design.circle * np.sign(m - 2 * ahead)
    chance = 1 / (1 + np.exp(-(gap + design.bias * side)))
    chance = np.where(coin.random(len(a)) < design.lazy, 0.5, chance)
    outcome = np.where(coin.random(len(a)) < chance, Outcome.A, Outcome.B)
    outcome = np.where(coin.random(len(a)) < design.ties, Outcome.TIE, outcome).astype(np.int8)
    voters = voter if design.has_names else None
    return Votes(a, b, outcome, m, items=item, voters=voters, pictures=picture)


def misses_a_rank(design: Design, run: int) -> bool:
    """Whether some model's rank set lacks its true place, or one of the places that it shares with equal models."""
    votes = votes_of(design, coin_of(design.name, run))
    fit = bradley_terry(win_matrix(votes))
    ranks = rank_sets(fit, intervals(fit, votes, design.cluster))
    strengths = design.strengths
    first = 1 + (strengths[None, :] > strengths[:, None]).sum(1)
    last = design.models - (strengths[None, :] < strengths[:, None]).sum(1)
    return bool(((ranks.low > first) | (ranks.high < last)).any())


def is_found_to_differ(design: Design, run: int) -> bool:
    """Whether the votes are found to differ from Bradley-Terry."""
    votes = votes_of(design, coin_of(design.name, run))
    test = lack_of_fit(bradley_terry(win_matrix(votes)), votes, design.cluster)
    return test is not None and test.p <= LARGEST_P


def is_falsely_settled(design: Design, run: int) -> bool:
    """Whether some pair of equal models is settled at any look."""
    votes = votes_of(design, coin_of(design.name, run))
    fit = None
    for number in range(LOOK_EVERY, len(votes) + 1, LOOK_EVERY):
        first_votes = votes.take(np.arange(number))
        fit = bradley_terry(win_matrix(first_votes), start=None if fit is None else fit.strengths)
        rating_intervals = intervals(fit, first_votes, design.cluster)
        if look(fit, rating_intervals, first_votes, design.models).settled.any():
            return True
    return False


TABLE: tuple[tuple[str, Sequence[Simulation]], ...] = (
    ("ordinary boards", DESIGNS),
    ("few voters, or a busy one", FEW_OR_BUSY),
    ("items that share pictures", SHARED_PICTURES),
    ("win rates", WIN_RATES),
    ("scores", SCORES),
)
"""Simulations of boards, win rates and scores, by the title above them."""


class Counting(NamedTuple):
    """A count of boards with some event."""

    title: str
    designs: Sequence[Design]
    has_event: Callable[[Design, int], bool]
    """Whether the event happens on the board of a run."""
    most: float
    """Largest share of the boards that may have it."""
    least: float = 0.0
    """Smallest share of the boards that should have it."""


COUNTINGS = (
    Counting("equal models falsely settled", EQUAL, is_falsely_settled, ALPHA),
    Counting("some rank is outside its set", RANKED, misses_a_rank, 0.07),
    Counting("falsely found to differ from Bradley-Terry", FITTING, is_found_to_differ, 0.07),
    Counting("rightly found to differ from Bradley-Terry", CIRCLES, is_found_to_differ, 1.0, 0.9),
)


def main(words: Sequence[str] = ()) -> int:
    """Prints each simulation's coverage; returns 1 if a target was missed."""
    parser = ArgumentParser("python -m perf.coverage")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="part of the names of simulations")
    options = parser.parse_args(words)
    begun = time.perf_counter()
    missed = 0
    for title, simulations in (*TABLE, *_mark_coverage.TABLE):
        chosen = [simulation for simulation in simulations if options.only in simulation.name]
        if chosen:
            print(
                f"{title}, {options.runs} runs: held, least of a cell, width over need", flush=True
            )
        missed += sum(_print_coverage(simulation, options.runs) for simulation in chosen)
    for counting in COUNTINGS:
        chosen = [design for design in counting.designs if options.only in design.name]
        if chosen:
            print(f"{counting.title}, of {options.runs} boards", flush=True)
        missed += sum(_print_count(counting, design, options.runs) for design in chosen)
    print(f"took {time.perf_counter() - begun:,.0f} s")
    return int(missed > 0)


def _print_coverage(simulation: Simulation, runs: int) -> bool:
    """Prints a simulation's coverage; returns whether it misses its target."""
    covered = coverage(simulation, runs)
    misses = covered.misses(simulation.target)
    figures = f"{covered.held.mean():>6.1%} {covered.held.min():>6.1%} {covered.width:>6.2f}"
    print(f"{simulation.name:>36} {figures}{'  misses its target' if misses else ''}", flush=True)
    return misses


def _print_count(counting: Counting, design: Design, runs: int) -> bool:
    """Prints the number of boards with the event; returns whether it misses its target."""
    number = sum(results(partial(counting.has_event, design), runs))
    is_within = counting.least * runs <= number <= counting.most * runs
    misses = not is_within
    print(f"{design.name:>36} {number:>6}{'  misses its target' if misses else ''}", flush=True)
    return misses


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
