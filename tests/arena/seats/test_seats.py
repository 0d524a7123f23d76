"""Seats by the toy task's pages: entry, work, ends and codes; one seat a person, whatever the browser."""

import random
import re
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
from sqlalchemy import func, select

from arena.battles.tables import SEAT
from arena.battles.voters import Account, Voters
from arena.database import Database
from arena.seats.links import Arrival
from arena.seats.seats import SeatStore
from arena.seats.tables import SEAT_ENTRY
from arena.web.cookies import COOKIE, cookie_hash
from tests.support.campaign_worker import Worker
from tests.support.toy_campaigns import EXAMINED, MTURK, PROLIFIC, Toys, do_all, take_exam
from tests.support.toy_task import CHECKS


def entries(database: Database) -> int:
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(SEAT_ENTRY))


# Entry


def test_nothing_is_stored_before_consent(toys, database):
    worker = toys.worker(toys.campaign())
    assert (worker.get().kind, worker.status) == ("entry", 200)
    assert "1.50 USD" in worker.html
    assert (worker.post(worker.link, {}).kind, worker.status) == ("message", 403)
    assert "without your consent" in worker.alert
    assert entries(database) == 0
    assert worker.enter().kind == "work"
    assert entries(database) == 1


@pytest.mark.locks_or_dialect
def test_a_worker_gives_his_votes_and_his_checks_and_gets_a_code(toys):
    worker = toys.worker(toys.campaign()).enter()
    assert worker.lead == "1 of 4"
    do_all(worker)
    assert (worker.kind, worker.title) == ("end", "All done, thank you.")
    (shown,) = toys.task.shown.values()
    assert [one.is_check for one in shown].count(True) == 1
    assert len(shown) == 4
    (seat,) = toys.pages.seats.all(toys.pages.campaigns.get("evens"))
    assert (seat.end, worker.code) == ("done", seat.code)


def test_an_answer_can_be_taken_back_until_the_next(toys):
    worker = toys.worker(toys.campaign()).enter()
    first = worker.number
    assert worker.choose("a").phase == "voted"
    assert (worker.send(act="undo").phase, worker.number) == ("open", first)
    worker.decide("b")
    assert worker.number != first
    assert [one.answer for one in next(iter(toys.task.shown.values()))][0] == "b"


def test_a_page_says_what_is_wrong_with_what_was_sent_and_stays(toys):
    worker = toys.worker(toys.campaign()).enter()
    here = worker.number
    for form in (
        {},
        {"act": "dance"},
        {"answer": ""},
        {"piece": "x", "answer": "a"},
        {"act": "finish"},
    ):
        worker.send(**form)
        assert (worker.status, worker.kind, worker.number) == (409, "work", here), form
        assert worker.problem, form
    assert not any(one.answer for one in next(iter(toys.task.shown.values())))


# One seat a person


def test_a_person_has_one_seat_whatever_the_browser_and_goes_on_where_it_was(toys, database):
    campaign = toys.campaign()
    first = toys.worker(campaign).enter().decide("a")
    again = Worker(Toys.on(database, toys.task).client, first.link).get()
    assert (again.seat, again.number) == (first.seat, first.number)
    assert again.enter().seat == first.seat
    assert toys.worker(campaign, "w2").enter().seat != first.seat
    assert entries(database) == 2


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize(
    "person",
    [
        "Zoë Ångström",
        "+1 & 'less' #2",
        *(pytest.param(one, marks=pytest.mark.soak) for one in ("李 小龍", "ü" * 64)),
    ],
)
def test_a_name_in_any_script_has_one_seat(toys, person):
    campaign = toys.campaign()
    first = toys.worker(campaign, person).enter()
    typed = quote_plus(unicodedata.normalize("NFD", person))
    again = Worker(toys.client, first.link.replace(quote_plus(person), typed)).get()
    assert (first.kind, again.kind, again.seat) == ("work", "work", first.seat)
    assert [seat.person for seat in toys.pages.seats.all(campaign)] == [person]


