"""Vote eligibility: whose votes stand on the counted board, and whether that or everyone's is the official one.

All votes are stored; who counts is decided when they are counted.
"""

from typing import cast

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    Text,
    bindparam,
    func,
    insert,
    select,
    true,
    update,
)

from arena.battles.tables import SEAT, VOTE
from arena.battles.voters import ADOPTION, PERSON
from arena.database import METADATA, Database, Moment, now, take_turn
from arena.settings import BoardVoters, CountSettings

OFFICIAL = Table(
    "official_board",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("voters", Text, nullable=False),
    Column("since", Moment, nullable=False),
)
"""One row, written at the first start: the `BoardVoters` of the board that opens first."""
MOST_GUESTS = 3
"""Browsers of a person whose votes before a login count: more would let one account bring in any number of cookies."""
_EARLIER = ADOPTION.alias("earlier")
_NTH = select(func.count()).where(
    _EARLIER.c.person == ADOPTION.c.person, _EARLIER.c.until < ADOPTION.c.until
)


def counting_voters(
    who: CountSettings,
    voter: ColumnElement[int] = VOTE.c.voter_id,
    voted_at: ColumnElement = VOTE.c.voted_at,
) -> ColumnElement[bool]:
    """Return the condition, over a table of votes, that a vote counts; `voter` and `voted_at` are its columns.

    Of a person who logged in, the votes as a guest before the login count too, of `MOST_GUESTS` browsers.
    """
    if who.rule == "everyone":
        return true()
    worker = voter.in_(select(SEAT.c.voter_id).where(SEAT.c.campaign.in_(who.campaigns)))
    if who.rule == "campaign":
        return worker
    before = select(ADOPTION.c.guest).where(ADOPTION.c.guest == voter, voted_at <= ADOPTION.c.until)
    before = before.where(_NTH.correlate(ADOPTION).scalar_subquery() < MOST_GUESTS)
    person = voter.in_(select(PERSON.c.voter_id)) | before.correlate_except(ADOPTION).exists()
    return person if who.rule == "logged-in" else person | worker


class VoteEligibility:
    """Whether a voter's new votes count."""

    def __init__(self, database: Database, who: CountSettings) -> None:
        self._database = database
        self.rule = who.rule
        self._counts = counting_voters(
            who, bindparam("voter", type_=Integer), bindparam("now", type_=Moment)
        )

    def counts(self, voter: int) -> bool:
        with self._database.read() as connection:
            return bool(connection.scalar(select(self._counts), {"voter": voter, "now": now()}))


def official_board(connection: Connection, who: CountSettings) -> BoardVoters:
    """Return whose votes stand on the board that opens first: by COUNTS, else as the database says."""
    if who.rule == "everyone":
        return "everyone"
    stored = cast(BoardVoters | None, connection.scalar(select(OFFICIAL.c.voters)))
    return who.official or stored or "everyone"


def make_official(connection: Connection, voters: str) -> bool:
    """Store the `BoardVoters` of the board that opens first; return whether that changed anything."""
    changed = update(OFFICIAL).where(OFFICIAL.c.voters != voters).values(voters=voters, since=now())
    return connection.execute(changed).rowcount > 0


def settle_official(database: Database, who: CountSettings, on_new: BoardVoters) -> None:
    """Store at the first start which board opens first: the one that COUNTS names, else `on_new`."""
    with database.write() as connection:
        take_turn(connection, OFFICIAL)
        if connection.scalar(select(OFFICIAL.c.id)) is None:
            first = who.official or on_new
            connection.execute(insert(OFFICIAL).values(id=1, voters=first, since=now()))
