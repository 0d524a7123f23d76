"""Sample tasks: writers describe pictures before the work, and what they wrote is marked or read by an operator."""

import html
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from arena.database import Database, now
from arena.seats.qualification import Qualification
from arena.seats.tables import SEAT_ENTRY, SEAT_TRY
from arena.settings import Settings
from tests.support.campaign_worker import Worker
from tests.support.visitors import rows
from tests.support.writers import photo, projects_of
from tests.support.writing_pages import Writer, WritingPages

GOOD = "A brown dog looks at the red ball on the grass."
POOR = "There is some animal here, and a thing beside it."
KNOWN = ["dog|dogs", "red"]
Make = Callable[..., WritingPages]


def sample(number: int, **changes: object) -> dict[str, object]:
    return {
        "picture": f"{number}.jpg",
        "instruction": f"What happens in picture {number}?",
        "known": KNOWN,
        "least": 5,
        **changes,
    }


@pytest.fixture
def make(database, tmp_path) -> Make:
    """Pages of a project whose writers do `asked` sample tasks, of which `needed` must be good."""

    def make(
        asked: int = 2,
        needed: int = 2,
        there_are: int = 4,
        known: object = KNOWN,
        **changes: object,
    ) -> WritingPages:
        for number in range(there_are):
            (tmp_path / f"{number}.jpg").write_bytes(photo(number))
        samples = [sample(number, known=known) for number in range(there_are)]
        qualify = {"samples": asked, "pass": needed}
        return WritingPages.on(database, tmp_path, samples=samples, qualify=qualify, **changes)

    return make


def describe(writer: Writer, *texts: str) -> Writer:
    """Send these captions, one after another, and read what is said of each that is marked."""
    for text in texts:
        writer.fill({"caption-1": text, "act": "send"})
        assert writer.status == 200, writer.problem
        writer.get(writer.seat)
    return writer


def asked(writer: Writer) -> str:
    """The instruction of the open page."""
    return html.unescape(writer.html).partition("What happens in ")[2].partition("?")[0]


def judge(pages: WritingPages, *verdicts: str) -> list[str]:
    """Read what waits as an operator does, the oldest first."""
    admin = operators(pages)
    name = pages.project.campaign.name
    found = [one.answer.name for one in admin.unread(name)]
    return [
        admin.judge("ada", name, one, verdict) for one, verdict in zip(found, verdicts, strict=True)
    ]


def operators(pages: WritingPages):
    settings = Settings.from_env({"DATA_DIR": str(pages.project.folder)})
    return projects_of(settings, pages.project.database)


def given(database: Database) -> list[tuple]:
    with database.read() as connection:
        found = select(SEAT_TRY.c.attempt, SEAT_TRY.c.number, SEAT_TRY.c.is_right)
        return [tuple(row) for row in connection.execute(found.order_by(SEAT_TRY.c.at))]


def test_a_writer_whose_captions_name_what_is_known_works(make):
    pages = make(asked=3, needed=2)
    ann = pages.writer("ann")
    assert (ann.kind, ann.lead) == ("exam", "Practice: task 1 of 3")
    assert 'data-least="5"' in ann.html
    assert "Describe the pictures" in ann.html
    ann.fill({"caption-1": POOR, "act": "send"})
    assert "Not enough yet." in ann.html
    assert "A good description mentions: dog, red. Yours doesn&#39;t mention: dog, red." in ann.html
    assert POOR in ann.html
    describe(ann.get(ann.seat), GOOD)
    ann.fill({"caption-1": GOOD, "act": "send"})
    assert "Good: nothing is missing." in ann.html
    assert "Yours doesn" not in ann.html
    ann.get(ann.seat)
    assert (ann.kind, ann.step) == ("work", "instruction")
    assert pages.project.seat("ann").is_qualified


