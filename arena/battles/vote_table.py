"""Vote table: all final votes cast here, in memory as one data frame; each board is a mask on it.

`choices.py` stores a choice and gives it its final number: at the reveal, at the second attempt, or when it is too old
to be undone. Then it is one row of numbers here, for stored and live answers, with its clusters (item, picture, family,
voter), so that intervals, shares, flags, history and exports use the same frame. `leaderboard/board_votes.py` selects
the rows that a board counts.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import Connection, Select, case, func, select

from arena.battles.choices import publish_votes
from arena.battles.tables import BATTLE, IS_FINAL, NO_SEAT
from arena.database import Database, counter
from arena.items.alike import alike_items
from arena.items.store import BANK_VERSION, ITEM
from arena.ratings.votes import integer_array
from arena.types import OutsideReason

COLUMNS: Mapping[str, type] = {
    "battle": np.int64,  # its id
    "source": np.int32,  # of its item; LIVE_ITEM and LIVE_OWN: answered live
    "multi": np.bool_,  # whether several images were shown
    "item": np.int64,  # on own images, which are no item: minus the battle's id
    "picture": np.int64,  # the first item that is alike (items/alike.py); on own images as in "item"
    "family": np.int32,  # 0: none
    "winner": np.int32,  # where nobody won, the model on side A
    "loser": np.int32,
    "left": np.bool_,  # whether A was chosen
    "tied": np.bool_,
    "outside": np.int8,  # 0: ranked; else why not, a place in OUTSIDE
    "voter": np.int64,
    "seat": np.int64,  # 0: not in a campaign
    "voted_at": np.int64,  # microseconds since 1970
    "milliseconds": np.int64,  # from when it was shown to the choice
    "answer_a": np.int64,  # 0: answered live
    "answer_b": np.int64,
}
"""The columns of the frame; rows are in the order of the votes' final numbers."""
OUTSIDE = ("", *get_args(OutsideReason))
LIVE_OWN = 0
"""The source of votes on live answers about own images."""
LIVE_ITEM = -1
"""The source of votes on live answers about the bank's items."""
FORGOTTEN = "forgotten"
"""The counter of erased voters; data with voters' numbers is read again when it changes."""
_OUTSIDE = case(
    (BATTLE.c.outside.is_(None), 0),
    *((BATTLE.c.outside == reason, place) for place, reason in enumerate(OUTSIDE)),
)
_VOTES = (
    select(
        BATTLE.c.final_number,
        BATTLE.c.id.label("battle"),
        func.coalesce(BATTLE.c.item_id, 0).label("item"),
        BATTLE.c.images,
        BATTLE.c.winner,
        BATTLE.c.loser,
        case((BATTLE.c.choice == "a", 1), else_=0).label("left"),
        case((BATTLE.c.choice.in_(("a", "b")), 0), else_=1).label("tied"),
        _OUTSIDE.label("outside"),
        BATTLE.c.voter_id.label("voter"),
        func.coalesce(BATTLE.c.seat_id, NO_SEAT).label("seat"),
        BATTLE.c.voted_at,
        BATTLE.c.began_at,
        func.coalesce(BATTLE.c.answer_a, 0).label("answer_a"),
        func.coalesce(BATTLE.c.answer_b, 0).label("answer_b"),
    )
    .where(IS_FINAL)
    .order_by(BATTLE.c.final_number)
)
_COUNT = select(func.count(), func.max(BATTLE.c.final_number)).where(IS_FINAL)
_ROWS_AT_ONCE = 10_000
"""The rows that are fetched at once."""


class FinalVotes(NamedTuple):
    """All final votes at one moment."""

    votes: pd.DataFrame
    """A row for each vote, with COLUMNS; a later frame of the same edition only adds rows."""
    edition: int
    """Grows whenever the table is read anew."""


@dataclass(frozen=True)
class TableChecks:
    """The result of the last comparison of the table with the database."""

    checked_at: float = -math.inf
    """The time by the monotonic clock; minus infinity: not yet."""
    mended: int = 0
    """The number of times that it differed and was read again."""


