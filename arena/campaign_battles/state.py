"""Campaign state: a campaign's votes in memory, read again and again by a background thread.

Draws use it, then check in their own transaction that the drawn tuple still lacks a voter. The same thread looks at the
orders every LOOK_EVERY votes, which tells *settle* what to draw, and ends the campaign when its stop is reached. Two
servers may notice the end at the same time, and a seat may exceed its quota by a vote.
"""

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from arena.battles.choices import publish_votes
from arena.battles.settlements import campaign_board_name, extend_record, read_record
from arena.battles.tables import CONFIRMATIONS
from arena.battles.vote_table import VoteTable
from arena.campaign_battles.layout import Layout, layout_of
from arena.campaign_battles.spec import BattleSpec, battle_spec
from arena.campaign_battles.votes import CollectedVotes, collect_votes, counted_votes
from arena.database import Database, counter
from arena.fraud.flags import FlagService, campaign_review
from arena.items.store import ItemBank, model_names
from arena.ratings.assignment import Served, pair_gains
from arena.ratings.bradley_terry import Strengths, bradley_terry, win_matrix
from arena.ratings.intervals import Intervals, intervals
from arena.ratings.settled import ALPHA, LOOK_EVERY, Order, look, neighbouring_orders
from arena.ratings.votes import Floats, Votes
from arena.seats.campaigns import Campaign, CampaignStore
from arena.settings import CountSettings

EVERY_SECONDS = 1.0
READING_TIMES = 20
"""A state is read again once it is older than EVERY_SECONDS and than this many times the duration of its reading."""
log = logging.getLogger(__name__)


class CampaignLook(NamedTuple):
    """The ratings and orders of a campaign's models at one look."""

    votes: int
    """The number of votes that counted."""
    fit: Strengths
    intervals: Intervals
    orders: tuple[Order, ...]
    """The orders of neighbours, by the layout's codes."""

    @property
    def half_width(self) -> float:
        """The mean half width of the intervals, in rating points; NaN while a model has no rating."""
        return float(np.mean(self.intervals.high - self.intervals.low)) / 2

    @property
    def gains(self) -> Floats | None:
        """What a vote on each pair gains for *settle*; None if all orders are settled."""
        return pair_gains(self.fit, self.orders)


@dataclass(eq=False)
class CampaignState:
    """A campaign's layout, and its votes when this was read."""

    bank_version: int
    """The version that the layout was made from."""
    layout: Layout
    served: Served
    collected: CollectedVotes
    confirmations: int
    """The counter of changes by platforms' lists, at that time."""
    last_look: CampaignLook | None
    read_at: float
    """The time by the monotonic clock."""
    reading_seconds: float

    @property
    def votes(self) -> int:
        """The number of votes that count."""
        return self.collected.votes

    @property
    def pending(self) -> int:
        """The number of votes from workers that the platform's list has not confirmed yet."""
        return self.collected.pending

    @property
    def left_out(self) -> frozenset[int]:
        """The seats that hold nothing; their tuples go to others."""
        return self.collected.left_out

    @property
    def is_old(self) -> bool:
        seconds = max(EVERY_SECONDS, READING_TIMES * self.reading_seconds)
        return time.monotonic() - self.read_at > seconds

    def hold(self, place: tuple[int, int]) -> None:
        """Counts one more voter for a tuple; `place` is its row and column (`Layout.place`)."""
        self.served.votes[place] += 1
        self.served.lacks_votes[place] = self.served.votes[place] < self.layout.wanted[place]

    def fill(self, place: tuple[int, int]) -> None:
        """Marks a tuple as complete, since others took it meanwhile."""
        self.served.votes[place] = self.layout.wanted[place]
        self.served.lacks_votes[place] = False


