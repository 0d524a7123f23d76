"""Choices: votes, undos and reveals in battles of any kind, each a change of the battle's row under its lock.

A battle's first choice can be undone once, for some seconds, before its names are revealed. A choice that can no longer
be undone is final, and gets a number in the same transaction. Only numbered choices may be public. Numbers become
visible in their order, so that a reader who knows one number asks for the higher ones."""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, select, update

from arena.battles.tables import BATTLE, IS_WAITING
from arena.clock import (
    FINAL_SECONDS,
    SECOND,
    UNDO_GRACE_SECONDS,
    UNDO_SECONDS,
    clock,
    is_set_back,
    tick,
)
from arena.database import Database, DatabaseError, now, take_turn
from arena.errors import VoterError
from arena.items.store import MODEL
from arena.types import Names, Phase, Side

_TOKEN = re.compile(r"([A-Za-z0-9_-]{1,64})\.([12])")
_OLDEST_WAITING = select(func.min(BATTLE.c.tick)).where(IS_WAITING)
_LAST_NUMBER = select(func.max(BATTLE.c.final_number))
_DISPLAY_NAMES = select(MODEL.c.id, MODEL.c.display).where(
    MODEL.c.id.in_(bindparam("models", expanding=True))
)
_SET_NUMBER = (
    update(BATTLE)
    .where(BATTLE.c.id == bindparam("battle"))
    .values(final_number=bindparam("number"))
)


class UnknownBattleError(LookupError):
    """No such battle for this voter; another voter's battle and a forged token read the same."""

    def __init__(self) -> None:
        super().__init__(
            "This battle isn't yours or doesn't exist. Press Next, or reload the page."
        )


class ChoiceError(VoterError):
    """A choice, undo, reveal or skip that the battle's state does not allow."""


VoteError = ChoiceError | UnknownBattleError
AnyBattle = TypeVar("AnyBattle")


class ChoiceStore(Generic[AnyBattle]):
    """Votes, undos and reveals in battles of one kind; every method for a voter is one idempotent transaction.

    It checks voter, token and state in the database, and its results hold after the commit. The hash of the cookie
    identifies the voter; the browser only sends a token and a choice.
    """

    def __init__(
        self,
        database: Database,
        kind: ColumnElement[bool],
        battle_of: Callable[[Connection, Row], AnyBattle],
    ) -> None:
        """`kind` is the condition for battles of this kind, `battle_of` reads a row of battles."""
        self._database = database
        self._battle_of = battle_of
        # Built once: building a statement costs more than running it.
        self._battle_query = select(BATTLE).where(
            BATTLE.c.token == bindparam("name"), BATTLE.c.voter_id == bindparam("voter"), kind
        )
        self._lock_query = self._battle_query.with_for_update()
        change = update(BATTLE).where(BATTLE.c.id == bindparam("battle")).returning(*BATTLE.c)
        choice_columns = ("choice", "voted_at", "tick", "terms", "outside", "final_number")
        self._choose_statement = change.values({name: bindparam(name) for name in choice_columns})
        self._undo_statement = change.values(
            taken_back=BATTLE.c.choice,
            choice=None,
            voted_at=None,
            terms=None,
            outside=None,
            tick=0,
        )
        self._reveal_statement = change.values(
            revealed_at=bindparam("revealed_at"), final_number=bindparam("final_number")
        )
        self._end_statement = change.values(
            ended=bindparam("reason"), ended_at=bindparam("ended_at")
        )

    def find(self, voter: int, token: str) -> AnyBattle:
        """Returns a battle in its current state. Raises UnknownBattleError for a token that is not the voter's."""
        with self._database.read() as connection:
            return self._battle_of(connection, self._find(connection, voter, token))

    def undo(self, voter: int, token: str) -> AnyBattle:
        """Undoes the first choice and returns the open battle.

        Raises UnknownBattleError, or what `check_undo` raises.
        """
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.choice is not None:
                check_undo(connection, row)
                row = connection.execute(self._undo_statement, {"battle": row.id}).one()
            elif row.taken_back is None:
                raise ChoiceError("There's no choice to undo yet.")
            return self._battle_of(connection, row)

    def reveal(self, voter: int, token: str) -> AnyBattle:
        """Makes the choice final and returns the battle; from here on its names may be shown.

        Raises UnknownBattleError, and ChoiceError without a choice.
        """
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.choice is None:
                raise ChoiceError("Choose A or B first. Then the names appear.")
            if row.revealed_at is None:
                final_number = row.final_number
                if final_number is None:
                    final_number = next_final_number(connection)
                values = {"battle": row.id, "revealed_at": now(), "final_number": final_number}
                row = connection.execute(self._reveal_statement, values).one()
            return self._battle_of(connection, row)

    def names(self, voter: int, token: str) -> Names:
        """Returns the display names of the models of a revealed battle. Raises ChoiceError before the reveal."""
        with self._database.read() as connection:
            row = self._find(connection, voter, token)
            if row.revealed_at is None:
                raise ChoiceError("You'll see the names after you choose.")
            models = connection.execute(_DISPLAY_NAMES, {"models": (row.model_a, row.model_b)})
            names = {model: name for model, name in models}
        return Names(names[row.model_a], names[row.model_b])

    def _find(self, connection: Connection, voter: int, token: str, lock: bool = False) -> Row:
        """Returns the row of a token's battle, locked with `lock`. Raises UnknownBattleError."""
        parts = parse_token(token)
        query = self._lock_query if lock else self._battle_query
        row = connection.execute(query, {"name": parts.battle, "voter": voter}).one_or_none()
        if row is None or (parts.attempt == 2 and row.taken_back is None):
            raise UnknownBattleError
        return row

    def _choose(
        self,
        connection: Connection,
        row: Row,
        attempt: int,
        choice: Side,
        terms: str,
        outside: str | None = None,
    ) -> AnyBattle:
        """Stores a choice in a locked battle; the same choice again changes nothing.

        The second attempt is final at once. Raises ChoiceError if there is another choice, or it was taken back.
        """
        if attempt == 1 and row.taken_back is not None:
            raise ChoiceError(
                "You undid this choice in another tab. Reload the page to choose again."
            )
        if row.choice is None:
            values = {
                "battle": row.id,
                "choice": choice,
                "voted_at": now(),
                "terms": terms,
                "tick": tick(connection),
                "outside": outside,
                "final_number": next_final_number(connection) if attempt == 2 else None,
            }
            row = connection.execute(self._choose_statement, values).one()
        elif row.choice != choice:
            raise ChoiceError(
                "You've already chosen {} in this battle. That choice stands.", row.choice.upper()
            )
        return self._battle_of(connection, row)

    def _end(self, connection: Connection, battle: int, reason: str) -> Row:
        """Stores that a battle without a choice was skipped, or why it has nothing to vote on; returns its row."""
        values = {"battle": battle, "reason": reason, "ended_at": now()}
        return connection.execute(self._end_statement, values).one()


