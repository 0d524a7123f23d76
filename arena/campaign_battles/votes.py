"""Campaign votes: the votes and the held tuples of a campaign's seats, read from the database at one moment.

A seat holds a tuple once it has chosen, and for the seat's minutes after the tuple was shown to it. Votes of seats that
failed their checks, are flagged, withdrew consent or were rejected by the platform's list don't count, and their tuples
go to others. Unconfirmed seats hold their tuples for some hours; their votes count once they are confirmed. A vote
holds its tuple at once, and counts once it is final; whoever reads counted votes calls `publish_votes` first.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Select, case, func, select

from arena.battles.store import ItemPair
from arena.battles.tables import BATTLE, HAS_CHOICE, IS_FINAL, IS_SKIPPED, SEAT
from arena.battles.voters import selves
from arena.campaign_battles.layout import Layout
from arena.database import now
from arena.fraud.flags import campaign_review, flagged_voters
from arena.items.alike import alike_items
from arena.items.store import MODEL
from arena.ratings.votes import Codes, Votes, integer_array
from arena.seats.campaigns import Campaign
from arena.seats.tables import SEAT_ENTRY, SEAT_EVENT
from arena.seats.task import SeatProgress
from arena.types import UNRELATED

CHECK = "check"
_IS_SEATS_BATTLE = SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id
_IS_CHECK = BATTLE.c.draw == CHECK
_IS_WORK = BATTLE.c.draw != CHECK
_PROGRESS = select(
    BATTLE.c.seat_id,
    func.sum(case((_IS_WORK, 1), else_=0)).label("votes"),
    func.sum(case((_IS_CHECK, 1), else_=0)).label("checks"),
    func.sum(case((_IS_CHECK & (MODEL.c.name == UNRELATED), 1), else_=0)).label("failed"),
    func.max(BATTLE.c.voted_at).label("last"),
).where(HAS_CHOICE, MODEL.c.id == BATTLE.c.winner)


class CollectedVotes(NamedTuple):
    """A campaign's votes: counts for each tuple of its layout, and totals.

    The totals include votes on tuples that have left the layout because an operator hid an item or retired a model.
    Those votes stay on the boards.
    """

    held: np.ndarray
    """The voters that each tuple has or waits for: pairs x items."""
    cast: np.ndarray
    """The votes of each tuple, including pending ones and those that can still be undone."""
    counted: np.ndarray
    """The final votes of each tuple from confirmed seats."""
    given: int
    """The total of votes, including pending ones and those that can still be undone."""
    pending: int
    """The total of votes from seats that aren't confirmed."""
    votes: int
    """The total of final votes from confirmed seats."""
    left_out: frozenset[int]
    """The seats that hold nothing; their tuples go to others."""
    uncounted: frozenset[int]
    """The seats with votes that don't count: those left out, and pending ones."""


def seat_progress(connection: Connection, seat: int) -> SeatProgress:
    """Returns the progress of a seat, by its id."""
    query = _PROGRESS.where(BATTLE.c.seat_id == seat).group_by(BATTLE.c.seat_id)
    row = connection.execute(query).one_or_none()
    skips = select(func.count()).where(IS_SKIPPED, BATTLE.c.seat_id == seat)
    skipped = connection.execute(skips).scalar_one()
    if row is None:
        return SeatProgress(skipped=skipped)
    return SeatProgress(
        votes=row.votes,
        checks=row.checks,
        failed_checks=row.failed,
        skipped=skipped,
        last=row.last,
    )


def progress_rows(connection: Connection, campaign: Campaign) -> Sequence[Row]:
    """Returns the columns of `_PROGRESS` for each seat of a campaign that has given an answer."""
    progress = _PROGRESS.where(_IS_SEATS_BATTLE, SEAT_ENTRY.c.campaign_id == campaign.id)
    return connection.execute(progress.group_by(BATTLE.c.seat_id)).all()


def left_out_seats(connection: Connection, campaign: Campaign) -> frozenset[int]:
    """Returns the seats that failed their checks, withdrew consent, were rejected or not confirmed in time, and
    those of workers whom the campaign's own votes have flagged.
    """
    failed = frozenset(
        row.seat_id
        for row in progress_rows(connection, campaign)
        if row.failed >= campaign.spec.checks.fail
    )
    is_flagged = SEAT.c.voter_id.in_(flagged_voters(campaign_review(campaign.name)))
    withdrawn = select(SEAT_EVENT.c.seat_id).where(SEAT_EVENT.c.kind == "withdrew")
    has_withdrawn = SEAT_ENTRY.c.seat_id.in_(withdrawn)
    is_rejected = SEAT.c.confirmation == "rejected"
    time_limit = timedelta(hours=campaign.spec.platform.confirm_hours)
    is_pending = SEAT.c.confirmation == "pending"
    is_late = is_pending & (SEAT_ENTRY.c.arrived_at < now() - time_limit)
    seats = select(SEAT_ENTRY.c.seat_id).join(SEAT)
    seats = seats.where(
        SEAT_ENTRY.c.campaign_id == campaign.id,
        is_flagged | has_withdrawn | is_rejected | is_late,
    )
    return failed | frozenset(connection.scalars(seats))


