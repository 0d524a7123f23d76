"""Battles: tables and stores, choices and final votes, pair sampling, group commit, voters and quotas."""
