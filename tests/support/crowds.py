"""A crowd: workers who come, take battles of a campaign, answer, dawdle, skip, take back and walk away, on a clock.

The clock is the crowd's own: each minute of it, battles that wait for an answer are made a minute older.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

import numpy as np
from sqlalchemy import bindparam, select, update

from arena.battles.choices import ChoiceError
from arena.battles.store import ItemPair
from arena.battles.tables import BATTLE, HAS_CHOICE, IS_SKIPPED
from arena.campaign_battles.spec import battle_spec
from arena.campaign_battles.state import CampaignState
from arena.database import Database, now
from arena.seats.campaigns import Campaign
from arena.seats.links import CampaignLinkError
from arena.seats.seats import Seat
from arena.types import Battle
from tests.support.battle_campaigns import Battles

LOOK_EVERY = 25
"""Acts between two looks of the servers at what others did; real ones look every second."""
PATIENCE = 60
AGAIN = 5
"""Minutes that a worker waits while others hold what is left, and between two times that he asks."""
_AGED = update(BATTLE).where(BATTLE.c.id == bindparam("battle")).values(began_at=bindparam("began"))


class Habits(NamedTuple):
    """What workers do, as shares of battles; `careless` and `slow` are shares of workers."""

    leaves: float = 0.0
    """Walks away from an open battle."""
    returns: float = 0.5
    """Of those who left: comes back to it, ten minutes to an hour later."""
    skips: float = 0.0
    undoes: float = 0.0
    careless: float = 0.0
    """Fails every check."""
    slow: float = 0.0
    """Takes ten times as long as others."""


PEOPLE = Habits(leaves=0.01, skips=0.02, undoes=0.03, careless=0.04, slow=0.05)


@dataclass(eq=False)
class Worker:
    """A person at a seat."""

    seat: Seat
    server: Battles
    is_careless: bool
    pace: float
    """Minutes of an answer."""
    battle: Battle | None = None
    waits_since: float | None = None
    is_away: bool = False


@dataclass(frozen=True, eq=False)
class Sight:
    """What a campaign has at one moment."""

    state: CampaignState
    active: int
    """Seats that did something within the campaign's minutes."""
    per_tuple: int
    asked_again: np.ndarray
    """Mask of the tuples that seats judged whose answers do not count, or that somebody skipped or walked away from."""

    @property
    def wanted(self) -> np.ndarray:
        return self.state.layout.wanted

    @property
    def overlap(self) -> np.ndarray:
        """Mask of the tuples that get more votes than others, for agreement."""
        return self.wanted > self.per_tuple

    @property
    def unfinished(self) -> np.ndarray:
        """Mask of the tuples that have votes, but not all."""
        return (self.state.collected.counted > 0) & (self.state.collected.counted < self.wanted)

    @property
    def finished(self) -> np.ndarray:
        return (self.wanted > 0) & (self.state.collected.counted >= self.wanted)


