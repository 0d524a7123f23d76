"""Ratings from votes: Bradley-Terry, Elo, intervals, fragility, agreement, reports."""
