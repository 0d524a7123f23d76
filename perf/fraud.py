"""Fraud tests in simulated arenas: `python -m perf.fraud [--runs 10]`.

Honest voters have strengths of their own around everybody's, as far apart as their tastes; riggers vote among them.
Targets: at most 0.2% of honest voters are left out, whatever the tastes, and crowds move their model by at most one
rank. How many riggers are found, and how many honest voters lose votes about a crowd's model, is printed: strong tastes
hide who favours a model, not how many do. Last comes the time of a review of a million votes.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arena.fraud.cohorts import Cohort, cohort_flags
from arena.fraud.crowds import crowds
from arena.fraud.detectors import CROWD_REASONS, ENOUGH, Flag, Suspicion, VoterChoices, evidence
from arena.fraud.review import review
from arena.ratings.bradley_terry import bradley_terry

RUNS = 100
MODELS = 10
GAP = 25
TARGET = 4
"""Models, rating points from each to the next, and the one that some riggers lift."""
STRENGTHS = np.arange(MODELS) * GAP * np.log(10) / 400
HONEST = 5000
RIGGED = 100
EACH = 50
"""Votes: of honest voters, of riggers (2%), of one voter."""
FIRST_RIGGER = 10_000
RIGS = ("always left", "omnipresent", "one target")
TASTES = (0.0, 0.35, 0.7, 1.0)
"""Deviation of a voter's taste for each model, in log odds."""
MOST_HONEST = 0.002
CROWD = 100
CROWD_EACH = 10
DAYS = 10
"""Fresh cookies, votes of each, for the last model wherever it is there, and days on which honest ones were issued."""
CROWD_MODELS = 6
WEAKEST = 0
SHARE_A_NETWORK = 5
"""Honest voters of one network."""
SPREADS = ((1, 10), (1, 100), (DAYS, 10), (DAYS, 100))
"""Days and networks over which a crowd is spread."""
ACCOUNTS = ((45, 12, 100), (225, 20, 300), (45, 24, 100))
"""Honest voters of 100 votes, colluding accounts, and votes of each account."""
CLASS = 30
SHARED = 0.7
"""Guests of one network who share a taste, and its deviation for each model."""
REVIEWED = 1_000_000
REVIEWED_EACH = 10


def drawn(
    rng: np.random.Generator,
    votes: int,
    first: int,
    each: int = EACH,
    taste: float = 0.0,
    models: int = MODELS,
) -> VoterChoices:
    """Return honest choices of voters numbered from `first`, between the weakest models."""
    voter = np.arange(votes) // each
    a = rng.integers(0, models, votes)
    b = (a + rng.integers(1, models, votes)) % models
    strengths = STRENGTHS[:models] + rng.normal(0, taste, (int(voter[-1]) + 1, models))
    chose_a = rng.random(votes) < 1 / (1 + np.exp(strengths[voter, b] - strengths[voter, a]))
    return VoterChoices(a, b, chose_a, first + voter)


def rigged(rng: np.random.Generator, rig: str) -> VoterChoices:
    """Return riggers' choices: always A, always for a fixed order of models, or for one model where it is there."""
    honest = drawn(rng, RIGGED, first=FIRST_RIGGER)
    if rig == "always left":
        return honest._replace(chose_a=np.ones(RIGGED, bool))
    otherwise = honest.chose_a if rig == "one target" else honest.a < honest.b
    chose_a = np.where(honest.a == TARGET, True, np.where(honest.b == TARGET, False, otherwise))
    return honest._replace(chose_a=chose_a)