def uncounted_seats(
    connection: Connection, campaign: Campaign, left_out: frozenset[int]
) -> frozenset[int]:
    """Returns the seats with votes that don't count: those left out, and unconfirmed ones.

    A late seat is left out only while it is unconfirmed: if it is confirmed after all, its votes count.
    """
    unconfirmed = select(SEAT.c.id).where(
        SEAT.c.id == SEAT_ENTRY.c.seat_id,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        SEAT.c.confirmation != "confirmed",
    )
    return left_out.union(connection.scalars(unconfirmed))


def collect_votes(connection: Connection, campaign: Campaign, layout: Layout) -> CollectedVotes:
    """Counts the votes and holders of each tuple."""
    left_out = left_out_seats(connection, campaign)
    uncounted = uncounted_seats(connection, campaign, left_out)
    held = np.zeros(layout.wanted.shape, np.int32)
    cast = np.zeros(layout.wanted.shape, np.int32)
    counted = np.zeros(layout.wanted.shape, np.int32)
    given = 0
    pending = 0
    votes = 0
    query = select(
        BATTLE.c.item_id,
        BATTLE.c.model_low,
        BATTLE.c.model_high,
        BATTLE.c.seat_id,
        case((HAS_CHOICE, 1), else_=0).label("chosen"),
        case((IS_FINAL, 1), else_=0).label("final"),
    ).where(
        _IS_SEATS_BATTLE,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
        _holds_tuple(campaign),
    )
    for row in connection.execute(query):
        if row.seat_id in left_out:
            continue
        is_confirmed = row.seat_id not in uncounted
        counts = row.final if is_confirmed else 0
        given += row.chosen
        if not is_confirmed:
            pending += row.chosen
        votes += counts
        place = layout.place(ItemPair.of_row(row))
        if place:
            held[place] += 1
            cast[place] += row.chosen
            counted[place] += counts
    return CollectedVotes(
        held=held,
        cast=cast,
        counted=counted,
        given=given,
        pending=pending,
        votes=votes,
        left_out=left_out,
        uncounted=uncounted,
    )


def judged_battles(voter: int) -> Select:
    """Returns a SELECT of (seat, item, lower model, higher model) of the battles that a worker has judged."""
    battles = select(BATTLE.c.seat_id, BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
    return battles.where(BATTLE.c.voter_id.in_(selves(voter)), HAS_CHOICE)


def count_holders(
    connection: Connection, campaign: Campaign, tuple_: ItemPair, left_out: frozenset[int]
) -> int:
    """Returns the number of seats that have judged a tuple or hold it now."""
    query = select(func.count()).where(
        BATTLE.c.item_id == tuple_.item,
        BATTLE.c.model_low == tuple_.low,
        BATTLE.c.model_high == tuple_.high,
        _IS_SEATS_BATTLE,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
        _holds_tuple(campaign),
    )
    return connection.execute(query.where(BATTLE.c.seat_id.not_in(left_out))).scalar_one()


def count_places_taken(connection: Connection, campaign: Campaign, left_out: frozenset[int]) -> int:
    """Returns the number of a campaign's votes, including battles in progress."""
    query = select(func.count()).where(
        _IS_SEATS_BATTLE,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
        _holds_tuple(campaign),
        BATTLE.c.seat_id.not_in(left_out),
    )
    return connection.execute(query).scalar_one()


def counted_votes(
    connection: Connection, campaign: Campaign, layout: Layout, uncounted: frozenset[int]
) -> Votes:
    """Returns the final votes that count, by the layout's codes; the winner is side a."""
    query = select(
        BATTLE.c.winner, BATTLE.c.loser, BATTLE.c.item_id, BATTLE.c.voter_id, BATTLE.c.seat_id
    ).where(
        IS_FINAL,
        _IS_SEATS_BATTLE,
        SEAT_ENTRY.c.campaign_id == campaign.id,
        _IS_WORK,
    )
    rows = integer_array(connection.execute(query.order_by(BATTLE.c.voted_at, BATTLE.c.id)), 5)
    seats = rows[:, 4]
    rows = rows[~np.isin(seats, list(uncounted))]
    winner_ids, loser_ids, item_ids, voters, _ = rows.T
    winner = _codes_of(winner_ids, layout.model_code)
    loser = _codes_of(loser_ids, layout.model_code)
    item = _codes_of(item_ids, layout.item_code)
    picture = _codes_of(item_ids, alike_items(connection))
    is_known = (winner >= 0) & (loser >= 0) & (item >= 0)
    return Votes(
        a=winner[is_known],
        b=loser[is_known],
        outcome=np.zeros(int(is_known.sum()), np.int64),
        models=len(layout.models),
        items=item[is_known],
        voters=voters[is_known],
        pictures=picture[is_known],
    )


def _codes_of(ids: Codes, code: Mapping[int, int]) -> Codes:
    """Returns the codes of ids; -1 for an unknown id."""
    return np.array([code.get(id_, -1) for id_ in ids.tolist()], np.int64)


def _holds_tuple(campaign: Campaign) -> ColumnElement[bool]:
    """Returns the condition that a battle holds its tuple: it has a choice, or there is still time for one."""
    oldest = now() - timedelta(minutes=campaign.spec.seat.minutes)
    return HAS_CHOICE | (~IS_SKIPPED & (BATTLE.c.began_at > oldest))
