"""Choices: what stored battles and live battles do alike, each over its own tables.

A vote (attempt 1 or 2), the one undo a battle may have, and a reveal are only added, never changed, and the database's
keys make each unique. The counted vote of a battle is the last one not undone. It is final once its names are revealed
or it can no longer be undone, and only then may anything public depend on it. Win counts are updated in each vote's own
transaction, final or not.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    Connection,
    FromClause,
    Row,
    Select,
    Table,
    bindparam,
    case,
    func,
    insert,
    select,
)

from arena.clock import (
    LAST_OPEN,
    SECOND,
    UNDO_GRACE_SECONDS,
    UNDO_SECONDS,
    hold_clock,
    keep_time,
    tick,
)
from arena.database import Database, now
from arena.errors import VoterError
from arena.items.store import MODEL
from arena.types import Names, Phase, Side

_TOKEN = re.compile(r"([A-Za-z0-9_-]{1,64})\.([12])")


class UnknownBattleError(LookupError):
    """No such battle for this voter; another voter's battle and a forged token read the same."""

    def __init__(self) -> None:
        super().__init__(
            "This battle is not yours or does not exist. Press Next, or reload the page."
        )


class ChoiceError(VoterError):
    """A choice, undo, reveal or skip that the battle's state does not allow."""


VoteError = ChoiceError | UnknownBattleError
AnyBattle = TypeVar("AnyBattle")


@dataclass(frozen=True, eq=False)
class ChoiceTables:
    """The tables of one kind of battle, and the queries over its votes."""

    battle: Table
    undo: Table
    vote: Table
    reveal: Table
    wins: Table
    votes: FromClause
    """The votes, with the tables that conditions on them need."""

    def counted_votes(self, *columns) -> Select:
        """A SELECT of columns over the counted votes: the last vote of each battle that is not undone."""
        joined = self.votes.outerjoin(self.undo, self.undo.c.battle_id == self.vote.c.battle_id)
        return (
            select(*columns)
            .select_from(joined)
            .where((self.vote.c.attempt == 2) | self.undo.c.battle_id.is_(None))
        )

    def final_votes(self, *columns) -> Select:
        """A SELECT of columns over the counted votes that can no longer be undone."""
        return self.counted_votes(*columns).where(self.vote.c.id.not_in(self._open))

    def open_votes(self, *columns) -> Select:
        """A SELECT of columns over the counted votes that may still be undone."""
        return self.counted_votes(*columns).where(self.vote.c.id.in_(self._open))

    @cached_property
    def _open(self) -> Select:
        recent = self.vote.alias("young")
        reveal = self.reveal.c.battle_id
        revealed = select(reveal).where(reveal == recent.c.battle_id).exists()
        return select(recent.c.id).where(
            recent.c.attempt == 1, recent.c.tick > LAST_OPEN, ~revealed
        )

    def states(self, battles: FromClause, *columns) -> Select:
        """A SELECT of battles, their events, the counted choice, and further columns.

        These are `model_a`, `model_b`, `outside` (why the vote counts for no board) and the keys of the win counts.
        """
        battle = self.battle.c.id
        vote = self.vote.c
        attempt = case((self.undo.c.battle_id.is_(None), 1), else_=2)
        joined = (
            battles.outerjoin(self.undo, self.undo.c.battle_id == battle)
            .outerjoin(self.reveal, self.reveal.c.battle_id == battle)
            .outerjoin(self.vote, (vote.battle_id == battle) & (vote.attempt == attempt))
        )
        undone = self.undo.c.battle_id.is_not(None).label("undone")
        revealed = self.reveal.c.battle_id.is_not(None).label("revealed")
        states = select(
            self.battle, *columns, undone, revealed, vote.choice, vote.voted_at, vote.tick
        )
        return states.select_from(joined)


