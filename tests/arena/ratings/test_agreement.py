"""Agreement of people and measures: hand-computed figures, krippendorff as an oracle, and what stays undefined."""

import math
import random
from collections import Counter
from typing import get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.ratings.agreement import (
    LEAST_CONTESTS,
    Choices,
    Contest,
    Estimate,
    Level,
    Measure,
    Verdict,
    Winner,
    by_scores,
    by_verdicts,
    coin,
    contest_of,
    people,
    random_score,
    reproductions,
    share,
    with_several_votes,
)

PAPER = [Choices(5, 0)] * 180 + [Choices(0, 5)] * 156 + [Choices(4, 1)] * 90 + [Choices(1, 4)] * 110
PAPER += [Choices(3, 2)] * 80 + [Choices(2, 3)] * 74
"""VisIT-Bench's 690 pairs: 336 with 5/5, 200 with 4/5, 154 with 3/5 (section 4.3)."""

CHOICES = st.builds(Choices, st.integers(0, 6), st.integers(0, 6)).filter(
    lambda chosen: sum(chosen) > 1
)


def contests(count: int) -> list[Contest]:
    return [Contest(f"item {number}", "m1", "m2") for number in range(count)]


def mirrored(counts: np.ndarray) -> np.ndarray:
    """Votes by contest (contests x models), and once more with the models exchanged."""
    return np.concatenate([counts, counts[:, ::-1]])


# People.
def test_alpha_and_ac1_are_the_hand_computed_ones():
    """Four pairs with two votes each, and the same with m1 and m2 exchanged.

    Alpha: 4 coincidences of unlike values, 8 of each value in 16 votes: 1 - 4 / (2 * 8 * 8 / 15) = 17/32. AC1:
    agreement 3/4, chance 1/2.
    """
    found = people([Choices(2, 0), Choices(1, 1), Choices(0, 2), Choices(2, 0)])
    assert found.alpha.value == pytest.approx(17 / 32, abs=1e-12)
    assert found.ac1.value == pytest.approx(1 / 2, abs=1e-12)
    assert (found.contests, found.votes, found.undecided) == (4, 8, 1)
    assert (found.with_majority.hits, found.with_majority.n) == (6, 6)


def test_the_papers_shares():
    found = people(PAPER)
    assert [(str(level), of.hits, of.n) for level, of in found.levels.items()] == [
        ("5/5", 336, 690),
        ("4/5", 200, 690),
        ("3/5", 154, 690),
    ]
    assert found.votes == 3450 and found.undecided == 0
    assert (found.with_majority.hits, found.with_majority.n) == (336 * 5 + 200 * 4 + 154 * 3, 3450)


def test_levels_are_shares_of_the_contests_with_as_many_votes():
    found = people([Choices(3, 0), Choices(1, 2), Choices(2, 1), Choices(4, 1), Choices(2, 2)])
    told = {str(level): (of.hits, of.n) for level, of in found.levels.items()}
    assert told == {"4/5": (1, 1), "2/4": (1, 1), "3/3": (1, 3), "2/3": (2, 3)}
    assert found.undecided == 1


@settings(deadline=None)
@given(st.lists(CHOICES, min_size=1, max_size=30))
def test_alpha_is_the_librarys_of_the_contests_and_their_mirror_images(chosen):
    theirs = krippendorff.alpha(
        value_counts=mirrored(np.array(chosen)), level_of_measurement="nominal"
    )
    assert people(chosen, rounds=10).alpha.value == pytest.approx(theirs, abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.tuples(CHOICES, st.booleans()), min_size=1, max_size=30))
def test_no_name_of_a_model_changes_a_coefficient(chosen):
    """New names turn some contests round, not all."""
    renamed = [Choices(*reversed(each)) if turned else each for each, turned in chosen]
    one, other = people([each for each, _ in chosen], rounds=1), people(renamed, rounds=1)
    assert one.alpha.value == pytest.approx(other.alpha.value)
    assert one.ac1.value == pytest.approx(other.ac1.value)
    assert one.levels == other.levels