@pytest.mark.parametrize("platform", [PROLIFIC, MTURK], ids=["prolific", "mturk"])
def test_a_second_session_goes_on_before_the_end_and_gets_no_second_code_after_it(
    toys, database, platform
):
    campaign = toys.campaign(**platform)
    first = toys.worker(campaign, session="s1").enter().decide("a")
    second = toys.worker(campaign, session="s2").get()
    assert (second.kind, second.seat) == ("work", first.seat)
    do_all(second)
    code = second.code
    (seat,) = toys.pages.seats.all(campaign)
    assert (seat.session, seat.end) == ("s2", "done")
    third = toys.worker(campaign, session="s3")
    for tried in (third.get(), third.enter()):
        assert (tried.status, tried.code) == (403, "")
        assert "campaign, and each person can do it only once. Please" in tried.alert
    assert toys.worker(campaign, session="s2").get().code == code
    assert entries(database) == 1


def test_the_same_worker_is_the_same_voter_in_every_campaign_of_a_platform(toys):
    one, other = toys.campaign(), toys.campaign(name="odds")
    for campaign in (one, other):
        toys.worker(campaign).enter()
    toys.worker(other, "w2").enter()
    (first,), (again, stranger) = toys.pages.seats.all(one), toys.pages.seats.all(other)
    assert first.voter == again.voter != stranger.voter


# Ends


def test_an_account_that_logs_in_has_one_seat_whatever_its_name_and_browser(toys, database):
    campaign, voters = toys.campaign(platform={"kind": "login"}), Voters(database)

    def browser(name: str, cookie: str) -> Worker:
        voters.log_in(Account("subject-1", name), "", cookie_hash(cookie))
        worker = toys.worker(campaign)
        worker.headers["cookie"] = f"{COOKIE}={cookie}"
        return worker

    guest = toys.worker(campaign)
    assert (guest.get().kind, guest.status, guest.title) == ("message", 403, "Log in first")
    assert parse_qs(urlsplit(guest.back).query) == {"back": [guest.link]}
    assert (guest.post(guest.link, {"consent": "yes"}).title, entries(database)) == (
        "Log in first",
        0,
    )
    first = browser("ann", "a" * 32)
    assert first.get().kind == "entry"
    do_all(first.enter())
    (seat,) = toys.pages.seats.all(campaign)
    assert (first.code, seat.session) == (seat.code, "ann")
    again = browser("ann-renamed", "b" * 32).get()
    assert (again.kind, again.code, entries(database)) == ("end", seat.code, 1)
    (seat,) = toys.pages.seats.all(campaign)
    assert (seat.session, seat.end) == ("ann-renamed", "done")
    voters.log_out(cookie_hash("b" * 32))
    assert again.get().title == "Log in first"


def test_prolific_gets_its_own_codes_and_a_way_back(toys):
    worker = do_all(toys.worker(toys.campaign(**PROLIFIC)).enter())
    assert worker.code == "C-DONE"
    assert worker.back == "https://app.prolific.com/submissions/complete?cc=C-DONE"
    assert f'<span class="address">{worker.back}</span>' in worker.html, "also as text"


@pytest.mark.parametrize(
    "platform, language, label",
    [
        (PROLIFIC, "en", "Return to Prolific"),
        (PROLIFIC, "zh", "返回 Prolific"),
        (MTURK, "en", "Return to MTurk"),
        (MTURK, "zh", "返回 MTurk"),
        ({}, "en", ""),
    ],
)
def test_a_worker_is_told_where_the_button_leads(toys, platform, language, label):
    worker = do_all(toys.worker(toys.campaign(**platform), language=language).enter())
    assert worker.code
    found = re.findall(r'class="primary"[^>]*>([^<]+)<', worker.html)
    assert found == ([label] if label else []), "a plain link's worker has the code alone"


