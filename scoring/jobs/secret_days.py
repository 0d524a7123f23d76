"""Daily limits of reports on secret texts: many scores of almost the same answers would reveal them item by item."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from sqlalchemy import Column, ColumnElement, Connection, Integer, Table, Text, delete, func, select

from arena.database import METADATA, Database, Moment, now

SECRET_REPORT = Table(
    "secret_report",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("owner", Text, nullable=False, index=True),
    Column("network", Text),
    Column("at", Moment, nullable=False),
)
"""Reports of each kind that were begun today, deleted ones too. No copy and no export has it. A forgotten owner's rows
become nobody's, and all rows go the next day."""
SecretKind = Literal["sealed", "hidden"]
_WORDS: Mapping[SecretKind, str] = {
    "sealed": "reports on sealed items",
    "hidden": "reports on hidden answers",
}
MOST_OF_OWNER = 5
MOST_OF_NETWORK = 20
"""Reports of an owner, and of a network, of a kind and a day (UTC)."""


class SecretDays:
    """The counts of one kind in one database."""

    def __init__(self, database: Database, kind: SecretKind) -> None:
        self._database = database
        self._kind: SecretKind = kind

    def allowance(self, owner: str) -> str:
        """Returns a sentence with the number of reports that an owner may still begin today."""
        with self._database.read() as connection:
            begun = self._begun(connection, SECRET_REPORT.c.owner == owner)
        words = _WORDS[self._kind].capitalize()
        return f"{words} left for you today: {max(0, MOST_OF_OWNER - begun)} of {MOST_OF_OWNER}"

    def begin(self, connection: Connection, owner: str, network: str | None) -> str:
        """Counts one more report. Returns why it may not begin, "" if it may. The caller has the turn.

        `network` is the network's code of today.
        """
        words = _WORDS[self._kind]
        if self._begun(connection, SECRET_REPORT.c.owner == owner) >= MOST_OF_OWNER:
            return f"You have had your {MOST_OF_OWNER} {words} for today; come back tomorrow (UTC)"
        of_network = SECRET_REPORT.c.network == network
        if network and self._begun(connection, of_network) >= MOST_OF_NETWORK:
            most = f"{MOST_OF_NETWORK} {words}"
            return f"Your network has had its {most} for today; come back tomorrow (UTC)"
        values = {"kind": self._kind, "owner": owner, "network": network, "at": now()}
        connection.execute(self._database.insert(SECRET_REPORT).values(values))
        return ""

    def _begun(self, connection: Connection, condition: ColumnElement[bool]) -> int:
        counted = select(func.count()).select_from(SECRET_REPORT)
        today = (SECRET_REPORT.c.kind == self._kind) & (SECRET_REPORT.c.at >= _today())
        return connection.execute(counted.where(condition, today)).scalar_one()


def forget_days(connection: Connection) -> None:
    """Deletes the counts of earlier days."""
    connection.execute(delete(SECRET_REPORT).where(SECRET_REPORT.c.at < _today()))


def _today() -> datetime:
    return now().replace(hour=0, minute=0, second=0, microsecond=0)
