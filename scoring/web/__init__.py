"""Screens and HTTP routes of scoring."""
