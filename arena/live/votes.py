"""Live sources: votes on visitors' own images and live votes on the bank's items, each with separate boards."""

from typing import NamedTuple

import pandas as pd

from arena.battles.vote_table import LIVE_ITEM, LIVE_OWN, values


class LiveSource(NamedTuple):
    """A source of live votes, with the label that people choose it by."""

    label: str
    code: int
    """The source's code in the vote table."""


LIVE_SOURCES = (
    LiveSource("Own pictures, answered live", LIVE_OWN),
    LiveSource("Our items, answered live", LIVE_ITEM),
)


def live_sources(votes: pd.DataFrame) -> list[LiveSource]:
    """Returns the sources of live votes with at least one final ranked vote."""
    ranked = values(votes, "source")[values(votes, "outside") == 0]
    return [source for source in LIVE_SOURCES if (ranked == source.code).any()]
