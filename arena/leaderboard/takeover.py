"""Takeover: the new voters that could put another model first on a board, and whether they would be noticed."""

import numpy as np

from arena.fraud.cohorts import FEWEST
from arena.fraud.crowds import stands_out
from arena.fraud.detectors import VoterChoices
from arena.leaderboard.statistics import BoardVotes, Statistics, Takeover
from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.fragility import fewest_new_voters
from arena.ratings.votes import Outcome

EACH = 10
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
    if before and before.leader == leader:
        new_votes = abs(len(board_votes.votes) - before.votes)
        if new_votes < _GROWTH * before.votes:
            return before
    fewest = fewest_new_voters(fit, EACH)
    if fewest is None or EACH * fewest.voters > len(board_votes.votes):
        return None
    generator = np.random.default_rng(0)
    votes = EACH * fewest.voters
    a = generator.integers(0, len(ranked), votes)
    b = (a + generator.integers(1, len(ranked), votes)) % len(ranked)
    others_choose_a = generator.random(votes) < fit.chances[a, b]
    has_rival = (a == fewest.rival) | (b == fewest.rival)
    chose_a = np.where(has_rival, a == fewest.rival, others_choose_a)
    honest = board_votes.votes.take(np.flatnonzero(board_votes.votes.outcome != Outcome.TIE))
    assert honest.voters is not None
    honest_voter = np.unique(honest.voters, return_inverse=True)[1]
    new_voter = int(honest_voter.max(initial=-1)) + 1 + np.arange(votes) // EACH
    all_choices = VoterChoices(
        a=np.concatenate([honest.a, ranked[a]]),
        b=np.concatenate([honest.b, ranked[b]]),
        chose_a=np.concatenate([honest.outcome == Outcome.A, chose_a]),
        voter=np.concatenate([honest_voter, new_voter]),
    )
    return Takeover(
        leader=leader,
        rival=board_votes.codes[int(ranked[fewest.rival])],
        voters=fewest.voters,
        is_noticed=fewest.voters >= FEWEST
        and stands_out(all_choices, len(board_votes.codes), int(ranked[fewest.rival])),
        votes=len(board_votes.votes),
    )
