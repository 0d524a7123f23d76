"""Campaign votes: the votes and the held tuples of a campaign's seats, read from the database at one moment.

A seat holds a tuple once it has chosen, and for the seat's minutes after the tuple was shown to it. Votes of seats that
failed their checks, are flagged, withdrew consent or were rejected by the platform's list don't count, and their tuples
go to others. Unconfirmed seats hold their tuples for some hours; their votes count once they are confirmed.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, case, func, select

from arena.battles.store import ItemPair
from arena.battles.tables import BATTLE, CHOSEN, SEAT, SKIPPED
from arena.battles.voters import selves
from arena.campaign_battles.layout import Layout
from arena.database import now
from arena.fraud.flags import COUNTED_FLAG, VOTER_FLAG, flagged_voters
from arena.items.alike import alike_items
from arena.items.store import MODEL
from arena.ratings.votes import Codes, Votes, integer_array
from arena.seats.campaigns import Campaign
from arena.seats.tables import SEAT_ENTRY, SEAT_EVENT
from arena.seats.task import SeatProgress
from arena.types import UNRELATED

CHECK = "check"
_OF_SEATS = SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id
_IS_WORK = BATTLE.c.draw != CHECK
_PROGRESS = select(
    BATTLE.c.seat_id,
    func.sum(case((_IS_WORK, 1), else_=0)).label("votes"),
    func.sum(case((BATTLE.c.draw == CHECK, 1), else_=0)).label("checks"),
    func.sum(case(((BATTLE.c.draw == CHECK) & (MODEL.c.name == UNRELATED), 1), else_=0)).label(
        "failed"
    ),
    func.max(BATTLE.c.voted_at).label("last"),
).where(CHOSEN, MODEL.c.id == BATTLE.c.winner)


class CollectedVotes(NamedTuple):
    """A campaign's votes, by the codes of its layout."""

    held: np.ndarray
    """The voters that each tuple has or waits for: pairs x items."""
    cast: np.ndarray
    """The votes of each tuple, including pending ones."""
    counted: np.ndarray
    """The votes of each tuple from confirmed seats."""
    left_out: frozenset[int]
    """The seats that hold nothing; their tuples go to others."""
    uncounted: frozenset[int]
    """The seats with votes that don't count: those left out, and pending ones."""


def seat_progress(connection: Connection, seat: int) -> SeatProgress:
    row = connection.execute(
        _PROGRESS.where(BATTLE.c.seat_id == seat).group_by(BATTLE.c.seat_id)
    ).one_or_none()
    skips = select(func.count()).where(SKIPPED, BATTLE.c.seat_id == seat)
    skipped = connection.execute(skips).scalar_one()
    if row is None:
        return SeatProgress(skipped=skipped)
    return SeatProgress(row.votes, row.checks, row.failed, skipped, row.last)


def left_out_seats(connection: Connection, campaign: Campaign) -> frozenset[int]:
    """Returns the seats that failed their checks, withdrew consent, were rejected or not confirmed in time, and
    those of flagged workers.
    """
    progress = _PROGRESS.where(_OF_SEATS, SEAT_ENTRY.c.campaign_id == campaign.id).group_by(
        BATTLE.c.seat_id
    )
    failed = {
        row.seat_id
        for row in connection.execute(progress)
        if row.failed >= campaign.spec.checks.fail
    }
    seat_ids = (
        select(SEAT_ENTRY.c.seat_id).join(SEAT).where(SEAT_ENTRY.c.campaign_id == campaign.id)
    )
    flagged = SEAT.c.voter_id.in_(flagged_voters(VOTER_FLAG)) | SEAT.c.voter_id.in_(
        flagged_voters(COUNTED_FLAG)
    )
    left = select(SEAT_EVENT.c.seat_id).where(SEAT_EVENT.c.kind == "withdrew")
    hours = timedelta(hours=campaign.spec.platform.confirm_hours)
    is_late = (SEAT.c.confirmation == "pending") & (SEAT_ENTRY.c.arrived_at < now() - hours)
    gone = (SEAT.c.confirmation == "rejected") | is_late
    out = connection.scalars(seat_ids.where(flagged | gone | SEAT_ENTRY.c.seat_id.in_(left)))
    return frozenset({*failed, *out})


