"""Voter flags: riggers are found, honest voters are left alone, and what little evidence there is stays finite."""

import numpy as np
import pytest

from arena.fraud import detectors
from arena.fraud.detectors import (
    ENOUGH,
    Flag,
    Suspicion,
    VoterChoices,
    evidence,
    hasty_flags,
    inattentive_flags,
    log_odds,
    odds_with_taste,
    one_sided_flags,
    taste_of_voters,
)
from arena.ratings.bradley_terry import bradley_terry
from perf.fraud import (
    FIRST_RIGGER,
    HONEST_VOTES,
    LIFTED,
    MODELS,
    MOST_HONEST_OUT,
    RIGGED_VOTES,
    RIGS,
    STRENGTHS,
    VOTES_EACH,
    draw_honest,
    draw_rigged,
    flagged_voters,
    joined,
    places,
)


@pytest.mark.parametrize("arenas", [1, pytest.param(8, marks=pytest.mark.soak)])
@pytest.mark.parametrize("rig", RIGS)
def test_two_percent_of_riggers_move_no_model_by_more_than_one_rank(rig, arenas):
    """Of the honest voters at most 0.2% are flagged."""
    honest_out = caught = 0
    for seed in range(arenas):
        rng = np.random.default_rng(seed)
        honest = draw_honest(rng, HONEST_VOTES, first=0)
        whole = joined(honest, draw_rigged(rng, rig))
        out = flagged_voters(whole)
        assert np.abs(places(whole.take(~np.isin(whole.voter, out))) - places(honest)).max() <= 1, (
            f"seed {seed}"
        )
        honest_out += int((out < FIRST_RIGGER).sum())
        caught += int((out >= FIRST_RIGGER).sum())
    assert honest_out <= MOST_HONEST_OUT * arenas * HONEST_VOTES / VOTES_EACH
    riggers = arenas * RIGGED_VOTES // VOTES_EACH
    # Half of the votes for one target are honest: 50 are too few to tell.
    assert caught >= {"always left": riggers, "omnipresent": 0.9 * riggers, "one target": 0}[rig]


@pytest.mark.parametrize(
    ("each", "taste", "arenas"),
    [
        (4 * VOTES_EACH, 1.0, 2),
        *(
            pytest.param(each, taste, 6, marks=pytest.mark.soak)
            for each in (VOTES_EACH, 4 * VOTES_EACH)
            for taste in (0.5, 0.7, 1.0)
        ),
    ],
)
def test_a_taste_is_no_rigging(each, taste, arenas):
    """Without tastes in the null hypothesis 0.5% to 50% of these honest voters are flagged."""
    out = [
        flagged_voters(draw_honest(np.random.default_rng(seed), 10_000, 0, each, taste))
        for seed in range(arenas)
    ]
    assert sum(map(len, out)) <= MOST_HONEST_OUT * arenas * 10_000 / each


