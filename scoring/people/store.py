"""Mark store: what people said of single answers, in events that are only added.

A mark belongs to a question and an answer by their hash, so that it stands for every report of its owner that holds
them. What a person says last stands; an empty value takes back what was said before.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Integer,
    Row,
    Table,
    Text,
    UniqueConstraint,
    and_,
    func,
    insert,
    select,
)

from arena.battles.tables import SEAT
from arena.database import METADATA, Database, Moment, now, take_turn
from arena.errors import VoterError
from arena.seats.seats import Seat
from arena.seats.tables import SEAT_EVENT
from arena.seats.task import SeatProgress
from scoring.people.mark_files import CANNOT
from scoring.people.plan import Had, Planned, next_of
from scoring.people.spec import MarkKind

MARK = Table(
    "mark",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    *(Column(name, Text, nullable=False) for name in ("kind", "report")),
    *(Column(name, Text, nullable=False, index=True) for name in ("owner", "answer")),
    *(Column(name, Text, nullable=False) for name in ("item", "stratum", "marker")),
    Column("round", Integer, nullable=False),
    Column("seat_id", ForeignKey(SEAT.c.id)),
    Column("drawn_at", Moment, nullable=False),
    UniqueConstraint("kind", "report", "answer", "marker", "round"),
)
"""An answer that was shown to a person. `answer`: see `plan.answer_key`; `stratum`: of the plan, empty for what was
brought from a file, as `seat_id` is."""
MARK_VALUE = Table(
    "mark_value",
    METADATA,
    Column("mark_id", ForeignKey("mark.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("value", "further", "note")),
    Column("at", Moment, nullable=False),
)
"""`value`: tenths, or the main kind of error, or an option, or "cannot"; `further`: more kinds of error, separated by
blanks."""

MOST_VALUES = 20
"""Changes of one mark."""
LONGEST_NOTE = 200
OWNER = "owner"
"""Ends the name under which a report's owner marks."""
MOST_MARKERS = 50
LONGEST_MARKER = 100
"""People whose marks of one report may be brought from files, and characters of their names."""
MOST_BROUGHT = 12_000
MOST_OF_OWNER = 40_000
"""Marks of one report, and of all of its owner's, that may be brought from files: looks at a report read them."""
MOST_NAMED = 2_000
"""Answers that a query names; for a report of more, all that was said for its owner is read."""


class MarkError(VoterError):
    """A mark that is not taken; says why."""


class Said(NamedTuple):
    """What a person says of an answer."""

    value: str
    further: tuple[str, ...] = ()
    note: str = ""


class ShownAnswer(NamedTuple):
    """An answer that a person is shown; `value` is what was said last, empty before."""

    token: str
    answer: str
    round: int
    value: str


class Mark(NamedTuple):
    """What a person said of an answer; "cannot", with a reason, is no mark of it."""

    report: str
    answer: str
    item: str
    stratum: str
    marker: str
    round: int
    said: Said
    seconds: float
    """From when it was shown; 0 for what was brought from a file."""
    at: datetime
    is_brought: bool

    @property
    def score(self) -> float:
        return int(self.said.value) / 10


