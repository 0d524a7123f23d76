"""Draft store: drafts and their events in one database, and claims, one at a time for each draft.

A claim is one conditional statement: it wins if nobody holds the draft, or the holder's minutes are over.
"""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from arena.authoring.checks import DraftError
from arena.authoring.events import KIND_OF, VALUES, AnyValue, DraftEvent, Pass
from arena.authoring.spec import STEPS, ProjectSpec, Step, project_of, project_of_seat
from arena.authoring.state import DraftState, draft_state
from arena.authoring.tables import DRAFT, DRAFT_CLAIM, DRAFT_EVENT, DRAFT_PICTURE
from arena.battles.voters import lock
from arena.database import Database, now, take_turn
from arena.seats.campaigns import Campaign, Note
from arena.seats.seats import Seat
from arena.seats.tables import SEAT_ENTRY, SEAT_EVENT
from arena.seats.task import SeatProgress
from arena.types import grouped

MOST_BROUGHT = 30
"""The most pictures that a seat may bring for a draft."""
LOST = (
    "You've already sent this, or you were away and someone else has it now. Continue with the "
    "next one."
)


@dataclass(frozen=True)
class Draft:
    """An item in writing."""

    id: int
    family: str
    origin: str | None
    """The key of an item that came finished from a file."""
    created_at: datetime
    events: tuple[DraftEvent, ...]
    """The events that count, without those of people who withdrew consent."""
    acted_voters: frozenset[int]
    """The voters who have acted, even if their acts don't count: none of them acts again."""
    state: DraftState


class Claim(NamedTuple):
    """The hold of a person or a model on a draft at one of its steps."""

    token: str
    draft: int
    step: Step
    claimed_at: datetime


class HeldDraft(NamedTuple):
    """A draft with its claim."""

    claim: Claim
    draft: Draft


class FinishedDraft(NamedTuple):
    """An item of a file, as the actions on a draft."""

    origin: str
    """The item's key; the same key is not added to a project again."""
    family: str
    values: tuple[AnyValue, ...]


class BroughtPicture(NamedTuple):
    """A picture that a seat brought for a draft; its fields are those of `tables.DRAFT_PICTURE`."""

    sha256: str
    suffix: str
    url: str
    hash: str