@pytest.mark.locks_or_dialect
def test_a_second_try_asks_other_samples_and_who_fails_it_ends(make, database):
    pages = make(platform={"kind": "mturk"})
    ann = pages.writer("ann")
    first = {asked(ann), asked(describe(ann, GOOD))}
    describe(ann, POOR)
    assert "1 of 2 were good, and you need 2" in ann.html
    second = {asked(ann), asked(describe(ann, GOOD))}
    assert len(first | second) == 4
    form = {**ann.hidden, "caption-1": GOOD, "act": "send"}
    describe(ann, POOR)
    assert (ann.kind, ann.title) == ("end", "You didn't pass the practice tasks.")
    assert pages.project.seat("ann").end == "failed"
    assert ann.code == pages.project.seat("ann").code
    before = given(database)
    for fields in (form, form | {"number": "3.1"}, {"act": "finish"}, {"act": "withdraw"}):
        answer = pages.client.post(
            f"/c/~form?campaign=pets&seat={ann.seat.rpartition('/')[2]}", data=fields
        )
        assert answer.status_code == 409, fields
    assert given(database) == before
    assert pages.project.drafts == []


@pytest.mark.locks_or_dialect
def test_captions_without_a_known_answer_wait_for_an_operator(make, database):
    pages = make(known=[])
    ann = describe(pages.writer("ann"), POOR, GOOD)
    assert ann.title == "Your samples are waiting to be read"
    assert given(database) == [(1, 1, None), (1, 2, None)]
    for form in ({"act": "finish"}, {"number": "1.3", "caption-1": GOOD}, {"number": "2.1"}):
        ann.post(ann.seat, form)
        assert ann.title == "Your samples are waiting to be read"
    assert ann.get(f"{ann.seat}?after=1.1").title.startswith("Your samples are waiting")
    told = judge(pages, "good", "good")
    seat = pages.project.seat("ann").id
    assert told == [f"Sample {seat}.1.{number} of pets is good." for number in (1, 2)]
    assert "Good: nothing is missing." in ann.get(f"{ann.seat}?after=1.1").html
    assert (ann.get(ann.seat).kind, ann.step) == ("work", "instruction")


def test_who_an_operator_turns_down_tries_once_more(make):
    pages = make(known=[], needed=1)
    ann = describe(pages.writer("ann", "zh"), GOOD, GOOD)
    assert ann.title == "您的样题正等待审阅"
    judge(pages, "poor", "poor")
    assert "有 0 道合格，共 2 道，需要 1 道" in ann.get(ann.seat).html
    describe(ann, GOOD, GOOD)
    judge(pages, "poor", "poor")
    assert ann.get(ann.seat).title == "练习未通过。"


def test_a_try_waits_only_while_an_operator_may_decide_it(make):
    pages = make(known=[], needed=1, asked=3, there_are=3)
    ann = describe(pages.writer("ann"), GOOD, GOOD, GOOD)
    admin = operators(pages)
    first, second, third = (one.answer.name for one in admin.unread("pets"))
    admin.judge("ada", "pets", second, "good")
    assert ann.get(ann.seat).kind == "work"
    assert admin.unread("pets") == []
    with pytest.raises(ValueError, match="no sample .* to read"):
        admin.judge("ada", "pets", first, "good")


def test_captions_can_be_read_before_the_last_one_is_written(make):
    pages = make(known=[], asked=3, needed=3, there_are=3)
    ann = describe(pages.writer("ann"), POOR)
    judge(pages, "poor")
    assert ann.get(ann.seat).lead == "Practice: task 2 of 3"
    describe(ann, GOOD, GOOD)
    assert (ann.kind, ann.lead) == ("exam", "Practice: task 1 of 3")
    assert operators(pages).unread("pets") == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"caption-1": ""}, "The caption of picture 1 is empty. Write it."),
        ({}, "The caption of picture 1 is empty. Write it."),
        ({"caption-1": "a red dog"}, "has 3 words. Write 5 or more"),
        ({"caption-1": "dog " * 2000}, "has 7999 characters, and the limit is 5000"),
        ({"caption-1": "x" * 30_000}, "has 20000 characters, and the limit is 5000"),
        ({"caption-1": GOOD, "link": "https://example.org/a.jpg"}, "You've already sent this"),
    ],
)
def test_what_is_no_caption_is_refused_and_nothing_typed_is_lost(make, database, fields, told):
    ann = make().writer("ann")
    ann.fill({"act": "send", **fields})
    assert (ann.status, told in ann.problem) == (409, True), ann.problem
    assert given(database) == []
    assert html.escape(fields.get("caption-1", "")[:20_000].strip()) in ann.html
    assert ann.lead == "Practice: task 1 of 2"


