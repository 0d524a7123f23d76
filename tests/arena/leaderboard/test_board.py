"""A board from its counts alone, without a database."""

import numpy as np

from arena.leaderboard.board import BoardKey, Counts, Entrant, board
from arena.types import REFERENCE


def test_a_tie_with_the_reference_is_neither_won_nor_met():
    ties = np.array([[0, 4], [4, 0]])
    counts = Counts((1, 2), np.array([[0, 1], [2, 0]]) + ties / 2, np.zeros((2, 2)), ties)
    entrants = {1: Entrant("m1", False, False), 2: Entrant(REFERENCE, False, True)}
    (line,) = [
        line
        for line in board(BoardKey(1, False), counts, entrants, None).standings
        if line.model == "m1"
    ]
    assert line.win_rate is not None and (line.win_rate.hits, line.win_rate.n) == (1, 3)
    assert (line.votes, line.ties) == (7, 4)