class VoteTable:
    """The final votes of one database; a process has one.

    A frame that was handed out never changes: its columns are the beginnings of arrays that only grow.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self.checks = TableChecks()
        self._edition = 0
        self._forgotten = 0
        self._bank_version = 0
        self._start_anew()

    def read(self) -> FinalVotes:
        """Returns all votes that are final by now. Raises DatabaseError."""
        publish_votes(self._database)
        with self._lock, self._database.read() as connection:
            self._read_new_votes(connection)
            return FinalVotes(self._frame, self._edition)

    def check(self) -> None:
        """Reads all votes again if the database has another number of votes, or another last one."""
        with self._lock, self._database.read() as connection:
            self._read_new_votes(connection)
            stored, last = connection.execute(_COUNT).one()
            mended = self.checks.mended
            if stored != self._length or (last or 0) != self._last_number:
                self._start_anew()
                self._read_new_votes(connection)
                mended += 1
            self.checks = TableChecks(time.monotonic(), mended)

    def pair_votes(self, live: bool) -> dict[tuple[int, int], int]:
        """Returns the number of ranked votes of each pair of models, lower code first, on live or on stored answers."""
        votes = self.read().votes
        is_live = values(votes, "answer_a") == 0
        mask = (is_live == live) & (values(votes, "outside") == 0)
        winner = values(votes, "winner")[mask]
        loser = values(votes, "loser")[mask]
        models = int(max(winner.max(initial=0), loser.max(initial=0))) + 1
        pair = np.minimum(winner, loser).astype(np.int64) * models + np.maximum(winner, loser)
        counts = np.bincount(pair)
        return {divmod(code, models): int(counts[code]) for code in np.flatnonzero(counts).tolist()}

    def _start_anew(self) -> None:
        """Empties the table, as another edition."""
        self._edition += 1
        self._items = _Items()
        self._length = 0
        """The number of votes, which are at the beginning of the arrays."""
        self._last_number = 0
        """The final number of the last vote."""
        self._columns: dict[str, npt.NDArray[Any]] = {
            name: np.empty(0, kind) for name, kind in COLUMNS.items()
        }
        self._frame = pd.DataFrame(self._columns)

    def _read_new_votes(self, connection: Connection) -> None:
        """Appends the votes after the last one; reads all of them anew if voters were erased, or items got other
        pictures meanwhile.
        """
        forgotten = counter(connection, FORGOTTEN)
        bank_version = counter(connection, BANK_VERSION)
        is_new_bank = bank_version != self._bank_version
        has_other_pictures = is_new_bank and self._items.have_other_pictures(connection)
        self._bank_version = bank_version
        if forgotten != self._forgotten or has_other_pictures:
            self._start_anew()
            self._forgotten = forgotten
        rows = whole_numbers(connection, _VOTES.where(BATTLE.c.final_number > self._last_number))
        if len(rows["battle"]):
            self._append(self._frame_columns(connection, rows))
            self._last_number = int(rows["final_number"][-1])

    def _frame_columns(
        self, connection: Connection, rows: Mapping[str, npt.NDArray[np.int64]]
    ) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns of the frame from those of _VOTES."""
        battle = rows["battle"]
        item = rows["item"]
        self._items.read_missing(connection, item)
        is_live = rows["answer_a"] == 0
        is_own = item == 0
        live_source = np.where(is_own, LIVE_OWN, LIVE_ITEM)
        microseconds = np.maximum(0, rows["voted_at"] - rows["began_at"])
        computed = {
            "source": np.where(is_live, live_source, self._items.source[item]),
            "multi": np.where(is_live, rows["images"] > 1, self._items.multi[item]),
            "item": np.where(is_own, -battle, item),
            "picture": np.where(is_own, -battle, self._items.picture[item]),
            "family": np.where(is_live, 0, self._items.family[item]),
            "milliseconds": microseconds // 1000,
        }
        columns = {**rows, **computed}
        return {name: columns[name] for name in COLUMNS}

    def _append(self, new_columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Writes after the rows of existing frames, in new arrays of twice the size if there is no room."""
        end = self._length + len(new_columns["battle"])
        for name, column in self._columns.items():
            if end > len(column):
                longer = np.empty(max(end, 2 * len(column)), column.dtype)
                longer[: self._length] = column[: self._length]
                self._columns[name] = longer
            self._columns[name][self._length : end] = new_columns[name]
        self._length = end
        filled = {name: column[:end] for name, column in self._columns.items()}
        self._frame = pd.DataFrame(filled, copy=False)


def values(votes: pd.DataFrame, column: str) -> npt.NDArray[Any]:
    """Returns the values of a column."""
    return np.asarray(votes[column])


def rows_of(votes: pd.DataFrame, mask: npt.NDArray[np.bool_]) -> pd.DataFrame:
    """Returns the votes of a mask, in their order."""
    return votes.take(np.flatnonzero(mask))


class _Items:
    """The items' values that become columns of votes, as arrays by the item's id. Only pictures can change."""

    def __init__(self) -> None:
        self.source = np.zeros(1, np.int64)
        self.multi = np.zeros(1, np.int64)
        self.family = np.zeros(1, np.int64)
        self.picture = np.zeros(1, np.int64)

    def have_other_pictures(self, connection: Connection) -> bool:
        """Returns whether the `picture` of a known item has changed: an import may add an image that it lacked."""
        known = len(self.picture)
        codes = alike_items(connection) if known > 1 else {}
        return any(item < known and self.picture[item] != code for item, code in codes.items())

    def read_missing(self, connection: Connection, items: npt.NDArray[np.int64]) -> None:
        """Reads new items if any of these is not known yet."""
        first_unknown = len(self.source)
        if not len(items) or items.max() < first_unknown:
            return
        query = select(ITEM.c.id, ITEM.c.source_id, ITEM.c.multi, ITEM.c.family_id)
        query = query.where(ITEM.c.id >= first_unknown).order_by(ITEM.c.id)
        rows = connection.execute(query).all()
        # Of all items, since a new one may be alike to a known one.
        codes = alike_items(connection)
        size = rows[-1].id + 1
        self.source = _lengthened(self.source, size)
        self.multi = _lengthened(self.multi, size)
        self.family = _lengthened(self.family, size)
        self.picture = _lengthened(self.picture, size)
        for row in rows:
            self.source[row.id] = row.source_id
            self.multi[row.id] = row.multi
            self.family[row.id] = row.family_id
            self.picture[row.id] = codes[row.id]


def _lengthened(column: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Returns a copy with zeros at the end."""
    longer = np.zeros(size, np.int64)
    longer[: len(column)] = column
    return longer


def whole_numbers(connection: Connection, query: Select) -> dict[str, npt.NDArray[np.int64]]:
    """Returns the columns of a query that selects only whole numbers.

    The rows come from the driver's own cursor, which is four times faster than SQLAlchemy's result.
    """
    cursor = connection.execute(query).cursor
    assert cursor is not None
    names = list(query.selected_columns.keys())
    blocks = [np.zeros((0, len(names)), np.int64)]
    rows = cursor.fetchmany(_ROWS_AT_ONCE)
    while rows:
        blocks.append(integer_array(rows, len(names)))
        rows = cursor.fetchmany(_ROWS_AT_ONCE)
    return dict(zip(names, np.concatenate(blocks).T, strict=True))
