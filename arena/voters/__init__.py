"""Voters: who they are, how much each may vote, and whose votes count."""
