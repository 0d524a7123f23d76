"""Checks: pieces with a known answer, at unpredictable places in a seat's work."""

import math
import random

from arena.seats.spec import ChecksSpec


def wanted_checks(spec: ChecksSpec, votes: int, there_are: int) -> int:
    """Returns the number of checks for a seat with this quota, outside of it: at least one if there are any."""
    return min(there_are, max(1, math.ceil(spec.share * votes)))


def is_check_due(votes_left: int, checks_left: int, coin: random.Random) -> bool:
    """Whether the next piece is a check: all orders of the remaining pieces are equally likely."""
    return coin.random() * (votes_left + checks_left) < checks_left
