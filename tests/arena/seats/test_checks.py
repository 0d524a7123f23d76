"""Checks: exactly as many as wanted, at any place, and none where there are none."""

import random
from collections import Counter
from math import comb

from hypothesis import given
from hypothesis import strategies as st

from arena.seats.quality import is_check_due, wanted_checks
from arena.seats.spec import ChecksSpec


def order(votes: int, checks: int, coin: random.Random) -> str:
    """The pieces of a seat: v for a vote, c for a check."""
    found = ""
    while len(found) < votes + checks:
        due = is_check_due(votes - found.count("v"), checks - found.count("c"), coin)
        found += "c" if due else "v"
    return found


@given(st.integers(1, 60), st.integers(0, 20), st.randoms(use_true_random=False))
def test_a_seat_gets_exactly_its_checks_and_its_votes(votes, checks, coin):
    assert Counter(order(votes, checks, coin)) == Counter(
        {"v": votes, "c": checks} if checks else {"v": votes}
    )


def test_every_order_comes_and_equally_often():
    coin, times = random.Random(4), 20_000
    found = Counter(order(4, 2, coin) for _ in range(times))
    assert len(found) == comb(6, 2)
    expected = times / len(found)
    # chi square, 14 degrees, 0.1%
    assert sum((one - expected) ** 2 / expected for one in found.values()) < 36.1


@given(st.floats(0.01, 0.5), st.integers(1, 1000), st.integers(0, 50))
def test_the_share_is_of_the_votes_and_at_least_one(share, votes, there_are):
    found = wanted_checks(ChecksSpec(share=share), votes, there_are)
    assert found <= there_are
    assert found == 0 if not there_are else found >= 1
    rounding = 1e-6
    is_share = share * votes - rounding <= found < share * votes + 1 + rounding
    assert found == there_are or is_share or found == 1


def test_a_share_in_hundredths_is_not_rounded_up_by_its_binary_fraction():
    assert wanted_checks(ChecksSpec(share=0.28), 25, 50) == 7
    assert wanted_checks(ChecksSpec(share=0.07), 100, 50) == 7