@pytest.mark.parametrize(
    "language, seconds, times",
    [
        ("en", None, ["Time limit per question: 10 minutes."]),
        (
            "en",
            1530.0,
            ["Time limit per question: 10 minutes.", "Total time: about 26 minutes."],
        ),
        ("en", 3.0, ["Time limit per question: 10 minutes.", "Total time: about 1 minute."]),
        ("zh", 1530.0, ["每题时限：10 分钟。", "总用时：约 26 分钟。"]),
    ],
)
def test_a_worker_is_told_the_time_before_and_during_the_work(toys, language, seconds, times):
    toys.task.seconds = seconds
    worker = toys.worker(toys.campaign(**EXAMINED), language=language).get()
    pairs = re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", worker.html)
    colon, stop = ("：", "。") if language == "zh" else (": ", ".")
    assert [f"{name}{colon}{value}{stop}" for name, value in pairs][1:-1] == times
    take_exam(worker.enter(), True, True, True)
    assert worker.kind == "work"
    foot = re.search(r'<p class="note times">(.*?)</p>', worker.html)
    assert foot and re.findall(r"<span>([^<]+)</span>", foot[1]) == times


def test_mturk_gets_a_form_with_the_assignment_of_this_sitting(toys):
    worker = do_all(toys.worker(toys.campaign(**MTURK), session="ASSIGNMENT7").enter())
    assert worker.reply == "https://www.mturk.com/mturk/externalSubmit"
    assert worker.hidden == {"assignmentId": "ASSIGNMENT7", "code": worker.code, "end": "done"}


def test_a_seat_is_full_when_its_campaign_ends_and_something_was_given(toys):
    campaign = toys.campaign(**PROLIFIC)
    idle, busy = toys.worker(campaign, "idle").enter(), toys.worker(campaign, "busy").enter()
    while not toys.pages.tasks["toy"].progress(toys.pages.seats.all(campaign)[1]).votes:
        busy.decide("a")
    toys.pages.campaigns.end(campaign, "enough")
    last = busy.number
    assert busy.get(busy.seat).number == last, "what was shown before the end is finished first"
    assert (busy.decide("a").code, busy.title) == ("C-FULL", "The study is complete.")
    idle.decide("a")
    assert idle.code == "C-FULL"


def test_who_gave_nothing_when_a_campaign_ends_gets_no_code(toys, database):
    campaign = toys.campaign(numbers=1, checks={"share": 0.01})
    first = toys.worker(campaign, "w1").enter()
    while first.number in map(str, CHECKS):
        first.decide("a")
    late = toys.worker(campaign, "w2").enter()
    toys.task.shown[toys.pages.seats.all(campaign)[1].id] = []  # as if the check were not there
    toys.pages.campaigns.end(campaign, "enough")
    assert (late.get(late.seat).kind, late.code) == ("message", "")
    assert toys.pages.seats.all(campaign)[1].end is None
    assert (toys.worker(campaign, "w3").get().status, entries(database)) == (403, 2)


@pytest.mark.parametrize("minutes, code", [(9, "C-FULL"), (11, "")])
def test_the_end_pays_who_was_at_work_and_not_who_had_left(toys, database, minutes, code):
    campaign = toys.campaign(**PROLIFIC)
    worker = toys.worker(campaign).enter()
    worker.decide("a")
    toys.task.shown[
        toys.pages.seats.all(campaign)[0].id
    ].pop()  # he closes the page of the next one
    toys.let_minutes_pass(minutes)
    toys.pages.campaigns.end(campaign, "enough")
    assert worker.get(worker.link).code == code
    assert worker.title == "The study is complete."
    assert ("ended while you were away" in worker.alert) == (not code)


def test_practice_after_the_end_earns_nothing_and_before_it_a_code(toys):
    campaign = toys.campaign(**EXAMINED, **PROLIFIC)
    idle, busy = (toys.worker(campaign, name).enter() for name in ("idle", "busy"))
    take_exam(busy, True, True)
    asked = idle.hidden
    toys.pages.campaigns.end(campaign, "enough")
    for side in "ab":
        idle.post(idle.seat, {**asked, "answer": side})
        assert (idle.kind, idle.code) == ("message", "")
        assert "ended while you were away" in idle.alert
    assert [seat.is_qualified for seat in toys.pages.seats.all(campaign)] == [False, False]
    assert busy.get(busy.seat).code == "C-FULL"


