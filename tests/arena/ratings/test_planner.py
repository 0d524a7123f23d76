"""Planner: the precision that it promises before any vote is the one that campaigns then have."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.intervals import intervals
from arena.ratings.planner import (
    POWER,
    Correlations,
    Plan,
    PlanError,
    comparison,
    cost,
    expected_strengths,
    half_widths,
    measured_correlations,
)
from arena.ratings.settled import look
from arena.ratings.votes import ELO, Outcome, Votes, VotesError
from perf.campaigns import PLANNER_TARGET, POLLS, TABLE_3, widths

SPLITS = {(5, 0): 336, (4, 1): 200, (3, 2): 154}
"""VisIT-Bench's tuples of five votes, by how they split (4.3)."""
STRENGTHS = np.array(TABLE_3) / ELO.points
NONE = Correlations(0, 0, 0)


def published_tuples() -> Votes:
    """The published tuples, the majority on either side in turn, so that chance agreement is a half."""
    rows = [
        (outcome, item)
        for item, (most, least) in enumerate(
            split for split, number in SPLITS.items() for _ in range(number)
        )
        for outcome in [item % 2] * most + [1 - item % 2] * least
    ]
    outcome, item = np.array(rows).T
    swapped = np.arange(len(rows)) % 2
    return Votes(swapped, 1 - swapped, (outcome ^ swapped).astype(np.int8), 2, item)


def test_the_published_tuples_have_a_correlation_of_a_half():
    assert measured_correlations(published_tuples()).within_tuple == pytest.approx(0.50, abs=0.01)


def test_correlations_that_votes_do_not_tell_are_the_assumed_ones():
    votes = replace(published_tuples(), items=np.arange(3450), voters=np.zeros(3450, int))
    assert measured_correlations(votes) == Correlations()
    with pytest.raises(VotesError, match="which item"):
        measured_correlations(replace(votes, items=None))


def test_no_votes_have_the_assumed_correlations():
    none = np.zeros(0, int)
    assert measured_correlations(Votes(none, none, none, 2, none)) == Correlations()


def test_two_rare_upsets_on_one_item_are_no_correlation_above_1():
    """Model 0 wins 40 items with one vote each, and loses both votes on another: their product is 17 variances."""
    item = np.array([*range(40), 40, 40])
    outcome = np.where(item == 40, Outcome.B, Outcome.A)
    zeros = np.zeros(len(item), int)
    votes = Votes(zeros, zeros + 1, outcome, 2, item)
    assert measured_correlations(votes).within_tuple == 1


def test_correlations_across_pairs_follow_the_shared_model():
    """On each item one model wins or loses all its battles, and the others' toss a coin: -1 and 1 shared alike."""
    coin, rows = np.random.default_rng(8), []
    for item in range(4000):
        luck = coin.permutation([0, 0, 0, 1 if item % 2 else -1])
        for low, high in ((0, 1), (1, 0), (0, 2), (3, 0), (1, 2)):
            wins = luck[low] - luck[high] or coin.choice([-1, 1])
            rows.append((low, high, Outcome.A if wins > 0 else Outcome.B, item))
    a, b, outcome, item = np.array(rows).T
    found = measured_correlations(Votes(a, b, outcome.astype(np.int8), 4, item))
    # Each is lucky on a quarter of the items: of eight couples that share one model, five share model 0, two 1, one 2.
    assert found.within_item == pytest.approx(1 / 4, abs=0.02)
    assert found.within_tuple == pytest.approx(1 / 2, abs=0.04)


def test_widths_at_table_3_are_the_known_ones():
    """5,011 votes: 18 points at one per tuple, 31 at five that correlate by a half."""
    alone = half_widths(Plan(STRENGTHS, 574, correlations=NONE), 5011, 1)
    five = half_widths(Plan(STRENGTHS, 574, correlations=replace(NONE, within_tuple=0.5)), 5011, 5)
    assert alone.mean() == pytest.approx(18, abs=0.5)
    assert five.mean() == pytest.approx(31, abs=0.5)


@pytest.mark.parametrize(
    ("models", "items", "votes", "wider"), [(7, 574, 6000, 1.11), (8, 63, 2000, 1.31)]
)
def test_what_an_items_pairs_share_makes_intervals_wider(models, items, votes, wider):
    plan = Plan(expected_strengths(models), items)
    shared = half_widths(plan, votes, 1) / half_widths(replace(plan, correlations=NONE), votes, 1)
    assert shared.mean() == pytest.approx(wider, abs=0.01)


def test_one_vote_a_tuple_costs_a_third_of_five():
    plan = Plan(
        STRENGTHS,
        574,
        half_width=30,
        correlations=Correlations(0.5, 0, 0),
        pay=18,
        fee=0.5,
        seconds=90,
    )
    one, five = cost(plan, 1), cost(plan, 5)
    assert (one.votes, five.votes) == (pytest.approx(1750, abs=25), pytest.approx(5250, abs=75))
    assert comparison([one, five]) == ["One vote per tuple costs a third of five."]
    assert comparison([one]) == comparison([five]) == []
    assert one.tuples == one.votes and five.votes == 5 * five.tuples
    assert one.workers == -(-one.votes // 20)
    assert (one.hours, one.money) == (one.votes / 40, pytest.approx(one.votes / 40 * 18 * 1.5))


def test_a_plan_takes_the_fewest_tuples_that_are_enough():
    plan = Plan(expected_strengths(9), 300, half_width=25)
    found = cost(plan, 3)
    assert found.is_enough and found.half_width <= 25 < half_widths(plan, found.votes - 3, 3).mean()
    short = cost(replace(plan, items=30), 3)
    assert not short.is_enough and short.half_width > 25 and short.tuples == 36 * 30
    assert comparison([cost(replace(plan, items=30), 1), short]) == []
    with pytest.raises(PlanError, match="goal. Give --half-width or --gap."):
        cost(replace(plan, half_width=None), 1)


def test_the_smallest_gap_is_settled_as_often_as_planned():
    strengths = np.array([0.0, 70.0, 140.0]) / ELO.points
    planned = cost(Plan(strengths, 2_000, gap=70, correlations=NONE), 1)
    settled = []
    for run in range(60):
        coin = np.random.default_rng(run)
        pair = coin.integers(0, 3, planned.votes)
        a, b = np.array([0, 0, 1])[pair], np.array([1, 2, 2])[pair]
        lost = coin.random(len(a)) > 1 / (1 + np.exp(strengths[b] - strengths[a]))
        alone = coin.permutation(len(a))
        votes = Votes(a, b, lost.astype(np.int8), 3, alone, alone)
        fit = bradley_terry(win_matrix(votes))
        seen = look(fit, intervals(fit, votes, "item"), votes, 3)
        settled += [seen.settled[1, 0], seen.settled[2, 1]]
    assert np.mean(settled) == pytest.approx(POWER, abs=0.1)


@pytest.mark.soak
@pytest.mark.parametrize("poll", POLLS[:1], ids=lambda poll: poll.name)
def test_planned_widths_are_those_of_campaigns(poll):
    found = widths(poll, 4)
    assert found.planned == pytest.approx(found.shown, rel=2 * PLANNER_TARGET), "of four campaigns"
