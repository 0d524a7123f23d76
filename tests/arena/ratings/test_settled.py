"""Settled orders: equal models hardly ever settle, however often one looks, and what has settled is never hidden."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.bradley_terry import Strengths, bradley_terry, win_matrix
from arena.ratings.intervals import intervals
from arena.ratings.settled import (
    ALPHA,
    Settlement,
    add_settlements,
    boundary,
    look,
    neighbouring_orders,
    orders,
)
from arena.ratings.votes import ELO, Outcome, Votes, VotesError
from perf.campaigns import (
    AIMED,
    EQUAL,
    SETTLE_TARGET,
    SETTLED,
    is_campaign_falsely_settled,
    saving,
)
from perf.coverage import Design, is_falsely_settled, votes_of


def seen(votes: Votes, shown: int | None = None):
    fit = bradley_terry(win_matrix(votes))
    return look(fit, intervals(fit, votes, "item"), votes, shown or votes.models)


def on_items(*of_items: str) -> Votes:
    """Votes on two models, each by another voter, the winners on each item as letters."""
    won = "".join(of_items)
    item = np.repeat(np.arange(len(of_items)), [len(one) for one in of_items])
    outcome = np.array([Outcome.A if winner == "a" else Outcome.B for winner in won], np.int8)
    zeros = np.zeros(len(won), int)
    return Votes(zeros, zeros + 1, outcome, 2, item, np.arange(len(won)))


def test_equal_models_hardly_ever_settle():
    """Looks every 50 votes; ordinary intervals would settle some pair in nearly all arenas."""
    falsely = sum(is_falsely_settled(replace(EQUAL[0], votes=1_500), run) for run in range(8))
    assert falsely <= 2, "a fair 5% settles more of 8 in one of 170"


@pytest.mark.soak
@pytest.mark.parametrize("poll", AIMED, ids=lambda poll: poll.name)
def test_equal_models_hardly_ever_settle_in_a_campaign_that_aims(poll):
    short = replace(poll, votes=1_500)
    falsely = sum(is_campaign_falsely_settled(short, run) for run in range(20))
    assert falsely <= 4, "a fair 5% settles more of 20 in one of 400"


@pytest.mark.soak
def test_aiming_saves_more_than_half_of_the_votes():
    found = saving(SETTLED, 5)
    assert found.settle <= SETTLE_TARGET * found.uniform
    assert found.wrong <= 1


@pytest.mark.parametrize("told", [3.0, 40.0, 300.0])
def test_the_boundary_is_that_of_the_normal_mixture(told):
    """The mixture's likelihood ratio, exp(z^2 V / 2(V + r)) sqrt(r / (V + r)), is pairs / alpha on the boundary."""
    z = boundary(np.array([1 / told]), 21)
    assert np.exp(z**2 * told / 2 / (told + 40)) * np.sqrt(40 / (told + 40)) == pytest.approx(
        21 / ALPHA
    )


def test_a_gap_is_measured_in_errors_by_item():
    votes = votes_of(Design("", 5, 100, 2_000), np.random.default_rng(1))
    fit = bradley_terry(win_matrix(votes))
    found = intervals(fit, votes, "item")
    contrast = np.array([0, 1, 0, -1, 0]) / ELO.points
    variance = contrast @ found.covariance @ contrast
    wanted = (fit.strengths[1] - fit.strengths[3]) / np.sqrt(variance) / boundary(variance, 10)
    told = look(fit, found, votes, 5)
    assert told.progress[1, 3] == pytest.approx(wanted) == pytest.approx(-told.progress[3, 1])
    with pytest.raises(ValueError, match="clustered by item"):
        look(fit, intervals(fit, votes, "tuple"), votes, 5)
    with pytest.raises(VotesError, match="which item"):
        look(fit, found, replace(votes, items=None), 5)


def test_nothing_settles_before_fifty_votes_on_twenty_items():
    """On every item the same votes: nothing surprises, so that a gap is certain at once but for these floors."""
    assert not seen(on_items(*["aab"] * 19)).settled.any()
    assert seen(on_items(*["aab"] * 20)).settled[0, 1]
    assert not seen(on_items(*["aab"] * 14, *"aaaabba")).settled.any()
    assert seen(on_items(*["aab"] * 14, *"aaaabbaa")).settled[0, 1]