def test_who_waits_for_what_others_hold_gets_no_code_before_it_is_given(toys):
    campaign = toys.campaign(numbers=6)
    greedy = toys.worker(campaign, "greedy").enter()
    while not toys.task.progress(toys.pages.seats.all(campaign)[0]).votes:
        greedy.decide("a")
    do_all(toys.worker(campaign, "w1").enter())
    holder = toys.worker(campaign, "holder").enter()
    while int(holder.number) in CHECKS:
        holder.decide("a")
    do_all(greedy)
    assert (greedy.kind, greedy.code) == ("message", "")
    assert "The remaining questions are with other people" in greedy.alert
    holder.decide("a")
    assert do_all(greedy.get(greedy.seat)).code, "after a check that may be left"


def test_a_new_person_reads_at_once_that_a_campaign_is_over(toys, database):
    campaign = toys.campaign()
    toys.pages.campaigns.end(campaign, "enough")
    worker = toys.worker(campaign)
    for tried in (worker.get(), worker.post(worker.link, {"consent": "yes"})):
        assert tried.status == 403
        assert "has all its answers" in tried.alert
    assert entries(database) == 0


def test_consent_taken_back_gives_no_code_on_any_platform(toys):
    for number, platform in enumerate(({}, PROLIFIC, MTURK)):
        campaign = toys.campaign(name=f"c{number}", **platform)
        worker = toys.worker(campaign).enter().decide("a").send(act="withdraw")
        (seat,) = toys.pages.seats.all(campaign)
        assert (worker.title, worker.code, worker.back, worker.reply) == (
            "You withdrew from the study.",
            "",
            "",
            "",
        )
        assert seat.code not in worker.html
        assert worker.get(worker.link).code == ""
        assert (worker.send(answer="a").status, worker.code) == (409, "")


def test_skipping_what_is_left_earns_nothing(toys):
    worker = toys.worker(toys.campaign(numbers=4)).enter()
    while worker.kind == "work":
        if (
            int(worker.number) in CHECKS
            or not toys.task.progress(
                toys.pages.seats.all(toys.pages.campaigns.get("evens"))[0]
            ).votes
        ):
            worker.decide("a")
        else:
            worker.send(skip="cannot judge")
    assert (worker.kind, worker.code) == ("message", "")
    assert worker.get(worker.seat).code == ""


def test_a_worker_to_whom_nothing_is_left_is_paid(toys):
    campaign = toys.campaign(numbers=4)
    do_all(toys.worker(campaign, "w1").enter())
    second = do_all(toys.worker(campaign, "w2").enter())
    assert (second.kind, second.title) == ("end", "The study is complete.")
    assert second.code


# Addresses


def test_a_seat_has_an_address_that_nobody_can_make(toys):
    one, other = toys.campaign(), toys.campaign(name="odds")
    worker = toys.worker(one).enter()
    base, token = worker.seat.rsplit("/", 1)
    number, _, signed = token.partition(".")
    wrong = [
        "1",
        f"{number}.",
        f"{number}.{'0' * 32}",
        f"{int(number) + 1}.{signed}",
        f"{number}.{signed}0",
    ]
    wrong += [
        f"0{number}.{signed}",
        f"{number}.{signed.upper()}",
        f"{number}.{signed[:-1]}",
        f"{10**12}.{signed}",
    ]
    for tried in (
        *(f"{base}/{one}" for one in wrong),
        f"/c/{other.name}/{token}",
        f"/c/nobody/{token}",
    ):
        found = Worker(toys.client, tried)
        assert found.get().status == 403, tried
        assert found.post(tried, {"answer": "a"}).status == 403, tried
        assert found.alert == "This seat doesn't exist. Open the link exactly as you got it."


