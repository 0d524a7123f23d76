"""The change log: transactions that overlap, as on PostgreSQL alone; what a batch reads; what a restore leaves."""

import time
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Connection, insert, select

from arena.battles.store import BattleStore
from arena.budget import BUDGET
from arena.database import Database
from arena.server.change_log import VOTER_KEY, ChangeLog
from tests.support.backup import bank, rows
from tests.support.servers import new_postgresql_database
from tests.support.visitors import Visitor


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


def test_a_batch_reads_the_keys_of_its_own_voters_alone(database):
    """Votes wait meanwhile, however many voters there are."""
    log = ChangeLog(bank(database))
    voters = [BattleStore(database).voter(f"guest {number}") for number in range(3)]
    visitor = Visitor(database, "cookie")
    visitor.vote(visitor.serve())
    log.open()
    batch = log.batch(10_000)
    assert batch
    with database.read() as connection:
        keys = {row.voter_id: row.key for row in connection.execute(select(VOTER_KEY))}
    assert keys.keys() == {visitor.id} and visitor.id not in voters
    assert keys[visitor.id].encode() in batch.content


def test_a_restore_that_is_killed_when_it_is_stored_holds_no_money(database, another):
    log, fresh = ChangeLog(database), another()
    with database.write() as connection:
        connection.execute(insert(BUDGET).values(name="total", spent=5, held=7))
    log.open()
    batch = log.batch(10)
    assert batch
    restored = ChangeLog(fresh)
    # one transaction: nothing is left to be done after it
    restored.restore(restored.unpack([batch.content]))
    with fresh.read() as connection:
        assert connection.execute(select(BUDGET)).all() == [("total", 12, 0)]
    changed = restored.batch(10)
    assert changed and b'"spent":12' in changed.content, "the copy learns of it"


def test_servers_that_start_at_once_install_the_triggers_once(postgresql):
    database = Database(new_postgresql_database(postgresql))
    first = ChangeLog(database)
    second = ChangeLog(database)
    with ThreadPoolExecutor() as pool:
        with database.write() as connection:
            first._install_triggers(connection)
            opening = pool.submit(second.open)
            time.sleep(0.3)  # until the second has read which triggers there are
        opening.result(timeout=10)
    with database.write() as connection:
        spend(connection, "study s")
    assert second.count_waiting() == 1
    database.close()


def test_of_servers_that_find_an_empty_database_at_once_one_restores_it(database, another):
    log = ChangeLog(bank(database))
    log.open()
    batch = log.batch(10_000)
    assert batch
    fresh = another("postgresql")
    servers = [ChangeLog(fresh), ChangeLog(fresh)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda server: server.restore(server.unpack([batch.content])), servers))
    assert rows(fresh) == rows(database)
