"""Paid campaigns in simulation, and what an order costs: `python -m perf.campaigns [--runs 100]`.

Campaigns draw as `arena.campaign_battles` does: many seats at work at a time, and what was started is finished first.

* Arenas of equal models, and campaigns that aim at their orders, looked at every 50 votes: in at most 5% some pair is
  ever settled.
* Votes until all neighbours are settled, with the ratings of VisIT-Bench's Table 3, at one vote a tuple: *settle* takes
  at most 0.4 of what uniformly drawn pairs take.
* The planner's half widths are within 5% of those that the ratings of simulated campaigns have.
* The orders of 100 models take under 50 ms, the fit of the same votes beside them.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.assignment import (
    Assignment,
    Served,
    draw_balanced,
    draw_settling,
    draw_started_first,
    pair_gains,
    pair_number,
)
from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.intervals import NORMAL_QUANTILE, intervals
from arena.ratings.planner import Plan, expected_strengths, half_widths, measured_correlations
from arena.ratings.settled import ALPHA, LOOK_EVERY, Order, look, neighbouring_orders, recorded
from arena.ratings.votes import ELO, Floats, Votes
from perf._simulations import Estimates, results
from perf.coverage import Design, is_falsely_settled, votes_of

RUNS = 1000
SEAT = 20
ITEMS = 574
AT_WORK = 30
"""Seats of a campaign that answer at the same time."""
EQUAL = (
    Design("equal, all answers alike", 7, 574, 5_000, quality=0.0, scale=0),
    Design("equal, own qualities", 7, 574, 5_000, quality=0.5, scale=0),
    Design("equal, own qualities, 63 items", 8, 63, 5_000, quality=1.0, scale=0),
    Design("equal, own qualities, 25 items", 5, 25, 5_000, quality=1.0, scale=0),
    Design("equal, own qualities and tastes", 7, 574, 5_000, voters=60, taste=0.7, scale=0),
)
TABLE_3 = (1223, 1085, 1061, 995, 957, 893, 786)
"""Ratings of VisIT-Bench's single-image models (Table 3)."""
SAVING = 0.4
WITHIN = 0.05
LONGEST = 0.05
"""Targets: settle's votes over uniform's, the planner's error, seconds for all orders of 100 models."""


@dataclass(frozen=True)
class Poll:
    """A campaign of a design, with voters and answers of their own ways; AT_WORK seats at a time."""

    name: str
    models: int
    items: int
    votes: int
    each: int = 1
    """Votes of a tuple."""
    quality: float = 0.8
    """Deviation, in log odds, of an answer's own quality."""
    contrast: float = 0.8
    """Deviation of a tuple's own gap, beside its answers' qualities."""
    taste: float = 0.0
    """Deviation of a worker's liking of a model."""
    design: Literal["balanced", "settle"] = "balanced"
    ratings: Sequence[float] = ()
    """Of the models, in points; empty: as in designs of `coverage`."""

    @property
    def strengths(self) -> Floats:
        if self.ratings:
            return np.array(self.ratings) / ELO.points
        return Design("", self.models, 0, 0).strengths


class SeatAtWork:
    """A worker with the tuples that he had, and the one that he is at."""

    def __init__(self, worker: int, liking: Floats) -> None:
        self.worker = worker
        self.liking = liking
        """Of each model, in log odds."""
        self.had: list[Assignment] = []
        self.at: Assignment | None = None


