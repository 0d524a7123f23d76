"""Campaign state: what a campaign has, in memory, read anew by one background thread.

A draw follows it; whether the drawn tuple still lacks a voter is asked of the database, within the draw's transaction.
The same thread looks at the orders every LOOK_EVERY votes, aims *settle*, and ends the campaign when its stop is
reached; two servers may notice at once, and a seat may go over by a vote.
"""

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from arena.battles.settlements import campaign_board, extend_record, read_record
from arena.battles.tables import CONFIRMATIONS
from arena.campaign_battles.layout import Layout, layout_of
from arena.campaign_battles.spec import BattleSpec, battle_spec
from arena.campaign_battles.votes import CollectedVotes, collected, counted_votes
from arena.database import Database, counter
from arena.fraud.flags import FlagService
from arena.items.store import ItemBank, model_names
from arena.ratings.assignment import Served, gains
from arena.ratings.bradley_terry import Strengths, bradley_terry, win_matrix
from arena.ratings.intervals import Intervals, intervals
from arena.ratings.settled import ALPHA, LOOK_EVERY, Order, look, neighbouring_orders
from arena.ratings.votes import Floats, Votes
from arena.seats.campaigns import Campaign, CampaignStore

EVERY_SECONDS = 1.0
"""Least age of a state before it is read anew."""
TIMES = 20
"""The same as a multiple of the time that its reading took; the longer of the two counts."""
log = logging.getLogger(__name__)


class Looked(NamedTuple):
    """What a campaign's votes say about its models at one look."""

    votes: int
    fit: Strengths
    intervals: Intervals
    orders: tuple[Order, ...]
    """Of neighbours, by the layout's codes."""

    @property
    def half_width(self) -> float:
        """Mean half width of the intervals, in rating points; NaN while a model has no number."""
        return float(np.mean(self.intervals.high - self.intervals.low)) / 2

    @property
    def gains(self) -> Floats | None:
        return gains(self.fit, self.orders)


@dataclass(eq=False)
class CampaignState:
    """A campaign's layout, and what it had when this was read."""

    bank: int
    """Version of the bank that the layout is of."""
    layout: Layout
    served: Served
    collected: CollectedVotes
    confirmations: int
    """How many of the platforms' lists were there."""
    looked: Looked | None
    read_at: float
    took: float

    @property
    def votes(self) -> int:
        """Those that count."""
        return int(self.collected.counted.sum())

    @property
    def pending(self) -> int:
        """Votes whose workers the platform's list has not confirmed yet."""
        return int(self.collected.given.sum()) - self.votes

    @property
    def left_out(self) -> frozenset[int]:
        return self.collected.left_out

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.read_at > max(EVERY_SECONDS, TIMES * self.took)

    def hold(self, place: tuple[int, int]) -> None:
        """Note that a tuple was given to one more voter."""
        self.served.votes[place] += 1
        self.served.wanted[place] = self.served.votes[place] < self.layout.wanted[place]

    def fill(self, place: tuple[int, int]) -> None:
        """Note that a tuple has all its voters: others took it meanwhile."""
        self.served.votes[place] = self.layout.wanted[place]
        self.served.wanted[place] = False


