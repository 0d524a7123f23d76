"""Judges and people: how far each agrees with a majority of people."""