class Collection:
    """The votes of a poll as they come in, drawn as `arena.campaign_battles` draws them."""

    def __init__(self, poll: Poll, run: int) -> None:
        self.poll = poll
        self.gains: Floats | None = None
        """The pairs' gains, which *settle* follows."""
        m = poll.models
        shape = (m * (m - 1) // 2, poll.items)
        self._coin = np.random.default_rng(run)
        self._served = Served(m, np.zeros(shape, int), np.ones(shape, bool))
        self._strengths = poll.strengths
        self._quality = self._coin.normal(0, poll.quality, (poll.items, m))
        self._contrast = self._coin.normal(0, poll.contrast, shape)
        self._came = 0
        self._seats = [self._new_seat() for _ in range(AT_WORK)]
        self._rows = np.zeros((poll.votes, 5), int)
        """Lower and higher model, whether the lower one lost, item, worker."""
        self._votes = 0

    def collect(self, votes: int) -> Votes:
        """All votes once so many are there, or each tuple has its own."""
        while self._votes < votes and self._is_any_left():
            place = int(self._coin.integers(AT_WORK))
            seat = self._seats[place]
            if seat.at is not None:
                self._rows[self._votes] = self._answer(seat, seat.at)
                self._votes += 1
                seat.at = None
            if len(seat.had) == SEAT:
                seat = self._seats[place] = self._new_seat()
            seat.at = self._draw(seat)
            if seat.at is not None:
                seat.had.append(seat.at)
            else:
                self._seats[place] = self._new_seat()
        a, b, outcome, item, worker = self._rows[: self._votes].T
        return Votes(a, b, outcome.astype(np.int8), self.poll.models, item, worker)

    def _is_any_left(self) -> bool:
        return bool(self._served.lacks_votes.any()) or any(seat.at for seat in self._seats)

    def _new_seat(self) -> SeatAtWork:
        self._came += 1
        liking = self._coin.normal(0, self.poll.taste, self.poll.models)
        return SeatAtWork(self._came, liking)

    def _draw(self, seat: SeatAtWork) -> Assignment | None:
        def by_design(some: Served) -> Assignment | None:
            if self.poll.design == "settle":
                return draw_settling(some, seat.had, self.gains, self._coin)
            return draw_balanced(some, seat.had, SEAT, self._coin) or draw_settling(
                some, seat.had, None, self._coin
            )

        served = self._served
        one = draw_started_first(served, by_design)
        if one is not None:
            pair = pair_number(one.low, one.high, self.poll.models)
            served.votes[pair, one.item] += 1
            served.lacks_votes[pair, one.item] = served.votes[pair, one.item] < self.poll.each
        return one

    def _answer(self, seat: SeatAtWork, at: Assignment) -> tuple[int, int, bool, int, int]:
        worth = self._strengths + self._quality[at.item] + seat.liking
        pair = pair_number(at.low, at.high, self.poll.models)
        gap = worth[at.low] - worth[at.high] + self._contrast[pair, at.item]
        lost = self._coin.random() > 1 / (1 + np.exp(-gap))
        return at.low, at.high, lost, at.item, seat.worker


class CampaignLook(NamedTuple):
    """What a poll's votes say at one look."""

    votes: int
    settled: bool
    """Whether any pair is settled by them."""
    orders: tuple[Order, ...]


def looks(poll: Poll, run: int, aimed: bool = True) -> Iterator[CampaignLook]:
    """A poll looked at every LOOK_EVERY votes; what it aims at follows."""
    collection = Collection(poll, run)
    record = ()
    fit = None
    for number in range(LOOK_EVERY, poll.votes + 1, LOOK_EVERY):
        votes = collection.collect(number)
        if len(votes) < number:
            return
        fit = bradley_terry(win_matrix(votes), start=None if fit is None else fit.strengths)
        seen = look(fit, intervals(fit, votes, "item"), votes, poll.models)
        record = recorded(seen, record)
        orders = neighbouring_orders(seen, np.argsort(-fit.ratings).tolist(), record)
        yield CampaignLook(number, bool(seen.settled.any()), orders)
        collection.gains = pair_gains(fit, orders) if aimed else None


def is_campaign_falsely_settled(poll: Poll, run: int) -> bool:
    """Whether some pair of equal models is settled at any look of a campaign that aims."""
    return any(seen.settled for seen in looks(poll, run))


class Settling(NamedTuple):
    """When all neighbouring orders of a campaign were settled, and whether all of them rightly."""

    votes: int
    is_right: bool


def votes_to_settle(poll: Poll, aimed: bool, run: int) -> Settling:
    """Collect votes until all neighbours are settled, or the poll is over; pairs drawn uniformly or aimed at."""
    last = poll.votes
    for seen in looks(poll, run, aimed):
        last = seen.votes
        if all(order.state == "settled" for order in seen.orders):
            rightly = (poll.ratings[one.above] > poll.ratings[one.below] for one in seen.orders)
            return Settling(last, all(rightly))
    return Settling(last, False)


class Saving(NamedTuple):
    """Median votes until all neighbours are settled, and how many campaigns settled one wrongly or never all."""

    settle: float
    uniform: float
    wrong: int


def saving(poll: Poll, runs: int) -> Saving:
    """Compare the votes of campaigns that aim with those of campaigns that draw every pair alike."""
    aimed = results(partial(votes_to_settle, poll, True), runs)
    uniform = results(partial(votes_to_settle, poll, False), runs)
    return Saving(
        settle=float(np.median([one.votes for one in aimed])),
        uniform=float(np.median([one.votes for one in uniform])),
        wrong=sum(not one.is_right for one in (*aimed, *uniform)),
    )


ASSUMED = Poll(
    "as a plan assumes",
    models=7,
    items=ITEMS,
    votes=20_000,
    quality=1.28,
    contrast=1.65,
    ratings=tuple(1.84 * ELO.points * expected_strengths(7)),
)
"""Votes that correlate by 0.4 within a tuple and 0.1 within an item, and whose fitted ratings spread by 110 points."""
POLLS = (
    Poll("one vote a tuple", 7, 200, 2_000),
    Poll("five votes a tuple", 7, 200, 4_000, each=5),
    Poll("few items", 8, 63, 1_600),
    Poll("answers alike", 7, 200, 2_000, quality=0.0, contrast=0.0),
    Poll("clustered voters", 7, 200, 2_000, taste=0.7),
    replace(ASSUMED, name="the docs' plan, one vote a tuple", votes=1_709),
    replace(ASSUMED, name="the docs' plan, five votes a tuple", votes=4_375, each=5),
)
_ALIKE = Poll("", 7, ITEMS, 5_000, design="settle", ratings=(1000,) * 7)
AIMED = (
    replace(_ALIKE, name="equal, aimed at, one vote a tuple"),
    replace(_ALIKE, name="equal, aimed at, five votes a tuple", each=5),
    replace(_ALIKE, name="equal, aimed at, five votes a tuple, tastes", each=5, taste=0.7),
)
NO_PAIR_RUNS_OUT = 6_000
SETTLED = Poll(
    "Table 3, one vote a tuple",
    models=7,
    items=NO_PAIR_RUNS_OUT,
    votes=100_000,
    quality=0.0,
    contrast=0.0,
    design="settle",
    ratings=TABLE_3,
)


class Widths(NamedTuple):
    """Mean half width over the models, in rating points."""

    planned: float
    """By the planner, from the correlations and strengths that votes of the same kind have."""
    true: float
    """1.96 standard deviations of the ratings over the campaigns."""
    shown: float
    """Mean of the campaigns' own intervals."""


def estimates(poll: Poll, run: int) -> Estimates:
    """Return the ratings of a campaign with their intervals."""
    votes = Collection(poll, run).collect(poll.votes)
    fit = bradley_terry(win_matrix(votes))
    found = intervals(fit, votes, "item")
    return Estimates(fit.ratings, found.low, found.high)


def widths(poll: Poll, runs: int, pilots: int = 5) -> Widths:
    """Compare the plan of a campaign with campaigns; pilots are many times as large in items and votes."""
    found = results(partial(estimates, poll), runs)
    ratings = [estimate.value for estimate in found]
    shown = [(estimate.high - estimate.low).mean() / 2 for estimate in found]
    larger = replace(poll, items=poll.items * pilots, votes=poll.votes * pilots)
    pilot = Collection(larger, runs).collect(larger.votes)
    plan = Plan(
        bradley_terry(win_matrix(pilot)).strengths,
        poll.items,
        correlations=measured_correlations(pilot),
        seat=SEAT,
    )
    planned = half_widths(plan, poll.votes, poll.each).mean()
    spread = np.sqrt(np.var(ratings, axis=0, ddof=1)).mean()
    return Widths(float(planned), float(NORMAL_QUANTILE * spread), float(np.mean(shown)))


class Seconds(NamedTuple):
    """Median time of a board's fit, its intervals, and the orders of all its models."""

    fit: float
    intervals: float
    orders: float


def seconds(votes: int, models: int = 100, rounds: int = 9) -> Seconds:
    """Time the orders of neighbours, with the look that they need, beside the fit of the same votes."""
    told = votes_of(Design("", models, 574, votes), np.random.default_rng(0))
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        fit = bradley_terry(win_matrix(told))
        fitted = time.perf_counter()
        found = intervals(fit, told, "item")
        known = time.perf_counter()
        seen = look(fit, found, told, models)
        neighbouring_orders(seen, np.argsort(-fit.ratings).tolist(), recorded(seen, ()))
        times.append((fitted - begun, known - fitted, time.perf_counter() - known))
    return Seconds(*np.median(times, axis=0).tolist())


def main(words: Sequence[str] = ()) -> int:
    """Print all figures beside their targets; return 1 if one was missed."""
    parser = ArgumentParser("python -m perf.campaigns")
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args(words).runs
    some = max(10, runs // 5)  # of campaigns, which take longer than arenas
    misses = []

    def told(line: str, is_missed: bool) -> None:
        misses.append(is_missed)
        print(f"{line}{'  misses its target' if is_missed else ''}", flush=True)

    for votes in (100_000, 1_000_000):
        took = seconds(votes)
        line = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in took._asdict().items())
        told(f"100 models, {votes:,} votes: {line}", took.orders > LONGEST)
    for design in EQUAL:
        falsely = sum(results(partial(is_falsely_settled, design), runs))
        told(f"{design.name}: {falsely} of {runs} falsely settled", falsely > ALPHA * runs)
    for poll in AIMED:
        falsely = sum(results(partial(is_campaign_falsely_settled, poll), some))
        told(f"{poll.name}: {falsely} of {some} falsely settled", falsely > ALPHA * some)
    found = saving(SETTLED, max(5, runs // 50))
    line = f"{found.settle:,.0f} votes, uniformly {found.uniform:,.0f}; {found.wrong} wrongly"
    told(f"{SETTLED.name}: settled after {line}", found.settle > SAVING * found.uniform)
    for poll in POLLS:
        found = widths(poll, some)
        line = f"planned ±{found.planned:.1f}, true ±{found.true:.1f}, shown ±{found.shown:.1f}"
        told(f"{poll.name}: {line}", abs(found.planned / found.true - 1) > WITHIN)
    return int(any(misses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
