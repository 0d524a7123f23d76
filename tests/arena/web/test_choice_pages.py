"""Multiple-choice questions on writers' pages: without scripts, and by three people on phones and a text-only model."""

import html
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select, update

from arena.authoring.events import Instruction
from arena.authoring.store import Draft, DraftStore
from arena.authoring.tables import DRAFT_EVENT
from arena.database import Database, now
from arena.seats.links import made_link
from tests.support.axe import faults
from tests.support.live_visitor import card, catalogue
from tests.support.openai_server import OpenAIServer
from tests.support.screens import PHONE, fresh_page
from tests.support.servers import AppServer
from tests.support.writers import ANSWERS, FREE, Project, photo
from tests.support.writing_pages import Writer, WritingPages, credited

TEXT = "How many balls lie on the grass?"
WRITTEN = {
    "text": TEXT,
    "answer": ANSWERS[0],
    **{f"wrong-{number}": text for number, text in enumerate(ANSWERS[1:], 1)},
    **credited(1),
    "act": "send",
}
FAMILY = {
    "name": "counting",
    "wanted": 2,
    "instruction": "How many dogs?",
    "answer": "Two dogs",
    "others": ["One dog", "Three dogs"],
}


@pytest.fixture
def pages(database, tmp_path) -> WritingPages:
    return WritingPages.on(database, tmp_path, kind="multiple choice", families=[FAMILY])


def test_who_answers_sees_every_option_and_not_the_right_one(pages):
    ann = pages.writer("ann")
    assert "Three dogs" in ann.html and "Wrong answers, 1 to 5" in ann.html
    ann.write(("a.jpg", photo(1)), act="bring")
    ann.fill(WRITTEN | {"wrong-1": f" {ANSWERS[0]}. "})
    assert "Two answers are the same: One ball." in html.unescape(ann.problem)
    assert 'name="wrong-3" value="No ball"' in ann.html, "nothing typed is lost"
    assert ann.fill(WRITTEN).status == 200
    (draft,) = pages.project.drafts[:1]
    assert pages.answerable == [draft.id]
    bob = pages.writer("bob", "zh")
    assert bob.step == "verify" and "哪个答案正确？" in bob.html
    assert all(text in bob.html for text in (TEXT, *ANSWERS)) and " checked" not in bob.html
    key = draft.state.instruction.answer
    assert len({_page_with_key(pages, bob, letter) for letter in "ABCD"}) == 1
    _page_with_key(pages, bob, key)
    bob.write(act="send")
    assert bob.problem == "请选择一个答案，或说明题目有什么问题。"
    bob.write(said=key, note="counted twice", act="send")
    (draft,) = pages.project.drafts[:1]
    assert draft.state.step == "accepted" and draft.state.verdicts[0].note == "counted twice"


def _page_with_key(pages: WritingPages, writer: Writer, letter: str) -> str:
    """The page of who answers, if this letter were the right one."""
    mine = DRAFT_EVENT.c.kind == "instruction"
    with pages.project.database.write() as connection:
        row = connection.execute(select(DRAFT_EVENT).where(mine)).first()
        value = Instruction.model_validate_json(row.value).model_copy(update={"answer": letter})
        connection.execute(update(DRAFT_EVENT).where(mine).values(value=value.model_dump_json()))
    return writer.get().html


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[AppServer, Project]]:
    """A server with a sealed project; its text-only model says "A" to every question."""
    folder = tmp_path_factory.mktemp("choices")
    data = folder / "data"
    data.mkdir()
    with OpenAIServer(lambda body, _: "A", models=("one",)) as models:
        with closing(Database(f"sqlite:///{data / 'arena.db'}")) as database:
            project = Project.on(
                database,
                data,
                kind="multiple choice",
                visibility="sealed",
                families=[FAMILY],
                seat={"votes": 20, "pay": 0},
                blind_model="writer",
            )
        running = AppServer(
            data, DEMO_BANK="off", MODELS=catalogue(folder, card("writer", "one", models))
        )
        yield running, project
        running.stop()


def drafts(server: AppServer, project: Project) -> list[Draft]:
    with closing(Database(f"sqlite:///{server.data_dir / 'arena.db'}")) as database:
        return DraftStore(database).drafts(project.campaign)


def begin(page: Page, server: AppServer, project: Project, person: str) -> None:
    until = now() + timedelta(days=1)
    spec = project.campaign.spec
    page.goto(server.address + made_link(project.campaign.key, spec, until, person))
    page.locator(".consent input").check()
    page.locator("button.primary").click()


def do(page: Page, number: int) -> None:
    """Do what the page asks for: write question `number`, choose "One ball", or look for more."""
    if page.locator("[data-step=instruction]").count():
        page.locator("[name=text]").fill(f"How many balls lie near animal number {number}?")
        file = {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": photo(number)}
        page.locator("[name=files]").set_input_files([file])
        expect(page.locator(".brought")).to_have_count(1)
        page.locator("[name=licence-1]").select_option("CC BY")
        page.locator("[name=source-1]").fill(FREE.source)
        page.locator("[name=creator-1]").fill(FREE.creator)
        page.locator("[name=answer]").fill(ANSWERS[0])
        for place, text in enumerate(ANSWERS[1:], 1):
            page.locator(f"[name=wrong-{place}]").fill(text)
        last = page.locator("[name=wrong-3]")
        last.press("Enter")  # sends nothing
        expect(last).to_be_focused()
        if number == 100:
            assert faults(page) == []
    elif page.locator("[data-step=verify]").count():
        page.locator(".pick", has_text=ANSWERS[0]).click()
    with page.expect_navigation():
        page.locator("button[value=send], a.primary").first.click()


def test_three_people_on_phones_fill_a_sealed_project_with_a_text_only_model(server, browser):
    running, project = server
    people = ("ann", "bob", "cyd")
    with ExitStack() as opened:
        screens = [opened.enter_context(fresh_page(browser, PHONE, locale="en")) for _ in people]
        for person, page in zip(people, screens, strict=True):
            begin(page, running, project, person)
        for turn in range(40):
            do(screens[turn % 3], 100 + turn)
            states = [draft.state for draft in drafts(running, project)]
            if [one.step for one in states].count("accepted") == 2:
                break
    written = drafts(running, project)
    assert [draft.state.step for draft in written] == ["accepted"] * 2
    for draft in written:
        assert len(draft.acted_voters) == 2, "nobody acts twice"
        assert draft.state.blind, "the model came before people"
        assert draft.state.needs_picture is (draft.state.instruction.answer != "A")
