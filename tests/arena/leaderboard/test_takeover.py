"""Takeover: a board whose leader changes has another takeover, however few votes are new."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from arena.leaderboard.statistics import BoardSample, BoardVotes
from arena.leaderboard.takeover import takeover
from arena.ratings.votes import Votes


def board_votes(wins_of_first: int, votes: int = 200) -> BoardVotes:
    winner = (np.arange(votes) >= wins_of_first).astype(np.int64)
    columns = Votes(
        a=winner,
        b=1 - winner,
        outcome=np.zeros(votes, np.int64),
        models=2,
        voters=np.arange(votes) % 40,
    )
    nothing = np.zeros(votes, np.int64)
    return BoardVotes((7, 9), nothing, nothing == 0, columns, BoardSample(40, 5, votes, votes))


def test_a_new_leader_is_not_the_rival_of_the_board_before():
    statistics: Any = SimpleNamespace(ranks=SimpleNamespace(low=np.array([1.0, 1.0])))
    before = takeover(board_votes(101), statistics, None)
    assert before is not None and (before.leader, before.rival) == (7, 9)
    assert takeover(board_votes(102), statistics, before) is before
    after = takeover(board_votes(99), statistics, before)
    assert after is not None and (after.leader, after.rival) == (9, 7)
