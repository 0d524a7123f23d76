"""Battle work: what a seat of a campaign of battles draws, gives and takes back. `web` shows it."""

from datetime import timedelta

import numpy as np
from sqlalchemy import select

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.store import BattleStore, Draw, Seen, VoteRequest
from arena.campaign_battles.draws import drawn_battle, drawn_check, is_full, may_still_come
from arena.campaign_battles.state import CampaignState, CampaignStates
from arena.campaign_battles.times import question_seconds
from arena.campaign_battles.votes import given_by, holders
from arena.database import Database, now
from arena.items.store import MODEL, ItemBank
from arena.seats.campaigns import Campaign
from arena.seats.checks import wanted_checks
from arena.seats.seats import Seat
from arena.seats.tables import SEAT_TRY
from arena.seats.task import SeatProgress
from arena.seats.times import MeasuredTimes
from arena.types import SIDES, UNRELATED, Battle, Item, Phase, Side


class BattleWork:
    """Battles under the seats of one database's campaigns."""

    def __init__(
        self, database: Database, store: BattleStore, items: ItemBank, states: CampaignStates
    ) -> None:
        self.store = store
        self.states = states
        self.items = items
        self._database = database
        self._coin = np.random.default_rng()
        self._times = MeasuredTimes(lambda campaign: question_seconds(database, campaign))

    def given(self, seat: Seat) -> SeatProgress:
        with self._database.read() as connection:
            return given_by(connection, seat.id)

    def battle(self, seat: Seat, network: str | None) -> Battle | None:
        """The seat's unfinished battle or a new one; None if the campaign has nothing left for it.

        A battle that was shown before the campaign ended, or the seat was full, is finished first: it counts. Raises
        LimitError, and CampaignError where the bank lacks what the campaign needs.
        """
        state = self.states.of(seat.campaign)
        spec = seat.campaign.spec
        checks = self._checks(seat)

        def choose(taken: frozenset[Seen]) -> Draw | None:
            if seat.campaign.ended_at is not None:
                return None
            # now that the seat is locked: two tabs draw one after the other
            with self._database.read() as connection:
                given = given_by(connection, seat.id)
                check = drawn_check(checks, given, taken, spec)
                if check is not None or given.votes >= spec.seat.votes:
                    return check
                return drawn_battle(connection, seat, given, state, taken, self._coin)

        def comes_back(battle: Battle, seen: Seen) -> bool:
            return battle.item in self.items.bank().items and self._keeps(seat, state, battle, seen)

        return self.store.serve(
            seat.voter, choose, seat=seat.id, comes_back=comes_back, network=network
        )

    def _keeps(self, seat: Seat, state: CampaignState, battle: Battle, seen: Seen) -> bool:
        """Whether a battle has its place: one without an answer, until others took it after the seat's minutes, or
        the campaign has all its votes, or ended.
        """
        place = state.layout.place(seen)
        if place is None or not _is_late(seat, battle):
            return True
        if seat.campaign.ended_at is not None:
            return False
        with self._database.read() as connection:
            if is_full(connection, seat.campaign, state):
                return False
            holding = holders(connection, seat.campaign, seen, state.left_out)
            return holding < state.layout.wanted[place]

    def is_full(self, campaign: Campaign) -> bool:
        """Whether all votes are there or being given, pending ones too."""
        state = self.states.of(campaign)
        if not state.served.wanted.any():
            return True
        with self._database.read() as connection:
            return is_full(connection, campaign, state)

    def waits(self, seat: Seat) -> bool:
        """Whether a tuple lacks votes that this worker may give: others hold it, or he skipped it."""
        with self._database.read() as connection:
            return may_still_come(connection, seat, self.states.of(seat.campaign))

    def take(self, seat: Seat, token: str, choice: str, terms: str) -> None:
        """Stores a seat's choice. Raises UnknownBattleError, and ChoiceError where it is none, or comes too late."""
        battle = self.mine(seat, token)
        if choice not in SIDES:
            raise ChoiceError("Nothing was chosen; press A or B.")
        side: Side = "a" if choice == "a" else "b"
        seen = self._seen(battle)
        if seen is None or not _is_late(seat, battle):
            self.store.vote(seat.voter, token, side, terms)
            return
        state = self.states.of(seat.campaign)
        vote_request = VoteRequest(seat.voter, token, side, terms)
        if not self.store.vote_if(
            lambda: self._keeps(seat, state, battle, seen), seat.id, vote_request
        ):
            raise ChoiceError(
                "You were away for long, and others were asked this meanwhile. Here is another."
            )

    def _seen(self, battle: Battle) -> Seen | None:
        """What a battle is about; None where the bank has no such answers any more."""
        item = self.items.bank().items.get(battle.item)
        model = {one.answer: one.model for one in item.contestants} if item else {}
        if battle.answer_a not in model or battle.answer_b not in model:
            return None
        low, high = sorted((model[battle.answer_a], model[battle.answer_b]))
        return Seen(battle.item, low, high)

    def mine(self, seat: Seat, token: str) -> Battle:
        """The seat's battle of this token. Raises UnknownBattleError, for one of the same person's other seats too."""
        battle = self.store.find(seat.voter, token)
        if battle.seat != seat.id:
            raise UnknownBattleError
        return battle

    def checks_wanted(self, seat: Seat) -> int:
        """How many checks a seat gets, outside its quota."""
        spec = seat.campaign.spec
        return wanted_checks(spec.checks, spec.seat.votes, len(self._checks(seat)))

    def whole_seconds(self, campaign: Campaign) -> float | None:
        """How long a seat's votes and checks usually take."""
        spec = campaign.spec
        checks = len(self.items.bank().checks(spec.checks.items))
        questions = spec.seat.votes + wanted_checks(spec.checks, spec.seat.votes, checks)
        seconds = self._times.of(campaign)
        return None if seconds is None else seconds * questions

    def _checks(self, seat: Seat) -> list[Item]:
        """The check items that a seat may get: those that its qualification did not ask."""
        with self._database.read() as connection:
            asked = connection.scalars(
                select(SEAT_TRY.c.question).where(SEAT_TRY.c.seat_id == seat.id)
            ).all()
        checks = self.items.bank().checks(seat.campaign.spec.checks.items)
        return [item for item in checks if item.key not in asked]

    def unrelated(self) -> int | None:
        """Id of the model under whose name check items have their wrong answer."""
        with self._database.read() as connection:
            return connection.scalar(select(MODEL.c.id).where(MODEL.c.name == UNRELATED))

    def check_items(self, source: str) -> list[Item]:
        """The check items of a source in an order that stays."""
        pairs = (item for item in self.items.bank().checks(source) if len(item.contestants) == 2)
        return sorted(pairs, key=lambda item: item.key)


def _is_late(seat: Seat, battle: Battle) -> bool:
    """Whether a battle has waited for its answer longer than the seat's minutes."""
    away = now() - battle.began_at
    return battle.phase is Phase.OPEN and away > timedelta(minutes=seat.campaign.spec.seat.minutes)
