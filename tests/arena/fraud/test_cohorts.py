"""Cohorts: a crowd of fresh cookies is found by its day or its networks; honest days and networks are left alone."""

import random
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import insert

from arena.battles.quotas import NetworkDays
from arena.battles.tables import SEAT
from arena.battles.vote_table import VoteTable
from arena.database import Database, now
from arena.fraud.cohorts import Cohort, cohort_flags
from arena.fraud.detectors import CROWD_REASONS, Suspicion, VoterChoices
from arena.fraud.flags import FlagService, raised_flags
from arena.fraud.review import review
from arena.items.ingest import Ingest
from arena.leaderboard.service import EVERYONE
from arena.server.change_log import ChangeLog
from perf.fraud import (
    CROWD_MODELS,
    CROWD_SIZE,
    DAYS,
    FIRST_RIGGER,
    VOTES_PER_COOKIE,
    WEAKEST,
    draw_honest,
    draw_with_crowd,
)
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

HONEST = 150
NOBODY = np.zeros(0, np.int64)


@pytest.fixture
def bank(database) -> Database:
    Ingest(database).add_items("test", "folder", drafts(40))
    return database


def in_crowd(database: Database, reason: Suspicion) -> set[int]:
    FlagService(database, EVERYONE, VoteTable(database)).look()
    with database.read() as connection:
        rows = raised_flags(connection, EVERYONE)
    return {row.voter for row in rows if row.reason is reason and row.left_out}


@pytest.mark.parametrize("taste", [pytest.param(0.0, marks=pytest.mark.soak), 1.0])
@pytest.mark.parametrize(("days", "networks"), [(1, CROWD_SIZE), (DAYS, 10)])
def test_a_crowd_of_few_days_or_networks_is_found_and_few_honest_voters_with_it(
    taste, days, networks
):
    whole, cohorts = draw_with_crowd(np.random.default_rng(1), taste, days, networks)
    flags = review(whole, CROWD_MODELS, cohorts)
    riggers = {flag.voter for flag in flags if flag.voter >= FIRST_RIGGER}
    honest = {flag.voter for flag in flags if flag.reason not in CROWD_REASONS} - riggers
    assert len(riggers) > CROWD_SIZE / 3 and len(honest) <= 3
    assert {flag.model for flag in flags if flag.voter in riggers} == {WEAKEST}


@pytest.mark.parametrize(
    ("taste", "runs"),
    [(0.7, 2), *(pytest.param(one, 5, marks=pytest.mark.soak) for one in (0, 0.7))],
)
def test_honest_days_and_networks_are_left_alone(taste, runs):
    voters = np.arange(500)
    for run in range(runs):
        honest = draw_honest(np.random.default_rng(run), 5000, 0, 10, taste, CROWD_MODELS)
        days = [Cohort(Suspicion.COHORT, part) for part in np.array_split(voters, DAYS)]
        networks = [Cohort(Suspicion.NETWORK, part) for part in np.array_split(voters, 100)]
        assert cohort_flags(honest, CROWD_MODELS, days + networks, NOBODY) == ()


def test_few_votes_of_others_measure_no_day():
    """Of twenty equal models, 100 votes tell little: taken for the truth, they flag guests in 7 arenas of 30."""
    arenas = 0
    for seed in range(30):
        coins = np.random.default_rng(seed)
        a, b = coins.permuted(np.tile(np.arange(20), (300, 1)), axis=1).T[:2]
        votes = VoterChoices(a, b, coins.random(300) < 0.5, np.repeat(np.arange(30), 10))
        arenas += cohort_flags(votes, 20, [Cohort(Suspicion.COHORT, np.arange(20))], NOBODY) != ()
    assert arenas <= 1


def test_people_with_strong_tastes_are_no_crowd():
    honest = draw_honest(np.random.default_rng(0), 6000, 0, 60, 1.0, CROWD_MODELS)
    networks = [Cohort(Suspicion.NETWORK, part) for part in np.array_split(np.arange(100), 20)]
    assert cohort_flags(honest, CROWD_MODELS, networks, NOBODY) == ()


def test_a_day_with_most_votes_is_no_measure_and_two_cookies_are_no_cohort():
    whole, _ = draw_with_crowd(np.random.default_rng(1), 0.0, 1, CROWD_SIZE)
    crowd = np.unique(whole.voter)
    assert cohort_flags(whole, CROWD_MODELS, [Cohort(Suspicion.COHORT, crowd)], NOBODY) == ()
    assert cohort_flags(whole, CROWD_MODELS, [Cohort(Suspicion.COHORT, crowd[-2:])], NOBODY) == ()


def rigged_bank(database: Database, crowd_days: int) -> None:
    """Plant honest votes and those of a crowd for m3, which loses two of three, with cookies of so many days."""
    dice, votes = random.Random(1), []
    for voter in range(HONEST + CROWD_SIZE):
        day = now() - timedelta(days=1 + voter % (crowd_days if voter >= HONEST else DAYS))
        for number in range(VOTES_PER_COOKIE):
            winner, loser = sorted(dice.sample(("m1", "m2", "m3"), 2))
            if dice.random() < 1 / 3 or (voter >= HONEST and loser == "m3"):
                winner, loser = loser, winner
            votes.append(
                Planted(1 + number, winner, loser, left=dice.random() < 0.5, voter=voter, at=day)
            )
    plant(database, votes)


def test_guests_of_a_day_are_weighed_from_stored_votes_and_known_people_are_not(bank):
    """A seat in a campaign is no fresh cookie."""
    rigged_bank(bank, crowd_days=1)
    crowd = in_crowd(bank, Suspicion.COHORT)
    assert len(crowd) > CROWD_SIZE / 3 and len([voter for voter in crowd if voter <= HONEST]) <= 5
    seats = [
        {
            "campaign": "spring",
            "voter_id": voter,
            "code": f"code {voter}",
            "confirmation": "pending",
        }
        for voter in sorted(crowd)
    ]
    with bank.write() as connection:
        connection.execute(insert(SEAT), seats)
    assert not in_crowd(bank, Suspicion.COHORT) & crowd


@pytest.mark.soak
def test_a_crowd_of_a_day_is_found_after_a_restore_too(bank, another):
    """A voter is as old as the first of what came back of them, not as the restore."""
    rigged_bank(bank, crowd_days=1)
    log, fresh = ChangeLog(bank), another()
    log.open()
    batch = log.batch(1_000_000)
    assert batch
    restored = ChangeLog(fresh)
    restored.restore(restored.unpack([batch.content]))
    assert len(in_crowd(fresh, Suspicion.COHORT)) > CROWD_SIZE / 3


def test_guests_of_a_network_are_weighed_together_however_old_their_cookies_are(bank):
    rigged_bank(bank, crowd_days=DAYS)
    assert not in_crowd(bank, Suspicion.NETWORK)
    with bank.write() as connection:
        days = NetworkDays(bank)
        for voter in range(1, 1 + HONEST + CROWD_SIZE):
            days.note(
                connection, f"8.8.{voter % 60 if voter <= HONEST else 100 + voter % 10}.0/24", voter
            )
    crowd = in_crowd(bank, Suspicion.NETWORK)
    assert len(crowd) > CROWD_SIZE / 3 and min(crowd) > HONEST
