"""Leaderboards from stored votes: queries, win counts, statistics, boards, plots, downloads."""
