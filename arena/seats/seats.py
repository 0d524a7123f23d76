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
"""qualified, failed: the qualification's result; done: all work given; full: the campaign ended before; withdrew:
consent was withdrawn."""
ENDS: tuple[SeatEvent, ...] = ("failed", "done", "full", "withdrew")
_TOKEN = re.compile(r"([1-9][0-9]{0,8})\.([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True)
class Seat:
    """A worker's place in a campaign."""

    id: int
    campaign: Campaign
    voter: int
    person: str
    session: str
    reply_to: str
    code: str
    """The code shown at the end if the platform has none of its own."""
    arrived_at: datetime
    confirmation: Confirmation
    is_qualified: bool
    end: SeatEvent | None
    ended_at: datetime | None

    @property
    def token(self) -> str:
        return f"{self.id}.{signature(self.campaign.key, 'seat', self.id)}"

    @property
    def must_qualify(self) -> bool:
        return self.campaign.spec.qualify is not None and not self.is_qualified and self.end is None

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
            return self._one(connection, campaign, SEAT.c.id == int(match[1]))

    def of(self, campaign: Campaign, arrival: Arrival) -> Seat | None:
        """Returns the existing seat of a person, if any."""
        with self._database.read() as connection:
            return self._one(connection, campaign, SEAT_ENTRY.c.person == arrival.person)

    def enter(self, campaign: Campaign, arrival: Arrival, network: str | None) -> Seat:
        """Returns the person's seat: a new one, or the existing one with the new session if it has not ended.

        Raises CampaignLinkError.
        """
        with self._database.write() as connection:
            voter = self._voter(connection, campaign.spec.platform.kind, arrival.person)
            lock(connection, voter)
            known = self._one(connection, campaign, SEAT_ENTRY.c.person == arrival.person)
            if known is None:
                return self._take(connection, campaign, arrival, voter, network)
            if known.session != arrival.session:
                if known.end is not None:
                    raise CampaignLinkError(
                        "You've already done this campaign, and each person can do it only "
                        "once. Please return this one."
                    )
                sitting = {"session": arrival.session, "reply_to": arrival.reply_to}
                connection.execute(
                    update(SEAT_ENTRY).where(SEAT_ENTRY.c.seat_id == known.id).values(sitting)
                )
            return _seats(connection, campaign, SEAT.c.id == known.id)[0]

    def _take(
        self,
        connection: Connection,
        campaign: Campaign,
        arrival: Arrival,
        voter: int,
        network: str | None,
    ) -> Seat:
        check_open(campaign)
        most = campaign.spec.platform.most_of_network
        taken = 0
        if network and most is not None:
            taken = self._days.count_one(connection, network, "seats", campaign=str(campaign.id))
        if most is not None and taken > most:
            raise CampaignLinkError(
                "Your network has opened {} links to this campaign today, which is the "
                "limit. Continue with a link you opened before, or come back tomorrow.",
                most,
            )
        take_turn(connection, PARTICIPANT)
        values = {
            "campaign": campaign.name,
            "voter_id": voter,
            "code": secrets.token_hex(5).upper(),
            "confirmation": _first_confirmation(connection, campaign, arrival.person),
        }
        seat = connection.execute(insert(SEAT).values(values).returning(SEAT.c.id)).scalar_one()
        entry = {
            "seat_id": seat,
            "campaign_id": campaign.id,
            "person": arrival.person,
            "arrived_at": now(),
        }
        entry |= {"session": arrival.session, "reply_to": arrival.reply_to}
        connection.execute(insert(SEAT_ENTRY).values(entry))
        return _seats(connection, campaign, SEAT.c.id == seat)[0]

    def _voter(self, connection: Connection, platform: str, person: str) -> int:
        """Returns the voter of a platform's worker, in every campaign, even after a restore; no cookie has such a
        hash.
        """
        seats = select(SEAT.c.voter_id, CAMPAIGN.c.spec).where(SEAT_ENTRY.c.person == person)
        joined = seats.join(SEAT_ENTRY, SEAT_ENTRY.c.seat_id == SEAT.c.id).join(CAMPAIGN)
        for row in connection.execute(joined.order_by(SEAT.c.id)):
            if json.loads(row.spec)["platform"]["kind"] == platform:
                return row.voter_id
        name = f"worker:{signature(self._key, platform, person)}"
        fresh = (
            self._database.insert(VOTER)
            .values(cookie_hash=name, since=now())
            .on_conflict_do_nothing()
        )
        connection.execute(fresh)
        return connection.execute(
            select(VOTER.c.id).where(VOTER.c.cookie_hash == name)
        ).scalar_one()

    def note(self, seat: Seat, kind: SeatEvent) -> Seat:
        """Adds an event to a seat, once; a seat that has ended doesn't change.

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
            return _seats(connection, seat.campaign, SEAT.c.id == seat.id)[0]

    def all(self, campaign: Campaign) -> list[Seat]:
        """Returns a campaign's seats in order of arrival."""
        with self._database.read() as connection:
            return _seats(connection, campaign)

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
        taken_back: Note | None = None,
    ) -> None:
        """Replaces the platform's list, which confirms and rejects seats.

        `taken_back` stores more if confirmed seats lose their confirmation.
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
            for seat in _seats(connection, campaign):
                confirmation = _confirmation(seat, listed)
                if confirmation != seat.confirmation:
                    changed = update(SEAT).where(SEAT.c.id == seat.id)
                    connection.execute(changed.values(confirmation=confirmation))
                    is_loss |= seat.confirmation == "confirmed"
            bump_counter(connection, CONFIRMATIONS)
            if taken_back and is_loss:
                taken_back(connection)
            if note:
                note(connection)

    @staticmethod
    def _one(connection: Connection, campaign: Campaign, where: ColumnElement[bool]) -> Seat | None:
        return next(iter(_seats(connection, campaign, where)), None)


def _confirmation(seat: Seat, listed: Mapping[str, str]) -> Confirmation:
    """Returns a seat's confirmation by a platform's list; unchanged if its worker was forgotten."""
    if seat.end == "withdrew":
        return "rejected"
    if is_erased(seat.person):
        return seat.confirmation
    platform = seat.campaign.spec.platform.kind
    return confirmation_of(seat.person, seat.confirmation, seat.end is not None, platform, listed)


def _first_confirmation(connection: Connection, campaign: Campaign, person: str) -> Confirmation:
    """Returns the confirmation of an arriving worker; a missing row in an existing list means nothing yet."""
    platform = campaign.spec.platform
    is_participant = (PARTICIPANT.c.campaign_id == campaign.id) & (PARTICIPANT.c.person == person)
    status = connection.scalar(select(PARTICIPANT.c.status).where(is_participant))
    known: Confirmation = "pending" if platform.must_confirm else "confirmed"
    if status is None:
        return known
    return confirmation_of(person, known, False, platform.kind, {person: status})


def check_open(campaign: Campaign) -> None:
    """Raises CampaignLinkError for a campaign that has ended, since nobody new comes in."""
    if campaign.ended_at is not None:
        raise CampaignLinkError(
            "This campaign has all its answers, thank you. Please return it on your platform."
        )


def _seats(
    connection: Connection, campaign: Campaign, where: ColumnElement[bool] | None = None
) -> list[Seat]:
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
