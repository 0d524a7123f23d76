"""Pay sheet: a row for each worker of a campaign, with a proposal and its reason. The sheet pays and refuses nobody.

No row says "reject": haste and disagreement are reasons to look, and the platforms refuse a rejection for a failed
comprehension check. Workers who are missing from the platform's own list are not paid. MTurk's list only has workers
who have handed in, so those at work wait.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from arena.seats.campaigns import Campaign
from arena.seats.participants import AT_WORK, GIVEN_BACK, plain_status
from arena.seats.seats import Seat
from arena.seats.spec import CampaignSpec
from arena.sheets import Sheet, record_sheet
from arena.templates import plural
from arena.types import Confirmation

SeatState = Literal["working", "abandoned", "done", "full", "failed", "withdrew"]
Proposal = Literal[
    "approve", "ask to return", "look", "wait", "none", "unknown to the platform: don't pay"
]
_AFTER_FAILURE: Mapping[str, Proposal] = {"prolific": "ask to return", "login": "look"}
"""The proposals after a failed qualification, by platform; "approve" on others.

Where people log in, an operator looks first, since one person may come with any number of accounts."""


class SeatWork(NamedTuple):
    """The work of a seat."""

    votes: int = 0
    checks: int = 0
    failed_checks: int = 0
    last: datetime | None = None
    """The time of the last answer, also in the qualification."""
    agreed: int = 0
    """The number of those of the `others` that agree with this seat's answers."""
    others: int = 0
    """The number of other workers' answers to the same pieces."""
    flags: Sequence[str] = ()
    """The reasons of its fraud flags, in words."""
    skipped_checks: int = 0
    hasty: int = 0
    """Answers, including those to checks, that came faster than anybody reads."""


class _ReasonedProposal(NamedTuple):
    """A proposal and its reason."""

    proposal: Proposal
    why: str


class SheetRow(NamedTuple):
    """A row of the sheet; its fields are the file's columns."""

    person: str
    session: str
    state: SeatState | Literal["never came"]
    in_platform_list: Literal["yes", "no", "not uploaded"]
    platform_status: str
    confirmation: Confirmation | Literal[""]
    """Votes count if it is "confirmed"."""
    votes: int
    votes_wanted: int
    minutes: float | None
    pay: float
    currency: str
    pay_per_hour: float | None
    checks_failed: int
    checks: int
    agreed_with_others: int
    answers_of_others: int
    flags: str
    code: str
    proposal: Proposal
    why: str


def seat_state(seat: Seat, work: SeatWork, at: datetime) -> SeatState:
    """Returns the state of a seat at a time.

    A seat with all its votes, or at work when its campaign ended, is *done* or *full* even if its worker never opened
    the last page. An *abandoned* one had no answer for the seat's minutes, but may still come back.
    """
    if seat.end is not None:
        # "qualified" is an event, but never an end.
        return seat.end if seat.end != "qualified" else "working"
    if work.votes >= seat.campaign.spec.seat.votes:
        return "done"
    limit = timedelta(minutes=seat.campaign.spec.seat.minutes)
    ended_at = seat.campaign.ended_at
    if work.last is not None and ended_at is not None and ended_at - work.last <= limit:
        return "full"
    active_at = seat.arrived_at if work.last is None else max(seat.arrived_at, work.last)
    return "abandoned" if at - active_at > limit else "working"


def pay_sheet(rows: Iterable[SheetRow]) -> Sheet:
    return record_sheet("sheet", "Pay sheet", SheetRow, rows)


def pay_rows(
    campaign: Campaign,
    seats: Sequence[Seat],
    work: Mapping[int, SeatWork],
    listed: Mapping[str, str],
    at: datetime,
) -> list[SheetRow]:
    """Returns the rows of a campaign's sheet; `listed`: the status of each person in the platform's list, if any."""
    rows = [_seat_row(seat, work.get(seat.id, SeatWork()), listed, at) for seat in seats]
    came = {seat.person for seat in seats}
    for person, status in listed.items():
        if person not in came:
            rows.append(_absent_row(campaign.spec, person, status))
    return rows


def _in_list(person: str, listed: Mapping[str, str]) -> Literal["yes", "no", "not uploaded"]:
    if not listed:
        return "not uploaded"
    return "yes" if person in listed else "no"


