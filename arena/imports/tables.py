"""Imported vote tables: separate sources, with each row of a file unchanged.

`importer.py` fills them. A source's votes count up to the row that its last finished import reached.
"""

import json
from dataclasses import dataclass

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    Select,
    Table,
    Text,
    UniqueConstraint,
    select,
)

from arena.database import METADATA, Moment
from arena.formats.base import Battles, OtherRow, Vote, columns_of
from arena.formats.base import Row as FileRow
from arena.formats.native import STEREOSCOPE, native_row
from arena.items.store import FAMILY, model_names

IMPORTED_SOURCE = Table(
    "imported_source",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("judge", Boolean, nullable=False),
    Column("demo", Boolean, nullable=False),
    Column("into_live", Boolean, nullable=False),
    Column("both_bad", Text, nullable=False),
    Column("counted_to", Integer, nullable=False),
    Column("imported_at", Moment, nullable=False),
    CheckConstraint("both_bad IN ('half', 'out')"),
)
"""The sources, by name.

`into_live`: whether votes on this arena's items also count on the boards of those items. `both_bad`: such votes count
as half a win to each side, or not at all. `counted_to`: the id of the last row that counts; 0 before the first finished
import.
"""
IMPORTED_ROW = Table(
    "imported_row",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("source_id", ForeignKey("imported_source.id"), nullable=False),
    Column("digest", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("row", Text, nullable=False),
    UniqueConstraint("source_id", "digest"),
)
"""The rows of files, with ids in the order of their import. `digest` recognises a row that is imported again; `row` is
its content in `format`.
"""
IMPORTED_VOTER = Table(
    "imported_voter",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("source_id", ForeignKey("imported_source.id"), nullable=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("source_id", "name"),
)
IMPORTED_PICTURE = Table(
    "imported_picture",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)
"""The pictures of imported items, from `Vote.picture`."""
IMPORTED_ITEM = Table(
    "imported_item",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
)
IMPORTED_VOTE = Table(
    "imported_vote",
    METADATA,
    Column("id", ForeignKey("imported_row.id"), primary_key=True, autoincrement=False),
    Column("source_id", ForeignKey("imported_source.id"), nullable=False),
    Column("choice", Text, nullable=False),
    Column("winner", ForeignKey("model.id"), nullable=False),
    Column("loser", ForeignKey("model.id"), nullable=False),
    Column("item_id", ForeignKey("imported_item.id")),
    Column("picture_id", ForeignKey("imported_picture.id")),
    Column("voter_id", ForeignKey("imported_voter.id")),
    Column("voted_at", Moment),
    Column("family_id", ForeignKey("family.id")),
    Column("images", Integer),
    Column("language", Text),
    Column("turns", Integer),
    Column("conversation", Text),
    Column("blind", Boolean),
    Column("judge", Boolean),
    CheckConstraint("choice IN ('a', 'b', 'tie', 'both_bad')"),
)
"""A row with a vote; for a tie and "both bad", the model on side A is stored as the winner."""
Index("imported_vote_of_source", IMPORTED_VOTE.c.source_id)
FILE_COLUMNS = ("images", "language", "turns", "conversation", "blind")
"""The columns of a vote that are stored unchanged from its file."""


@dataclass(frozen=True)
class ImportedSource:
    """Imported votes under one name, with separate boards."""

    id: int
    name: str
    judge: bool
    into_live: bool

    @property
    def label(self) -> str:
        """The name that people choose its boards by."""
        return f"{self.name} (imported{', judge' if self.judge else ''})"


def imported_sources(connection: Connection) -> tuple[ImportedSource, ...]:
    """Returns the sources with votes that count, in the order of their first import."""
    table = IMPORTED_SOURCE.c
    sources = select(table.id, table.name, table.judge, table.into_live)
    rows = connection.execute(sources.where(table.counted_to > 0).order_by(table.id))
    return tuple(
        ImportedSource(
            id=row.id,
            name=row.name,
            judge=row.judge,
            into_live=row.into_live,
        )
        for row in rows
    )


def imported_battles(connection: Connection, source: ImportedSource) -> Battles:
    """Returns the rows of a source in order, each vote with its original row."""
    models = model_names(connection)
    votes: list[Vote] = []
    rows: list[FileRow] = []
    others: list[OtherRow] = []
    for row in connection.execute(_row_query(source)):
        vote = None if row.choice is None else _vote(row, models)
        is_ours = row.format == STEREOSCOPE.name
        native = json.loads(row.row) if is_ours else native_row(vote, row.format, row.row)
        if vote is None:
            others.append(OtherRow(len(votes), native))
        else:
            votes.append(vote)
            rows.append(native)
    return Battles.of_columns(
        STEREOSCOPE.name, columns_of(votes), rows=tuple(rows), others=tuple(others)
    )


def _row_query(source: ImportedSource) -> Select:
    """Returns a SELECT of the rows of a source that count, in order, each with its vote if it has one."""
    vote = IMPORTED_VOTE.c
    joined = (
        IMPORTED_ROW.join(IMPORTED_SOURCE)
        .outerjoin(IMPORTED_VOTE, vote.id == IMPORTED_ROW.c.id)
        .outerjoin(IMPORTED_ITEM, IMPORTED_ITEM.c.id == vote.item_id)
        .outerjoin(IMPORTED_PICTURE, IMPORTED_PICTURE.c.id == vote.picture_id)
        .outerjoin(IMPORTED_VOTER, IMPORTED_VOTER.c.id == vote.voter_id)
        .outerjoin(FAMILY, FAMILY.c.id == vote.family_id)
    )
    query = select(
        IMPORTED_ROW.c.format,
        IMPORTED_ROW.c.row,
        vote.choice,
        vote.winner,
        vote.loser,
        vote.voted_at,
        vote.judge,
        IMPORTED_ITEM.c.key,
        IMPORTED_PICTURE.c.name.label("picture"),
        FAMILY.c.name.label("category"),
        IMPORTED_VOTER.c.name.label("voter"),
        *(vote[name] for name in FILE_COLUMNS),
    )
    counted = (IMPORTED_ROW.c.source_id == source.id) & (
        IMPORTED_ROW.c.id <= IMPORTED_SOURCE.c.counted_to
    )
    return query.select_from(joined).where(counted).order_by(IMPORTED_ROW.c.id)


def _vote(row: Row, models: dict[int, str]) -> Vote:
    is_b = row.choice == "b"
    return Vote(
        model_a=models[row.loser if is_b else row.winner],
        model_b=models[row.winner if is_b else row.loser],
        winner=row.choice,
        item=row.key,
        voter=row.voter,
        time=None if row.voted_at is None else row.voted_at.timestamp(),
        category=row.category,
        judge=row.judge,
        picture=row.picture,
        **{name: getattr(row, name) for name in FILE_COLUMNS},
    )
