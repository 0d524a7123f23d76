"""Battles between two stored answers: their tables and store, pair sampling, group commit, voters and quotas."""
