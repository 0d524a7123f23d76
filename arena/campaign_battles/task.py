"""Battle work: what a seat of a campaign of battles draws, gives and takes back. `web` shows it."""

import numpy as np
from sqlalchemy import select

from arena.battles.store import BattleStore, Draw, Seen
from arena.campaign_battles.draws import check_items, drawn_battle, drawn_check, spec_of
from arena.campaign_battles.state import CampaignStates
from arena.campaign_battles.votes import Given, given_by, holders
from arena.database import Database, now
from arena.items.store import MODEL, ItemBank
from arena.seats.checks import wanted_checks
from arena.seats.seats import Seat
from arena.seats.tables import SEAT_TRY
from arena.types import UNRELATED, Battle, Item, Phase


class BattleWork:
    """Battles under the seats of one database's campaigns."""

    def __init__(self, database: Database, store: BattleStore, items: ItemBank, states: CampaignStates) -> None:
        self.store, self.states, self.items = store, states, items
        self._database = database
        self._coin = np.random.default_rng()

    def given(self, seat: Seat) -> Given:
        with self._database.read() as connection:
            return given_by(connection, seat.id)

    def battle(self, seat: Seat, network: str | None) -> Battle | None:
        """The seat's unfinished battle or a new one; None if the campaign has nothing left for it.

        A battle that was shown before the campaign ended, or the seat was full, is finished first: it counts. Raises
        LimitError, and CampaignError where the bank lacks what the campaign needs.
        """
        state, given, spec = self.states.of(seat.campaign), self.given(seat), spec_of(seat)
        checks = self._checks(seat)

        def choose(taken: frozenset[Seen]) -> Draw | None:
            if seat.campaign.ended_at is not None:
                return None
            check = drawn_check(checks, given, taken, spec)
            if check is not None or given.votes >= spec.seat.votes:
                return check
            with self._database.read() as connection:
                return drawn_battle(connection, seat, given, state, taken, self._coin)

        def comes_back(battle: Battle, seen: Seen) -> bool:
            """An unanswered battle comes back unless others took its place after the seat's minutes."""
            if battle.item not in self.items.bank().items:
                return False
            place = state.layout.place(*seen)
            minutes = (now() - battle.served_at).total_seconds() / 60
            if battle.phase is not Phase.OPEN or place is None or minutes <= spec.seat.minutes:
                return True
            with self._database.read() as connection:
                return holders(connection, seat.campaign, seen, state.left_out) < state.layout.wanted[place]

        return self.store.serve(seat.voter, choose, seat=seat.id, comes_back=comes_back, network=network)

    def checks_wanted(self, seat: Seat) -> int:
        """How many checks a seat gets, outside its quota."""
        spec = spec_of(seat)
        return wanted_checks(spec.checks, spec.seat.votes, len(self._checks(seat)))

    def _checks(self, seat: Seat) -> list[Item]:
        """The check items that a seat may get."""
        with self._database.read() as connection:
            asked = connection.scalars(select(SEAT_TRY.c.question).where(SEAT_TRY.c.seat_id == seat.id)).all()
        return check_items(spec_of(seat), self.items.bank(), asked)

    def unrelated(self) -> int | None:
        """Id of the model under whose name check items have their wrong answer."""
        with self._database.read() as connection:
            return connection.scalar(select(MODEL.c.id).where(MODEL.c.name == UNRELATED))

    def check_items(self, source: str) -> list[Item]:
        """The check items of a source in an order that stays."""
        bank = self.items.bank()
        named = {one.id for one in bank.sources if one.kind == "check" and one.name == source}
        of_source = (item for item in bank.items.values() if item.source in named and len(item.contestants) == 2)
        return sorted(of_source, key=lambda item: item.key)
