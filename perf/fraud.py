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
LIFTED = 4
"""The model that some riggers lift."""
STRENGTHS = np.arange(MODELS) * GAP * np.log(10) / 400
HONEST_VOTES = 5000
"""Votes of all honest voters."""
RIGGED_VOTES = 100
"""Votes of all riggers."""
VOTES_EACH = 50
"""Votes of one voter."""
FIRST_RIGGER = 10_000
"""Voters with this or a higher number are riggers."""
RIGS = ("always left", "omnipresent", "one target")
TASTES = (0.0, 0.35, 0.7, 1.0)
"""Deviation of a voter's taste for each model, in log odds."""
MOST_HONEST_OUT = 0.002
"""Largest share of honest voters that may be left out."""
CROWD_SIZE = 100
"""Fresh cookies of a crowd, which choose the weakest model in all its battles."""
VOTES_PER_COOKIE = 10
"""Votes of each cookie."""
DAYS = 10
"""Days on which the honest voters' cookies were issued."""
CROWD_MODELS = 6
WEAKEST = 0
VOTERS_PER_NETWORK = 5
"""Honest voters of one network."""
SPREADS = ((1, 10), (1, 100), (DAYS, 10), (DAYS, 100))
"""Days and networks over which a crowd is spread."""
ACCOUNTS = ((45, 12, 100), (225, 20, 300), (45, 24, 100))
"""Honest voters of 100 votes, colluding accounts, and votes of each account."""
CLASS_SIZE = 30
"""Guests of one network who share a taste."""
CLASS_TASTE = 0.7
"""Deviation of a class's taste for each model, in log odds."""
CLASSROOMS = ((500, 10), (130, 50))
"""Honest voters of an arena with a class, and votes of each."""
REVIEW_VOTES = 1_000_000
REVIEW_VOTES_EACH = 10


def draw_honest(
    rng: np.random.Generator,
    votes: int,
    first: int = 0,
    each: int = VOTES_EACH,
    taste: float = 0.0,
    models: int = MODELS,
) -> VoterChoices:
    """Returns this many honest choices between the weakest `models`: `each` per voter, numbered from `first`."""
    voter = np.arange(votes) // each
    a = rng.integers(0, models, votes)
    b = (a + rng.integers(1, models, votes)) % models
    strengths = STRENGTHS[:models] + rng.normal(0, taste, (int(voter[-1]) + 1, models))
    chose_a = rng.random(votes) < 1 / (1 + np.exp(strengths[voter, b] - strengths[voter, a]))
    return VoterChoices(a, b, chose_a, first + voter)


def draw_rigged(rng: np.random.Generator, rig: str) -> VoterChoices:
    """Returns riggers' choices.

    "always left" chooses A. The others choose LIFTED in all its battles; in other battles, "omnipresent" chooses the
    weaker model, and "one target" chooses as honest voters do.
    """
    honest = draw_honest(rng, RIGGED_VOTES, first=FIRST_RIGGER)
    if rig == "always left":
        return honest._replace(chose_a=np.ones(RIGGED_VOTES, bool))
    chose_a = honest.chose_a if rig == "one target" else honest.a < honest.b
    chose_a = np.where(honest.a == LIFTED, True, chose_a)
    chose_a = np.where(honest.b == LIFTED, False, chose_a)
    return honest._replace(chose_a=chose_a)


