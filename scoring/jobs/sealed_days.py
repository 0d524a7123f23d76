"""Reports on sealed items a day: many scores of almost the same answers would tell what is sealed."""

from datetime import datetime

from sqlalchemy import Column, ColumnElement, Connection, Integer, Table, Text, delete, func, select

from arena.database import METADATA, Database, Moment, now

SEALED_START = Table(
    "sealed_start",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("network", Text),
    Column("at", Moment, nullable=False),
)
"""Reports on sealed items that were begun today, deleted ones too. In no copy and no export; who is forgotten is
nobody in it, and it goes the next day."""
MOST_OF_OWNER = 5
MOST_OF_NETWORK = 20
"""Reports of an owner, and of a network, a day (UTC)."""


class SealedDays:
    """The counts of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def left(self, owner: str) -> int:
        """Return how many more reports an owner may begin today."""
        with self._database.read() as connection:
            return max(0, MOST_OF_OWNER - _begun(connection, SEALED_START.c.owner == owner))

    def begin(self, connection: Connection, owner: str, network: str | None) -> str:
        """Count one more report; return why it may not begin, "" if it may. The caller has the turn."""
        if _begun(connection, SEALED_START.c.owner == owner) >= MOST_OF_OWNER:
            return f"You have had your {MOST_OF_OWNER} reports on sealed items for today; come back tomorrow (UTC)"
        of_network = SEALED_START.c.network == network
        if network and _begun(connection, of_network) >= MOST_OF_NETWORK:
            return (
                f"Your network has had its {MOST_OF_NETWORK} reports on sealed items for today; "
                "come back tomorrow (UTC)"
            )
        values = {"owner": owner, "network": network, "at": now()}
        connection.execute(self._database.insert(SEALED_START).values(values))
        return ""

    def forget(self, connection: Connection) -> None:
        """Delete the counts of the days before."""
        connection.execute(delete(SEALED_START).where(SEALED_START.c.at < _today()))


def _today() -> datetime:
    return now().replace(hour=0, minute=0, second=0, microsecond=0)


def _begun(connection: Connection, whose: ColumnElement[bool]) -> int:
    counted = select(func.count()).select_from(SEALED_START)
    return connection.execute(counted.where(whose, SEALED_START.c.at >= _today())).scalar_one()