@pytest.mark.locks_or_dialect
def test_a_network_takes_so_many_seats_a_day(toys, database):
    campaign = toys.campaign(platform=PROLIFIC["platform"] | {"network_seats": 3})
    workers = [
        toys.worker(campaign, f"p{number}", network="9.9.9.9").enter() for number in range(5)
    ]
    assert [worker.status for worker in workers] == [200, 200, 200, 403, 403]
    assert "which is the limit" in workers[3].alert
    assert toys.worker(campaign, "p0", network="9.9.9.9").get().kind == "work", (
        "who has a seat goes on"
    )
    assert toys.worker(campaign, "p9", network="8.8.4.4").enter().kind == "work"
    assert entries(database) == 4


# Hostile forms


@pytest.mark.locks_or_dialect
def test_hostile_forms_change_nothing_and_break_nothing(toys):
    worker = toys.worker(toys.campaign(**EXAMINED)).enter()
    hostile = [
        b"",
        b"\xff\xfe\x00\x01" * 4000,
        b"answer=" + b"a" * 60_000,
        b"&".join(b"f%d=1" % number for number in range(5000)),
        b"answer=%00&number=1.1",
        b"answer=%ED%A0%80&number=%ED%A0%80",
        b"number=1.1&answer=",
        b"number=9.9&answer=a",
        b"number=%C2%B2.%C2%B2&answer=a",
        b"number=" + b"1" * 190 + b".1&answer=a",
        b"number=1.1.1&answer=a",
        b"act=finish",
        b"act=undo&piece=%00",
        b"skip=%00",
        b"skip=offensive",
    ]
    for body in hostile:
        worker.post(worker.seat, body)
        assert worker.status in (200, 409), body[:40]
        assert worker.get(worker.seat).lead == "Practice: question 1 of 3", body[:40]
    take_exam(worker, True, True, True)
    assert worker.get(worker.seat).kind == "work"
    here = worker.number
    for body in hostile:
        worker.post(worker.seat, body + b"&piece=" + worker.hidden["piece"].encode())
        if body != b"skip=offensive":
            assert worker.get(worker.seat).number, body[:40]
    assert here


# Racing threads


def race(enter: Callable[[int, int], str], persons: int) -> list[str]:
    """Enter as so many persons, each four times from any of 16 threads at once; return who got which seat."""
    order = [person for person in range(persons) for _ in range(4)]
    random.Random(1).shuffle(order)
    start, threads = Barrier(16), 16

    def begin(part: int) -> list[str]:
        start.wait()
        return [f"{one} {enter(part, one)}" for one in order[part::threads]]

    with ThreadPoolExecutor(threads) as pool:
        return [seat for found in pool.map(begin, range(threads)) for seat in found]


@pytest.mark.locks_or_dialect
def test_racing_browsers_of_two_servers_leave_one_seat_a_person(database, database_url):
    with closing(Database(database_url)) as other:
        servers = [Toys.on(one) for one in (database, other)]
        campaign = servers[0].campaign(**PROLIFIC)

        def enter(part: int, person: int) -> str:
            link = servers[0].link(campaign, f"p{person}", f"s{part % 3}")
            return Worker(servers[part % 2].client, link).enter().seat

        found = race(enter, 4)
    assert len(set(found)) == 4 == entries(database)


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize(
    "persons", [15, pytest.param(2500, marks=[pytest.mark.soak, pytest.mark.timeout(900)])]
)
def test_racing_entries_leave_one_seat_a_person(database, database_url, persons):
    """10,000 entries in the soak."""
    with closing(Database(database_url)) as other:
        stores = [SeatStore(database), SeatStore(other)]
        campaign = Toys.on(database).campaign(**PROLIFIC)

        def enter(part: int, person: int) -> str:
            return (
                stores[part % 2].enter(campaign, Arrival(f"p{person}", f"s{part % 3}"), None).token
            )

        found = race(enter, persons)
    assert len(found) == 4 * persons
    assert len(set(found)) == persons == entries(database)
    with database.read() as connection:
        assert connection.scalar(select(func.count()).select_from(SEAT)) == persons
    assert len(SeatStore(database).all(campaign)) == persons
