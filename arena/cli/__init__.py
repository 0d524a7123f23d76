"""Subcommands of `python -m arena`."""
