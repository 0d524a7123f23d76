"""Settlements: when the order of two models was first settled on a board or in a campaign, kept for good.

Boards that visitors find without choosing anything have a record. Of every model that one ever had is known that it was
there, since each pair ever shown shares the errors that it may make. What later votes turn is not taken out, but shown
as contradicted. Only where a platform's list takes back votes that counted, orders have to settle anew.
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
"""The first time that a model was settled above another, and the board's votes then."""
BOARD_MODEL = Table(
    "board_model",
    METADATA,
    Column("board", Text, primary_key=True),
    Column("model_id", ForeignKey("model.id"), primary_key=True),
    Column("since", Moment, nullable=False),
)
"""Every model that a board ever had, also those that are gone. Rows are only added."""
AT_ONCE = 500
"""Rows stored in one transaction, so that a voter's waits for few of them."""


class BoardRecord(NamedTuple):
    """What is kept of a board."""

    models: frozenset[int]
    settled: Mapping[tuple[int, int], int]
    """The board's votes when the first model, by code, was settled above the second."""

    def among(self, places: Mapping[int, int]) -> list[Settlement]:
        """What is settled between models that have a place, by their places."""
        return [
            Settlement(places[above], places[below], votes)
            for (above, below), votes in self.settled.items()
            if above in places and below in places
        ]


def source_board(kind: str, multi: bool, rule: CountRule, source: str) -> str:
    """The name under which a source's board has its record.

    Sources go by their names: imported ones are not in the backup, and get other codes after a wipe.
    """
    return f"{kind}, {'multiple' if multi else 'single'}, {rule}: {source}"


def campaign_board(campaign: str) -> str:
    return f"campaign {campaign}"


def forget_orders(connection: Connection, campaign: str, source: str) -> None:
    """Forgets what settled in a campaign and on every board of its source: votes that it settled by count no longer."""
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
    database: Database, board: str, record: BoardRecord, codes: Sequence[int], seen: Look | None
) -> BoardRecord:
    """Stores what a look at models of these codes settles first; returns the record as it stands then.

    Of servers that look at the same time, the first one's row stays. A refused write is made up for by the next look.
    """
    known = record.among({code: place for place, code in enumerate(codes)})
    fresh = recorded(seen, known)[len(known) :] if seen else ()
    moment = now()
    newcomers = [code for code in codes if code not in record.models] if seen else []
    models = [{"board": board, "model_id": code, "since": moment} for code in newcomers]
    rows = [
        {
            "board": board,
            "above": codes[one.above],
            "below": codes[one.below],
            "votes": one.votes,
            "settled_at": moment,
        }
        for one in fresh
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
