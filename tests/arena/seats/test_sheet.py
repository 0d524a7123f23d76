"""The pay sheet: every state with its proposal and reason, the platform's list, and text that no spreadsheet runs."""

import unicodedata
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.database import now
from arena.io.csv_text import safe_cell
from arena.io.strict_json import RowsError
from arena.io.tables import Record
from arena.seats.campaigns import Campaign
from arena.seats.participants import participant_sessions, participant_statuses
from arena.seats.seats import Seat, SeatEvent
from arena.seats.sheet import SeatWork, SheetRow, pay_rows, pay_sheet, seat_state
from arena.seats.spec import CampaignSpec, read_spec
from arena.seats.worker_names import is_name, tidy_name
from arena.sheets import as_csv

AT = now()
BEGAN = AT - timedelta(minutes=40)


def campaign(kind: str = "plain") -> Campaign:
    codes = (
        {"study": "s", "done": "C1DONE", "failed": "C1FAIL", "full": "C1FULL"}
        if kind == "prolific"
        else {}
    )
    spec = {
        "name": "toy",
        "seat": {"votes": 20, "minutes": 25, "pay": 5},
        "platform": {"kind": kind, **codes},
    }
    return Campaign(1, "toy", read_spec(CampaignSpec, spec), b"key", BEGAN, None, "")


def seat(
    kind: str = "plain", person: str = "ann", end: SeatEvent | None = "done", at: datetime = AT
) -> Seat:
    ended = at if end else None
    return Seat(
        id=7,
        campaign=campaign(kind),
        voter=3,
        person=person,
        session="sitting",
        reply_to="",
        code="PAY4TOY",
        arrived_at=BEGAN,
        confirmation="confirmed",
        is_qualified=True,
        end=end,
        ended_at=ended,
    )


def row(one: Seat, work: SeatWork | None = None, listed: dict[str, str] | None = None) -> SheetRow:
    work = work or SeatWork(votes=20, checks=2, last=AT)
    (found, *_) = pay_rows(one.campaign, [one], {one.id: work}, listed or {}, AT)
    return found


def test_who_gave_all_is_paid_and_the_row_says_what_for():
    found = row(seat(), SeatWork(20, 2, 1, AT, agreed=5, others=8))
    assert (found.proposal, found.why, found.state) == ("approve", "gave 20 of 20 votes", "done")
    assert (found.votes, found.votes_wanted, found.checks_failed, found.checks) == (20, 20, 1, 2)
    assert (found.minutes, found.pay, found.currency, found.pay_per_hour) == (40.0, 5.0, "USD", 7.5)
    assert (found.agreed_with_others, found.answers_of_others, found.code) == (5, 8, "PAY4TOY")


@pytest.mark.parametrize(
    ("opened", "last", "minutes", "per_hour"),
    [
        (timedelta(days=1), timedelta(minutes=40), 40.0, 7.5),
        (timedelta(days=1), timedelta(minutes=-5), 0.0, None),
        (timedelta(minutes=40), None, 40.0, 7.5),
    ],
)
def test_minutes_run_to_the_last_answer_not_to_the_last_page(opened, last, minutes, per_hour):
    """`opened`, `last`: after the beginning; a clock may have been set back meanwhile."""
    work = SeatWork(20, 2, last=None if last is None else BEGAN + last)
    found = row(seat(at=BEGAN + opened), work)
    assert (found.minutes, found.pay_per_hour) == (minutes, per_hour)


