"""Quotas: daily limits (UTC) on the battles of a voter and of a network.

A battle over the limit is refused before anybody reads its answers. A skipped battle of stored answers does not count
for the voter; a live battle always does. Battles of a seat have the limits of its campaign instead.

Networks are stored as codes: codes of counts are deleted each day, with their key; codes of voters stay, but their key
is deleted each month."""

import hmac
import secrets
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Column, Connection, Integer, Table, Text, bindparam, delete, func, select

from arena.battles.tables import BATTLE, IS_LIVE, IS_SKIPPED, VOTER_NETWORK
from arena.battles.voters import lock, selves
from arena.database import METADATA, Database, Moment, now
from arena.errors import VoterError
from arena.items.store import model_names
from arena.network import client_address, public_network
from arena.settings import VoteLimits

NETWORK_KEY = Table(
    "network_key",
    METADATA,
    Column("day", Text, primary_key=True),
    Column("key", Text, nullable=False),
)
"""`day`: 2026-11-24, or 2026-11 for the codes of voters."""
NETWORK_DAY = Table(
    "network_day",
    METADATA,
    Column("network", Text, primary_key=True),
    Column("day", Text, nullable=False),
    Column("dealt", Integer, nullable=False),
)
"""A network's counts of a day (battles, reports, quotes, seats, images), under another code for each kind."""
Kind = Literal["battles", "images", "reports", "quotes", "seats", "money", "voters"]
"""The purpose of a network's code. Nothing is counted under the codes for "money" and "voters"."""

_KEY = select(NETWORK_KEY.c.key).where(NETWORK_KEY.c.day == bindparam("day"))
_SELVES = selves(bindparam("voter", type_=Integer))
_SINCE = bindparam("since", type_=Moment)
_SERVED_TODAY = select(func.count()).where(
    BATTLE.c.voter_id.in_(_SELVES), BATTLE.c.began_at >= _SINCE, IS_LIVE | ~IS_SKIPPED
)
"""The number of battles served to a voter since a time, without skipped ones of stored answers.

Built once, since building costs more than running.
"""
LIMITS = VoteLimits()
"""The default limits."""


class LimitError(VoterError):
    """A limit of votes is reached; the message says which, and when there are more."""


