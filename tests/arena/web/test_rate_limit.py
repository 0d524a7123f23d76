"""Limits: nobody gets more than the allowance, whatever they write into headers; nothing grows; nobody is kept."""

import asyncio
import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.network import client_address, network_of
from arena.web.rate_limit import (
    MOST_LARGE,
    NETWORK,
    TURNS,
    VOTER,
    Allowance,
    Buckets,
    Caller,
    Rate,
    RateLimiter,
)
from tests.support.examples import examples

SMALL = Allowance(files=Rate(5, 0.001), calls=Rate(3, 0.001), open=2, large=2)
"""Hardly refilled: a machine that stands still gives no token back."""
WIDE = Allowance(files=Rate(10**6, 10**6), calls=Rate(10**6, 10**6), open=10**6, large=10**6)


class Clock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 20),
    st.floats(0.1, 50),
    st.lists(st.floats(0, 3), min_size=1, max_size=200),
)
def test_no_more_than_the_burst_and_what_came_back_is_given(burst, per_second, pauses):
    clock = Clock()
    buckets = Buckets(Rate(burst, per_second), clock=clock)
    begun, given_out = clock.now, 0
    for pause in pauses:
        clock.now += pause
        wait = buckets.take("key")
        given_out += wait == 0
        assert given_out <= burst + (clock.now - begun) * per_second + 1e-6
        if wait:
            clock.now += wait + 1e-6
            assert buckets.take("key") == 0, "after the time that was told there is a token"
            given_out += 1


def test_who_waits_long_enough_has_the_whole_burst_again_and_no_more():
    clock = Clock()
    buckets = Buckets(Rate(4, 2), clock=clock)
    for pause in (0, 2, 10**6):
        clock.now += pause
        assert [buckets.take("key") > 0 for _ in range(5)] == [False] * 4 + [True]


def test_random_keys_do_not_grow_the_memory_nor_take_tokens_from_others():
    buckets = Buckets(Rate(3, 0.001), most=1000, clock=Clock())
    for number in range(20_000):
        assert buckets.take(f"invented {number}") == 0
        if number % 500 == 0:
            buckets.take("busy")
    assert len(buckets) == 1000
    assert buckets.take("busy") > 0, "who calls on and on is not forgotten"


@pytest.mark.parametrize(
    ("hops", "forwarded", "seen"),
    [
        (0, [], "9.9.9.9"),
        (0, ["1.1.1.1"], "9.9.9.9"),
        (1, ["1.1.1.1"], "1.1.1.1"),
        (1, ["6.6.6.6, 1.1.1.1"], "1.1.1.1"),
        (1, ["6.6.6.6", "5.5.5.5,1.1.1.1"], "1.1.1.1"),
        (2, ["6.6.6.6, 1.1.1.1, 2.2.2.2"], "1.1.1.1"),
        (2, ["2.2.2.2"], "2.2.2.2"),
        (1, [], "9.9.9.9"),
        (1, ["x" * 10_000 + ", 1.1.1.1"], "1.1.1.1"),
        (1, ["1.1.1.1, "], ""),
    ],
)
def test_the_address_is_the_one_that_our_outermost_proxy_saw(hops, forwarded, seen):
    assert client_address("9.9.9.9", forwarded, hops) == seen


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.text(max_size=40), max_size=5), st.integers(0, 3))
def test_what_a_caller_writes_never_changes_the_bucket(written, hops):
    """A caller's own lines stand left of what the proxies add."""
    limits = RateLimiter(hops)
    added = [f"8.8.{hop}.1" for hop in range(hops)]
    honest = limits.caller(None, "8.8.9.9", added)
    assert limits.caller(None, "8.8.9.9", [*written, *added]) == honest
    assert (
        limits.caller(None, "8.8.9.9", [", ".join([*written, *added])] if added else written)
        == honest
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("8.8.8.1", "8.8.8.254", True),
        ("8.8.8.1", "8.8.9.1", False),
        ("8.8.8.1", "8.8.8.1:443", True),
        ("8.8.8.1", "::ffff:8.8.8.77", True),
        ("2a00:1:2:3::1", "2a00:1:2:3:ffff:ffff:ffff:ffff", True),
        ("2a00:1:2:3::1", "[2a00:1:2:3::9]:8080", True),
        ("2a00:1:2:3::1", "2a00:1:2:4::1", True),
        ("2a00:1:2:3::1", "2a00:1:3:3::1", False),
        ("8.8.8.1", "64:ff9b::8.8.8.77", True),
        ("8.8.8.1", "2002:808:84d:5::1", True),
        ("8.8.8.1", "2001:0:101:101:0:ffff:f7f7:f7b2", True),
        ("64:ff9b::8.8.8.1", "64:ff9b::8.8.9.1", False),
        ("2002:808:801::1", "2002:808:901::1", False),
    ],
)
def test_a_network_is_a_24_or_a_48(one, other, same):
    assert (network_of(one) == network_of(other)) is same
    limits = RateLimiter()
    assert (limits.caller(None, one, []).network == limits.caller(None, other, []).network) is same


