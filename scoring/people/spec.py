"""Mark spec: campaigns to mark, label or read the answers of one report, opened by the report's owner."""

import hashlib
from collections.abc import Mapping
from typing import Literal, get_args

from arena.seats.spec import CampaignSpec

MarkKind = Literal["marks", "labels", "readings"]
"""Kinds of work: a mark is a grade in tenths, a label a kind of error, a reading the option that an answer means."""


class MarkSpec(CampaignSpec):
    """A campaign of marks, labels or readings."""

    report: str
    """Link of the report with the answers; it appears on no page of the campaign."""


KINDS: Mapping[str, type[CampaignSpec]] = dict.fromkeys(get_args(MarkKind), MarkSpec)


def campaign_name(kind: MarkKind, report: str) -> str:
    """The name of a report's campaign, a hash that does not reveal the report's link."""
    return f"{kind}-{hashlib.sha256(report.encode()).hexdigest()[:16]}"
