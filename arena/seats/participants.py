"""Participants: the platform's own list of who took part, from a file that it gives its customers.

Prolific's comes from *Download demographic data* of a study, with `Submission id`, `Participant id` and `Status`.
MTurk's is a batch's results, with `AssignmentId`, `WorkerId` and `AssignmentStatus`. Any other table needs a column
`worker`, and may have `status` and `session`.

The list confirms workers who have handed in, and their votes count from then on. Workers still at work wait. Those who
gave the work back, were rejected or aren't on the list are rejected (`confirmation_of` has one exception).
"""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import AfterValidator

from arena.io.rows import FileRow, Heading, cell, rows_of, without_signs
from arena.io.strict_json import RowsError
from arena.io.tables import Record
from arena.seats.worker_names import tidy_name
from arena.types import Confirmation, grouped

GIVEN_BACK = frozenset({"returned", "timedout", "rejected", "screenedout"})
"""Statuses, in `plain_status` form, of workers who returned the work, ran out of time or were turned away."""
AT_WORK = frozenset({"active", "reserved"})
"""Statuses of workers who haven't handed in."""
_HANDED_IN = frozenset({"submitted", "awaitingreview", "approved", "partiallyapproved"})


def _is_status(text: str) -> bool:
    return plain_status(text) in GIVEN_BACK | AT_WORK | _HANDED_IN


class _Participant(FileRow):
    """A row of a platform's list, or of a table of links from here."""

    person: Annotated[
        str,
        AfterValidator(tidy_name),
        Heading(
            ("participantid", "workerid", "worker"),
            "Prolific's column 'Participant id', MTurk's 'WorkerId' or 'worker'",
            "Upload the file that the platform gave you.",
        ),
        cell("a worker's id", "Delete the row.", bool),
    ]
    status: Annotated[
        str,
        Heading(("status", "assignmentstatus")),
        cell(
            "a status of Prolific or MTurk, such as APPROVED, AWAITING REVIEW, RETURNED or Submitted",
            "Write APPROVED or REJECTED instead.",
            _is_status,
        ),
    ] = ""
    session: Annotated[str, Heading(("submissionid", "assignmentid", "session"))] = ""


def participant_statuses(records: Iterable[Record]) -> dict[str, str]:
    """Returns the status of each person in a platform's list, "" in a list without statuses. Raises RowsError.

    If a person has several rows, one that was handed in counts, or else one at work.
    """
    statuses: dict[str, str] = {}
    for _, row in rows_of(records, _Participant):
        earlier = statuses.get(row.person)
        if earlier is None or _progress(row.status) >= _progress(earlier):
            statuses[row.person] = row.status
    if not statuses:
        raise RowsError("The list has a header but no workers. Download it again.")
    return statuses


def participant_sessions(records: Iterable[Record]) -> dict[str, list[str]]:
    """Returns each person's sessions, one for each row; "" for a row without one. Raises RowsError."""
    return grouped((row.person, row.session) for _, row in rows_of(records, _Participant))


def plain_status(status: str) -> str:
    """Returns a status without case, signs and blanks."""
    return without_signs(status)


def _progress(status: str) -> int:
    """Returns a worker's progress: 0 for work given back, 1 at work, 2 handed in."""
    plain = plain_status(status)
    if plain in GIVEN_BACK:
        return 0
    if plain in AT_WORK:
        return 1
    return 2


def confirmation_of(
    person: str, current: Confirmation, has_ended: bool, platform: str, listed: Mapping[str, str]
) -> Confirmation:
    """Returns the confirmation that a platform's list gives a seat's worker.

    `current`: its confirmation so far; `has_ended`: whether the seat has ended; `listed`: the statuses by person.
    """
    if person not in listed:
        # MTurk's list only has workers who have handed in, so it says nothing about others at work.
        if platform == "mturk" and not has_ended:
            return current
        return "rejected"
    status = plain_status(listed[person])
    if status in AT_WORK:
        return "pending"
    return "rejected" if status in GIVEN_BACK else "confirmed"
