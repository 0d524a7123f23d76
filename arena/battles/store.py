"""Battle store: transactions that serve battles and take votes, undos, reveals and skips."""

import secrets
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from sqlalchemy import Connection, Integer, Row, bindparam, delete, func, insert, select

from arena.battles.choices import (
    ChoiceError,
    ChoiceStore,
    UnknownBattleError,
    VoteError,
    attempt_of,
    check_among,
    parse_token,
    phase,
)
from arena.battles.quotas import LIMITS, Quotas
from arena.battles.tables import BATTLE, HAS_CHOICE, HELD, IS_LIVE, NO_SEAT, SEAT, UNFINISHED
from arena.battles.voters import Voters, lock, selves
from arena.database import Database, now
from arena.items.store import IMAGE
from arena.settings import VoteLimits
from arena.types import SIDES, Battle, Phase, Side, SkipReason

SKIPS_AT_LEAST = 5
"""The skips that a voter always has in a day."""
SKIPS_SHARE = 0.2
"""The share of a day's battles that a voter may skip."""
BROKEN_TIMES = 4
"""Battles with a broken picture count separately: this many times as many may be skipped, since only the browser can
tell."""


DrawKind = Literal["lot", "picked", "campaign", "check"]
"""The way a battle was drawn: by lot, on an item that the voter picked, for a campaign, or as a check."""


class Draw(NamedTuple):
    """An item, two models, their answers and the side of each."""

    item: int
    model_a: int
    model_b: int
    answer_a: int
    answer_b: int
    kind: DrawKind = "lot"
    probability: float | None = None
    """By lot, the probability of this item and pair among all that the voter could still get; in a campaign, that of
    the pair; otherwise None.
    """

    def with_kind(self, kind: DrawKind) -> "Draw":
        """Returns the same draw with this kind, and without its probability if it isn't by lot."""
        probability = self.probability if kind == "lot" else None
        return self._replace(kind=kind, probability=probability)

    def columns(self) -> dict[str, object]:
        """Returns the draw as columns of a battle, held or served."""
        return {
            "item_id": self.item,
            "model_a": self.model_a,
            "model_b": self.model_b,
            "answer_a": self.answer_a,
            "answer_b": self.answer_b,
            "draw": self.kind,
            "draw_probability": self.probability,
        }


class ItemPair(NamedTuple):
    """A battle's item and pair of models, lower code first."""

    item: int
    low: int
    high: int

    @classmethod
    def of_row(cls, row: Row) -> "ItemPair":
        """Returns the item and pair of a row with a battle's columns."""
        return cls(item=row.item_id, low=row.model_low, high=row.model_high)


class DrawWithToken(NamedTuple):
    """A draw with the random name of its battle."""

    token: str
    """The name, which the battle's row stores too; the tokens of its two attempts begin with it."""
    draw: Draw


Choose = Callable[[frozenset[ItemPair]], Draw | None]
"""Draws a new battle for a voter who has had these battles; None if nothing is left."""
CanShow = Callable[[Draw, frozenset[ItemPair]], bool]
"""Whether a held draw can still be shown to a voter who has had these battles."""

_IS_OF_VOTER = BATTLE.c.voter_id.in_(selves(bindparam("voter", type_=Integer)))
_SEEN_QUERY = select(BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high).where(
    _IS_OF_VOTER, ~IS_LIVE
)
_VOTE_COUNT = select(func.count()).where(
    BATTLE.c.voter_id == bindparam("voter"), HAS_CHOICE, ~IS_LIVE
)
_UNFINISHED_ON_ITEM = UNFINISHED.where(BATTLE.c.item_id == bindparam("item"))
_HELD_QUERY = select(HELD).where(HELD.c.voter_id == bindparam("voter"))
_DELETE_HELD = delete(HELD).where(HELD.c.voter_id == bindparam("voter"))
_DELETE_THIS_HELD = _DELETE_HELD.where(HELD.c.token == bindparam("token"))
_IMAGE_COUNT = select(func.count()).where(IMAGE.c.item_id == bindparam("item")).scalar_subquery()
_INSERT_BATTLE = insert(BATTLE).values(images=_IMAGE_COUNT).returning(*BATTLE.c)


class VoteRequest(NamedTuple):
    """A voter's choice as sent; `terms` is the version of the terms that the page showed."""

    voter: int
    token: str
    choice: Side
    terms: str


