"""VisIT-Bench: submissions, matches, and the automatic leaderboard."""