class CampaignStates:
    """The states of one server's campaigns; with `votes`, a campaign's workers are reviewed at every look.

    Only the votes of its own confirmed workers count in that review, so that outsiders can't get a worker flagged.
    """

    def __init__(
        self,
        database: Database,
        items: ItemBank,
        campaigns: CampaignStore,
        votes: VoteTable | None = None,
    ) -> None:
        self._database = database
        self._items = items
        self._campaigns = campaigns
        self._votes = votes
        self._flags: dict[int, FlagService] = {}
        self._states: dict[int, CampaignState] = {}
        self._readings: dict[int, Future] = {}
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="campaigns")

    def state_of(self, campaign: Campaign) -> CampaignState:
        """Returns the state of a campaign; the first call reads it.

        Raises CampaignError if the bank lacks its items.
        """
        known = self._states.get(campaign.id)
        while known is None or known.bank_version != self._items.bank().version:
            # A reading that began before the bank changed still has the old version.
            self._start_reading(campaign).result()
            known = self._states[campaign.id]
        if known.is_old:
            self.read_soon(campaign)
        return known

    def read_soon(self, campaign: Campaign) -> None:
        """Reads a campaign's state again in the background, at any age; an error is logged."""
        reading = self._start_reading(campaign)
        reading.add_done_callback(_log_error)  # Nobody waits for the result.

    def read_now(self, campaign: Campaign) -> CampaignState:
        """Reads a campaign's state again, at any age, and returns it."""
        # Not by `_start_reading`: a reading under way may have begun before the change that the caller wants to see.
        self._thread.submit(self._read, campaign).result()
        return self._states[campaign.id]

    def review_workers(self, campaign: Campaign) -> None:
        """Raises and lifts flags on a campaign's workers, if its votes have changed enough; without `votes`, none."""
        if self._votes is None:
            return
        if campaign.id not in self._flags:
            counted = CountSettings("campaign", (campaign.name,))
            review_name = campaign_review(campaign.name)
            self._flags[campaign.id] = FlagService(
                self._database, counted, self._votes, review_name
            )
        self._flags[campaign.id].look()

    def _start_reading(self, campaign: Campaign) -> Future:
        """Starts to read a campaign's state in the background, unless it is being read."""
        with self._lock:
            reading = self._readings.get(campaign.id)
            if reading is None or reading.done():
                reading = self._thread.submit(self._read, campaign)
                self._readings[campaign.id] = reading
            return reading

    def _read(self, campaign: Campaign) -> None:
        """Reads a campaign's state, looks at its orders if that is due, and ends it if its stop is reached."""
        began = time.monotonic()
        publish_votes(self._database)
        spec = battle_spec(campaign)
        bank = self._items.bank()
        before = self._states.get(campaign.id)
        if before is not None and before.bank_version != bank.version:
            before = None  # Its last look has other codes.
        with self._database.read() as connection:
            layout = before.layout if before else layout_of(spec, bank, model_names(connection))
            collected = collect_votes(connection, campaign, layout)
            confirmations = counter(connection, CONFIRMATIONS)
        last_look = before.last_look if before else None
        if _is_look_due(int(collected.counted.sum()), confirmations, before):
            self.review_workers(campaign)
            # Once more, without the voters who were flagged just now.
            with self._database.read() as connection:
                collected = collect_votes(connection, campaign, layout)
                votes = counted_votes(connection, campaign, layout, collected.uncounted)
            last_look = self._look(campaign, layout, votes, last_look) if len(votes) else None
        served = Served(
            models=len(layout.models),
            votes=collected.held,
            lacks_votes=collected.held < layout.wanted,
        )
        ended = time.monotonic()
        state = CampaignState(
            bank_version=bank.version,
            layout=layout,
            served=served,
            collected=collected,
            confirmations=confirmations,
            last_look=last_look,
            read_at=ended,
            reading_seconds=ended - began,
        )
        self._states[campaign.id] = state
        reason = stop_reason(spec, layout, collected, last_look)
        if campaign.ended_at is None and reason:
            self._campaigns.end(campaign, reason)

    def _look(
        self, campaign: Campaign, layout: Layout, votes: Votes, before: CampaignLook | None
    ) -> CampaignLook:
        """Rates the models by these votes, and stores the orders that they settle."""
        start = None
        if before is not None and len(before.fit.strengths) == votes.models:
            start = before.fit.strengths
        fit = bradley_terry(win_matrix(votes), start=start)
        bounds = intervals(fit, votes, "picture")
        board = campaign_board_name(campaign.name)
        with self._database.read() as connection:
            record = read_record(connection, board)
        models_ever = len(record.models.union(layout.models))
        alpha = battle_spec(campaign).stop.settled or ALPHA
        latest = look(fit, bounds, votes, models_ever, alpha)
        record = extend_record(self._database, board, record, layout.models, latest)
        standings = np.argsort(-np.nan_to_num(fit.ratings, nan=-np.inf)).tolist()
        orders = neighbouring_orders(latest, standings, record.settlements_among(layout.model_code))
        return CampaignLook(len(votes), fit, bounds, orders)


def _is_look_due(votes: int, confirmations: int, before: CampaignState | None) -> bool:
    """Returns whether the counted votes have passed a multiple of LOOK_EVERY since the last look, up or down, or a
    platform's list has changed them.
    """
    if before is None or before.last_look is None:
        return votes >= LOOK_EVERY
    if confirmations != before.confirmations:
        return True
    return votes // LOOK_EVERY != before.last_look.votes // LOOK_EVERY


def _log_error(reading: Future) -> None:
    error = reading.exception()
    if error is not None:
        log.error("a campaign's state could not be read, or its end not be stored", exc_info=error)


def stop_reason(
    spec: BattleSpec, layout: Layout, collected: CollectedVotes, last_look: CampaignLook | None
) -> str:
    """Returns the reason why a campaign is over, in words; empty while it is not."""
    stop = spec.stop
    if collected.votes >= stop.votes:
        return f"it has {collected.votes:,} of {stop.votes:,} votes"
    # Nothing is wanted while the models have no item in common, as between two files of answers.
    if layout.wanted.any() and bool((collected.counted >= layout.wanted).all()):
        return "every tuple has all its votes"
    if last_look is None:
        return ""
    are_settled = all(order.state == "settled" for order in last_look.orders)
    if stop.settled is not None and last_look.orders and are_settled:
        return f"all neighbours are clearly apart after {last_look.votes:,} votes"
    half_width = last_look.half_width
    if stop.width is not None and half_width <= stop.width:
        return f"the mean half width is {half_width:.1f} points after {last_look.votes:,} votes"
    return ""
