"""Style control: planted effects come back, and a model that only writes long loses what length gave it."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.bradley_terry import Anchor, bradley_terry, win_matrix
from arena.ratings.style import Style, style_control, style_differences, style_of
from arena.ratings.votes import Votes
from tests.support.arenas import POINTS, even_votes


def test_marks_are_counted():
    lists = "- one\n* two\n  + three\n1. four\n2) five\n-no entry\n"
    text = f"# Title\n\nplain **bold** and __also bold__\n\n{lists}\n## End\n#no heading"
    assert style_of(text) == Style(len(text), headings=2, lists=5, bold=2)
    assert style_of("") == Style(0, 0, 0, 0)
    assert style_of("2 ** 3 ** 4 and a*b") == Style(19, 0, 0, 1)


def test_differences_are_shares_in_units_of_their_deviation():
    a, b = np.array([[10, 0], [30, 0], [5, 0]]), np.array([[30, 0], [10, 0], [5, 0]])
    found = style_differences(a, b)
    assert found[:, 1].tolist() == [0, 0, 0]
    assert found[:, 0].std() == pytest.approx(1)
    assert found[0, 0] == -found[1, 0]
    assert found[2, 0] == 0
    assert style_differences(b, a) == pytest.approx(-found)


def styled(seed: int, number: int, effects: tuple[float, ...]) -> tuple[Votes, np.ndarray, np.ndarray]:
    """Votes decided by strength and style; model 0 writes long."""
    coin = np.random.default_rng(seed)
    votes = even_votes(seed, 8, number)
    long = np.where(np.arange(8) == 0, 300, 100)
    counts = [
        coin.poisson(np.stack([long[side], 3 + 0 * side, 2 + 0 * side, 4 + 0 * side], 1)) for side in (votes.a, votes.b)
    ]
    differences = style_differences(*counts)
    theta = coin.normal(0, 0.6, 8)
    margin = theta[votes.a] - theta[votes.b] + differences @ np.array(effects)
    lost = (coin.random(number) > 1 / (1 + np.exp(-margin))).astype(np.int8)
    return replace(votes, outcome=lost), differences, (theta - theta.mean()) * POINTS + 1000


@pytest.mark.parametrize("cluster", ["vote", "tuple", "voter", "tuple and voter"])
def test_planted_effects_come_back(cluster):
    effects = (0.5, 0.0, -0.3, 0.1)
    votes, differences, truth = styled(5, 20_000, effects)
    if cluster != "vote":
        votes = replace(votes, items=np.arange(len(votes)) // 2, voters=np.arange(len(votes)) % 300)
    found = style_control(votes, differences, cluster)
    print("seed 5:", found.coefficients / POINTS, found.coefficient_errors / POINTS)
    assert (np.abs(found.coefficients - np.array(effects) * POINTS) < 4 * found.coefficient_errors).all()
    assert (np.abs(found.ratings - truth) < 4 * found.intervals.errors).all()
    assert found.ratings[0] < found.plain.ratings[0] - 50
    assert found.intervals.cluster == cluster


def test_intervals_cover_the_planted_truth():
    inside = []
    for seed in range(60):
        votes, differences, truth = styled(1000 + seed, 3000, (0.4, 0.0, 0.2, 0.0))
        found = style_control(votes, differences, "vote")
        inside.append(np.mean((found.intervals.low <= truth) & (truth <= found.intervals.high)))
    print("seeds 1000 to 1059:", np.mean(inside))
    assert 0.92 <= np.mean(inside) <= 0.98


@pytest.mark.parametrize("prior", [0, 0.5])
def test_without_any_style_it_is_bradley_terry(prior):
    votes = even_votes(6, 7, 2000, ties=0.2)
    found = style_control(votes, np.zeros((2000, 4)), "vote", prior, Anchor(2, 1100))
    plain = bradley_terry(win_matrix(votes), prior, Anchor(2, 1100))
    assert found.ratings == pytest.approx(plain.ratings, abs=1e-6)
    assert found.coefficients == pytest.approx(0)


def test_swapped_sides_are_the_same_votes():
    votes, differences, _ = styled(7, 2000, (0.4, 0.1, 0.0, 0.0))
    swapped = Votes(votes.b, votes.a, np.array([1, 0, 2, 3])[votes.outcome], 8)
    found, same = style_control(votes, differences, "vote"), style_control(swapped, -differences, "vote")
    assert same.ratings == pytest.approx(found.ratings, abs=1e-6)
    assert same.intervals.errors == pytest.approx(found.intervals.errors, rel=1e-6)


def test_style_that_decides_every_vote_and_separated_models_stay_finite():
    votes = even_votes(8, 4, 200)
    decisive = np.where(votes.outcome == 0, 1.0, -1.0)[:, None]
    found = style_control(votes, decisive, "vote")
    assert np.isfinite(found.ratings).all()
    assert 300 < found.coefficients[0] < 2000
    lone = Votes(np.append(votes.a, 4), np.append(votes.b, 0), np.append(votes.outcome, 0), 6)
    bare = style_control(lone, np.append(decisive, [[1.0]], axis=0), "vote", prior=0)
    assert np.isnan(bare.ratings).tolist() == [False] * 4 + [True] * 2


@pytest.mark.parametrize("differences", [np.zeros((3, 2)), np.zeros(10), np.full((10, 1), np.nan)])
def test_differences_that_do_not_fit_are_refused(differences):
    with pytest.raises(ValueError, match="a row of finite differences a vote"):
        style_control(even_votes(1, 3, 10), differences, "vote")
