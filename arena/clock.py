"""Database clock: timestamps and change numbers that never go back, even when the system clock does.

Servers that share a database share its clock. When the system clock is set back, the database clock continues from the
last stored time. Readers use that stored time: it never falls, and it stands still while a transaction holds it
(`hold_clock`), so that no vote becomes public while its undo is under way.
"""

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    Table,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from arena.database import EPOCH, METADATA, Database, DatabaseError

CLOCK = Table(
    "clock",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("seen", BigInteger, nullable=False),
    Column("ahead", BigInteger, nullable=False),
)
"""One row, in microseconds: the last stored time, and how far this clock is ahead of the system clock."""
SECOND = 1_000_000
UNDO_SECONDS = 3
"""How long a choice can be undone."""
UNDO_GRACE_SECONDS = 2
"""Allowance for the network on top of it."""
FINAL_SECONDS = UNDO_SECONDS + UNDO_GRACE_SECONDS + 2
"""Age at which a choice is final."""

log = logging.getLogger(__name__)


@event.listens_for(CLOCK, "after_create")
def _start(_table: Table, connection: Connection, **_options: Any) -> None:
    # Late enough that a vote without a tick (from a restored copy) is final.
    connection.execute(insert(CLOCK).values(id=1, seen=FINAL_SECONDS * SECOND, ahead=0))


class MachineTime(FunctionElement):
    """The system clock of the database's machine, in SQL."""

    type = BigInteger()
    inherit_cache = True


class ChangeNumber(FunctionElement):
    """The number of a change, in SQL: never below an earlier change's. Takes the highest id of the changing rows."""

    type = BigInteger()
    inherit_cache = True


class ChangesSeen(FunctionElement):
    """The first change number that this transaction may not see, in SQL. Takes the same argument as `ChangeNumber`."""

    type = BigInteger()
    inherit_cache = True


# SQLite has one writer at a time, so that an id numbers a change; PostgreSQL uses its transaction ids.
_POSTGRESQL = {
    MachineTime: "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
    ChangeNumber: "CAST(CAST(pg_current_xact_id() AS text) AS bigint)",
    ChangesSeen: "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)",
}
for _function, _sql in _POSTGRESQL.items():
    compiles(_function, "postgresql")(lambda element, compiler, _sql=_sql, **_: _sql)
# defined in `database.py`
compiles(MachineTime, "sqlite")(lambda element, compiler, **_: "machine_time()")
for _function in (ChangeNumber, ChangesSeen):
    compiles(_function, "sqlite")(
        lambda element, compiler, **more: compiler.process(element.clauses, **more)
    )

LAST_OPEN = select(CLOCK.c.seen - FINAL_SECONDS * SECOND).scalar_subquery()
"""In SQL, the tick after which a choice can still be undone."""
_CLOCK = select(CLOCK.c.id)
_READING = select(MachineTime().label("machine"), CLOCK.c.seen, CLOCK.c.ahead)


def tick(connection: Connection) -> int:
    """Return the database time in a writing transaction; where the system clock was set back, move ahead of it."""
    row = connection.execute(_READING).one()
    present = row.machine + row.ahead
    if present < row.seen:
        log.warning("the machine's clock was set back by %.1f s", (row.seen - present) / SECOND)
        ours = update(CLOCK).where(CLOCK.c.ahead == row.ahead)  # another server may have been first
        connection.execute(ours.values(ahead=CLOCK.c.ahead + row.seen - present))
        return row.seen
    if present - row.seen > SECOND:
        connection.execute(
            update(CLOCK).where(CLOCK.c.seen < present - SECOND).values(seen=present)
        )
    return present


def present(connection: Connection) -> datetime:
    """Return the database time of `tick`: the same for all servers of one database, however their clocks differ."""
    return EPOCH + timedelta(microseconds=tick(connection))


def hold_clock(connection: Connection) -> int:
    """Return the time as `tick` does, and keep the stored time still until this transaction ends."""
    connection.execute(_CLOCK.with_for_update())  # SQLite has one writer at a time anyway
    return tick(connection)


def keep_time(database: Database, *votes: Table) -> None:
    """Advance the stored time before these tables' votes are read, if any vote is waiting to become final."""
    with database.read() as connection:
        row = connection.execute(_READING).one()
        last = max(connection.scalar(select(func.max(table.c.tick))) or 0 for table in votes)
    late = row.machine + row.ahead - row.seen
    waits = (late > SECOND or late < 0) and last > row.seen - FINAL_SECONDS * SECOND
    if waits and not database.is_writing:
        # Where the database is locked or read-only, readers use the stored time as it is.
        with suppress(DatabaseError), database.write() as connection:
            if connection.execute(_CLOCK.with_for_update(skip_locked=True)).first():
                tick(connection)
