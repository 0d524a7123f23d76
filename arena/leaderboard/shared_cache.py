"""Shared statistics: one server's statistics of a board, cached for all servers on one PostgreSQL database.

Statistics cost seconds of a processor. The server that takes the turn computes a board's; the others wait for them and
read them. On SQLite there is one server, and nothing is stored.
"""

import io
import json
import logging
import time
from collections.abc import Callable
from datetime import timedelta

import numpy as np
from sqlalchemy import Column, LargeBinary, Table, Text, select, update

from arena.database import METADATA, Database, Moment, now
from arena.leaderboard.statistics import Crowd, Overturn, Statistics, Tuples
from arena.ratings.elo_orders import EloOrders
from arena.ratings.intervals import Bounds

FOUND = Table(
    "found",
    METADATA,
    Column("board", Text, primary_key=True),
    Column("made_at", Moment),
    Column("taken_until", Moment, nullable=False),
    Column("content", LargeBinary),
)
TURN = timedelta(seconds=60)
"""How long one server may compute statistics before another takes the turn: the first may have died."""
_LOOK_SECONDS = 0.5
_TUPLES = ("item", "family", "winner", "loser", "outcome", "n")

log = logging.getLogger(__name__)


class SharedStatistics:
    """Statistics of one database's boards; those younger than `every` seconds are reused."""

    def __init__(self, database: Database, every: float) -> None:
        self._database, self._every = database, timedelta(seconds=every)

    def found(self, board: str, compute_statistics: Callable[[], Statistics]) -> Statistics:
        """Return a board's statistics: another server's, or our own, stored for the others. Raises DatabaseError."""
        if self._database.is_sqlite:
            return compute_statistics()
        while not self._take_turn(board):
            content = self._fresh(board)
            if content is not None:
                return unpacked(content)
            time.sleep(_LOOK_SECONDS)
        found = compute_statistics()
        with self._database.write() as connection:
            made = {"made_at": now(), "taken_until": now(), "content": packed(found)}
            connection.execute(update(FOUND).where(FOUND.c.board == board).values(made))
        return found

    def _fresh(self, board: str) -> bytes | None:
        present = now()
        with self._database.read() as connection:
            row = connection.execute(select(FOUND).where(FOUND.c.board == board)).one()
        fresh = row.made_at is not None and present - self._every < row.made_at <= present + self._every
        return row.content if fresh else None

    def _take_turn(self, board: str) -> bool:
        """Take the turn to compute if nobody has it and nothing is fresh; a clock that was set back blocks nobody."""
        present, made, taken = now(), FOUND.c.made_at, FOUND.c.taken_until
        stale = made.is_(None) | (made <= present - self._every) | (made > present + self._every)
        free = (taken <= present) | (taken > present + 2 * TURN)
        with self._database.write() as connection:
            row = {"board": board, "taken_until": present}
            connection.execute(self._database.insert(FOUND).values(row).on_conflict_do_nothing())
            ours = update(FOUND).where(FOUND.c.board == board, stale, free).values(taken_until=present + TURN)
            return connection.execute(ours).rowcount == 1


def packed(found: Statistics) -> bytes:
    """Serialise statistics: arrays in NumPy's format, the rest as JSON."""
    elo, tuples = found.elo, found.tuples
    rest = {
        "votes": found.votes,
        "clusters": found.clusters,
        "elo_votes": found.elo_votes,
        "crowd": found.crowd,
        "overturn": found.overturn,
        "codes": (found.codes, tuples.codes),
    }
    arrays = {"reach": found.reach, "rank_low": found.ranks.low, "rank_high": found.ranks.high}
    arrays |= {"elo_median": elo.median, "elo_low": elo.low, "elo_high": elo.high}
    arrays |= {name: getattr(tuples, name) for name in _TUPLES}
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, rest=np.array(json.dumps(rest)), **arrays)
    return file.getvalue()


def unpacked(content: bytes) -> Statistics:
    """Return the statistics that `packed` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        part = dict(arrays)
    rest = json.loads(str(part["rest"]))
    codes, tuple_codes = (tuple(each) for each in rest["codes"])
    curves = (part["elo_median"], part["elo_low"], part["elo_high"])
    return Statistics(
        codes=codes,
        votes=rest["votes"],
        clusters=rest["clusters"],
        reach=part["reach"],
        ranks=Bounds(part["rank_low"], part["rank_high"]),
        elo=EloOrders(*curves),
        elo_votes=rest["elo_votes"],
        crowd=Crowd(*rest["crowd"]),
        overturn=rest["overturn"] and Overturn(*rest["overturn"]),
        tuples=Tuples(tuple_codes, *(part[name] for name in _TUPLES)),
    )
