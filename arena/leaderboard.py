"""Leaderboards: the counted votes of one source, single- and multi-image apart, as a board.

A board never mixes sources, so the demo bank's votes stand by themselves.
"""

from dataclasses import dataclass
from threading import Lock

from sqlalchemy import func, select

from arena.ballots import BATTLE, UNDO, VOTE, WINS, counted_votes
from arena.database import Connection, Database
from arena.items import ITEM, MODEL
from arena.ratings import elo
from arena.records import REFERENCE


@dataclass(frozen=True)
class BoardKey:
    """Which votes a board counts."""

    source: int
    multi: bool


@dataclass(frozen=True)
class Standing:
    """One model's line on a board."""

    rank: int
    model: str
    elo: float
    votes: int
    """Battles of this model that were decided (the paper's "matches", Table 3)."""
    win_rate: float | None
    """Share of its battles with the reference that it won; None for the reference and without such battles."""
    reference_votes: int
    """Battles with the reference (the paper's n)."""
    retired: bool


@dataclass(frozen=True)
class Board:
    """One board, best model first."""

    key: BoardKey
    votes: int
    standings: tuple[Standing, ...]


class Leaderboard:
    """Compute boards; each is computed once for the votes it counts, not once for each visitor."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._kept: dict[BoardKey, tuple[tuple, Board]] = {}

    def board(self, key: BoardKey) -> Board:
        """Return a board with every vote committed before the call."""
        with self._database.read() as connection:
            mark = _mark(connection)
            with self._lock:
                kept = self._kept.get(key)
            if kept and kept[0] == mark:
                return kept[1]
            board = _board(connection, key)
        with self._lock:
            self._kept[key] = (mark, board)
        return board


def _mark(connection: Connection) -> tuple:
    """Return what changes whenever a board may: the votes, the undos and the models' names.

    The last vote's number alone would miss one that got its number earlier and commits later (PostgreSQL).
    """
    votes = (connection.scalar(select(func.max(VOTE.c.id))), connection.scalar(select(func.sum(WINS.c.n))))
    undos = connection.scalar(select(func.count()).select_from(UNDO))
    models = tuple(tuple(row) for row in connection.execute(select(MODEL.c.id, MODEL.c.display, MODEL.c.retired_at)))
    return votes, undos, models


def _board(connection: Connection, key: BoardKey) -> Board:
    order = counted_votes(VOTE.c.winner, VOTE.c.loser).order_by(VOTE.c.id)
    of_board = select(BATTLE.c.id).join(ITEM, ITEM.c.id == BATTLE.c.item_id)
    of_board = of_board.where(ITEM.c.source_id == key.source, ITEM.c.multi == key.multi)
    votes = connection.execute(order.where(VOTE.c.battle_id.in_(of_board))).all()
    codes = sorted({code for vote in votes for code in vote})
    index = {code: place for place, code in enumerate(codes)}
    rated = elo([index[vote.winner] for vote in votes], [index[vote.loser] for vote in votes], len(codes))
    wins = _wins(connection, key)
    models = {row.id: row for row in connection.execute(select(MODEL))}
    reference = next((code for code in codes if models[code].name == REFERENCE), None)
    ranked = sorted(codes, key=lambda code: -rated.ratings[index[code]])
    standings = tuple(
        Standing(
            rank=rank,
            model=models[code].display,
            elo=rated.ratings[index[code]],
            votes=sum(n for pair, n in wins.items() if code in pair),
            win_rate=_win_rate(wins, code, reference),
            reference_votes=_met(wins, code, reference),
            retired=models[code].retired_at is not None,
        )
        for rank, code in enumerate(ranked, 1)
    )
    return Board(key, len(votes), standings)


def _wins(connection: Connection, key: BoardKey) -> dict[tuple[int, int], int]:
    """Return how often each model beat each other: {(winner, loser): n}."""
    of_board = (WINS.c.source_id == key.source) & (WINS.c.multi == key.multi)
    query = select(WINS.c.winner, WINS.c.loser, func.sum(WINS.c.n).label("n")).where(of_board)
    rows = connection.execute(query.group_by(WINS.c.winner, WINS.c.loser))
    return {(row.winner, row.loser): int(row.n) for row in rows if row.n}


def _met(wins: dict[tuple[int, int], int], code: int, reference: int | None) -> int:
    if reference is None or code == reference:
        return 0
    return wins.get((code, reference), 0) + wins.get((reference, code), 0)


def _win_rate(wins: dict[tuple[int, int], int], code: int, reference: int | None) -> float | None:
    met = _met(wins, code, reference)
    return wins.get((code, reference), 0) / met if met and reference is not None else None
