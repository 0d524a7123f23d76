"""Mark spec: marking, labelling and reading as tasks of seats, each a campaign of one report that its owner opens."""

import hashlib
from collections.abc import Mapping
from typing import Literal, get_args

from arena.seats.spec import CampaignSpec

MarkKind = Literal["marks", "labels", "readings"]
"""Names of tasks: a mark is a grade in tenths, a label a kind of error, a reading the option that an answer means."""


class MarkSpec(CampaignSpec):
    """A campaign of marks, labels or readings."""

    report: str
    """Link of the report whose answers are shown; no page of the campaign holds it."""


KINDS: Mapping[str, type[CampaignSpec]] = dict.fromkeys(get_args(MarkKind), MarkSpec)


def campaign_name(kind: MarkKind, report: str) -> str:
    """The name of a report's campaign, out of which nobody gets the report's link."""
    return f"{kind}-{hashlib.sha256(report.encode()).hexdigest()[:16]}"
