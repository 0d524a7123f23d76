"""Seats: one for each person in a campaign, in any browser; its events determine its state.

A seat's address has its number and our signature, so that it works in a frame without cookies, in another browser and
on another server. Its voter is the same in every campaign of the platform, so that nobody judges a tuple twice."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Connection, Row, insert, select, update

from arena.battles.quotas import NetworkDays
from arena.battles.tables import CONFIRMATIONS, SEAT, VOTER
from arena.battles.voters import lock
from arena.database import Database, bump_counter, now, take_turn
from arena.seats.campaigns import Campaign, Note
from arena.seats.links import Arrival, CampaignLinkError, is_signed, signature
from arena.seats.participants import confirmation_of
from arena.seats.tables import CAMPAIGN, PARTICIPANT, SEAT_ENTRY, SEAT_EVENT
from arena.seats.worker_names import is_erased
from arena.types import Confirmation

SeatEvent = Literal["qualified", "failed", "done", "full", "withdrew"]
"""qualified, failed: the qualification's result; done: all work given; full: the campaign ended, or had no more work,
before that; withdrew: consent was withdrawn."""
ENDS: tuple[SeatEvent, ...] = ("failed", "done", "full", "withdrew")
"""The events that end a seat."""
_TOKEN = re.compile(r"([1-9][0-9]{0,8})\.([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True)
class Seat:
    """A worker's place in a campaign."""

    id: int
    campaign: Campaign
    voter: int
    person: str
    """The platform's id of the worker."""
    session: str
    """The platform's id of this sitting."""
    reply_to: str
    """The address to which a worker of MTurk hands in."""
    code: str
    """The code shown at the end if the platform has none of its own."""
    arrived_at: datetime
    confirmation: Confirmation
    is_qualified: bool
    end: SeatEvent | None
    ended_at: datetime | None

    @property
    def token(self) -> str:
        """The seat's part of its address."""
        return f"{self.id}.{signature(self.campaign.key, 'seat', self.id)}"

    @property
    def must_qualify(self) -> bool:
        if self.campaign.spec.qualify is None or self.end is not None:
            return False
        return not self.is_qualified

    @property
    def end_code(self) -> str:
        """The worker's completion code; empty before the end, and after consent was withdrawn."""
        if self.end is None or self.end == "withdrew":
            return ""
        platform = self.campaign.spec.platform
        codes = {"done": platform.done, "failed": platform.failed, "full": platform.full}
        return codes[self.end] or self.code


