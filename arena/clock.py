"""Database clock: timestamps that go back by a second at most, even if the system clock goes back further.

Servers that share a database share its clock. If the system clock is set back, the database clock continues from the
last stored time, which is up to a second old.
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
"""A second in microseconds, the unit of the database time."""
UNDO_SECONDS = 3
"""Seconds in which a choice can be undone."""
UNDO_GRACE_SECONDS = 2
"""Further seconds for slow networks."""
FINAL_SECONDS = UNDO_SECONDS + UNDO_GRACE_SECONDS + 2
"""Age in seconds at which a choice is final.

Two more than an undo may take, so that the last undo is stored by then.
"""

log = logging.getLogger(__name__)


@event.listens_for(CLOCK, "after_create")
def _insert_row(_table: Table, connection: Connection, **_options: Any) -> None:
    connection.execute(insert(CLOCK).values(id=1, seen=0, ahead=0))


class MachineTime(FunctionElement):
    """The system clock of the database's machine in SQL, in microseconds since 1970."""

    type = BigInteger()
    inherit_cache = True


compiles(MachineTime, "postgresql")(
    lambda element, compiler, **_: "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
)
# `database.py` defines the SQL function machine_time.
compiles(MachineTime, "sqlite")(lambda element, compiler, **_: "machine_time()")

_READING = select(MachineTime().label("machine"), CLOCK.c.seen, CLOCK.c.ahead)


def tick(connection: Connection) -> int:
    """Returns the database time, in microseconds, in a writing transaction.

    After the system clock was set back, the database clock is moved ahead of it. The time is stored at most once a
    second.
    """
    row = connection.execute(_READING).one()
    time = row.machine + row.ahead
    if time < row.seen:
        set_back = row.seen - time
        log.warning("the machine's clock was set back by %.1f s", set_back / SECOND)
        connection.execute(
            update(CLOCK)
            .where(CLOCK.c.ahead == row.ahead)  # another server may have moved it already
            .values(ahead=CLOCK.c.ahead + set_back)
        )
        return row.seen
    if time - row.seen > SECOND:
        connection.execute(update(CLOCK).where(CLOCK.c.seen < time - SECOND).values(seen=time))
    return time


def present(connection: Connection) -> datetime:
    """Returns the database time of `tick` as a datetime. All servers of one database have the same time."""
    return EPOCH + timedelta(microseconds=tick(connection))


def clock(connection: Connection) -> int:
    """Returns the database time, in microseconds, in a reading transaction.

    It stands still after the system clock was set back, until the next `tick`.
    """
    row = connection.execute(_READING).one()
    return max(row.machine + row.ahead, row.seen)


def is_set_back(connection: Connection) -> bool:
    """Returns whether the system clock was set back, so that the time stands still until the next write."""
    row = connection.execute(_READING).one()
    return row.machine + row.ahead < row.seen