def uncounted_seats(
    connection: Connection, campaign: Campaign, left_out: frozenset[int]
) -> frozenset[int]:
    """Returns the seats with votes that don't count: those left out, except late ones, and unconfirmed ones.

    The votes of a seat that was left out only for its lateness count once it is confirmed.
    """
    unconfirmed = select(SEAT.c.id).where(
        SEAT.c.id == SEAT_ENTRY.c.seat_id,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        SEAT.c.confirmation != "confirmed",
    )
    return left_out.union(connection.scalars(unconfirmed))


def collected(connection: Connection, campaign: Campaign, layout: Layout) -> CollectedVotes:
    """Counts the votes and holders of each tuple."""
    out = left_out_seats(connection, campaign)
    uncounted = uncounted_seats(connection, campaign, out)
    held = np.zeros(layout.wanted.shape, np.int32)
    cast = np.zeros(layout.wanted.shape, np.int32)
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
        place = layout.place(ItemPair.of_row(row))
        if place and row.seat_id not in out:
            held[place] += 1
            cast[place] += row.chosen
            if row.seat_id not in uncounted:
                counted[place] += row.chosen
    return CollectedVotes(held, cast, counted, out, uncounted)


def judged(voter: int) -> Select:
    """Returns a SELECT of (seat, item, lower model, higher model) of the battles that a worker has judged."""
    battles = select(BATTLE.c.seat_id, BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
    return battles.where(BATTLE.c.voter_id.in_(selves(voter)), CHOSEN)


def holders(
    connection: Connection, campaign: Campaign, tuple_: ItemPair, left_out: frozenset[int]
) -> int:
    """Returns the number of seats that have judged a tuple or hold it now."""
    query = select(func.count()).where(
        BATTLE.c.item_id == tuple_.item,
        BATTLE.c.model_low == tuple_.low,
        BATTLE.c.model_high == tuple_.high,
        _OF_SEATS,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
        CHOSEN | _is_fresh(campaign),
    )
    return connection.execute(query.where(BATTLE.c.seat_id.not_in(left_out))).scalar_one()


def places_taken(connection: Connection, campaign: Campaign, left_out: frozenset[int]) -> int:
    """Returns the number of a campaign's votes, including battles in progress."""
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
    """Returns the votes that count, by the layout's codes; the winner is side a."""
    query = select(
        BATTLE.c.winner, BATTLE.c.loser, BATTLE.c.item_id, BATTLE.c.voter_id, BATTLE.c.seat_id
    ).where(
        CHOSEN,
        _OF_SEATS,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
    )
    rows = integer_array(connection.execute(query.order_by(BATTLE.c.voted_at, BATTLE.c.id)), 5)
    rows = rows[~np.isin(rows[:, 4], list(uncounted))]
    winner = _coded(rows[:, 0], layout.model_code)
    loser = _coded(rows[:, 1], layout.model_code)
    item = _coded(rows[:, 2], layout.item_code)
    picture = _coded(rows[:, 2], alike_items(connection))
    is_known = (winner >= 0) & (loser >= 0) & (item >= 0)
    return Votes(
        a=winner[is_known],
        b=loser[is_known],
        outcome=np.zeros(int(is_known.sum()), np.int64),
        models=len(layout.models),
        items=item[is_known],
        voters=rows[is_known, 3],
        pictures=picture[is_known],
    )


def _coded(ids: Codes, code: Mapping[int, int]) -> Codes:
    """Returns the codes of ids; -1 for an unknown id."""
    return np.array([code.get(number, -1) for number in ids.tolist()], np.int64)


def _is_fresh(campaign: Campaign):
    """Returns whether a battle without an answer still holds its tuple."""
    return ~SKIPPED & (BATTLE.c.began_at > now() - timedelta(minutes=campaign.spec.seat.minutes))