class MarkStore:
    """Marks and labels in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def draw(
        self, seat: Seat, kind: MarkKind, report: str, owner: str, plan: Sequence[Planned]
    ) -> ShownAnswer | None:
        """The seat's unanswered answer, or the next of the plan; None if nothing is left."""
        with self._database.write() as connection:
            take_turn(connection, MARK)
            mine = _LATEST.where(MARK.c.kind == kind, MARK.c.report == report, _STAYS).order_by(
                MARK.c.id
            )
            given = connection.execute(mine).all()
            # a file may have brought this person's marks
            own = [row for row in given if row.marker == seat.person]
            if waiting := next((row for row in own if not row.value), None):
                return _shown(waiting)
            found = next_of(plan, _had(given, own, kind))
            if found is None:
                return None
            one, number = found
            values = {
                "kind": kind,
                "report": report,
                "owner": owner,
                "answer": one.key,
                "item": one.item,
            }
            values |= {
                "stratum": one.stratum,
                "marker": seat.person,
                "round": number,
                "seat_id": seat.id,
            }
            return ShownAnswer(self._add(connection, values), one.key, number, "")

    @staticmethod
    def _add(connection: Connection, values: Mapping[str, object]) -> str:
        token = secrets.token_urlsafe(16)
        connection.execute(insert(MARK).values(**values, token=token, drawn_at=now()))
        return token

    def find(self, seat: Seat, token: str) -> ShownAnswer:
        """An answer that a seat was shown, as it stands. Raises MarkError."""
        with self._database.read() as connection:
            return _shown(_mine(connection, seat, token))

    def last(self, seat: Seat) -> ShownAnswer | None:
        """What the seat said last, so that it can be taken back; None before anything was said."""
        mine = _LATEST.where(MARK.c.seat_id == seat.id, MARK_VALUE.c.value != "").order_by(
            MARK_VALUE.c.at.desc()
        )
        with self._database.read() as connection:
            row = connection.execute(mine.limit(1)).one_or_none()
        return None if row is None else _shown(row)

    def given(self, seat: Seat) -> SeatProgress:
        """How many answers a seat has said something of, and when last."""
        mine = _LATEST.where(MARK.c.seat_id == seat.id, MARK_VALUE.c.value != "").subquery()
        with self._database.read() as connection:
            found = connection.execute(
                select(func.count(), func.max(mine.c.at)).select_from(mine)
            ).one()
        return SeatProgress(found[0], last=found[1])

    def say(self, seat: Seat, token: str, said: Said) -> None:
        """Say something of an answer; an empty value takes back what was said. Raises MarkError."""
        with self._database.write() as connection:
            take_turn(connection, MARK)
            row = _mine(connection, seat, token)
            if not said.value and row.value is None:
                raise MarkError("There is nothing to take back yet.")
            if row.value is not None and said == _said(row):
                return
            number = row.number or 0
            if number >= MOST_VALUES:
                raise MarkError(
                    "This answer was changed {} times; what was said last stands.", MOST_VALUES
                )
            connection.execute(insert(MARK_VALUE).values(_value(row.id, number + 1, said)))

    def bring(self, kind: MarkKind, report: str, owner: str, marks: Sequence[Mark]) -> int:
        """Add marks of a file to a report; return how many are new or changed. The same file twice adds nothing.

        Raises MarkError.
        """
        mine = _LATEST.where(MARK.c.kind == kind, MARK.c.report == report)
        with self._database.write() as connection:
            take_turn(connection, MARK)
            known = _by_person(connection.execute(mine).all())
            _check_markers({marker for _, marker, _ in known} | {mark.marker for mark in marks})
            of_all = {
                "kind": kind,
                "report": report,
                "owner": owner,
                "stratum": "",
                "drawn_at": now(),
            }
            new = [
                {
                    **of_all,
                    "answer": one.answer,
                    "item": one.item,
                    "marker": one.marker,
                    "round": one.round,
                }
                for one in marks
                if (one.answer, one.marker, one.round) not in known
            ]
            if new:
                connection.execute(
                    insert(MARK), [{**one, "token": secrets.token_urlsafe(16)} for one in new]
                )
                _check_brought(connection, owner, report)
                known = _by_person(connection.execute(mine).all())
            said = [(known[one.answer, one.marker, one.round], one.said) for one in marks]
            changed = [
                (row, one)
                for row, one in said
                if row.seat_id is None and (not row.number or _said(row) != one)
            ]
            if any((row.number or 0) >= MOST_VALUES for row, _ in changed):
                raise MarkError(
                    "This answer was changed {} times; what was said last stands.", MOST_VALUES
                )
            if changed:
                values = [_value(row.id, (row.number or 0) + 1, one) for row, one in changed]
                connection.execute(insert(MARK_VALUE), values)
        return len(changed)

    def of_report(
        self, kind: MarkKind, report: str, owner: str, answers: Collection[str]
    ) -> list[Mark]:
        """What was said of a report's answers, under any report of its owner, in order; by one person once.

        Not by who took consent back. A database that was restored knows no owners.
        """
        whose = MARK.c.owner == owner if owner else MARK.c.report == report
        said = _LATEST.where(MARK.c.kind == kind, whose, MARK_VALUE.c.value != "")
        if len(answers) <= MOST_NAMED:
            said = said.where(MARK.c.answer.in_(answers))
        with self._database.read() as connection:
            rows = connection.execute(said.where(_STAYS).order_by(MARK.c.id)).all()
        last = {(row.answer, _person(row.marker), row.round): row for row in rows}
        return [_mark(row) for row in last.values() if row.answer in answers]

    def drop(self, owner: str, report: str) -> None:
        """Delete what was said under a report, since its owner says so; who had ended may begin anew."""
        said = and_(MARK.c.report == report, MARK.c.owner == owner)
        with self._database.write() as connection:
            mine = select(MARK.c.id).where(said)
            seats = select(MARK.c.seat_id).where(said)
            ended = SEAT_EVENT.c.seat_id.in_(seats) & SEAT_EVENT.c.kind.in_(("done", "full"))
            connection.execute(SEAT_EVENT.delete().where(ended))
            connection.execute(MARK_VALUE.delete().where(MARK_VALUE.c.mark_id.in_(mine)))
            connection.execute(MARK.delete().where(MARK.c.id.in_(mine)))
        self._database.empty_log()


