"""Voter flags: riggers are found, honest voters are left alone, and what little evidence there is stays finite."""

import numpy as np
import pytest

from arena.bradley_terry import bradley_terry
from arena.voter_flags import Choices, Suspicion, evidence

MODELS, GAP, TARGET = 10, 25, 4
HONEST, RIGGED, EACH = 5000, 100, 50
"""Votes: of honest voters, of riggers (2%), of one voter."""
STRENGTHS = np.arange(MODELS) * GAP * np.log(10) / 400
RIGS = ("always left", "omnipresent", "one target")


def drawn(rng: np.random.Generator, votes: int, first: int) -> Choices:
    """Return honest choices of voters numbered from `first`."""
    a = rng.integers(0, MODELS, votes)
    b = (a + rng.integers(1, MODELS, votes)) % MODELS
    chose_a = rng.random(votes) < 1 / (1 + np.exp(STRENGTHS[b] - STRENGTHS[a]))
    return Choices(a, b, chose_a, first + np.arange(votes) // EACH)


def rigged(rng: np.random.Generator, rig: str) -> Choices:
    honest = drawn(rng, RIGGED, first=1000)
    if rig == "always left":
        return honest._replace(chose_a=np.ones(RIGGED, bool))
    elsewhere = honest.chose_a if rig == "one target" else honest.a < honest.b
    chose_a = np.where(honest.a == TARGET, True, np.where(honest.b == TARGET, False, elsewhere))
    return honest._replace(chose_a=chose_a)


def together(*parts: Choices) -> Choices:
    return Choices(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def places(choices: Choices) -> np.ndarray:
    """Return the rank of each model by Bradley-Terry, the best 0."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.zeros((MODELS, MODELS))
    np.add.at(wins, (won, lost), 1.0)
    return np.argsort(np.argsort(-bradley_terry(wins).ratings))


@pytest.mark.parametrize("rig", RIGS)
def test_two_percent_of_riggers_move_no_model_by_more_than_one_rank(rig):
    """Over 20 arenas; of the honest voters at most 1% are flagged."""
    flagged_honest = caught = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        honest = drawn(rng, HONEST, first=0)
        whole = together(honest, rigged(rng, rig))
        out = {one.voter for one in evidence(whole, MODELS) if one.flagged()}
        counted = ~np.isin(whole.voter, sorted(out))
        board = Choices(*(column[counted] for column in whole))
        assert np.abs(places(board) - places(honest)).max() <= 1, f"seed {seed}"
        flagged_honest += sum(voter < 1000 for voter in out)
        caught += sum(voter >= 1000 for voter in out)
    print(f"{rig}: {caught} of {20 * RIGGED // EACH} riggers, {flagged_honest} of {20 * HONEST // EACH} honest voters")
    assert flagged_honest <= 0.01 * 20 * HONEST / EACH
    assert caught == 40 or rig == "one target"  # half of its votes are honest: 50 are too few to tell


def test_what_a_rigger_does_is_named():
    rng = np.random.default_rng(1)
    honest = drawn(rng, HONEST, first=0)
    most = 20 * RIGGED
    a, b, _, _ = drawn(rng, most, first=0)
    beats = STRENGTHS[a] > STRENGTHS[b]
    chosen = {
        Suspicion.LEFT: np.ones(most, bool),
        Suspicion.RIGHT: np.zeros(most, bool),
        Suspicion.CONTRARIAN: rng.random(most) > 1 / (1 + np.exp(2 * (STRENGTHS[b] - STRENGTHS[a]))),
        Suspicion.FOR: np.where(a == TARGET, True, np.where(b == TARGET, False, beats ^ (rng.random(most) < 0.4))),
        Suspicion.AGAINST: np.where(a == TARGET, False, np.where(b == TARGET, True, beats ^ (rng.random(most) < 0.4))),
    }
    for suspicion, chose_a in chosen.items():
        worst = evidence(together(honest, Choices(a, b, chose_a, np.full(most, 7000))), MODELS)[0]
        assert (worst.voter, worst.suspicion, worst.votes) == (7000, suspicion, most)
        assert worst.model == (TARGET if suspicion in (Suspicion.FOR, Suspicion.AGAINST) else None)


def test_a_voter_is_measured_by_the_votes_of_others():
    """One who makes up most of the votes would otherwise be their own yardstick."""
    rng = np.random.default_rng(2)
    busy = drawn(rng, 4000, first=0)._replace(voter=np.zeros(4000, int))
    busy = busy._replace(chose_a=np.where(busy.a == 0, True, np.where(busy.b == 0, False, busy.chose_a)))
    worst = evidence(together(busy, drawn(rng, 2000, first=1)), MODELS)[0]
    assert (worst.voter, worst.suspicion, worst.model) == (0, Suspicion.FOR, 0)


def test_no_votes_and_one_vote():
    nobody = Choices(*(np.zeros(0, kind) for kind in (int, int, bool, int)))
    assert evidence(nobody, MODELS) == ()
    single = Choices(np.array([0]), np.array([1]), np.array([True]), np.array([3]))
    (only,) = evidence(single, MODELS)
    assert only.votes == 1 and not only.flagged() and 0 <= only.strength < 1
