"""Boards: from the votes that the database holds to what a leaderboard shows."""
