"""Qualification: questions with known answers and sample tasks before the work, with feedback, and a second try.

The platforms ask for it: a failed comprehension check needs two tries and is no ground for a rejection. Questions of
one try are the same whenever the page is opened again, and each is answered once. The next try asks others as far as
there are, since feedback has told the answers of those before. An answer that has no known one waits for an operator,
and its try with it, unless the others decide.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Row, func, select, update

from arena.battles.voters import lock
from arena.database import Database, now
from arena.errors import VoterError
from arena.seats.campaigns import Campaign, Note
from arena.seats.links import signature
from arena.seats.seats import Seat
from arena.seats.spec import QualifySpec
from arena.seats.tables import CAMPAIGN_END, SEAT_ENTRY, SEAT_EVENT, SEAT_TRY
from arena.types import grouped

Tries = Mapping[int, Sequence[bool | None]]
"""Whether each answer was right, by try; None: nobody has read it yet."""


class QualificationError(VoterError):
    """An answer that is not asked for, or questions that are missing."""


@dataclass(frozen=True)
class ExamStanding:
    """Where a worker stands in the qualification."""

    attempt: int
    number: int
    """Of the next question, from 1; beyond the last one while answers wait for an operator."""
    right: int
    """In this try."""
    asked: int
    last: int | None = None
    """Right answers in the try before, which failed."""

    @property
    def is_waiting(self) -> bool:
        return self.number > self.asked


class UnreadAnswer(NamedTuple):
    """An answer that an operator has to read."""

    seat: int
    attempt: int
    number: int
    question: str
    answer: str
    at: datetime

    @property
    def name(self) -> str:
        """By which an operator names it."""
        return f"{self.seat}.{self.attempt}.{self.number}"


class Qualification:
    """The qualifications of one database's seats."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def standing(self, seat: Seat) -> ExamStanding | None:
        """Where the worker stands; None once one try is passed or all are used up."""
        return _standing(_spec(seat.campaign), self._tries(seat))

    def has_passed(self, seat: Seat) -> bool:
        """Whether a worker who has no question left passed."""
        return (
            max((given.count(True) for given in self._tries(seat).values()), default=0)
            >= _spec(seat.campaign).passed
        )

    def is_waiting(self, seat: Seat) -> bool:
        """Whether a worker can go on only when an operator has read what they wrote."""
        stands = self.standing(seat) if seat.must_qualify else None
        return stands is not None and stands.is_waiting

    def last(self, seat: Seat) -> datetime | None:
        """Time of the last answer."""
        with self._database.read() as connection:
            return connection.scalar(
                select(func.max(SEAT_TRY.c.at)).where(SEAT_TRY.c.seat_id == seat.id)
            )

    def _tries(self, seat: Seat) -> dict[int, list[bool | None]]:
        mine = select(SEAT_TRY.c.attempt, SEAT_TRY.c.is_right).where(SEAT_TRY.c.seat_id == seat.id)
        with self._database.read() as connection:
            return grouped(connection.execute(mine))

    def question(
        self,
        seat: Seat,
        names: Sequence[str],
        attempt: int,
        number: int,
        samples: Sequence[str] = (),
    ) -> str:
        """The name of a question: of the source's `names` first, then of `samples`.

        Raises QualificationError where a source has too few.
        """
        spec = _spec(seat.campaign)
        if len(names) < spec.choices:
            raise QualificationError(
                "This campaign cannot begin: its qualification asks {} questions, and {!r} has {}.",
                spec.choices,
                spec.items,
                len(names),
            )
        if number <= spec.choices:
            return _drawn(seat, "exam", names, (attempt - 1) * spec.choices + number - 1)
        place = number - spec.choices
        return _drawn(seat, "samples", samples, (attempt - 1) * spec.samples + place - 1)

    def answer(
        self, seat: Seat, stands: ExamStanding, question: str, answer: str, is_right: bool | None
    ) -> None:
        """Stores the answer to the question at which a worker stands; the first one stands.

        Raises QualificationError once the seat or its campaign has ended.
        """
        ends = select(CAMPAIGN_END.c.campaign_id).where(
            CAMPAIGN_END.c.campaign_id == seat.campaign.id
        )
        events = select(SEAT_EVENT.c.kind).where(SEAT_EVENT.c.seat_id == seat.id)
        with self._database.write() as connection:
            lock(connection, seat.voter)
            if connection.scalar(ends) is not None or connection.scalar(events) is not None:
                raise QualificationError("The practice is over; nothing more can be sent.")
            values = {
                "seat_id": seat.id,
                "attempt": stands.attempt,
                "number": stands.number,
                "question": question,
            }
            values |= {"answer": answer, "is_right": is_right, "at": now()}
            connection.execute(
                self._database.insert(SEAT_TRY).values(values).on_conflict_do_nothing()
            )

    def given(self, seat: Seat, attempt: int, number: int) -> Row | None:
        """The row of an answer; None if that question was not answered."""
        mine = (
            (SEAT_TRY.c.seat_id == seat.id)
            & (SEAT_TRY.c.attempt == attempt)
            & (SEAT_TRY.c.number == number)
        )
        with self._database.read() as connection:
            return connection.execute(select(SEAT_TRY).where(mine)).one_or_none()

    # What operators do

    def unread(self, campaign: Campaign, seats: Iterable[Seat]) -> list[UnreadAnswer]:
        """What an operator has to read: answers of tries that they may still decide, the oldest first."""
        spec = campaign.spec.qualify
        if spec is None or campaign.ended_at is not None:
            return []
        mine = (SEAT_ENTRY.c.seat_id == SEAT_TRY.c.seat_id) & (
            SEAT_ENTRY.c.campaign_id == campaign.id
        )
        marks = select(SEAT_TRY.c.seat_id, SEAT_TRY.c.attempt, SEAT_TRY.c.is_right).where(mine)
        unread = select(SEAT_TRY).where(mine, SEAT_TRY.c.is_right.is_(None))
        with self._database.read() as connection:
            given = grouped((row.seat_id, row[1:]) for row in connection.execute(marks))
            rows = connection.execute(unread.order_by(SEAT_TRY.c.at)).all()
        attempts = {}
        for seat in seats:
            stands = _standing(spec, grouped(given.get(seat.id, ()))) if seat.must_qualify else None
            attempts[seat.id] = stands.attempt if stands else None
        return [
            UnreadAnswer(row.seat_id, row.attempt, row.number, row.question, row.answer, row.at)
            for row in rows
            if attempts.get(row.seat_id) == row.attempt
        ]

    def judge(self, answer: UnreadAnswer, is_right: bool, note: Note) -> bool:
        """Stores what an operator says of an answer; False where somebody has said it already."""
        mine = (
            (SEAT_TRY.c.seat_id == answer.seat)
            & (SEAT_TRY.c.attempt == answer.attempt)
            & (SEAT_TRY.c.number == answer.number)
            & SEAT_TRY.c.is_right.is_(None)
        )
        with self._database.write() as connection:
            judged = connection.execute(update(SEAT_TRY).where(mine).values(is_right=is_right))
            if judged.rowcount:
                note(connection)
        return bool(judged.rowcount)

    def last_answers(self, campaign: Campaign) -> dict[int, datetime]:
        """Time of each seat's last answer."""
        tries = select(SEAT_TRY.c.seat_id, func.max(SEAT_TRY.c.at).label("at"))
        mine = (SEAT_ENTRY.c.seat_id == SEAT_TRY.c.seat_id) & (
            SEAT_ENTRY.c.campaign_id == campaign.id
        )
        with self._database.read() as connection:
            rows = connection.execute(tries.where(mine).group_by(SEAT_TRY.c.seat_id))
            return {row.seat_id: row.at for row in rows}


def _standing(spec: QualifySpec, tries: Tries) -> ExamStanding | None:
    last = None
    for attempt in range(1, spec.tries + 1):
        given = tries.get(attempt, ())
        right = given.count(True)
        if len(given) < spec.total:
            return ExamStanding(attempt, len(given) + 1, right, spec.total, last)
        if right >= spec.passed:
            return None
        if right + given.count(None) >= spec.passed:
            return ExamStanding(attempt, spec.total + 1, right, spec.total, last)
        last = right
    return None


def _drawn(seat: Seat, purpose: str, names: Sequence[str], place: int) -> str:
    """The name at a place of the seat's own order, which begins anew where it ends."""
    coin = random.Random(signature(seat.campaign.key, purpose, seat.id))
    order = coin.sample(list(names), len(names))
    return order[place % len(order)]


def _spec(campaign: Campaign) -> QualifySpec:
    spec = campaign.spec.qualify
    assert spec is not None, "asked only where there is a qualification"
    return spec
