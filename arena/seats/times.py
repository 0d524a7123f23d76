"""Times: the duration of a seat's work, which a worker sees before consent."""

import time
from collections.abc import Callable

from arena.seats.campaigns import Campaign

ENOUGH = 30
"""The fewest answers for a median time."""
FRESH_SECONDS = 60.0


class MeasuredTimes:
    """The seconds of a question in each campaign, measured once a minute, not at each page.

    None if nothing is known.
    """

    def __init__(self, measure: Callable[[Campaign], float | None]) -> None:
        self._measure = measure
        self._measured: dict[int, tuple[float, float | None]] = {}

    def of(self, campaign: Campaign) -> float | None:
        """Returns the seconds of a campaign's question; None if nothing is known."""
        present = time.monotonic()
        if campaign.id in self._measured:
            measured_at, seconds = self._measured[campaign.id]
            if present - measured_at <= FRESH_SECONDS:
                return seconds
        seconds = self._measure(campaign)
        self._measured[campaign.id] = (present, seconds)
        return seconds
