"""The commands of `python -m arena`."""