class DraftStore:
    """The drafts of one database's projects."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # What a seat does

    def draw(self, seat: Seat) -> Claim | None:
        """Returns the seat's claim, or a new one; None if there is nothing for this person now.

        A new claim is for the draft at the furthest step, or else for a new draft of a family that wants more.
        """
        while True:
            # Reading a whole project takes long, so it happens outside of the lock. The family of a new draft depends
            # on all other drafts, so the project is read again if it has changed meanwhile.
            with self._database.read() as connection:
                is_held = _held_claim(connection, DRAFT_CLAIM.c.seat_id == seat.id) is not None
                drafts = [] if is_held else _drafts(connection, seat.campaign)
                version = _version(connection, seat.campaign)
            with self._database.write() as connection:
                lock(connection, seat.voter)
                if held := _held_claim(connection, DRAFT_CLAIM.c.seat_id == seat.id):
                    own_claim = DRAFT_CLAIM.c.token == held.token
                    (draft,) = _drafts(connection, seat.campaign, DRAFT.c.id == held.draft)
                    if not _has_moved(draft, held):
                        renewal = update(DRAFT_CLAIM).where(own_claim, _has_lapsed(seat.campaign))
                        connection.execute(renewal.values(claimed_at=now()))
                        return held
                    connection.execute(delete(DRAFT_CLAIM).where(own_claim))
                done = _progress(connection, seat).votes
                if seat.campaign.ended_at or done >= seat.campaign.spec.seat.votes:
                    return None
                take_turn(connection, DRAFT)
                if claim := self._claim_furthest(connection, seat, drafts):
                    return claim
                # After a held claim, `drafts` is empty because it wasn't read.
                if not is_held and _version(connection, seat.campaign) == version:
                    family = _wanting_family(drafts, project_of_seat(seat))
                    if family is None:
                        return None
                    draft = _add_draft(connection, seat.campaign, family)
                    return self._claim(connection, seat.campaign, draft, seat)

    def _claim_furthest(
        self, connection: Connection, seat: Seat, drafts: Sequence[Draft]
    ) -> Claim | None:
        """Claims the draft at the furthest step that this person may act on and nobody holds."""
        held = select(DRAFT_CLAIM.c.draft_id).where(~_has_lapsed(seat.campaign))
        held_ids = set(connection.scalars(held))
        free = [draft for draft in drafts if draft.id not in held_ids and _may_act(draft, seat)]
        for draft in sorted(free, key=lambda draft: -STEPS.index(draft.state.step)):
            if claim := self._claim(connection, seat.campaign, draft, seat):
                return claim
        return None

    def _claim(
        self, connection: Connection, campaign: Campaign, draft: Draft, seat: Seat | None
    ) -> Claim | None:
        """Claims a draft for a seat or a model; None if somebody else holds it, or it has changed since it was read."""
        claim = Claim(secrets.token_urlsafe(16), draft.id, draft.state.step, now())
        values = {
            "token": claim.token,
            "step": claim.step,
            "claimed_at": claim.claimed_at,
            "seat_id": seat.id if seat else None,
            "voter_id": seat.voter if seat else None,
        }
        insertion = self._database.insert(DRAFT_CLAIM).values(draft_id=draft.id, **values)
        takeover = insertion.on_conflict_do_update(
            index_elements=["draft_id"], set_=values, where=_has_lapsed(campaign)
        )
        if connection.scalar(takeover.returning(DRAFT_CLAIM.c.draft_id)) is None:
            return None
        is_draft = DRAFT.c.id == draft.id
        if _drafts(connection, campaign, is_draft)[0].state == draft.state:
            return claim
        connection.execute(delete(DRAFT_CLAIM).where(DRAFT_CLAIM.c.token == claim.token))
        return None

    def held_draft(self, seat: Seat, token: str) -> HeldDraft:
        """Returns the draft that a seat holds under this token. Raises DraftError."""
        is_claim = (DRAFT_CLAIM.c.seat_id == seat.id) & (DRAFT_CLAIM.c.token == token)
        with self._database.read() as connection:
            claim = _held_claim(connection, is_claim)
            if claim is None:
                raise DraftError(LOST)
            (draft,) = _drafts(connection, seat.campaign, DRAFT.c.id == claim.draft)
            if _has_moved(draft, claim):
                raise DraftError(LOST)
            return HeldDraft(claim, draft)

    def give(self, seat: Seat, token: str, value: AnyValue) -> None:
        """Stores a seat's action at the step that it holds. Raises DraftError, also if the person acted on the draft
        before.

        A late action is accepted too, until somebody else holds the draft.
        """
        with self._database.write() as connection:
            lock(connection, seat.voter)
            is_claim = (DRAFT_CLAIM.c.seat_id == seat.id) & (DRAFT_CLAIM.c.token == token)
            claim = connection.execute(
                delete(DRAFT_CLAIM).where(is_claim).returning(DRAFT_CLAIM)
            ).one_or_none()
            if claim is None:
                raise DraftError(LOST)
            values = {**_row(claim.draft_id, value), "seat_id": seat.id, "voter_id": seat.voter}
            values |= {"began_at": claim.claimed_at}
            insertion = self._database.insert(DRAFT_EVENT).values(values).on_conflict_do_nothing()
            if connection.scalar(insertion.returning(DRAFT_EVENT.c.id)) is None:
                raise DraftError(
                    "You've already worked on this item. Other people continue with it."
                )

    def progress(self, seat: Seat) -> SeatProgress:
        """Returns the steps that a seat did; drafts that it left to others count as skipped."""
        with self._database.read() as connection:
            return _progress(connection, seat)

    def waits(self, seat: Seat) -> bool:
        """Returns whether a draft may come to this person later, since others or a model are at work on it."""
        with self._database.read() as connection:
            return any(
                draft.state.is_open and seat.voter not in draft.acted_voters
                for draft in _drafts(connection, seat.campaign)
            )

    def check_brought(self, seat: Seat, draft: int) -> None:
        """Raises DraftError if a seat has brought as many pictures for a draft as it may."""
        with self._database.read() as connection:
            _check_brought(connection, seat, draft)

    def bring_picture(self, seat: Seat, token: str, picture: BroughtPicture) -> None:
        """Stores a picture for the draft that a seat holds; the same picture is stored once. Raises DraftError."""
        draft = self.held_draft(seat, token).claim.draft
        with self._database.write() as connection:
            lock(connection, seat.voter)
            _check_brought(connection, seat, draft)
            values = {"draft_id": draft, "seat_id": seat.id, **picture._asdict(), "at": now()}
            connection.execute(
                self._database.insert(DRAFT_PICTURE).values(values).on_conflict_do_nothing()
            )

    def brought_pictures(self, seat: Seat, draft: int) -> list[BroughtPicture]:
        """Returns the pictures that a seat brought for a draft, in order."""
        with self._database.read() as connection:
            return _brought_pictures(connection, seat, draft)

    # What models, operators and files do

    def claim_for_model(self, campaign: Campaign, draft: int) -> Claim | None:
        """Claims a draft for the project's model; None if somebody holds it, or it needs no model's answer now."""
        with self._database.write() as connection:
            take_turn(connection, DRAFT)
            (stored,) = _drafts(connection, campaign, DRAFT.c.id == draft)
            if not stored.state.is_for_model(project_of(campaign.spec)):
                return None
            return self._claim(connection, campaign, stored, None)

    def renew(self, claim: Claim) -> None:
        """Begins the minutes of a claim anew, unless somebody else holds the draft now."""
        renewal = update(DRAFT_CLAIM).where(DRAFT_CLAIM.c.token == claim.token)
        with self._database.write() as connection:
            connection.execute(renewal.values(claimed_at=now()))

    def give_model(self, claim: Claim, values: Sequence[AnyValue]) -> bool:
        """Stores a model's values for a draft that it holds, and releases it; False if somebody else holds it now."""
        with self._database.write() as connection:
            release = delete(DRAFT_CLAIM).where(DRAFT_CLAIM.c.token == claim.token)
            if connection.execute(release).rowcount == 0:
                return False
            for value in values:
                connection.execute(insert(DRAFT_EVENT).values(_row(claim.draft, value)))
        return True

    def append(self, draft: int, value: AnyValue, note: Note | None = None) -> None:
        """Stores an operator's action, and `note` in the same transaction."""
        with self._database.write() as connection:
            connection.execute(insert(DRAFT_EVENT).values(_row(draft, value)))
            if note:
                note(connection)

    def add_finished(self, campaign: Campaign, finished_drafts: Iterable[FinishedDraft]) -> int:
        """Adds finished drafts, except those that exist; returns the number of new ones."""
        new = 0
        with self._database.write() as connection:
            for finished in finished_drafts:
                row = {
                    "campaign_id": campaign.id,
                    "family": finished.family,
                    "origin": finished.origin,
                    "created_at": now(),
                }
                insertion = self._database.insert(DRAFT).values(row).on_conflict_do_nothing()
                draft = connection.scalar(insertion.returning(DRAFT.c.id))
                if draft is not None:
                    new += 1
                    events = [_row(draft, value) for value in finished.values]
                    connection.execute(insert(DRAFT_EVENT), events)
        return new

    # Reading

    def drafts(self, campaign: Campaign) -> list[Draft]:
        """Returns a project's drafts in order."""
        with self._database.read() as connection:
            return _drafts(connection, campaign)

    def find(self, campaign: Campaign, draft: int) -> Draft | None:
        """Returns a project's draft; None if it has none with this id."""
        with self._database.read() as connection:
            return next(iter(_drafts(connection, campaign, DRAFT.c.id == draft)), None)

    def other_picture_hashes(self, draft: int) -> dict[int, list[str]]:
        """Returns the hashes of the pictures that were brought for each draft but this one, in all projects."""
        columns = select(DRAFT_PICTURE.c.draft_id, DRAFT_PICTURE.c.hash)
        with self._database.read() as connection:
            return grouped(connection.execute(columns.where(DRAFT_PICTURE.c.draft_id != draft)))