@dataclass(eq=False)
class Crowd:
    """Workers of a campaign, so many of them at work at any time."""

    servers: Sequence[Battles]
    name: str
    at_work: int
    coin: random.Random
    habits: Habits = Habits()
    prefers: Callable[[Battle], str] | None = None
    """The side that a worker chooses; None: either."""
    places: int = 10**6
    """The most workers that come."""
    minutes: float = 0.0
    answers: int = 0
    """Those to checks too."""
    came: int = 0
    _queue: list[tuple[float, int, Worker]] = field(default_factory=list)
    _working: set[int] = field(default_factory=set)
    _last: dict[int, float] = field(default_factory=dict)
    """By seat: the minute of its last act."""
    _aged: float = 0.0
    _acts: int = 0

    def __post_init__(self) -> None:
        bank = self.servers[0].items.bank()
        self._checks = {item.id for item in bank.checks()}

    @property
    def campaign(self) -> Campaign:
        return self.servers[0].campaigns.get(self.name)

    def work(self, answers: float | None = None) -> None:
        """Go on until the campaign ended and nobody is there any more, or so many answers were given."""
        while (answers is None or self.answers < answers) and self.act():
            pass

    def act(self) -> bool:
        """Let the next worker do what he does next; False if nobody is there any more."""
        while self._has_room() and self.campaign.ended_at is None:
            self._come()
        if not self._queue:
            return False
        self.minutes, _, worker = heapq.heappop(self._queue)
        if self.minutes - self._aged > 1:
            age_open_battles(self.servers[0].database, self.minutes - self._aged)
            self._aged = self.minutes
        self._acts += 1
        if self._acts % LOOK_EVERY == 0:
            self.look()
        self._last[worker.seat.id] = self.minutes
        if worker.battle is None:
            self._take_up(worker)
        else:
            self._decide(worker, worker.battle)
        return True

    def _has_room(self) -> bool:
        return len(self._working) < self.at_work and self.came < self.places

    def look(self) -> None:
        """Let every server read what is there, as it does each second."""
        for server in self.servers:
            server.states.read_now(self.campaign)

    def sight(self) -> Sight:
        self.look()
        limit = self.minutes - self.campaign.spec.seat.minutes
        active = sum(last >= limit for last in self._last.values())
        state = self.servers[0].states.state_of(self.campaign)
        again = np.zeros(state.layout.wanted.shape, bool)
        query = select(BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
        minutes = timedelta(minutes=self.campaign.spec.seat.minutes)
        with self.servers[0].database.read() as connection:
            is_lost = HAS_CHOICE & BATTLE.c.seat_id.in_(state.left_out)
            is_alone = (BATTLE.c.began_at < now() - minutes) | BATTLE.c.seat_id.not_in(
                self._working
            )
            is_left = ~HAS_CHOICE & is_alone
            for row in connection.execute(query.where(IS_SKIPPED | is_left | is_lost)):
                if place := state.layout.place(ItemPair.of_row(row)):
                    again[place] = True
        return Sight(state, active, battle_spec(self.campaign).per_tuple, again)

    def _come(self) -> None:
        self.came += 1
        server = self.servers[self.came % len(self.servers)]
        try:
            seat = server.seat(self.campaign, f"worker {self.came}")
        except CampaignLinkError:
            # A server reads its state in a thread, which may have ended the campaign meanwhile.
            assert self.campaign.ended_at is not None
            return
        is_slow = self.coin.random() < self.habits.slow
        worker = Worker(
            seat=seat,
            server=server,
            is_careless=self.coin.random() < self.habits.careless,
            pace=self.coin.lognormvariate(0, 0.4) * (10 if is_slow else 1),
        )
        self._working.add(seat.id)
        self._next_act(worker, 0.1 * self.coin.random())

    def _next_act(self, worker: Worker, minutes: float) -> None:
        heapq.heappush(self._queue, (self.minutes + minutes, worker.seat.id, worker))

    def _take_up(self, worker: Worker) -> None:
        worker.battle = worker.server.next(worker.seat)
        if worker.battle is None:
            self._wait_or_go(worker)
            return
        worker.waits_since = None
        if self.coin.random() >= self.habits.leaves:
            self._next_act(worker, worker.pace * self.coin.lognormvariate(-0.2, 0.6))
            return
        self._working.discard(worker.seat.id)
        if self.coin.random() < self.habits.returns:
            self._next_act(worker, self.coin.uniform(10, 60))

    def _wait_or_go(self, worker: Worker) -> None:
        if worker.waits_since is None:
            worker.waits_since = self.minutes
        is_tired = self.minutes - worker.waits_since > PATIENCE
        if (
            self.campaign.ended_at is None
            and not is_tired
            and worker.server.work.waits(worker.seat)
        ):
            given = worker.server.work.progress(worker.seat)
            if given.votes < worker.seat.campaign.spec.seat.votes:
                self._next_act(worker, AGAIN)
                return
        self._working.discard(worker.seat.id)

    def _decide(self, worker: Worker, battle: Battle) -> None:
        worker.battle = None
        try:
            if self.coin.random() < self.habits.skips:
                worker.server.store.skip(worker.seat.voter, battle.token, "cannot judge")
            else:
                self._answer(worker, battle)
        except ChoiceError:
            pass  # he was away for long, or has no skips left: the page shows what he has now
        self._next_act(worker, 0.02)

    def _answer(self, worker: Worker, battle: Battle) -> None:
        side = self._side(worker, battle)
        worker.server.work.take(worker.seat, battle.token, side, "1")
        if self.coin.random() < self.habits.undoes:
            battle = worker.server.store.undo(worker.seat.voter, battle.token)
            worker.server.work.take(worker.seat, battle.token, side, "1")
        worker.server.store.reveal(worker.seat.voter, battle.token)
        self.answers += 1

    def _side(self, worker: Worker, battle: Battle) -> str:
        if battle.item in self._checks:
            right = worker.server.better(battle, ())
            return {"a": "b", "b": "a"}[right] if worker.is_careless else right
        return self.prefers(battle) if self.prefers else self.coin.choice("ab")


def age_open_battles(database: Database, minutes: float) -> None:
    """Make every battle that waits for an answer so many minutes older."""
    waiting = select(BATTLE.c.id, BATTLE.c.began_at).where(~HAS_CHOICE, ~IS_SKIPPED)
    with database.write() as connection:
        rows = connection.execute(waiting).all()
        earlier = [
            {"battle": row.id, "began": row.began_at - timedelta(minutes=minutes)} for row in rows
        ]
        if earlier:
            connection.execute(_AGED, earlier)
