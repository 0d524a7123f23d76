"""Pause: operators stop live answers on all servers; each question checks it before it is asked."""

from datetime import datetime

from sqlalchemy import Column, Connection, Integer, Table, delete, insert, select

from arena.database import METADATA, Database, Moment, now, take_turn
from arena.live.queue import LiveError

PAUSE = Table(
    "pause",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("since", Moment, nullable=False),
)
"""One row while live answers are paused."""
PAUSED = (
    "The operators have paused live answers. You can still choose in open battles. Come "
    "back later, or compare items on the Vote page."
)


def check_pause(database: Database) -> None:
    """Raises LiveError while live answers are paused, DatabaseError when that cannot be read."""
    with database.read() as connection:
        if paused_since(connection):
            raise LiveError(PAUSED)


def paused_since(connection: Connection) -> datetime | None:
    return connection.scalar(select(PAUSE.c.since))


def pause(connection: Connection) -> bool:
    """Pauses live answers; returns False if they were paused already."""
    take_turn(connection, PAUSE)
    if paused_since(connection):
        return False
    connection.execute(insert(PAUSE).values(id=1, since=now()))
    return True


def resume(connection: Connection) -> bool:
    """Ends the pause; returns False if there was none."""
    return connection.execute(delete(PAUSE)).rowcount > 0