class SeatStore:
    """The seats of one database's campaigns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._days = NetworkDays(database)
        self._key = database.secret_key("workers")

    def find(self, campaign: Campaign, token: str) -> Seat | None:
        """Returns the seat of an address; None for one that we did not make."""
        match = _TOKEN.fullmatch(token)
        if match is None or not is_signed(campaign.key, match[2], "seat", int(match[1])):
            return None
        with self._database.read() as connection:
            return self._find_seat(connection, campaign, SEAT.c.id == int(match[1]))

    def find_by_person(self, campaign: Campaign, arrival: Arrival) -> Seat | None:
        """Returns the seat of the person who arrives, if any."""
        with self._database.read() as connection:
            return self._find_seat(connection, campaign, SEAT_ENTRY.c.person == arrival.person)

    def enter(self, campaign: Campaign, arrival: Arrival, network: str | None) -> Seat:
        """Returns the person's seat: a new one, or the existing one with the new session.

        Raises CampaignLinkError for a platform's new session after the seat's end, and if no new seat can be made.
        """
        with self._database.write() as connection:
            voter = self._voter(connection, campaign.spec.platform.kind, arrival.person)
            lock(connection, voter)
            seat = self._find_seat(connection, campaign, SEAT_ENTRY.c.person == arrival.person)
            if seat is None:
                return self._make_seat(connection, campaign, arrival, voter, network)
            if seat.session != arrival.session:
                if seat.end is not None and campaign.spec.platform.must_confirm:
                    raise CampaignLinkError(
                        "You've already done this campaign, and each person can do it only "
                        "once. Please return this one."
                    )
                session = {"session": arrival.session, "reply_to": arrival.reply_to}
                connection.execute(
                    update(SEAT_ENTRY).where(SEAT_ENTRY.c.seat_id == seat.id).values(session)
                )
            return _load_seats(connection, campaign, SEAT.c.id == seat.id)[0]

    def _make_seat(
        self,
        connection: Connection,
        campaign: Campaign,
        arrival: Arrival,
        voter: int,
        network: str | None,
    ) -> Seat:
        """Stores a new seat. Raises CampaignLinkError after the campaign's end, and over the limit of the network."""
        check_open(campaign)
        most = campaign.spec.platform.most_of_network
        if network and most is not None:
            taken = self._days.count_one(connection, network, "seats", campaign=str(campaign.id))
            if taken > most:
                raise CampaignLinkError(
                    "Your network has opened {} links to this campaign today, which is the "
                    "limit. Continue with a link you opened before, or come back tomorrow.",
                    most,
                )
        # New seats and new lists of participants take turns, since a list confirms the seats there are.
        take_turn(connection, PARTICIPANT)
        values = {
            "campaign": campaign.name,
            "voter_id": voter,
            "code": secrets.token_hex(5).upper(),
            "confirmation": _first_confirmation(connection, campaign, arrival.person),
        }
        seat_id = connection.execute(insert(SEAT).values(values).returning(SEAT.c.id)).scalar_one()
        entry = {
            "seat_id": seat_id,
            "campaign_id": campaign.id,
            "person": arrival.person,
            "session": arrival.session,
            "reply_to": arrival.reply_to,
            "arrived_at": now(),
        }
        connection.execute(insert(SEAT_ENTRY).values(entry))
        return _load_seats(connection, campaign, SEAT.c.id == seat_id)[0]

    def _voter(self, connection: Connection, platform: str, person: str) -> int:
        """Returns the voter of a platform's worker, who is the same in every campaign."""
        # The seats know the voter even after a restore, which brings another key.
        seats = select(SEAT.c.voter_id, CAMPAIGN.c.spec).where(SEAT_ENTRY.c.person == person)
        joined = seats.join(SEAT_ENTRY, SEAT_ENTRY.c.seat_id == SEAT.c.id).join(CAMPAIGN)
        for row in connection.execute(joined.order_by(SEAT.c.id)):
            if json.loads(row.spec)["platform"]["kind"] == platform:
                return row.voter_id
        # No cookie has such a hash.
        name = f"worker:{signature(self._key, platform, person)}"
        insert_voter = self._database.insert(VOTER).values(cookie_hash=name, since=now())
        connection.execute(insert_voter.on_conflict_do_nothing())
        query = select(VOTER.c.id).where(VOTER.c.cookie_hash == name)
        return connection.execute(query).scalar_one()

    def add_event(self, seat: Seat, kind: SeatEvent) -> Seat:
        """Adds an event to a seat, once, and returns the seat; a seat that has ended doesn't change.

        After consent is withdrawn, the seat's work counts nowhere.
        """
        with self._database.write() as connection:
            lock(connection, seat.voter)
            ended = select(SEAT_EVENT.c.kind).where(
                SEAT_EVENT.c.seat_id == seat.id, SEAT_EVENT.c.kind.in_(ENDS)
            )
            if connection.scalar(ended) is None:
                values = {"seat_id": seat.id, "kind": kind, "at": now()}
                connection.execute(
                    self._database.insert(SEAT_EVENT).values(values).on_conflict_do_nothing()
                )
                if kind == "withdrew":
                    update_seat = update(SEAT).where(SEAT.c.id == seat.id)
                    connection.execute(update_seat.values(confirmation="rejected"))
                    bump_counter(connection, CONFIRMATIONS)
            return _load_seats(connection, seat.campaign, SEAT.c.id == seat.id)[0]

    def all(self, campaign: Campaign) -> list[Seat]:
        """Returns a campaign's seats in order of arrival."""
        with self._database.read() as connection:
            return _load_seats(connection, campaign)

    def participants(self, campaign: Campaign) -> dict[str, str]:
        """Returns the platform's own list of participants, with the status of each."""
        query = select(PARTICIPANT.c.person, PARTICIPANT.c.status).where(
            PARTICIPANT.c.campaign_id == campaign.id
        )
        with self._database.read() as connection:
            return {person: status for person, status in connection.execute(query)}

    def bring_participants(
        self,
        campaign: Campaign,
        listed: dict[str, str],
        note: Note | None = None,
        loss_note: Note | None = None,
    ) -> None:
        """Replaces the platform's list, which confirms and rejects seats.

        `listed`: the statuses by person; `loss_note`: stores more if confirmed seats lose their confirmation.
        """
        with self._database.write() as connection:
            take_turn(connection, PARTICIPANT)
            connection.execute(PARTICIPANT.delete().where(PARTICIPANT.c.campaign_id == campaign.id))
            rows = [
                {"campaign_id": campaign.id, "person": person, "status": status}
                for person, status in listed.items()
            ]
            if rows:
                connection.execute(insert(PARTICIPANT), rows)
            is_loss = False
            for seat in _load_seats(connection, campaign):
                confirmation = _confirmation_by_list(seat, listed)
                if confirmation != seat.confirmation:
                    changed = update(SEAT).where(SEAT.c.id == seat.id)
                    connection.execute(changed.values(confirmation=confirmation))
                    if seat.confirmation == "confirmed":
                        is_loss = True
            bump_counter(connection, CONFIRMATIONS)
            if loss_note and is_loss:
                loss_note(connection)
            if note:
                note(connection)

    @staticmethod
    def _find_seat(
        connection: Connection, campaign: Campaign, where: ColumnElement[bool]
    ) -> Seat | None:
        seats = _load_seats(connection, campaign, where)
        return seats[0] if seats else None