@pytest.mark.parametrize(
    ("kind", "end", "work", "status", "proposal", "why"),
    [
        ("prolific", "done", SeatWork(20, 2, 0, AT), "AWAITING REVIEW", "approve", "gave 20 of 20"),
        ("prolific", "full", SeatWork(9, 1, 0, AT), "AWAITING REVIEW", "approve", "gave 9 of 20"),
        ("prolific", "full", SeatWork(0, 1, 0, AT), "AWAITING REVIEW", "look", "gave 0 of 20"),
        (
            "prolific",
            "done",
            SeatWork(20, 2, skipped_checks=1),
            "AWAITING REVIEW",
            "approve",
            "gave 20 of 20",
        ),
        (
            "prolific",
            "done",
            SeatWork(20, 2, skipped_checks=2),
            "AWAITING REVIEW",
            "look",
            "skipped 2 checks",
        ),
        (
            "prolific",
            "done",
            SeatWork(20, 0, skipped_checks=1),
            "AWAITING REVIEW",
            "look",
            "skipped 1 check",
        ),
        (
            "prolific",
            "done",
            SeatWork(20, 2, hasty=11),
            "AWAITING REVIEW",
            "approve",
            "gave 20 of 20",
        ),
        (
            "prolific",
            "done",
            SeatWork(20, 2, hasty=12),
            "AWAITING REVIEW",
            "look",
            "gave 12 answers faster than",
        ),
        (
            "prolific",
            "failed",
            SeatWork(),
            "AWAITING REVIEW",
            "ask to return",
            "no reason to reject",
        ),
        ("mturk", "failed", SeatWork(), "Submitted", "approve", "no reason to reject"),
        ("login", "failed", SeatWork(), "", "look", "no reason to reject"),
        (
            "prolific",
            "withdrew",
            SeatWork(4, 0, 0, AT),
            "AWAITING REVIEW",
            "ask to return",
            "withdrew consent",
        ),
        ("prolific", None, SeatWork(4, 0, 0, AT), "ACTIVE", "wait", "gave 4 of 20 votes so far"),
        (
            "prolific",
            None,
            SeatWork(4, 0, 0, BEGAN),
            "ACTIVE",
            "ask to return",
            "gave 4 of 20 votes and stopped",
        ),
        (
            "prolific",
            None,
            SeatWork(4, 0, 0, BEGAN),
            "AWAITING REVIEW",
            "look",
            "gave 4 of 20 votes, but handed in",
        ),
        ("prolific", None, SeatWork(4, 0, 0, AT), "AWAITING REVIEW", "look", "but handed in"),
        (
            "prolific",
            "done",
            SeatWork(20, 2, 2, AT),
            "AWAITING REVIEW",
            "look",
            "failed 2 of 2 checks",
        ),
        (
            "prolific",
            "done",
            SeatWork(5, 1, 1, AT),
            "AWAITING REVIEW",
            "look",
            "failed 1 of 1 checks",
        ),
        ("prolific", "done", SeatWork(20, 2, 1, AT), "AWAITING REVIEW", "approve", "gave 20 of 20"),
        (
            "prolific",
            "done",
            SeatWork(20, flags=["chooses too fast"]),
            "APPROVED",
            "look",
            "chooses too fast",
        ),
        (
            "prolific",
            "done",
            SeatWork(20, agreed=0, others=9),
            "APPROVED",
            "approve",
            "gave 20 of 20",
        ),
        ("prolific", "done", SeatWork(20), "RETURNED", "none", "returned at the platform"),
    ],
)
def test_every_state_has_a_proposal_with_its_reason(kind, end, work, status, proposal, why):
    found = row(seat(kind, end=end), work, {"ann": status})
    assert found.proposal == proposal and why in found.why, found
    assert found.in_platform_list == "yes" and found.platform_status == status
    assert (found.pay > 0) == (
        proposal == "approve" or (proposal == "look" and end in ("done", "full"))
    )


def test_nobody_is_ever_to_be_rejected():
    for kind in ("plain", "login", "prolific", "mturk"):
        for end in ("done", "full", "failed", "withdrew", None):
            for listed in ({}, {"ann": "AWAITING REVIEW"}, {"bob": ""}):
                work = SeatWork(
                    3, 3, 3, BEGAN, 0, 9, ("chooses at random", "chooses faster than can be read")
                )
                assert "reject" not in row(seat(kind, end=end), work, listed).proposal


def test_who_is_not_in_the_platforms_list_is_paid_by_nobody():
    found = row(seat("prolific"), listed={"bob": "APPROVED"})
    assert (found.proposal, found.pay) == ("unknown to the platform: don't pay", 0.0)
    assert found.in_platform_list == "no"