class CampaignStates:
    """The states of one server's campaigns; with `flags` its voters are reviewed at every look.

    A board reviews them when it is opened, and nobody opens those of a source whose campaign runs.
    """

    def __init__(
        self,
        database: Database,
        items: ItemBank,
        campaigns: CampaignStore,
        flags: FlagService | None = None,
    ) -> None:
        self._database = database
        self._items = items
        self._campaigns = campaigns
        self._flags = flags
        self._states: dict[int, CampaignState] = {}
        self._reading: dict[int, Future] = {}
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="campaigns")

    def of(self, campaign: Campaign) -> CampaignState:
        """The state of a campaign; the first call reads it. Raises CampaignError where the bank lacks what it needs."""
        known = self._states.get(campaign.id)
        if known is not None and known.bank == self._items.bank().version:
            if known.is_old:
                self._read(campaign).add_done_callback(_log_error)  # nobody waits for it
            return known
        self._read(campaign).result()
        return self._states[campaign.id]

    def fresh(self, campaign: Campaign) -> CampaignState:
        """The state read anew, whatever its age."""
        self._thread.submit(self._state, campaign).result()
        return self._states[campaign.id]

    def _read(self, campaign: Campaign) -> Future:
        with self._lock:
            running = self._reading.get(campaign.id)
            if running is None or running.done():
                running = self._reading[campaign.id] = self._thread.submit(self._state, campaign)
            return running

    def _state(self, campaign: Campaign) -> None:
        begun = time.monotonic()
        spec = battle_spec(campaign)
        bank = self._items.bank()
        known = self._states.get(campaign.id)
        with self._database.read() as connection:
            if known is None or known.bank != bank.version:
                # what was seen has other codes
                known = None
                layout = layout_of(spec, bank, model_names(connection))
            else:
                layout = known.layout
            found = collected(connection, campaign, layout)
            confirmations = counter(connection, CONFIRMATIONS)
        looked = known.looked if known else None
        if _is_look_due(int(found.counted.sum()), confirmations, known):
            if self._flags:
                self._flags.look()
            with self._database.read() as connection:
                found = collected(connection, campaign, layout)
                cast = counted_votes(connection, campaign, layout, found.uncounted)
            looked = self._look(campaign, layout, cast, looked) if len(cast) else None
        served = Served(len(layout.models), found.held, found.held < layout.wanted)
        ended = time.monotonic()
        state = CampaignState(
            bank=bank.version,
            layout=layout,
            served=served,
            collected=found,
            confirmations=confirmations,
            looked=looked,
            read_at=ended,
            took=ended - begun,
        )
        self._states[campaign.id] = state
        why = stop_reached(spec, layout, found.counted, looked)
        if campaign.ended_at is None and why:
            self._campaigns.end(campaign, why)

    def _look(
        self, campaign: Campaign, layout: Layout, votes: Votes, before: Looked | None
    ) -> Looked:
        start = (
            before.fit.strengths if before and len(before.fit.strengths) == votes.models else None
        )
        fit = bradley_terry(win_matrix(votes), start=start)
        found = intervals(fit, votes, "picture")
        board = campaign_board(campaign.name)
        with self._database.read() as connection:
            record = read_record(connection, board)
        ever = len(record.models.union(layout.models))
        seen = look(fit, found, votes, ever, battle_spec(campaign).stop.settled or ALPHA)
        record = extend_record(self._database, board, record, layout.models, seen)
        standings = np.argsort(-np.nan_to_num(fit.ratings, nan=-np.inf)).tolist()
        return Looked(
            len(votes),
            fit,
            found,
            neighbouring_orders(seen, standings, record.among(layout.model_code)),
        )


def _is_look_due(votes: int, confirmations: int, known: CampaignState | None) -> bool:
    """Whether LOOK_EVERY more votes count than at the last look, or a platform's list has changed which ones do."""
    looked = known.looked if known else None
    if looked is None or known is None:
        return votes >= LOOK_EVERY
    return confirmations != known.confirmations or votes // LOOK_EVERY > looked.votes // LOOK_EVERY


def _log_error(reading: Future) -> None:
    if error := reading.exception():
        log.error("a campaign's state could not be read, or its end not be stored", exc_info=error)


def stop_reached(
    spec: BattleSpec, layout: Layout, counted: np.ndarray, looked: Looked | None
) -> str:
    """Why a campaign is over by the votes that count; empty while it is not."""
    stop = spec.stop
    votes = int(counted.sum())
    if votes >= stop.votes:
        return f"{votes:,} votes of {stop.votes:,} are there"
    if bool((counted >= layout.wanted).all()):
        return "every tuple has its votes"
    if looked is None:
        return ""
    if (
        stop.settled is not None
        and looked.orders
        and all(one.state == "settled" for one in looked.orders)
    ):
        return f"every two neighbours are clear of each other after {looked.votes:,} votes"
    if stop.width is not None and looked.half_width <= stop.width:
        return f"the mean half width is {looked.half_width:.1f} points after {looked.votes:,} votes"
    return ""
