"""Fragility: the votes named do change the first place, and on small boards hardly fewer could."""

from itertools import product

import numpy as np
import pytest

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.fragility import fewest_new_voters, fragility
from tests.support.arenas import even_votes


def leader(wins: np.ndarray, prior: float = 0.5) -> int:
    return int(np.nanargmax(bradley_terry(wins, prior).ratings))


def fewest(wins: np.ndarray, most: int) -> int:
    """Try every removal of up to `most` votes."""
    cells = [(i, j) for i, j in zip(*np.nonzero(wins), strict=True)]
    first = leader(wins)
    best = most + 1
    for counts in product(*(range(min(int(wins[cell]), most) + 1) for cell in cells)):
        if 0 < sum(counts) < best:
            left = wins.copy()
            for cell, count in zip(cells, counts, strict=True):
                left[cell] -= count
            if leader(left) != first:
                best = sum(counts)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_small_boards_are_as_fragile_as_a_search_through_all_removals_says(seed):
    wins = win_matrix(even_votes(seed, 3, 24))
    found = fragility(bradley_terry(wins))
    expected = fewest(wins, 4)
    print(f"seed {seed}: {found.votes if found else None}, by search {expected} (5: more than 4)")
    assert found is not None
    assert found.votes == expected if expected <= 4 else found.votes >= 5


@pytest.mark.parametrize(
    ("seed", "models", "number"), [(1, 5, 400), (2, 10, 5000), (3, 30, 20_000)]
)
def test_the_removal_changes_the_first_place_and_takes_only_what_is_there(seed, models, number):
    wins = win_matrix(even_votes(seed, models, number))
    fit = bradley_terry(wins)
    found = fragility(fit)
    assert found is not None
    assert found.leader == leader(wins)
    assert leader(wins - found.removed) == found.rival != found.leader
    assert (found.removed <= wins).all()
    assert found.removed.sum() == found.votes


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_the_rival_is_first_where_others_pass_the_leader_too(order):
    """All met the last model alone. Without one win the leader is below both others, who are close."""
    wins = np.zeros((4, 4))
    for model, (won, lost) in zip(order, ((31, 14), (174, 80), (88, 40)), strict=True):
        wins[model, 3] = won
        wins[3, model] = lost
    found = fragility(bradley_terry(wins))
    assert found is not None
    assert (found.leader, found.votes, found.rival) == (order[0], 1, order[2])
    assert leader(wins - found.removed) == found.rival


@pytest.mark.parametrize("seed", range(8))
def test_the_rival_is_first_on_close_boards(seed):
    coin = np.random.default_rng(seed)
    wins = np.zeros((6, 6))
    wins[:5, 5] = coin.integers(20, 200, 5)
    wins[5, :5] = np.round(wins[:5, 5] * coin.uniform(0.48, 0.52, 5))
    found = fragility(bradley_terry(wins))
    assert found is not None
    assert leader(wins - found.removed) == found.rival != found.leader


def test_a_lead_of_one_vote_hangs_on_it():
    wins = np.array([[0, 6], [5, 0.0]])
    found = fragility(bradley_terry(wins))
    assert found is not None
    assert (found.votes, found.leader, found.rival) == (2, 0, 1)
    assert found.removed.tolist() == [[0, 2], [0, 0]]


def test_without_a_rival_there_is_no_number():
    assert fragility(bradley_terry(np.zeros((0, 0)))) is None
    assert fragility(bradley_terry(np.zeros((3, 3)))) is None
    assert fragility(bradley_terry(np.array([[0, 1], [0, 0.0]]), prior=0)) is None


def test_only_the_largest_component_counts():
    wins = np.zeros((5, 5))
    wins[0, 1], wins[1, 0] = 50, 1
    wins[2, 3] = wins[3, 4] = wins[4, 2] = 2
    wins[2, 4] = 1
    found = fragility(bradley_terry(wins))
    assert found is not None
    assert found.leader == 2
    assert found.rival in (3, 4)


def test_ties_are_votes_of_their_own():
    """Three wins and a hundred ties: no removal puts B first. With two ties among wins that hold A up, removals may."""
    ties = np.array([[0, 100], [100, 0.0]])
    assert fragility(bradley_terry(np.array([[0, 3], [0, 0.0]]) + ties / 2), ties) is None
    ties = np.zeros((3, 3))
    ties[1, 2] = ties[2, 1] = 6
    wins = np.array([[0, 4, 0], [3, 0, 0], [0, 0, 0.0]]) + ties / 2
    wins[2, 1] += 3
    found = fragility(bradley_terry(wins), ties)
    assert found is not None
    assert leader(wins - found.removed) == found.rival != found.leader
    assert found.removed.sum() == found.votes


def test_a_leader_who_never_lost_can_be_brought_down():
    """So many removals that nothing links the two any more are too many; fewer do it."""
    wins = np.array([[0, 0, 0], [20, 0, 40], [80, 0, 0.0]])
    found = fragility(bradley_terry(wins))
    assert found is not None
    assert found.votes <= 40
    left = bradley_terry(wins - found.removed)
    assert left.comparable.all() and int(np.argmax(left.ratings)) == found.rival == 2


def test_random_leaders_fall_wherever_the_plain_order_brings_them_down():
    coin, missed = np.random.default_rng(5), 0
    for _ in range(15):
        wins = coin.integers(0, 30, (4, 4)) * (coin.random((4, 4)) < 0.5).astype(float)
        np.fill_diagonal(wins, 0)
        fit = bradley_terry(wins)
        if not fit.comparable.all():
            continue
        first = int(np.argmax(fit.ratings))
        found, left = fragility(fit), wins.copy()
        while left[first].any() and found is None:
            left[first, int(np.argmax(left[first]))] -= 1
            fallen = bradley_terry(left)
            missed += bool(fallen.comparable.all() and int(np.argmax(fallen.ratings)) != first)
    assert missed == 0


@pytest.mark.parametrize(
    ("wins", "each", "expected"),
    [
        ([[0, 30], [20, 0]], 10, (1, 2)),
        ([[0, 30], [20, 0]], 5, (1, 3)),
        ([[0, 300], [100, 0]], 10, (1, 21)),
        ([[0, 30, 30], [20, 0, 30], [20, 20, 0]], 10, (1, 3)),
        ([[0, 10, 5], [30, 0, 18], [35, 20, 0]], 10, (1, 2)),
        ([[0, 0], [0, 0]], 10, None),
    ],
)
def test_new_voters_are_as_many_as_put_a_rival_first(wins, each, expected):
    """Of two models, ten votes a voter on the one pair: 20 + 10 is a draw with 30, one voter more is first."""
    fit = bradley_terry(np.array(wins, float))
    assert fewest_new_voters(fit, each) == expected


def test_one_new_voter_less_puts_nobody_first():
    wins = np.array([[0, 30, 34], [20, 0, 31], [16, 19, 0]], float)
    found = fewest_new_voters(bradley_terry(wins), 10)
    for voters, is_first in ((found.voters - 1, False), (found.voters, True)):
        more = wins.copy()
        more[found.rival, [0, 2]] += voters * 10 / 3
        ratings = bradley_terry(more).ratings
        assert (ratings.argmax() == found.rival) == is_first
