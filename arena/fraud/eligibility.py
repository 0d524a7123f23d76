"""Vote eligibility: whose votes stand on the counted board, and whether that or everyone's is the official one.

All votes are stored; who counts is decided when they are counted.
"""

from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
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

from arena.battles.tables import CONFIRMATIONS, NO_SEAT, SEAT
from arena.battles.vote_table import values
from arena.battles.voters import ADOPTION, PERSON
from arena.database import EPOCH, METADATA, Database, Moment, counter, now, take_turn
from arena.settings import BoardVoters, CountSettings

OFFICIAL = Table(
    "official_board",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("voters", Text, nullable=False),
    Column("since", Moment, nullable=False),
)
"""One row, written at the first start: the `BoardVoters` of the board that opens first."""
_OFFICIAL_VOTERS = select(OFFICIAL.c.voters)
MOST_GUESTS = 3
"""Browsers of a person whose votes before a login count: more would let one account bring in any number of cookies."""
_EARLIER = ADOPTION.alias("earlier")
_NTH = select(func.count()).where(
    _EARLIER.c.person == ADOPTION.c.person, _EARLIER.c.until < ADOPTION.c.until
)


_ALWAYS = 2**63 - 1
_NEVER = -1


class CountedVotes(NamedTuple):
    """Whose votes count by a rule; the last place of an array is for voters and seats that are not known yet."""

    until: npt.NDArray[np.int64] | None
    """By the voter's id: until when the votes cast outside campaigns count, in microseconds; None: they all do."""
    seats: npt.NDArray[np.bool_]
    """By the seat's id: whether the votes cast in it count."""

    def mask(self, votes: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Returns which of the votes cast here count."""
        seat = values(votes, "seat")
        in_seat = self.seats.take(seat, mode="clip")
        if self.until is None:
            return in_seat
        until = self.until.take(values(votes, "voter"), mode="clip")
        return np.where(seat == NO_SEAT, values(votes, "voted_at") <= until, in_seat)


def counted_votes(connection: Connection, who: CountSettings) -> CountedVotes:
    """Returns whose votes count.

    Of a person who logged in, the votes as a guest before the login count too, of `MOST_GUESTS` browsers. A seat that a
    platform's worker took counts once the platform's list confirms that worker, and nowhere if the list rejects it.
    """
    if who.rule == "everyone":
        return CountedVotes(None, _seats(connection, SEAT.c.confirmation == "rejected", False))
    rows = connection.execute(_LOGGED_IN).all() if who.rule != "campaign" else []
    until = np.full(max((row.voter for row in rows), default=0) + 2, _NEVER, np.int64)
    for row in rows:
        until[row.voter] = max(until[row.voter], row.until)
    is_confirmed = SEAT.c.confirmation == "confirmed"
    return CountedVotes(
        until, _seats(connection, is_confirmed & SEAT.c.campaign.in_(who.campaigns), True)
    )


def _seats(
    connection: Connection, these: ColumnElement[bool], count: bool
) -> npt.NDArray[np.bool_]:
    """Returns whether each seat counts: as `count` says for these, otherwise for all others."""
    found = connection.scalars(select(SEAT.c.id).where(these)).all()
    counts = np.full(max(found, default=0) + 2, not count)
    counts[list(found)] = count
    return counts


def _logged_in() -> CompoundSelect:
    """A SELECT of (voter, until) of persons, and of the guests that they were."""
    always = literal(_ALWAYS, BigInteger).label("until")
    persons = select(PERSON.c.voter_id.label("voter"), always)
    until = type_coerce(ADOPTION.c.until, BigInteger)
    is_among_first = _NTH.correlate(ADOPTION).scalar_subquery() < MOST_GUESTS
    return union_all(persons, select(ADOPTION.c.guest, until).where(is_among_first))


_LOGGED_IN = _logged_in()


def eligibility_version(connection: Connection, who: CountSettings) -> tuple[int, ...]:
    """Returns numbers that change whenever somebody's votes begin or cease to count."""
    tables = () if who.rule == "everyone" else (PERSON, ADOPTION, SEAT)
    numbers = [connection.scalar(select(func.count()).select_from(one)) or 0 for one in tables]
    return (counter(connection, CONFIRMATIONS), *numbers)


class VoteEligibility:
    """Whether the new votes of a voter outside campaigns count."""

    def __init__(self, database: Database, who: CountSettings) -> None:
        self._database = database
        self._who = who
        self.rule = who.rule

    def counts(self, voter: int) -> bool:
        if self.rule in ("everyone", "campaign"):
            return self.rule == "everyone"
        counting = _LOGGED_IN.subquery()
        present = (now() - EPOCH).total_seconds() * 1e6
        mine = select(counting.c.voter).where(
            counting.c.voter == voter, counting.c.until >= int(present)
        )
        with self._database.read() as connection:
            return connection.execute(mine.limit(1)).first() is not None


def official_board(connection: Connection, who: CountSettings) -> BoardVoters:
    """Returns whose votes stand on the board that opens first: by COUNTS, else as the database says."""
    if who.rule == "everyone":
        return "everyone"
    stored = cast(BoardVoters | None, connection.scalar(_OFFICIAL_VOTERS))
    return who.official or stored or "everyone"


def make_official(connection: Connection, voters: str) -> bool:
    """Stores the `BoardVoters` of the board that opens first; returns whether that changed anything."""
    changed = update(OFFICIAL).where(OFFICIAL.c.voters != voters).values(voters=voters, since=now())
    return connection.execute(changed).rowcount > 0


def settle_official(database: Database, who: CountSettings, on_new: BoardVoters) -> None:
    """Stores at the first start which board opens first: the one that COUNTS names, else `on_new`."""
    with database.write() as connection:
        take_turn(connection, OFFICIAL)
        if connection.scalar(select(OFFICIAL.c.id)) is None:
            first = who.official or on_new
            connection.execute(insert(OFFICIAL).values(id=1, voters=first, since=now()))