def test_one_side_is_rigging_whatever_the_tastes_of_others():
    rng = np.random.default_rng(5)
    whole = joined(draw_honest(rng, HONEST_VOTES, 0, taste=1.0), draw_rigged(rng, "always left"))
    assert set(range(FIRST_RIGGER, FIRST_RIGGER + RIGGED_VOTES // VOTES_EACH)) <= set(
        flagged_voters(whole).tolist()
    )


def test_a_choice_against_all_odds_is_weighed():
    """Where thousands of votes never differed, one that does is evidence, and no error that stops all boards."""
    one, other = np.triu_indices(20, 1)
    a, b = np.repeat(one, 40), np.repeat(other, 40)
    sure = VoterChoices(a, b, np.ones(len(a), bool), np.arange(len(a)) // 10)
    odd = VoterChoices(np.full(30, 19), np.zeros(30, int), np.ones(30, bool), np.full(30, 10**6))
    worst = evidence(joined(sure, odd), 20)[0]
    assert worst.voter == 10**6 and ENOUGH < worst.strength < 400, (
        "30 votes of log odds 30 are 391 powers of ten"
    )
    for against in (30, 60, 600):
        assert np.isfinite(odds_with_taste(odd, np.full(30, -float(against)), 1.0)).all()
    assert set(log_odds(odd, np.linspace(1000.0, -1000.0, 20))) == {-30.0}, (
        "no odds are without end"
    )


def test_nobody_is_odd_alone():
    """A lone voter on a laptop has tastes, and nobody to be measured by."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        assert not len(flagged_voters(draw_honest(rng, 400, 0, 400, taste=1.0)))
        assert not len(flagged_voters(draw_honest(rng, 800, 0, 400, taste=0.7)))


def test_few_votes_of_others_measure_nobody():
    """Of twelve equal models, 50 votes tell little: taken for the truth, they flag who gave 100 in 21 arenas of 40."""
    out = 0
    for seed in range(40):
        coins, a, b = np.random.default_rng(seed), *equal_pairs(seed, 150)
        out += len(
            flagged_voters(
                VoterChoices(a, b, coins.random(150) < 0.5, np.repeat([0, 1, 2], [100, 25, 25])), 12
            )
        )
    assert out <= 1


def equal_pairs(seed: int, votes: int) -> np.ndarray:
    """Return two of twelve models for each vote."""
    coins = np.random.default_rng([seed, 1])
    return coins.permuted(np.tile(np.arange(12), (votes, 1)), axis=1).T[:2]


def test_strengths_that_others_leave_open_are_learnt():
    """The log odds by integration over the strengths, which others know with a covariance."""
    choices = VoterChoices(np.zeros(8, int), np.ones(8, int), np.ones(8, bool), np.zeros(8, int))
    # the difference of the two has variance 2, as of two tastes
    known = np.array([[1.5, 0.5], [0.5, 1.5]])
    as_taste = odds_with_taste(choices, np.full(8, 0.3), 1.0)
    assert odds_with_taste(choices, np.full(8, 0.3), 0.0, known) == pytest.approx(as_taste)
    assert odds_with_taste(choices, np.full(8, 0.3), 0.6, 0.64 * known) == pytest.approx(as_taste)


def test_a_busy_voters_taste_is_known_at_last(monkeypatch):
    choices = draw_honest(np.random.default_rng(3), 600, 0, 600, taste=1.0)
    odds = STRENGTHS[choices.a] - STRENGTHS[choices.b]
    learning = odds_with_taste(choices, odds, 1.0)
    monkeypatch.setattr(detectors, "_LEARNT_CHOICES", 400)
    learnt = odds_with_taste(choices, odds, 1.0)
    assert (learnt[:400] == learning[:400]).all() and np.abs(learnt - learning).max() < 1
    assert np.corrcoef(learnt[400:], learning[400:])[0, 1] > 0.98


def test_tastes_are_measured_by_how_well_they_foretell():
    for taste in (0.0, 0.5, 1.0):
        told = [
            taste_of_voters(
                draw_honest(np.random.default_rng(seed), HONEST_VOTES, 0, taste=taste), STRENGTHS
            )
            for seed in range(2)
        ]
        assert np.mean(told) == pytest.approx(taste, abs=0.25)
    nobody = draw_honest(np.random.default_rng(0), VOTES_EACH, 0).take(np.zeros(0, int))
    assert taste_of_voters(nobody, STRENGTHS) >= 1, "who knows nothing takes no taste for rigging"


def test_what_a_voter_liked_he_will_like():
    """The log odds by integration over the taste, of a voter who chose one model of two seven times."""
    choices = VoterChoices(np.zeros(8, int), np.ones(8, int), np.ones(8, bool), np.zeros(8, int))
    apart = np.linspace(-15, 15, 20_001)  # the difference of two tastes of deviation 1
    prior = np.exp(-(apart**2) / 4)
    likes = 1 / (1 + np.exp(-0.3 - apart))
    for number, odds in enumerate(odds_with_taste(choices, np.full(8, 0.3), 1.0).tolist()):
        posterior = prior * likes**number
        chance = (posterior * likes).sum() / posterior.sum()
        assert 1 / (1 + np.exp(-odds)) == pytest.approx(chance, abs=0.025), number


def test_what_a_rigger_does_is_named():
    rng = np.random.default_rng(1)
    honest = draw_honest(rng, HONEST_VOTES, first=0)
    most = 20 * RIGGED_VOTES
    a, b, _, _ = draw_honest(rng, most, first=0)
    beats = STRENGTHS[a] > STRENGTHS[b]
    chosen = {
        Suspicion.LEFT: np.ones(most, bool),
        Suspicion.RIGHT: np.zeros(most, bool),
        Suspicion.CONTRARIAN: rng.random(most)
        > 1 / (1 + np.exp(2 * (STRENGTHS[b] - STRENGTHS[a]))),
        Suspicion.FOR: np.where(
            a == LIFTED,
            True,
            np.where(b == LIFTED, False, beats ^ (rng.random(most) < 0.4)),
        ),
        Suspicion.AGAINST: np.where(
            a == LIFTED,
            False,
            np.where(b == LIFTED, True, beats ^ (rng.random(most) < 0.4)),
        ),
    }
    for suspicion, chose_a in chosen.items():
        whole = joined(honest, VoterChoices(a, b, chose_a, np.full(most, 7000)))
        worst = evidence(whole, MODELS)[0]
        assert (worst.voter, worst.reason) == (7000, suspicion)
        assert worst.model == (LIFTED if suspicion in (Suspicion.FOR, Suspicion.AGAINST) else None)


def test_a_voter_is_measured_by_the_votes_of_others():
    """One who makes up most of the votes would otherwise be their own yardstick."""
    rng = np.random.default_rng(2)
    busy = draw_honest(rng, 4000, first=0)._replace(voter=np.zeros(4000, int))
    busy = busy._replace(
        chose_a=np.where(busy.a == 0, True, np.where(busy.b == 0, False, busy.chose_a))
    )
    worst = evidence(joined(busy, draw_honest(rng, 2000, first=1)), MODELS)[0]
    assert (worst.voter, worst.reason, worst.model) == (0, Suspicion.FOR, 0)


def test_the_step_leads_where_a_fit_without_the_voter_does(monkeypatch):
    """Strengths known and without tastes: of each voter among many, of one who alone saw a model, and of one weighed in
    parts.
    """
    monkeypatch.setattr(detectors, "odds_with_taste", lambda _, odds, *__: odds)
    rng = np.random.default_rng(3)
    rare = VoterChoices(
        np.full(12, MODELS), np.full(12, MODELS - 1), np.ones(12, bool), np.full(12, 998)
    )
    busy = draw_honest(rng, 1500, first=0)._replace(
        voter=np.full(1500, 999), chose_a=rng.random(1500) < 0.8
    )
    whole = joined(draw_honest(rng, 3000, first=0), rare, busy)
    found = {one.voter: one for one in evidence(whole, MODELS + 1)}
    for voter in np.unique(whole.voter).tolist():
        assert found[voter].strength == pytest.approx(
            plain_strength(whole, whole.voter == voter), abs=3e-4
        )
    assert found[999].strength >= ENOUGH


def plain_strength(whole: VoterChoices, his: np.ndarray) -> float:
    """Return the strength of the evidence against a voter as its definition says."""
    won, lost = np.where(whole.chose_a, whole.a, whole.b), np.where(whole.chose_a, whole.b, whole.a)
    wins = np.zeros((MODELS + 1, MODELS + 1))
    np.add.at(wins, (won[~his], lost[~his]), 1.0)
    strengths, chose_a = bradley_terry(wins).strengths, whole.chose_a[his]
    won, lost = won[his], lost[his]
    honest = 1 / (1 + np.exp(strengths[lost] - strengths[won]))
    ways = [
        np.full(len(won), 0.5),
        1 - honest,
        np.where(chose_a, 0.98, 0.02),
        np.where(chose_a, 0.02, 0.98),
    ]
    for model in np.unique([won, lost]):
        met = (won == model) | (lost == model)
        ways += [np.where(met, np.where(side == model, 0.98, 0.02), honest) for side in (won, lost)]
    logs = np.cumsum(np.log(np.array(ways) / honest), axis=1)
    return max(
        0.0, float(np.max(np.logaddexp.reduce(logs, axis=0) - np.log(len(ways)))) / np.log(10)
    )


# Habits


def test_one_side_is_a_habit_beyond_what_coins_do():
    voter = np.repeat([1, 2, 3, 4], [10, 11, 100, 100])
    chose_a = np.concatenate(
        [np.ones(10), np.ones(11), np.arange(100) < 66, np.arange(100) < 67]
    ).astype(bool)
    assert [(one.voter, one.reason) for one in one_sided_flags(voter, chose_a)] == [
        (2, Suspicion.ONE_SIDED),
        (4, Suspicion.ONE_SIDED),
    ]
    assert one_sided_flags(voter, ~chose_a) == one_sided_flags(voter, chose_a), "either side"
    coins = np.random.default_rng(6)
    many = np.repeat(np.arange(10_000), 50)
    assert len(one_sided_flags(many, coins.random(len(many)) < 0.5)) <= 25, (
        "one in a thousand, with some luck"
    )


def test_haste_is_a_habit_in_more_than_half_of_ten_choices():
    voter = np.repeat([1, 2, 3], [9, 10, 10])
    seconds = np.concatenate([np.zeros(9), np.arange(10) // 6 * 24.1, np.arange(10) // 5 * 24.1])
    assert hasty_flags(voter, seconds, np.full(29, 100)) == [Flag(2, Suspicion.HASTY, None, 0.6)]


def test_who_fails_three_of_the_last_ten_check_items_does_not_pass():
    voter = np.array([1] * 12 + [2] * 12 + [3] * 3)
    wrong = np.array([True] * 2 + [False] * 7 + [True] * 3 + [True] * 4 + [False] * 8 + [True] * 3)
    failed = [(one.voter, one.reason, one.strength) for one in inattentive_flags(voter, wrong)]
    assert failed == [(1, Suspicion.INATTENTIVE, 0.3), (3, Suspicion.INATTENTIVE, 1.0)]


def test_no_habits_without_choices():
    nobody, none = np.zeros(0, int), np.zeros(0, bool)
    assert (
        one_sided_flags(nobody, none)
        == hasty_flags(nobody, np.zeros(0), nobody)
        == inattentive_flags(nobody, none)
        == []
    )


def test_no_votes_and_one_vote():
    nobody = VoterChoices(*(np.zeros(0, kind) for kind in (int, int, bool, int)))
    assert evidence(nobody, MODELS) == ()
    single = VoterChoices(np.array([0]), np.array([1]), np.array([True]), np.array([3]))
    (only,) = evidence(single, MODELS)
    assert 0 <= only.strength < 1 < ENOUGH
