"""Tests that flag voters, the flags, and whose votes count."""
