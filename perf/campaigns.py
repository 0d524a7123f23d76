"""Simulated paid campaigns, and the time that orders of models take: `python -m perf.campaigns [--runs 50]`.

Campaigns draw as `arena.campaign_battles` does: many seats at work at a time, and what was started is finished first.

* Of arenas of equal models, and of campaigns that aim to settle such models, at most 5% ever settle a pair, with a look
  every 50 votes.
* Votes until all neighbours are settled, with the ratings of VisIT-Bench's Table 3, at one vote a tuple: *settle* takes
  at most 0.4 of what uniformly drawn pairs take.
* The planner's half widths are within 5% of those that the ratings of simulated campaigns have.
* The orders of 100 models take under 50 ms; the times of the fit and the intervals are printed beside it.
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
from arena.ratings.settled import (
    ALPHA,
    LOOK_EVERY,
    Order,
    add_settlements,
    look,
    neighbouring_orders,
)
from arena.ratings.votes import ELO, Floats, Votes
from perf._simulations import Estimates, results
from perf.coverage import Design, is_falsely_settled, votes_of

RUNS = 200
SEAT = 20
"""Votes of a seat."""
ITEMS = 574
AT_WORK = 30
"""Seats of a campaign that answer at the same time."""
EQUAL = (
    Design("equal, all answers alike", models=7, items=574, votes=5_000, quality=0.0, scale=0),
    Design("equal, own qualities", models=7, items=574, votes=5_000, quality=0.5, scale=0),
    Design("equal, own qualities, 63 items", models=8, items=63, votes=5_000, quality=1.0, scale=0),
    Design("equal, own qualities, 25 items", models=5, items=25, votes=5_000, quality=1.0, scale=0),
    Design(
        "equal, own qualities and tastes",
        models=7,
        items=574,
        votes=5_000,
        voters=60,
        taste=0.7,
        scale=0,
    ),
)
TABLE_3 = (1223, 1085, 1061, 995, 957, 893, 786)
"""Ratings of VisIT-Bench's single-image models (Table 3)."""
SETTLE_TARGET = 0.4
"""Most votes that *settle* takes, as a share of those that uniformly drawn pairs take."""
PLANNER_TARGET = 0.05
"""Most relative error of the planner's half widths."""
ORDERS_TARGET = 0.05
"""Most seconds for the orders of 100 models."""


@dataclass(frozen=True)
class Poll:
    """A simulated campaign: its size and design, and how its answers and voters vary; AT_WORK seats answer at once."""

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
    """The way of drawing pairs, as in a campaign's spec."""
    ratings: Sequence[float] = ()
    """The models' ratings in points; empty: those of a `Design`."""

    @property
    def strengths(self) -> Floats:
        if self.ratings:
            return np.array(self.ratings) / ELO.points
        return Design("", self.models, 0, 0).strengths


class SeatAtWork:
    """A worker's seat."""

    def __init__(self, worker: int, liking: Floats) -> None:
        self.worker = worker
        self.liking = liking
        """Of each model, in log odds."""
        self.drawn: list[Assignment] = []
        """All tuples of the seat so far."""
        self.current: Assignment | None = None
        """The tuple that the worker is judging."""


