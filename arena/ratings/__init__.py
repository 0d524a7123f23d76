"""Ratings from votes: Bradley-Terry, Elo, intervals, bootstrap, fragility, agreement, reports."""
