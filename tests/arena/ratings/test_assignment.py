"""Assignment: who judges what next keeps to its design, and says how likely its pair was."""

from collections import Counter

import numpy as np
import pytest

from arena.ratings.assignment import (
    UNIFORM_SHARE,
    Assignment,
    Served,
    draw_balanced,
    draw_fixed,
    draw_settling,
    pair_gains,
    pair_number,
)
from arena.ratings.bradley_terry import bradley_terry
from arena.ratings.settled import Order

SEAT = 20


def served(models: int, items: int) -> Served:
    shape = (models * (models - 1) // 2, items)
    return Served(models, np.zeros(shape, int), np.ones(shape, bool))


def count(to: Served, one: Assignment) -> None:
    to.votes[pair_number(one.low, one.high, to.models), one.item] += 1


def full_seat(of: Served, coin: np.random.Generator) -> list[Assignment]:
    seat: list[Assignment] = []
    while one := draw_balanced(of, seat, SEAT, coin):
        seat.append(one)
        count(of, one)
    return seat


@pytest.mark.parametrize(
    ("models", "behind"), [(7, 0), (3, 0), (3, 500), (4, 500), (2, 0), (12, 500)]
)
def test_a_seat_has_no_item_twice_and_every_model_in_its_share(models, behind):
    """Also where one pair is so far behind that taking it again and again would leave no pair for the rest."""
    of, coin = served(models, 60), np.random.default_rng(models + behind)
    of.votes[1:] += behind
    for _ in range(10):
        seat = full_seat(of, coin)
        used = Counter(model for one in seat for model in one[:2])
        assert len(seat) == SEAT == len({one.item for one in seat})
        assert max(used.values()) <= -(-2 * SEAT // models) + 1


def test_balanced_serves_every_pair_and_item_alike():
    of, coin = served(7, 50), np.random.default_rng(0)
    first = draw_balanced(of, (), SEAT, coin)
    assert first and first.probability == 1 / 21
    for _ in range(105):
        full_seat(of, coin)
    assert np.ptp(of.votes.sum(1)) <= 2 and np.ptp(of.votes.sum(0)) <= 8 and of.votes.max() <= 3
    of.votes[4] -= 5
    behind = draw_balanced(of, (), SEAT, coin)
    assert behind and pair_number(*behind[:2], 7) == 4 and behind.probability == 1


def test_a_model_beyond_its_places_takes_none_of_the_others():
    """The seat was filled with whatever was left, mostly of model 0; the others have three places each."""
    seat = [Assignment(0, 1 + number % 6, number, 1.0) for number in range(12)]
    seat += [Assignment(1 + number % 3, 4 + number % 3, 12 + number, 1.0) for number in range(6)]
    drawn = draw_balanced(served(7, 60), seat, SEAT, np.random.default_rng(0))
    assert drawn and drawn.low > 0


def test_only_wanted_tuples_are_served_until_none_is_left():
    of, coin = served(4, 30), np.random.default_rng(3)
    of.lacks_votes[:] = False
    of.lacks_votes[2, [5, 9]] = of.lacks_votes[4, 5] = True
    drawn = [draw(of, [], coin) for draw in (one_balanced, one_settled) for _ in range(20)]
    assert {one and (*one[:3], one.probability) for one in drawn} == {
        (0, 3, 5, 0.5),
        (0, 3, 9, 0.5),
        (1, 3, 5, 0.5),
    }
    had = [Assignment(0, 3, 5, 1), Assignment(0, 3, 9, 1)]
    assert one_balanced(of, had, coin) is None and one_settled(of, had, coin) is None


def one_balanced(
    of: Served, seat: list[Assignment], coin: np.random.Generator
) -> Assignment | None:
    return draw_balanced(of, seat, SEAT, coin)


def one_settled(of: Served, seat: list[Assignment], coin: np.random.Generator) -> Assignment | None:
    return draw_settling(of, seat, None, coin)


def test_settle_says_how_likely_its_pair_was():
    of, coin = served(5, 10), np.random.default_rng(4)
    first, second = pair_number(1, 3, 5), pair_number(0, 2, 5)
    aims = np.zeros(10)
    aims[[first, second]] = 2, 1
    drawn = [draw_settling(of, (), aims, coin) for _ in range(4000)]
    seen = Counter((one.low, one.high, one.probability) for one in drawn if one)
    assert len(seen) == 10 and seen[1, 3, 1 - UNIFORM_SHARE + UNIFORM_SHARE / 10] > 3000
    for (_, _, probability), number in seen.items():
        assert number / 4000 == pytest.approx(probability, abs=4 * np.sqrt(probability / 4000))
    of.lacks_votes[first] = False
    drawn = [draw_settling(of, (), aims, coin) for _ in range(200)]
    seen = Counter((one.low, one.high, one.probability) for one in drawn if one)
    assert len(seen) <= 9 and seen[0, 2, 1 - UNIFORM_SHARE + UNIFORM_SHARE / 9] > 120, (
        "what gains most of what is left"
    )


def test_settle_aims_at_the_pair_that_narrows_the_least_settled_order():
    """Every pair's next vote, tried out: the variance of the least settled gap falls most by the pair aimed at.

    Model 1 hardly ever loses to 2, and model 0 neither: votes against 0, its equal, tell more than those against 2.
    """
    wins = np.array([[0, 0, 1000, 5], [0, 0, 19, 0], [48, 1, 0, 500], [0, 0, 300, 0]])
    fit = bradley_terry(wins)
    found = [
        Order(0, 1, "settled", 50, 0.1),
        Order(1, 2, "open", None, 0.4),
        Order(2, 3, "contradicted", 50, 0.9),
    ]
    contrast, variance = np.array([0, 1, -1, 0]), {}
    for low, high in zip(*np.triu_indices(4, 1), strict=True):
        between = np.zeros(4)
        between[[low, high]] = 1, -1
        told = fit.information + fit.chances[low, high] * fit.chances[high, low] * np.outer(
            between, between
        )
        variance[low, high] = contrast @ np.linalg.inv(told) @ contrast
    pairs = list(variance)
    told = pair_gains(fit, found)
    assert told is not None
    assert pairs[told.argmax()] == (0, 1) == min(variance, key=variance.__getitem__)
    for orders, pair in (
        ([order._replace(progress=-order.progress) for order in found], (2, 3)),
        ([found[1], Order(2, 3, "settled", 50, 0.1)], (0, 1)),
    ):
        told = pair_gains(fit, orders)
        assert told is not None and pairs[told.argmax()] == pair, "a settled order is left alone"
    assert pair_gains(fit, [order._replace(state="settled") for order in found]) is None


def test_fixed_goes_through_its_list():
    of = served(3, 9)
    tuples = np.array([(0, 1, 4), (1, 2, 4), (0, 2, 7)])
    first, last = Assignment(0, 1, 4, 1.0), Assignment(0, 2, 7, 1.0)
    assert [draw_fixed(of, seat, tuples) for seat in ((), (first,), (first, last))] == [
        first,
        last,
        None,
    ], "no item twice"
    of.lacks_votes[pair_number(0, 1, 3), 4] = False
    assert draw_fixed(of, (), tuples) == Assignment(1, 2, 4, 1.0)