def _row(draft: int, value: AnyValue) -> dict[str, object]:
    """Returns an action's row, without a seat."""
    return {
        "draft_id": draft,
        "kind": KIND_OF[type(value)],
        "value": value.model_dump_json(),
        "at": now(),
    }


def _has_lapsed(campaign: Campaign) -> ColumnElement[bool]:
    """Returns the condition of a claim whose minutes are over."""
    return DRAFT_CLAIM.c.claimed_at < now() - timedelta(minutes=campaign.spec.seat.minutes)


def _held_claim(connection: Connection, where: ColumnElement[bool]) -> Claim | None:
    row = connection.execute(select(DRAFT_CLAIM).where(where)).one_or_none()
    return None if row is None else Claim(row.token, row.draft_id, row.step, row.claimed_at)


def _has_moved(draft: Draft, claim: Claim) -> bool:
    """Returns whether a claimed draft is at another step, since the author of an earlier one withdrew consent.

    An ended draft has not moved: an operator took it out, and the holder may still finish the step and is paid for it.
    """
    return draft.state.is_open and draft.state.step != claim.step


def _progress(connection: Connection, seat: Seat) -> SeatProgress:
    query = select(DRAFT_EVENT.c.kind, DRAFT_EVENT.c.at).where(DRAFT_EVENT.c.seat_id == seat.id)
    rows = connection.execute(query).all()
    skipped = sum(row.kind == KIND_OF[Pass] for row in rows)
    last = max((row.at for row in rows), default=None)
    return SeatProgress(len(rows) - skipped, skipped=skipped, last=last)


