"""Campaign state: a campaign's votes in memory, read again and again by a background thread.

Draws use it, then check in their own transaction that the drawn tuple still lacks a voter. The same thread looks at the
orders every LOOK_EVERY votes, aims *settle*, and ends the campaign when its stop is reached. Two servers may notice the
end at the same time, and a seat may exceed its quota by a vote.
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
from arena.ratings.assignment import Served, pair_gains
from arena.ratings.bradley_terry import Strengths, bradley_terry, win_matrix
from arena.ratings.intervals import Intervals, intervals
from arena.ratings.settled import ALPHA, LOOK_EVERY, Order, look, neighbouring_orders
from arena.ratings.votes import Floats, Votes
from arena.seats.campaigns import Campaign, CampaignStore

EVERY_SECONDS = 1.0
"""The least age of a state before it is read again."""
TIMES = 20
"""The same as a multiple of the last reading's duration; the longer of the two applies."""
log = logging.getLogger(__name__)


class Looked(NamedTuple):
    """The ratings and orders of a campaign's models at one look."""

    votes: int
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
        return pair_gains(self.fit, self.orders)


@dataclass(eq=False)
class CampaignState:
    """A campaign's layout, and its votes when this was read."""

    bank: int
    """The version of the bank that the layout was made from."""
    layout: Layout
    served: Served
    collected: CollectedVotes
    confirmations: int
    """The number of platforms' lists at that time."""
    looked: Looked | None
    read_at: float
    took: float

    @property
    def votes(self) -> int:
        """The number of votes that count."""
        return int(self.collected.counted.sum())

    @property
    def pending(self) -> int:
        """The number of votes from workers that the platform's list has not confirmed yet."""
        return int(self.collected.cast.sum()) - self.votes

    @property
    def left_out(self) -> frozenset[int]:
        return self.collected.left_out

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.read_at > max(EVERY_SECONDS, TIMES * self.took)

    def hold(self, place: tuple[int, int]) -> None:
        """Counts one more voter for a tuple."""
        self.served.votes[place] += 1
        self.served.lacks_votes[place] = self.served.votes[place] < self.layout.wanted[place]

    def fill(self, place: tuple[int, int]) -> None:
        """Marks a tuple as complete, since others took it meanwhile."""
        self.served.votes[place] = self.layout.wanted[place]
        self.served.lacks_votes[place] = False


class CampaignStates:
    """The states of one server's campaigns; with `flags`, voters are reviewed at every look.

    A board reviews voters when it is opened, but the boards of a source are closed while its campaign runs.
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

    def state_of(self, campaign: Campaign) -> CampaignState:
        """Returns the state of a campaign; the first call reads it.

        Raises CampaignError if the bank lacks its items.
        """
        known = self._states.get(campaign.id)
        if known is not None and known.bank == self._items.bank().version:
            if known.is_old:
                self._read(campaign).add_done_callback(_log_error)  # Nobody waits for the result.
            return known
        self._read(campaign).result()
        return self._states[campaign.id]

    def fresh(self, campaign: Campaign) -> CampaignState:
        """Returns the state after reading it again, at any age."""
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
                # The last look has other codes.
                known = None
                layout = layout_of(spec, bank, model_names(connection))
            else:
                layout = known.layout
            collected_votes = collected(connection, campaign, layout)
            confirmations = counter(connection, CONFIRMATIONS)
        looked = known.looked if known else None
        if _is_look_due(int(collected_votes.counted.sum()), confirmations, known):
            if self._flags:
                self._flags.look()
            with self._database.read() as connection:
                collected_votes = collected(connection, campaign, layout)
                cast = counted_votes(connection, campaign, layout, collected_votes.uncounted)
            looked = self._look(campaign, layout, cast, looked) if len(cast) else None
        served = Served(
            len(layout.models), collected_votes.held, collected_votes.held < layout.wanted
        )
        ended = time.monotonic()
        state = CampaignState(
            bank=bank.version,
            layout=layout,
            served=served,
            collected=collected_votes,
            confirmations=confirmations,
            looked=looked,
            read_at=ended,
            took=ended - begun,
        )
        self._states[campaign.id] = state
        why = stop_reached(spec, layout, collected_votes.counted, looked)
        if campaign.ended_at is None and why:
            self._campaigns.end(campaign, why)

    def _look(
        self, campaign: Campaign, layout: Layout, votes: Votes, before: Looked | None
    ) -> Looked:
        has_same_models = before is not None and len(before.fit.strengths) == votes.models
        start = before.fit.strengths if before and has_same_models else None
        fit = bradley_terry(win_matrix(votes), start=start)
        bounds = intervals(fit, votes, "picture")
        board = campaign_board(campaign.name)
        with self._database.read() as connection:
            record = read_record(connection, board)
        ever = len(record.models.union(layout.models))
        latest = look(fit, bounds, votes, ever, battle_spec(campaign).stop.settled or ALPHA)
        record = extend_record(self._database, board, record, layout.models, latest)
        standings = np.argsort(-np.nan_to_num(fit.ratings, nan=-np.inf)).tolist()
        orders = neighbouring_orders(latest, standings, record.among(layout.model_code))
        return Looked(len(votes), fit, bounds, orders)


def _is_look_due(votes: int, confirmations: int, known: CampaignState | None) -> bool:
    """Returns whether LOOK_EVERY more votes count than at the last look, or a platform's list has changed the
    counted votes.
    """
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
    """Returns the reason why a campaign is over, by the votes that count; empty while it is not."""
    stop = spec.stop
    votes = int(counted.sum())
    if votes >= stop.votes:
        return f"it has {votes:,} of {stop.votes:,} votes"
    if bool((counted >= layout.wanted).all()):
        return "every tuple has all its votes"
    if looked is None:
        return ""
    is_settled = all(order.state == "settled" for order in looked.orders)
    if stop.settled is not None and looked.orders and is_settled:
        return f"all neighbours are clearly apart after {looked.votes:,} votes"
    if stop.width is not None and looked.half_width <= stop.width:
        return f"the mean half width is {looked.half_width:.1f} points after {looked.votes:,} votes"
    return ""
