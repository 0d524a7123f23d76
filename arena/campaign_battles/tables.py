"""Campaign settlement table: when an order of two models was first settled in a campaign. Rows are only added."""

from sqlalchemy import Column, ForeignKey, Integer, Table

from arena.database import METADATA, Moment

CAMPAIGN_SETTLEMENT = Table(
    "campaign_settlement",
    METADATA,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("above", ForeignKey("model.id"), primary_key=True),
    Column("below", ForeignKey("model.id"), primary_key=True),
    Column("votes", Integer, nullable=False),
    Column("settled_at", Moment, nullable=False),
)
