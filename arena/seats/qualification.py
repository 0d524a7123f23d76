"""Qualification: questions with known answers before the work, with feedback, and a second try.

The platforms ask for it: a failed comprehension check needs two tries and is no ground for a rejection. Questions of
one try are the same whenever the page is opened again, and each is answered once. The next try asks others as far as
the source has them, since feedback has told the answers of those before.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Row, func, select

from arena.battles.voters import lock
from arena.database import Database, now
from arena.errors import VoterError
from arena.seats.links import signature
from arena.seats.seats import Seat
from arena.seats.spec import QualifySpec
from arena.seats.tables import SEAT_TRY
from arena.types import grouped


class QualificationError(VoterError):
    """An answer that is not asked for, or questions that are missing."""


@dataclass(frozen=True)
class ExamStanding:
    """Where a worker stands in the qualification."""

    attempt: int
    number: int
    """Of the next question, from 1."""
    right: int
    """In this try."""
    asked: int
    last: int | None = None
    """Right answers in the try before, which failed."""


class Qualification:
    """The qualifications of one database's seats."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def standing(self, seat: Seat) -> ExamStanding | None:
        """Where the worker stands; None once one try is passed or all are used up."""
        spec = _spec(seat)
        tries = self._tries(seat)
        last = None
        for attempt in range(1, spec.tries + 1):
            given = tries.get(attempt, [])
            if len(given) < spec.asked:
                return ExamStanding(attempt, len(given) + 1, sum(given), spec.asked, last)
            last = sum(given)
            if last >= spec.passed:
                return None
        return None

    def has_passed(self, seat: Seat) -> bool:
        """Whether a worker who has no question left passed."""
        return (
            max((sum(given) for given in self._tries(seat).values()), default=0)
            >= _spec(seat).passed
        )

    def last(self, seat: Seat) -> datetime | None:
        """Time of the last answer."""
        with self._database.read() as connection:
            return connection.scalar(
                select(func.max(SEAT_TRY.c.at)).where(SEAT_TRY.c.seat_id == seat.id)
            )

    def _tries(self, seat: Seat) -> dict[int, list[bool]]:
        """Whether each answer was right, by try."""
        mine = select(SEAT_TRY.c.attempt, SEAT_TRY.c.is_right).where(SEAT_TRY.c.seat_id == seat.id)
        with self._database.read() as connection:
            return grouped(connection.execute(mine))

    def question(self, seat: Seat, names: Sequence[str], attempt: int, number: int) -> str:
        """The name of a question. Raises QualificationError where a source has too few."""
        spec = _spec(seat)
        if len(names) < spec.asked:
            raise QualificationError(
                "This campaign cannot begin: its qualification asks {} questions, and {!r} has {}.",
                spec.asked,
                spec.items,
                len(names),
            )
        order = random.Random(signature(seat.campaign.key, "exam", seat.id)).sample(
            list(names), len(names)
        )
        return order[((attempt - 1) * spec.asked + number - 1) % len(order)]

    def answer(
        self, seat: Seat, stands: ExamStanding, question: str, answer: str, is_right: bool
    ) -> None:
        """Store the answer to the question at which a worker stands; the first one stands."""
        with self._database.write() as connection:
            lock(connection, seat.voter)
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


def _spec(seat: Seat) -> QualifySpec:
    spec = seat.campaign.spec.qualify
    assert spec is not None, "asked only where there is a qualification"
    return spec
