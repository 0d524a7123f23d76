"""Battle spec: the items, the models, the design and the stop of a campaign of battles."""

import json
from typing import Annotated, Literal

from pydantic import Field
from sqlalchemy import Connection, select

from arena.seats.campaigns import Campaign
from arena.seats.spec import CampaignSpec, Share, SpecPart
from arena.seats.tables import CAMPAIGN, CAMPAIGN_END
from arena.validation import number, whole

TASK = "battles"
Design = Literal["balanced", "settle", "fixed"]


class Stop(SpecPart):
    """The end of a campaign, by the first condition that holds. It also ends when every tuple has its votes."""

    votes: Annotated[int, whole(1, 10**7)]
    """The number of votes that count."""
    settled: Annotated[float, number(0.0001, 0.5)] | None = None
    """The campaign ends once all neighbours on the board are settled. This is the highest probability that any of these
    orders is false, however often one looks.
    """
    width: Annotated[float, number(0.1, 10_000)] | None = None
    """The mean half width of the models' 95% intervals, in rating points."""


class FixedTuple(SpecPart):
    """A tuple of a fixed design: an item by its key, and two models by name."""

    item: str
    model_a: str
    model_b: str


class BattleSpec(CampaignSpec):
    """A campaign of battles."""

    source: Annotated[str, Field(min_length=1, max_length=200)]
    families: tuple[str, ...] = Field(default=(), strict=False)
    """All if empty."""
    models: tuple[str, ...] = Field(default=(), strict=False)
    """Names; all if empty."""
    per_tuple: Annotated[int, whole(1, 100)] = 1
    """The votes for each item and pair of models, each from another worker."""
    overlap: Share = 0.0
    """The share of tuples that get `overlap_per_tuple` votes."""
    overlap_per_tuple: Annotated[int, whole(2, 100)] = 5
    design: Design = "balanced"
    tuples: Annotated[int, whole(1, 10**7)] | None = None
    """The number of tuples to draw, uniformly from all; None: all."""
    fixed: tuple[FixedTuple, ...] = Field(default=(), strict=False)
    """The tuples themselves, in the design `fixed`."""
    stop: Stop

    def mistake(self) -> str:
        """Returns the first mistake in words; "": none."""
        if self.design == "fixed" and not self.fixed:
            return "design is 'fixed', but there are no tuples. Run: python -m arena campaign new --tuples FILE"
        if self.fixed and self.design != "fixed":
            return f"design is {self.design!r}, but there is a file of tuples. Set 'fixed', or leave the file out."
        if self.tuples and self.fixed:
            return "tuples draws from all tuples, but there is also a file of them. Leave one out."
        return super().mistake()


def battle_spec(campaign: Campaign) -> BattleSpec:
    """Returns the spec of a campaign of battles, by its type."""
    assert isinstance(campaign.spec, BattleSpec)
    return campaign.spec


_RUNNING_SPECS = select(CAMPAIGN.c.spec).where(
    CAMPAIGN.c.task == TASK, CAMPAIGN.c.id.not_in(select(CAMPAIGN_END.c.campaign_id))
)


def closed_sources(connection: Connection) -> frozenset[str]:
    """Returns the sources of running campaigns; their boards, counts and votes are hidden from the public."""
    return frozenset(json.loads(spec)["source"] for spec in connection.scalars(_RUNNING_SPECS))