def next_final_number(connection: Connection) -> int:
    """Returns the number of a vote that becomes final in this transaction, which blocks other numbers until its end."""
    take_turn(connection, BATTLE)
    last = connection.scalar(_LAST_NUMBER)
    return (last or 0) + 1


def publish_votes(database: Database) -> None:
    """Numbers the votes that can no longer be undone; to be called before votes are read for others.

    It waits for no undo and no other thread: a vote with an undo under way is left out, and if the database is locked
    or read-only, the next reader's call numbers the votes. Another program that writes to the SQLite file, or another
    server that numbers votes, may hold it up.
    """
    with database.read() as connection:
        oldest = connection.scalar(_OLDEST_WAITING)
        if oldest is None:
            return
        is_due = clock(connection) - oldest > FINAL_SECONDS * SECOND
        # After the system clock was set back, time stands still until the next write, so the write decides.
        if not is_due and not is_set_back(connection):
            return
    if database.is_writing:
        return
    with suppress(DatabaseError), database.write() as connection:
        due_before = tick(connection) - FINAL_SECONDS * SECOND
        query = select(BATTLE.c.id).where(IS_WAITING, BATTLE.c.tick < due_before)
        query = query.order_by(BATTLE.c.tick, BATTLE.c.id).with_for_update(skip_locked=True)
        battles = connection.scalars(query).all()
        if battles:
            first_number = next_final_number(connection)
            rows = [
                {"battle": battle, "number": number}
                for number, battle in enumerate(battles, first_number)
            ]
            connection.execute(_SET_NUMBER, rows)


def attempt_of(row: Row) -> int:
    """Returns the current attempt of a battle, 1 or 2."""
    return 1 if row.taken_back is None else 2


def phase(row: Row) -> Phase:
    """Returns the phase of a battle that was not skipped."""
    if row.choice is None:
        return Phase.OPEN
    return Phase.VOTED if row.revealed_at is None else Phase.REVEALED


def undo_seconds(attempt: int, voted_at: datetime) -> int:
    """Returns the seconds that a page offers to undo a choice, by this machine's clock; `check_undo` decides."""
    is_late = now() - voted_at > timedelta(seconds=UNDO_SECONDS + UNDO_GRACE_SECONDS)
    return 0 if attempt == 2 or is_late else UNDO_SECONDS


class TokenParts(NamedTuple):
    """A token, as a page sends it."""

    battle: str
    """The random name of the battle, which its row stores as `token`."""
    attempt: int
    """1 or 2."""


def parse_token(token: str) -> TokenParts:
    """Returns the parts of a token. Raises UnknownBattleError for a malformed one."""
    match = _TOKEN.fullmatch(token) if isinstance(token, str) else None
    if match is None:
        raise UnknownBattleError
    return TokenParts(match[1], int(match[2]))


def check_among(value: object, allowed: tuple[str, ...], field: str) -> None:
    """Raises ChoiceError for a value that no page sends; `field` names it in the message."""
    if value not in allowed:
        raise ChoiceError("The {} must be one of: {}.", field, ", ".join(allowed))


def check_undo(connection: Connection, row: Row) -> None:
    """Raises ChoiceError if the choice of a locked battle can no longer be undone."""
    if row.taken_back is not None:
        raise ChoiceError("You can undo only once. This choice is final.")
    if row.revealed_at is not None:
        raise ChoiceError("You've seen the names, so this choice is final.")
    age = tick(connection) - row.tick
    if row.final_number is not None or age > (UNDO_SECONDS + UNDO_GRACE_SECONDS) * SECOND:
        raise ChoiceError("You can undo for {} seconds. This choice is final.", UNDO_SECONDS)
