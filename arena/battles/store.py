"""Battle store: transactions that serve battles and take votes, undos, reveals and skips.

Each checks voter, token and state in the database and only adds rows (see `tables.py`). A choice is acknowledged, and
the names are shown, after the commit. Every method is idempotent: the same arguments give the same answer.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, get_args

from sqlalchemy import Connection, Integer, Row, Select, bindparam, func, insert, select

from arena.battles.quotas import LIMITS, Quotas
from arena.battles.tables import (
    BATTLE,
    REVEAL,
    SEAT,
    SKIP,
    UNDO,
    VOTE,
    WINS,
    battle_states,
    counted_votes,
    open_votes,
    unfinished,
)
from arena.battles.voters import Voters, lock, selves
from arena.clock import SECOND, UNDO_GRACE_SECONDS, UNDO_SECONDS, hold_clock, keep_time, tick
from arena.database import Database, now
from arena.items.store import ANSWER, MODEL
from arena.settings import VoteLimits
from arena.types import Battle, Names, Phase, Side, SkipReason

_TOKEN = re.compile(r"([A-Za-z0-9_-]{1,64})\.([12])")
SKIPS_AT_LEAST = 5
SKIPS_SHARE = 0.2
"""A voter may skip this share of a day's battles, and always SKIPS_AT_LEAST."""


class UnknownBattleError(LookupError):
    """No such battle for this voter; another voter's battle and a forged token read the same."""

    def __init__(self) -> None:
        super().__init__("This battle is not yours or does not exist. Press Next, or reload the page.")


class ChoiceError(ValueError):
    """A choice, undo, reveal or skip that the battle's state does not allow."""


VoteError = ChoiceError | UnknownBattleError


class Draw(NamedTuple):
    """An item, two models, their answers and the side of each."""

    item: int
    model_a: int
    model_b: int
    answer_a: int
    answer_b: int


class Seen(NamedTuple):
    """A battle's item and pair of models, lower code first."""

    item: int
    low: int
    high: int


_IS_MINE = (BATTLE.c.token == bindparam("name")) & (BATTLE.c.voter_id == bindparam("voter"))
_SEEN = select(BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high).where(
    BATTLE.c.voter_id.in_(selves(bindparam("voter", type_=Integer)))
)
_MINE = battle_states().where(_IS_MINE)
_LOCK_MINE = select(BATTLE.c.id).where(_IS_MINE).with_for_update()
_PAIR_VOTES = select(WINS.c.winner, WINS.c.loser, func.sum(WINS.c.n).label("n")).group_by(WINS.c.winner, WINS.c.loser)
_OPEN_PAIR_VOTES = open_votes(VOTE.c.winner, VOTE.c.loser, func.count().label("n")).group_by(
    VOTE.c.winner, VOTE.c.loser
)
_VOTES_OF_VOTER = counted_votes(func.count()).where(VOTE.c.voter_id == bindparam("voter"))


class VoteRequest(NamedTuple):
    """A voter's choice as sent; `terms` is the version of the terms that the page showed."""

    voter: int
    token: str
    choice: Side
    terms: str


Choose = Callable[[frozenset[Seen]], Draw | None]
"""Given the battles a voter has had, choose the next one; None if there is none left."""
ComesBack = Callable[[Battle, Seen], bool]
"""Whether an unfinished battle can still be shown and is still wanted."""


