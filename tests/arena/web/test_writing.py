"""Pages of writers without scripts: each step shows what it needs, nothing typed is lost, what is wrong is said."""

import asyncio
import html
import io
import re

import pytest
from PIL import Image

from arena.authoring.draft_worker import DraftWorker
from arena.authoring.drafting import Drafting
from arena.authoring.spec import KINDS
from arena.authoring.store import DraftStore
from arena.budget import DRAFTS, Budget, Ceilings
from arena.database import Database
from arena.seats.campaigns import CampaignStore
from arena.seats.spec import CampaignError
from arena.web.writing_task import KEYS
from tests.support.scripted_vlm import ScriptedVLM
from tests.support.writers import CAPTION, Project, photo
from tests.support.writing_pages import WritingPages, credited

TEXT = "How many balls lie on the grass?"


@pytest.fixture
def pages(database, tmp_path) -> WritingPages:
    return WritingPages.on(database, tmp_path)


def test_four_people_write_an_item_and_nobody_sees_more_than_a_step_needs(pages):
    seen = {}
    for person in ("ann", "bob", "cyd", "dan"):
        writer = pages.writer(person)
        seen[writer.step] = writer.html
        writer.do()
        assert writer.status == 200
    (draft, *_) = pages.project.drafts
    assert draft.state.step == "accepted"
    assert pages.answerable == [draft.id]
    assert list(seen) == ["instruction", "caption", "answer", "verify"]
    assert [step for step, page in seen.items() if "SECRET caption" in page] == ["answer", "verify"]
    assert not any("SECRET answer" in page for page in seen.values())
    assert '<details class="captions">' in seen["verify"]  # folded until it is asked for
    assert '<details class="captions" open>' in seen["answer"]


def test_pictures_come_by_a_form_and_what_was_typed_stays(pages):
    ann = pages.writer("ann").write(
        ("a.jpg", photo(1, gps=True)), ("b.jpg", photo(2)), text=TEXT, act="bring"
    )
    assert ann.status == 200
    assert TEXT in ann.html
    assert ann.html.count('class="brought"') == 2
    picture, *_ = pages.project.writing.store.brought_pictures(
        pages.project.seat("ann"), pages.project.drafts[0].id
    )
    served = pages.client.get(f"/pictures/{picture.sha256}.{picture.suffix}").content
    assert b"Exif" in photo(1, gps=True)
    assert b"Exif" not in served
    assert not Image.open(io.BytesIO(served)).getexif()


