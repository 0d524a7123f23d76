"""Question times: the seconds that people take for a question, from its display to their choice."""

import numpy as np
from sqlalchemy import BigInteger, select, type_coerce

from arena.battles.choices import publish_votes
from arena.battles.tables import BATTLE, IS_FINAL, IS_LIVE
from arena.battles.vote_table import whole_numbers
from arena.database import Database
from arena.ratings.planner import SECONDS
from arena.seats.campaigns import Campaign
from arena.seats.tables import SEAT_ENTRY
from arena.seats.task import ENOUGH

RECENT = 1000
"""The last votes of the whole site that a question's time is estimated from."""
_MICROSECONDS = type_coerce(BATTLE.c.voted_at, BigInteger) - type_coerce(
    BATTLE.c.began_at, BigInteger
)
_TOOK = select(_MICROSECONDS.label("took")).where(IS_FINAL)


def question_seconds(database: Database, campaign: Campaign) -> float:
    """Returns the median of a campaign's final answers; with too few, that of the site's votes, or else the
    planner's.
    """
    seats = select(SEAT_ENTRY.c.seat_id).where(SEAT_ENTRY.c.campaign_id == campaign.id)
    own = _TOOK.where(BATTLE.c.seat_id.in_(seats))
    of_site = _TOOK.where(~IS_LIVE).order_by(BATTLE.c.final_number.desc()).limit(RECENT)
    publish_votes(database)
    with database.read() as connection:
        for votes in (own, of_site):
            took = whole_numbers(connection, votes)["took"]
            if len(took) >= ENOUGH:
                return float(np.median(took)) / 1e6
    return SECONDS