def test_a_popular_item_settles_nothing():
    """Without that, 25 of 300 arenas of seven equal models settle an order whose busiest item has 61% of all votes."""
    assert seen(on_items("aab" * 40, *["aab"] * 60)).settled[0, 1]
    assert not seen(on_items("aab" * 50, *["aab"] * 60)).settled.any()


def test_the_taste_of_few_voters_settles_nothing():
    """Without that, one pair of three equal models settles in 50 of 60 arenas whose eight voters come in turn."""
    votes = on_items(*["aab"] * 60)
    busiest = np.maximum(np.arange(180) // 10, 13) - 13
    for voters, settles in (
        (np.arange(180) // 45, False),
        (busiest, False),
        (np.arange(180) // 36, True),
    ):
        assert seen(replace(votes, voters=voters)).settled[0, 1] == settles


def test_unnamed_voters_settle_nothing_but_a_judge_does():
    """Of 300 arenas of equal models whose six voters nobody named, 212 settled an order."""
    votes = replace(on_items(*["aab"] * 60), voters=None)
    fit = bradley_terry(win_matrix(votes))
    found = intervals(fit, votes, "item")
    assert not look(fit, found, votes, 2).settled.any()
    assert look(fit, found, votes, 2, judged=True).settled[0, 1]


def test_every_pair_ever_shown_shares_the_errors():
    votes = on_items(*["aaab"] * 20)
    assert seen(votes, 3).progress[0, 1] < seen(votes, 2).progress[0, 1]
    assert boundary(np.array([0.01]), 10) == boundary(np.array([0.01]), 1, ALPHA / 10)
    with pytest.raises(ValueError, match="only 1 were ever shown"):
        seen(votes, 1)


def test_settled_means_settled_then_and_a_contradiction_is_shown():
    before, faded, after = (
        on_items(*["aab"] * 20, *more) for more in ([], ["abb"] * 15, ["abb"] * 90)
    )
    record = add_settlements(seen(before), ())
    assert record == (Settlement(0, 1, 60),)
    assert record == add_settlements(replace(seen(before), votes=99), record)
    assert not seen(faded).settled.any()
    record = add_settlements(seen(faded), record)
    (order,) = neighbouring_orders(seen(faded), (0, 1), record)
    assert (order.state, order.settled_at) == ("settled", 60) and 0 < order.progress < 1
    record = add_settlements(seen(after), record)
    assert record == (Settlement(0, 1, 60), Settlement(1, 0, 330))
    (order,) = neighbouring_orders(seen(after), (1, 0), record)
    assert (order.above, order.state, order.settled_at) == (1, "contradicted", 60)
    (order,) = orders(seen(before), [(0, 1)], record)
    assert order.state == "contradicted", "once both were settled, neither is"
    (order,) = neighbouring_orders(seen(after), (1, 0), record[:1])
    assert order.state == "contradicted", "the standings have turned"


def test_the_orders_of_a_board_follow_its_standings():
    votes = votes_of(Design("", 6, 200, 6_000, quality=0.0), np.random.default_rng(2))
    told, fit = seen(votes), bradley_terry(win_matrix(votes))
    standings = np.argsort(-fit.ratings).tolist()
    record = add_settlements(told, ())
    found = neighbouring_orders(told, standings, record)
    assert [(order.above, order.below) for order in found] == list(
        zip(standings, standings[1:], strict=False)
    )
    assert {order.state for order in found} == {"settled", "open"}
    for order in found:
        assert (order.state == "settled") == (order.progress > 1) and order.progress > 0
    assert not any(order.progress for order in orders(apart(told, votes), [(0, 1)], ()))


def apart(told, votes: Votes):
    """A look at the same votes by a fit that cannot compare the models."""
    fit = bradley_terry(win_matrix(votes))
    alone: Strengths = replace(fit, comparable=np.eye(votes.models, dtype=bool))
    return look(alone, intervals(fit, votes, "item"), votes, votes.models)
