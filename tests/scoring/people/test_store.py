"""Marks in the database: blind draws, taking back, races, withdrawn consent, files, deleted reports, other reports."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy import func, select

from arena.database import now
from arena.seats.seats import SeatStore
from scoring.jobs.store import JOB, Jobs
from scoring.people import store
from scoring.people.error_shares import merge_labels
from scoring.people.imports import import_labels, import_marks, judged_by_item, marks_csv
from scoring.people.label_files import labels_csv
from scoring.people.labels import label_results
from scoring.people.marking import answers_for
from scoring.people.marks import mark_results
from scoring.people.spec import MarkKind
from scoring.people.store import (
    LONGEST_NOTE,
    MARK,
    MARK_VALUE,
    MOST_MARKERS,
    MOST_VALUES,
    MarkEntry,
    MarkError,
)
from scoring.report import Report, answer_digest
from tests.support.marked_reports import OWNER, MarkedReport
from tests.support.mm_vet_reports import mm_vet_report


@pytest.fixture
def marked(database) -> MarkedReport:
    return MarkedReport.on(database)


@pytest.mark.locks_or_dialect
def test_an_answer_stays_until_it_is_marked_and_comes_back_when_that_is_taken_back(marked):
    seat = marked.seat()
    first = marked.marking.draw(seat)
    assert marked.marking.draw(seat) == first
    marked.marking.store.enter(seat, first[0].token, MarkEntry("7"))
    second = marked.marking.draw(seat)
    assert second[0].token != first[0].token
    assert marked.marking.store.last(seat).token == first[0].token
    for _ in range(2):  # sent once more where the answer was lost
        marked.marking.store.enter(seat, first[0].token, MarkEntry(""))
    assert marked.marking.draw(seat)[0].token == first[0].token and marked.marks() == []
    marked.marking.store.enter(seat, first[0].token, MarkEntry("3"))
    assert [mark.score for mark in marked.marks()] == [0.3]
    with marked.database.read() as connection:
        told = (
            connection.execute(select(MARK_VALUE.c.value).order_by(MARK_VALUE.c.number))
            .scalars()
            .all()
        )
    assert told == ["7", "", "3"], "what was said before stays in the table"


@pytest.mark.locks_or_dialect
def test_marks_of_others_cannot_be_touched(marked):
    mine, other = marked.seat(), marked.seat("helper-1")
    (token,) = marked.mark(mine, "5")
    with pytest.raises(MarkError, match="isn't one of your answers"):
        marked.marking.store.enter(other, token, MarkEntry("0"))
    with pytest.raises(MarkError, match="isn't one of your answers"):
        marked.marking.store.find(other, "x")
    shown = marked.marking.draw(other)[0]
    with pytest.raises(MarkError, match="nothing to take back"):
        marked.marking.store.enter(other, shown.token, MarkEntry(""))
    for number in range(MOST_VALUES - 1):
        marked.marking.store.enter(mine, token, MarkEntry(str(number % 10)))
    with pytest.raises(MarkError, match="changed this answer 20 times"):
        marked.marking.store.enter(mine, token, MarkEntry("10"))


def test_the_last_change_of_a_mark_leaves_no_answer_that_stays_open_for_good(marked):
    seat = marked.seat()
    (token,) = marked.mark(seat, "5")
    for number in range(1, MOST_VALUES - 2):
        marked.marking.store.enter(seat, token, MarkEntry("" if number % 2 else "5"))
    marked.marking.store.enter(seat, token, MarkEntry("6"))
    with pytest.raises(MarkError, match="changed this answer 19 times"):
        marked.marking.store.enter(seat, token, MarkEntry(""))
    assert marked.marking.draw(seat)[0].token != token
    assert [mark.score for mark in marked.marks()] == [0.6]


@pytest.mark.locks_or_dialect
def test_racing_pages_of_one_person_and_of_many_share_no_answer_by_chance(marked):
    seats = [marked.seat(f"helper-{number}") for number in range(4)]
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda number: marked.marking.draw(seats[number % 4])[0], range(32)))
    assert {
        number: len({one.token for one in drawn[number::4]}) for number in range(4)
    } == dict.fromkeys(range(4), 1)
    plan = {one.key: one for one in marked.marking.material("marks", marked.job.link).plan}
    answers = [one.answer for one in {one.token: one for one in drawn}.values()]
    assert all(answers.count(one) <= 1 + plan[one].is_shared for one in answers)


@pytest.mark.locks_or_dialect
def test_what_a_person_said_who_took_consent_back_counts_no_more(marked):
    gone, stays = marked.seat("helper-1"), marked.seat("helper-2")
    marked.mark(gone, "1", 4)
    marked.mark(stays, "9", 4)
    SeatStore(marked.database).add_event(gone, "withdrew")
    assert {mark.marker for mark in marked.marks()} == {stays.person}


@pytest.mark.parametrize("named", [store.MOST_IN_QUERY, 0])
def test_a_report_of_the_same_answers_has_the_marks_too_and_others_have_not(
    marked, monkeypatch, named
):
    monkeypatch.setattr(store, "MOST_IN_QUERY", named)
    marked.mark(marked.seat(), "6", 5)
    again = mm_vet_report(0.3)
    jobs = Jobs(marked.database)
    same, other = jobs.add_done(OWNER, again), jobs.add_done("eve", again)
    assert mark_results(marked.marking, same, again).marked == 5
    assert mark_results(marked.marking, other, again).marked == 0, (
        "another owner's marks are the other's"
    )
    changed = replace(
        again, rows=tuple(replace(row, prediction=f"{row.prediction}!") for row in again.rows)
    )
    assert mark_results(marked.marking, jobs.add_done(OWNER, changed), changed).marked == 0


@pytest.mark.locks_or_dialect
def test_a_deleted_report_leaves_its_marks_unless_its_owner_says_so(marked):
    seat = marked.seat()
    marked.mark(seat, "6", 3)
    report, jobs = mm_vet_report(), Jobs(marked.database)
    jobs.delete(OWNER, marked.job.link)
    assert marked.marking.draw(seat) is None
    job = jobs.add_done(OWNER, report)
    assert mark_results(marked.marking, job, report).marked == 3
    fresh = MarkedReport(marked.database, marked.marking, job)
    fresh.mark(fresh.seat(), "2", 2)
    with pytest.raises(MarkError, match="no such report of yours"):
        marked.marking.drop("eve", job.link)
    marked.marking.drop(OWNER, job.link)
    with marked.database.read() as connection:
        assert connection.scalar(select(func.count()).select_from(MARK)) == 3


def test_where_two_labels_differ_a_third_person_is_asked(database, monkeypatch):
    # a fifth of forty drawn by lot may be one or none
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 0.5)
    marked = MarkedReport.on(database, mm_vet_report(0.1))

    def label_all(person: str, first: str = "perception") -> list[str]:
        """The answers that a person is shown, of which the first finds another kind than all others."""
        seat, shown = marked.seat(person, "labels"), []
        while drawn := marked.marking.draw(seat):
            shown.append(drawn[0].answer)
            marked.marking.store.enter(
                seat, drawn[0].token, MarkEntry(first if shown[0] == shown[-1] else "perception")
            )
        return list(dict.fromkeys(shown))

    label_all("helper-1")
    shared = label_all("helper-2", first="reasoning")
    assert len(shared) > 1
    assert label_all("helper-3") == shared[:1]
    assert label_all("helper-4") == []


def test_labels_that_differ_stay_disputed_while_one_is_asked_for_again():
    first = SimpleNamespace(answer="a", marker="ada", round=1, value="perception")
    second = SimpleNamespace(answer="a", marker="bob", round=1, value="reasoning")
    is_open = SimpleNamespace(answer="a", marker="bob", round=2, value=None)
    history = store._history([first, second, is_open], [second, is_open], "labels")
    assert history.disputed == {"a"} and history.persons == {"a": {"ada", "bob"}}


@pytest.mark.locks_or_dialect
def test_of_two_labels_the_one_chosen_last_counts_whoever_was_asked_first(marked, monkeypatch):
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 1)
    first = marked.seat("helper-1", "labels")
    (token,) = marked.mark(first, "perception")
    marked.mark(marked.seat("helper-2", "labels"), "reasoning")
    marked.marking.store.enter(first, token, MarkEntry("knowledge"))
    results = label_results(marked.marking, marked.job, mm_vet_report())
    assert results and [label.main for label in results.labels] == ["reasoning", "knowledge"]
    assert [label.main for label in merge_labels(results.labels)] == ["knowledge"]


@pytest.mark.locks_or_dialect
def test_who_had_ended_begins_anew_after_the_owner_deleted_what_was_said(marked):
    seats = SeatStore(marked.database)
    ended, left = marked.seat(), marked.seat("helper-1")
    for seat, end in ((ended, "done"), (left, "withdrew")):
        marked.mark(seat, "5", 2)
        seats.add_event(seat, end)
    marked.marking.drop(OWNER, marked.job.link)
    assert [seats.find(seat.campaign, seat.token).end for seat in (ended, left)] == [
        None,
        "withdrew",
    ]
    marked.mark(marked.seat(), "6", 2)
    assert [mark.score for mark in marked.marks()] == [0.6, 0.6]


def test_marks_go_out_as_a_file_and_come_back_in(marked, tmp_path):
    seat = marked.seat()
    marked.mark(seat, "7", 12)
    marked.mark(seat, "cannot", 1)
    report = mm_vet_report()
    own = mark_results(marked.marking, marked.job, report)
    said = {mark.answer for mark in marked.marks() if mark.entry.value == "7"}
    assert (own.marked, own.cannot) == (len(said), 1) and own.calibration.answers == len(said)
    judged, keys = judged_by_item(report)
    text = marks_csv(marked.marks(), {keys[id]: one.digest for id, one in judged.answers.items()})
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 13 and {row["score"] for row in rows} == {"0.7", "cannot"}
    path = tmp_path / "marks.csv"
    path.write_text(text, "utf-8")
    job = Jobs(marked.database).add_done("eve", report)
    count, problems = import_marks(marked.marking, job, report, path)
    assert count == 12 and problems == ("row 14 left out: it could not be judged",)
    assert import_marks(marked.marking, job, report, path)[0] == 0, (
        "the same file twice adds nothing"
    )
    results = mark_results(marked.marking, job, report)
    assert (
        results.marked == len({row["item"] for row in rows if row["score"] == "0.7"})
        and not results.is_random
    )


def test_wrong_rows_are_named_and_no_other_is_lost(marked, tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text(
        "item,marker,score,prediction_sha256\nv1_1,a,0.35,\nv1_999,a,0.5,\nv1_2,a,0.5,\nv1_2,a,0.6,\nv1_3,a,1,00\n"
    )
    count, problems = import_marks(marked.marking, marked.job, mm_vet_report(), path)
    assert count == 1
    assert problems == (
        "row 2 left out: score: expected 0, 0.1, ... or 1, found '0.35'",
        "row 3 left out: no such answer was judged",
        "row 5 left out: this person marked this answer in a row before",
        "row 6 left out: the mark is of another answer: prediction_sha256 differs",
    )


def test_a_person_whose_name_a_spreadsheet_would_run_stays_one_person(marked, tmp_path):
    path, report = tmp_path / "marks.csv", mm_vet_report()
    path.write_text("item,marker,score\nv1_1,@ann,0.5\nv1_2,-ben,0.4\n", "utf-8")
    assert import_marks(marked.marking, marked.job, report, path)[0] == 2
    path.write_text(marks_csv(marked.marks(), {}), "utf-8")
    assert "'@ann" in path.read_text("utf-8")
    assert import_marks(marked.marking, marked.job, report, path) == (0, ())
    assert {mark.marker for mark in marked.marks()} == {"@ann", "-ben"}


def test_what_people_noted_of_their_marks_comes_back_too(marked, tmp_path):
    path, report = tmp_path / "marks.csv", mm_vet_report()
    path.write_text(
        f"item,marker,score,note\nv1_1,ann,0.5,-2 for the units\nv1_2,ann,0.4,{'x' * 300}\n",
        "utf-8",
    )
    import_marks(marked.marking, marked.job, report, path)
    path.write_text(marks_csv(marked.marks(), {}), "utf-8")
    assert import_marks(marked.marking, marked.job, report, path) == (0, ())
    assert [mark.entry.note for mark in marked.marks()] == ["-2 for the units", "x" * LONGEST_NOTE]


def test_a_round_that_there_is_not_is_named_and_a_person_without_a_name_is_unnamed(
    marked, tmp_path
):
    path = tmp_path / "marks.jsonl"
    rows = [
        {"round": 2.0, "marker": "a"},
        {"round": "third", "marker": "a"},
        {"round": 3, "marker": "a"},
        {"round": 2, "marker": None},
    ]
    path.write_text(
        "\n".join(json.dumps({"item": "v1_1", "score": 0.5, **row}) for row in rows), "utf-8"
    )
    count, problems = import_marks(marked.marking, marked.job, mm_vet_report(), path)
    assert problems == (
        "rows 2, 3 left out: round: expected 1, or 2 for the same person's second mark, found 'third' and others",
    )
    marks = [(mark.marker, mark.round) for mark in marked.marks()]
    assert count == 2 and marks == [("a", 2), ("unnamed", 2)]


def test_marks_calibrate_the_judge(marked):
    report = mm_vet_report()
    for name in ("owner", "helper-1"):
        seat = marked.seat(name)
        while (drawn := marked.marking.draw(seat)) is not None:
            shown, answer = drawn
            value = (
                max(0, round(10 * answer.score) - 1)
                if name == "owner"
                else round(10 * answer.score)
            )
            marked.marking.store.enter(seat, shown.token, MarkEntry(str(value)))
    found = mark_results(marked.marking, marked.job, report)
    assert found.marked == 60 and found.is_random and found.calibration
    (judge,) = found.calibration.judges
    assert 0.05 < judge.measures.delta < 0.12 and judge.measures.bias > 0.05
    assert found.calibration.people
    again = sum(mark.round == 2 for mark in marked.marks())
    assert (again < 3) == (found.calibration.repeated is None)
    assert found.calibration.repeated is None or found.calibration.repeated.delta == 0
    assert judge.mean and judge.mean.corrected.half_width == 0, (
        "every answer is marked: nothing is left to chance"
    )


def test_a_judge_that_scored_nothing_does_not_hide_the_calibration_of_others(marked):
    report = mm_vet_report()
    rows = tuple(
        replace(row, grades=tuple(replace(grade, score=None) for grade in row.grades))
        for row in report.rows
    )
    unread = replace(report, rows=rows, judge=replace(report.judge, model="weak judge"))
    Jobs(marked.database).add_done(OWNER, unread)
    marked.mark(marked.seat(), "5", 12)
    found = mark_results(marked.marking, marked.job, report)
    assert found.calibration
    assert [judge.name for judge in found.calibration.judges] == [found.judge]


def test_labels_go_out_as_a_file_and_come_back_in(marked, tmp_path):
    seat, report = marked.seat(kind="labels"), mm_vet_report()
    for kind in ("perception", "reasoning", "right"):
        shown, _ = marked.marking.draw(seat)
        marked.marking.store.enter(seat, shown.token, MarkEntry(kind, ("refuse",), "so"))
    results = label_results(marked.marking, marked.job, report)
    assert results and results.shares.labelled == 3
    answers = {one.id: answer_digest(one.answer) for one in answers_for("labels", report)}
    path = tmp_path / "labels.csv"
    path.write_text(labels_csv(results.labels, answers) + "v1_999,,,a,1,refuse,,\n", "utf-8")
    job = Jobs(marked.database).add_done("eve", report)
    count, problems = import_labels(marked.marking, job, report, path)
    assert count == 3 and problems == ("row 5 left out: it isn't one of this file's wrong answers",)
    again = label_results(marked.marking, job, report)
    assert again and [one[3:7] for one in again.labels] == [one[3:7] for one in results.labels]


def test_a_report_that_cannot_be_read_any_more_spoils_no_other(marked):
    own_seat = marked.seat(kind="labels")
    shown, _ = marked.marking.draw(own_seat)
    marked.marking.store.enter(own_seat, shown.token, MarkEntry("reasoning"))
    old = Jobs(marked.database).add_done(OWNER, mm_vet_report(title="Old"))
    with marked.database.write() as connection:
        connection.execute(JOB.update().where(JOB.c.link == old.link).values(report="{}"))
    results = label_results(marked.marking, marked.job, mm_vet_report())
    assert results and results.shares.labelled == 1 and not results.comparisons
    assert mark_results(marked.marking, marked.job, mm_vet_report())
    with pytest.raises(MarkError, match="nothing to rate"):
        marked.marking.open(OWNER, old.link, "marks")


def test_two_models_differ_by_what_people_would_give(marked):
    rows = tuple(replace(row, prediction=f"{row.prediction}!") for row in mm_vet_report().rows)
    better = mm_vet_report(title="Better", rows=rows)
    other = MarkedReport(
        marked.database, marked.marking, Jobs(marked.database).add_done(OWNER, better)
    )
    for one, value in ((marked, "4"), (other, "7")):
        seat = one.seat()
        while one.marking.draw(seat) is not None:
            one.mark(seat, value)
    found = mark_results(marked.marking, marked.job, mm_vet_report()).differences
    assert set(found) == {"Better"} and found["Better"].corrected.value == pytest.approx(0.3)
    assert found["Better"].judge == pytest.approx(0)


@pytest.mark.locks_or_dialect
def test_marks_that_a_file_brings_back_stop_no_person_who_goes_on(marked, tmp_path):
    path, (owner, helper) = tmp_path / "marks.csv", (marked.seat(), marked.seat("helper-1"))
    marked.mark(helper, "5", 8)
    marked.mark(owner, "4", 10)
    path.write_text(marks_csv(marked.marks(), {}), "utf-8")
    marked.marking.drop(OWNER, marked.job.link)
    brought, _ = import_marks(marked.marking, marked.job, mm_vet_report(), path)
    for seat in (owner, helper):
        while marked.marking.draw(seat) is not None:
            marked.mark(seat, "6")
    assert brought == 18 and len({mark.answer for mark in marked.marks()}) == 60


def test_answers_of_who_took_consent_back_are_shown_to_others(marked):
    gone, stays = marked.seat("helper-1"), marked.seat()
    marked.mark(gone, "5", 30)
    SeatStore(marked.database).add_event(gone, "withdrew")
    while marked.marking.draw(stays) is not None:
        marked.mark(stays, "4")
    assert len({mark.answer for mark in marked.marks()}) == 60


def test_one_person_under_two_reports_does_not_agree_with_somebody_else(marked, tmp_path):
    marked.mark(marked.seat(), "5", 30)
    report = mm_vet_report(0.3)
    again = MarkedReport(
        marked.database, marked.marking, Jobs(marked.database).add_done(OWNER, report)
    )
    path = tmp_path / "marks.csv"
    path.write_text(marks_csv(marked.marks(), {}), "utf-8")
    import_marks(marked.marking, again.job, report, path)
    again.mark(again.seat(), "7", 30)
    found = mark_results(marked.marking, again.job, report)
    assert found.marked > 30 and found.calibration and found.calibration.people is None


def test_what_a_person_said_last_counts_whichever_report_was_marked_first(marked):
    first_tokens = marked.mark(marked.seat(), "5", 30)
    jobs = Jobs(marked.database)
    again = MarkedReport(marked.database, marked.marking, jobs.add_done(OWNER, mm_vet_report(0.3)))
    again.mark(again.seat(), "7", 30)
    seat = marked.seat()
    for token in first_tokens:
        marked.marking.store.enter(seat, token, MarkEntry("2"))
    answers = {marked.marking.store.find(seat, token).answer for token in first_tokens}
    scores = {mark.score for mark in marked.marks() if mark.answer in answers and mark.round == 1}
    assert scores == {0.2}


def test_a_file_of_marks_has_so_many_people_and_no_longer_names(marked, tmp_path):
    path = tmp_path / "marks.csv"
    rows = [f"v1_{item},m{person},1" for person in range(MOST_MARKERS) for item in range(60)]
    path.write_text("\n".join(["item,marker,score", *rows]), "utf-8")
    assert import_marks(marked.marking, marked.job, mm_vet_report(), path)[0] == len(rows)
    path.write_text("item,marker,score\nv1_1,one more,1", "utf-8")
    with pytest.raises(
        MarkError, match="The report would have marks by 51 people, and 50 is the limit"
    ):
        import_marks(marked.marking, marked.job, mm_vet_report(), path)
    path.write_text(f"item,marker,score\nv1_1,{'m' * 101},1", "utf-8")
    with pytest.raises(MarkError, match="more than 100 characters"):
        import_marks(marked.marking, marked.job, mm_vet_report(), path)


def test_files_bring_so_many_marks_under_a_report_and_under_all_of_its_owner(
    marked, tmp_path, monkeypatch
):
    path = tmp_path / "marks.csv"

    def bring(job, person: str) -> int:
        path.write_text(
            "\n".join(["item,marker,score", *(f"v1_{item},{person},1" for item in range(60))]),
            "utf-8",
        )
        return import_marks(marked.marking, job, mm_vet_report(), path)[0]

    monkeypatch.setattr(store, "MOST_IMPORTED", 119)
    assert bring(marked.job, "a") == 60
    with pytest.raises(
        MarkError, match="this report would have 120 imported marks, and 119 is the limit"
    ):
        bring(marked.job, "b")
    assert bring(marked.job, "a") == 0 and len(marked.marks()) == 60
    other = marked.marking.jobs.add_done(OWNER, mm_vet_report(title="Another"))
    monkeypatch.setattr(store, "MOST_OF_OWNER", 119)
    with pytest.raises(
        MarkError,
        match="all of your reports would have 120 imported marks, and 119 is the limit",
    ):
        bring(other, "a")


# Who is who.
@pytest.fixture
def all_come_again(monkeypatch):
    """Everybody is shown every answer twice, and no answer comes to a second person."""
    monkeypatch.setattr("scoring.people.plan.REPEATED_PART", 1.0)
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 0.0)


def say_of_all(marked: MarkedReport, kind: MarkKind, value: str, person: str = "owner") -> None:
    """Say the same of all answers that a person is shown."""
    seat = marked.seat(person, kind)
    while marked.marking.draw(seat):
        marked.mark(seat, value)


def by_another_judge(marked: MarkedReport, report: Report) -> MarkedReport:
    """The same answers as another judge scored them."""
    scored = replace(report, judge=replace(report.judge, model="another judge"))
    job = Jobs(marked.database).add_done(OWNER, scored)
    return MarkedReport(marked.database, marked.marking, job)


def test_marks_of_an_owner_under_two_reports_are_one_persons(database, all_come_again):
    report = mm_vet_report(0.3)
    marked = MarkedReport.on(database, report)
    say_of_all(marked, "marks", "5")
    other = by_another_judge(marked, report)
    other.mark(other.seat(), "7", 4)
    second_marks = sum(mark.round == 2 for mark in marked.marks())
    for job in (marked.job, other.job):
        found = mark_results(marked.marking, job, report).calibration
        assert found and found.people is None
        assert found.repeated and found.repeated.answers == second_marks


def test_labels_of_an_owner_under_two_reports_are_one_persons(database, all_come_again):
    report = mm_vet_report(0.3)
    marked = MarkedReport.on(database, report)
    say_of_all(marked, "labels", "annotation")
    other = by_another_judge(marked, report)
    seat = other.seat(kind="labels")
    other.mark(seat, "right", 4)
    found = label_results(marked.marking, marked.job, report)
    assert found and found.agreement.answers == 0 and found.agreement.same_person.value is not None
    assert found.doubted == (), "one person's labels of one model"
    merged = merge_labels(found.labels)
    assert len(merged) == found.shares.labelled == 25
    text = labels_csv(found.labels, {})
    assert text.count(f",{seat.person},1,right,") == 4, "a file has the name of the report"


def test_questions_that_an_owner_doubts_under_two_models_are_doubted_by_one_person(
    database, monkeypatch
):
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 1.0)
    report = mm_vet_report(0.3)
    marked = MarkedReport.on(database, report)
    rows = tuple(replace(row, prediction=f"{row.prediction}!") for row in report.rows)
    job = Jobs(database).add_done(OWNER, replace(report, title="Another model", rows=rows))
    other = MarkedReport(database, marked.marking, job)
    for each in (marked, other):
        say_of_all(each, "labels", "annotation")
    other.mark(other.seat("helper-1", "labels"), "right")
    found = label_results(marked.marking, marked.job, report)
    assert found and len(found.doubted) == 25
    assert {question.models for question in found.doubted} == {2}
    assert [question.people for question in found.doubted] == [2] + [1] * 24


@pytest.mark.parametrize("names", [("product.owner", "data.owner"), ("owner", "marks-1.owner")])
def test_only_an_owners_link_makes_its_person_the_owner(marked, tmp_path, names):
    marked.mark(marked.seat(), "5", 3)
    path = tmp_path / "marks.csv"
    rows = [f"v1_{item},{name},1" for item in range(60) for name in names]
    path.write_text("\n".join(["item,marker,score", *rows]), "utf-8")
    assert import_marks(marked.marking, marked.job, mm_vet_report(), path)[0] == 120
    assert len(marked.marks()) == 123


def test_who_marked_under_another_report_is_not_asked_the_same_again(marked, tmp_path):
    path = tmp_path / "marks.csv"
    say_of_all(marked, "marks", "5")
    path.write_text(marks_csv(marked.marks(), {}), "utf-8")
    report = mm_vet_report(0.3)
    again = by_another_judge(marked, report)
    import_marks(marked.marking, again.job, report, path)
    shown = []
    while drawn := marked.marking.draw(again.seat()):
        shown.append(drawn.shown.round)
        again.mark(again.seat(), "5")
    assert set(shown) <= {2}


def test_a_file_may_have_second_marks_before_the_first(marked, tmp_path, all_come_again):
    seat = marked.seat()
    path = tmp_path / "marks.csv"
    rows = [f"v1_{item},{seat.person},1,{round}" for round in (2, 1) for item in range(60)]
    path.write_text("\n".join(["item,marker,score,round", *rows]), "utf-8")
    assert import_marks(marked.marking, marked.job, mm_vet_report(), path)[0] == 120
    assert marked.marking.draw(seat) is None


@pytest.mark.parametrize("nameless", ['""', " ", "unnamed"])
def test_who_has_no_name_is_who_is_called_unnamed(marked, tmp_path, nameless):
    path = tmp_path / "marks.csv"
    path.write_text(f"item,marker,score\nv1_1,unnamed,0.5\nv1_1,{nameless},0.4\n", "utf-8")
    count, problems = import_marks(marked.marking, marked.job, mm_vet_report(), path)
    assert count == 1
    assert problems == ("row 3 left out: this person marked this answer in a row before",)
    assert [mark.score for mark in marked.marks()] == [0.5]


# What somebody opened and left.
def pass_time(monkeypatch, minutes: int) -> None:
    at = now() + timedelta(minutes=minutes)
    monkeypatch.setattr(store, "now", lambda: at)


@pytest.mark.locks_or_dialect
def test_an_answer_that_somebody_left_goes_to_others_after_an_hour(marked, monkeypatch):
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 0.0)
    left = marked.seat("helper-1")
    shown = marked.marking.draw(left).shown
    say_of_all(marked, "marks", "5")
    stays = marked.seat()
    assert len({mark.answer for mark in marked.marks()}) == 59
    assert marked.marking.waits(stays) and not marked.marking.waits(left)
    pass_time(monkeypatch, 59)
    assert marked.marking.draw(stays) is None
    pass_time(monkeypatch, 61)
    assert marked.marking.draw(stays).shown.answer == shown.answer
    assert marked.marking.draw(left).shown == shown, "who comes back may go on"
    marked.mark(stays, "5")
    assert len({mark.answer for mark in marked.marks()}) == 60
    assert not marked.marking.waits(stays)
    marked.marking.store.enter(left, shown.token, MarkEntry("7"))
    assert len(marked.marks()) - sum(mark.round == 2 for mark in marked.marks()) == 61


def test_an_answer_waits_an_hour_for_who_took_a_mark_back(marked, monkeypatch):
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 0.0)
    seat = marked.seat("helper-1")
    (token,) = marked.mark(seat, "5")
    say_of_all(marked, "marks", "5")
    pass_time(monkeypatch, 90)
    marked.marking.store.enter(seat, token, MarkEntry(""))
    assert marked.marking.draw(marked.seat()) is None and marked.marking.waits(marked.seat())
    pass_time(monkeypatch, 151)
    answer = marked.marking.draw(marked.seat()).shown.answer
    assert answer == marked.marking.store.find(seat, token).answer


def test_no_mark_took_less_than_no_time_where_a_clock_was_set_back(marked, monkeypatch):
    seat = marked.seat()
    marked.marking.draw(seat)
    pass_time(monkeypatch, -30)
    marked.mark(seat, "5")
    assert [mark.seconds for mark in marked.marks()] == [0.0]