@pytest.mark.parametrize(
    "fields, told",
    [
        ({**credited(1, licence="")}, "Picture 1 has no licence"),
        ({**credited(1, source="")}, "Picture 1 has no link to its source"),
        ({}, "An item needs 1 to 10 different pictures, and this has 0. Add or remove some."),
        (
            {**credited(1), "text": "x" * 2001},
            "The text of the instruction has 2001 characters, and the limit is 2000",
        ),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_lost(pages, fields, told):
    ann = pages.writer("ann").write(("a.jpg", photo(1)), act="bring")
    ann.fill(
        {
            "text": TEXT,
            "answer": "Two <b>balls</b>.",
            "statement-1": "as seen",
            **fields,
            "act": "send",
        }
    )
    assert ann.status == 409
    assert told in ann.problem
    for name, value in {
        "text": TEXT,
        "answer": "Two <b>balls</b>.",
        "statement-1": "as seen",
        **fields,
    }.items():
        if value.strip() and not name.startswith(("use", "licence")):
            assert html.escape(value) in ann.html, name
    assert ann.html.count("<textarea") == 2
    ann.fill({"text": TEXT, **credited(1), "act": "send"})
    assert pages.project.drafts[0].state.step == "caption"


def test_pictures_are_numbered_as_they_are_told_of(pages):
    ann = pages.writer("ann").write(("a.jpg", photo(1)), ("b.jpg", photo(2)), act="bring")
    ann.fill({"text": TEXT, **credited(2, licence="")})
    assert "Picture 1 has no licence" in ann.problem
    assert re.findall(r"<legend>([^<]*)", ann.html) == ["Not used", "Picture 1"]


def test_a_file_that_is_no_picture_is_named_and_the_others_are_kept(pages):
    ann = pages.writer("ann").write(
        ("a.pdf", b"%PDF-1.4"), ("b.jpg", photo(2)), text=TEXT, act="bring"
    )
    assert ann.status == 409
    assert ann.problem.startswith("a.pdf: This file is a PDF")
    assert TEXT in ann.html
    assert ann.html.count('class="brought"') == 1
    ann.write(text=TEXT, link="http://example.org/page", act="bring")
    assert "The picture wasn't fetched" in ann.problem
    assert 'value="http://example.org/page"' in ann.html
    many = [(f"{number}.jpg", b"") for number in range(31)]
    assert "30 files at most. Go back" in ann.write(*many, text=TEXT).html


class PictureHost:
    """What answers behind links: a picture, and at one of them a page."""

    async def fetch(self, url: str) -> bytes:
        return b"<!doctype html><html>a page</html>" if url.endswith("page") else photo(7)


def test_a_link_brings_a_picture_or_says_that_it_is_none(pages):
    pages.project.writing._fetcher = PictureHost()
    ann = pages.writer("ann").write(text=TEXT, link="https://example.org/page", act="bring")
    assert (ann.status, "This file is a web page" in ann.problem) == (409, True)
    assert 'value="https://example.org/page"' in ann.html
    ann.write(text=TEXT, link=" https://example.org/dog.jpg ", act="bring")
    assert (ann.status, ann.html.count('class="brought"'), 'name="link" value=""' in ann.html) == (
        200,
        1,
        True,
    )
    ann.fill({"text": TEXT, **credited(1)})
    assert (
        pages.project.drafts[0].state.instruction.pictures[0].url == "https://example.org/dog.jpg"
    )


def test_an_author_is_warned_once_of_what_is_there_already(pages):
    pages.writer("ann").do(1)
    bob = pages.writer("bob")
    bob.write(said="", skip="later")  # the caption is left to others, so that an instruction comes
    assert bob.step == "instruction"
    bob.write(("a.jpg", photo(1)), act="bring")
    fields = {"text": "How many balls lie near animal number 1?", **credited(1), "act": "send"}
    bob.fill(fields)
    assert bob.status == 409
    assert "Picture 1 looks like one in item 1." in bob.html
    assert "almost the same as in another item" in bob.html
    assert pages.project.drafts[2].state.step == "instruction"
    bob.fill(fields)  # the page sends what was read along
    assert pages.project.drafts[2].state.step == "caption"
    assert len(pages.project.drafts[2].state.instruction.warnings) == 2


def test_a_second_browser_is_told_and_shown_what_it_had_written(pages):
    pages.writer("ann").do(1)
    first, second = pages.writer("bob"), pages.writer("bob")
    text = CAPTION.format("here")
    first.fill({"caption-1": text, "act": "send"})
    second.fill({"caption-1": f"{text} too", "act": "send"})
    assert second.status == 409
    assert "You've already sent this" in second.problem
    assert f"{text} too" in second.html
    assert second.step == "instruction"
    assert 'name="text" rows="4" maxlength="2000" dir="auto">\n</textarea>' in second.html
    (draft, *_) = pages.project.drafts
    assert draft.state.captions == (text,)


def test_who_loses_a_step_because_an_author_withdrew_is_shown_what_was_written(pages):
    ann = pages.project.seat("ann")
    pages.project.do(ann)
    bob = pages.writer("bob")
    assert bob.step == "caption"
    pages.project.seats.add_event(ann, "withdrew")
    bob.fill({"caption-1": CAPTION.format("a long wall"), "act": "send"})
    assert (bob.status, bob.step) == (409, "instruction")
    assert "Continue with the next one" in bob.problem
    assert CAPTION.format("a long wall") in bob.html
    bob.get()
    assert (bob.status, bob.step) == (200, "instruction")


def test_a_long_caption_in_chinese_passes_whole(pages):
    pages.writer("ann").do(1)
    text = "一只棕色的狗站在绿色的草地上" * 200
    bob = pages.writer("bob", "zh")
    assert "描述图中内容" in bob.html
    bob.fill({"caption-1": "太短", "act": "send"})
    assert bob.problem.startswith("图片 1 的描述有 2 个词；请写 15 个以上")
    bob.fill({"caption-1": text, "act": "send"})
    assert pages.project.drafts[0].state.captions == (text,)


def test_each_key_says_its_verdict(pages):
    for person in ("ann", "bob", "cyd"):
        pages.writer(person).do()
    dan = pages.writer("dan")
    for key, said in KEYS.items():
        assert f'value="{said}" data-key="{key}"' in dan.html
    dan.write(said=said, note="seen")
    (draft, *_) = pages.project.drafts
    assert (draft.state.judgements, draft.events[-1].value.note) == ((said,), "seen")


def test_who_writes_anew_reads_the_note_and_no_name(pages):
    for person in ("ann", "bob", "cyd"):
        pages.writer(person).do()
    pages.writer("dan").write(said="caption", note="The ball is <blue>.")
    eve = pages.writer("eve")
    assert eve.step == "caption"
    assert "The ball is &lt;blue&gt;." in eve.html
    assert "dan" not in eve.html


def test_a_blind_answer_must_be_judged_too(database, tmp_path):
    pages = WritingPages.on(database, tmp_path, model="writer", blind_model="blind")
    for person in ("ann", "bob"):
        pages.writer(person).do()
    models = [ScriptedVLM("writer", "Two balls."), ScriptedVLM("blind", "Three, I guess.")]
    asyncio.run(pages.project.drafting(*models).answer(pages.project.campaign, pages.answerable[0]))
    dan = pages.writer("dan")
    assert "Three, I guess." in dan.html
    dan.write(said="correct", note="well counted")
    assert "without the picture" in dan.problem
    assert 'value="well counted"' in dan.html
    dan.write(said="correct", blind="no")
    assert pages.project.drafts[0].state.needs_picture is True


@pytest.mark.parametrize("form", [b"", b"piece=x", "x=é&".encode() * 400, b"\xff" * 100])
def test_what_is_no_form_is_answered_in_words(pages, form):
    ann = pages.writer("ann")
    action = html.unescape(re.search(r'action="(/c/~form[^"]*)"', ann.html)[1])
    for kind in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
    ):
        answer = pages.client.post(action, content=form, headers={"content-type": kind})
        assert answer.status_code in (400, 409)
        assert "Traceback" not in answer.text
    assert pages.client.post("/c/~form", data={"act": "send"}).status_code == 403
    assert pages.client.get(action, follow_redirects=False).headers["location"] == ann.path


@pytest.mark.parametrize("charset", ["unicode_escape", "punycode", "undefined"])
def test_a_form_names_no_encoding_of_its_own(pages, charset):
    ann = pages.writer("ann")
    action = html.unescape(re.search(r'action="(/c/~form[^"]*)"', ann.html)[1])
    form = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\na \\ud800\xff b\r\n--x--\r\n'
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    assert (
        pages.client.post(action, content=form, headers={"content-type": kind}).status_code == 400
    )


def test_a_long_number_is_none(pages):
    ann = pages.writer("ann").write(("a.jpg", photo(1)), act="bring", seen="9" * 5000)
    assert (ann.status, ann.html.count('class="brought"')) == (200, 1)


def test_who_took_consent_back_brings_nothing(pages):
    ann = pages.writer("ann")
    pages.client.post(ann.path, data={"act": "withdraw"})
    ann.write(("a.jpg", photo(1)), act="bring")
    assert ann.status == 409
    (draft,) = pages.project.drafts
    assert not pages.project.writing.store.brought_pictures(pages.project.seat("ann"), draft.id)


def test_a_warning_can_be_read_whatever_line_ends_its_text_has(pages):
    ann = pages.writer("ann").write(("a.jpg", photo(1)), act="bring")
    ann.fill({"text": "How many balls\rlie on\n\x1cthe grass?", **credited(1), "act": "send"})
    bob = pages.writer("bob").write(said="", skip="later")
    bob.write(("a.jpg", photo(2)), act="bring")
    fields = {"text": TEXT, **credited(1), "act": "send"}
    bob.fill(fields)
    sure = html.unescape(re.search(r'name="sure" value="([^"]*)"', bob.html)[1])
    assert sure == f"The instruction is almost the same as in another item: {TEXT}"
    bob.fill(fields)
    assert bob.status == 200


def worker_on(database: Database, *vlms: ScriptedVLM) -> DraftWorker:
    """The server's own worker, with models at the seam."""
    vlm = {one.card.name: one for one in vlms}.__getitem__
    budget = Budget(database, Ceilings(10**6, 10**6, 10**6), DRAFTS)
    drafting = Drafting(DraftStore(database), vlm, budget)
    return DraftWorker(CampaignStore(database, KINDS), drafting)


async def _when(is_so) -> None:
    for _ in range(3_000):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it does not come")


def _captioned(database: Database, folder) -> Project:
    project = Project.on(database, folder, model="writer")
    for person in ("ann", "bob"):
        project.do(project.seat(person))
    return project


def test_an_error_that_nobody_foresaw_does_not_end_the_answers(
    database, tmp_path, monkeypatch, caplog
):
    """As from a stored spec that a later rule refuses."""
    monkeypatch.setattr("arena.authoring.draft_worker.SWEEP_SECONDS", 0.02)
    project = _captioned(database, tmp_path)
    worker = worker_on(database, ScriptedVLM("writer", "One ball."))
    places = {worker._campaigns: "all", worker._drafting: "answer"}
    for service, name in places.items():
        call = getattr(service, name)
        errors = [CampaignError("budget is wrong")]

        def failing(*given: object, call=call, errors=errors):
            for error in errors:
                errors.clear()
                raise error
            return call(*given)

        monkeypatch.setattr(service, name, failing)

    async def run() -> None:
        async with worker.running():
            await _when(lambda: project.drafts[0].state.step == "verify")

    asyncio.run(run())
    assert caplog.text.count("CampaignError: budget is wrong") == 2


def test_a_draft_that_is_announced_while_the_server_stops_waits_for_the_next(database, tmp_path):
    project = _captioned(database, tmp_path)
    worker = worker_on(database, ScriptedVLM("writer", "One ball."))

    async def run() -> None:
        async with worker.running():
            await _when(lambda: project.drafts[0].state.step == "verify")

    asyncio.run(run())
    worker.answer_soon(project.campaign, project.drafts[0].id)


def test_a_model_answers_what_was_left_at_the_start_and_what_is_captioned(database, tmp_path):
    project = _captioned(database, tmp_path)
    worker = worker_on(database, ScriptedVLM("writer", "One ball."), ScriptedVLM("blind"))

    async def run() -> None:
        async with worker.running():
            await _when(lambda: project.drafts[0].state.step == "verify")  # due before the start
            for person in ("cyd", "dan"):
                seat = project.seat(person)
                await asyncio.to_thread(project.writing.next, seat)
            project.do(project.seat("ann")), project.do(project.seat("eve"))
            for draft in project.drafts:
                if draft.state.step == "answer":
                    await asyncio.to_thread(worker.answer_soon, project.campaign, draft.id)
            await _when(lambda: all(one.state.step != "answer" for one in project.drafts))

    asyncio.run(run())
    assert not worker._answering
