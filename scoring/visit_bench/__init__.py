"""VisIT-Bench: prompts, matches and the automatic leaderboard."""
