"""Database clock: timestamps that never go back, even if the system clock does.

Servers that share a database share its clock. If the system clock is set back, the database clock continues from the
last stored time.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    Table,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from arena.database import EPOCH, METADATA

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
"""Seconds in which a choice can be undone."""
UNDO_GRACE_SECONDS = 2
"""Further seconds for slow networks."""
FINAL_SECONDS = UNDO_SECONDS + UNDO_GRACE_SECONDS + 2
"""Age in seconds at which a choice is final."""

log = logging.getLogger(__name__)


@event.listens_for(CLOCK, "after_create")
def _start(_table: Table, connection: Connection, **_options: Any) -> None:
    connection.execute(insert(CLOCK).values(id=1, seen=0, ahead=0))


class MachineTime(FunctionElement):
    """The system clock of the database's machine, in SQL."""

    type = BigInteger()
    inherit_cache = True


compiles(MachineTime, "postgresql")(
    lambda element, compiler, **_: "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
)
# defined in `database.py`
compiles(MachineTime, "sqlite")(lambda element, compiler, **_: "machine_time()")

_READING = select(MachineTime().label("machine"), CLOCK.c.seen, CLOCK.c.ahead)


def tick(connection: Connection) -> int:
    """Returns the database time in a writing transaction; after the system clock was set back, moves ahead of it."""
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
    """Returns the database time of `tick`, which is the same for all servers of one database."""
    return EPOCH + timedelta(microseconds=tick(connection))


def clock(connection: Connection) -> int:
    """Returns the database time in a reading transaction; it stands still after the system clock was set back."""
    row = connection.execute(_READING).one()
    return max(row.machine + row.ahead, row.seen)


def is_set_back(connection: Connection) -> bool:
    """Returns whether the system clock was set back, so that the time stands still until the next write."""
    row = connection.execute(_READING).one()
    return row.machine + row.ahead < row.seen
