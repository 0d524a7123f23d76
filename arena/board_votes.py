"""The votes behind a board, summed up by the database: for boards of some days and for what is found out at leisure."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import chain

import numpy as np
import numpy.typing as npt
from sqlalchemy import BigInteger, Connection, Row, Select, case, func, literal_column, select, type_coerce

from arena.ballots import BATTLE, VOTE, counted_votes
from arena.boards import BoardKey, Counts, Crowd, History, Tuples, history
from arena.database import EPOCH
from arena.items import ITEM
from arena.tally import played_counts

_DAY = 24 * 3600 * 1_000_000
_LEFT = func.sum(case((VOTE.c.choice == "a", 1), else_=0))


def counts_of_days(connection: Connection, key: BoardKey) -> Counts:
    """Count the votes of a board of some days."""
    query = _votes_of(key, VOTE.c.winner, VOTE.c.loser, func.count().label("n"), _LEFT)
    rows = connection.execute(query.group_by(VOTE.c.winner, VOTE.c.loser))
    table = _table(rows, 4)
    codes, place = np.unique(table[:, :2], return_inverse=True)
    place = place.reshape(-1, 2)
    both = np.zeros((2, len(codes), len(codes)), np.int64)
    both[:, place[:, 0], place[:, 1]] = table[:, 2:].T
    return played_counts(codes, *both)


def tuples_of(connection: Connection, key: BoardKey) -> Tuples:
    """Sum the votes of a board up by item and pair."""
    columns = (BATTLE.c.item_id, ITEM.c.family_id, VOTE.c.winner, VOTE.c.loser)
    rows = connection.execute(_votes_of(key, *columns, func.count().label("n")).group_by(*columns))
    table = _table(rows, 5)
    codes, place = np.unique(table[:, 2:4], return_inverse=True)
    place = place.reshape(-1, 2).astype(np.int32)
    return Tuples(tuple(codes.tolist()), table[:, 0], table[:, 1], place[:, 0], place[:, 1], table[:, 4])


def crowd_of(connection: Connection, key: BoardKey) -> Crowd:
    """Count who voted on a board, and on how many items."""
    each = _votes_of(key, VOTE.c.voter_id, func.count().label("n")).group_by(VOTE.c.voter_id).subquery()
    voters, busiest = connection.execute(select(func.count(), func.max(each.c.n)).select_from(each)).one()
    items = connection.execute(_votes_of(key, func.count(BATTLE.c.item_id.distinct()))).scalar_one()
    return Crowd(int(voters), int(busiest or 0), int(items))


def history_of(connection: Connection, key: BoardKey) -> History:
    """Return how the ratings of a board moved from day to day."""
    day = type_coerce(VOTE.c.voted_at, BigInteger) // literal_column(str(_DAY))
    query = _votes_of(key, day, VOTE.c.winner, VOTE.c.loser, func.count())
    table = _table(connection.execute(query.group_by(day, VOTE.c.winner, VOTE.c.loser)), 4)
    days, on = np.unique(table[:, 0], return_inverse=True)
    codes, place = np.unique(table[:, 1:3], return_inverse=True)
    place = place.reshape(-1, 2)
    wins = np.zeros((len(days), len(codes), len(codes)))
    wins[on, place[:, 0], place[:, 1]] = table[:, 3]
    return history([(EPOCH + timedelta(days=one)).date() for one in days.tolist()], codes.tolist(), wins)


def _table(rows: Iterable[Row], columns: int) -> npt.NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, columns)


def _votes_of(key: BoardKey, *columns) -> Select:
    """Return a SELECT over the counted votes of a board, joined with their battles and items."""
    of_battle, of_item = BATTLE.c.id == VOTE.c.battle_id, ITEM.c.id == BATTLE.c.item_id
    query = counted_votes(*columns).where(of_battle, of_item, ITEM.c.source_id == key.source, ITEM.c.multi == key.multi)
    if key.family is not None:
        query = query.where(ITEM.c.family_id == key.family)
    if key.since is not None:
        query = query.where(VOTE.c.voted_at >= _midnight(key.since))
    if key.until is not None:
        query = query.where(VOTE.c.voted_at < _midnight(key.until + timedelta(days=1)))
    return query


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