_OTHER = MARK_VALUE.alias()
_NUMBER = (
    select(func.max(_OTHER.c.number))
    .where(_OTHER.c.mark_id == MARK.c.id)
    .correlate(MARK)
    .scalar_subquery()
)
_LATEST = select(
    MARK,
    MARK_VALUE.c.number,
    MARK_VALUE.c.value,
    MARK_VALUE.c.further,
    MARK_VALUE.c.note,
    MARK_VALUE.c.at,
).select_from(
    MARK.outerjoin(
        MARK_VALUE, and_(MARK_VALUE.c.mark_id == MARK.c.id, MARK_VALUE.c.number == _NUMBER)
    )
)
"""Marks with what was said last."""
_GONE = select(SEAT_EVENT.c.seat_id).where(SEAT_EVENT.c.kind == "withdrew")
_STAYS = MARK.c.seat_id.is_(None) | MARK.c.seat_id.not_in(_GONE)
"""Not given by who took consent back."""


def _had(given: Iterable[Row], own: Iterable[Row], kind: MarkKind) -> Had:
    """What persons were shown of a report, `own` by one of them."""
    said: dict[str, dict[str, str]] = {}
    for row in given:
        said.setdefault(row.answer, {})[row.marker] = row.value or ""
    settled = said.items() if kind != "marks" else ()
    return Had(
        persons={key: frozenset(of) for key, of in said.items()},
        own=[(row.answer, row.round) for row in own],
        disputed=frozenset(
            key for key, of in settled if len(of) == 2 == len({*of.values()} - {"", CANNOT})
        ),
    )


def _by_person(rows: Iterable[Row]) -> dict[tuple[str, str, int], Row]:
    """A report's rows by answer, person and round."""
    return {(row.answer, row.marker, row.round): row for row in rows}


def _check_markers(markers: Collection[str]) -> None:
    if any(len(one) > LONGEST_MARKER for one in markers):
        raise MarkError("A marker's name has at most {} characters; shorten it.", LONGEST_MARKER)
    if len(markers) > MOST_MARKERS:
        raise MarkError(
            "Marks of {} people would stand under this report, and {} is the most; leave some out.",
            len(markers),
            MOST_MARKERS,
        )


def _check_brought(connection: Connection, owner: str, report: str) -> None:
    """Raise MarkError where files brought too many marks; what was added in this transaction then is not."""
    brought = select(func.count()).where(MARK.c.owner == owner, MARK.c.seat_id.is_(None))
    for query, most, where in (
        (brought.where(MARK.c.report == report), MOST_BROUGHT, "this report"),
        (brought, MOST_OF_OWNER, "all of your reports"),
    ):
        if (count := connection.scalar(query) or 0) > most:
            told = "Files would have brought {} marks under {}, and {} is the most; leave some out."
            raise MarkError(told, count, where, most)


def _mine(connection: Connection, seat: Seat, token: str) -> Row:
    row = connection.execute(
        _LATEST.where(MARK.c.token == token, MARK.c.seat_id == seat.id)
    ).one_or_none()
    if row is None:
        raise MarkError("This is none of your answers. Open the page again.")
    return row


def _value(mark: int, number: int, said: Said) -> dict[str, object]:
    told = {"value": said.value, "further": " ".join(said.further), "note": said.note}
    return {"mark_id": mark, "number": number, "at": now(), **told}


def _shown(row: Row) -> ShownAnswer:
    return ShownAnswer(row.token, row.answer, row.round, row.value or "")


def _said(row: Row) -> Said:
    return Said(row.value, tuple(row.further.split()), row.note)


def _mark(row: Row) -> Mark:
    brought = row.seat_id is None
    seconds = 0.0 if brought else (row.at - row.drawn_at).total_seconds()
    return Mark(
        report=row.report,
        answer=row.answer,
        item=row.item,
        stratum=row.stratum,
        marker=row.marker,
        round=row.round,
        said=_said(row),
        seconds=seconds,
        at=row.at,
        is_brought=brought,
    )


def _person(marker: str) -> str:
    """Who marked: a report's owner is one person under every report."""
    return OWNER if marker.rpartition(".")[2] == OWNER else marker
