"""Settlements: the permanent record of first settled orders of two models, on a board or in a campaign.

A board has a record unless a visitor narrowed it or let flagged votes in. The record has every model that the board
ever had, since all pairs ever shown share the allowed errors. An order that later votes reverse stays, and is shown as
contradicted. Orders settle anew only if votes that counted are rejected by a recruitment platform's list of
participants.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from sqlalchemy import Column, Connection, ForeignKey, Integer, Table, Text, delete, select

from arena.database import METADATA, Database, DatabaseError, Moment, now
from arena.ratings.settled import Look, Settlement, add_settlements
from arena.settings import CountSettings

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
ROWS_AT_ONCE = 500
"""The most rows in one transaction, so that voters' transactions don't wait long."""


class BoardRecord(NamedTuple):
    """The stored models and settled orders of a board."""

    models: frozenset[int]
    settled: Mapping[tuple[int, int], int]
    """The board's votes when the first model, by code, was settled above the second."""

    def settlements_among(self, places: Mapping[int, int]) -> list[Settlement]:
        """Returns the settled orders between these models. `places`: the number of each in the result, by its code."""
        return [
            Settlement(places[above], places[below], votes)
            for (above, below), votes in self.settled.items()
            if above in places and below in places
        ]


def source_board_name(kind: str, multi: bool, counted: CountSettings, source: str) -> str:
    """Returns the name of a source's board in the record: other voters have another record.

    `source` is the source's name; live sources have only a number. A code wouldn't do: imported sources are not in the
    backup, and after a wipe they get new codes.
    """
    images = "multiple" if multi else "single"
    voters = counted.rule
    if counted.rule != "everyone" and counted.campaigns:
        voters = f"{counted.rule} ({', '.join(sorted(counted.campaigns))})"
    return f"{kind}, {images}, {voters}: {source}"


def _is_board_of(board: str, source: str) -> bool:
    """Returns whether a name in the record is that of a board of the bank's source."""
    # Only the source's name may have a colon: voters have none.
    voters, _, board_source = board.partition(": ")
    return voters.startswith("bank, ") and board_source == source


def campaign_board_name(campaign: str) -> str:
    """Returns the name of a campaign's board in the record."""
    return f"campaign {campaign}"


def forget_orders(connection: Connection, campaign: str, source: str) -> None:
    """Deletes the settled orders of a campaign and of every board of its source, since their votes no longer count."""
    stored = connection.scalars(select(SETTLEMENT.c.board).distinct()).all()
    boards = [campaign_board_name(campaign)]
    boards += [board for board in stored if _is_board_of(board, source)]
    connection.execute(delete(SETTLEMENT).where(SETTLEMENT.c.board.in_(boards)))


def read_record(connection: Connection, board: str) -> BoardRecord:
    models = connection.scalars(select(BOARD_MODEL.c.model_id).where(BOARD_MODEL.c.board == board))
    query = select(SETTLEMENT.c.above, SETTLEMENT.c.below, SETTLEMENT.c.votes)
    rows = connection.execute(query.where(SETTLEMENT.c.board == board))
    return BoardRecord(
        models=frozenset(models),
        settled={(row.above, row.below): row.votes for row in rows},
    )


def extend_record(
    database: Database, board: str, record: BoardRecord, codes: Sequence[int], latest: Look | None
) -> BoardRecord:
    """Stores a board's new models, and the orders that its latest look settles for the first time; returns the new
    record.

    `codes` are those of the look's models; without a look nothing is stored. If several servers look at the same time,
    the first one's row stays. After a failed write, the next look writes.
    """
    if latest is None:
        return record
    moment = now()
    new_codes = [code for code in codes if code not in record.models]
    new_models = [{"board": board, "model_id": code, "since": moment} for code in new_codes]
    earlier = record.settlements_among({code: place for place, code in enumerate(codes)})
    # The look's settlements come after the earlier ones.
    new_settlements = add_settlements(latest, earlier)[len(earlier) :]
    settlement_rows = [
        {
            "board": board,
            "above": codes[settlement.above],
            "below": codes[settlement.below],
            "votes": settlement.votes,
            "settled_at": moment,
        }
        for settlement in new_settlements
    ]
    if not new_models and not settlement_rows:
        return record
    with suppress(DatabaseError):
        _insert_rows(database, BOARD_MODEL, new_models)
        _insert_rows(database, SETTLEMENT, settlement_rows)
    with database.read() as connection:
        return read_record(connection, board)


def _insert_rows(database: Database, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Inserts rows that are not there yet, ROWS_AT_ONCE in a transaction. Raises DatabaseError."""
    statement = database.insert(table).on_conflict_do_nothing()
    for start in range(0, len(rows), ROWS_AT_ONCE):
        with database.write() as connection:
            connection.execute(statement, rows[start : start + ROWS_AT_ONCE])