@pytest.mark.parametrize(
    "text", ["", "unknown", "1.2.3", "1.2.3.4.5", "[", "[]:1", "1.2.3.4:x", "\0", "é" * 99]
)
def test_what_is_no_address_is_no_network(text):
    caller = RateLimiter().caller("cookie", text, [])
    assert caller.network is None and caller.voter


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.16.3.4",
            "192.168.1.9",
            "::1",
            "fd00::1",
            "100.64.0.1",
            "::1%eth0",
            "192.0.0.171",
        ),
        *("64:ff9b::10.16.3.4", "2002:a10:304::1"),
    ],
)
def test_a_private_address_is_a_proxy_and_no_network(address):
    assert RateLimiter().caller("cookie", address, []).network is None


@pytest.mark.parametrize("address", ["64:ff9b::8.8.8.8", "2002:808:808::1"])
def test_a_public_address_in_a_special_range_is_counted(address):
    assert RateLimiter().caller("cookie", address, []).network is not None


def test_files_and_calls_are_counted_apart_and_by_voter():
    limits = RateLimiter(voter=SMALL, network=WIDE)
    ada, bob = limits.caller("ada", "8.8.8.8", []), limits.caller("bob", "8.8.8.8", [])
    assert [limits.wait_seconds(ada, is_call=True) > 0 for _ in range(4)] == [
        False,
        False,
        False,
        True,
    ]
    assert [limits.wait_seconds(ada, is_call=False) > 0 for _ in range(6)] == [False] * 5 + [True]
    assert limits.wait_seconds(bob, is_call=True) == 0


def test_fresh_cookies_do_not_help_a_network():
    limits = RateLimiter(voter=WIDE, network=SMALL)
    callers = [limits.caller(f"invented {number}", f"8.8.8.{number}", []) for number in range(5)]
    assert [limits.wait_seconds(caller, is_call=True) > 0 for caller in callers] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert limits.wait_seconds(limits.caller("invented 0", "8.8.9.1", []), is_call=True) == 0


def test_the_refused_calls_of_a_voter_take_no_tokens_from_the_network():
    network = Allowance(files=Rate(6, 0.001), calls=Rate(4, 0.001), open=10, large=10)
    limits = RateLimiter(voter=SMALL, network=network)
    ada, bob = limits.caller("ada", "8.8.8.8", []), limits.caller("bob", "8.8.8.9", [])
    for is_call in (True, False):
        for _ in range(20):
            limits.wait_seconds(ada, is_call)
        assert limits.wait_seconds(bob, is_call) == 0
        assert limits.wait_seconds(bob, is_call) > 0, "the network has an allowance, too"


def test_without_a_cookie_an_address_is_the_voter():
    limits = RateLimiter(voter=SMALL, network=WIDE)
    callers = [limits.caller(None, "127.0.0.1", []) for _ in range(4)]
    assert [limits.wait_seconds(caller, is_call=True) > 0 for caller in callers] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("mine", ["voter", "network"])