class ChoiceStore(Generic[AnyBattle]):
    """Votes, undos and reveals in battles of one kind; every method for a voter is one idempotent transaction.

    It checks voter, token and state in the database and only adds rows; what it returns is true after the commit. The
    hash of the cookie identifies the voter; the browser sends nothing else but a token and a choice.
    """

    def __init__(
        self,
        database: Database,
        tables: ChoiceTables,
        states: Select,
        open_votes: Callable[..., Select],
        battle_of: Callable[[Connection, Row], AnyBattle],
    ) -> None:
        """`open_votes` selects the ranked votes that may still be undone, `battle_of` reads a row of the `states`."""
        self._database = database
        self._tables = tables
        self._battle_of = battle_of
        # Built once: building a statement costs more than running it.
        battle = tables.battle
        wins = tables.wins
        mine = (battle.c.token == bindparam("name")) & (battle.c.voter_id == bindparam("voter"))
        self._mine = states.where(mine)
        self._lock_mine = select(battle.c.id).where(mine).with_for_update()
        self._of_id = states.where(battle.c.id == bindparam("battle"))
        self._insert_once = (
            database.insert(tables.vote).on_conflict_do_nothing().returning(tables.vote.c.id)
        )
        added = database.insert(wins)
        counted = {
            "n": wins.c.n + added.excluded.n,
            "left_n": wins.c.left_n + added.excluded.left_n,
        }
        counted["change"] = added.excluded.change
        self._add_to_wins = added.on_conflict_do_update(
            index_elements=wins.primary_key, set_=counted
        )
        self._boards = [
            column.name for column in wins.primary_key if column.name not in ("winner", "loser")
        ]
        pair_votes = select(wins.c.winner, wins.c.loser, func.sum(wins.c.n))
        self._pair_votes = pair_votes.group_by(wins.c.winner, wins.c.loser)
        vote = tables.vote.c
        open_pair_votes = open_votes(vote.winner, vote.loser, func.count())
        self._open_pair_votes = open_pair_votes.group_by(vote.winner, vote.loser)

    def find(self, voter: int, token: str) -> AnyBattle:
        """A battle in its current state. Raises UnknownBattleError for a token that is not the voter's."""
        with self._database.read() as connection:
            return self._battle_of(connection, self._find(connection, voter, token))

    def undo(self, voter: int, token: str) -> AnyBattle:
        """Undo the first choice and return the open battle. Raises UnknownBattleError, or what `check_undo` raises."""
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.choice is not None:
                check_undo(connection, row)
                connection.execute(
                    insert(self._tables.undo).values(battle_id=row.id, undone_at=now())
                )
                if row.outside is None:
                    self._add_to_win_counts(connection, row, row.choice, -1)
            elif not row.undone:
                raise ChoiceError("There is no choice to take back yet.")
            return self._stored(connection, row.id)

    def reveal(self, voter: int, token: str) -> AnyBattle:
        """Make the choice final and return the battle; from here on its names may be shown. Raises as `undo` does."""
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.choice is None:
                raise ChoiceError("Choose A or B first; the names appear after that.")
            values = {"battle_id": row.id, "revealed_at": now()}
            connection.execute(
                self._database.insert(self._tables.reveal).values(values).on_conflict_do_nothing()
            )
            return self._stored(connection, row.id)

    def names(self, voter: int, token: str) -> Names:
        """Display names of the models of a revealed battle. Raises ChoiceError before the reveal."""
        with self._database.read() as connection:
            row = self._find(connection, voter, token)
            if not row.revealed:
                raise ChoiceError("The names appear after your choice.")
            query = select(MODEL.c.id, MODEL.c.display).where(
                MODEL.c.id.in_((row.model_a, row.model_b))
            )
            display = {model: name for model, name in connection.execute(query)}
        return Names(display[row.model_a], display[row.model_b])

    def pair_votes(self) -> dict[tuple[int, int], int]:
        """Number of final ranked votes of each pair of models, lower code first."""
        keep_time(self._database, self._tables.vote)
        pairs: Counter[tuple[int, int]] = Counter()
        with self._database.read() as connection:
            for query, sign in ((self._pair_votes, 1), (self._open_pair_votes, -1)):
                for winner, loser, n in connection.execute(query):
                    pairs[min(winner, loser), max(winner, loser)] += sign * int(n)
        return pairs

    def _find(self, connection: Connection, voter: int, token: str, lock: bool = False) -> Row:
        """The battle of a token with its events, its row locked if asked. Raises UnknownBattleError."""
        name, attempt = token_parts(token)
        if lock and not self._database.is_sqlite:
            connection.execute(self._lock_mine, {"name": name, "voter": voter})
        row = connection.execute(self._mine, {"name": name, "voter": voter}).one_or_none()
        if row is None or (attempt == 2 and not row.undone):
            raise UnknownBattleError
        return row

    def _stored(self, connection: Connection, battle: int) -> AnyBattle:
        return self._battle_of(
            connection, connection.execute(self._of_id, {"battle": battle}).one()
        )

    def _insert(
        self, connection: Connection, row: Row, attempt: int, choice: Side, terms: str, **more: Any
    ) -> datetime | None:
        """Insert a vote and count it; None if that attempt has one. Raises ChoiceError if it was taken back."""
        if attempt == 1 and row.undone:
            raise ChoiceError(
                "That choice was taken back in another tab; reload the page to choose again."
            )
        winner, loser = _winner_and_loser(row, choice)
        values = {
            "battle_id": row.id,
            "attempt": attempt,
            "voter_id": row.voter_id,
            "choice": choice,
            "terms": terms,
        }
        values |= {
            "winner": winner,
            "loser": loser,
            "voted_at": now(),
            "tick": tick(connection),
            **more,
        }
        if connection.scalar(self._insert_once, values) is None:
            return None
        if more.get("outside") is None:
            self._add_to_win_counts(connection, row, choice, +1)
        return values["voted_at"]

    def _standing(self, connection: Connection, battle: int, choice: Side) -> AnyBattle:
        """A battle whose choice stands. Raises ChoiceError if it is another one."""
        row = connection.execute(self._of_id, {"battle": battle}).one()
        if row.choice != choice:
            raise ChoiceError(
                "You already chose {} in this battle; that choice stands.", row.choice.upper()
            )
        return self._battle_of(connection, row)

    def _add_to_win_counts(self, connection: Connection, row: Row, choice: Side, by: int) -> None:
        winner, loser = _winner_and_loser(row, choice)
        board = {name: getattr(row, name) for name in self._boards}
        counts = {"n": by, "left_n": by if choice == "a" else 0}
        connection.execute(self._add_to_wins, {**board, "winner": winner, "loser": loser, **counts})


