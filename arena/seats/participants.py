"""Participants: the platform's own list of who took part, out of the file that it gives its customers.

Prolific: *Download demographic data* of a study, with `Submission id`, `Participant id` and `Status`. MTurk: a batch's
results, with `AssignmentId`, `WorkerId` and `AssignmentStatus`. Any other table with `worker` and, if there are such,
`status` and `session`. Being in it confirms a worker, whose votes count from then on; who gave the work back, was
rejected or is not in it is rejected.
"""

import re
from collections.abc import Iterable, Mapping

from arena.io.strict_json import RowsError
from arena.io.tables import Record
from arena.seats.worker_names import listed_name
from arena.types import Confirmation, grouped

_PERSON = ("participantid", "workerid", "worker")
_STATUS = ("status", "assignmentstatus")
_SESSION = ("submissionid", "assignmentid", "session")
_BETWEEN = re.compile(r"[^a-z0-9]+")
GIVEN_BACK = frozenset({"returned", "timedout", "rejected", "screenedout"})
"""Statuses, without signs and blanks, of who is not waiting to be paid: Prolific's and MTurk's."""
AT_WORK = frozenset({"active", "reserved"})
_HANDED_IN = frozenset({"submitted", "awaitingreview", "approved", "partiallyapproved"})


def listed_participants(records: Iterable[Record]) -> dict[str, str]:
    """Each person of a platform's list with the status that it gives, "" in a list without statuses. Raises RowsError.

    Of several rows of a person, in whatever order, one that was handed in stands, else one that is at work.
    """
    found: dict[str, str] = {}
    for row, values in records:
        column = column_named(values, _PERSON)
        if column is None:
            there = ", ".join(map(repr, values))
            raise RowsError(
                f"expected Prolific's column 'Participant id', MTurk's 'WorkerId' or 'worker', found {there}; upload "
                "the file that the platform gave you",
                row=row,
            )
        person = _person(values, column)
        status = column_named(values, _STATUS)
        if not person:
            raise RowsError(
                "expected a worker's id, found an empty cell; delete the row",
                row=row,
                column=column,
            )
        given = _text(values, status)
        if status and plain_status(given) not in GIVEN_BACK | AT_WORK | _HANDED_IN:
            raise RowsError(
                f"expected a status of Prolific or MTurk, such as APPROVED, AWAITING REVIEW, RETURNED or Submitted, "
                f"found {given[:80]!r}; write APPROVED or REJECTED instead",
                row=row,
                column=status,
            )
        if person not in found or _progress(given) >= _progress(found[person]):
            found[person] = given
    if not found:
        raise RowsError(
            "expected a row for each worker, found a header alone; download the list anew"
        )
    return found


def listed_sessions(records: Iterable[Record]) -> dict[str, list[str]]:
    """The sitting in each of a person's rows, by person; "" where the row tells none."""
    found: dict[str, list[str]] = {}
    for _, values in records:
        person = column_named(values, _PERSON)
        session = column_named(values, _SESSION)
        if person:
            found.setdefault(_person(values, person), []).append(_text(values, session))
    return found


def plain_status(status: str) -> str:
    """A status without case, signs and blanks."""
    return _BETWEEN.sub("", status.lower())


def _progress(status: str) -> int:
    """How far a worker came: gave the work back, is at it, or handed it in."""
    plain = plain_status(status)
    return 0 if plain in GIVEN_BACK else 1 if plain in AT_WORK else 2


def confirmation_of(
    person: str, known: Confirmation, has_ended: bool, platform: str, listed: Mapping[str, str]
) -> Confirmation:
    """What a platform's list says of a seat's worker; `known`: what was known before.

    MTurk's names those alone who have handed in: of others at work it says nothing.
    """
    if person not in listed:
        return known if platform == "mturk" and not has_ended else "rejected"
    status = plain_status(listed[person])
    if status in AT_WORK:
        return "pending"
    return "rejected" if status in GIVEN_BACK else "confirmed"


def _person(values: Mapping[str, object], column: str) -> str:
    """Who a row is of, also in a table of links or a pay sheet from here."""
    return listed_name(_text(values, column))


def _text(values: Mapping[str, object], column: str | None) -> str:
    """A cell without blanks around; "" for an empty one, and where there is no such column."""
    cell = values[column] if column else None
    return "" if cell is None else str(cell).strip()


def column_named(values: Mapping[str, object], wanted: tuple[str, ...]) -> str | None:
    """The first of the wanted columns that there is, in any spelling of case and signs. Raises RowsError for two."""
    plain = grouped((_BETWEEN.sub("", name.lower()), name) for name in values)
    named = next((plain[name] for name in wanted if name in plain), [])
    if len(named) > 1:
        found = " and ".join(map(repr, named))
        raise RowsError(f"expected one such column, found {found}; delete one", column=named[0])
    return named[0] if named else None
