"""Unsigned links: seats of workers who open `?campaign=&worker=&n=`, give n votes and get a completion code.

Anyone may edit such a link, so that campaigns that are paid have signed ones (see `seats`); these go on. A campaign
collects N distinct voters for each (item, pair), as VisIT-Bench collected five (section 4.2). A worker's link belongs
to the first browser that opens it.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import Connection, Row, func, select

from arena.battles.quotas import NetworkDays
from arena.battles.store import Seen
from arena.battles.tables import BANK, BATTLE, CHOSEN, SEAT, SKIPPED, VOTE
from arena.battles.voters import lock, selves
from arena.database import Database, now
from arena.errors import VoterError

PENDING = timedelta(hours=1)
"""How long a served battle without a choice holds its place."""
MOST_VOTES = 1000
MOST_OF_VOTER = 3
"""Most campaigns that a voter may begin in a day: each draws a battle anew, so that more would let him choose pairs."""
MOST_OF_NETWORK = 200
"""Most seats that a network may take in a day: workers of a class share one."""
_NAME = re.compile(r"[\w.@:+-]{1,64}")


class UnsignedLinkError(VoterError):
    """A campaign link with a mistake; says which."""


@dataclass(frozen=True)
class UnsignedSeat:
    """A worker's place in a campaign."""

    id: int
    campaign: str
    wanted: int
    code: str


class Collected(NamedTuple):
    """A campaign's (item, pair)s: those begun, the fullest first, and those that have all their voters."""

    begun: tuple[Seen, ...] = ()
    full: frozenset[Seen] = frozenset()


_OF_SEAT = (BATTLE.c.id == VOTE.c.battle_id, BATTLE.c.seat_id == SEAT.c.id)
_VOTES = (
    BANK.counted_votes(func.count())
    .where(*_OF_SEAT)
    .correlate(SEAT)
    .scalar_subquery()
    .label("votes")
)


class UnsignedLinks:
    """Seats of workers, and what each campaign has collected; `voters_per_pair` is N.

    `is_signed` tells the campaigns that only signed links open.
    """

    def __init__(
        self,
        database: Database,
        voters_per_pair: int,
        is_signed: Callable[[str], bool] = lambda campaign: False,
    ) -> None:
        self._database = database
        self._is_signed = is_signed
        self._voters_per_pair = voters_per_pair
        self._days = NetworkDays(database)

    def seat(
        self, voter: int, campaign: str, worker: str, wanted: str, network: str | None = None
    ) -> UnsignedSeat:
        """The voter's seat under a link, created at the first visit. Raises UnsignedLinkError."""
        if not (_NAME.fullmatch(campaign) and _NAME.fullmatch(worker)):
            raise UnsignedLinkError(
                "The link must hold worker= and campaign=, each of 1 to 64 letters, digits or . @ : + - _"
            )
        if self._is_signed(campaign):
            raise UnsignedLinkError(
                "This campaign has links of its own. Open the one that you were sent."
            )
        if not (
            wanted.isascii()
            and wanted.isdigit()
            and len(wanted) <= 4
            and 1 <= int(wanted) <= MOST_VOTES
        ):
            raise UnsignedLinkError(
                "The link must hold n=, a whole number from 1 to {}", MOST_VOTES
            )
        values = {"campaign": campaign, "worker": worker, "voter_id": voter, "wanted": int(wanted)}
        values |= {"code": secrets.token_hex(5).upper(), "since": now()}
        taken = (SEAT.c.campaign == campaign) & (
            (SEAT.c.worker == worker) | (SEAT.c.voter_id == voter)
        )
        with self._database.write() as connection:
            lock(connection, voter)
            seats = connection.execute(select(SEAT).where(taken)).all()
            if not seats:
                self._count(connection, voter, network)
                connection.execute(
                    self._database.insert(SEAT).values(values).on_conflict_do_nothing()
                )
                seats = connection.execute(select(SEAT).where(taken)).all()
        if len(seats) != 1 or seats[0].voter_id != voter or seats[0].worker != worker:
            raise UnsignedLinkError(
                "This link was opened in another browser, or this browser works under another link of the campaign. "
                "Go on where you began."
            )
        return UnsignedSeat(seats[0].id, campaign, seats[0].wanted, seats[0].code)

    def _count(self, connection: Connection, voter: int, network: str | None) -> None:
        """Count one more seat of a voter, who is locked, and of a network. Raises UnsignedLinkError."""
        today = now().replace(hour=0, minute=0, second=0, microsecond=0)
        begun = select(func.count()).where(
            SEAT.c.voter_id.in_(selves(voter)), SEAT.c.since >= today
        )
        if connection.execute(begun).scalar_one() >= MOST_OF_VOTER:
            raise UnsignedLinkError(
                "You have begun {} campaigns today, the most for one person. Go on under a link that you opened "
                "before, or come again tomorrow.",
                MOST_OF_VOTER,
            )
        if network and self._days.more(connection, network, "seats") > MOST_OF_NETWORK:
            raise UnsignedLinkError(
                "Your network has opened {} campaign links today, the most for one network. Go on under a link that "
                "you opened before, or come again tomorrow.",
                MOST_OF_NETWORK,
            )

    def progress(self, seat: int) -> Row:
        """The `votes` under a seat, and how many are `wanted`."""
        with self._database.read() as connection:
            return connection.execute(select(_VOTES, SEAT.c.wanted).where(SEAT.c.id == seat)).one()

    def collected(self, seat: UnsignedSeat) -> Collected:
        """What the seat's campaign has: a voter counts after choosing, and for PENDING after being served."""
        holds = CHOSEN | (~SKIPPED & (BATTLE.c.served_at > now() - PENDING))
        key = (BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
        query = (
            select(*key, func.count().label("voters"))
            .join(SEAT, SEAT.c.id == BATTLE.c.seat_id)
            .where(SEAT.c.campaign == seat.campaign, holds)
            .group_by(*key)
            .order_by(func.count().desc())
        )
        with self._database.read() as connection:
            rows = [(Seen(*row[:3]), row.voters) for row in connection.execute(query)]
        begun = tuple(seen for seen, voters in rows if voters < self._voters_per_pair)
        return Collected(
            begun, frozenset(seen for seen, voters in rows if voters >= self._voters_per_pair)
        )

    def report(self, campaign: str) -> Sequence[Row]:
        """The seats of a campaign in order of arrival, each with its votes."""
        query = select(SEAT, _VOTES).where(SEAT.c.campaign == campaign).order_by(SEAT.c.id)
        with self._database.read() as connection:
            return connection.execute(query).all()
