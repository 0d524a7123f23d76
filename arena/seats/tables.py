"""Seat tables: campaigns and their workers; the seats themselves are in `battles.tables`.

Events are only added. The private backup has all tables, so that a worker who returns after a wipe finds the seat, and
is paid. The public export has none. A worker's answers in a qualification are deleted when the worker is forgotten."""

from sqlalchemy import Boolean, Column, ForeignKey, Integer, Table, Text, UniqueConstraint

from arena.battles.tables import SEAT
from arena.database import METADATA, Moment

CAMPAIGN = Table(
    "campaign",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("task", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
)
"""`spec`: the operator's settings, as JSON; `key`: signs its links and the addresses of its seats."""
CAMPAIGN_END = Table(
    "campaign_end",
    METADATA,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("reason", Text, nullable=False),
    Column("ended_at", Moment, nullable=False),
)
SEAT_ENTRY = Table(
    "seat_entry",
    METADATA,
    Column("seat_id", ForeignKey(SEAT.c.id), primary_key=True),
    Column("campaign_id", ForeignKey("campaign.id"), nullable=False),
    Column("person", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("reply_to", Text, nullable=False),
    Column("arrived_at", Moment, nullable=False),
    UniqueConstraint("campaign_id", "person"),
)
"""`person`, `session`, `reply_to`: see `links.Arrival`. `session` and `reply_to` are those of the latest visit, or of
the latest before the seat's end on Prolific and MTurk."""
SEAT_EVENT = Table(
    "seat_event",
    METADATA,
    Column("seat_id", ForeignKey(SEAT.c.id), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("at", Moment, nullable=False),
)
"""Events of a seat, each kind once: see `seats.SeatEvent`."""
SEAT_TRY = Table(
    "seat_try",
    METADATA,
    Column("seat_id", ForeignKey(SEAT.c.id), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("is_right", Boolean),
    Column("at", Moment, nullable=False),
)
"""Answers to the qualification's questions and captions of its samples, by the try and the place in it.

`is_right`: NULL until an operator reads it.
"""
PARTICIPANT = Table(
    "campaign_participant",
    METADATA,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("person", Text, primary_key=True),
    Column("status", Text, nullable=False),
)
"""The platform's own list of participants, as last uploaded."""