class BattleStore(ChoiceStore[Battle]):
    """Battles of stored answers: serving them, and taking votes and skips."""

    def __init__(self, database: Database, limits: VoteLimits = LIMITS) -> None:
        super().__init__(database, kind=~IS_LIVE, battle_of=lambda _, row: _battle(row))
        self.voter = Voters(database).voter
        self._quotas = Quotas(database, limits)

    def serve(
        self,
        voter: int,
        choose: Choose,
        item: int | None = None,
        seat: int | None = None,
        may_come_back: Callable[[Battle, ItemPair], bool] = lambda battle, pair: True,
        network: str | None = None,
        can_show: CanShow = lambda draw, taken: False,
    ) -> Battle | None:
        """Returns the voter's unfinished battle (on `item`, if it is set) that `may_come_back` accepts, or one from
        `choose`.

        `choose` gets the battles that the voter has had; it returns None if nothing is left. A held battle that
        `can_show` still accepts takes the place of the one from `choose`. Raises LimitError outside of a seat.
        """
        with self._database.write() as connection:
            self._lock(connection, voter, seat)
            for row in _unfinished_rows(connection, voter, seat, item):
                if may_come_back(_battle(row), ItemPair.of_row(row)):
                    return _battle(row)
            taken = _seen_battles(connection, voter)
            held = _read_held(connection, voter)
            can_serve_held = held is not None and can_show(held.draw, taken)
            served = held if can_serve_held else _with_token(choose(taken))
            if served is None:
                return None
            if seat is None:
                self._quotas.count_battle(connection, voter, network)
            else:  # A seat's number of votes is its limit.
                self._quotas.note_network(connection, voter, network)
            # Deletes the held draw if it is the one served; another one stays for later.
            connection.execute(_DELETE_THIS_HELD, {"voter": voter, "token": served.token})
            values = {
                "token": served.token,
                "voter_id": voter,
                "seat_id": seat,
                "began_at": now(),
                "item": served.draw.item,  # the parameter of _IMAGE_COUNT
                **served.draw.columns(),
            }
            return _battle(connection.execute(_INSERT_BATTLE, values).one())

    def hold(self, voter: int, choose: Choose, can_show: CanShow) -> DrawWithToken | None:
        """Draws the voter's next battle, to be sent ahead; None if one is unfinished, or none is left.

        `serve` serves it, and `hold` returns the same one while `can_show` accepts it, so that looking ahead gives no
        choice. Until it is served it is no battle: it has no time, counts for nobody and takes no vote. Raises
        LimitError.
        """
        with self._database.write() as connection:
            lock(connection, voter)
            if _unfinished_rows(connection, voter):
                return None
            self._quotas.check_voter(connection, voter)
            taken = _seen_battles(connection, voter)
            held = _read_held(connection, voter)
            if held and can_show(held.draw, taken):
                return held
            held = _with_token(choose(taken))
            if held is None:
                return None
            connection.execute(_DELETE_HELD, {"voter": voter})
            values = {"voter_id": voter, "token": held.token, **held.draw.columns()}
            connection.execute(insert(HELD).values(values))
            return held

    @staticmethod
    def _lock(connection: Connection, voter: int, seat: int | None) -> None:
        """Locks a voter and the seats of the campaign, so that no (item, pair) gets more voters than it should."""
        lock(connection, voter)
        if seat is not None:
            campaign = select(SEAT.c.campaign).where(SEAT.c.id == seat).scalar_subquery()
            seats = select(SEAT.c.id).where(SEAT.c.campaign == campaign).order_by(SEAT.c.id)
            connection.execute(seats.with_for_update())

    def vote(self, voter: int, token: str, choice: Side, terms: str) -> Battle:
        """Stores a choice and returns the battle; repeating the same choice changes nothing.

        Raises UnknownBattleError, or ChoiceError if there is another choice, after an undo or after a skip.
        """
        with self._database.write() as connection:
            return self._cast(connection, VoteRequest(voter, token, choice, terms))

    def vote_if(self, is_kept: Callable[[], bool], seat: int, vote_request: VoteRequest) -> bool:
        """Stores a choice as `vote` does, if `is_kept` returns that the battle is still the seat's; returns the same.

        `is_kept` is called while the campaign's seats are locked, so none of them can be given this battle meanwhile.
        """
        with self._database.write() as connection:
            self._lock(connection, vote_request.voter, seat)
            if not is_kept():
                return False
            self._cast(connection, vote_request)
            return True

    def vote_all(self, vote_requests: Sequence[VoteRequest]) -> list[Battle | VoteError]:
        """Stores choices in one transaction, each as `vote` does; returns for each the battle or the error of `vote`.

        It is for SQLite, which has one writer at a time. Raises DatabaseError if nothing was stored.
        """
        outcomes: list[Battle | VoteError] = []
        with self._database.write() as connection:
            for vote_request in vote_requests:
                try:
                    outcomes.append(self._cast(connection, vote_request))
                except (ChoiceError, UnknownBattleError) as error:
                    # These are raised before any part of the vote is written.
                    outcomes.append(error)
        return outcomes

    @property
    def gathers_votes(self) -> bool:
        """Whether votes that arrive together should share a transaction."""
        return self._database.is_sqlite

    def skip(self, voter: int, token: str, reason: SkipReason) -> Battle:
        """Skips a battle, once. Raises ChoiceError after a choice, or when the day's skips are used up."""
        check_among(reason, get_args(SkipReason), "reason")
        with self._database.write() as connection:
            lock(connection, voter)
            row = self._find(connection, voter, token, lock=True)
            if row.choice is not None:
                raise ChoiceError("You've already chosen in this battle. Press Next for another.")
            if row.ended is None:
                _check_skips_left(connection, voter, reason)
                row = self._end(connection, row.id, reason)
            return _battle(row)

    def votes_of(self, voter: int) -> int:
        """Returns the number of a voter's choices, also those that can still be undone."""
        with self._database.read() as connection:
            return connection.execute(_VOTE_COUNT, {"voter": voter}).scalar_one()

    def _cast(self, connection: Connection, vote_request: VoteRequest) -> Battle:
        """Stores a choice; raises as `vote` does."""
        check_among(vote_request.choice, SIDES, "choice")
        row = self._find(connection, vote_request.voter, vote_request.token, lock=True)
        if row.ended is not None:
            raise ChoiceError("You skipped this battle. Press Next for another.")
        attempt = parse_token(vote_request.token).attempt
        return self._choose(connection, row, attempt, vote_request.choice, vote_request.terms)