class BattleStore:
    """Serving battles and taking votes; every method is one transaction that checks the voter first.

    The hash of the cookie identifies the voter; the browser sends nothing else but a token and a choice.
    """

    def __init__(self, database: Database, limits: VoteLimits = LIMITS) -> None:
        self._database = database
        self._voters = Voters(database)
        self._quotas = Quotas(database, limits)
        # Built once: building a statement costs more than running it.
        self._insert_once = database.insert(VOTE).on_conflict_do_nothing().returning(VOTE.c.id)
        win_counts = database.insert(WINS)
        counted = {"n": WINS.c.n + win_counts.excluded.n, "left_n": WINS.c.left_n + win_counts.excluded.left_n}
        counted["change"] = win_counts.excluded.change
        self._add_to_wins = win_counts.on_conflict_do_update(index_elements=WINS.primary_key, set_=counted)

    def voter(self, cookie_hash: str) -> int:
        """Return the voter of a cookie; the first call creates it."""
        return self._voters.voter(cookie_hash)

    def serve(
        self,
        voter: int,
        choose: Choose,
        item: int | None = None,
        seat: int | None = None,
        comes_back: ComesBack = lambda battle, seen: True,
        network: str | None = None,
    ) -> Battle | None:
        """Return the voter's unfinished battle that `comes_back` accepts, else store and return the one `choose` gives.

        With an item, only an unfinished battle on that item comes back. None means that there is nothing left to draw.
        Raises LimitError when the voter or the network has reached its limit.
        """
        with self._database.write() as connection:
            lock(connection, voter)
            if seat is not None:
                _lock_campaign(connection, seat)
            for row in connection.execute(unfinished(voter, seat, item)).all():
                if comes_back(_battle(row), Seen(row.item_id, row.model_low, row.model_high)):
                    return _battle(row)
            seen = connection.execute(_SEEN, {"voter": voter})
            draw = choose(frozenset(Seen(*row) for row in seen))
            if draw is None:
                return None
            self._quotas.count_battle(connection, voter, network)
            values = _battle_values(voter, draw, seat)
            battle = connection.execute(insert(BATTLE).values(values).returning(BATTLE.c.id)).scalar_one()
            return _battle(connection.execute(_of_id(battle)).one())

    def find(self, voter: int, token: str) -> Battle:
        """Return a battle in its current state. Raises UnknownBattleError for a token that is not the voter's."""
        with self._database.read() as connection:
            return _battle(self._find(connection, voter, token))

    def vote(self, voter: int, token: str, choice: Side, terms: str) -> Battle:
        """Store a choice and return the battle; repeating the same choice changes nothing.

        Raises UnknownBattleError for a token that is not the voter's, ChoiceError for a choice other than the stored
        one, for a choice that was taken back, and for a skipped battle.
        """
        with self._database.write() as connection:
            return self._cast(connection, VoteRequest(voter, token, choice, terms))

    def vote_all(self, vote_requests: Sequence[VoteRequest]) -> list[Battle | VoteError]:
        """Store choices in one transaction, each as `vote` does; return for each the battle or the error of `vote`.

        Meant for SQLite, which has one writer at a time. Raises DatabaseError if nothing was stored.
        """
        with self._database.write() as connection:
            return [self._outcome(connection, vote_request) for vote_request in vote_requests]

    @property
    def gathers_votes(self) -> bool:
        """Whether votes that arrive together should share a transaction."""
        return self._database.is_sqlite

    def undo(self, voter: int, token: str) -> Battle:
        """Undo the first choice, once, within UNDO_SECONDS and before the reveal; return the open battle.

        Raises UnknownBattleError, or ChoiceError when there is nothing to undo or it is too late.
        """
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.choice is not None:
                check_undo(connection, row)
                connection.execute(insert(UNDO).values(battle_id=row.id, undone_at=now()))
                self._add_to_win_counts(connection, row, row.choice, -1)
            elif not row.undone:
                raise ChoiceError("There is no choice to take back yet.")
            return _battle(connection.execute(_of_id(row.id)).one())

    def reveal(self, voter: int, token: str) -> Battle:
        """Make the choice final and return the battle; from here on its names may be shown."""
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.choice is None:
                raise ChoiceError("Choose A or B first; the names appear after that.")
            values = {"battle_id": row.id, "revealed_at": now()}
            connection.execute(self._database.insert(REVEAL).values(values).on_conflict_do_nothing())
            return _battle(connection.execute(_of_id(row.id)).one())

    def names(self, voter: int, token: str) -> Names:
        """Return the display names of the models of a revealed battle. Raises ChoiceError before the reveal."""
        with self._database.read() as connection:
            row = self._find(connection, voter, token)
            if not row.revealed:
                raise ChoiceError("The names appear after your choice.")
            query = select(ANSWER.c.id, MODEL.c.display).join(MODEL, MODEL.c.id == ANSWER.c.model_id)
            shown = connection.execute(query.where(ANSWER.c.id.in_((row.answer_a, row.answer_b))))
            display = {answer: name for answer, name in shown}
        return Names(display[row.answer_a], display[row.answer_b])

    def skip(self, voter: int, token: str, reason: SkipReason) -> Battle:
        """Skip a battle for a reason; skipping it again changes nothing.

        Raises ChoiceError when a choice is stored, or when the day's skips are used up (SKIPS_SHARE of the day's
        battles, at least SKIPS_AT_LEAST).
        """
        _check(reason, get_args(SkipReason), "reason")
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.choice is not None:
                raise ChoiceError("You already chose in this battle; press Next for another.")
            if not row.skipped:
                _check_skips_left(connection, voter)
                values = {"battle_id": row.id, "reason": reason, "skipped_at": now()}
                connection.execute(self._database.insert(SKIP).values(values).on_conflict_do_nothing())
            return _battle(connection.execute(_of_id(row.id)).one())

    def votes_of(self, voter: int) -> int:
        """Return the number of battles the voter has decided."""
        with self._database.read() as connection:
            return connection.execute(_VOTES_OF_VOTER, {"voter": voter}).scalar_one()

    def pair_votes(self) -> dict[tuple[int, int], int]:
        """Return the number of final votes of each pair of models, lower code first."""
        keep_time(self._database, VOTE)
        pairs: dict[tuple[int, int], int] = {}
        with self._database.read() as connection:
            for query, sign in ((_PAIR_VOTES, 1), (_OPEN_PAIR_VOTES, -1)):
                for row in connection.execute(query):
                    pair = (min(row.winner, row.loser), max(row.winner, row.loser))
                    pairs[pair] = pairs.get(pair, 0) + sign * int(row.n)
        return pairs

    def _find(self, connection: Connection, voter: int, token: str, lock: bool = False) -> Row:
        """Return the battle of a token with its events, its row locked if asked. Raises UnknownBattleError."""
        name, attempt = _parts(token)
        if lock and not self._database.is_sqlite:
            connection.execute(_LOCK_MINE, {"name": name, "voter": voter})
        row = connection.execute(_MINE, {"name": name, "voter": voter}).one_or_none()
        if row is None or (attempt == 2 and not row.undone):
            raise UnknownBattleError
        return row

    def _outcome(self, connection: Connection, vote_request: VoteRequest) -> Battle | VoteError:
        try:
            return self._cast(connection, vote_request)
        except (ChoiceError, UnknownBattleError) as error:  # raised before anything of this vote is written
            return error

    def _cast(self, connection: Connection, vote_request: VoteRequest) -> Battle:
        """Check a choice against its battle and store it."""
        choice = vote_request.choice
        _check(choice, get_args(Side), "choice")
        row = self._find(connection, vote_request.voter, vote_request.token, lock=True)
        attempt = _parts(vote_request.token)[1]
        if row.skipped:
            raise ChoiceError("You skipped this battle; press Next for another.")
        if attempt == 1 and row.undone:
            raise ChoiceError("That choice was taken back in another tab; reload the page to choose again.")
        voted_at = now()
        if self._insert_vote(connection, row, attempt, choice, voted_at, vote_request.terms):
            return replace(_battle(row), phase=Phase.VOTED, choice=choice, voted_at=voted_at)
        stored = connection.execute(_of_id(row.id)).one()
        if stored.choice != choice:
            raise ChoiceError(f"You already chose {stored.choice.upper()} in this battle; that choice stands.")
        return _battle(stored)

    def _insert_vote(
        self, connection: Connection, row: Row, attempt: int, choice: Side, voted_at: datetime, terms: str
    ) -> bool:
        """Insert a vote and count it; return False if that attempt already has a vote."""
        winner, loser = _winner_and_loser(row, choice)
        values = {
            "battle_id": row.id,
            "attempt": attempt,
            "undo_id": row.id if attempt == 2 else None,
            "voter_id": row.voter_id,
            "choice": choice,
            "winner": winner,
            "loser": loser,
            "voted_at": voted_at,
            "tick": tick(connection),
            "terms": terms,
        }
        if connection.scalar(self._insert_once, values) is None:
            return False
        self._add_to_win_counts(connection, row, choice, +1)
        return True

    def _add_to_win_counts(self, connection: Connection, row: Row, choice: Side, by: int) -> None:
        """Update the boards' win counts in the vote's own transaction."""
        winner, loser = _winner_and_loser(row, choice)
        board = {"source_id": row.source_id, "multi": row.multi, "family_id": row.family_id}
        counts = {"n": by, "left_n": by if choice == "a" else 0}
        connection.execute(self._add_to_wins, {**board, "winner": winner, "loser": loser, **counts})


