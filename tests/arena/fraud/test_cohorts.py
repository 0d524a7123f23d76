"""Cohorts: a crowd of fresh cookies with few votes each is found by its day; honest days are left alone."""

import random
from datetime import timedelta

import numpy as np
import pytest

from arena.battles.campaigns import Campaigns
from arena.database import Database, now
from arena.fraud.cohorts import in_cohorts
from arena.fraud.detectors import Suspicion
from arena.fraud.flags import FlagService
from arena.items.ingest import Ingest
from arena.leaderboard.service import EVERYONE
from perf.fraud import CROWD, CROWD_EACH, DAYS, FIRST_RIGGER, MODELS, TARGET, crowded, drawn
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

HONEST = 300
NOBODY = np.zeros(0, np.int64)


@pytest.fixture
def bank(database) -> Database:
    Ingest(database).add_items("test", "folder", drafts(40))
    return database


def in_crowd(database: Database) -> set[int]:
    with database.read() as connection:
        rows = FlagService(database, EVERYONE).flagged(connection)
    return {row.voter for row in rows if row.reason is Suspicion.COHORT and row.left_out}


@pytest.mark.parametrize("taste", [0.0, 0.7])
def test_a_crowd_of_one_day_is_found_and_few_honest_voters_with_it(taste):
    whole, cohorts = crowded(np.random.default_rng(1), taste, days=1)
    found = in_cohorts(whole, MODELS, cohorts, NOBODY)
    riggers = [flag for flag in found if flag.voter >= FIRST_RIGGER]
    assert len(riggers) > CROWD / 3 and len(found) - len(riggers) <= 5
    assert {(flag.reason, flag.model) for flag in riggers} == {(Suspicion.COHORT, TARGET)}


@pytest.mark.parametrize("taste", [0.0, 0.7])
def test_no_day_of_honest_voters_is_flagged(taste):
    for run in range(5):
        honest = drawn(np.random.default_rng(run), 5000, 0, 10, taste)
        assert in_cohorts(honest, MODELS, np.array_split(np.arange(500), DAYS), NOBODY) == ()


def test_a_day_with_most_votes_is_no_measure_and_two_cookies_are_no_cohort():
    whole, _ = crowded(np.random.default_rng(1), 0.0, days=1)
    crowd = np.unique(whole.voter)
    assert in_cohorts(whole, MODELS, [crowd], NOBODY) == ()
    assert in_cohorts(whole, MODELS, [crowd[-2:]], NOBODY) == ()


def test_guests_of_a_day_are_weighed_from_stored_votes_and_known_people_are_not(bank):
    """A crowd is for m3, which loses two of three; a seat in a campaign is no fresh cookie."""
    dice, votes = random.Random(1), []
    for voter in range(HONEST + CROWD):
        day = now() - timedelta(days=1 if voter >= HONEST else 2 + voter % DAYS)
        for number in range(CROWD_EACH):
            winner, loser = sorted(dice.sample(("m1", "m2", "m3"), 2))
            if dice.random() < 1 / 3 or (voter >= HONEST and loser == "m3"):
                winner, loser = loser, winner
            votes.append(Planted(1 + number, winner, loser, left=dice.random() < 0.5, voter=voter, at=day))
    plant(bank, votes)
    FlagService(bank, EVERYONE).look()
    crowd = in_crowd(bank)
    assert len(crowd) > CROWD / 3 and len([voter for voter in crowd if voter <= HONEST]) <= 5
    for number, voter in enumerate(sorted(crowd)):
        Campaigns(bank, 5).seat(voter, "spring", f"w{number}", "5")
    FlagService(bank, EVERYONE).look()
    assert not in_crowd(bank) & crowd
