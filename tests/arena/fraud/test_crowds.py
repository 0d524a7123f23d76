"""Crowds: whoever chooses one model as one moves it by at most one rank; tastes, also shared ones, are no crowd."""

import numpy as np
import pytest

from arena.fraud.crowds import crowds, stands_out
from arena.fraud.detectors import CROWD_REASONS, Suspicion, VoterChoices
from arena.fraud.review import review
from perf.fraud import (
    CROWD_MODELS,
    FIRST_RIGGER,
    MOST_HONEST_OUT,
    WEAKEST,
    draw_honest,
    draw_with_accounts,
    draw_with_class,
    draw_with_crowd,
    joined,
    review_arena,
)

FEW = (1,)
MANY = pytest.param(25, marks=pytest.mark.soak)


@pytest.mark.parametrize("runs", [*FEW, MANY])
@pytest.mark.parametrize("taste", [0.3, 1.0])
def test_a_crowd_spread_over_networks_and_days_moves_its_model_by_at_most_one_rank(taste, runs):
    for run in range(runs):
        whole, cohorts = draw_with_crowd(np.random.default_rng(run), taste, days=10, networks=100)
        outcome = review_arena(whole, cohorts)
        assert outcome.moved <= 1 and outcome.caught > 0.25
        assert outcome.honest <= 2 / 500 and outcome.touched < 0.1


@pytest.mark.parametrize("runs", [*FEW, MANY])
@pytest.mark.parametrize(("honest", "riggers", "each"), [(45, 12, 100), (45, 24, 100)])
@pytest.mark.parametrize("taste", [0.3, 1.0])
def test_colluding_accounts_are_found_however_many_they_are(taste, honest, riggers, each, runs):
    for run in range(runs):
        whole = draw_with_accounts(np.random.default_rng(run), taste, honest, riggers, each)
        outcome = review_arena(whole, ())
        assert outcome.moved <= 1 and outcome.caught > 0.5


def test_accounts_that_vote_much_are_found_among_many():
    whole = draw_with_accounts(np.random.default_rng(0), 0.35, honest=75, riggers=7, each=300)
    outcome = review_arena(whole, ())
    assert outcome.moved <= 1 and outcome.caught == 1


@pytest.mark.parametrize("runs", [*FEW, MANY])
@pytest.mark.parametrize("taste", [0.3, 1.0])
def test_wide_tastes_are_no_crowd(taste, runs):
    found = 0
    for run in range(runs):
        honest = draw_honest(np.random.default_rng(run), 5000, 0, 10, taste, CROWD_MODELS)
        found += len(crowds(honest, CROWD_MODELS))
    assert found <= runs * 0.05


@pytest.mark.parametrize(
    ("runs", "most"), [(2, 0.0), pytest.param(25, MOST_HONEST_OUT, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(("voters", "each"), [(500, 10), (130, 50)])
def test_guests_of_a_network_may_share_a_taste(voters, each, runs, most):
    arenas = [draw_with_class(np.random.default_rng(run), 0.3, voters, each) for run in range(runs)]
    outcomes = [review_arena(*arena) for arena in arenas]
    assert np.mean([outcome.honest for outcome in outcomes]) <= most
    assert all(outcome.touched == 0 for outcome in outcomes)


def one_network(voters: int) -> tuple[VoterChoices, list[np.ndarray]]:
    """Return an arena with a class of so strong a taste that only its network tells it from a crowd."""
    rng = np.random.default_rng(0)
    honest = draw_honest(rng, 4000, 0, 10, 0.3, CROWD_MODELS)
    others = draw_honest(rng, 10 * voters, FIRST_RIGGER, 10, models=CROWD_MODELS)
    chose_a = (others.a == WEAKEST) | (others.b != WEAKEST) & others.chose_a
    parts = (honest, others._replace(chose_a=chose_a))
    whole = VoterChoices(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return whole, [FIRST_RIGGER + np.arange(voters)]


def test_what_one_network_does_alone_is_no_crowd():
    """It is weighed as a network, against a taste that its guests share."""
    whole, network = one_network(60)
    assert crowds(whole, CROWD_MODELS, network) == ()
    (crowd,) = crowds(whole, CROWD_MODELS, np.array_split(network[0], 60))
    assert crowd.model == WEAKEST and crowd.is_for
    assert 30 < crowd.size < 90


def test_a_crowd_of_haters_is_found():
    whole, _ = one_network(60)
    (crowd,) = crowds(whole._replace(chose_a=~whole.chose_a), CROWD_MODELS)
    assert crowd.model == WEAKEST and not crowd.is_for


def test_voters_of_two_crowds_are_flagged_for_both():
    """They choose the weakest model on each of two boards, whose models have codes of their own."""
    here, _ = one_network(60)
    there = here._replace(a=here.a + CROWD_MODELS, b=here.b + CROWD_MODELS)
    whole = joined(here, there)
    found = crowds(whole, 2 * CROWD_MODELS)
    assert {crowd.model for crowd in found} == {WEAKEST, WEAKEST + CROWD_MODELS}
    flags = review(whole, 2 * CROWD_MODELS, ())
    wholly = {flag.voter for flag in flags if flag.reason not in CROWD_REASONS}
    about = {(flag.voter, flag.model) for flag in flags}
    for crowd in found:
        voters = set(crowd.voters.tolist()) - wholly
        assert voters and {(voter, crowd.model) for voter in voters} <= about


def test_doubtful_voters_of_a_crowd_are_flagged_for_its_model_alone():
    whole, _ = one_network(60)
    flags = review(whole, CROWD_MODELS, ())
    doubtful = {flag.voter for flag in flags if flag.reason in CROWD_REASONS}
    wholly = {flag.voter for flag in flags if flag.reason not in CROWD_REASONS}
    assert {flag.reason for flag in flags if flag.reason in CROWD_REASONS} == {Suspicion.CROWD_FOR}
    assert doubtful and not doubtful & wholly


def test_voters_of_one_vote_are_no_crowd_where_ratings_misfit():
    """Each of three pairs is won ten to one, which no ratings can say; of one vote each, nobody shows a taste."""
    pairs = np.tile([(0, 1), (1, 2), (0, 2)], (440, 1))
    won = np.arange(len(pairs)) % 11 > 0
    choices = VoterChoices(pairs[:, 0], pairs[:, 1], won, np.arange(len(pairs)))
    assert crowds(choices, 3) == ()


def test_few_votes_make_no_crowd_and_none_make_no_error():
    nothing = np.zeros(0, np.int64)
    assert crowds(VoterChoices(nothing, nothing, nothing == 0, nothing), 2) == ()
    one = VoterChoices(np.array([0]), np.array([1]), np.array([True]), np.array([7]))
    assert crowds(one, 2) == ()
    assert not stands_out(one, 2, 0)


def test_a_crowd_stands_out_when_it_is_large():
    whole, _ = one_network(60)
    assert stands_out(whole, CROWD_MODELS, WEAKEST)
    honest = whole.take(whole.voter < FIRST_RIGGER)
    assert not stands_out(honest, CROWD_MODELS, WEAKEST)