def test_where_all_chose_the_same_people_agree():
    found = people([Choices(5, 0)] * 40)
    assert found.alpha == found.ac1 == Estimate(1.0, None, None), (
        "no draw moves it: that is no interval from 1 to 1"
    )


def test_nothing_is_defined_without_votes():
    found = people([])
    assert found.alpha == found.ac1 == Estimate(None, None, None)
    assert (
        found.contests == found.votes == 0
        and found.levels == {}
        and found.with_majority.value is None
    )


def test_a_contest_with_one_vote_is_refused():
    with pytest.raises(ValueError, match="two votes"):
        people([Choices(3, 2), Choices(1, 0)])
    three = dict(zip(contests(3), [Choices(1, 0), Choices(1, 1), Choices(0, 0)], strict=True))
    assert list(with_several_votes(three)) == contests(3)[1:2]


def test_the_bootstrap_draws_contests_not_votes():
    """A plain bootstrap of contests through the library has the same bounds; one of votes would be narrower."""
    coins = np.random.default_rng(5)
    lean = coins.beta(0.7, 0.7, 150)
    first = coins.binomial(5, lean)
    counts = np.stack([first, 5 - first], 1)
    found = people([Choices(*map(int, row)) for row in counts])
    draws = [
        krippendorff.alpha(
            value_counts=mirrored(counts[coins.integers(0, 150, 150)]),
            level_of_measurement="nominal",
        )
        for _ in range(1000)
    ]
    assert found.alpha.low == pytest.approx(np.quantile(draws, 0.025), abs=0.02)
    assert found.alpha.high == pytest.approx(np.quantile(draws, 0.975), abs=0.02)
    assert None not in (found.ac1.low, found.ac1.value, found.ac1.high)


def test_the_bootstrap_is_seeded_and_silent_about_few_contests():
    assert people(PAPER) == people(PAPER)
    few = [Choices(4, 1), Choices(1, 4), Choices(5, 0)] * (LEAST_CONTESTS // 3)
    assert (
        len(few) < LEAST_CONTESTS and people(few).alpha.low is None is not people(few).alpha.value
    )
    enough = [*few, *few, *few]
    assert people(enough).alpha.low is not None
    rare = people([Choices(2, 0)] * 19 + [Choices(1, 1)])
    assert rare.alpha.low < rare.alpha.value < rare.alpha.high == 1, (
        "a draw without the one disagreement is agreement"
    )


def test_shares_have_wilsons_interval():
    """Wilson 1927, for 8 of 10: (0.8 + z²/20 ± z * sqrt(0.16/10 + z²/400)) / (1 + z²/10)."""
    z = 1.959963984540054
    middle, reach = 0.8 + z * z / 20, z * math.sqrt(0.016 + z * z / 400)
    found = share(8, 10)
    assert (found.low, found.high) == pytest.approx(
        ((middle - reach) / (1 + z * z / 10), (middle + reach) / (1 + z * z / 10))
    )
    nothing = share(0, 0)
    assert (nothing.value, nothing.low, nothing.high) == (None, 0.0, 1.0)


# Measures.
def test_a_planted_measure_has_the_planted_shares():
    """93% of 5/5, 75% of 4/5, 50% of 3/5: the figures of a measure that was made to have them."""
    choices = dict(zip(contests(690), PAPER, strict=True))
    right = {Level(5, 5): 312, Level(4, 5): 150, Level(3, 5): 77}
    preferences, seen = {}, Counter()
    for contest, chosen in choices.items():
        seen[chosen.level] += 1
        hit = seen[chosen.level] <= right[chosen.level]
        preferences[contest] = (
            chosen.majority if hit else {"first": "second", "second": "first"}[chosen.majority]
        )
    (found,) = reproductions(choices, [Measure("planted", preferences)])
    assert {str(level): (of.hits, of.n) for level, of in found.levels.items()} == {
        "5/5": (312, 336),
        "4/5": (150, 200),
        "3/5": (77, 154),
    }
    assert (found.overall.hits, found.overall.n, found.ties, found.missing) == (539, 690, 0, 0)
    assert found.overall.value == pytest.approx(539 / 690)


def test_ties_go_to_the_coin_and_what_is_missing_stays_out():
    choices = dict(zip(contests(400), [Choices(5, 0)] * 399 + [Choices(2, 2)], strict=True))
    tied = Measure("tied", dict.fromkeys(contests(300), "tie"))
    (found,) = reproductions(choices, [tied])
    heads = sum(coin(contest) == "first" for contest in contests(300))
    assert (found.overall.hits, found.overall.n, found.ties, found.missing) == (heads, 300, 300, 99)
    assert 120 < heads < 180, "the coin is fair"
    assert "2/4" not in map(str, found.levels), "without a majority there is nothing to reproduce"


def test_measures_are_sorted_the_best_first_and_silent_ones_last():
    choices = dict(zip(contests(10), [Choices(3, 0)] * 10, strict=True))
    measures = [
        Measure("silent", {}),
        Measure("wrong", dict.fromkeys(choices, "second")),
        Measure("right", dict.fromkeys(choices, "first")),
        Measure("also right", dict.fromkeys(choices, "first")),
    ]
    assert [one.measure for one in reproductions(choices, measures)] == [
        "also right",
        "right",
        "wrong",
        "silent",
    ]


def test_the_coin_does_not_know_the_sides():
    assert contest_of("i", "b", "a") == contest_of("i", "a", "b") == Contest("i", "a", "b")
    with pytest.raises(ValueError, match="itself"):
        contest_of("i", "a", "a")


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1 << 32))
def test_swapping_sides_and_shuffling_changes_nothing(seed):
    coins = random.Random(seed)
    models = ["m1", "m2", "m3", "m4"]
    verdicts, choices = {}, {}
    for number in range(30):
        one, other = coins.sample(models, 2)
        contest = contest_of(f"i{number % 11}", one, other)
        winner = coins.choice(get_args(Winner))
        verdicts[contest] = Verdict(contest.item, one, other, winner, "judge")
        choices[contest] = Choices(coins.randrange(1, 5), coins.randrange(1, 5))
    other_side: dict[Winner, Winner] = {"a": "b", "b": "a", "tie": "tie"}
    swapped = [
        Verdict(item, other, one, other_side[winner], judge)
        for item, one, other, winner, judge in verdicts.values()
    ]
    coins.shuffle(swapped)
    assert reproductions(choices, by_verdicts(verdicts.values())) == reproductions(
        choices, by_verdicts(swapped)
    )


