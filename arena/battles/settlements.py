"""Settlements: the permanent record of first settled orders of two models, on a board or in a campaign.

Boards without a visitor's choices have a record. It has every model that the board ever had, since all pairs ever shown
share the allowed errors. An order that later votes reverse stays, and is shown as contradicted. Orders settle anew only
if a platform's list rejects votes that counted.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, get_args

from sqlalchemy import Column, Connection, ForeignKey, Integer, Table, Text, delete, select

from arena.database import METADATA, Database, DatabaseError, Moment, now
from arena.ratings.settled import Look, Settlement, recorded
from arena.settings import CountRule

SETTLEMENT = Table(
    "settlement",
    METADATA,
    Column("board", Text, primary_key=True),
    Column("above", ForeignKey("model.id"), primary_key=True),
    Column("below", ForeignKey("model.id"), primary_key=True),
    Column("votes", Integer, nullable=False),
    Column("settled_at", Moment, nullable=False),
)
"""The first time that a model was settled above another, and the board's votes at that time."""
BOARD_MODEL = Table(
    "board_model",
    METADATA,
    Column("board", Text, primary_key=True),
    Column("model_id", ForeignKey("model.id"), primary_key=True),
    Column("since", Moment, nullable=False),
)
"""Every model that a board ever had, also removed ones. Rows are only added."""
AT_ONCE = 500
"""The most rows in one transaction, so that voters' transactions don't wait long."""


class BoardRecord(NamedTuple):
    """The stored models and settled orders of a board."""

    models: frozenset[int]
    settled: Mapping[tuple[int, int], int]
    """The board's votes when the first model, by code, was settled above the second."""

    def among(self, places: Mapping[int, int]) -> list[Settlement]:
        """Returns the settled orders between models with a place, by their places."""
        return [
            Settlement(places[above], places[below], votes)
            for (above, below), votes in self.settled.items()
            if above in places and below in places
        ]


def source_board(kind: str, multi: bool, rule: CountRule, source: str) -> str:
    """Returns the name of a source's board in the record.

    It has the source's name, since imported sources are not in the backup, and get other codes after a wipe.
    """
    return f"{kind}, {'multiple' if multi else 'single'}, {rule}: {source}"


def campaign_board(campaign: str) -> str:
    return f"campaign {campaign}"


def forget_orders(connection: Connection, campaign: str, source: str) -> None:
    """Deletes the settled orders of a campaign and of every board of its source, since their votes no longer count."""
    boards = [campaign_board(campaign)]
    for rule in get_args(CountRule):
        boards += [source_board("bank", multi, rule, source) for multi in (False, True)]
    connection.execute(delete(SETTLEMENT).where(SETTLEMENT.c.board.in_(boards)))


def read_record(connection: Connection, board: str) -> BoardRecord:
    models = connection.scalars(select(BOARD_MODEL.c.model_id).where(BOARD_MODEL.c.board == board))
    rows = select(SETTLEMENT.c.above, SETTLEMENT.c.below, SETTLEMENT.c.votes).where(
        SETTLEMENT.c.board == board
    )
    return BoardRecord(
        frozenset(models), {(row.above, row.below): row.votes for row in connection.execute(rows)}
    )


def extend_record(
    database: Database, board: str, record: BoardRecord, codes: Sequence[int], latest: Look | None
) -> BoardRecord:
    """Stores the orders that a look at models of these codes settles first; returns the new record.

    If several servers look at the same time, the first one's row stays. After a failed write, the next look writes.
    """
    known = record.among({code: place for place, code in enumerate(codes)})
    fresh = recorded(latest, known)[len(known) :] if latest else ()
    moment = now()
    newcomers = [code for code in codes if code not in record.models] if latest else []
    models = [{"board": board, "model_id": code, "since": moment} for code in newcomers]
    rows = [
        {
            "board": board,
            "above": codes[settlement.above],
            "below": codes[settlement.below],
            "votes": settlement.votes,
            "settled_at": moment,
        }
        for settlement in fresh
    ]
    if not models and not rows:
        return record
    with suppress(DatabaseError):
        for table, news in ((BOARD_MODEL, models), (SETTLEMENT, rows)):
            for start in range(0, len(news), AT_ONCE):
                with database.write() as connection:
                    statement = database.insert(table).on_conflict_do_nothing()
                    connection.execute(statement, news[start : start + AT_ONCE])
    with database.read() as connection:
        return read_record(connection, board)
