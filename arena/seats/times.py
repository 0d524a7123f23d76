"""Times: how long a seat's work takes, so that a worker knows it before consent."""

import time
from collections.abc import Callable

from arena.seats.campaigns import Campaign

ENOUGH = 30
"""Answers whose median tells how long one takes."""
FRESH_SECONDS = 60.0


class MeasuredTimes:
    """How long a question of each campaign takes in seconds, as `measure` finds it: once a minute, not at each page.

    None where nothing is known.
    """

    def __init__(self, measure: Callable[[Campaign], float | None]) -> None:
        self._measure = measure
        self._found: dict[int, tuple[float, float | None]] = {}

    def of(self, campaign: Campaign) -> float | None:
        at = time.monotonic()
        found = self._found.get(campaign.id)
        if found is None or at - found[0] > FRESH_SECONDS:
            found = (at, self._measure(campaign))
            self._found[campaign.id] = found
        return found[1]