def _unfinished_rows(
    connection: Connection, voter: int, seat: int | None = None, item: int | None = None
) -> Sequence[Row]:
    """Returns a voter's unfinished battles, in a seat or without one, on an item or on any."""
    query = UNFINISHED if item is None else _UNFINISHED_ON_ITEM
    values = {"voter": voter, "seat": NO_SEAT if seat is None else seat, "item": item}
    return connection.execute(query, values).all()


def _seen_battles(connection: Connection, voter: int) -> frozenset[ItemPair]:
    return frozenset(
        ItemPair.of_row(row) for row in connection.execute(_SEEN_QUERY, {"voter": voter})
    )


def _with_token(draw: Draw | None) -> DrawWithToken | None:
    """Returns a new draw with a new random token."""
    if draw is None:
        return None
    return DrawWithToken(secrets.token_urlsafe(16), draw)


def _read_held(connection: Connection, voter: int) -> DrawWithToken | None:
    row = connection.execute(_HELD_QUERY, {"voter": voter}).first()
    if row is None:
        return None
    draw = Draw(
        item=row.item_id,
        model_a=row.model_a,
        model_b=row.model_b,
        answer_a=row.answer_a,
        answer_b=row.answer_b,
        kind=row.draw,
        probability=row.draw_probability,
    )
    return DrawWithToken(row.token, draw)


def _battle(row: Row) -> Battle:
    attempt = attempt_of(row)
    return Battle(
        id=row.id,
        token=f"{row.token}.{attempt}",
        item=row.item_id,
        answer_a=row.answer_a,
        answer_b=row.answer_b,
        seat=row.seat_id,
        began_at=row.began_at,
        phase=Phase.SKIPPED if row.ended is not None else phase(row),
        choice=row.choice,
        attempt=attempt,
        voted_at=row.voted_at,
    )


def _check_skips_left(connection: Connection, voter: int, reason: SkipReason) -> None:
    """Raises ChoiceError if the day's skips for this kind of reason are used up."""
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    own_battles = select(func.count()).where(BATTLE.c.voter_id.in_(selves(voter)), ~IS_LIVE)
    battles = connection.execute(own_battles.where(BATTLE.c.began_at >= today)).scalar_one()
    allowed = max(SKIPS_AT_LEAST, int(SKIPS_SHARE * battles))
    skips = own_battles.where(BATTLE.c.ended_at >= today)
    if reason == "image broken":
        allowed *= BROKEN_TIMES
        skips = skips.where(BATTLE.c.ended == "image broken")
    else:
        skips = skips.where(BATTLE.c.ended != "image broken")
    if connection.execute(skips).scalar_one() >= allowed:
        raise ChoiceError(
            "You've used today's {} skips. Please choose the better answer, even if it's close.",
            allowed,
        )
