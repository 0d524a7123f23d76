"""One person's reports in several browsers: a code opens them once, within minutes, and for whoever enters it alone."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import select, update

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
    return {job.link for job in jobs.of_owner(jobs.owners.of(cookie))}


def test_a_code_brings_two_browsers_reports_together(jobs):
    at_desk = jobs.add_done(DESK, mm_vet_report(0.2)).link
    on_phone = jobs.add_done(PHONE, mm_vet_report(0.3)).link
    owners = jobs.owners
    owners.enter_code(PHONE, owners.show_code(DESK))
    assert links(jobs, DESK) == links(jobs, PHONE) == {at_desk, on_phone}
    assert jobs.publish(owners.of(PHONE), at_desk, True).published
    assert links(jobs, TABLET) == set()
    with pytest.raises(JobError):
        jobs.publish(owners.of(TABLET), at_desk, False)
    # any of them shows a code for a third
    owners.enter_code(TABLET, owners.show_code(PHONE))
    assert links(jobs, TABLET) == {at_desk, on_phone}
    # what is together stays together, whoever goes to whom
    owners.enter_code(DESK, owners.show_code(TABLET))
    assert owners.of(DESK) == owners.of(PHONE) == owners.of(TABLET) == DESK


def test_browsers_that_are_together_join_others_together(jobs):
    owners = jobs.owners
    owners.enter_code(PHONE, owners.show_code(DESK))
    owners.enter_code(PHONE, owners.show_code(TABLET))
    assert owners.of(DESK) == owners.of(PHONE) == owners.of(TABLET) == TABLET


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
    assert jobs.owners.of(PHONE) == DESK


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
    assert owners.of(PHONE) == PHONE
