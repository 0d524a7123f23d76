"""Fraud tests in simulated arenas: `python -m perf.fraud [--runs 10]`.

Every honest voter has tastes of his own, which differ from the models' true strengths; riggers vote among honest
voters. Targets: at most 0.2% of honest voters are left out, whatever the tastes, and crowds move their model by at most
one rank. The share of riggers that is found, and of honest voters who lose votes about a crowd's model, is printed
without a target, as strong tastes hide who favours a model. Last comes the time of a review of a million votes.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from arena.fraud.cohorts import Cohort, cohort_flags
from arena.fraud.crowds import crowds
from arena.fraud.detectors import CROWD_REASONS, ENOUGH, Flag, Suspicion, VoterChoices, evidence
from arena.fraud.review import review
from arena.ratings.bradley_terry import bradley_terry
from perf._simulations import results

RUNS = 100
MODELS = 10
GAP = 25
"""Rating points from each model to the next."""
TARGET = 4
"""The model that some riggers lift."""
STRENGTHS = np.arange(MODELS) * GAP * np.log(10) / 400
HONEST = 5000
"""Votes of all honest voters."""
RIGGED = 100
"""Votes of all riggers."""
EACH = 50
"""Votes of one voter."""
FIRST_RIGGER = 10_000
"""Voters with this or a higher number are riggers."""
RIGS = ("always left", "omnipresent", "one target")
TASTES = (0.0, 0.35, 0.7, 1.0)
"""Deviation of a voter's taste for each model, in log odds."""
MOST_HONEST = 0.002
"""Largest share of honest voters that may be left out."""
CROWD = 100
"""Fresh cookies of a crowd, which choose the weakest model in all its battles."""
CROWD_EACH = 10
"""Votes of each cookie."""
DAYS = 10
"""Days on which the honest voters' cookies were issued."""
CROWD_MODELS = 6
WEAKEST = 0
SHARE_A_NETWORK = 5
"""Honest voters of one network."""
SPREADS = ((1, 10), (1, 100), (DAYS, 10), (DAYS, 100))
"""Days and networks over which a crowd is spread."""
ACCOUNTS = ((45, 12, 100), (225, 20, 300), (45, 24, 100))
"""Honest voters of 100 votes, colluding accounts, and votes of each account."""
CLASS = 30
"""Guests of one network who share a taste."""
CLASS_TASTE = 0.7
"""Deviation of a class's taste for each model, in log odds."""
CLASSROOMS = ((500, 10), (130, 50))
"""Honest voters of an arena with a class, and votes of each."""
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
    """Returns honest choices between the weakest models, by voters who are numbered from `first`."""
    voter = np.arange(votes) // each
    a = rng.integers(0, models, votes)
    b = (a + rng.integers(1, models, votes)) % models
    strengths = STRENGTHS[:models] + rng.normal(0, taste, (int(voter[-1]) + 1, models))
    chose_a = rng.random(votes) < 1 / (1 + np.exp(strengths[voter, b] - strengths[voter, a]))
    return VoterChoices(a, b, chose_a, first + voter)


def rigged(rng: np.random.Generator, rig: str) -> VoterChoices:
    """Returns riggers' choices: always A, always by a fixed order of models, or for one model in all its battles."""
    honest = drawn(rng, RIGGED, first=FIRST_RIGGER)
    if rig == "always left":
        return honest._replace(chose_a=np.ones(RIGGED, bool))
    chose_a = honest.chose_a if rig == "one target" else honest.a < honest.b
    chose_a = np.where(honest.a == TARGET, True, chose_a)
    chose_a = np.where(honest.b == TARGET, False, chose_a)
    return honest._replace(chose_a=chose_a)


