"""Fraud: statistical tests of voters, cohorts and crowds, the flags that they raise, and vote eligibility."""