def draw_with_crowd(
    rng: np.random.Generator, taste: float, days: int, networks: int
) -> tuple[VoterChoices, list[Cohort]]:
    """Returns the choices of honest voters and of a crowd, and all cohorts.

    The crowd's cookies are from this many days and networks.
    """
    honest = draw_honest(rng, HONEST_VOTES, each=VOTES_PER_COOKIE, taste=taste, models=CROWD_MODELS)
    crowd = draw_honest(
        rng,
        CROWD_SIZE * VOTES_PER_COOKIE,
        first=FIRST_RIGGER,
        each=VOTES_PER_COOKIE,
        models=CROWD_MODELS,
    )
    chose_a = (crowd.a == WEAKEST) | (crowd.b != WEAKEST) & crowd.chose_a
    voters = np.concatenate(
        [np.arange(HONEST_VOTES // VOTES_PER_COOKIE), FIRST_RIGGER + np.arange(CROWD_SIZE)]
    )
    number = np.where(voters < FIRST_RIGGER, voters, voters - FIRST_RIGGER)
    day = np.where(voters < FIRST_RIGGER, number % DAYS, number % days)
    # The crowd's networks have negative numbers, which no honest voter's network has.
    crowd_network = -1 - rng.permutation(CROWD_SIZE) % networks
    honest_network = np.arange(HONEST_VOTES // VOTES_PER_COOKIE) // VOTERS_PER_NETWORK
    network = np.append(honest_network, crowd_network)
    cohorts = [Cohort(Suspicion.NETWORK, voters[network == code]) for code in np.unique(network)]
    cohorts += [Cohort(Suspicion.COHORT, voters[day == code]) for code in range(DAYS)]
    return joined(honest, crowd._replace(chose_a=chose_a)), cohorts


def draw_with_accounts(
    rng: np.random.Generator, taste: float, honest: int, riggers: int, each: int
) -> VoterChoices:
    """Returns the choices of honest voters, and of accounts that always choose the weakest model."""
    others = draw_honest(rng, 100 * honest, each=100, taste=taste, models=CROWD_MODELS)
    accounts = draw_honest(rng, riggers * each, first=FIRST_RIGGER, each=each, models=CROWD_MODELS)
    chose_a = (accounts.a == WEAKEST) | (accounts.b != WEAKEST) & accounts.chose_a
    return joined(others, accounts._replace(chose_a=chose_a))


def draw_with_class(
    rng: np.random.Generator, taste: float, voters: int, each: int
) -> tuple[VoterChoices, list[Cohort]]:
    """Returns honest choices and all networks; the last voters are a class, with a common taste and network."""
    a = rng.integers(0, CROWD_MODELS, voters * each)
    b = (a + rng.integers(1, CROWD_MODELS, voters * each)) % CROWD_MODELS
    voter = np.arange(voters * each) // each
    tastes = rng.normal(0, taste, (voters, CROWD_MODELS))
    tastes[-CLASS_SIZE:] += rng.normal(0, CLASS_TASTE, CROWD_MODELS)
    strengths = STRENGTHS[:CROWD_MODELS] + tastes
    chose_a = rng.random(len(a)) < 1 / (1 + np.exp(strengths[voter, b] - strengths[voter, a]))
    others = np.array_split(
        np.arange(voters - CLASS_SIZE), (voters - CLASS_SIZE) // VOTERS_PER_NETWORK
    )
    networks = [*others, np.arange(voters - CLASS_SIZE, voters)]
    cohorts = [Cohort(Suspicion.NETWORK, network) for network in networks]
    return VoterChoices(a, b, chose_a, voter), cohorts


def joined(*parts: VoterChoices) -> VoterChoices:
    """Returns all parts' choices one after the other."""
    return VoterChoices(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def flagged_voters(choices: VoterChoices, models: int = MODELS) -> np.ndarray:
    """Returns the voters with enough evidence of rigging."""
    voters = [flag.voter for flag in evidence(choices, models) if flag.strength >= ENOUGH]
    return np.array(voters, np.int64)


def places(choices: VoterChoices, models: int = MODELS) -> np.ndarray:
    """Returns the rank of each model by Bradley-Terry, the best 0."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.zeros((models, models))
    np.add.at(wins, (won, lost), 1.0)
    return np.argsort(np.argsort(-bradley_terry(wins).ratings))


class ReviewResult(NamedTuple):
    """The result of a review of an arena with riggers."""

    caught: float
    """Share of the riggers who lose votes: all, or only those about the crowd's model."""
    honest: float
    """Share of honest voters who lose all votes."""
    touched: float
    """Share of honest voters who lose only their votes about the crowd's model."""
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
        is_about_model = (choices.a == model) | (choices.b == model)
        is_out |= is_about_model & np.isin(choices.voter, crowd)
    return is_out


def review_arena(choices: VoterChoices, cohorts: Sequence[Cohort]) -> ReviewResult:
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
    return ReviewResult(
        caught=len(voters_flagged & riggers) / max(1, len(riggers)),
        honest=len(fully_out & honest) / len(honest),
        touched=len((voters_flagged - fully_out) & honest) / len(honest),
        moved=abs(int(after[WEAKEST] - before[WEAKEST])),
    )


def print_means(title: str, outcomes: Sequence[ReviewResult]) -> bool:
    """Prints the means of outcomes; returns whether a target was missed."""
    caught, honest, touched, moved = np.mean(outcomes, axis=0)
    print(
        f"{title}: {caught:>4.0%} caught, {honest:.2%} of honest voters left out (goal {MOST_HONEST_OUT:.1%}), "
        f"of {touched:.1%} votes about the model, it moves by {moved:.2f} ranks, at most "
        f"{max(outcome.moved for outcome in outcomes)} (goal 1)",
        flush=True,
    )
    return bool(honest > MOST_HONEST_OUT or moved > 1)


def review_with_crowd(taste: float, days: int, networks: int, run: int) -> ReviewResult:
    return review_arena(*draw_with_crowd(np.random.default_rng(run), taste, days, networks))


def review_with_accounts(
    taste: float, honest: int, riggers: int, each: int, run: int
) -> ReviewResult:
    choices = draw_with_accounts(np.random.default_rng(run), taste, honest, riggers, each)
    return review_arena(choices, ())


def review_with_class(taste: float, voters: int, each: int, run: int) -> ReviewResult:
    return review_arena(*draw_with_class(np.random.default_rng(run), taste, voters, each))


def together_against_one(runs: int) -> int:
    """Prints the outcomes with crowds, colluding accounts and classes; returns the number of missed targets."""
    missed = 0
    for taste in TASTES:
        for days, networks in SPREADS:
            title = (
                f"{CROWD_SIZE} cookies of {VOTES_PER_COOKIE} votes, of {days:>2} days and {networks:>3} networks, "
                f"tastes {taste:<4}"
            )
            outcomes = results(partial(review_with_crowd, taste, days, networks), runs)
            missed += print_means(title, outcomes)
        for honest, riggers, each in ACCOUNTS:
            title = f"{riggers} accounts of {each} votes, {honest} honest ones of 100, tastes {taste:<4}"
            outcomes = results(partial(review_with_accounts, taste, honest, riggers, each), runs)
            missed += print_means(title, outcomes)
        for voters, each in CLASSROOMS:
            title = f"{voters} honest voters of {each} votes, {CLASS_SIZE} of them a class, tastes {taste:<4}"
            outcomes = results(partial(review_with_class, taste, voters, each), runs)
            missed += print_means(title, outcomes)
    return missed


def print_times() -> None:
    """Prints the seconds that a review of a million votes takes, and those of its parts."""
    rng = np.random.default_rng(0)
    voters = REVIEW_VOTES // REVIEW_VOTES_EACH
    choices = draw_honest(rng, REVIEW_VOTES, each=REVIEW_VOTES_EACH, taste=TASTES[1])
    networks = np.array_split(np.arange(voters), voters // VOTERS_PER_NETWORK)
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
    slowdown = sum(seconds) / (alone + cohort)
    print(
        f"a review of {REVIEW_VOTES:,} votes of {voters:,} voters: {sum(seconds):.0f} s, "
        f"{alone:.0f} s for single voters, {cohort:.0f} s for cohorts, "
        f"{crowd:.0f} s for crowds ({slowdown:.2f} times as long)"
    )


def honest_flagged(each: int, taste: float, run: int) -> int:
    """Returns the number of voters who are flagged in an arena of honest voters."""
    choices = draw_honest(np.random.default_rng(run), HONEST_VOTES, each=each, taste=taste)
    return len(flagged_voters(choices))


class Rigging(NamedTuple):
    """The result of an arena in which riggers vote alone."""

    caught: int
    """Riggers who are flagged."""
    moved: int
    """Most ranks by which a model still moves."""


def vote_with_riggers(rig: str, taste: float, run: int) -> Rigging:
    rng = np.random.default_rng(run)
    honest = draw_honest(rng, HONEST_VOTES, taste=taste)
    choices = joined(honest, draw_rigged(rng, rig))
    voters_out = flagged_voters(choices)
    counted = choices.take(~np.isin(choices.voter, voters_out))
    return Rigging(
        caught=int((voters_out >= FIRST_RIGGER).sum()),
        moved=int(np.abs(places(counted) - places(honest)).max()),
    )


def one_against_many(runs: int) -> int:
    """Prints the shares of honest voters and of lone riggers that are flagged; returns the number of missed targets."""
    missed = 0
    for each in (10, VOTES_EACH, 200):
        for taste in TASTES:
            count = sum(results(partial(honest_flagged, each, taste), runs))
            share = count / (runs * HONEST_VOTES // each)
            missed += share > MOST_HONEST_OUT
            print(
                f"honest voters of {each:>3} votes, tastes {taste:<4}: {share:.2%} flagged (target 0.2%)",
                flush=True,
            )
    for rig in RIGS:
        for taste in TASTES:
            arenas = results(partial(vote_with_riggers, rig, taste), runs)
            share = sum(arena.caught for arena in arenas) / (runs * RIGGED_VOTES // VOTES_EACH)
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
    print(f"{HONEST_VOTES} honest votes an arena, {runs} arenas")
    missed = one_against_many(runs)
    # A review takes longer than `one_against_many`'s test of single voters.
    missed += together_against_one(max(1, runs // 4))
    print_times()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
