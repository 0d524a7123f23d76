"""Limits of reports on secret texts: many scores of almost the same answers would reveal them item by item.

A day's limit slows this down. Hidden right answers have a limit for good too: two reports that differ in one answer
tell whether it is right. A report has at most log2(n + 1) bits on a group of n answers, so that one person learns
`MOST_EVER` times as much at most.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    Text,
    delete,
    func,
    select,
    update,
)

from arena.database import METADATA, Database, Moment, now

SECRET_REPORT = Table(
    "secret_report",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("owner", Text, nullable=False, index=True),
    Column("network", Text),
    Column("benchmark", Text, nullable=False),
    Column("at", Moment, nullable=False),
)
"""Reports of each kind that were begun, also those deleted since. `benchmark`: the name, for hidden answers; else "".

No copy and no export has this table. A forgotten owner's rows become nobody's. The next day all rows go, but for those
on hidden answers, which lose their network.
"""
SecretKind = Literal["sealed", "hidden"]
_WORDS: Mapping[SecretKind, str] = {
    "sealed": "reports on sealed items",
    "hidden": "reports on hidden answers",
}
MOST_OF_OWNER = 5
"""Reports of an owner, of a kind and a day (UTC)."""
MOST_OF_NETWORK = 20
"""Reports of a network, of a kind and a day (UTC)."""
MOST_EVER = 10
"""Reports of an owner on the hidden answers of one benchmark, for good."""


class SecretDays:
    """The counts of secret reports of one kind in one database."""

    def __init__(self, database: Database, kind: SecretKind) -> None:
        self._database = database
        self._kind: SecretKind = kind

    def allowance(self, owner: str, benchmark: str = "") -> str:
        """Returns a sentence with the number of reports that an owner may still begin.

        `benchmark` is the name of one with hidden answers.
        """
        with self._database.read() as connection:
            today = self._count_begun_today(connection, SECRET_REPORT.c.owner == owner)
            ever = self._count_begun(connection, _on_benchmark(owner, benchmark))
        words = _WORDS[self._kind]
        left = max(0, MOST_OF_OWNER - today)
        if self._kind != "hidden":
            return f"Left for you today: {left} of {MOST_OF_OWNER} {words}."
        left_ever = max(0, MOST_EVER - ever)
        return (
            f"Left for you today: {left} of {MOST_OF_OWNER} {words}. "
            f"On {benchmark} in all: {left_ever} of {MOST_EVER}."
        )

    def begin(
        self, connection: Connection, owner: str, network: str | None, benchmark: str = ""
    ) -> str:
        """Counts a report and returns "", or returns why it may not begin. The caller has taken its turn at `job`.

        `network` is the network's code of today, `benchmark` the name of one with hidden answers.
        """
        words = _WORDS[self._kind]
        ever = self._count_begun(connection, _on_benchmark(owner, benchmark))
        if self._kind == "hidden" and ever >= MOST_EVER:
            return (
                f"You have used your {MOST_EVER} {words} of {benchmark}. More would give single answers away, so there "
                "are no others."
            )
        if self._count_begun_today(connection, SECRET_REPORT.c.owner == owner) >= MOST_OF_OWNER:
            return (
                f"You have used your {MOST_OF_OWNER} {words} for today. Come back tomorrow (UTC)."
            )
        of_network = SECRET_REPORT.c.network == network
        if network and self._count_begun_today(connection, of_network) >= MOST_OF_NETWORK:
            most = f"{MOST_OF_NETWORK} {words}"
            return f"Your network has used its {most} for today. Come back tomorrow (UTC)."
        values = {
            "kind": self._kind,
            "owner": owner,
            "network": network,
            "benchmark": benchmark,
            "at": now(),
        }
        connection.execute(self._database.insert(SECRET_REPORT).values(values))
        return ""

    def _count_begun_today(self, connection: Connection, condition: ColumnElement[bool]) -> int:
        return self._count_begun(connection, condition & (SECRET_REPORT.c.at >= _today()))

    def _count_begun(self, connection: Connection, condition: ColumnElement[bool]) -> int:
        count = select(func.count()).select_from(SECRET_REPORT)
        is_of_kind = SECRET_REPORT.c.kind == self._kind
        return connection.execute(count.where(condition, is_of_kind)).scalar_one()


def _on_benchmark(owner: str, benchmark: str) -> ColumnElement[bool]:
    return (SECRET_REPORT.c.owner == owner) & (SECRET_REPORT.c.benchmark == benchmark)


def forget_days(connection: Connection) -> None:
    """Deletes what is known of earlier days, but for the number of reports on hidden answers."""
    is_over = SECRET_REPORT.c.at < _today()
    is_hidden = SECRET_REPORT.c.kind == "hidden"
    connection.execute(delete(SECRET_REPORT).where(is_over, ~is_hidden))
    has_network = SECRET_REPORT.c.network.is_not(None)
    without_network = update(SECRET_REPORT).values(network=None)
    connection.execute(without_network.where(is_over, is_hidden, has_network))


def _today() -> datetime:
    return now().replace(hour=0, minute=0, second=0, microsecond=0)
