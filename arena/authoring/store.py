"""Draft store: drafts and their events in one database, and claims, of which a draft has one at a time.

A claim is one conditional statement: it wins where nobody holds the draft, or who does has let the seat's minutes pass.
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
from arena.authoring.kinds import STEPS, Step
from arena.authoring.spec import ProjectSpec, project_of, project_of_seat
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
"""Pictures that a seat may bring for one draft."""
LOST = "You sent this already, or you were away for long and somebody else has it now. Go on with the next."


@dataclass(frozen=True)
class Draft:
    """An item that is written, as it stands."""

    id: int
    family: str
    origin: str | None
    """Key of an item that came finished from a file."""
    created_at: datetime
    events: tuple[DraftEvent, ...]
    """Those that count: not what somebody did who took consent back."""
    acted: frozenset[int]
    """Voters who acted, whether or not it counts: none of them acts again."""
    state: DraftState


class Claim(NamedTuple):
    """A person's hold on a draft at one of its steps."""

    token: str
    draft: int
    step: Step
    claimed_at: datetime


class BroughtPicture(NamedTuple):
    """A picture that a seat brought for a draft."""

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
        """The seat's claim, or a new one: of the draft that is furthest, else of a new one of a family that wants more.

        None if there is nothing for this person now.
        """
        while True:
            # all of a project is read outside of the lock
            with self._database.read() as connection:
                is_held = _held(connection, DRAFT_CLAIM.c.seat_id == seat.id) is not None
                drafts = [] if is_held else _drafts(connection, seat.campaign)
                version = _version(connection, seat.campaign)
            with self._database.write() as connection:
                lock(connection, seat.voter)
                if held := _held(connection, DRAFT_CLAIM.c.seat_id == seat.id):
                    renewed = update(DRAFT_CLAIM).where(
                        DRAFT_CLAIM.c.token == held.token, _lapsed(seat.campaign)
                    )
                    connection.execute(renewed.values(claimed_at=now()))
                    return held
                if (
                    seat.campaign.ended_at
                    or _given(connection, seat).votes >= seat.campaign.spec.seat.votes
                ):
                    return None
                take_turn(connection, DRAFT)
                if claim := self._first(connection, seat, drafts):
                    return claim
                if not is_held and _version(connection, seat.campaign) == version:
                    family = _wanting(drafts, project_of_seat(seat))
                    fresh = _new(connection, seat.campaign, family) if family else None
                    return self._claim(connection, seat.campaign, fresh, seat) if fresh else None

    def _first(self, connection: Connection, seat: Seat, drafts: Sequence[Draft]) -> Claim | None:
        """Claim the draft that is furthest of those that this person may act on and nobody holds."""
        taken = set(
            connection.scalars(select(DRAFT_CLAIM.c.draft_id).where(~_lapsed(seat.campaign)))
        )
        mine = [one for one in drafts if one.id not in taken and _is_for(one, seat)]
        furthest = sorted(mine, key=lambda one: -STEPS.index(one.state.step))
        claims = (self._claim(connection, seat.campaign, draft, seat) for draft in furthest)
        return next((claim for claim in claims if claim), None)

    def _claim(
        self, connection: Connection, campaign: Campaign, draft: Draft, seat: Seat | None
    ) -> Claim | None:
        """Claim a draft as it was read, for a seat or a model; None if another holds it, or it has gone on."""
        claim = Claim(secrets.token_urlsafe(16), draft.id, draft.state.step, now())
        values = {"token": claim.token, "step": claim.step, "claimed_at": claim.claimed_at}
        values |= (
            {"seat_id": seat.id, "voter_id": seat.voter}
            if seat
            else {"seat_id": None, "voter_id": None}
        )
        fresh = self._database.insert(DRAFT_CLAIM).values(draft_id=draft.id, **values)
        taken = fresh.on_conflict_do_update(
            index_elements=["draft_id"], set_=values, where=_lapsed(campaign)
        )
        if connection.scalar(taken.returning(DRAFT_CLAIM.c.draft_id)) is None:
            return None
        mine = DRAFT.c.id == draft.id
        if _drafts(connection, campaign, mine)[0].state == draft.state:
            return claim
        connection.execute(delete(DRAFT_CLAIM).where(DRAFT_CLAIM.c.token == claim.token))
        return None

    def mine(self, seat: Seat, token: str) -> tuple[Claim, Draft]:
        """What a seat holds under this token. Raises DraftError."""
        with self._database.read() as connection:
            claim = _held(
                connection, (DRAFT_CLAIM.c.seat_id == seat.id) & (DRAFT_CLAIM.c.token == token)
            )
            if claim is None:
                raise DraftError(LOST)
            return claim, _drafts(connection, seat.campaign, DRAFT.c.id == claim.draft)[0]

    def give(self, seat: Seat, token: str, value: AnyValue) -> None:
        """Store what a seat did at the step that it holds. Raises DraftError, also for who acted on the draft before.

        It is taken after the seat's minutes too, until somebody else holds the draft.
        """
        with self._database.write() as connection:
            lock(connection, seat.voter)
            mine = (DRAFT_CLAIM.c.seat_id == seat.id) & (DRAFT_CLAIM.c.token == token)
            claim = connection.execute(
                delete(DRAFT_CLAIM).where(mine).returning(DRAFT_CLAIM)
            ).one_or_none()
            if claim is None:
                raise DraftError(LOST)
            values = {**_row(claim.draft_id, value), "seat_id": seat.id, "voter_id": seat.voter}
            values |= {"began_at": claim.claimed_at}
            fresh = self._database.insert(DRAFT_EVENT).values(values).on_conflict_do_nothing()
            if connection.scalar(fresh.returning(DRAFT_EVENT.c.id)) is None:
                raise DraftError("You have acted on this item already; others go on with it.")

    def given(self, seat: Seat) -> SeatProgress:
        """The steps that a seat did; drafts that it left to others are skipped."""
        with self._database.read() as connection:
            return _given(connection, seat)

    def waits(self, seat: Seat) -> bool:
        """Whether a draft may come to this person later: others, or a model, are at work on it."""
        with self._database.read() as connection:
            return any(
                one.state.is_open and seat.voter not in one.acted
                for one in _drafts(connection, seat.campaign)
            )

    def check_brings(self, seat: Seat, draft: int) -> None:
        """Raise DraftError if a seat has brought all the pictures that it may for a draft."""
        with self._database.read() as connection:
            _check_brings(connection, seat, draft)

    def bring_picture(self, seat: Seat, token: str, picture: BroughtPicture) -> None:
        """Keep what a seat brought for the draft that it holds; twice the same is one. Raises DraftError."""
        claim, _ = self.mine(seat, token)
        with self._database.write() as connection:
            lock(connection, seat.voter)
            _check_brings(connection, seat, claim.draft)
            values = {"draft_id": claim.draft, "seat_id": seat.id, **picture._asdict(), "at": now()}
            connection.execute(
                self._database.insert(DRAFT_PICTURE).values(values).on_conflict_do_nothing()
            )

    def brought(self, seat: Seat, draft: int) -> list[BroughtPicture]:
        """What a seat brought for a draft, in order."""
        with self._database.read() as connection:
            return _brought(connection, seat, draft)

    # What models, operators and files do

    def claim_for_model(self, campaign: Campaign, draft: int) -> Claim | None:
        """Hold a draft for the project's model; None if somebody holds it, or it needs no answer of a model now."""
        with self._database.write() as connection:
            take_turn(connection, DRAFT)
            (found,) = _drafts(connection, campaign, DRAFT.c.id == draft)
            return (
                self._claim(connection, campaign, found, None)
                if found.state.is_for_model(project_of(campaign.spec))
                else None
            )

    def give_model(self, claim: Claim, values: Sequence[AnyValue]) -> bool:
        """Store what a model gave to a draft that is held for it, and let go of it; False if it was held too long."""
        with self._database.write() as connection:
            if not connection.execute(
                delete(DRAFT_CLAIM).where(DRAFT_CLAIM.c.token == claim.token)
            ).rowcount:
                return False
            for value in values:
                connection.execute(insert(DRAFT_EVENT).values(_row(claim.draft, value)))
        return True

    def append(self, draft: int, value: AnyValue, note: Note | None = None) -> None:
        """Store what an operator did; `note` is stored in the same transaction."""
        with self._database.write() as connection:
            connection.execute(insert(DRAFT_EVENT).values(_row(draft, value)))
            if note:
                note(connection)

    def bring(
        self, campaign: Campaign, drafts: Iterable[tuple[str, str, Sequence[AnyValue]]]
    ) -> int:
        """Add finished drafts (origin, family, values); return how many are new: those that are there stay."""
        new = 0
        with self._database.write() as connection:
            for origin, family, values in drafts:
                row = {
                    "campaign_id": campaign.id,
                    "family": family,
                    "origin": origin,
                    "created_at": now(),
                }
                fresh = (
                    self._database.insert(DRAFT)
                    .values(row)
                    .on_conflict_do_nothing()
                    .returning(DRAFT.c.id)
                )
                draft = connection.scalar(fresh)
                if draft is not None:
                    new += 1
                    connection.execute(
                        insert(DRAFT_EVENT), [_row(draft, value) for value in values]
                    )
        return new

    # What there is

    def drafts(self, campaign: Campaign) -> list[Draft]:
        """A project's drafts in order."""
        with self._database.read() as connection:
            return _drafts(connection, campaign)

    def find(self, campaign: Campaign, draft: int) -> Draft | None:
        with self._database.read() as connection:
            return next(iter(_drafts(connection, campaign, DRAFT.c.id == draft)), None)

    def picture_hashes(self, but: int) -> dict[int, list[str]]:
        """Hashes of the pictures that were brought for other drafts, of every project."""
        columns = select(DRAFT_PICTURE.c.draft_id, DRAFT_PICTURE.c.hash)
        with self._database.read() as connection:
            return grouped(connection.execute(columns.where(DRAFT_PICTURE.c.draft_id != but)))