class NetworkDays:
    """Daily (UTC) counts by network."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert_voter = database.insert(VOTER_NETWORK).on_conflict_do_nothing()
        self._add_one = (
            database.insert(NETWORK_DAY)
            .on_conflict_do_update(
                index_elements=["network"], set_={"dealt": NETWORK_DAY.c.dealt + 1}
            )
            .returning(NETWORK_DAY.c.dealt)
        )

    def count_one(
        self, connection: Connection, network: str, kind: Kind, campaign: str = ""
    ) -> int:
        """Adds one to the network's count and returns today's count; a named campaign has a count of its own."""
        counted = f"{campaign} {network}" if campaign else network
        values = {
            "network": self.code(connection, counted, kind),
            "day": f"{now():%Y-%m-%d}",
            "dealt": 1,
        }
        return connection.execute(self._add_one, values).scalar_one()

    def note(self, connection: Connection, network: str, voter: int) -> None:
        """Stores that a voter came from a network, since votes of one network are tested together."""
        values = {"voter_id": voter, "network": self.code(connection, network, "voters")}
        connection.execute(self._insert_voter, values)

    def code(self, connection: Connection, network: str, kind: Kind) -> str:
        """Returns the network's code of today, another one for each kind; the code for voters lasts a month.

        The first code of a day or month makes a new key, and deletes the counts and keys that are over.
        """
        day = f"{now():%Y-%m}" if kind == "voters" else f"{now():%Y-%m-%d}"
        secret = connection.scalar(_KEY, {"day": day})  # the same on every server
        if secret is None:
            self.forget(connection)
            values = {"day": day, "key": secrets.token_hex(32)}
            connection.execute(
                self._database.insert(NETWORK_KEY).values(values).on_conflict_do_nothing()
            )
            secret = connection.execute(_KEY, {"day": day}).scalar_one()
        return hmac.digest(bytes.fromhex(secret), f"{kind} {network}".encode(), "sha256").hex()

    def forget(self, connection: Connection) -> None:
        """Deletes the counts of earlier days, and the keys of earlier days and months."""
        today = f"{now():%Y-%m-%d}"
        month = today[:7]
        connection.execute(delete(NETWORK_DAY).where(NETWORK_DAY.c.day < today))
        # As text this month comes before all of its days, and stays.
        is_over = (NETWORK_KEY.c.day < today) & (NETWORK_KEY.c.day != month)
        connection.execute(delete(NETWORK_KEY).where(is_over))


class Quotas:
    """Counts of served battles, kept in the transaction that serves them."""

    def __init__(self, database: Database, limits: VoteLimits) -> None:
        self._database = database
        self._limits = limits
        self._days = NetworkDays(database)

    def count_battle(self, connection: Connection, voter: int, network: str | None) -> None:
        """Checks a voter's limit, counts a battle for the network, and stores that the voter came from there.

        The caller has locked the voter. Raises LimitError.
        """
        self.check_voter(connection, voter)
        if network is not None:
            battles = self._days.count_one(connection, network, "battles")
            if battles > self._limits.network_day:
                raise LimitError(
                    "Your network has used up today's battles. There are more after midnight (UTC)."
                )
        self.note_network(connection, voter, network)

    def note_network(self, connection: Connection, voter: int, network: str | None) -> None:
        """Stores that a voter came from a network, without counting a battle."""
        if network is not None:
            self._days.note(connection, network, voter)

    def check_voter(self, connection: Connection, voter: int) -> None:
        """Raises LimitError if a voter has had today's battles."""
        today = now().replace(hour=0, minute=0, second=0, microsecond=0)
        values = {"voter": voter, "since": today}
        if connection.execute(_SERVED_TODAY, values).scalar_one() >= self._limits.voter_day:
            raise LimitError(
                "That was your last battle today: each voter gets {} a day. Thank you! "
                "There are more after midnight (UTC).",
                self._limits.voter_day,
            )

    def count_live_battle(
        self, connection: Connection, voter: int, item: int | None, network: str | None
    ) -> None:
        """Counts a live battle, about an item of the bank or own images. Raises LimitError."""
        lock(connection, voter)
        self.count_battle(connection, voter, network)
        if item is None:
            return
        on_item = select(func.count()).where(
            BATTLE.c.voter_id.in_(selves(voter)), IS_LIVE, BATTLE.c.item_id == item
        )
        if connection.execute(on_item).scalar_one() >= self._limits.voter_item:
            raise LimitError(
                "You've had all the battles on this item that one voter can have. Choose "
                "another item."
            )

    def exhausted_live_pairs(self, voter: int) -> frozenset[frozenset[str]]:
        """Returns the pairs of models, by name, that a voter has had in live battles as often as allowed."""
        query = select(BATTLE.c.model_a, BATTLE.c.model_b).where(
            BATTLE.c.voter_id.in_(selves(voter)), IS_LIVE, BATTLE.c.model_a.is_not(None)
        )
        with self._database.read() as connection:
            names = model_names(connection)
            rows = connection.execute(query)
            battles = Counter(frozenset((names[a], names[b])) for a, b in rows)
        return frozenset(
            pair for pair, number in battles.items() if number >= self._limits.voter_pair
        )

    def forget_networks(self) -> None:
        with self._database.write() as connection:
            self._days.forget(connection)


@dataclass(frozen=True)
class Networks:
    """The public network of a request that passes `hops` proxies of our own."""

    hops: int = 0

    def of(self, request: Any) -> str | None:
        """Returns the network of a Starlette or Gradio request; None for a private address, which identifies none."""
        peer = request.client.host if request.client else ""
        return public_network(
            client_address(peer, request.headers.getlist("x-forwarded-for"), self.hops)
        )