def crowded(
    rng: np.random.Generator, taste: float, days: int, networks: int
) -> tuple[VoterChoices, list[Cohort]]:
    """Returns the choices of honest voters and a crowd with cookies from so many days and networks, and all cohorts."""
    honest = drawn(rng, HONEST, 0, CROWD_EACH, taste, CROWD_MODELS)
    crowd = drawn(rng, CROWD * CROWD_EACH, FIRST_RIGGER, CROWD_EACH, models=CROWD_MODELS)
    chose_a = (crowd.a == WEAKEST) | (crowd.b != WEAKEST) & crowd.chose_a
    voters = np.concatenate([np.arange(HONEST // CROWD_EACH), FIRST_RIGGER + np.arange(CROWD)])
    number = np.where(voters < FIRST_RIGGER, voters, voters - FIRST_RIGGER)
    day = np.where(voters < FIRST_RIGGER, number % DAYS, number % days)
    # the crowd's networks have negative numbers, so that none is an honest one's
    crowd_network = -1 - rng.permutation(CROWD) % networks
    honest_network = np.arange(HONEST // CROWD_EACH) // SHARE_A_NETWORK
    network = np.append(honest_network, crowd_network)
    cohorts = [Cohort(Suspicion.NETWORK, voters[network == code]) for code in np.unique(network)]
    cohorts += [Cohort(Suspicion.COHORT, voters[day == code]) for code in range(DAYS)]
    return together(honest, crowd._replace(chose_a=chose_a)), cohorts


def colluding(
    rng: np.random.Generator, taste: float, honest: int, riggers: int, each: int
) -> VoterChoices:
    """Returns the choices of honest voters, and of accounts that always choose the weakest model."""
    others = drawn(rng, 100 * honest, 0, 100, taste, CROWD_MODELS)
    accounts = drawn(rng, riggers * each, FIRST_RIGGER, each, models=CROWD_MODELS)
    chose_a = (accounts.a == WEAKEST) | (accounts.b != WEAKEST) & accounts.chose_a
    return together(others, accounts._replace(chose_a=chose_a))


def with_class(
    rng: np.random.Generator, taste: float, voters: int, each: int
) -> tuple[VoterChoices, list[Cohort]]:
    """Returns honest choices, whose last voters are a class that shares a taste, and all networks."""
    a = rng.integers(0, CROWD_MODELS, voters * each)
    b = (a + rng.integers(1, CROWD_MODELS, voters * each)) % CROWD_MODELS
    voter = np.arange(voters * each) // each
    tastes = rng.normal(0, taste, (voters, CROWD_MODELS))
    tastes[-CLASS:] += rng.normal(0, CLASS_TASTE, CROWD_MODELS)
    strengths = STRENGTHS[:CROWD_MODELS] + tastes
    chose_a = rng.random(len(a)) < 1 / (1 + np.exp(strengths[voter, b] - strengths[voter, a]))
    others = np.array_split(np.arange(voters - CLASS), (voters - CLASS) // SHARE_A_NETWORK)
    networks = [*others, np.arange(voters - CLASS, voters)]
    cohorts = [Cohort(Suspicion.NETWORK, network) for network in networks]
    return VoterChoices(a, b, chose_a, voter), cohorts


def together(*parts: VoterChoices) -> VoterChoices:
    """Returns all parts' choices one after the other."""
    return VoterChoices(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def flagged(choices: VoterChoices, models: int = MODELS) -> np.ndarray:
    """Returns the voters with enough evidence of rigging."""
    found = [voter.voter for voter in evidence(choices, models) if voter.strength >= ENOUGH]
    return np.array(found, np.int64)


def places(choices: VoterChoices, models: int = MODELS) -> np.ndarray:
    """Returns the rank of each model by Bradley-Terry, the best 0."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.zeros((models, models))
    np.add.at(wins, (won, lost), 1.0)
    return np.argsort(np.argsort(-bradley_terry(wins).ratings))


class Outcome(NamedTuple):
    """The result of a review of an arena with riggers."""

    caught: float
    """Share of the riggers whose votes are left out, all or those about the model."""
    honest: float
    """Share of honest voters who are left out."""
    touched: float
    """Share of honest voters of whom only the votes about the crowd's model are left out."""
    moved: int
    """Ranks by which the riggers still move the weakest model."""


def left_out(choices: VoterChoices, flags: Sequence[Flag]) -> np.ndarray:
    """Returns the mask of the choices that flags leave out, as `arena.fraud.flags` does on votes."""
    fully_out = np.array(
        [flag.voter for flag in flags if flag.reason not in CROWD_REASONS], np.int64
    )
    is_out = np.isin(choices.voter, fully_out)
    for model in {flag.model for flag in flags if flag.reason in CROWD_REASONS}:
        crowd = [
            flag.voter for flag in flags if flag.reason in CROWD_REASONS and flag.model == model
        ]
        is_met = (choices.a == model) | (choices.b == model)
        is_out |= is_met & np.isin(choices.voter, crowd)
    return is_out


def reviewed(choices: VoterChoices, cohorts: Sequence[Cohort]) -> Outcome:
    """Reviews an arena of CROWD_MODELS models."""
    flags = review(choices, CROWD_MODELS, cohorts)
    is_out = left_out(choices, flags)
    voters_flagged = {flag.voter for flag in flags}
    fully_out = {flag.voter for flag in flags if flag.reason not in CROWD_REASONS}
    voters = set(choices.voter.tolist())
    honest = {voter for voter in voters if voter < FIRST_RIGGER}
    riggers = voters - honest
    before = places(choices.take(choices.voter < FIRST_RIGGER), CROWD_MODELS)
    after = places(choices.take(~is_out), CROWD_MODELS)
    return Outcome(
        caught=len(voters_flagged & riggers) / max(1, len(riggers)),
        honest=len(fully_out & honest) / len(honest),
        touched=len((voters_flagged - fully_out) & honest) / len(honest),
        moved=abs(int(after[WEAKEST] - before[WEAKEST])),
    )


def print_means(title: str, outcomes: Sequence[Outcome]) -> bool:
    """Prints the means of outcomes; returns whether a target was missed."""
    caught, honest, touched, moved = np.mean(outcomes, axis=0)
    print(
        f"{title}: {caught:>4.0%} caught, {honest:.2%} of honest voters left out (goal {MOST_HONEST:.1%}), "
        f"of {touched:.1%} votes about the model, it moves by {moved:.2f} ranks, at most "
        f"{max(outcome.moved for outcome in outcomes)} (goal 1)",
        flush=True,
    )
    return bool(honest > MOST_HONEST or moved > 1)


def review_with_crowd(taste: float, days: int, networks: int, run: int) -> Outcome:
    return reviewed(*crowded(np.random.default_rng(run), taste, days, networks))


def review_with_accounts(taste: float, honest: int, riggers: int, each: int, run: int) -> Outcome:
    choices = colluding(np.random.default_rng(run), taste, honest, riggers, each)
    return reviewed(choices, ())


def review_with_class(taste: float, voters: int, each: int, run: int) -> Outcome:
    return reviewed(*with_class(np.random.default_rng(run), taste, voters, each))


def together_against_one(runs: int) -> int:
    """Prints the outcomes with crowds, colluding accounts and classes; returns the number of missed targets."""
    missed = 0
    for taste in TASTES:
        for days, networks in SPREADS:
            title = (
                f"{CROWD} cookies of {CROWD_EACH} votes, of {days:>2} days and {networks:>3} networks, "
                f"tastes {taste:<4}"
            )
            outcomes = results(partial(review_with_crowd, taste, days, networks), runs)
            missed += print_means(title, outcomes)
        for honest, riggers, each in ACCOUNTS:
            title = f"{riggers} accounts of {each} votes, {honest} honest ones of 100, tastes {taste:<4}"
            outcomes = results(partial(review_with_accounts, taste, honest, riggers, each), runs)
            missed += print_means(title, outcomes)
        for voters, each in CLASSROOMS:
            title = f"{voters} honest voters of {each} votes, {CLASS} of them a class, tastes {taste:<4}"
            outcomes = results(partial(review_with_class, taste, voters, each), runs)
            missed += print_means(title, outcomes)
    return missed


def print_times() -> None:
    """Prints the seconds that a review of a million votes takes, and those of its parts."""
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
    times_without_crowds = sum(seconds) / (alone + cohort)
    print(
        f"a review of {REVIEWED:,} votes of {voters:,} voters: {sum(seconds):.0f} s, {alone:.0f} s for single voters, "
        f"{cohort:.0f} s for cohorts, {crowd:.0f} s for crowds ({times_without_crowds:.2f} times as long)"
    )


def honest_flagged(each: int, taste: float, run: int) -> int:
    """Returns the number of voters who are flagged in an arena of honest voters."""
    return len(flagged(drawn(np.random.default_rng(run), HONEST, 0, each, taste)))


class Rigging(NamedTuple):
    """The result of an arena in which riggers vote alone."""

    caught: int
    """Riggers who are flagged."""
    moved: int
    """Most ranks by which a model still moves."""


def rigging(rig: str, taste: float, run: int) -> Rigging:
    rng = np.random.default_rng(run)
    honest = drawn(rng, HONEST, 0, taste=taste)
    choices = together(honest, rigged(rng, rig))
    voters_out = flagged(choices)
    counted = choices.take(~np.isin(choices.voter, voters_out))
    return Rigging(
        caught=int((voters_out >= FIRST_RIGGER).sum()),
        moved=int(np.abs(places(counted) - places(honest)).max()),
    )


def one_against_many(runs: int) -> int:
    """Prints the shares of honest voters and of lone riggers that are flagged; returns the number of missed targets."""
    missed = 0
    for each in (10, EACH, 200):
        for taste in TASTES:
            count = sum(results(partial(honest_flagged, each, taste), runs))
            share = count / (runs * HONEST // each)
            missed += share > MOST_HONEST
            print(
                f"honest voters of {each:>3} votes, tastes {taste:<4}: {share:.2%} flagged (target 0.2%)",
                flush=True,
            )
    for rig in RIGS:
        for taste in TASTES:
            arenas = results(partial(rigging, rig, taste), runs)
            share = sum(arena.caught for arena in arenas) / (runs * RIGGED // EACH)
            moved = max(arena.moved for arena in arenas)
            print(
                f"riggers, {rig:>11}, tastes {taste:<4}: {share:>4.0%} flagged, ranks moved by at most {moved}",
                flush=True,
            )
    return missed


def main(words: Sequence[str] = ()) -> int:
    """Prints the shares of honest voters and riggers that are flagged; returns 1 if a target was missed."""
    parser = ArgumentParser("python -m perf.fraud")
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args(words).runs
    print(f"{HONEST} honest votes an arena, {runs} arenas")
    missed = one_against_many(runs)
    missed += together_against_one(max(1, runs // 4))
    print_times()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
