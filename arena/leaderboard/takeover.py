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
    """Returns the takeover of a board; None while fewer than two models have a rank, or if it takes a majority."""
    if before and abs(len(board_votes.votes) - before.votes) < _GROWTH * before.votes:
        return before
    ranked = np.flatnonzero(~np.isnan(statistics.ranks.low))
    fit = bradley_terry(win_matrix(board_votes.votes)[np.ix_(ranked, ranked)])
    fewest = fewest_new_voters(fit, EACH)
    if fewest is None or EACH * fewest.voters > len(board_votes.votes):
        return None
    pair = np.random.default_rng(0)
    votes = EACH * fewest.voters
    a = pair.integers(0, len(ranked), votes)
    b = (a + pair.integers(1, len(ranked), votes)) % len(ranked)
    as_others = pair.random(votes) < fit.chances[a, b]
    chose_a = (a == fewest.rival) | (b != fewest.rival) & as_others
    honest = board_votes.votes.take(np.flatnonzero(board_votes.votes.outcome != Outcome.TIE))
    assert honest.voters is not None
    voter = np.unique(honest.voters, return_inverse=True)[1]
    newest = int(voter.max(initial=-1)) + 1 + np.arange(votes) // EACH
    whole = VoterChoices(
        a=np.concatenate([honest.a, ranked[a]]),
        b=np.concatenate([honest.b, ranked[b]]),
        chose_a=np.concatenate([honest.outcome == Outcome.A, chose_a]),
        voter=np.concatenate([voter, newest]),
    )
    return Takeover(
        leader=board_votes.codes[int(ranked[np.nanargmax(fit.ratings)])],
        rival=board_votes.codes[int(ranked[fewest.rival])],
        voters=fewest.voters,
        is_noticed=fewest.voters >= FEWEST
        and stands_out(whole, len(board_votes.codes), int(ranked[fewest.rival])),
        votes=len(board_votes.votes),
    )
