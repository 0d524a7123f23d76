"""Takeover: the new voters that could put another model first on a board, and whether they would be noticed."""

import numpy as np

from arena.fraud.cohorts import FEWEST_IN_COHORT
from arena.fraud.crowds import stands_out
from arena.fraud.detectors import VoterChoices
from arena.leaderboard.statistics import BoardVotes, Statistics, Takeover
from arena.ratings.bradley_terry import Strengths, bradley_terry, win_matrix
from arena.ratings.fragility import NewVoters, fewest_new_voters
from arena.ratings.votes import Codes, Outcome

VOTES_EACH = 10
"""Votes of a new voter."""
_GROWTH = 0.01
"""The share that the votes must grow by before the number is computed anew."""


def takeover(
    board_votes: BoardVotes, statistics: Statistics, before: Takeover | None
) -> Takeover | None:
    """Returns the takeover of a board; None while fewer than two models have a rank, or if it takes a majority.

    That of the counting `before` is kept while the votes hardly grow and the leader stays.
    """
    ranked = np.flatnonzero(~np.isnan(statistics.ranks.low))
    fit = bradley_terry(win_matrix(board_votes.votes)[np.ix_(ranked, ranked)])
    if np.isnan(fit.ratings).all():
        return None
    leader = board_votes.codes[int(ranked[np.nanargmax(fit.ratings)])]
    votes = len(board_votes.votes)
    if before and before.leader == leader and abs(votes - before.votes) < _GROWTH * before.votes:
        return before
    new_voters = fewest_new_voters(fit, VOTES_EACH)
    if new_voters is None or VOTES_EACH * new_voters.voters > votes:
        return None
    is_cohort = new_voters.voters >= FEWEST_IN_COHORT
    return Takeover(
        leader=leader,
        rival=board_votes.codes[int(ranked[new_voters.rival])],
        voters=new_voters.voters,
        is_noticed=is_cohort and _stand_out(new_voters, board_votes, fit, ranked),
        votes=votes,
    )


def _stand_out(
    new_voters: NewVoters, board_votes: BoardVotes, fit: Strengths, ranked: Codes
) -> bool:
    """Returns whether the new voters stand out among the board's own.

    `ranked`: the place on the board of each model of `fit`.
    """
    honest = board_votes.votes.take(np.flatnonzero(board_votes.votes.outcome != Outcome.TIE))
    assert honest.voters is not None
    honest_voter = np.unique(honest.voters, return_inverse=True)[1]
    first_new_voter = int(honest_voter.max(initial=-1)) + 1
    new = _choices_of(new_voters, fit)
    choices = VoterChoices(
        a=np.concatenate([honest.a, ranked[new.a]]),
        b=np.concatenate([honest.b, ranked[new.b]]),
        chose_a=np.concatenate([honest.outcome == Outcome.A, new.chose_a]),
        voter=np.concatenate([honest_voter, first_new_voter + new.voter]),
    )
    return stands_out(choices, len(board_votes.codes), int(ranked[new_voters.rival]))


def _choices_of(new_voters: NewVoters, fit: Strengths) -> VoterChoices:
    """Draws the choices of the new voters, with models by their places in `fit` and voters from 0.

    A battle has two models drawn at random. They choose the rival if it is one of them, and otherwise as others do. The
    seed is fixed, so that equal boards have equal takeovers.
    """
    generator = np.random.default_rng(0)
    models = len(fit.ratings)
    votes = VOTES_EACH * new_voters.voters
    a = generator.integers(0, models, votes)
    b = (a + generator.integers(1, models, votes)) % models  # any model but a
    others_choose_a = generator.random(votes) < fit.chances[a, b]
    has_rival = (a == new_voters.rival) | (b == new_voters.rival)
    return VoterChoices(
        a=a,
        b=b,
        chose_a=np.where(has_rival, a == new_voters.rival, others_choose_a),
        voter=np.arange(votes) // VOTES_EACH,
    )
