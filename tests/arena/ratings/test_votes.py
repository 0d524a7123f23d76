"""Ratings: votes as columns, and online Elo, which equals a plain reading of the published rule."""

import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.ratings.votes import (
    ELO,
    VOTES_A_BLOCK,
    EloSettings,
    Outcome,
    Votes,
    VotesError,
    elo,
    encode_columns,
    outcome_counts,
    win_loss_counts,
)
from tests.support.arenas import AGAINST, REFERENCE, SINGLE, decided, even_votes, table_3


def published_elo(
    battles: list[tuple[str, str, str]], k=4, scale=400, base=10, start=1000
) -> dict[str, float]:
    """Elo as FastChat publishes it: battles in order, each with model_a, model_b and the winner's side."""
    rating: dict[str, float] = {}
    for model_a, model_b, winner in battles:
        ra = rating.setdefault(model_a, start)
        rb = rating.setdefault(model_b, start)
        ea = 1 / (1 + base ** ((rb - ra) / scale))
        eb = 1 / (1 + base ** ((ra - rb) / scale))
        sa = {"model_a": 1, "model_b": 0, "tie": 0.5, "tie (bothbad)": 0.5}[winner]
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


def won_and_lost(battles) -> Votes:
    won = [(a, b) if side == "model_a" else (b, a) for a, b, side in battles]
    return decided(
        [winner for winner, _ in won],
        [loser for _, loser in won],
        1 + max(max(a, b) for a, b, _ in battles),
    )


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("seed", "votes", "models"), [(1, 1, 2), (2, 10, 3), (3, 5011, 7), (4, 4_000, 25)]
)
@pytest.mark.parametrize(
    "settings", [ELO, EloSettings(k=32), EloSettings(k=4, scale=200, base=2, start=0)]
)
def test_elo_is_the_published_rule(seed, votes, models, settings):
    battles = random_battles(seed, votes, models)
    expected = published_elo(
        [(str(a), str(b), side) for a, b, side in battles],
        settings.k,
        settings.scale,
        settings.base,
        settings.start,
    )
    won = won_and_lost(battles)
    rated = elo(decided(won.a.tolist(), won.b.tolist(), models), settings)
    for model, rating in enumerate(rated):
        assert rating == pytest.approx(expected.get(str(model), settings.start), abs=1e-9)
    assert sum(rated) == pytest.approx(settings.start * models, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_ties_and_sides_are_as_published(seed):
    votes = even_votes(seed, 6, 4000, ties=0.4)
    sides = {
        Outcome.A: "model_a",
        Outcome.B: "model_b",
        Outcome.TIE: "tie",
        Outcome.BOTH_BAD: "tie (bothbad)",
    }
    columns = zip(votes.a, votes.b, votes.outcome, strict=True)
    expected = published_elo([(str(a), str(b), sides[outcome]) for a, b, outcome in columns])
    assert elo(votes) == pytest.approx([expected[str(model)] for model in range(6)], abs=1e-9)


def test_the_settings_are_the_papers():
    assert (ELO.k, ELO.scale, ELO.base, ELO.start) == (4, 400, 10, 1000)
    assert ELO.points == pytest.approx(173.7178, abs=1e-4)


@settings(deadline=None)
@given(st.lists(st.permutations(range(5)).map(lambda order: order[:2]), max_size=200))
def test_the_ratings_always_add_up(votes):
    rated = elo(decided([winner for winner, _ in votes], [loser for _, loser in votes], 5))
    assert sum(rated) == pytest.approx(5000, abs=1e-9)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_sides_of_a_vote_may_be_swapped(seed):
    votes = even_votes(seed, 5, 60, ties=0.3)
    swapped = Votes(votes.b, votes.a, np.array([1, 0, 2, 3])[votes.outcome], 5)
    assert elo(swapped) == pytest.approx(elo(votes), abs=1e-9)


@pytest.mark.parametrize(
    ("gap", "chance"),
    [(400, 10 / 11), (138, 0.6888), (437, 0.9252), (1, 0.50144)],
    ids=["400 points", "the paper's 69%", "the paper's 93%", "1 point"],
)
def test_the_stronger_is_expected_to_win(gap, chance):
    """Formula (1) of the paper prints the sign reversed; its own examples and its numbers are the other way round."""
    settings = EloSettings(k=gap)
    apart = elo(decided([0], [1], 2), settings)
    assert apart[0] - apart[1] == gap
    expected = elo(decided([0, 0], [1, 1], 2), settings)
    surprise = elo(decided([0, 1], [1, 0], 2), settings)
    assert (expected[0] - apart[0]) / gap == pytest.approx(1 - chance, abs=5e-5)
    assert (surprise[1] - apart[1]) / gap == pytest.approx(chance, abs=5e-5)


def test_one_vote_moves_two_points_each_way():
    assert elo(decided([0], [1], 3)).tolist() == [1002, 998, 1000]


def test_no_vote_leaves_all_at_the_start():
    assert elo(decided([], [], 2)).tolist() == [1000, 1000]
    assert elo(decided([], [], 0)).tolist() == []


def test_the_order_of_votes_matters():
    votes = decided([0, 1, 2, 0], [1, 2, 0, 2], 3)
    ratings = {tuple(elo(votes.take(np.array(order)))) for order in permutations(range(4))}
    assert len(ratings) > 1


def test_an_undefeated_model_stays_finite():
    ratings = elo(decided([0] * 100_000, [1] * 100_000, 2))
    assert 1000 < ratings[0] < 4000


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"b": column(1)}, "column b has shape (1,)"),
        ({"outcome": column(0)}, "column outcome has shape (1,)"),
        ({"items": column(0, 0, 0)}, "column items has shape (3,)"),
        ({"a": column(0, 3)}, "models are coded 0 to 2"),
        ({"b": column(-1, 2)}, "models are coded 0 to 2"),
        ({"outcome": column(0, 4)}, "outcomes are coded 0 to 3"),
        ({"b": column(1, 1)}, "vote 1 sets a model against itself"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, problem):
    fitting = {"a": column(0, 1), "b": column(1, 2), "outcome": column(0, 1)}
    Votes(models=3, **fitting)
    with pytest.raises(VotesError) as refused:
        Votes(models=3, **fitting | columns)
    assert problem in str(refused.value)


