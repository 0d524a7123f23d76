"""Checks: pieces with a known answer, strewn over a seat's work at places that nobody foresees."""

import math
import random

from arena.seats.spec import ChecksSpec


def wanted_checks(spec: ChecksSpec, votes: int, there_are: int) -> int:
    """How many checks a seat of so many votes gets, outside its quota: at least one where there are any."""
    return min(there_are, max(1, math.ceil(spec.share * votes)))


def is_check_due(votes_left: int, checks_left: int, coin: random.Random) -> bool:
    """Whether the next piece is a check: every order of those left is equally likely, and none is left out."""
    return coin.random() * (votes_left + checks_left) < checks_left