def test_the_higher_score_is_preferred():
    scores = {
        ("i", "a"): 1.0,
        ("i", "b"): 2.0,
        ("j", "a"): 2.0,
        ("j", "b"): 1.5,
        ("k", "a"): 1.0,
        ("k", "b"): 1.0,
        ("l", "a"): 0.0,
    }
    played = [Contest(item, "a", "b") for item in "ijkl"]
    measure = by_scores("metric", scores, played)
    assert measure.preferences == {played[0]: "second", played[1]: "first", played[2]: "tie"}


def test_each_judge_is_a_measure_and_has_one_verdict_a_contest():
    verdicts = [Verdict("i", "b", "a", "a", "free"), Verdict("i", "a", "b", "tie", "backed")]
    assert {one.name: dict(one.preferences) for one in by_verdicts(verdicts)} == {
        "free": {Contest("i", "a", "b"): "second"},
        "backed": {Contest("i", "a", "b"): "tie"},
    }
    (changed,) = by_verdicts([verdicts[0], Verdict("i", "a", "b", "a", "free")])
    assert changed.preferences == {Contest("i", "a", "b"): "first"}, "the last of two counts"


def test_random_scores_are_even_and_apart_from_the_coin():
    scores = np.array(
        [random_score(f"i{number}", model) for number in range(2000) for model in ("m1", "m2")]
    ).reshape(-1, 2)
    assert scores.min() >= 0 and scores.max() < 1 and abs(scores.mean() - 0.5) < 0.02
    first = scores[:, 0] > scores[:, 1]
    heads = np.array([coin(Contest(f"i{number}", "m1", "m2")) == "first" for number in range(2000)])
    assert abs(first.mean() - 0.5) < 0.05
    assert abs((first == heads).mean() - 0.5) < 0.05