def crowded(
    rng: np.random.Generator, taste: float, days: int, networks: int
) -> tuple[VoterChoices, list[Cohort]]:
    """Return honest choices and a crowd's, whose cookies are of so many days and networks; and all cohorts."""
    honest = drawn(rng, HONEST, 0, CROWD_EACH, taste, CROWD_MODELS)
    crowd = drawn(rng, CROWD * CROWD_EACH, FIRST_RIGGER, CROWD_EACH, models=CROWD_MODELS)
    chose_a = (crowd.a == WEAKEST) | (crowd.b != WEAKEST) & crowd.chose_a
    voters = np.concatenate([np.arange(HONEST // CROWD_EACH), FIRST_RIGGER + np.arange(CROWD)])
    number = np.where(voters < FIRST_RIGGER, voters, voters - FIRST_RIGGER)
    day = np.where(voters < FIRST_RIGGER, number % DAYS, number % days)
    theirs = np.append(np.zeros(HONEST // CROWD_EACH, int), -1 - rng.permutation(CROWD) % networks)
    network = np.where(voters < FIRST_RIGGER, number // SHARE_A_NETWORK, theirs)
    cohorts = [Cohort(Suspicion.NETWORK, voters[network == one]) for one in np.unique(network)]
    cohorts += [Cohort(Suspicion.COHORT, voters[day == one]) for one in range(DAYS)]
    return together(honest, crowd._replace(chose_a=chose_a)), cohorts


def colluding(
    rng: np.random.Generator, taste: float, honest: int, riggers: int, each: int
) -> VoterChoices:
    """Return the choices of honest voters, and of accounts that always choose the weakest model."""
    others = drawn(rng, 100 * honest, 0, 100, taste, CROWD_MODELS)
    accounts = drawn(rng, riggers * each, FIRST_RIGGER, each, models=CROWD_MODELS)
    chose_a = (accounts.a == WEAKEST) | (accounts.b != WEAKEST) & accounts.chose_a
    return together(others, accounts._replace(chose_a=chose_a))


def with_class(
    rng: np.random.Generator, taste: float, voters: int, each: int
) -> tuple[VoterChoices, list[Cohort]]:
    """Return honest choices, those of the last voters with a taste that they share; and all networks."""
    a = rng.integers(0, CROWD_MODELS, voters * each)
    b = (a + rng.integers(1, CROWD_MODELS, voters * each)) % CROWD_MODELS
    voter = np.arange(voters * each) // each
    tastes = rng.normal(0, taste, (voters, CROWD_MODELS))
    tastes[-CLASS:] += rng.normal(0, SHARED, CROWD_MODELS)
    strengths = STRENGTHS[:CROWD_MODELS] + tastes
    chose_a = rng.random(len(a)) < 1 / (1 + np.exp(strengths[voter, b] - strengths[voter, a]))
    others = np.array_split(np.arange(voters - CLASS), (voters - CLASS) // SHARE_A_NETWORK)
    networks = [*others, np.arange(voters - CLASS, voters)]
    return VoterChoices(a, b, chose_a, voter), [
        Cohort(Suspicion.NETWORK, network) for network in networks
    ]


def together(*parts: VoterChoices) -> VoterChoices:
    return VoterChoices(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def flagged(choices: VoterChoices, models: int = MODELS) -> np.ndarray:
    return np.array(
        [one.voter for one in evidence(choices, models) if one.strength >= ENOUGH], np.int64
    )


def places(choices: VoterChoices, models: int = MODELS) -> np.ndarray:
    """Return the rank of each model by Bradley-Terry, the best 0."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.zeros((models, models))
    np.add.at(wins, (won, lost), 1.0)
    return np.argsort(np.argsort(-bradley_terry(wins).ratings))


class Outcome(NamedTuple):
    """What a review made of an arena with riggers."""

    caught: float
    """Share of the riggers whose votes are left out, all or those about the model."""
    honest: float
    """Share of honest voters who are left out."""
    touched: float
    """Share of others of whom votes about the model are left out."""
    moved: int
    """Ranks by which the weakest model still moves."""


def left_out(choices: VoterChoices, flags: Sequence[Flag]) -> np.ndarray:
    """Return the mask of the choices that flags leave out, as `arena.fraud.flags` does on votes."""
    whole = np.array([flag.voter for flag in flags if flag.reason not in CROWD_REASONS], np.int64)
    out = np.isin(choices.voter, whole)
    for model in {flag.model for flag in flags if flag.reason in CROWD_REASONS}:
        crowd = [
            flag.voter for flag in flags if flag.reason in CROWD_REASONS and flag.model == model
        ]
        is_met = (choices.a == model) | (choices.b == model)
        out |= is_met & np.isin(choices.voter, crowd)
    return out


def reviewed(whole: VoterChoices, cohorts: Sequence[Cohort]) -> Outcome:
    flags = review(whole, CROWD_MODELS, cohorts)
    out = left_out(whole, flags)
    flagged = {flag.voter for flag in flags}
    wholly = {flag.voter for flag in flags if flag.reason not in CROWD_REASONS}
    voters = set(whole.voter.tolist())
    honest = {voter for voter in voters if voter < FIRST_RIGGER}
    riggers = voters - honest
    before = places(whole.take(whole.voter < FIRST_RIGGER), CROWD_MODELS)
    after = places(whole.take(~out), CROWD_MODELS)
    return Outcome(
        caught=len(flagged & riggers) / max(1, len(riggers)),
        honest=len(wholly & honest) / len(honest),
        touched=len((flagged - wholly) & honest) / len(honest),
        moved=abs(int(after[WEAKEST] - before[WEAKEST])),
    )


def printed(what: str, outcomes: Sequence[Outcome]) -> bool:
    """Print the means of outcomes; return whether a target was missed."""
    caught, honest, touched, moved = np.mean(outcomes, axis=0)
    print(
        f"{what}: {caught:>4.0%} caught, {honest:.2%} of honest voters left out (goal {MOST_HONEST:.1%}), "
        f"of {touched:.1%} votes about the model, it moves by {moved:.2f} ranks, at most "
        f"{max(outcome.moved for outcome in outcomes)} (goal 1)",
        flush=True,
    )
    return bool(honest > MOST_HONEST or moved > 1)


def together_against_one(runs: int) -> int:
    """Print what is found of crowds, of colluding accounts and of classes; return how many targets were missed."""
    missed = 0
    for taste in TASTES:
        for days, networks in SPREADS:
            arenas = (
                crowded(np.random.default_rng(run), taste, days, networks) for run in range(runs)
            )
            what = (
                f"{CROWD} cookies of {CROWD_EACH} votes, of {days:>2} days and {networks:>3} networks, "
                f"tastes {taste:<4}"
            )
            missed += printed(what, [reviewed(*arena) for arena in arenas])
        for honest, riggers, each in ACCOUNTS:
            arenas = [
                colluding(np.random.default_rng(run), taste, honest, riggers, each)
                for run in range(runs)
            ]
            what = f"{riggers} accounts of {each} votes, {honest} honest ones of 100, tastes {taste:<4}"
            missed += printed(what, [reviewed(arena, ()) for arena in arenas])
        for voters, each in ((500, 10), (130, 50)):
            arenas = (
                with_class(np.random.default_rng(run), taste, voters, each) for run in range(runs)
            )
            what = f"{voters} honest voters of {each} votes, {CLASS} of them a class, tastes {taste:<4}"
            missed += printed(what, [reviewed(*arena) for arena in arenas])
    return missed


def timed() -> None:
    """Print how long a review of a million votes takes, and how much of that crowds do."""
    rng = np.random.default_rng(0)
    voters = REVIEWED // REVIEWED_EACH
    choices = drawn(rng, REVIEWED, 0, REVIEWED_EACH, TASTES[1])
    networks = np.array_split(np.arange(voters), voters // SHARE_A_NETWORK)
    days = np.array_split(rng.permutation(voters), DAYS)
    cohorts = [Cohort(Suspicion.NETWORK, network) for network in networks]
    cohorts += [Cohort(Suspicion.COHORT, np.sort(day)) for day in days]
    nobody = np.zeros(0, np.int64)
    seconds = []
    for part in (
        lambda: evidence(choices, MODELS),
        lambda: cohort_flags(choices, MODELS, cohorts, nobody),
        lambda: crowds(choices, MODELS, networks),
    ):
        start = time.perf_counter()
        part()
        seconds.append(time.perf_counter() - start)
    alone, cohort, crowd = seconds
    print(
        f"a review of {REVIEWED:,} votes of {voters:,} voters: {sum(seconds):.0f} s, {alone:.0f} s for single voters, "
        f"{cohort:.0f} s for cohorts, {crowd:.0f} s for crowds ({sum(seconds) / (alone + cohort):.2f} times as long)"
    )


def main(words: Sequence[str] = ()) -> int:
    """Print the honest voters and the riggers flagged; return 1 if too many honest voters were."""
    parser = ArgumentParser("python -m perf.fraud")
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args(words).runs
    missed = 0
    print(f"{HONEST} honest votes an arena, {runs} arenas")
    for each in (10, EACH, 200):
        for taste in TASTES:
            out = sum(
                len(flagged(drawn(np.random.default_rng(run), HONEST, 0, each, taste)))
                for run in range(runs)
            )
            share = out / (runs * HONEST // each)
            missed += share > MOST_HONEST
            print(
                f"honest voters of {each:>3} votes, tastes {taste:<4}: {share:.2%} flagged (target 0.2%)",
                flush=True,
            )
    for rig in RIGS:
        for taste in TASTES:
            caught = 0
            moved = 0
            for run in range(runs):
                rng = np.random.default_rng(run)
                honest = drawn(rng, HONEST, 0, taste=taste)
                whole = together(honest, rigged(rng, rig))
                out = flagged(whole)
                caught += int((out >= FIRST_RIGGER).sum())
                counted = whole.take(~np.isin(whole.voter, out))
                moved = max(moved, int(np.abs(places(counted) - places(honest)).max()))
            share = caught / (runs * RIGGED // EACH)
            print(
                f"riggers, {rig:>11}, tastes {taste:<4}: {share:>4.0%} flagged, ranks moved by at most {moved}",
                flush=True,
            )
    missed += together_against_one(max(1, runs // 4))
    timed()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