class Collection:
    """The votes of a poll as they come in, drawn as `arena.campaign_battles` draws them."""

    def __init__(self, poll: Poll, run: int) -> None:
        self.poll = poll
        self.gains: Floats | None = None
        """The gain of a vote on each pair, which *settle* draws by; None: all pairs are equally likely."""
        models = poll.models
        shape = (models * (models - 1) // 2, poll.items)
        self._coin = np.random.default_rng(run)
        self._served = Served(models, votes=np.zeros(shape, int), lacks_votes=np.ones(shape, bool))
        self._strengths = poll.strengths
        self._quality = self._coin.normal(0, poll.quality, (poll.items, models))
        self._contrast = self._coin.normal(0, poll.contrast, shape)
        self._seats_begun = 0
        self._seats = [self._new_seat() for _ in range(AT_WORK)]
        self._rows = np.zeros((poll.votes, 5), int)
        """Lower and higher model, whether the lower one lost, item, worker."""
        self._count = 0
        """The number of votes so far."""

    def collect(self, count: int) -> Votes:
        """Collects until there are `count` votes or no tuple lacks any, and returns all votes so far."""
        while self._count < count and self._is_any_left():
            place = int(self._coin.integers(AT_WORK))
            seat = self._seats[place]
            if seat.current is not None:
                self._rows[self._count] = self._answer(seat, seat.current)
                self._count += 1
                seat.current = None
            if len(seat.drawn) == SEAT:
                # The worker is done, and another one begins.
                seat = self._new_seat()
                self._seats[place] = seat
            seat.current = self._draw(seat)
            if seat.current is not None:
                seat.drawn.append(seat.current)
            else:
                # No tuple is left for this worker, so another one takes the place.
                self._seats[place] = self._new_seat()
        a, b, outcome, item, worker = self._rows[: self._count].T
        return Votes(a, b, outcome.astype(np.int8), self.poll.models, item, worker)

    def _is_any_left(self) -> bool:
        return bool(self._served.lacks_votes.any()) or any(seat.current for seat in self._seats)

    def _new_seat(self) -> SeatAtWork:
        self._seats_begun += 1
        liking = self._coin.normal(0, self.poll.taste, self.poll.models)
        return SeatAtWork(self._seats_begun, liking)

    def _draw(self, seat: SeatAtWork) -> Assignment | None:
        served = self._served

        def by_design(candidates: Served) -> Assignment | None:
            if self.poll.design == "settle":
                return draw_settling(candidates, seat.drawn, self.gains, self._coin)
            balanced_draw = draw_balanced(candidates, seat.drawn, SEAT, self._coin)
            # A seat that can't be balanced any more takes any pair.
            return balanced_draw or draw_settling(candidates, seat.drawn, None, self._coin)

        drawn = draw_started_first(served, by_design)
        if drawn is not None:
            pair = pair_number(drawn.low, drawn.high, self.poll.models)
            served.votes[pair, drawn.item] += 1
            served.lacks_votes[pair, drawn.item] = served.votes[pair, drawn.item] < self.poll.each
        return drawn

    def _answer(self, seat: SeatAtWork, drawn: Assignment) -> tuple[int, int, bool, int, int]:
        """Returns a vote as a row of `_rows`."""
        worth = self._strengths + self._quality[drawn.item] + seat.liking
        pair = pair_number(drawn.low, drawn.high, self.poll.models)
        gap = worth[drawn.low] - worth[drawn.high] + self._contrast[pair, drawn.item]
        has_lost = self._coin.random() > 1 / (1 + np.exp(-gap))
        return drawn.low, drawn.high, has_lost, drawn.item, seat.worker


class CampaignLook(NamedTuple):
    """The orders of a poll's models at one look."""

    votes: int
    is_any_settled: bool
    """Whether any pair of models is settled."""
    orders: tuple[Order, ...]


def looks(poll: Poll, run: int, aimed: bool = True) -> Iterator[CampaignLook]:
    """Yields a look at every LOOK_EVERY votes of a poll; if `aimed`, each look decides which pairs are drawn next."""
    collection = Collection(poll, run)
    record = ()
    fit = None
    for number in range(LOOK_EVERY, poll.votes + 1, LOOK_EVERY):
        votes = collection.collect(number)
        if len(votes) < number:
            return
        fit = bradley_terry(win_matrix(votes), start=None if fit is None else fit.strengths)
        board_look = look(fit, intervals(fit, votes, "item"), votes, poll.models)
        record = add_settlements(board_look, record)
        orders = neighbouring_orders(board_look, np.argsort(-fit.ratings).tolist(), record)
        yield CampaignLook(number, bool(board_look.settled.any()), orders)
        collection.gains = pair_gains(fit, orders) if aimed else None


def is_campaign_falsely_settled(poll: Poll, run: int) -> bool:
    """Whether some pair of equal models is settled at any look of a campaign that aims."""
    return any(campaign_look.is_any_settled for campaign_look in looks(poll, run))


class Settling(NamedTuple):
    """The votes after which all neighbouring orders of a campaign were settled, and whether all are right."""

    votes: int
    is_right: bool


def votes_to_settle(poll: Poll, run: int, aimed: bool) -> Settling:
    """Collects votes until all neighbours are settled, or the poll is over; pairs are drawn uniformly or aimed at."""
    votes = poll.votes
    for campaign_look in looks(poll, run, aimed):
        votes = campaign_look.votes
        orders = campaign_look.orders
        if all(order.state == "settled" for order in orders):
            is_right = all(
                poll.ratings[order.above] > poll.ratings[order.below] for order in orders
            )
            return Settling(votes, is_right)
    return Settling(votes, is_right=False)


class Saving(NamedTuple):
    """Median votes until all neighbours are settled, with and without aiming."""

    settle: float
    uniform: float
    wrong: int
    """The number of campaigns of both kinds with a wrong order, or with one that was never settled."""


def saving(poll: Poll, runs: int) -> Saving:
    """Compares the votes of campaigns that aim with those of campaigns that draw every pair alike."""
    aimed = results(partial(votes_to_settle, poll, aimed=True), runs)
    uniform = results(partial(votes_to_settle, poll, aimed=False), runs)
    return Saving(
        settle=float(np.median([settling.votes for settling in aimed])),
        uniform=float(np.median([settling.votes for settling in uniform])),
        wrong=sum(not settling.is_right for settling in (*aimed, *uniform)),
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
    Poll("one vote a tuple", models=7, items=200, votes=2_000),
    Poll("five votes a tuple", models=7, items=200, votes=4_000, each=5),
    Poll("few items", models=8, items=63, votes=1_600),
    Poll("answers alike", models=7, items=200, votes=2_000, quality=0.0, contrast=0.0),
    Poll("clustered voters", models=7, items=200, votes=2_000, taste=0.7),
    replace(ASSUMED, name="the docs' plan, one vote a tuple", votes=1_709),
    replace(ASSUMED, name="the docs' plan, five votes a tuple", votes=4_375, each=5),
)
_ALIKE = Poll("", models=7, items=ITEMS, votes=5_000, design="settle", ratings=(1000,) * 7)
AIMED = (
    replace(_ALIKE, name="equal, aimed at, one vote a tuple"),
    replace(_ALIKE, name="equal, aimed at, five votes a tuple", each=5),
    replace(_ALIKE, name="equal, aimed at, five votes a tuple, tastes", each=5, taste=0.7),
)
SETTLING_ITEMS = 6_000
"""Enough items that no pair runs out of them before its models are settled."""
SETTLED = Poll(
    "Table 3, one vote a tuple",
    models=7,
    items=SETTLING_ITEMS,
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
    """Returns the ratings of a campaign with their intervals."""
    votes = Collection(poll, run).collect(poll.votes)
    fit = bradley_terry(win_matrix(votes))
    rating_intervals = intervals(fit, votes, "item")
    return Estimates(fit.ratings, rating_intervals.low, rating_intervals.high)


def widths(poll: Poll, runs: int, pilot_scale: int = 5) -> Widths:
    """Compares the half widths that a plan expects with those of simulated campaigns.

    The plan's correlations and strengths are those of a pilot with `pilot_scale` times the items and votes.
    """
    campaigns = results(partial(estimates, poll), runs)
    ratings = [estimate.value for estimate in campaigns]
    shown = [(estimate.high - estimate.low).mean() / 2 for estimate in campaigns]
    pilot = replace(poll, items=poll.items * pilot_scale, votes=poll.votes * pilot_scale)
    pilot_votes = Collection(pilot, runs).collect(pilot.votes)
    plan = Plan(
        bradley_terry(win_matrix(pilot_votes)).strengths,
        poll.items,
        correlations=measured_correlations(pilot_votes),
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
    """Times the orders of neighbours, with the look that they need, beside the fit of the same votes."""
    drawn_votes = votes_of(Design("", models, 574, votes), np.random.default_rng(0))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        fit = bradley_terry(win_matrix(drawn_votes))
        fit_end = time.perf_counter()
        rating_intervals = intervals(fit, drawn_votes, "item")
        intervals_end = time.perf_counter()
        board_look = look(fit, rating_intervals, drawn_votes, models)
        neighbouring_orders(
            board_look, np.argsort(-fit.ratings).tolist(), add_settlements(board_look, ())
        )
        times.append(
            (fit_end - start, intervals_end - fit_end, time.perf_counter() - intervals_end)
        )
    return Seconds(*np.median(times, axis=0).tolist())


def main(words: Sequence[str] = ()) -> int:
    """Prints all figures beside their targets; returns 1 if one was missed."""
    parser = ArgumentParser("python -m perf.campaigns")
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args(words).runs
    misses = []

    def report(line: str, misses_target: bool) -> None:
        misses.append(misses_target)
        print(f"{line}{'  misses its target' if misses_target else ''}", flush=True)

    for votes in (100_000, 1_000_000):
        took = seconds(votes)
        line = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in took._asdict().items())
        report(f"100 models, {votes:,} votes: {line}", took.orders > ORDERS_TARGET)
    for design in EQUAL:
        count = sum(results(partial(is_falsely_settled, design), runs))
        report(f"{design.name}: {count} of {runs} falsely settled", count > ALPHA * runs)
    for poll in AIMED:
        count = sum(results(partial(is_campaign_falsely_settled, poll), runs))
        report(f"{poll.name}: {count} of {runs} falsely settled", count > ALPHA * runs)
    needed = saving(SETTLED, max(5, runs // 10))
    line = f"{needed.settle:,.0f} votes, uniformly {needed.uniform:,.0f}; {needed.wrong} wrongly"
    report(f"{SETTLED.name}: settled after {line}", needed.settle > SETTLE_TARGET * needed.uniform)
    for poll in POLLS:
        width = widths(poll, runs)
        line = f"planned ±{width.planned:.1f}, true ±{width.true:.1f}, shown ±{width.shown:.1f}"
        report(f"{poll.name}: {line}", abs(width.planned / width.true - 1) > PLANNER_TARGET)
    return int(any(misses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
