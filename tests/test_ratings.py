"""Ratings: online Elo equals a plain reading of the published rule."""

import random
from dataclasses import FrozenInstanceError
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings import EloSettings, elo


def published_elo(battles: list[tuple[str, str, str]], k=4, scale=400, base=10, start=1000) -> dict[str, float]:
    """Elo as FastChat publishes it: battles in order, each with model_a, model_b and the winner's side."""
    rating: dict[str, float] = {}
    for model_a, model_b, winner in battles:
        ra = rating.setdefault(model_a, start)
        rb = rating.setdefault(model_b, start)
        ea = 1 / (1 + base ** ((rb - ra) / scale))
        eb = 1 / (1 + base ** ((ra - rb) / scale))
        sa = 1 if winner == "model_a" else 0
        rating[model_a] += k * (sa - ea)
        rating[model_b] += k * (1 - sa - eb)
    return rating


def random_battles(seed: int, votes: int, models: int) -> list[tuple[int, int, str]]:
    coin = random.Random(seed)
    strength = [coin.gauss(0, 1) for _ in range(models)]
    battles = []
    for _ in range(votes):
        a, b = coin.sample(range(models), 2)
        wins = coin.random() < 1 / (1 + 2.718 ** (strength[b] - strength[a]))
        battles.append((a, b, "model_a" if wins else "model_b"))
    return battles


def winners_losers(battles) -> tuple[list[int], list[int]]:
    won = [(a, b) if side == "model_a" else (b, a) for a, b, side in battles]
    return [winner for winner, _ in won], [loser for _, loser in won]


@pytest.mark.parametrize(("seed", "votes", "models"), [(1, 1, 2), (2, 10, 3), (3, 5011, 7), (4, 20_000, 25)])
@pytest.mark.parametrize("settings", [EloSettings(), EloSettings(k=32), EloSettings(k=4, scale=200, base=2, start=0)])
def test_elo_is_the_published_rule(seed, votes, models, settings):
    battles = random_battles(seed, votes, models)
    expected = published_elo(
        [(str(a), str(b), side) for a, b, side in battles], settings.k, settings.scale, settings.base, settings.start
    )
    rated = elo(*winners_losers(battles), models, settings)
    assert rated.settings == settings
    for model, rating in enumerate(rated.ratings):
        assert rating == pytest.approx(expected.get(str(model), settings.start), abs=1e-9)
    assert sum(rated.ratings) == pytest.approx(settings.start * models, abs=1e-6)


def test_the_settings_are_the_papers():
    settings = EloSettings()
    assert (settings.k, settings.scale, settings.base, settings.start) == (4, 400, 10, 1000)
    assert elo([0], [1], 2) == elo([0], [1], 2, settings)


@given(st.lists(st.permutations(range(5)).map(lambda order: order[:2]), max_size=200))
def test_the_ratings_always_add_up(votes):
    rated = elo([winner for winner, _ in votes], [loser for _, loser in votes], 5)
    assert sum(rated.ratings) == pytest.approx(5000, abs=1e-9)


@pytest.mark.parametrize(
    ("gap", "chance"),
    [(400, 10 / 11), (138, 0.6888), (437, 0.9252), (1, 0.50144)],
    ids=["400 points", "the paper's 69%", "the paper's 93%", "1 point"],
)
def test_the_stronger_is_expected_to_win(gap, chance):
    """Formula (1) of the paper prints the sign reversed; its own examples and its numbers are the other way round."""
    settings = EloSettings(k=gap)
    apart = elo([0], [1], 2, settings).ratings
    assert apart[0] - apart[1] == gap
    expected = elo([0, 0], [1, 1], 2, settings).ratings
    surprise = elo([0, 1], [1, 0], 2, settings).ratings
    assert (expected[0] - apart[0]) / gap == pytest.approx(1 - chance, abs=5e-5)
    assert (surprise[1] - apart[1]) / gap == pytest.approx(chance, abs=5e-5)


def test_one_vote_moves_two_points_each_way():
    assert elo([0], [1], 3).ratings == (1002, 998, 1000)


def test_no_vote_leaves_all_at_the_start():
    assert elo([], [], 2).ratings == (1000, 1000)
    assert elo([], [], 0).ratings == ()


def test_the_order_of_votes_matters():
    votes = [(0, 1), (1, 2), (2, 0), (0, 2)]
    ratings = {elo([w for w, _ in order], [x for _, x in order], 3).ratings for order in permutations(votes)}
    assert len(ratings) > 1


def test_an_undefeated_model_stays_finite():
    ratings = elo([0] * 100_000, [1] * 100_000, 2).ratings
    assert 1000 < ratings[0] < 4000


def test_lists_of_different_length_are_refused():
    with pytest.raises(ValueError, match="shorter|longer"):
        elo([0, 1], [1], 2)


def test_ratings_and_settings_are_frozen():
    with pytest.raises(FrozenInstanceError):
        EloSettings().k = 32  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        elo([0], [1], 2).ratings = ()  # pyright: ignore[reportAttributeAccessIssue]
