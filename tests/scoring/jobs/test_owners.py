"""One person's reports in several browsers: a code opens them once, within minutes, and for whoever enters it alone."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from arena.battles.voters import Account, Voters
from arena.database import Database, now
from scoring.jobs.owners import REPORT_CODE, CodeError, ReportOwners
from scoring.jobs.store import JobError, Jobs
from tests.support.mm_vet_reports import mm_vet_report

pytestmark = pytest.mark.locks_or_dialect
DESK = "d" * 64
PHONE = "p" * 64
TABLET = "t" * 64


@pytest.fixture
def jobs(database: Database) -> Jobs:
    return Jobs(database)


def links(jobs: Jobs, cookie: str) -> set[str]:
    return {job.link for job in jobs.of_owner(jobs.owners.owner_of(cookie))}


def test_a_code_brings_two_browsers_reports_together(jobs):
    at_desk = jobs.add_done(DESK, mm_vet_report(0.2)).link
    on_phone = jobs.add_done(PHONE, mm_vet_report(0.3)).link
    owners = jobs.owners
    owners.enter_code(PHONE, owners.show_code(DESK))
    assert links(jobs, DESK) == links(jobs, PHONE) == {at_desk, on_phone}
    assert jobs.publish(owners.owner_of(PHONE), at_desk, True).published
    assert links(jobs, TABLET) == set()
    with pytest.raises(JobError):
        jobs.publish(owners.owner_of(TABLET), at_desk, False)
    # any of them shows a code for a third
    owners.enter_code(TABLET, owners.show_code(PHONE))
    assert links(jobs, TABLET) == {at_desk, on_phone}
    # what is together stays together, whoever goes to whom
    owners.enter_code(DESK, owners.show_code(TABLET))
    assert owners.owner_of(DESK) == owners.owner_of(PHONE) == owners.owner_of(TABLET) == DESK


def test_browsers_that_are_together_join_others_together(jobs):
    owners = jobs.owners
    owners.enter_code(PHONE, owners.show_code(DESK))
    owners.enter_code(PHONE, owners.show_code(TABLET))
    assert owners.owner_of(DESK) == owners.owner_of(PHONE) == owners.owner_of(TABLET) == TABLET


def test_a_code_cannot_be_guessed_is_not_stored_and_is_of_letters_told_apart(jobs):
    codes = {jobs.owners.show_code(DESK) for _ in range(50)}
    assert len(codes) == 50
    for code in codes:
        assert re.fullmatch(r"([2-9A-HJKMNP-TV-Z]{4}-){4}[2-9A-HJKMNP-TV-Z]{4}", code)
        assert len(set("ILOU01") & set(code)) == 0
    with jobs._database.read() as connection:
        rows = connection.execute(select(REPORT_CODE)).all()
    assert len(rows) == 1, "a new code ends the one before it"
    assert all(code.replace("-", "") not in str(rows) for code in codes)


@pytest.mark.parametrize(
    "typed",
    [lambda code: code.lower(), lambda code: f" {code.replace('-', ' ')} ", lambda code: code],
)
def test_a_code_is_typed_as_people_type(jobs, typed):
    jobs.owners.enter_code(PHONE, typed(jobs.owners.show_code(DESK)))
    assert jobs.owners.owner_of(PHONE) == DESK


def test_a_code_that_was_used_replaced_late_or_made_up_opens_nothing(jobs):
    owners = jobs.owners
    used = owners.show_code(DESK)
    owners.enter_code(TABLET, used)
    replaced = owners.show_code(DESK)
    owners.show_code(DESK)
    late = ReportOwners(jobs._database).show_code("x" * 64)
    with jobs._database.write() as connection:
        over = update(REPORT_CODE).where(REPORT_CODE.c.owner == "x" * 64)
        connection.execute(over.values(until=now() - timedelta(seconds=1)))
    for code in (used, replaced, late, "", "-" * 50, "A" * 20, "é" * 10_000, "' OR 1=1"):
        with pytest.raises(CodeError):
            owners.enter_code(PHONE, code)
    assert owners.owner_of(PHONE) == PHONE


def test_of_codes_shown_at_once_the_last_opens(jobs):
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: jobs.owners.show_code(DESK), range(16)))
    opened = []
    for number, code in enumerate(codes):
        with suppress(CodeError):
            jobs.owners.enter_code(f"browser {number}", code)
            opened.append(code)
    assert len(opened) == 1


ANN = Account("4711", "ann")


def log_in(jobs: Jobs, before: str, fresh: str, account: Account = ANN) -> None:
    Voters(jobs._database).log_in(account, before, fresh)
    jobs.owners.log_in(account, before)


def test_a_login_brings_a_browsers_reports_to_the_account_and_a_logout_leaves_none(jobs):
    """A cookie that somebody planted owns nothing of the account, and the next at a shared computer neither."""
    as_guest = jobs.add_done(DESK, mm_vet_report(0.2)).link
    log_in(jobs, DESK, "first login")
    assert links(jobs, "first login") == {as_guest} and links(jobs, DESK) == set()
    logged_in = jobs.add_done(jobs.owners.owner_of("first login"), mm_vet_report(0.3)).link
    assert links(jobs, DESK) == set()
    log_in(jobs, PHONE, "on the phone")
    assert links(jobs, "on the phone") == {as_guest, logged_in}
    Voters(jobs._database).log_out("first login")
    assert links(jobs, "first login") == set(), "of a guest from now on"
    log_in(jobs, "first login", "of another person", Account("4712", "bob"))
    assert links(jobs, "of another person") == set()
    log_in(jobs, "somebody after a logout", "second login")
    assert links(jobs, "second login") == {as_guest, logged_in}


def test_an_account_is_joined_by_its_codes_alone(jobs):
    """Who shares a guest's reports by a code shares nothing of the account that the guest logs in to."""
    at_desk = jobs.add_done(DESK, mm_vet_report(0.2)).link
    owners = jobs.owners
    owners.enter_code(PHONE, owners.show_code(DESK))
    log_in(jobs, PHONE, "login on the phone")
    assert links(jobs, "login on the phone") == set(), "those of the desk stay there"
    log_in(jobs, DESK, "login at the desk")
    assert links(jobs, "login on the phone") == {at_desk}
    assert links(jobs, PHONE) == links(jobs, DESK) == set()
    for shows, enters in (("login at the desk", TABLET), ("another guest", "login at the desk")):
        owners.enter_code(enters, owners.show_code(shows))
    assert links(jobs, TABLET) == links(jobs, "another guest") == {at_desk}
    log_in(jobs, "another guest", "login of bob", Account("4712", "bob"))
    assert links(jobs, "login of bob") == set(), "the account's reports stay its own"
    assert links(jobs, TABLET) == links(jobs, "login on the phone") == {at_desk}