def _row(draft: int, value: AnyValue) -> dict[str, object]:
    return {
        "draft_id": draft,
        "kind": KIND_OF[type(value)],
        "value": value.model_dump_json(),
        "at": now(),
    }


def _lapsed(campaign: Campaign):
    return DRAFT_CLAIM.c.claimed_at < now() - timedelta(minutes=campaign.spec.seat.minutes)


def _held(connection: Connection, where) -> Claim | None:
    row = connection.execute(select(DRAFT_CLAIM).where(where)).one_or_none()
    return None if row is None else Claim(row.token, row.draft_id, row.step, row.claimed_at)


def _given(connection: Connection, seat: Seat) -> SeatProgress:
    mine = select(DRAFT_EVENT.c.kind, DRAFT_EVENT.c.at).where(DRAFT_EVENT.c.seat_id == seat.id)
    rows = connection.execute(mine).all()
    skipped = sum(row.kind == KIND_OF[Pass] for row in rows)
    last = max((row.at for row in rows), default=None)
    return SeatProgress(len(rows) - skipped, skipped=skipped, last=last)


def _brought(connection: Connection, seat: Seat, draft: int) -> list[BroughtPicture]:
    mine = (DRAFT_PICTURE.c.seat_id == seat.id) & (DRAFT_PICTURE.c.draft_id == draft)
    rows = connection.execute(select(DRAFT_PICTURE).where(mine).order_by(DRAFT_PICTURE.c.id))
    return [BroughtPicture(row.sha256, row.suffix, row.url, row.hash) for row in rows]