def phase(row: Row) -> Phase:
    """The state of a battle that was not skipped."""
    return Phase.OPEN if row.choice is None else Phase.REVEALED if row.revealed else Phase.VOTED


def undo_seconds(attempt: int, voted_at: datetime) -> int:
    """For how long a page offers to undo a choice; 0 where `check_undo` would say that it is final."""
    late = now() - voted_at > timedelta(seconds=UNDO_SECONDS + UNDO_GRACE_SECONDS)
    return 0 if attempt == 2 or late else UNDO_SECONDS


def token_parts(token: str) -> tuple[str, int]:
    """The battle's name and the attempt. Raises UnknownBattleError for a malformed token."""
    found = _TOKEN.fullmatch(token) if isinstance(token, str) else None
    if found is None:
        raise UnknownBattleError
    return found[1], int(found[2])


def check_among(value: object, allowed: tuple[str, ...], what: str) -> None:
    """Raise ChoiceError for a value that a browser made up."""
    if value not in allowed:
        raise ChoiceError("The {} must be one of: {}.", what, ", ".join(allowed))


def check_undo(connection: Connection, row: Row) -> None:
    """Raise ChoiceError if a choice can no longer be undone; else it becomes public after this transaction at best."""
    if row.undone:
        raise ChoiceError("A choice can be taken back once; this one is final.")
    if row.revealed:
        raise ChoiceError("The names have been shown; the choice is final.")
    if hold_clock(connection) - row.tick > (UNDO_SECONDS + UNDO_GRACE_SECONDS) * SECOND:
        raise ChoiceError(
            "A choice can be taken back for {} seconds; this one is final.", UNDO_SECONDS
        )


def _winner_and_loser(row: Row, choice: Side) -> tuple[int, int]:
    return (row.model_a, row.model_b) if choice == "a" else (row.model_b, row.model_a)
