"""Vote eligibility: whose votes stand on the counted board, and whether that or everyone's is the official one.

All votes are stored; who counts is decided when they are counted.
"""

from typing import cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import (
    BigInteger,
    Column,
    CompoundSelect,
    Connection,
    Integer,
    Table,
    Text,
    func,
    insert,
    literal,
    select,
    type_coerce,
    union_all,
    update,
)

from arena.battles.tables import SEAT
from arena.battles.voters import ADOPTION, PERSON
from arena.database import EPOCH, METADATA, Database, Moment, now, take_turn
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


_ALWAYS = 2**63 - 1
_NEVER = -1


def counting_voters(who: CountSettings) -> CompoundSelect:
    """A SELECT of (voter, until) for a rule that isn't everyone's: a voter's votes count until then (microseconds).

    Of a person who logged in, the votes as a guest before the login count too, of `MOST_GUESTS` browsers.
    """
    always = literal(_ALWAYS, BigInteger).label("until")
    persons = select(PERSON.c.voter_id.label("voter"), always)
    until = type_coerce(ADOPTION.c.until, BigInteger)
    is_among_first = _NTH.correlate(ADOPTION).scalar_subquery() < MOST_GUESTS
    guests = select(ADOPTION.c.guest, until).where(is_among_first)
    workers = select(SEAT.c.voter_id.label("voter"), always).where(
        SEAT.c.campaign.in_(who.campaigns)
    )
    kinds = {
        "logged-in": (persons, guests),
        "campaign": (workers,),
        "counted": (persons, guests, workers),
    }
    return union_all(*kinds[who.rule])


def counted_until(connection: Connection, who: CountSettings) -> npt.NDArray[np.int64] | None:
    """Return until when each voter's votes count, by the voter's id; None where everyone's do.

    The last place is for voters who are not known yet.
    """
    if who.rule == "everyone":
        return None
    rows = connection.execute(counting_voters(who)).all()
    until = np.full(max((row.voter for row in rows), default=0) + 2, _NEVER, np.int64)
    for row in rows:
        until[row.voter] = max(until[row.voter], row.until)
    return until


def eligibility_version(connection: Connection, who: CountSettings) -> tuple[int, ...]:
    """Return numbers that change whenever somebody's votes begin to count."""
    if who.rule == "everyone":
        return ()
    tables = (PERSON, ADOPTION, SEAT)
    return tuple(
        connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables
    )


class VoteEligibility:
    """Whether a voter's new votes count."""

    def __init__(self, database: Database, who: CountSettings) -> None:
        self._database = database
        self._who = who
        self.rule = who.rule

    def counts(self, voter: int) -> bool:
        if self.rule == "everyone":
            return True
        counting = counting_voters(self._who).subquery()
        present = (now() - EPOCH).total_seconds() * 1e6
        mine = select(counting.c.voter).where(
            counting.c.voter == voter, counting.c.until >= int(present)
        )
        with self._database.read() as connection:
            return connection.execute(mine.limit(1)).first() is not None


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