def _check_brings(connection: Connection, seat: Seat, draft: int) -> None:
    if len(_brought(connection, seat, draft)) >= MOST_BROUGHT:
        raise DraftError(
            "You brought {} pictures for this item, the most; use some of them.", MOST_BROUGHT
        )


def _is_for(draft: Draft, seat: Seat) -> bool:
    """Whether this person may act on a draft now."""
    state = draft.state
    return (
        state.is_open
        and not state.is_for_model(project_of_seat(seat))
        and seat.voter not in draft.acted
    )


def _wanting(drafts: Sequence[Draft], spec: ProjectSpec) -> str | None:
    """The family that lacks the largest share of what it wants, else of the most that it takes; None if none does."""
    there = Counter(draft.family for draft in drafts if draft.state.step != "rejected")
    for limits in (
        {family.name: family.wanted for family in spec.families},
        {family.name: family.cap for family in spec.families},
    ):
        lacks = {name: 1 - there[name] / limit for name, limit in limits.items()}
        name = max(lacks, key=lambda family: lacks[family])
        if lacks[name] > 0:
            return name
    return None


def _version(connection: Connection, campaign: Campaign) -> tuple[int, int | None]:
    """Changes with a project's drafts and events."""
    drafts = select(func.count()).select_from(DRAFT).where(DRAFT.c.campaign_id == campaign.id)
    events = select(func.max(DRAFT_EVENT.c.id)).select_from(DRAFT_EVENT.join(DRAFT))
    return connection.execute(drafts).scalar_one(), connection.scalar(
        events.where(DRAFT.c.campaign_id == campaign.id)
    )


def _new(connection: Connection, campaign: Campaign, family: str) -> Draft:
    values = {"campaign_id": campaign.id, "family": family, "created_at": now()}
    draft = connection.execute(insert(DRAFT).values(values).returning(DRAFT.c.id)).scalar_one()
    return _drafts(connection, campaign, DRAFT.c.id == draft)[0]


def _drafts(
    connection: Connection, campaign: Campaign, where: ColumnElement[bool] | None = None
) -> list[Draft]:
    of_these = DRAFT.c.campaign_id == campaign.id
    if where is not None:
        of_these &= where
    gone = select(SEAT_ENTRY.c.seat_id).join(
        SEAT_EVENT, SEAT_EVENT.c.seat_id == SEAT_ENTRY.c.seat_id
    )
    gone = gone.where(SEAT_ENTRY.c.campaign_id == campaign.id, SEAT_EVENT.c.kind == "withdrew")
    withdrew = set(connection.scalars(gone))
    told = select(DRAFT_EVENT).where(DRAFT_EVENT.c.draft_id.in_(select(DRAFT.c.id).where(of_these)))
    events = grouped(
        (row.draft_id, row) for row in connection.execute(told.order_by(DRAFT_EVENT.c.id))
    )
    rows = connection.execute(select(DRAFT).where(of_these).order_by(DRAFT.c.id)).all()
    return [
        _draft(row, events.get(row.id, ()), withdrew, project_of(campaign.spec)) for row in rows
    ]


def _draft(row: Row, events: Iterable[Row], withdrew: Collection[int], spec: ProjectSpec) -> Draft:
    counted = tuple(
        DraftEvent(
            VALUES[one.kind].model_validate_json(one.value),
            one.seat_id,
            one.voter_id,
            one.began_at,
            one.at,
        )
        for one in events
        if one.seat_id not in withdrew
    )
    acted = frozenset(one.voter_id for one in events if one.voter_id is not None)
    return Draft(
        row.id,
        row.family,
        row.origin,
        row.created_at,
        counted,
        acted,
        draft_state(counted, spec.verifiers, spec.item_kind),
    )