def _confirmation_by_list(seat: Seat, listed: Mapping[str, str]) -> Confirmation:
    """Returns a seat's confirmation by a platform's list.

    It is rejected if its worker withdrew, whatever the list says, and unchanged if its worker was forgotten.
    """
    if seat.end == "withdrew":
        return "rejected"
    if is_erased(seat.person):
        return seat.confirmation
    platform = seat.campaign.spec.platform.kind
    has_ended = seat.end is not None
    return confirmation_of(seat.person, seat.confirmation, has_ended, platform, listed)


def _first_confirmation(connection: Connection, campaign: Campaign, person: str) -> Confirmation:
    """Returns the confirmation of an arriving worker."""
    platform = campaign.spec.platform
    is_participant = (PARTICIPANT.c.campaign_id == campaign.id) & (PARTICIPANT.c.person == person)
    status = connection.scalar(select(PARTICIPANT.c.status).where(is_participant))
    initial: Confirmation = "pending" if platform.must_confirm else "confirmed"
    # A list that was uploaded before the arrival doesn't have the worker yet.
    if status is None:
        return initial
    has_ended = False
    return confirmation_of(person, initial, has_ended, platform.kind, {person: status})


def check_open(campaign: Campaign) -> None:
    """Raises CampaignLinkError for a campaign that has ended, since nobody new comes in."""
    if campaign.ended_at is not None:
        raise CampaignLinkError(
            "This campaign has all its answers, thank you. Please return it on your platform."
        )


def _load_seats(
    connection: Connection, campaign: Campaign, where: ColumnElement[bool] | None = None
) -> list[Seat]:
    """Returns a campaign's seats in order of arrival, or only those that fulfil `where`."""
    wanted = SEAT_ENTRY.c.campaign_id == campaign.id
    if where is not None:
        wanted &= where
    entries = select(SEAT, SEAT_ENTRY).join(SEAT_ENTRY, SEAT_ENTRY.c.seat_id == SEAT.c.id)
    rows = connection.execute(entries.where(wanted).order_by(SEAT.c.id)).all()
    wanted_ids = select(SEAT_ENTRY.c.seat_id).join(SEAT).where(wanted)
    events: dict[int, dict[str, datetime]] = {}
    for event in connection.execute(select(SEAT_EVENT).where(SEAT_EVENT.c.seat_id.in_(wanted_ids))):
        events.setdefault(event.seat_id, {})[event.kind] = event.at
    return [_seat(row, campaign, events.get(row.id, {})) for row in rows]


def _seat(row: Row, campaign: Campaign, events: dict[str, datetime]) -> Seat:
    # A seat has at most one end, since `add_event` adds nothing after it.
    end: SeatEvent | None = next((kind for kind in ENDS if kind in events), None)
    return Seat(
        id=row.id,
        campaign=campaign,
        voter=row.voter_id,
        person=row.person,
        session=row.session,
        reply_to=row.reply_to,
        code=row.code,
        arrived_at=row.arrived_at,
        confirmation=row.confirmation,
        is_qualified="qualified" in events,
        end=end,
        ended_at=events[end] if end else None,
    )