def test_mturks_list_says_nothing_about_who_is_still_at_work():
    listed = {"bob": "Submitted"}
    assert row(seat("mturk", end=None), SeatWork(3, last=AT), listed).proposal == "wait"
    assert "don't pay" in row(seat("mturk"), listed=listed).proposal
    assert "don't pay" in row(seat("prolific", end=None), SeatWork(3, last=AT), listed).proposal


@pytest.mark.parametrize("end", ["done", "full", None])
@pytest.mark.parametrize("status", ["ACTIVE", "RESERVED", "active"])
def test_who_has_all_answers_and_has_not_handed_in_waits(end, status):
    found = row(seat("prolific", end=end), listed={"ann": status})
    assert (found.proposal, found.pay) == ("wait", 0.0)
    assert found.why == "gave 20 of 20 votes, but hasn't handed in"


def test_who_has_all_answers_and_is_not_in_mturks_list_may_still_hand_in():
    found = row(seat("mturk", end=None), listed={"bob": "Submitted"})
    assert (found.state, found.proposal, found.pay) == ("done", "wait", 0.0)


def test_without_the_list_nobody_of_a_platform_is_approved():
    found = row(seat("prolific"))
    assert (found.in_platform_list, found.proposal) == (
        "not uploaded",
        "look",
    ) and "upload" in found.why
    assert row(seat("plain")).proposal == "approve", "its links name their worker"
    assert row(seat("login")).proposal == "approve", "there is no list of who logs in"


def test_who_is_in_the_list_and_never_came_is_seen():
    """He may have handed in the code of somebody else: it is the same for all."""
    one = seat("prolific")
    found = pay_rows(
        one.campaign, [one], {}, {"ann": "", "eve": "AWAITING REVIEW", "joe": "RETURNED"}, AT
    )
    assert [(each.person, each.state, each.proposal, each.pay) for each in found[1:]] == [
        ("eve", "never came", "ask to return", 0.0),
        ("joe", "never came", "none", 0.0),
    ]


def test_a_seat_is_abandoned_after_its_minutes_without_an_answer():
    fresh = AT - timedelta(minutes=24)
    assert seat_state(seat(end=None), SeatWork(), AT) == "abandoned"
    assert seat_state(seat(end=None), SeatWork(last=fresh), AT) == "working"
    left = SeatWork(last=AT - timedelta(minutes=26))
    assert seat_state(seat(end=None), left, AT) == "abandoned"
    assert seat_state(seat(end="full"), SeatWork(), AT) == "full"


@pytest.mark.parametrize(
    ("kind", "listed"), [("plain", {}), ("login", {}), ("prolific", {"ann": "APPROVED"})]
)
def test_who_gave_all_and_closed_the_last_page_is_done(kind, listed):
    work = SeatWork(20, 2, last=AT - timedelta(minutes=30))
    found = row(seat(kind, end=None), work, listed)
    assert (found.state, found.proposal, found.pay) == ("done", "approve", 5.0)
    one_less = row(seat(kind, end=None), work._replace(votes=19), listed)
    assert (one_less.state, one_less.pay) == ("abandoned", 0.0)


@pytest.mark.parametrize(
    ("work", "state", "proposal", "pay"),
    [
        (SeatWork(9, last=AT - timedelta(minutes=34)), "full", "approve", 5.0),
        (SeatWork(9, last=AT - timedelta(minutes=36)), "abandoned", "ask to return", 0.0),
        (SeatWork(9, last=AT - timedelta(minutes=5)), "full", "approve", 5.0),
        (SeatWork(0, last=AT - timedelta(minutes=34)), "full", "look", 5.0),
        (SeatWork(0), "abandoned", "ask to return", 0.0),
        (SeatWork(20, last=AT - timedelta(minutes=36)), "done", "approve", 5.0),
    ],
)
def test_who_was_at_work_when_the_campaign_ended_is_paid_without_another_page(
    work, state, proposal, pay
):
    """It ended ten minutes ago; a question waits for 25."""
    one = seat(end=None)
    one = replace(one, campaign=replace(one.campaign, ended_at=AT - timedelta(minutes=10)))
    found = row(one, work)
    assert (found.state, found.proposal, found.pay) == (state, proposal, pay)


