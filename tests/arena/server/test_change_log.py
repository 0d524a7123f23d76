"""The change log where transactions overlap, which they do on PostgreSQL alone."""

from sqlalchemy import Connection, insert

from arena.budget import BUDGET
from arena.database import Database
from arena.server.change_log import ChangeLog
from tests.support.servers import new_postgresql_database


def spend(connection: Connection, name: str) -> None:
    connection.execute(insert(BUDGET).values(name=name, spent=1, held=0))


def test_a_change_that_commits_after_a_batch_was_read_comes_with_the_next(postgresql):
    database = Database(new_postgresql_database(postgresql))
    log = ChangeLog(database)
    log.open()
    with database.write() as slow:
        spend(slow, "slow")
        with database.write() as quick:
            spend(quick, "quick")
        batch = log.batch(10)
    assert batch and b'"quick"' in batch.content and b'"slow"' not in batch.content
    log.acknowledge(batch)
    rest = log.batch(10)
    assert rest and b'"slow"' in rest.content and b'"quick"' not in rest.content
    database.close()
