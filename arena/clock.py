"""The database's clock and its numbers of changes: both go on when the machine's clock is set back.

Where several servers share a database, they share its clock. When the machine's clock is found to be set back, the
database's goes on from the last time that it is known to have shown.
"""

import logging
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, event, insert, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from arena.database import METADATA

CLOCK = Table(
    "clock",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("seen", BigInteger, nullable=False),
    Column("ahead", BigInteger, nullable=False),
)
"""One row, in microseconds: about the last time that was told, and how far the clock is ahead of the machine's."""
SECOND = 1_000_000

log = logging.getLogger(__name__)


@event.listens_for(CLOCK, "after_create")
def _start(_table: Table, connection: Connection, **_options: Any) -> None:
    connection.execute(insert(CLOCK).values(id=1, seen=0, ahead=0))


class MachineTime(FunctionElement):
    """What the clock of the database's machine shows, in SQL."""

    type = BigInteger()
    inherit_cache = True


class TransactionTime(FunctionElement):
    """What the clock of the database's machine showed before this transaction saw anything, in SQL."""

    type = BigInteger()
    inherit_cache = True


class ChangeNumber(FunctionElement):
    """The number of a change, in SQL: never below that of an earlier one. Takes the highest id of the rows that change.

    SQLite has one writer at a time, so that this id will do; PostgreSQL numbers its transactions.
    """

    type = BigInteger()
    inherit_cache = True


class ChangesSeen(FunctionElement):
    """The number from which on changes may be unknown to this transaction, in SQL. Takes what `ChangeNumber` takes."""

    type = BigInteger()
    inherit_cache = True


_POSTGRESQL = {
    MachineTime: "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
    TransactionTime: "CAST(extract(epoch FROM transaction_timestamp()) * 1000000 AS bigint)",
    ChangeNumber: "CAST(CAST(pg_current_xact_id() AS text) AS bigint)",
    ChangesSeen: "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)",
}
for _function, _sql in _POSTGRESQL.items():
    compiles(_function, "postgresql")(lambda element, compiler, _sql=_sql, **_: _sql)
for _function, _sql in {MachineTime: "machine_time()", TransactionTime: "transaction_time()"}.items():
    compiles(_function, "sqlite")(lambda element, compiler, _sql=_sql, **_: _sql)  # functions made in `database.py`
for _function in (ChangeNumber, ChangesSeen):
    compiles(_function, "sqlite")(lambda element, compiler, **more: compiler.process(element.clauses, **more))

NOW = TransactionTime() + select(CLOCK.c.ahead).scalar_subquery()
"""The database's time at which a transaction began, in SQL."""
_READING = select(MachineTime().label("machine"), CLOCK.c.seen, CLOCK.c.ahead)
_SET_BACK = select(CLOCK.c.seen > NOW)


def tick(connection: Connection) -> int:
    """Return the database's time in a writing transaction, and put it ahead of a machine's clock that was set back."""
    row = connection.execute(_READING).one()
    present = row.machine + row.ahead
    if present < row.seen:
        log.warning("the machine's clock was set back by %.1f s", (row.seen - present) / SECOND)
        ours = update(CLOCK).where(CLOCK.c.ahead == row.ahead)  # another server may have been first
        connection.execute(ours.values(ahead=CLOCK.c.ahead + row.seen - present))
        return row.seen
    if present - row.seen > SECOND:
        connection.execute(update(CLOCK).where(CLOCK.c.seen < present - SECOND).values(seen=present))
    return present


def is_set_back(connection: Connection) -> bool:
    """Tell whether the machine's clock was set back and no `tick` has put that right yet."""
    return bool(connection.scalar(_SET_BACK))

