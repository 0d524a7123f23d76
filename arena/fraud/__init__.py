"""Fraud: statistical tests of voters, the flags they raise, and vote eligibility."""