def _of_id(battle: int) -> Select:
    return battle_states().where(BATTLE.c.id == battle)


def _lock_campaign(connection: Connection, seat: int) -> None:
    """Serialise the workers of a campaign, so that no (item, pair) gets more voters than it should."""
    campaign = select(SEAT.c.campaign).where(SEAT.c.id == seat).scalar_subquery()
    connection.execute(select(SEAT.c.id).where(SEAT.c.campaign == campaign).order_by(SEAT.c.id).with_for_update())


def _battle_values(voter: int, draw: Draw, seat: int | None) -> dict[str, object]:
    low_is_a = draw.model_a < draw.model_b
    low, high = sorted((draw.model_a, draw.model_b))
    return {
        "token": secrets.token_urlsafe(16),
        "voter_id": voter,
        "item_id": draw.item,
        "model_low": low,
        "model_high": high,
        "low_is_a": low_is_a,
        "answer_a": draw.answer_a,
        "answer_b": draw.answer_b,
        "seat_id": seat,
        "served_at": now(),
    }


def _battle(row: Row) -> Battle:
    attempt = 2 if row.undone else 1
    token = f"{row.token}.{attempt}"
    sides = (row.answer_a, row.answer_b)
    served = (row.seat_id, row.served_at)
    return Battle(row.id, token, row.item_id, *sides, *served, _phase(row), row.choice, attempt, row.voted_at)


