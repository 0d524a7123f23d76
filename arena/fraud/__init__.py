"""Fraud: statistical tests of voters and of cohorts of them, the flags they raise, and vote eligibility."""
