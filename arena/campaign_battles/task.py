"""Battle work: a seat of a campaign of battles draws battles and gives answers. `web` shows it."""

from datetime import timedelta

import numpy as np
from sqlalchemy import BigInteger, select, type_coerce

from arena.battles.choices import ChoiceError, UnknownBattleError, publish_votes
from arena.battles.store import BattleStore, Draw, ItemPair, VoteRequest
from arena.battles.tables import BATTLE, IS_FINAL, IS_LIVE
from arena.battles.vote_table import whole_numbers
from arena.campaign_battles.draws import drawn_battle, drawn_check, is_full, may_still_come
from arena.campaign_battles.state import CampaignState, CampaignStates
from arena.campaign_battles.votes import count_holders, seat_progress
from arena.database import Database, now
from arena.items.store import MODEL, ItemBank
from arena.ratings.planner import VOTE_SECONDS
from arena.seats.campaigns import Campaign
from arena.seats.quality import wanted_checks
from arena.seats.seats import Seat
from arena.seats.spec import CampaignError
from arena.seats.tables import SEAT_ENTRY, SEAT_TRY
from arena.seats.task import FEWEST_TIMED, MeasuredTimes, SeatProgress
from arena.types import SIDES, UNRELATED, Battle, Item, Phase, Side

RECENT = 1000
"""The number of the site's latest votes that a question's time is estimated from."""
_MICROSECONDS = type_coerce(BATTLE.c.voted_at, BigInteger) - type_coerce(
    BATTLE.c.began_at, BigInteger
)
_DURATIONS = select(_MICROSECONDS.label("microseconds")).where(IS_FINAL)


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

    def progress(self, seat: Seat) -> SeatProgress:
        """Returns the seat's progress so far."""
        with self._database.read() as connection:
            return seat_progress(connection, seat.id)

    def battle(self, seat: Seat, network: str | None) -> Battle | None:
        """Returns the seat's unfinished battle or a new one; None if the campaign has nothing left for it.

        A battle that was shown before the campaign ended, or the seat was full, is finished first, and counts unless it
        has lost its place (`_is_kept`). Raises CampaignError as `_state` does.
        """
        state = self._state(seat)
        spec = seat.campaign.spec
        checks = self._checks(seat)

        def choose(taken: frozenset[ItemPair]) -> Draw | None:
            if seat.campaign.ended_at is not None:
                return None
            # The seat is locked here, so that two tabs draw one after the other.
            with self._database.read() as connection:
                progress = seat_progress(connection, seat.id)
                check = drawn_check(checks, progress, taken, spec)
                if check is not None:
                    return check
                if state is None or progress.votes >= spec.seat.votes:
                    return None
                return drawn_battle(connection, seat, progress, state, taken, self._coin)

        def may_come_back(battle: Battle, _: ItemPair) -> bool:
            if battle.item not in self.items.bank().items:
                return False
            return self._is_kept(seat, state, battle)

        battle = self.store.serve(
            seat.voter, choose, seat=seat.id, may_come_back=may_come_back, network=network
        )
        is_running = state is not None and seat.campaign.ended_at is None
        if battle is None and is_running and (self._has_all_votes(seat) or not self.waits(seat)):
            # The seat's last vote is final by now. It may be the campaign's last, after which nobody else
            # may come to end it.
            self.states.read_soon(seat.campaign)
        return battle

    def _has_all_votes(self, seat: Seat) -> bool:
        return self.progress(seat).votes >= seat.campaign.spec.seat.votes

    def _state(self, seat: Seat) -> CampaignState | None:
        """Returns the state of a seat's campaign.

        If the bank lacks the campaign's items, returns None for a seat that draws nothing more, and raises
        CampaignError for others.
        """
        try:
            return self.states.state_of(seat.campaign)
        except CampaignError:
            if self._has_all_votes(seat) or seat.campaign.ended_at is not None:
                return None
            raise

    def _is_kept(self, seat: Seat, state: CampaignState | None, battle: Battle) -> bool:
        """Returns whether a battle still has its place. An unanswered one loses it after the seat's minutes, once
        others have taken its tuple, its answers were taken out of the bank, or the campaign has all its votes or has
        ended.
        """
        if not _is_late(seat, battle):
            return True
        if seat.campaign.ended_at is not None:
            return False
        tuple_ = self._tuple_of(battle)
        if tuple_ is None:
            return False
        place = state.layout.place(tuple_) if state else None
        if state is None or place is None:  # a check
            return True
        with self._database.read() as connection:
            if is_full(connection, seat.campaign, state):
                return False
            holders = count_holders(connection, seat.campaign, tuple_, state.left_out)
            return holders < state.layout.wanted[place]

    def is_full(self, campaign: Campaign) -> bool:
        """Returns whether all votes are stored or in progress, including pending ones."""
        state = self.states.state_of(campaign)
        if not state.served.lacks_votes.any():
            return True
        with self._database.read() as connection:
            return is_full(connection, campaign, state)

    def waits(self, seat: Seat) -> bool:
        """Returns whether a tuple lacks votes that this worker may give later: others hold it, or the worker skipped
        it.
        """
        with self._database.read() as connection:
            return may_still_come(connection, seat, self.states.state_of(seat.campaign))

    def take(self, seat: Seat, token: str, choice: str, terms: str) -> None:
        """Stores a seat's choice. Raises UnknownBattleError, and ChoiceError for an invalid or late choice."""
        battle = self.held_battle(seat, token)
        if choice not in SIDES:
            raise ChoiceError("You haven't chosen yet. Press A or B.")
        side: Side = "a" if choice == "a" else "b"
        if not _is_late(seat, battle):
            self.store.vote(seat.voter, token, side, terms)
            return
        state = self._state(seat)
        vote_request = VoteRequest(seat.voter, token, side, terms)
        is_stored = self.store.vote_if(
            lambda: self._is_kept(seat, state, battle), seat.id, vote_request
        )
        if not is_stored:
            raise ChoiceError(
                "You were away for a while, so this question went to others. Here's another."
            )

    def _tuple_of(self, battle: Battle) -> ItemPair | None:
        """Returns the tuple of a battle; None if the bank no longer has its answers."""
        item = self.items.bank().items.get(battle.item)
        contestants = item.contestants if item else ()
        model_by_answer = {contestant.answer: contestant.model for contestant in contestants}
        if not {battle.answer_a, battle.answer_b} <= model_by_answer.keys():
            return None
        low, high = sorted((model_by_answer[battle.answer_a], model_by_answer[battle.answer_b]))
        return ItemPair(battle.item, low, high)

    def held_battle(self, seat: Seat, token: str) -> Battle:
        """Returns the seat's battle of this token. Raises UnknownBattleError, also for the person's other seats."""
        battle = self.store.find(seat.voter, token)
        if battle.seat != seat.id:
            raise UnknownBattleError
        return battle

    def checks_wanted(self, seat: Seat) -> int:
        """Returns the number of checks that a seat gets, outside its quota."""
        spec = seat.campaign.spec
        return wanted_checks(spec.checks, spec.seat.votes, len(self._checks(seat)))

    def whole_seconds(self, campaign: Campaign) -> float | None:
        """Returns the usual seconds of all of a seat's votes and checks; None if unknown."""
        spec = campaign.spec
        checks = len(self.items.bank().checks(spec.checks.items))
        questions = spec.seat.votes + wanted_checks(spec.checks, spec.seat.votes, checks)
        seconds = self._times.seconds(campaign)
        return None if seconds is None else seconds * questions

    def _checks(self, seat: Seat) -> list[Item]:
        """Returns the check items that a seat may get, without those of its qualification."""
        with self._database.read() as connection:
            query = select(SEAT_TRY.c.question).where(SEAT_TRY.c.seat_id == seat.id)
            qualification_items = connection.scalars(query).all()
        checks = self.items.bank().checks(seat.campaign.spec.checks.items)
        return [item for item in checks if item.key not in qualification_items]

    def unrelated_model(self) -> int | None:
        """Returns the id of the model that check items' wrong answers are stored under."""
        with self._database.read() as connection:
            return connection.scalar(select(MODEL.c.id).where(MODEL.c.name == UNRELATED))

    def check_items(self, source: str) -> list[Item]:
        """Returns the check items of a source that have two answers, in a stable order."""
        checks = self.items.bank().checks(source)
        with_two_answers = [item for item in checks if len(item.contestants) == 2]
        return sorted(with_two_answers, key=lambda item: item.key)


def _is_late(seat: Seat, battle: Battle) -> bool:
    """Returns whether a battle has waited for its answer longer than the seat's minutes."""
    away = now() - battle.began_at
    return battle.phase is Phase.OPEN and away > timedelta(minutes=seat.campaign.spec.seat.minutes)


def question_seconds(database: Database, campaign: Campaign) -> float:
    """Returns the median seconds of a campaign's questions, from display to choice.

    With too few answers, it is the median of the site's votes; with too few of those, the planner's estimate.
    """
    seats = select(SEAT_ENTRY.c.seat_id).where(SEAT_ENTRY.c.campaign_id == campaign.id)
    of_campaign = _DURATIONS.where(BATTLE.c.seat_id.in_(seats))
    of_site = _DURATIONS.where(~IS_LIVE).order_by(BATTLE.c.final_number.desc()).limit(RECENT)
    publish_votes(database)
    with database.read() as connection:
        for query in (of_campaign, of_site):
            microseconds = whole_numbers(connection, query)["microseconds"]
            if len(microseconds) >= FEWEST_TIMED:
                return float(np.median(microseconds)) / 1e6
    return VOTE_SECONDS