def test_no_spreadsheet_runs_what_a_worker_is_called():
    found = row(seat(person="@SUM(A1)"), listed={"@SUM(A1)": "=1+1"})
    text = as_csv(pay_sheet([found]))
    assert "'@SUM(A1)" in text and "'=1+1" in text


def test_the_lists_of_both_platforms_are_read():
    prolific = {
        "Submission id": "1",
        "Participant id": "5f",
        "Status": "APPROVED",
        "Completion code": "C1",
    }
    mturk = {"HITId": "3X", "WorkerId": "A2", "AssignmentStatus": "Submitted"}
    older = {"participant_id": "5e", "status": "RETURNED"}
    for values, expected in (
        (prolific, {"5f": "APPROVED"}),
        (mturk, {"A2": "Submitted"}),
        (older, {"5e": "RETURNED"}),
    ):
        assert participant_statuses([Record(2, values)]) == expected
    assert participant_statuses([Record(2, {"worker": " w1 "})]) == {"w1": ""}
    ours = [Record(2, {"worker": safe_cell("@ann"), "session": "s1"})]
    assert (participant_statuses(ours), participant_sessions(ours)) == (
        {"@ann": ""},
        {"@ann": ["s1"]},
    ), "our table of links"
    typed = [Record(2, {"worker": " Zoe\u0308\u00a0 Li "})]
    assert participant_statuses(typed) == {"Zoë Li": ""}, (
        "in the form in which the seat has the name"
    )


@pytest.mark.parametrize(
    ("statuses", "stands"),
    [
        (("Submitted", "Approved"), "Approved"),
        (("RETURNED", "APPROVED"), "APPROVED"),
        (("APPROVED", "RETURNED"), "APPROVED"),
        (("ACTIVE", "TIMED-OUT"), "ACTIVE"),
        (("REJECTED", "ACTIVE", "RETURNED"), "ACTIVE"),
        (("RETURNED", "REJECTED"), "REJECTED"),
    ],
)
def test_of_several_rows_the_one_that_came_furthest_stands(statuses, stands):
    """However the list is sorted; of equals the last."""
    rows = [Record(row, {"worker": "A2", "status": one}) for row, one in enumerate(statuses, 2)]
    assert participant_statuses(rows) == {"A2": stands}


@given(
    st.text(max_size=64).map(tidy_name).filter(is_name),
    st.sampled_from(["NFC", "NFD"]),
    st.booleans(),
)
def test_a_list_made_of_a_download_names_who_came(name, form, is_download):
    """A spreadsheet may write a name in another form, with the apostrophe that a download has, or without it."""
    cell = safe_cell(name) if is_download else name
    rows = [Record(2, {"worker": f" {unicodedata.normalize(form, cell)} "})]
    assert participant_statuses(rows) == {name: ""}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "The list has a header but no workers. Download it again"),
        (
            [Record(2, {"name": "x"})],
            "Expected Prolific's column 'Participant id', .* found 'name'. Upload",
        ),
        (
            [Record(2, {"WorkerId": "A2", "worker_id": "A3"})],
            "column 'WorkerId': Expected one such column, found 'WorkerId' and 'worker_id'. Delete one",
        ),
        (
            [Record(2, {"WorkerId": " "})],
            "row 2, column 'WorkerId'.* found an empty cell. Delete the row",
        ),
        (
            [Record(2, {"WorkerId": None})],
            "row 2, column 'WorkerId'.* found an empty cell. Delete the row",
        ),
        (
            [Record(2, {"worker": "w1", "status": " "})],
            "row 2, column 'status': Expected a status of Prolific or MTurk, .* found an empty cell. Write",
        ),
        (
            [Record(2, {"worker": "w1", "status": None})],
            "row 2, column 'status': .* found an empty cell. Write",
        ),
        (
            [Record(2, {"worker": "w1", "status": "fine"})],
            "row 2, column 'status': Expected a status of Prolific or MTurk, .* found 'fine'. Write",
        ),
    ],
)
def test_a_wrong_list_says_what_was_expected(rows, told):
    with pytest.raises(RowsError, match=told):
        participant_statuses(rows)
