"""Mark store: people's marks, labels and readings of single answers, in events that are only added.

A mark belongs to a question and an answer by their hash, so that it counts for every report of its owner that has them.
A person's last value counts; an empty value takes the previous one back.
"""

import re
import secrets
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
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
from scoring.people.plan import History, PlannedAnswer, next_answer
from scoring.people.spec import KINDS, MarkKind

MARK = Table(
    "mark",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("report", Text, nullable=False),
    Column("owner", Text, nullable=False, index=True),
    Column("answer", Text, nullable=False, index=True),
    Column("item", Text, nullable=False),
    Column("stratum", Text, nullable=False),
    Column("marker", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("seat_id", ForeignKey(SEAT.c.id)),
    Column("drawn_at", Moment, nullable=False),
    UniqueConstraint("kind", "report", "answer", "marker", "round"),
)
"""An answer that a person was shown. `answer` is its `plan.answer_key`. `stratum` is the plan's; it and `seat_id` are
empty for marks from a file."""
MARK_VALUE = Table(
    "mark_value",
    METADATA,
    Column("mark_id", ForeignKey("mark.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("value", Text, nullable=False),
    Column("further", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("at", Moment, nullable=False),
)
"""A value of a mark: tenths, the main kind of error, an option, or "cannot". `further`: more kinds of error, separated
by blanks."""

MOST_VALUES = 20
"""Changes of one mark."""
LONGEST_NOTE = 200
OWNER = "owner"
"""The end of the name under which a report's owner marks."""
_OWNER_NAME = re.compile(rf"(?:{'|'.join(KINDS)})-[0-9a-f]{{16}}\.{OWNER}")
"""The name of a report's owner, which begins with that of the campaign."""
MOST_MARKERS = 50
"""People with marks from files, in one report."""
LONGEST_MARKER = 100
"""Characters of a person's name."""
MOST_IMPORTED = 12_000
"""Marks from files in one report: every view of the report reads them."""
MOST_OF_OWNER = 40_000
"""Marks from files in all reports of an owner."""
MOST_IN_QUERY = 2_000
"""Answers listed in a query; for a report with more, all marks of its owner are read."""


class MarkError(VoterError):
    """A mark that is refused; the message says why."""


class MarkEntry(NamedTuple):
    """A person's input for an answer."""

    value: str
    """Tenths, the main kind of error, an option, or "cannot"; "" takes the last value back."""
    further: tuple[str, ...] = ()
    note: str = ""


class ShownAnswer(NamedTuple):
    """An answer for a person to mark; `value` is the person's last value, empty before the first."""

    token: str
    answer: str
    round: int
    value: str


class Mark(NamedTuple):
    """A person's mark, label or reading of an answer; the value "cannot" means that the person could not judge it."""

    report: str
    answer: str
    item: str
    stratum: str
    marker: str
    """The person's name in files; a report's owner has another one in each report."""
    round: int
    entry: MarkEntry
    seconds: float
    """Seconds from showing the answer to its last value; 0 for marks from a file."""
    at: datetime
    """Time of its last value."""
    is_from_file: bool

    @property
    def score(self) -> float:
        """The mark from 0 to 1."""
        return int(self.entry.value) / 10

    @property
    def person(self) -> str:
        """The person, as results tell people apart: a report's owner is the same one in every report."""
        return _person(self.marker)


class MarkStore:
    """Marks, labels and readings in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def draw(
        self, seat: Seat, kind: MarkKind, report: str, owner: str, plan: Sequence[PlannedAnswer]
    ) -> ShownAnswer | None:
        """The answer that the seat has open, or the next of the plan; None if nothing is left."""
        with self._database.write() as connection:
            take_turn(connection, MARK)
            rows, own = _current_rows(connection, seat, kind, report, plan)
            for row in own:
                if not row.value:
                    return _shown_answer(row)
            following = next_answer(plan, _history(rows, own, kind))
            if following is None:
                return None
            answer = following.answer
            token = secrets.token_urlsafe(16)
            values = {
                "token": token,
                "kind": kind,
                "report": report,
                "owner": owner,
                "answer": answer.key,
                "item": answer.item,
                "stratum": answer.stratum,
                "marker": seat.person,
                "round": following.round,
                "seat_id": seat.id,
                "drawn_at": now(),
            }
            connection.execute(insert(MARK).values(values))
            return ShownAnswer(token, answer.key, following.round, "")

    def waits(self, seat: Seat, kind: MarkKind, report: str, plan: Sequence[PlannedAnswer]) -> bool:
        """Whether a seat without an answer may get one later, since somebody else is at work on it."""
        with self._database.read() as connection:
            rows, own = _current_rows(connection, seat, kind, report, plan)
        own_answers = {row.answer for row in own}
        return any(not row.value and row.answer not in own_answers for row in rows)

    def find(self, seat: Seat, token: str) -> ShownAnswer:
        """A seat's answer by its token, with its latest value. Raises MarkError."""
        with self._database.read() as connection:
            return _shown_answer(_mark_row(connection, seat, token))

    def last(self, seat: Seat) -> ShownAnswer | None:
        """The answer that the seat marked last, so that the mark can be taken back; None before the first."""
        marked = _LATEST_MARKS.where(MARK.c.seat_id == seat.id, MARK_VALUE.c.value != "")
        latest_first = marked.order_by(MARK_VALUE.c.at.desc())
        with self._database.read() as connection:
            row = connection.execute(latest_first.limit(1)).one_or_none()
        return None if row is None else _shown_answer(row)

    def progress(self, seat: Seat) -> SeatProgress:
        """The number of answers that a seat has marked, and the time of the last."""
        marked = _LATEST_MARKS.where(MARK.c.seat_id == seat.id, MARK_VALUE.c.value != "").subquery()
        query = select(func.count(), func.max(marked.c.at)).select_from(marked)
        with self._database.read() as connection:
            count, last = connection.execute(query).one()
        return SeatProgress(count, last=last)

    def enter(self, seat: Seat, token: str, entry: MarkEntry) -> None:
        """Stores a seat's entry for an answer; an empty value takes the last one back. Raises MarkError."""
        with self._database.write() as connection:
            take_turn(connection, MARK)
            row = _mark_row(connection, seat, token)
            if not entry.value and row.value is None:
                raise MarkError("There is nothing to take back yet.")
            if row.value is not None and entry == _entry(row):
                return
            connection.execute(insert(MARK_VALUE).values(_next_value(row, entry)))

    def import_marks(self, kind: MarkKind, report: str, owner: str, marks: Sequence[Mark]) -> int:
        """Adds a file's marks to a report and returns how many are new or changed. Raises MarkError.

        A mark that the person gave on the page is kept.
        """
        marks_of_report = _LATEST_MARKS.where(MARK.c.kind == kind, MARK.c.report == report)
        with self._database.write() as connection:
            take_turn(connection, MARK)
            known = _rows_by_key(connection.execute(marks_of_report).all())
            markers = {row.marker for row in known.values()} | {mark.marker for mark in marks}
            _check_markers(markers)
            drawn_at = now()
            new = [
                {
                    "kind": kind,
                    "report": report,
                    "owner": owner,
                    "stratum": "",
                    "drawn_at": drawn_at,
                    "answer": mark.answer,
                    "item": mark.item,
                    "marker": mark.marker,
                    "round": mark.round,
                    "token": secrets.token_urlsafe(16),
                }
                for mark in marks
                if _mark_key(mark) not in known
            ]
            if new:
                connection.execute(insert(MARK), new)
                _check_imported(connection, owner, report)
                known = _rows_by_key(connection.execute(marks_of_report).all())
            values = []
            for mark in marks:
                row = known[_mark_key(mark)]
                is_from_page = row.seat_id is not None
                is_unchanged = row.number is not None and _entry(row) == mark.entry
                if not is_from_page and not is_unchanged:
                    values.append(_next_value(row, mark.entry))
            if values:
                connection.execute(insert(MARK_VALUE), values)
        return len(values)

    def of_report(
        self, kind: MarkKind, report: str, owner: str, answers: Collection[str]
    ) -> list[Mark]:
        """The marks of a report's answers under any report of its owner: the last by each person, answer and round.

        They are in the order in which their values were given. Marks of people who withdrew their consent are left out.
        With no `owner`, as in a restored database, only marks under this report count.
        """
        scope = MARK.c.owner == owner if owner else MARK.c.report == report
        marks = _LATEST_MARKS.where(MARK.c.kind == kind, scope, MARK_VALUE.c.value != "")
        if len(answers) <= MOST_IN_QUERY:
            marks = marks.where(MARK.c.answer.in_(answers))
        with self._database.read() as connection:
            in_order = marks.where(_IS_CONSENTED).order_by(MARK_VALUE.c.at, MARK.c.id)
            rows = connection.execute(in_order).all()
        last_rows: dict[_MarkKey, Row] = {}
        for row in rows:
            key = _MarkKey(row.answer, _person(row.marker), row.round)
            # the value given last counts where a person marked the same answer under several reports
            last_rows.pop(key, None)  # moves the mark to the end
            last_rows[key] = row
        return [_mark(row) for row in last_rows.values() if row.answer in answers]

    def drop(self, owner: str, report: str) -> None:
        """Deletes all marks under an owner's report; people who had finished may begin again."""
        is_of_report = and_(MARK.c.report == report, MARK.c.owner == owner)
        with self._database.write() as connection:
            marks = select(MARK.c.id).where(is_of_report)
            seats = select(MARK.c.seat_id).where(is_of_report)
            ended = SEAT_EVENT.c.seat_id.in_(seats) & SEAT_EVENT.c.kind.in_(("done", "full"))
            connection.execute(SEAT_EVENT.delete().where(ended))
            connection.execute(MARK_VALUE.delete().where(MARK_VALUE.c.mark_id.in_(marks)))
            connection.execute(MARK.delete().where(MARK.c.id.in_(marks)))
        self._database.empty_log()


_ANY_VALUE = MARK_VALUE.alias()
_LATEST_NUMBER = (
    select(func.max(_ANY_VALUE.c.number))
    .where(_ANY_VALUE.c.mark_id == MARK.c.id)
    .correlate(MARK)
    .scalar_subquery()
)
_LATEST_MARKS = select(
    MARK,
    MARK_VALUE.c.number,
    MARK_VALUE.c.value,
    MARK_VALUE.c.further,
    MARK_VALUE.c.note,
    MARK_VALUE.c.at,
).select_from(
    MARK.outerjoin(
        MARK_VALUE, and_(MARK_VALUE.c.mark_id == MARK.c.id, MARK_VALUE.c.number == _LATEST_NUMBER)
    )
)
"""Marks with their latest value."""
_WITHDRAWN_SEATS = select(SEAT_EVENT.c.seat_id).where(SEAT_EVENT.c.kind == "withdrew")
_IS_CONSENTED = MARK.c.seat_id.is_(None) | MARK.c.seat_id.not_in(_WITHDRAWN_SEATS)
"""The condition that leaves out marks of people who withdrew their consent."""


class _CurrentRows(NamedTuple):
    """The marks of a plan's answers, in the order in which they were shown, without those that wait too long."""

    rows: Sequence[Row]
    own: Sequence[Row]
    """Those of the person in the seat: a file may hold marks of the same person."""


def _current_rows(
    connection: Connection,
    seat: Seat,
    kind: MarkKind,
    report: str,
    plan: Sequence[PlannedAnswer],
) -> _CurrentRows:
    """The marks of a plan's answers; somebody else's is left out if it has waited longer than the seat's minutes."""
    marks = _LATEST_MARKS.where(MARK.c.kind == kind, MARK.c.report == report, _IS_CONSENTED)
    keys = {answer.key for answer in plan}
    long_ago = now() - timedelta(minutes=seat.campaign.spec.seat.minutes)
    rows = []
    own = []
    for row in connection.execute(marks.order_by(MARK.c.id)):
        is_own = _person(row.marker) == _person(seat.person)
        is_late = not row.value and (row.at or row.drawn_at) < long_ago
        if row.answer in keys and (is_own or not is_late):
            rows.append(row)
            if is_own:
                own.append(row)
    return _CurrentRows(rows, own)


def _history(rows: Iterable[Row], own: Iterable[Row], kind: MarkKind) -> History:
    """The answers that people have had from a report; `own` are the rows of the person who is next."""
    values_by_answer: dict[str, dict[str, str]] = {}
    for row in rows:
        values = values_by_answer.setdefault(row.answer, {})
        person = _person(row.marker)
        # a person who is asked again keeps the first value until there is another
        values[person] = row.value or values.get(person, "")
    disputed = set()
    # the mean settles different marks, a third person different labels or readings
    if kind != "marks":
        for answer, values in values_by_answer.items():
            opinions = {*values.values()} - {"", CANNOT}
            if len(values) == 2 and len(opinions) == 2:
                disputed.add(answer)
    return History(
        persons={answer: frozenset(values) for answer, values in values_by_answer.items()},
        own=[(row.answer, row.round) for row in own],
        disputed=frozenset(disputed),
    )


class _MarkKey(NamedTuple):
    """The key of a mark within a report and kind of work."""

    answer: str
    marker: str
    round: int


def _mark_key(mark: Mark | Row) -> _MarkKey:
    return _MarkKey(mark.answer, mark.marker, mark.round)


def _rows_by_key(rows: Iterable[Row]) -> dict[_MarkKey, Row]:
    return {_mark_key(row): row for row in rows}


def _check_markers(markers: Collection[str]) -> None:
    if any(len(marker) > LONGEST_MARKER for marker in markers):
        raise MarkError("A marker's name has more than {} characters. Shorten it.", LONGEST_MARKER)
    if len(markers) > MOST_MARKERS:
        raise MarkError(
            "The report would have marks by {} people, and {} is the limit. Leave some out.",
            len(markers),
            MOST_MARKERS,
        )


def _check_imported(connection: Connection, owner: str, report: str) -> None:
    """Raises MarkError if files have too many marks, which rolls back this transaction."""
    imported = select(func.count()).where(MARK.c.owner == owner, MARK.c.seat_id.is_(None))
    problem = (
        "With this file, {} would have {} imported marks, and {} is the limit. Leave some out."
    )
    count = connection.scalar(imported.where(MARK.c.report == report)) or 0
    if count > MOST_IMPORTED:
        raise MarkError(problem, "this report", count, MOST_IMPORTED)
    count = connection.scalar(imported) or 0
    if count > MOST_OF_OWNER:
        raise MarkError(problem, "all of your reports", count, MOST_OF_OWNER)


def _mark_row(connection: Connection, seat: Seat, token: str) -> Row:
    """A seat's mark by its token. Raises MarkError for another seat's token."""
    query = _LATEST_MARKS.where(MARK.c.token == token, MARK.c.seat_id == seat.id)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise MarkError("This isn't one of your answers. Open the page again.")
    return row


def _next_value(mark: Row, entry: MarkEntry) -> dict[str, object]:
    """The row of MARK_VALUE for another value of a mark. Raises MarkError after MOST_VALUES.

    The last one can't be empty: the answer would stay the seat's open one, with no way to mark it.
    """
    number = mark.number or 0
    most = MOST_VALUES if entry.value else MOST_VALUES - 1
    if number >= most:
        raise MarkError(
            "You've changed this answer {} times, which is the limit. Your last choice stands.",
            number,
        )
    return {
        "mark_id": mark.id,
        "number": number + 1,
        "at": now(),
        "value": entry.value,
        "further": " ".join(entry.further),
        "note": entry.note,
    }


def _shown_answer(row: Row) -> ShownAnswer:
    return ShownAnswer(row.token, row.answer, row.round, row.value or "")


def _entry(row: Row) -> MarkEntry:
    return MarkEntry(row.value, tuple(row.further.split()), row.note)


def _mark(row: Row) -> Mark:
    is_from_file = row.seat_id is None
    # a clock may be set back
    seconds = 0.0 if is_from_file else max(0.0, (row.at - row.drawn_at).total_seconds())
    return Mark(
        report=row.report,
        answer=row.answer,
        item=row.item,
        stratum=row.stratum,
        marker=row.marker,
        round=row.round,
        entry=_entry(row),
        seconds=seconds,
        at=row.at,
        is_from_file=is_from_file,
    )


def _person(marker: str) -> str:
    """The person by the name in files; "" for a report's owner, whose name differs in each report.

    No other name is empty.
    """
    return "" if _OWNER_NAME.fullmatch(marker) else marker
