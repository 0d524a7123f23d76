"""The shelf: findings are made once for all servers, and are the same to the bit when they are read."""

import dataclasses
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select, update

from arena.database import Database, now
from arena.leaderboard.shared_cache import FOUND, TURN, SharedStatistics, packed, unpacked
from arena.leaderboard.statistics import Crowd, Statistics, Tuples, compute_statistics
from tests.support.servers import new_postgresql_database
from tests.support.statistics_parts import parts

FAR = 3600.0


def statistics(seed: int = 0) -> Statistics:
    coin = np.random.default_rng(seed)
    winner = coin.integers(0, 4, 300).astype(np.int32)
    loser = ((winner + coin.integers(1, 4, 300)) % 4).astype(np.int32)
    item, family = (coin.integers(0, most, 300).astype(np.int32) for most in (50, 3))
    tuples = Tuples((3, 5, 8, 9), item, family, winner, loser, np.zeros(300, np.int8), np.ones(300, np.int32))
    return compute_statistics(tuples, Crowd(20, 30, 50), None)


@pytest.fixture
def url(postgresql) -> str:
    return new_postgresql_database(postgresql)


@pytest.fixture
def servers(url) -> Iterator[list[SharedStatistics]]:
    """Two servers on one database."""
    databases = [Database(url) for _ in "12"]
    yield [SharedStatistics(database, FAR) for database in databases]
    for database in databases:
        database.close()


def test_statistics_are_the_same_after_the_shared_cache():
    found = statistics()
    assert parts(unpacked(packed(found))) == parts(found)
    without = dataclasses.replace(found, overturn=None)
    assert unpacked(packed(without)).overturn is None


def test_servers_that_ask_at_once_find_out_once(servers):
    made, begun = [], threading.Barrier(6)

    def work() -> Statistics:
        made.append(1)
        return statistics()

    def ask(number: int) -> Statistics:
        begun.wait()
        return servers[number % 2].found("a board", work)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, range(6)))
    assert len(made) == 1
    assert all(parts(answer) == parts(answers[0]) for answer in answers)


def test_boards_do_not_share_statistics(servers):
    assert parts(servers[0].found("one", lambda: statistics(1))) == parts(statistics(1))
    assert parts(servers[1].found("two", lambda: statistics(2))) == parts(statistics(2))


def test_old_statistics_are_made_anew(url):
    database = Database(url)
    shared_statistics = SharedStatistics(database, 0.0)
    shared_statistics.found("a board", lambda: statistics(1))
    assert parts(shared_statistics.found("a board", lambda: statistics(2))) == parts(statistics(2))
    database.close()


@pytest.mark.parametrize("left", [timedelta(seconds=-1), 2 * TURN + timedelta(days=1)], ids=["dead", "clock set back"])
def test_a_server_that_died_with_the_turn_holds_nobody_up(left, servers, url):
    class DiedError(RuntimeError):
        pass

    def die() -> Statistics:
        raise DiedError

    with pytest.raises(DiedError):
        servers[0].found("a board", die)
    database = Database(url)
    with database.write() as connection:
        connection.execute(update(FOUND).values(taken_until=now() + left))
    assert parts(servers[1].found("a board", statistics)) == parts(statistics())
    database.close()


def test_one_server_on_a_file_stores_nothing(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    assert parts(SharedStatistics(database, FAR).found("a board", statistics)) == parts(statistics())
    with database.read() as connection:
        assert connection.execute(select(FOUND)).all() == []
    database.close()