def test_open_requests_are_bounded_until_they_end(mine):
    limits = RateLimiter(**{mine: SMALL, "network" if mine == "voter" else "voter": WIDE})
    caller = limits.caller("ada", "8.8.8.8", [])
    for _ in range(2):
        assert limits.wait_seconds(caller, is_call=False) == 0
        limits.enter(caller)
    assert limits.wait_seconds(caller, is_call=False) > 0
    limits.leave(caller)
    assert limits.wait_seconds(caller, is_call=False) == 0


def test_large_bodies_are_bounded_for_a_caller_and_for_everybody():
    limits = RateLimiter(voter=SMALL, network=WIDE)
    ada, others = limits.caller("ada", "8.8.8.8", []), limits.caller("bob", "8.8.9.9", [])
    limits.enter(ada, is_large=True)
    limits.enter(ada, is_large=True)
    assert (
        limits.wait_seconds(ada, is_call=False, is_large=True) > 0
        and limits.wait_seconds(others, is_call=False, is_large=True) == 0
    )
    limits.leave(ada, is_large=True)
    assert limits.wait_seconds(ada, is_call=False, is_large=True) == 0
    crowd = [limits.caller(f"{number}", f"9.9.{number}.9", []) for number in range(MOST_LARGE - 1)]
    for one in crowd:
        limits.enter(one, is_large=True)
    assert limits.wait_seconds(others, is_call=False, is_large=True) > 0
    assert limits.wait_seconds(others, is_call=False) == 0
    limits.leave(crowd[0], is_large=True)
    assert limits.wait_seconds(others, is_call=False, is_large=True) == 0


def test_a_network_works_in_turns_and_another_does_not_wait_for_it():
    limits = RateLimiter()
    flood = [
        limits.caller(f"invented {number}", f"8.8.8.{number}", []) for number in range(3 * TURNS)
    ]
    honest, proxied = limits.caller("ada", "8.8.9.9", []), limits.caller("bob", "127.0.0.1", [])
    working: list[Caller] = []
    most = 0

    async def work(caller: Caller) -> None:
        nonlocal most
        limits.enter(caller)
        try:
            async with limits.turn(caller):
                working.append(caller)
                most = max(most, len(working))
                await asyncio.sleep(0.01)
                working.remove(caller)
        finally:
            limits.leave(caller)

    async def scenario() -> None:
        held = [asyncio.create_task(work(caller)) for caller in flood]
        await asyncio.sleep(0)
        await asyncio.wait_for(work(honest), 60)
        await asyncio.wait_for(work(proxied), 60)
        await asyncio.gather(*held)
        cut = [asyncio.create_task(work(caller)) for caller in flood]
        await asyncio.sleep(0)
        cut[-1].cancel()
        await asyncio.gather(*cut, return_exceptions=True)

    asyncio.run(scenario())
    assert TURNS <= most <= TURNS + 1 and not working, "who comes from elsewhere has a turn at once"


def test_neither_an_address_nor_a_cookie_is_kept():
    limits = RateLimiter()
    caller = limits.caller("planted-cookie-value", "8.8.77.66", ["9.9.77.66"])
    limits.wait_seconds(caller, is_call=True)
    limits.enter(caller)
    held: list[object] = [limits]
    seen: set[int] = set()
    while held:
        part = held.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen.add(id(part))
        if isinstance(part, str):
            assert "planted" not in part and ".77." not in part
        held += [
            other
            for other in gc.get_referents(part)
            if not callable(other) or isinstance(other, RateLimiter)
        ]
    assert len(seen) > 20
    assert RateLimiter().caller("planted-cookie-value", "8.8.77.66", []) != caller, (
        "the key of the hash is this process's own"
    )


def test_people_have_room():
    """A page is about a hundred files; thirty people of one school open it at once and vote every three seconds."""
    assert VOTER.files.burst >= 5 * 100 and VOTER.calls.per_second >= 3
    assert NETWORK.files.burst >= 30 * 100 and NETWORK.calls.per_second >= 30 * 3 / 3
    assert isinstance(RateLimiter().caller("ada", "8.8.8.8", []), Caller)
