"""The measured boards of some days count votes at every size, as those of all days do."""

from dataclasses import replace

import pytest

from perf.board_path import DAY, SINGLE, Arena


@pytest.mark.soak
def test_few_planted_votes_too_are_before_and_after_the_day(tmp_path):
    arena = Arena(f"sqlite:///{tmp_path / 'arena.db'}", 1_000)
    whole = arena.leaderboard.board(SINGLE).votes
    since = arena.leaderboard.board(replace(SINGLE, since=DAY)).votes
    arena.close()
    assert 0 < since < whole <= 1_000