def test_votes_are_taken_with_all_their_columns():
    votes = Votes(column(0, 1, 2), column(1, 2, 0), column(0, 3, 2), 3, items=column(5, 6, 7))
    kept = votes.take(votes.outcome != Outcome.BOTH_BAD)
    assert (kept.a.tolist(), kept.outcome.tolist(), kept.items.tolist()) == ([0, 2], [0, 2], [5, 7])
    assert (kept.voters, kept.models, len(kept)) == (None, 3, 2)


def test_names_are_coded_in_the_order_of_first_sight():
    names, columns = encode_columns(["owl", "bee", "owl"], ["ant", "owl", "bee"])
    assert names == ("owl", "bee", "ant")
    assert [codes.tolist() for codes in columns] == [[0, 1, 0], [2, 0, 1]]
    assert encode_columns([], [])[0] == ()


def test_win_loss_counts_have_every_battle_of_a_model():
    votes = Votes(column(0, 0, 1, 2), column(1, 2, 2, 0), column(0, 1, 2, 3), 4)
    counted = win_loss_counts(votes)
    assert counted.wins.tolist() == [1, 0, 1, 0]
    assert counted.losses.tolist() == [1, 1, 0, 0]
    assert counted.ties.tolist() == [1, 1, 2, 0]
    assert counted.battles.tolist() == [3, 2, 3, 0]


def test_votes_of_several_blocks_count_once_each():
    votes = even_votes(3, 4, 2 * VOTES_A_BLOCK + 1, ties=0.1)
    expected = np.zeros((len(Outcome), 4, 4))
    np.add.at(expected, (votes.outcome, votes.a, votes.b), 1)
    assert (outcome_counts(votes) == expected).all()


def test_the_papers_table_3_counts_votes_as_matches_of_two_models():
    votes = table_3()
    counted = win_loss_counts(votes)
    assert len(votes) == 5011
    assert counted.battles.sum() == 10_022
    assert counted.battles[REFERENCE] == 1439
    assert counted.battles.tolist() == list(SINGLE)
    for model, (met, rate) in enumerate(AGAINST, 1):
        won = int(((votes.a == model) & (votes.b == REFERENCE)).sum())
        assert won / met == pytest.approx(rate, abs=5e-5)
