"""Voters of which some are rigged in a known way, and honest ones beside them."""

import numpy as np

from arena.fraud.detectors import VoterChoices
from arena.ratings.bradley_terry import bradley_terry

MODELS, GAP, TARGET = 10, 25, 4


HONEST, RIGGED, EACH = 5000, 100, 50
"""Votes: of honest voters, of riggers (2%), of one voter."""


STRENGTHS = np.arange(MODELS) * GAP * np.log(10) / 400


RIGS = ("always left", "omnipresent", "one target")


def drawn(rng: np.random.Generator, votes: int, first: int) -> VoterChoices:
    """Return honest choices of voters numbered from `first`."""
    a = rng.integers(0, MODELS, votes)
    b = (a + rng.integers(1, MODELS, votes)) % MODELS
    chose_a = rng.random(votes) < 1 / (1 + np.exp(STRENGTHS[b] - STRENGTHS[a]))
    return VoterChoices(a, b, chose_a, first + np.arange(votes) // EACH)


def rigged(rng: np.random.Generator, rig: str) -> VoterChoices:
    honest = drawn(rng, RIGGED, first=1000)
    if rig == "always left":
        return honest._replace(chose_a=np.ones(RIGGED, bool))
    import_summary = honest.chose_a if rig == "one target" else honest.a < honest.b
    chose_a = np.where(honest.a == TARGET, True, np.where(honest.b == TARGET, False, import_summary))
    return honest._replace(chose_a=chose_a)


def places(choices: VoterChoices) -> np.ndarray:
    """Return the rank of each model by Bradley-Terry, the best 0."""
    won = np.where(choices.chose_a, choices.a, choices.b)
    lost = np.where(choices.chose_a, choices.b, choices.a)
    wins = np.zeros((MODELS, MODELS))
    np.add.at(wins, (won, lost), 1.0)
    return np.argsort(np.argsort(-bradley_terry(wins).ratings))
