"""What an owner sees of a project: where its items are, its yield, minutes, what each person gave and is paid."""

import csv
import io
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from arena.authoring.board import (
    agreement,
    family_rows,
    person_rows,
    seat_work,
    step_minutes,
    step_seconds,
    yield_table,
)
from arena.authoring.checks import DraftError
from arena.authoring.tables import DRAFT_EVENT
from arena.database import now
from arena.seats.sheet import pay_rows, pay_sheet
from arena.sheets import as_csv
from tests.support.writers import Project

FAMILIES = [{"name": "animals", "wanted": 3}, {"name": "food", "wanted": 1}]


@pytest.fixture
def project(database, tmp_path) -> Project:
    """An item accepted, one rejected after two captions and one in its place; every step took six minutes."""
    project = Project.on(database, tmp_path, families=FAMILIES)
    for person in ("ann", "bob", "cem", "dot"):
        project.do(project.seat(person))
    for person, said in zip(
        ("eve", "fay", "gus", "hal", "ida", "jan", "kim"), "   c  c", strict=True
    ):
        project.do(project.seat(person), {"c": "caption"}.get(said, "correct"))
    project.do(project.seat("dot"))
    with database.write() as connection:
        for row in connection.execute(select(DRAFT_EVENT)).all():
            mine = update(DRAFT_EVENT).where(DRAFT_EVENT.c.id == row.id)
            connection.execute(mine.values(began_at=row.at - timedelta(minutes=6)))
    return project


def test_each_family_has_its_items_by_where_they_stand(project):
    rows = family_rows(project.drafts, project.campaign.spec)
    assert [(row.family, row.wanted, row.accepted, row.caption, row.rejected) for row in rows] == [
        ("animals", 3, 1, 0, 0),
        ("food", 1, 0, 1, 1),
    ]


def test_the_yield_is_that_of_first_judgements_of_which_the_paper_had_no_others(project):
    rows = {row.metric: row.single for row in yield_table(project.drafts)}
    assert [(rows[name].hits, rows[name].n) for name in ("correct", "caption", "answer")] == [
        (1, 2),
        (1, 2),
        (0, 2),
    ]
    assert all(row.multi.n == 0 for row in yield_table(project.drafts))


def test_minutes_are_those_of_each_step(project):
    found = {row.kind: (row.number, row.median, row.total) for row in step_minutes(project.drafts)}
    assert found == {
        "instruction": (3, 6.0, 18.0),
        "caption": (3, 6.0, 18.0),
        "answer": (3, 6.0, 18.0),
        "verdict": (3, 6.0, 18.0),
    }


def test_a_steps_usual_time_is_told_of_enough_steps(project, monkeypatch):
    """Captions, which took nine minutes, count by how many there are."""
    with project.database.write() as connection:
        captions = select(DRAFT_EVENT).where(DRAFT_EVENT.c.kind == "caption")
        for row in connection.execute(captions).all():
            mine = update(DRAFT_EVENT).where(DRAFT_EVENT.c.id == row.id)
            connection.execute(mine.values(began_at=row.at - timedelta(minutes=9)))
    numbers = {kind.kind: kind.number for kind in step_minutes(project.drafts)}
    steps = sum(numbers.values())
    assert step_seconds(project.drafts) is None
    monkeypatch.setattr("arena.authoring.board.FEWEST_TIMED", steps)
    seconds = (360 * (steps - numbers["caption"]) + 540 * numbers["caption"]) / steps
    assert step_seconds(project.drafts) == pytest.approx(seconds)
    votes = project.campaign.spec.seat.votes
    assert project.writing.whole_seconds(project.campaign) == pytest.approx(seconds * votes)
    monkeypatch.setattr("arena.authoring.board.FEWEST_TIMED", steps + 1)
    assert step_seconds(project.drafts) is None


def test_what_each_person_wrote_is_accepted_with_its_item(project):
    rows = {
        row.person: row for row in person_rows(project.drafts, project.seats.all(project.campaign))
    }
    assert [(rows[who].accepted.hits, rows[who].accepted.n) for who in ("ann", "bob", "cem")] == [
        (1, 1)
    ] * 3
    assert [(rows[who].accepted.hits, rows[who].accepted.n) for who in ("eve", "fay", "ida")] == [
        (0, 1)
    ] * 3
    assert (rows["dot"].instructions, rows["dot"].verdicts, rows["dot"].accepted.n) == (1, 1, 0), (
        "one is not decided"
    )
    assert rows["dot"].minutes == 12.0


def test_the_pay_sheet_has_what_each_seat_gave(database, tmp_path):
    project = Project.on(database, tmp_path, seat={"votes": 1, "pay": 3})
    seats = [project.seat(person) for person in ("ann", "bob", "cem")]
    for seat in seats[:2]:
        project.do(seat)
        project.seats.add_event(seat, "done")
    found = project.seats.all(project.campaign)
    sheet = pay_rows(project.campaign, found, seat_work(project.drafts, found), {}, now())
    assert [(row.person, row.votes, row.pay, row.proposal) for row in sheet] == [
        ("ann", 1, 3.0, "approve"),
        ("bob", 1, 3.0, "approve"),
        ("cem", 0, 0.0, "wait"),
    ]
    assert len(list(csv.DictReader(io.StringIO(as_csv(pay_sheet(sheet)))))) == 3


def test_three_verifiers_agreement_is_told(database, tmp_path):
    project = Project.on(
        database, tmp_path, verifiers=3, families=[{"name": "animals", "wanted": 1}]
    )
    people = [project.seat(person) for person in "abcdef"]
    for seat, said in zip(people, ["", "", "", "correct", "answer", "correct"], strict=True):
        project.do(seat, said)
    assert project.drafts[0].state.step == "accepted"
    assert agreement(project.drafts) == pytest.approx(1 / 3)
    rows = person_rows(project.drafts, people)
    assert [(row.agreed, row.others) for row in rows[3:]] == [(1, 2), (0, 2), (1, 2)]
    work = seat_work(project.drafts, people)
    assert (work[people[3].id].agreed, work[people[3].id].others) == (1, 2)


def test_an_item_whose_licence_is_withdrawn_is_taken_out_and_kept(project):
    accepted = next(draft for draft in project.drafts if draft.state.step == "accepted")
    project.projects.reject(
        project.campaign, accepted.id, "picture", "the photographer withdrew the licence"
    )
    found = project.store.find(project.campaign, accepted.id)
    assert (found.state.step, found.state.fault) == ("rejected", "picture") and found.state.answer
    with pytest.raises(DraftError, match=f"no item {accepted.id} in pets that can be removed"):
        project.projects.reject(project.campaign, accepted.id, "picture", "again")
    with pytest.raises(DraftError, match="no item 999 in pets"):
        project.projects.reject(project.campaign, 999, "picture", "")
