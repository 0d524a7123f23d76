"""Commands of `python -m scoring`."""
