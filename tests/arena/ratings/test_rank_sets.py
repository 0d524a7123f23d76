"""Rank sets hold all true places of a board at once, and their reach is Tukey's."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.intervals import intervals, ranks
from arena.ratings.rank_sets import range_quantile, rank_sets, sets_around
from perf.coverage import RANKED, misses_a_rank
from tests.support.arenas import decided, even_votes, votes_of_wins


@pytest.mark.parametrize(
    "models, printed", [(2, 2.77), (3, 3.31), (10, 4.47), (20, 5.01), (60, 5.76), (100, 6.09)]
)
def test_the_reach_is_that_of_printed_tables(models, printed):
    assert range_quantile(models) * np.sqrt(2) == pytest.approx(printed, abs=0.01)


SOAKED = ("ranks of 6 models", "ranks of 60 models", "ranks of 60 equal models, 12 voters")
RUNS = 20


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(one, marks=pytest.mark.soak if one.name in SOAKED else (), id=one.name)
        for one in RANKED
    ],
)
def test_every_place_lies_in_its_set(design):
    assert sum(misses_a_rank(design, run) for run in range(RUNS)) <= 3, "5% are fair"


def test_sets_tell_the_sure_from_the_open():
    wins = np.array(
        [[0, 900, 900, 900], [100, 0, 500, 900], [100, 500, 0, 900], [100, 100, 100, 0.0]]
    )
    fit = bradley_terry(wins)
    found = intervals(fit, votes_of_wins(wins), "vote")
    places = rank_sets(fit, found)
    assert (places.low.tolist(), places.high.tolist()) == ([1, 2, 2, 4], [1, 3, 3, 4])
    trusted = np.array([True, False, True, True])
    among = rank_sets(fit, found, trusted)
    assert among.low[trusted].tolist() == among.high[trusted].tolist() == [1, 2, 3]
    assert np.isnan(among.low[1])
    assert np.isnan(among.high[1])


@pytest.mark.parametrize("prior", [0, 0.5])
def test_groups_have_places_of_their_own(prior):
    wins = np.zeros((6, 6))
    wins[0, 1], wins[1, 0], wins[2, 0] = 4, 2, 3
    wins[3, 4] = wins[4, 3] = 1
    fit = bradley_terry(wins, prior)
    places = rank_sets(fit, intervals(fit, votes_of_wins(wins), "vote"))
    assert places.high[[3, 4]].tolist() == [2, 2]
    assert np.isnan(places.low).tolist() == np.isnan(fit.ratings).tolist()


def test_few_clusters_order_less():
    """Two voters tell their spread with one degree of freedom, and all pairs at once need far more than one does."""
    votes = even_votes(4, 5, 4000)
    fit = bradley_terry(win_matrix(votes))
    found = intervals(fit, votes, "vote")
    of_many = rank_sets(fit, found)
    of_two = rank_sets(fit, replace(found, freedom=np.ones(5)))
    assert (of_two.high - of_two.low).sum() > (of_many.high - of_many.low).sum() + 4


def test_ranks_lie_in_sets_around_them():
    for seed in range(20):
        votes = even_votes(seed, 8, 60, ties=0.3)
        fit = bradley_terry(win_matrix(votes))
        found = intervals(fit, votes, "vote")
        rank = ranks(fit, found)
        places = sets_around(rank, rank_sets(fit, found))
        assert (places.low <= rank).all()
        assert (rank <= places.high).all()
        assert (places.low >= 1).all()
        assert (places.high <= 8).all()


def test_an_empty_board_has_no_places():
    fit = bradley_terry(np.zeros((3, 3)))
    places = rank_sets(fit, intervals(fit, decided([], [], 3), "vote"))
    assert np.isnan(places.low[fit.components < 0]).all()
