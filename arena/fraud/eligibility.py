"""Vote eligibility: the voters on the counted board, and the choice of the official board, counted or everyone's.

All votes are stored; eligibility is decided when they are counted.
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
"""One row, written at the first start: the `BoardVoters` of the official board, which the page shows when it opens."""
_OFFICIAL_VOTERS = select(OFFICIAL.c.voters)
MOST_GUESTS = 3
"""How many browsers' votes from before the login count for one person; without a limit an account could bring any
number."""
_EARLIER = ADOPTION.alias("earlier")
_ALWAYS = 2**63 - 1
"""An `until` after all votes: every vote of the voter counts."""
_NEVER = -1
"""An `until` before all votes: none of the voter's counts."""


class CountedVoters(NamedTuple):
    """The voters and seats that count by a rule, in arrays by id.

    The last place of an array is for unknown ids: those of voters and seats that are newer than the array. Seat 0 is
    NO_SEAT.
    """

    until: npt.NDArray[np.int64] | None
    """By voter id, the time in microseconds since 1970 until which votes outside campaigns count; None: all do."""
    seats: npt.NDArray[np.bool_]
    """Whether the votes of a seat count, by its id."""

    def mask(self, votes: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Returns the mask of the votes that count; `votes` were cast in this arena, not imported."""
        seat = values(votes, "seat")
        in_seat = self.seats.take(seat, mode="clip")
        if self.until is None:
            return in_seat  # votes without a seat too: no list rejects place 0, which is NO_SEAT
        until = self.until.take(values(votes, "voter"), mode="clip")
        return np.where(seat == NO_SEAT, values(votes, "voted_at") <= until, in_seat)


def _logged_in_query() -> CompoundSelect:
    """Returns a SELECT of (voter, until) of persons, and of the guests that they were before."""
    always = literal(_ALWAYS, BigInteger).label("until")
    persons = select(PERSON.c.voter_id.label("voter"), always)
    until = type_coerce(ADOPTION.c.until, BigInteger)
    earlier_browsers = select(func.count()).where(
        _EARLIER.c.person == ADOPTION.c.person, _EARLIER.c.until < ADOPTION.c.until
    )
    is_among_first = earlier_browsers.correlate(ADOPTION).scalar_subquery() < MOST_GUESTS
    return union_all(persons, select(ADOPTION.c.guest, until).where(is_among_first))


_LOGGED_IN = _logged_in_query()


def counted_voters(connection: Connection, counted: CountSettings) -> CountedVoters:
    """Returns the voters and seats that count.

    Under "everyone" all voters count, and all seats but those whose worker the platform's list rejects. Under the other
    rules, seats of `counted.campaigns` count once the list confirms their worker, and unless the rule is "campaign",
    logged-in people count, with their votes as guests before the login from up to `MOST_GUESTS` browsers.
    """
    if counted.rule == "everyone":
        is_rejected = SEAT.c.confirmation == "rejected"
        return CountedVoters(until=None, seats=~_seat_mask(connection, is_rejected))
    rows = []
    if counted.rule != "campaign":
        rows = connection.execute(_LOGGED_IN).all()
    until = np.full(max((row.voter for row in rows), default=0) + 2, _NEVER, np.int64)
    for row in rows:
        # A voter has two rows if a guest who was adopted is a person too.
        until[row.voter] = max(until[row.voter], row.until)
    is_confirmed = SEAT.c.confirmation == "confirmed"
    is_of_campaigns = SEAT.c.campaign.in_(counted.campaigns)
    return CountedVoters(until, _seat_mask(connection, is_confirmed & is_of_campaigns))


def _seat_mask(connection: Connection, condition: ColumnElement[bool]) -> npt.NDArray[np.bool_]:
    """Returns whether each seat meets a condition, by its id; the last place, for unknown seats, is False."""
    seats = connection.scalars(select(SEAT.c.id).where(condition)).all()
    mask = np.zeros(max(seats, default=0) + 2, bool)
    mask[list(seats)] = True
    return mask


def eligibility_version(connection: Connection, counted: CountSettings) -> tuple[int, ...]:
    """Returns numbers that change whenever somebody's votes begin or stop counting."""
    # A new row shows in its table's number, a confirmation or rejection in the counter CONFIRMATIONS. On everyone's
    # board new persons and seats count at once, so only the counter matters.
    tables = () if counted.rule == "everyone" else (PERSON, ADOPTION, SEAT)
    numbers = [connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables]
    return (counter(connection, CONFIRMATIONS), *numbers)


class VoteEligibility:
    """The eligibility of new votes outside campaigns."""

    def __init__(self, database: Database, counted: CountSettings) -> None:
        self._database = database
        self.rule = counted.rule

    def does_count(self, voter: int) -> bool:
        """Returns whether the votes that a voter casts now count."""
        if self.rule == "everyone":
            return True
        if self.rule == "campaign":
            return False
        logged_in = _LOGGED_IN.subquery()
        microseconds = (now() - EPOCH).total_seconds() * 1e6
        query = select(logged_in.c.voter).where(
            logged_in.c.voter == voter, logged_in.c.until >= int(microseconds)
        )
        with self._database.read() as connection:
            return connection.execute(query.limit(1)).first() is not None


def official_board(connection: Connection, counted: CountSettings) -> BoardVoters:
    """Returns the voters of the official board, from COUNTS or else from the database."""
    if counted.rule == "everyone":
        return "everyone"
    stored = cast(BoardVoters | None, connection.scalar(_OFFICIAL_VOTERS))
    return counted.official or stored or "everyone"


def make_official(connection: Connection, voters: str) -> bool:
    """Stores the `BoardVoters` of the official board; returns whether they changed."""
    change = update(OFFICIAL).where(OFFICIAL.c.voters != voters).values(voters=voters, since=now())
    result = connection.execute(change)
    return result.rowcount > 0


def choose_first_official(
    database: Database, counted: CountSettings, default_voters: BoardVoters
) -> None:
    """Stores the official board when the server first starts: the board that COUNTS names, else `default_voters`."""
    with database.write() as connection:
        take_turn(connection, OFFICIAL)
        if connection.scalar(select(OFFICIAL.c.id)) is None:
            first = counted.official or default_voters
            connection.execute(insert(OFFICIAL).values(id=1, voters=first, since=now()))