def _brought_pictures(connection: Connection, seat: Seat, draft: int) -> list[BroughtPicture]:
    is_of_seat = (DRAFT_PICTURE.c.seat_id == seat.id) & (DRAFT_PICTURE.c.draft_id == draft)
    rows = connection.execute(select(DRAFT_PICTURE).where(is_of_seat).order_by(DRAFT_PICTURE.c.id))
    return [BroughtPicture(row.sha256, row.suffix, row.url, row.hash) for row in rows]


def _check_brought(connection: Connection, seat: Seat, draft: int) -> None:
    if len(_brought_pictures(connection, seat, draft)) >= MOST_BROUGHT:
        raise DraftError(
            "You've added {} pictures for this item, which is the limit. Use some of them.",
            MOST_BROUGHT,
        )


def _may_act(draft: Draft, seat: Seat) -> bool:
    """Returns whether this person may act on a draft now."""
    state = draft.state
    return (
        state.is_open
        and not state.is_for_model(project_of_seat(seat))
        and seat.voter not in draft.acted_voters
    )


def _wanting_family(drafts: Sequence[Draft], spec: ProjectSpec) -> str | None:
    """Returns the family that lacks the largest share of its wanted items, or else of its cap; None if all are full."""
    counts = Counter(draft.family for draft in drafts if draft.state.step != "rejected")
    wanted = {family.name: family.wanted for family in spec.families}
    caps = {family.name: family.cap for family in spec.families}
    for limits in (wanted, caps):
        missing_shares = {name: 1 - counts[name] / limit for name, limit in limits.items()}
        name = max(missing_shares, key=lambda family: missing_shares[family])
        if missing_shares[name] > 0:
            return name
    return None


def _version(connection: Connection, campaign: Campaign) -> tuple[int, int | None]:
    """Returns a pair that changes with a project's drafts and events: its number of drafts, and its last event."""
    is_of_project = DRAFT.c.campaign_id == campaign.id
    drafts = select(func.count()).select_from(DRAFT).where(is_of_project)
    last = (
        select(func.max(DRAFT_EVENT.c.id)).select_from(DRAFT_EVENT.join(DRAFT)).where(is_of_project)
    )
    return connection.execute(drafts).scalar_one(), connection.scalar(last)


def _add_draft(connection: Connection, campaign: Campaign, family: str) -> Draft:
    """Adds an empty draft."""
    values = {"campaign_id": campaign.id, "family": family, "created_at": now()}
    draft = connection.execute(insert(DRAFT).values(values).returning(DRAFT.c.id)).scalar_one()
    return _drafts(connection, campaign, DRAFT.c.id == draft)[0]


def _drafts(
    connection: Connection, campaign: Campaign, where: ColumnElement[bool] | None = None
) -> list[Draft]:
    """Returns a project's drafts, or those that fulfil `where`, in order."""
    wanted = DRAFT.c.campaign_id == campaign.id
    if where is not None:
        wanted &= where
    withdrawals = select(SEAT_ENTRY.c.seat_id).join(
        SEAT_EVENT, SEAT_EVENT.c.seat_id == SEAT_ENTRY.c.seat_id
    )
    withdrawals = withdrawals.where(
        SEAT_ENTRY.c.campaign_id == campaign.id, SEAT_EVENT.c.kind == "withdrew"
    )
    withdrawn_seats = set(connection.scalars(withdrawals))
    wanted_ids = select(DRAFT.c.id).where(wanted)
    event_query = select(DRAFT_EVENT).where(DRAFT_EVENT.c.draft_id.in_(wanted_ids))
    event_rows = connection.execute(event_query.order_by(DRAFT_EVENT.c.id))
    events = grouped((row.draft_id, row) for row in event_rows)
    rows = connection.execute(select(DRAFT).where(wanted).order_by(DRAFT.c.id)).all()
    spec = project_of(campaign.spec)
    return [_draft(row, events.get(row.id, ()), withdrawn_seats, spec) for row in rows]


def _draft(
    row: Row, events: Sequence[Row], withdrawn_seats: Collection[int], spec: ProjectSpec
) -> Draft:
    counted_events = tuple(
        DraftEvent(
            value=VALUES[event.kind].model_validate_json(event.value),
            seat=event.seat_id,
            voter=event.voter_id,
            began_at=event.began_at,
            at=event.at,
        )
        for event in events
        if event.seat_id not in withdrawn_seats
    )
    acted_voters = frozenset(event.voter_id for event in events if event.voter_id is not None)
    return Draft(
        id=row.id,
        family=row.family,
        origin=row.origin,
        created_at=row.created_at,
        events=counted_events,
        acted_voters=acted_voters,
        state=draft_state(counted_events, spec.verifiers, spec.item_kind),
    )
