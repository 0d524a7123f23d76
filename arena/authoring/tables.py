"""Authoring tables: drafts of items, the actions of people and models on each, and pictures that people brought.

The private backup has all of them but claims, with sealed texts. The public export has none. *Forget* makes a
person anonymous in the actions; the texts stay under the project's licence.
"""

from sqlalchemy import Column, ForeignKey, Integer, Table, Text, UniqueConstraint

from arena.battles.tables import SEAT, VOTER
from arena.database import METADATA, Moment
from arena.seats.tables import CAMPAIGN

DRAFT = Table(
    "draft",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("campaign_id", ForeignKey(CAMPAIGN.c.id), nullable=False),
    Column("family", Text, nullable=False),
    Column("origin", Text),
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("campaign_id", "origin"),
)
"""`origin`: the key of an item that came finished from a file, which comes once."""
DRAFT_EVENT = Table(
    "draft_event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("draft_id", ForeignKey("draft.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("seat_id", ForeignKey(SEAT.c.id), index=True),
    Column("voter_id", ForeignKey(VOTER.c.id)),
    Column("began_at", Moment),
    Column("at", Moment, nullable=False),
    UniqueConstraint("draft_id", "voter_id"),
)
"""An action on a draft: rows are only added, and nobody acts twice on a draft. `value`: a record of `events.VALUES` as
JSON. Models, operators and files have no seat and no voter."""
DRAFT_CLAIM = Table(
    "draft_claim",
    METADATA,
    Column("draft_id", ForeignKey("draft.id"), primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("step", Text, nullable=False),
    Column("seat_id", ForeignKey(SEAT.c.id), index=True),
    Column("voter_id", ForeignKey(VOTER.c.id)),
    Column("claimed_at", Moment, nullable=False),
)
"""The claim on a draft, one at a time; a model's has no seat and no voter."""
DRAFT_PICTURE = Table(
    "draft_picture",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("draft_id", ForeignKey("draft.id"), nullable=False),
    Column("seat_id", ForeignKey(SEAT.c.id), nullable=False),
    Column("sha256", Text, nullable=False),
    Column("suffix", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint("draft_id", "seat_id", "sha256"),
)
"""A picture that a seat brought for a draft, even if its instruction doesn't show it. `url`: the source address, empty
for an upload; `hash`: see `io.images.difference_hash`."""
