"""Lack of fit: circles are found, chance is not, also where votes hang together."""

import numpy as np
import pytest

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.lack_of_fit import LackOfFit, lack_of_fit
from arena.ratings.votes import Outcome, Votes
from perf.coverage import CIRCLES, FITTING, is_found_to_differ
from tests.support.arenas import decided, voter_arena, votes_of_wins

RUNS = 20
SOAKED = ("fits, 20 models", "fits, 7 models", "a circle, 20 models", "fits, 60 tasteful voters")


def marked(designs):
    return [
        pytest.param(one, marks=pytest.mark.soak if one.name in SOAKED else (), id=one.name)
        for one in designs
    ]


@pytest.mark.parametrize("design", marked(FITTING))
def test_chance_is_not_called_lack_of_fit(design):
    assert sum(is_found_to_differ(design, run) for run in range(RUNS)) <= 4, "5% are fair"


@pytest.mark.parametrize("design", marked(CIRCLES))
def test_circles_are_found(design):
    assert sum(is_found_to_differ(design, run) for run in range(6)) >= 5


def test_the_number_is_the_distance_of_win_rates():
    """Three models beat each other in a circle, 900 of 1,000 times each: all ratings are equal, and 40 points off."""
    wins = np.array([[0, 900, 100], [100, 0, 900], [900, 100, 0.0]])
    found = lack_of_fit(bradley_terry(wins), votes_of_wins(wins), "vote")
    assert found.share == pytest.approx(0.4, abs=0.001)
    assert found.p == 1 / 400
    assert (found.won, found.expected, found.votes) == (
        pytest.approx(0.9),
        pytest.approx(0.5),
        1000,
    )
    assert wins[found.winner, found.loser] == 900
    assert found.in_words("A", "B") == (
        "pairs differ from Bradley-Terry by 40.0 points of win rate beyond chance (p < 0.01). Most surprising: A beats "
        "B in 90% (n=1,000), and the board expects 50%"
    )


def test_the_most_surprising_pair_is_the_one_that_was_bent():
    coin = np.random.default_rng(5)
    wins = np.triu(coin.binomial(200, 0.5, (6, 6)), 1).astype(float)
    wins[1, 4] = 140
    wins += np.tril(200 - wins.T, -1)
    found = lack_of_fit(bradley_terry(wins), votes_of_wins(wins), "vote")
    assert (found.winner, found.loser, found.votes) == (1, 4, 200)
    assert found.won == pytest.approx(0.7)


def test_an_unbeaten_model_surprises_nobody():
    """The prior alone keeps it from winning all; beside it three models met in a circle."""
    wins = np.array([[0, 30, 25, 0], [30, 0, 30, 0], [30, 30, 0, 0], [0, 40, 0, 0.0]])
    found = lack_of_fit(bradley_terry(wins), votes_of_wins(wins), "vote")
    assert 3 not in (found.winner, found.loser)
    assert found.p > 0.05


def test_copies_of_votes_on_an_item_make_nothing_surprising():
    coin = np.random.default_rng(2)
    a = coin.integers(0, 4, 60)
    b = (a + coin.integers(1, 4, 60)) % 4
    outcome = coin.integers(0, 2, 60).astype(np.int8)
    each = np.arange(60).repeat(20)
    votes = Votes(a[each], b[each], outcome[each], 4, items=each)
    fit = bradley_terry(win_matrix(votes))
    assert lack_of_fit(fit, votes, "item").p > 0.05
    assert lack_of_fit(fit, votes, "vote").p < 0.01


@pytest.mark.parametrize(
    "votes",
    [
        decided([], [], 3),
        decided([0, 1] * 20, [1, 2] * 20, 3),
        decided([0, 1, 2], [1, 2, 0], 3),
    ],
    ids=["none", "no circle", "three votes"],
)
def test_nothing_is_told_where_no_pair_can_differ(votes):
    assert lack_of_fit(bradley_terry(win_matrix(votes)), votes, "vote") is None


def test_stubborn_voters_surprise_no_more_where_votes_are_grouped_by_item():
    """Items have one vote each, so all that hangs together is a voter's."""
    votes = voter_arena(3, 8, 2000, 8, 0.6).votes
    fit = bradley_terry(win_matrix(votes))
    single, by_voter, by_item = (lack_of_fit(fit, votes, by).p for by in ("vote", "voter", "item"))
    assert single < 0.05 < 0.2 < by_voter
    assert by_item == pytest.approx(by_voter, abs=0.1)


def test_ties_alone_fit():
    a = np.array([0, 1, 2] * 20)
    b = np.array([1, 2, 0] * 20)
    tied = np.full(60, Outcome.TIE)
    votes = Votes(a, b, tied, 3, items=np.arange(60), voters=np.arange(60) % 5)
    found = lack_of_fit(bradley_terry(win_matrix(votes)), votes, "item")
    assert (found.share, found.p) == (0, 1)
    assert "p = 1.00, so chance may explain it" in found.in_words("A", "B")


def test_it_follows_from_its_seed():
    votes = decided([0, 1, 2, 0] * 20, [1, 2, 0, 2] * 20, 3)
    fit = bradley_terry(win_matrix(votes))
    first = lack_of_fit(fit, votes, "vote", seed=1)
    assert first == lack_of_fit(fit, votes, "vote", seed=1)
    assert isinstance(first, LackOfFit)


def test_clusters_whose_votes_are_left_out_are_no_evidence_of_chance():
    """A circle on two items, and ten items on which an unbeaten model won alone."""
    circle = [(0, 1), (1, 2), (2, 0)]
    battles = [
        (winner, loser, item)
        for item in (0, 1)
        for pair in circle
        for winner, loser in [pair] * 9 + [pair[::-1]]
    ]
    battles += [(3, 0, item) for item in range(2, 12)]
    winner, loser, item = np.array(battles).T
    votes = Votes(a=winner, b=loser, outcome=np.zeros(len(winner), int), models=4, items=item)
    assert lack_of_fit(bradley_terry(win_matrix(votes)), votes, "item") is None
