"""Campaign votes: what a campaign's seats have given and hold, read from the database at one moment.

A tuple is held by who chose in it, and for the seat's minutes by who was shown it. What seats gave that failed their
checks, are flagged, took consent back or were rejected by the platform's list does not count: it is asked of others.
Seats that the list has not confirmed hold what they gave, for some hours; it counts once they are confirmed.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, case, func, select

from arena.battles.store import Seen
from arena.battles.tables import BATTLE, CHOSEN, SEAT, SKIPPED
from arena.battles.voters import selves
from arena.campaign_battles.layout import Layout
from arena.database import now
from arena.fraud.flags import COUNTED_FLAG, VOTER_FLAG, flagged_voters
from arena.items.alike import alike_items
from arena.items.store import MODEL
from arena.ratings.votes import Codes, Votes, integers
from arena.seats.campaigns import Campaign
from arena.seats.tables import SEAT_ENTRY, SEAT_EVENT
from arena.seats.task import SeatProgress
from arena.types import UNRELATED

CHECK = "check"
_OF_SEATS = SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id
_IS_WORK = BATTLE.c.draw != CHECK
_GIVEN = select(
    BATTLE.c.seat_id,
    func.sum(case((_IS_WORK, 1), else_=0)).label("votes"),
    func.sum(case((BATTLE.c.draw == CHECK, 1), else_=0)).label("checks"),
    func.sum(case(((BATTLE.c.draw == CHECK) & (MODEL.c.name == UNRELATED), 1), else_=0)).label(
        "failed"
    ),
    func.max(BATTLE.c.voted_at).label("last"),
).where(CHOSEN, MODEL.c.id == BATTLE.c.winner)


class CollectedVotes(NamedTuple):
    """What a campaign has, by the codes of its layout."""

    held: np.ndarray
    """Voters that each tuple has or waits for: pairs x items."""
    given: np.ndarray
    """Votes of each tuple, pending ones too."""
    counted: np.ndarray
    """Votes of each tuple by confirmed seats."""
    left_out: frozenset[int]
    """Seats that hold nothing: what they gave is asked of others."""
    uncounted: frozenset[int]
    """Seats whose answers do not count: those, and the pending ones."""


def given_by(connection: Connection, seat: int) -> SeatProgress:
    row = connection.execute(
        _GIVEN.where(BATTLE.c.seat_id == seat).group_by(BATTLE.c.seat_id)
    ).one_or_none()
    skips = select(func.count()).where(SKIPPED, BATTLE.c.seat_id == seat)
    skipped = connection.execute(skips).scalar_one()
    if row is None:
        return SeatProgress(skipped=skipped)
    return SeatProgress(row.votes, row.checks, row.failed, skipped, row.last)


def left_out_seats(connection: Connection, campaign: Campaign) -> frozenset[int]:
    """Seats that failed their checks, took consent back, are rejected, or not confirmed in time, or whose worker is
    flagged.
    """
    given = _GIVEN.where(_OF_SEATS, SEAT_ENTRY.c.campaign_id == campaign.id).group_by(
        BATTLE.c.seat_id
    )
    failed = {
        row.seat_id for row in connection.execute(given) if row.failed >= campaign.spec.checks.fail
    }
    mine = select(SEAT_ENTRY.c.seat_id).join(SEAT).where(SEAT_ENTRY.c.campaign_id == campaign.id)
    flagged = SEAT.c.voter_id.in_(flagged_voters(VOTER_FLAG)) | SEAT.c.voter_id.in_(
        flagged_voters(COUNTED_FLAG)
    )
    left = select(SEAT_EVENT.c.seat_id).where(SEAT_EVENT.c.kind == "withdrew")
    hours = timedelta(hours=campaign.spec.platform.confirm_hours)
    is_late = (SEAT.c.confirmation == "pending") & (SEAT_ENTRY.c.arrived_at < now() - hours)
    gone = (SEAT.c.confirmation == "rejected") | is_late
    out = connection.scalars(mine.where(flagged | gone | SEAT_ENTRY.c.seat_id.in_(left)))
    return frozenset({*failed, *out})


def uncounted_seats(
    connection: Connection, campaign: Campaign, left_out: frozenset[int]
) -> frozenset[int]:
    """Seats whose answers do not count: failed ones and their like, and those that are not confirmed.

    Of a seat that was left out for its lateness alone, answers count once it is confirmed.
    """
    unconfirmed = select(SEAT.c.id).where(
        SEAT.c.id == SEAT_ENTRY.c.seat_id,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        SEAT.c.confirmation != "confirmed",
    )
    return left_out.union(connection.scalars(unconfirmed))


def collected(connection: Connection, campaign: Campaign, layout: Layout) -> CollectedVotes:
    """Counts what each tuple has."""
    out = left_out_seats(connection, campaign)
    uncounted = uncounted_seats(connection, campaign, out)
    held = np.zeros(layout.wanted.shape, np.int32)
    given = np.zeros(layout.wanted.shape, np.int32)
    counted = np.zeros(layout.wanted.shape, np.int32)
    query = select(
        BATTLE.c.item_id,
        BATTLE.c.model_low,
        BATTLE.c.model_high,
        BATTLE.c.seat_id,
        case((CHOSEN, 1), else_=0).label("chosen"),
    ).where(
        _OF_SEATS, SEAT_ENTRY.c.campaign_id == campaign.id, _IS_WORK, CHOSEN | _is_fresh(campaign)
    )
    for row in connection.execute(query):
        place = layout.place(Seen.of(row))
        if place and row.seat_id not in out:
            held[place] += 1
            given[place] += row.chosen
            if row.seat_id not in uncounted:
                counted[place] += row.chosen
    return CollectedVotes(held, given, counted, out, uncounted)


def judged(voter: int) -> Select:
    """A SELECT of (seat, item, lower model, higher model) of the battles that a worker chose in."""
    battles = select(BATTLE.c.seat_id, BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
    return battles.where(BATTLE.c.voter_id.in_(selves(voter)), CHOSEN)


def holders(
    connection: Connection, campaign: Campaign, seen: Seen, left_out: frozenset[int]
) -> int:
    """How many seats have or hold one tuple now."""
    query = select(func.count()).where(
        BATTLE.c.item_id == seen.item,
        BATTLE.c.model_low == seen.low,
        BATTLE.c.model_high == seen.high,
        _OF_SEATS,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
        CHOSEN | _is_fresh(campaign),
    )
    return connection.execute(query.where(BATTLE.c.seat_id.not_in(left_out))).scalar_one()


def places_taken(connection: Connection, campaign: Campaign, left_out: frozenset[int]) -> int:
    """How many votes a campaign has, with those that seats are at."""
    query = select(func.count()).where(
        _OF_SEATS,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
        CHOSEN | _is_fresh(campaign),
        BATTLE.c.seat_id.not_in(left_out),
    )
    return connection.execute(query).scalar_one()


def counted_votes(
    connection: Connection, campaign: Campaign, layout: Layout, uncounted: frozenset[int]
) -> Votes:
    """The votes that count, by the layout's codes: the winner is side a."""
    query = select(
        BATTLE.c.winner, BATTLE.c.loser, BATTLE.c.item_id, BATTLE.c.voter_id, BATTLE.c.seat_id
    ).where(
        CHOSEN,
        _OF_SEATS,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
    )
    rows = integers(connection.execute(query.order_by(BATTLE.c.voted_at, BATTLE.c.id)), 5)
    rows = rows[~np.isin(rows[:, 4], list(uncounted))]
    winner, known = _coded(rows[:, 0], layout.model_code)
    loser, also = _coded(rows[:, 1], layout.model_code)
    item, there = _coded(rows[:, 2], layout.item_code)
    of_these = known & also & there
    picture, _ = _coded(rows[:, 2], alike_items(connection))
    return Votes(
        a=winner[of_these],
        b=loser[of_these],
        outcome=np.zeros(int(of_these.sum()), np.int64),
        models=len(layout.models),
        items=item[of_these],
        voters=rows[of_these, 3],
        pictures=picture[of_these],
    )


def _coded(ids: Codes, code: Mapping[int, int]) -> tuple[Codes, np.ndarray]:
    found = np.array([code.get(one, -1) for one in ids.tolist()], np.int64)
    return found, found >= 0


def _is_fresh(campaign: Campaign):
    """Whether a battle without an answer still holds its tuple."""
    return ~SKIPPED & (BATTLE.c.began_at > now() - timedelta(minutes=campaign.spec.seat.minutes))
