"""VisIT-Bench: prompts, matches, the automatic leaderboard."""
