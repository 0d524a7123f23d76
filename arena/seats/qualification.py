"""Qualification: questions with known answers and sample tasks before the work, with feedback, and a second try.

The platforms require it: a failed comprehension check needs two tries and is no ground for a rejection. The questions
of a try are the same whenever the page is opened, and each is answered once. The next try has other questions if there
are enough, since feedback reveals the earlier answers. If a sample has no known answers, a worker's caption of it waits
for an operator, and so does the try, unless the other answers decide."""

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

Attempts = Mapping[int, Sequence[bool | None]]
"""Whether each answer was right, by the number of the try; None: unread."""


class QualificationError(VoterError):
    """An answer comes at the wrong time, or questions are missing."""


@dataclass(frozen=True)
class ExamStanding:
    """A worker's progress in the qualification."""

    attempt: int
    """The number of the try, from 1."""
    number: int
    """The number of the next question, from 1; beyond the last one while answers wait for an operator."""
    right: int
    """The right answers in this try."""
    asked: int
    """The questions of a try."""
    last: int | None = None
    """The right answers in the failed try before."""

    @property
    def is_waiting(self) -> bool:
        """Whether answers wait for an operator."""
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
        """The answer's name for operators."""
        return f"{self.seat}.{self.attempt}.{self.number}"


class Qualification:
    """The qualifications of one database's seats."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def standing(self, seat: Seat) -> ExamStanding | None:
        """Returns the worker's progress; None once a try is passed or all are used up."""
        return _standing(_spec(seat.campaign), self._attempts(seat))

    def has_passed(self, seat: Seat) -> bool:
        """Returns whether a worker without remaining questions has passed."""
        right = [answers.count(True) for answers in self._attempts(seat).values()]
        return max(right, default=0) >= _spec(seat.campaign).passed

    def is_waiting(self, seat: Seat) -> bool:
        """Returns whether a worker has to wait until an operator has read an answer."""
        standing = self.standing(seat) if seat.must_qualify else None
        return standing is not None and standing.is_waiting

    def last_answer_at(self, seat: Seat) -> datetime | None:
        """Returns the time of the last answer."""
        with self._database.read() as connection:
            return connection.scalar(
                select(func.max(SEAT_TRY.c.at)).where(SEAT_TRY.c.seat_id == seat.id)
            )

    def _attempts(self, seat: Seat) -> dict[int, list[bool | None]]:
        query = select(SEAT_TRY.c.attempt, SEAT_TRY.c.is_right).where(SEAT_TRY.c.seat_id == seat.id)
        with self._database.read() as connection:
            return grouped(connection.execute(query))

    def question_name(
        self,
        seat: Seat,
        names: Sequence[str],
        attempt: int,
        number: int,
        samples: Sequence[str] = (),
    ) -> str:
        """Returns the name of a try's question: first from the source's `names`, then from `samples`.

        Raises QualificationError if a source has too few.
        """
        spec = _spec(seat.campaign)
        if len(names) < spec.question_count:
            raise QualificationError(
                "This campaign can't begin: its qualification asks {} questions, and {!r} has {}.",
                spec.question_count,
                spec.items,
                len(names),
            )
        # Each try goes on in the seat's order where the one before ended.
        if number <= spec.question_count:
            place = (attempt - 1) * spec.question_count + number - 1
            return _draw_name(seat, "exam", names, place)
        sample_number = number - spec.question_count
        place = (attempt - 1) * spec.samples + sample_number - 1
        return _draw_name(seat, "samples", samples, place)

    def answer(
        self, seat: Seat, standing: ExamStanding, question: str, answer: str, is_right: bool | None
    ) -> None:
        """Stores the answer to a worker's current question; the first one stays.

        Raises QualificationError once the seat or its campaign has ended.
        """
        campaign_end = select(CAMPAIGN_END.c.campaign_id).where(
            CAMPAIGN_END.c.campaign_id == seat.campaign.id
        )
        # Every event comes after the qualification or ends the seat, so a seat with an event takes no more answers.
        seat_event = select(SEAT_EVENT.c.kind).where(SEAT_EVENT.c.seat_id == seat.id)
        with self._database.write() as connection:
            lock(connection, seat.voter)
            has_ended = connection.scalar(campaign_end) is not None
            has_event = connection.scalar(seat_event) is not None
            if has_ended or has_event:
                raise QualificationError("The practice is over. You can't send anything more.")
            values = {
                "seat_id": seat.id,
                "attempt": standing.attempt,
                "number": standing.number,
                "question": question,
                "answer": answer,
                "is_right": is_right,
                "at": now(),
            }
            connection.execute(
                self._database.insert(SEAT_TRY).values(values).on_conflict_do_nothing()
            )

    def stored_answer(self, seat: Seat, attempt: int, number: int) -> Row | None:
        """Returns the row of an answer; None if that question was not answered."""
        is_answer = (
            (SEAT_TRY.c.seat_id == seat.id)
            & (SEAT_TRY.c.attempt == attempt)
            & (SEAT_TRY.c.number == number)
        )
        with self._database.read() as connection:
            return connection.execute(select(SEAT_TRY).where(is_answer)).one_or_none()

    # For operators

    def unread(self, campaign: Campaign, seats: Iterable[Seat]) -> list[UnreadAnswer]:
        """Returns the unread answers of tries that aren't decided yet, the oldest first."""
        spec = campaign.spec.qualify
        if spec is None or campaign.ended_at is not None:
            return []
        is_of_campaign = (SEAT_ENTRY.c.seat_id == SEAT_TRY.c.seat_id) & (
            SEAT_ENTRY.c.campaign_id == campaign.id
        )
        answers = select(SEAT_TRY.c.seat_id, SEAT_TRY.c.attempt, SEAT_TRY.c.is_right)
        unread = select(SEAT_TRY).where(is_of_campaign, SEAT_TRY.c.is_right.is_(None))
        with self._database.read() as connection:
            # By seat, pairs of an attempt and an answer.
            pairs_by_seat = grouped(
                (row.seat_id, (row.attempt, row.is_right))
                for row in connection.execute(answers.where(is_of_campaign))
            )
            rows = connection.execute(unread.order_by(SEAT_TRY.c.at)).all()
        current_attempts: dict[int, int] = {}
        for seat in seats:
            if seat.must_qualify:
                attempts = grouped(pairs_by_seat.get(seat.id, ()))
                standing = _standing(spec, attempts)
                if standing is not None:
                    current_attempts[seat.id] = standing.attempt
        return [
            UnreadAnswer(row.seat_id, row.attempt, row.number, row.question, row.answer, row.at)
            for row in rows
            if current_attempts.get(row.seat_id) == row.attempt
        ]

    def judge(self, answer: UnreadAnswer, is_right: bool, note: Note) -> bool:
        """Stores an operator's judgement of an answer; False if it has one already."""
        is_answer = (
            (SEAT_TRY.c.seat_id == answer.seat)
            & (SEAT_TRY.c.attempt == answer.attempt)
            & (SEAT_TRY.c.number == answer.number)
            & SEAT_TRY.c.is_right.is_(None)
        )
        with self._database.write() as connection:
            result = connection.execute(update(SEAT_TRY).where(is_answer).values(is_right=is_right))
            is_judged = result.rowcount > 0
            if is_judged:
                note(connection)
        return is_judged

    def last_answers(self, campaign: Campaign) -> dict[int, datetime]:
        """Returns the time of each seat's last answer."""
        tries = select(SEAT_TRY.c.seat_id, func.max(SEAT_TRY.c.at).label("at"))
        is_of_campaign = (SEAT_ENTRY.c.seat_id == SEAT_TRY.c.seat_id) & (
            SEAT_ENTRY.c.campaign_id == campaign.id
        )
        with self._database.read() as connection:
            rows = connection.execute(tries.where(is_of_campaign).group_by(SEAT_TRY.c.seat_id))
            return {row.seat_id: row.at for row in rows}


def _standing(spec: QualifySpec, attempts: Attempts) -> ExamStanding | None:
    """Returns the progress of a worker with these answers; None once a try is passed or all are used up."""
    last = None
    for attempt in range(1, spec.tries + 1):
        answers = attempts.get(attempt, ())
        right = answers.count(True)
        next_number = len(answers) + 1
        if next_number <= spec.total:
            return ExamStanding(attempt, next_number, right, spec.total, last)
        if right >= spec.passed:
            return None
        may_pass = right + answers.count(None) >= spec.passed
        if may_pass:
            return ExamStanding(attempt, next_number, right, spec.total, last)
        last = right
    return None


def _draw_name(seat: Seat, purpose: str, names: Sequence[str], place: int) -> str:
    """Returns the name at a place of the seat's own order, which repeats."""
    coin = random.Random(signature(seat.campaign.key, purpose, seat.id))
    order = coin.sample(list(names), len(names))
    return order[place % len(order)]


def _spec(campaign: Campaign) -> QualifySpec:
    spec = campaign.spec.qualify
    assert spec is not None, "only campaigns with a qualification get here"
    return spec