def test_a_file_that_is_sent_along_is_refused(make, database):
    ann = make().writer("ann")
    ann.fill({"caption-1": GOOD, "act": "send"}, ("a.jpg", photo(1)))
    assert ann.status == 409
    assert given(database) == []


@pytest.mark.parametrize(
    "number", ["", "1.2", "2.1", "0.1", "1.0", "1.-1", "9" * 5000, "1.1.1", "١.١", "1.1\0"]
)
def test_a_caption_answers_the_sample_that_is_asked(make, database, number):
    ann = make().writer("ann")
    ann.fill({"caption-1": GOOD, "number": number, "act": "send"})
    assert ann.status == 200
    assert len(given(database)) == (number == "1.1\0")
    assert ann.get(ann.seat).lead.startswith("Practice: task")


def test_a_sample_is_described_once_in_two_browsers(make, database):
    pages = make()
    first, second = pages.writer("ann"), pages.writer("ann")
    for writer, text in ((first, POOR), (second, GOOD)):
        writer.fill({"caption-1": text, "act": "send"})
    assert given(database) == [(1, 1, False)]
    assert POOR in second.html
    assert GOOD not in second.html


def test_markup_in_a_caption_is_text(make):
    ann = make().writer("ann")
    ann.fill({"caption-1": f"{GOOD} <script>alert(1)</script>", "act": "send"})
    assert "<script>alert" not in ann.html
    assert "&lt;script&gt;alert" in ann.html


def test_work_cannot_be_done_before_the_samples(make):
    pages = make()
    ann = pages.writer("ann")
    for form in ({"act": "finish"}, {"act": "undo"}, {"skip": "x"}, {"piece": "1", "text": "a"}):
        ann.post(ann.seat, form)
    assert ann.get(ann.seat).lead == "Practice: task 1 of 2"
    assert pages.project.drafts == []


def test_who_takes_consent_back_is_read_by_nobody(make):
    pages = make(known=[])
    ann = describe(pages.writer("ann"), GOOD, GOOD)
    assert ann.post(ann.seat, {"act": "withdraw"}).title == "You withdrew from the study."
    assert operators(pages).unread("pets") == []


def test_who_waits_for_an_operator_when_a_project_ends_is_paid(make, database):
    pages = make(known=[])
    ann = describe(pages.writer("ann"), GOOD, GOOD)
    bob = pages.writer("bob")
    long_ago = now() - timedelta(days=2)
    with database.write() as connection:
        connection.execute(update(SEAT_ENTRY).values(arrived_at=long_ago))
        connection.execute(update(SEAT_TRY).values(at=long_ago))
    operators(pages).end("ada", "pets")
    assert operators(pages).unread("pets") == []
    assert (ann.get(ann.seat).title, ann.code) == (
        "All items are written.",
        pages.project.seat("ann").code,
    )
    assert bob.get(bob.seat).code == ""


@pytest.mark.locks_or_dialect
def test_a_caption_that_comes_after_the_end_is_not_stored(make, database):
    pages = make()
    pages.writer("ann")
    seat = pages.project.seat("ann")
    exam = Qualification(database)
    stands = exam.standing(seat)
    pages.project.seats.add_event(seat, "withdrew")
    with pytest.raises(ValueError, match="The practice is over"):
        exam.answer(seat, stands, "sample 1", GOOD, True)
    bob = pages.project.seat("bob")
    operators(pages).end("ada", "pets")
    with pytest.raises(ValueError, match="The practice is over"):
        exam.answer(bob, stands, "sample 1", GOOD, True)
    assert rows(database, SEAT_TRY) == []


@pytest.mark.parametrize(("known", "is_read"), [(KNOWN, False), ([], True)])
def test_whoever_enters_reads_how_many_there_are_and_whether_people_read_them(make, known, is_read):
    pages = make(known=known)
    page = Worker(pages.client, operators(pages).link(pages.project.campaign, "ann")).get().html
    assert "First, 2 practice tasks. You need 2 good ones and have 2 tries." in page
    assert ("Some are read by a person" in page) == is_read
