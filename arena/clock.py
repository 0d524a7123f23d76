"""The database's clock and its numbers of changes: both go on when the machine's clock is set back.

Where several servers share a database, they share its clock. When the machine's clock is found to be set back, the
database's goes on from the last time that was stored. What readers go by is that stored time: it never falls, and it
stands still while somebody holds it (`hold_clock`), so that nothing becomes public under an undo that is on its way.
"""

import logging
from contextlib import suppress
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, event, func, insert, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from arena.database import METADATA, Database, DatabaseError

CLOCK = Table(
    "clock",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("seen", BigInteger, nullable=False),
    Column("ahead", BigInteger, nullable=False),
)
"""One row, in microseconds: the last time that was stored, and how far the clock is ahead of the machine's."""
SECOND = 1_000_000
UNDO_SECONDS = 3
"""How long a choice can be taken back."""
UNDO_GRACE_SECONDS = 2
"""What the network may take on top of it."""
FINAL_SECONDS = UNDO_SECONDS + UNDO_GRACE_SECONDS + 2
"""After so long a choice is final."""

log = logging.getLogger(__name__)


@event.listens_for(CLOCK, "after_create")
def _start(_table: Table, connection: Connection, **_options: Any) -> None:
    # Late enough for a vote without a tick, of an older schema or from a copy, to be final.
    connection.execute(insert(CLOCK).values(id=1, seen=FINAL_SECONDS * SECOND, ahead=0))


class MachineTime(FunctionElement):
    """What the clock of the database's machine shows, in SQL."""

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
    ChangeNumber: "CAST(CAST(pg_current_xact_id() AS text) AS bigint)",
    ChangesSeen: "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)",
}
for _function, _sql in _POSTGRESQL.items():
    compiles(_function, "postgresql")(lambda element, compiler, _sql=_sql, **_: _sql)
compiles(MachineTime, "sqlite")(lambda element, compiler, **_: "machine_time()")  # made in `database.py`
for _function in (ChangeNumber, ChangesSeen):
    compiles(_function, "sqlite")(lambda element, compiler, **more: compiler.process(element.clauses, **more))

LAST_OPEN = select(CLOCK.c.seen - FINAL_SECONDS * SECOND).scalar_subquery()
"""In SQL, the tick after which a choice may still be taken back."""
_CLOCK = select(CLOCK.c.id)
_READING = select(MachineTime().label("machine"), CLOCK.c.seen, CLOCK.c.ahead)


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


def hold_clock(connection: Connection) -> int:
    """Return the time as `tick` does, and let the stored one stand still until this transaction has ended."""
    connection.execute(_CLOCK.with_for_update())  # SQLite has one writer at a time anyway
    return tick(connection)


def keep_time(database: Database, *votes: Table) -> None:
    """Let the stored time go on before these tables' votes are read, if any of them waits to become final.

    Where the database is held or stores nothing, readers go by the time that it has.
    """
    with database.read() as connection:
        row = connection.execute(_READING).one()
        last = max(connection.scalar(select(func.max(table.c.tick))) or 0 for table in votes)
    late = row.machine + row.ahead - row.seen
    waits = (late > SECOND or late < 0) and last > row.seen - FINAL_SECONDS * SECOND
    if waits and not database.is_writing:
        with suppress(DatabaseError), database.write() as connection:
            if connection.execute(_CLOCK.with_for_update(skip_locked=True)).first():
                tick(connection)
