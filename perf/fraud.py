"""Fraud tests in simulated arenas: `python -m perf.fraud [--runs 10]`.

Honest voters have strengths of their own around everybody's, as far apart as their tastes; riggers vote among them.
Targets: at most 0.2% of honest voters are flagged, whatever the tastes. How many riggers are found, and how far the
undetected ones move a model, is printed: strong tastes hide who favours a model, not who favours a side.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

import numpy as np

from arena.fraud.cohorts import Cohort, in_cohorts
from arena.fraud.detectors import ENOUGH, Suspicion, VoterChoices, evidence
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
MOST_LOST = 0.005


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


def crowds(runs: int) -> None:
    """Print how much of a crowd of fresh cookies is flagged, what that costs, and how far it still moves a model."""
    for taste in TASTES:
        for days, networks in SPREADS:
            caught = 0
            lost = 0
            moved = 0
            for run in range(runs):
                whole, cohorts = crowded(np.random.default_rng(run), taste, days, networks)
                alone = flagged(whole, CROWD_MODELS)
                found = [one.voter for one in in_cohorts(whole, CROWD_MODELS, cohorts, alone)]
                out = np.concatenate([alone, np.array(found, np.int64)])
                caught += int((out >= FIRST_RIGGER).sum())
                lost += int((out < FIRST_RIGGER).sum())
                honest = places(whole.take(whole.voter < FIRST_RIGGER), CROWD_MODELS)
                counted = places(whole.take(~np.isin(whole.voter, out)), CROWD_MODELS)
                moved = max(moved, int(np.abs(counted - honest).max()))
            print(
                f"{CROWD} cookies of {CROWD_EACH} votes, of {days:>2} days and {networks:>3} networks, "
                f"tastes {taste:<4}: {caught / runs / CROWD:>4.0%} flagged, "
                f"{lost * CROWD_EACH / runs / HONEST:.2%} of honest votes lost (goal {MOST_LOST:.1%}), "
                f"ranks moved by at most {moved} (goal 1)",
                flush=True,
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
    crowds(runs)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
