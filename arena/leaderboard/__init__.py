"""Leaderboards: the votes that each board counts, statistics, boards, plots, downloads."""