def _phase(row: Row) -> Phase:
    if row.skipped:
        return Phase.SKIPPED
    if row.choice is None:
        return Phase.OPEN
    return Phase.REVEALED if row.revealed else Phase.VOTED


def _parts(token: str) -> tuple[str, int]:
    """Split a token into the battle's name and the attempt. Raises UnknownBattleError for a malformed token."""
    found = _TOKEN.fullmatch(token) if isinstance(token, str) else None
    if found is None:
        raise UnknownBattleError
    return found[1], int(found[2])


def _winner_and_loser(row: Row, choice: Side) -> tuple[int, int]:
    low_won = (choice == "a") == row.low_is_a
    return (row.model_low, row.model_high) if low_won else (row.model_high, row.model_low)


def _check(value: object, allowed: tuple[str, ...], what: str) -> None:
    if value not in allowed:
        raise ChoiceError(f"The {what} must be one of: {', '.join(allowed)}.")


def check_undo(connection: Connection, row: Row) -> None:
    """Raise ChoiceError if a choice, a row of `battle_states`, can no longer be undone.

    Otherwise the choice does not become public before this transaction ends.
    """
    if row.undone:
        raise ChoiceError("A choice can be taken back once; this one is final.")
    if row.revealed:
        raise ChoiceError("The names have been shown; the choice is final.")
    if hold_clock(connection) - row.tick > (UNDO_SECONDS + UNDO_GRACE_SECONDS) * SECOND:
        raise ChoiceError(f"A choice can be taken back for {UNDO_SECONDS} seconds; this one is final.")


def _check_skips_left(connection: Connection, voter: int) -> None:
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    mine = select(func.count()).where(BATTLE.c.voter_id == voter)
    battles = connection.execute(mine.where(BATTLE.c.served_at >= today)).scalar_one()
    skips = connection.execute(mine.select_from(BATTLE.join(SKIP)).where(SKIP.c.skipped_at >= today)).scalar_one()
    allowed = max(SKIPS_AT_LEAST, int(SKIPS_SHARE * battles))
    if skips >= allowed:
        raise ChoiceError(
            f"You have used today's {allowed} skips. Please choose the better answer, even if it is close."
        )
