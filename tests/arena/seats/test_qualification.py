"""Qualification: two tries with feedback, each question once, and no way around it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from arena.admin.actions import latest_actions, record_action
from arena.seats.qualification import ExamStanding, Qualification
from arena.seats.seats import Seat
from arena.seats.tables import SEAT_TRY
from tests.support.campaign_worker import Worker
from tests.support.toy_campaigns import EXAMINED, PROLIFIC, Toys, do_all, take_exam
from tests.support.toy_task import NOTES, right
from tests.support.visitors import rows


@pytest.fixture
def worker(toys) -> Worker:
    return toys.worker(toys.campaign(**EXAMINED, **PROLIFIC)).enter()


def question(worker: Worker) -> int:
    return int(worker.get(worker.seat).number)


def test_who_passes_at_once_works(worker):
    assert (worker.kind, worker.lead) == ("exam", "Practice: question 1 of 3")
    take_exam(worker, True, False, True)
    assert worker.kind == "work"
    assert do_all(worker).code == "C-DONE"


def test_every_answer_is_told_what_was_right(worker):
    for is_right, told in ((True, "Right: "), (False, "Not right: ")):
        good = right(int(worker.number))
        worker.choose(good if is_right else {"a": "b", "b": "a"}[good])
        assert worker.phase == "revealed"
        assert f"{told}{good.upper()} is the better answer." in worker.said
        worker.get(worker.seat)


def test_a_failed_try_asks_to_read_again_and_asks_other_questions(worker):
    first = {question(worker)}
    take_exam(worker, False)
    first.add(question(worker))
    take_exam(worker, False)
    first.add(question(worker))
    take_exam(worker, True)
    assert "1 of 3 right and need 2" in worker.said
    second = {question(worker)}
    take_exam(worker, True)
    second.add(question(worker))
    take_exam(worker, True, True)
    assert worker.kind == "work"
    assert len(first) == 3
    assert not first & second


def test_who_fails_twice_ends_with_the_code_of_that_and_does_not_go_on(worker, toys):
    take_exam(worker, *[False] * 6)
    assert (worker.title, worker.code) == ("You didn't pass the practice questions.", "C-FAILED")
    for form in (
        {"answer": "a"},
        {"number": "3.1", "answer": "a"},
        {"act": "finish"},
        {"act": "withdraw"},
    ):
        worker.post(worker.seat, form)
        assert (worker.status, worker.code) == (409, "C-FAILED"), form
    assert worker.enter().code == "C-FAILED"
    assert toys.task.shown == {}


def test_a_question_is_answered_once_and_in_order(worker, database):
    wrong = {"a": "b", "b": "a"}[right(question(worker))]
    worker.choose(wrong)
    for number in ("1.1", "1.3", "2.1", "0.1", "1.0", "1.-1", "1", ""):
        worker.post(worker.seat, {"number": number, "answer": {"a": "b", "b": "a"}[wrong]})
    (given,) = rows(database, SEAT_TRY)
    assert (given.attempt, given.number, given.answer, given.is_right) == (1, 1, wrong, False)


def test_feedback_is_told_only_of_what_was_answered(worker):
    take_exam(worker, True)
    for after in (
        "1.2",
        "2.1",
        "1.0",
        "0.1",
        "9.9",
        "1",
        ".",
        "1.1.1",
        "²",
        "1.1" + "0" * 300,
        "١.١",
    ):
        worker.get(f"{worker.seat}?after={after}")
        assert (worker.status, worker.kind) == (200, "exam"), after
        assert worker.phase == "open" or after == "١.١", after
    assert worker.get(f"{worker.seat}?after=1.1").phase == "revealed"


def test_work_cannot_be_done_before_the_qualification(worker, toys):
    for form in (
        {"act": "finish"},
        {"act": "undo"},
        {"skip": "offensive"},
        {"piece": "1", "answer": "a"},
    ):
        worker.post(worker.seat, form)
    assert worker.get(worker.seat).lead == "Practice: question 1 of 3"
    assert toys.task.shown == {}


def test_the_last_answer_sent_twice_goes_on_as_sent_once(worker):
    take_exam(worker, True, True)
    last = {**worker.hidden, "answer": "a"}
    worker.post(worker.seat, last)
    worker.post(worker.seat, last)
    assert (worker.status, worker.kind) == (200, "work")


@pytest.mark.parametrize("is_form", [False, True])
def test_another_tab_gives_the_last_answer_while_a_page_or_a_form_is_read(
    toys, monkeypatch, is_form
):
    worker = toys.worker(toys.campaign(**EXAMINED)).enter()
    take_exam(worker, True, True)
    form = {**worker.hidden, "answer": "a"}
    name = worker.number
    exam = toys.pages.qualification
    read_standing = exam.standing

    def standing(seat: Seat) -> ExamStanding | None:
        before = read_standing(seat)
        if before is not None:
            exam.answer(seat, before, name, "a", True)
        return before

    with monkeypatch.context() as other_tab:
        other_tab.setattr(exam, "standing", standing)
        if is_form:
            worker.post(worker.seat, form)
        else:
            worker.get(worker.seat)
    assert (worker.status, worker.kind) == (200, "exam")
    assert worker.get(worker.seat).kind == "work"


def test_racing_answers_to_one_question_leave_one(toys, database):
    worker = toys.worker(toys.campaign(**EXAMINED)).enter()
    form, start = worker.hidden, Barrier(8)

    def answer(number: int) -> None:
        start.wait()
        Worker(Toys.on(database, toys.task).client, worker.link).post(
            worker.seat, {**form, "answer": "ab"[number % 2]}
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(answer, range(8)))
    assert len(rows(database, SEAT_TRY)) == 1


def test_questions_of_a_source_come_first_and_samples_follow_in_an_order_of_their_own(toys):
    values = {"samples": 2, "pass": 4, **EXAMINED["qualify"]}
    campaign = toys.campaign(notes=3, qualify=values | {"pass": 4})
    worker = toys.worker(campaign).enter()
    take_exam(worker, True, True, True)
    notes = []
    for _ in range(2):
        assert worker.lead == f"Practice: question {4 + len(notes)} of 5"
        notes.append(question(worker))
        worker.choose("a")
        worker.get(worker.seat)
    assert len(set(notes)) == 2
    assert set(notes) <= set(NOTES)
    assert worker.kind == "message"


JUDGED = [
    ("", (1, 1, 0, None), 0),
    ("+?", (1, 3, 1, None), 1),
    ("+-?", (1, 4, 1, None), 1),  # waits
    ("++?", None, 0),
    ("?--", (2, 1, 0, 0), 0),
    ("+-- ?", (2, 2, 0, 1), 1),
    ("+-- ??-", (2, 4, 0, 1), 2),
    ("--- ---", None, 0),
]
"""The answers of each try, of which two of three must be right: where the worker stands, what an operator reads."""


@pytest.mark.parametrize(("tries", "stands", "unread"), JUDGED)
def test_a_try_waits_only_where_what_is_not_read_may_decide_it(
    toys, database, tries, stands, unread
):
    campaign = toys.campaign(notes=3, qualify={"samples": 3, "pass": 2})
    toys.worker(campaign).enter()
    (seat,) = toys.pages.seats.all(campaign)
    exam = Qualification(database)
    for attempt, marks in enumerate(tries.split(), 1):
        for number, mark in enumerate(marks, 1):
            is_right = {"+": True, "-": False, "?": None}[mark]
            exam.answer(seat, ExamStanding(attempt, number, 0, 3), "note", "text", is_right)
    found = exam.standing(seat)
    assert (found and (found.attempt, found.number, found.right, found.last)) == stands
    assert len(exam.unread(campaign, [seat])) == unread


@pytest.mark.locks_or_dialect
def test_of_operators_who_judge_an_answer_at_once_one_is_heard(toys, database):
    campaign = toys.campaign(notes=1, qualify={"samples": 1, "pass": 1})
    toys.worker(campaign).enter().choose("a")
    exam = Qualification(database)
    (answer,) = exam.unread(campaign, toys.pages.seats.all(campaign))
    start = Barrier(8)

    def judge(number: int) -> bool:
        start.wait()
        return exam.judge(
            answer, number % 2 == 0, lambda to: record_action(to, "ada", "judged a writer's sample")
        )

    with ThreadPoolExecutor(8) as pool:
        heard = list(pool.map(judge, range(8)))
    assert heard.count(True) == 1
    with database.read() as connection:
        assert len(latest_actions(connection, 10)) == 1
    (given,) = rows(database, SEAT_TRY)
    assert given.is_right == (heard.index(True) % 2 == 0)


def test_a_source_with_too_few_questions_says_so(toys):
    campaign = toys.campaign(qualify={"items": "none", "asked": 3, "pass": 2})
    worker = toys.worker(campaign).enter()
    assert worker.status == 403
    assert "its qualification asks 3 questions, and 'none' has 0" in worker.alert
