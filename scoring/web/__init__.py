"""Screens and routes of scoring."""
