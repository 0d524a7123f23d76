"""Homes: which server of several a visitor's live answers are at; test_scale_out.py has them at work."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from arena.database import Database
from arena.web.session_affinity import FORGOTTEN_SECONDS, GONE_SECONDS, SERVER, ServerDirectory, own_address
from tests.support.servers import new_postgresql_database

TEXT = "The picture is red all over, and nothing else can be seen in it. " * 4


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def shared(postgresql) -> Iterator[Database]:
    database = Database(new_postgresql_database(postgresql))
    yield database
    database.close()


def visitors(number: int = 400) -> list[str]:
    return [secrets.token_hex(8) for _ in range(number)]


def test_all_servers_agree_on_owners_and_share_them_evenly(shared):
    servers = [ServerDirectory(shared, f"http://10.0.0.{number}:1") for number in range(3)]
    for server in servers * 2:
        server.beat()
    shares = Counter()
    for visitor in visitors():
        directory = {server.of(visitor) or server.address for server in servers}
        assert len(directory) == 1, "each names the same server, and one of them itself"
        shares[directory.pop()] += 1
    assert len(shares) == 3 and min(shares.values()) > 90


def test_who_comes_or_goes_moves_no_other_visitor(shared):
    clock = Clock()
    one, two, three = (ServerDirectory(shared, f"http://10.0.0.{number}:1", clock) for number in range(3))
    one.beat(), two.beat(), one.beat()
    known = visitors()
    before = {visitor: one.of(visitor) for visitor in known}
    three.beat(), one.beat()
    moved = {visitor for visitor in known if one.of(visitor) != before[visitor]}
    assert moved and {one.of(visitor) for visitor in moved} == {three.address}
    clock.now += GONE_SECONDS
    two.beat(), one.beat()
    assert {visitor: one.of(visitor) for visitor in known} == before, "a server that fell silent is nobody's home"


def test_one_that_cannot_be_reached_is_tried_again_later(shared):
    clock = Clock()
    one, two = (ServerDirectory(shared, f"http://10.0.0.{number}:1", clock) for number in range(2))
    one.beat(), two.beat(), one.beat()
    away = next(visitor for visitor in visitors() if one.of(visitor))
    one.miss(two.address)
    assert one.of(away) is None
    clock.now += GONE_SECONDS
    two.beat(), one.beat()
    assert one.of(away) == two.address


def test_the_long_dead_are_forgotten_and_who_leaves_is_gone_at_once(shared):
    clock = Clock()
    one, two = (ServerDirectory(shared, f"http://10.0.0.{number}:1", clock) for number in range(2))
    one.beat(), two.beat(), one.beat()
    clock.now += FORGOTTEN_SECONDS + 1
    one.beat()
    with shared.read() as connection:
        assert connection.scalars(select(SERVER.c.address)).all() == [one.address]

    async def stay_for_a_moment() -> None:
        async with two.running():
            one.beat()
            assert any(one.of(visitor) for visitor in visitors())

    asyncio.run(stay_for_a_moment())
    one.beat()
    assert not any(one.of(visitor) for visitor in visitors())


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "http://127.0.0.1:7"), ("0.0.0.0", None), ("fd00::1", "http://[fd00::1]:7")]
)
def test_a_server_tells_where_the_others_reach_it(shared, host, address):
    found = own_address(host, 7, shared)
    assert found == address if address else found.startswith("http://") and "0.0.0.0" not in found