def _seat_row(seat: Seat, work: SeatWork, listed: Mapping[str, str], at: datetime) -> SheetRow:
    spec = seat.campaign.spec
    state = seat_state(seat, work, at)
    status = listed.get(seat.person, "")
    proposal, why = _proposal(seat, state, work, listed)
    end = work.last or seat.ended_at  # The last page may be opened much later than the last answer.
    minutes = None
    if end is not None:
        minutes = max(0.0, round((end - seat.arrived_at).total_seconds() / 60, 1))
    is_finished = state in ("done", "full")
    is_paid = proposal == "approve" or (proposal == "look" and is_finished)
    pay = spec.seat.pay if is_paid else 0.0
    return SheetRow(
        person=seat.person,
        session=seat.session,
        state=state,
        in_platform_list=_in_list(seat.person, listed),
        platform_status=status,
        confirmation=seat.confirmation,
        votes=work.votes,
        votes_wanted=spec.seat.votes,
        minutes=minutes,
        pay=pay,
        currency=spec.seat.currency,
        pay_per_hour=round(60 * pay / minutes, 2) if pay and minutes else None,
        checks_failed=work.failed_checks,
        checks=work.checks,
        agreed_with_others=work.agreed,
        answers_of_others=work.others,
        flags="; ".join(work.flags),
        code=seat.end_code,
        proposal=proposal,
        why=why,
    )


def _proposal(
    seat: Seat, state: SeatState, work: SeatWork, listed: Mapping[str, str]
) -> _ReasonedProposal:
    spec = seat.campaign.spec
    # MTurk's list only has workers who have handed in, so it says nothing about others at work.
    may_hand_in = spec.platform.kind == "mturk" and seat.end is None
    is_unlisted = bool(listed) and seat.person not in listed
    if is_unlisted and not may_hand_in:
        return _ReasonedProposal("unknown to the platform: don't pay", "not on the platform's list")
    status = listed.get(seat.person, "")
    if plain_status(status) in GIVEN_BACK:
        return _ReasonedProposal("none", f"{status.lower()} at the platform")
    if state in ("working", "abandoned", "withdrew"):
        return _unfinished_proposal(seat, state, work, status)
    if spec.platform.must_confirm and not listed:
        return _ReasonedProposal(
            "look", "upload the platform's list first: it says whom the platform pays"
        )
    if state == "failed":
        proposal = _AFTER_FAILURE.get(spec.platform.kind, "approve")
        return _ReasonedProposal(
            proposal, "didn't pass the qualification, which is no reason to reject"
        )
    if is_unlisted or plain_status(status) in AT_WORK:
        return _ReasonedProposal("wait", f"{_work_in_words(seat, work)}, but hasn't handed in")
    doubts = _doubts(spec, seat, work)
    if doubts:
        return _ReasonedProposal("look", "; ".join(doubts))
    return _ReasonedProposal("approve", _work_in_words(seat, work))


def _doubts(spec: CampaignSpec, seat: Seat, work: SeatWork) -> list[str]:
    """Returns the reasons to look at a seat before it is paid."""
    reasons = []
    # A short seat has only one check.
    if work.failed_checks and work.failed_checks >= min(spec.checks.fail, work.checks):
        reasons.append(f"failed {work.failed_checks} of {work.checks} checks")
    # Without an answered check, nothing else shows that the worker looked.
    suspicious_skips = spec.checks.fail if work.checks else 1
    if work.skipped_checks >= suspicious_skips:
        reasons.append(f"skipped {plural(work.skipped_checks, 'check')}")
    if not work.votes:
        reasons.append(_work_in_words(seat, work))
    if 2 * work.hasty > work.votes + work.checks:
        reasons.append(f"gave {plural(work.hasty, 'answer')} faster than anyone can read")
    return [*reasons, *work.flags]


def _unfinished_proposal(
    seat: Seat, state: SeatState, work: SeatWork, status: str
) -> _ReasonedProposal:
    """Returns the proposal for a worker who isn't done. `status`: the platform's."""
    work_in_words = _work_in_words(seat, work)
    if state == "withdrew":
        return _ReasonedProposal("ask to return", "withdrew consent")
    if status and plain_status(status) not in AT_WORK:
        return _ReasonedProposal("look", f"{work_in_words}, but handed in")
    if state == "working":
        return _ReasonedProposal("wait", f"{work_in_words} so far")
    return _ReasonedProposal("ask to return", f"{work_in_words} and stopped")


def _work_in_words(seat: Seat, work: SeatWork) -> str:
    return f"gave {work.votes} of {seat.campaign.spec.seat.votes} votes"


def _absent_row(spec: CampaignSpec, person: str, status: str) -> SheetRow:
    """Returns the row of a listed worker without a seat, who may have handed in somebody else's code."""
    has_handed_in = plain_status(status) not in GIVEN_BACK | AT_WORK
    if has_handed_in:
        proposal = _ReasonedProposal("ask to return", "never opened a link to this campaign")
    else:
        proposal = _ReasonedProposal("none", f"{status.lower()} at the platform")
    return SheetRow(
        person=person,
        session="",
        state="never came",
        in_platform_list="yes",
        platform_status=status,
        confirmation="",
        votes=0,
        votes_wanted=spec.seat.votes,
        minutes=None,
        pay=0.0,
        currency=spec.seat.currency,
        pay_per_hour=None,
        checks_failed=0,
        checks=0,
        agreed_with_others=0,
        answers_of_others=0,
        flags="",
        code="",
        proposal=proposal.proposal,
        why=proposal.why,
    )
