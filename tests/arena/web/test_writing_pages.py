"""Writing items in a browser: three people and a model fill a sealed project, by keys where there are keys."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Page, expect

from arena.authoring.store import DraftStore
from arena.database import Database, now
from arena.seats.campaigns import Campaign
from arena.seats.links import made_link
from tests.support.axe import faults
from tests.support.blindness import told
from tests.support.live_visitor import card, catalogue
from tests.support.openai_server import OpenAIServer
from tests.support.screens import DESK, PHONE, TABLET, fresh_page, shoot
from tests.support.servers import AppServer
from tests.support.writers import CAPTION, FREE, Project, photo

MARK, REFERENCE = "Zyxomma", "Quillwort"
"""In each caption, and in each author's own answer."""
PEOPLE = ("ann", "bob", "cyd")


class WritingApp(NamedTuple):
    """A server with a sealed project whose answers a model drafts, and some whose answers people write."""

    server: AppServer
    sealed: Campaign
    fresh: Campaign
    captioned: Campaign
    """Its first item has its caption."""
    pasted: Campaign

    def link(self, campaign: Campaign, person: str) -> str:
        return self.server.address + made_link(
            campaign.key, campaign.spec, now() + timedelta(days=1), person
        )

    def accepted(self, campaign: Campaign) -> int:
        with closing(Database(f"sqlite:///{self.server.data_dir / 'arena.db'}")) as database:
            return sum(
                one.state.step == "accepted" for one in DraftStore(database).drafts(campaign)
            )


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Iterator[WritingApp]:
    folder = tmp_path_factory.mktemp("writing")
    data = folder / "data"
    data.mkdir()
    (data / "example.jpg").write_bytes(photo(0))
    family = {
        "name": "Counting",
        "wanted": 30,
        "hint": "Count, and say *what*.",
        "instruction": "How many dogs?",
        "answer": "Two dogs.",
        "pictures": ["example.jpg"],
    }
    with OpenAIServer(lambda body, _: "There is one ball.", models=("one",)) as models:
        with closing(Database(f"sqlite:///{data / 'arena.db'}")) as database:
            shared = {"families": [family], "seat": {"votes": 200, "pay": 0}}
            sealed = {"model": "writer", "visibility": "sealed", "budget": 1.0}
            made = [Project.on(database, data, name="sealed", **shared, **sealed)]
            made += [
                Project.on(database, data, name=name, **shared)
                for name in ("fresh", "captioned", "pasted")
            ]
            for person in ("ann", "bob"):
                made[2].do(made[2].seat(person))
        server = AppServer(
            data, DEMO_BANK="off", MODELS=catalogue(folder, card("writer", "one", models))
        )
        yield WritingApp(server, *(one.campaign for one in made))
        server.stop()


def begin(page: Page, link: str) -> None:
    page.goto(link)
    page.locator(".consent input").check()
    page.locator("button.primary").click()


def step_of(page: Page) -> str:
    docked = page.locator("[data-step]")
    return str(docked.get_attribute("data-step")) if docked.count() else ""


def bring(page: Page, *seeds: int) -> None:
    """Choose files, which the page sends by itself."""
    files = [
        {"name": f"{seed}.jpg", "mimeType": "image/jpeg", "buffer": photo(seed, gps=True)}
        for seed in seeds
    ]
    before = page.locator(".brought").count()
    page.locator("[name=files]").set_input_files(files)
    expect(page.locator(".brought")).to_have_count(before + len(seeds))


def credit(page: Page, number: int) -> None:
    page.locator(f"[name=licence-{number}]").select_option("CC BY")
    page.locator(f"[name=source-{number}]").fill(FREE.source)
    page.locator(f"[name=creator-{number}]").fill(FREE.creator)


def send(page: Page) -> None:
    page.locator("button[value=send]").click()


def do(page: Page, seed: int) -> str:
    """Do the step that the page asks for; return its name, empty after a look for more."""
    step = step_of(page)
    with page.expect_navigation():
        if step == "instruction":
            page.locator("[name=text]").fill(f"How many balls lie near animal number {seed}?")
            page.locator("[name=answer]").fill(f"{REFERENCE} {seed}")
            bring(page, seed)
            credit(page, 1)
            send(page)
        elif step == "caption":
            page.locator("[name=caption-1]").fill(CAPTION.format(MARK))
            send(page)
        elif step == "verify":
            page.keyboard.press("y")
        else:
            page.locator("a.primary").click()
    return step


def fill(app: WritingApp, browser, items: int) -> list[tuple[str, bytes]]:
    """Let three people do what comes until so many items are accepted; return what each page was, with its step."""
    wire: list[tuple[str, bytes]] = []
    with ExitStack() as opened:
        pages = [opened.enter_context(fresh_page(browser, PHONE, locale="en")) for _ in PEOPLE]
        for person, page in zip(PEOPLE, pages, strict=True):
            begin(page, app.link(app.sealed, person))
        for turn in range(60 * items):
            page = pages[turn % 3]
            wire.append((step_of(page), page.content().encode()))
            if do(page, 100 + turn) == "verify" and app.accepted(app.sealed) >= items:
                return wire
    raise AssertionError(f"{app.accepted(app.sealed)} of {items} items were accepted")


@pytest.mark.parametrize("items", [1, pytest.param(20, marks=pytest.mark.soak)])
def test_three_people_fill_a_sealed_project_and_its_texts_stay_where_they_are_needed(
    app, browser, items
):
    there = app.accepted(app.sealed)
    wire = fill(app, browser, there + items)
    steps = {step for step, _ in wire}
    assert {"instruction", "caption", "verify"} <= steps <= {"instruction", "caption", "verify", ""}
    assert {step for step, page in wire if told({MARK}, page)} == {"verify"}
    assert not any(told({REFERENCE}, page) for _, page in wire)
    public = [
        httpx.get(f"{app.server.address}{path}").content
        for path in ("/", "/results", "/c/sealed", "/you")
    ]
    assert not any(told({MARK, REFERENCE}, page) for page in public)


@pytest.mark.soak
def test_the_screens_of_an_author_and_a_captioner(app, browser):
    with fresh_page(browser, DESK, locale="en") as page:
        begin(page, app.link(app.fresh, "ann"))
        shoot(page, "write-instruction", whole=True)
        page.locator("[name=text]").fill("How many balls are there?")
        bring(page, 51, 52)
        expect(page.locator("[name=text]")).to_have_value("How many balls are there?")
        credit(page, 1)
        send(page)
        expect(page.locator("#problem")).to_contain_text("Picture 2 has no licence")
        expect(page.locator("[name=creator-1]")).to_have_value("Ada")
        shoot(page, "write-refused", whole=True)
        assert faults(page) == []
        credit(page, 2)
        send(page)
        expect(page.locator("#lead")).to_contain_text("2 of 200")
    with fresh_page(browser, PHONE, color_scheme="dark", locale="en") as page:
        begin(page, app.link(app.fresh, "bob"))
        first = page.locator("[name=caption-1]")
        first.fill("A dog on the grass.")
        expect(page.locator(".count").first).to_contain_text("5 words. Write 10 more")
        send(page)
        expect(page.locator("#problem")).to_contain_text("has 5 words")
        for number in (1, 2):
            page.locator(f"[name=caption-{number}]").fill(CAPTION.format("far"))
        expect(page.locator(".count").first).to_contain_text("20 words. Would they know how many")
        shoot(page, "write-caption", whole=True)
        assert faults(page) == []
        send(page)
        expect(page.locator("[data-step=instruction]")).to_be_visible()


@pytest.mark.soak
def test_the_screens_of_who_answers_and_who_verifies_by_keys(app, browser):
    with fresh_page(browser, TABLET, locale="en") as page:
        begin(page, app.link(app.captioned, "cyd"))
        expect(page.locator("details.captions .said").first).to_be_visible()
        shoot(page, "write-answer", whole=True)
        page.locator("[name=text]").fill("There are **two** balls.")
        send(page)
        expect(page.locator("[data-step=instruction]")).to_be_visible()
    with fresh_page(browser, DESK, color_scheme="dark", locale="en") as page:
        begin(page, app.link(app.captioned, "dan"))
        expect(page.locator(".said b, .said strong")).to_have_text("two")
        expect(page.locator("details.captions .said").first).to_be_hidden()
        page.locator("details.captions summary").click()
        expect(page.locator("details.captions .said").first).to_be_visible()
        page.locator("[name=note]").fill("a ia c")  # letters in a note are letters
        shoot(page, "write-verify", whole=True)
        assert faults(page) == []
        page.locator("#asked").click()
        page.keyboard.press("i")
        expect(page.locator("[data-step=instruction]")).to_be_visible()
        assert page.locator("dialog[open]").count() == 0
    with closing(Database(f"sqlite:///{app.server.data_dir / 'arena.db'}")) as database:
        draft = DraftStore(database).drafts(app.captioned)[0]
    assert (draft.state.fault, draft.state.verdicts[0].note) == ("instruction", "a ia c")


def test_a_picture_that_is_pasted_or_dropped_is_brought(app, browser):
    script = """([name, bytes]) => {
      const files = new DataTransfer();
      files.items.add(new File([new Uint8Array(bytes)], name, { type: "image/jpeg" }));
      const event = name === "drop" ? new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true })
        : new ClipboardEvent("paste", { clipboardData: files, bubbles: true, cancelable: true });
      document.querySelector(name === "drop" ? ".bring" : "[name=text]").dispatchEvent(event);
    }"""
    with fresh_page(browser, DESK, locale="en") as page:
        begin(page, app.link(app.pasted, "eve"))
        for number, name in enumerate(("drop", "paste"), 1):
            page.evaluate(script, [name, list(photo(40 + number))])
            expect(page.locator(".brought")).to_have_count(number)
        source = str(page.locator(".brought img").first.get_attribute("src"))
        assert re.fullmatch(r"pictures/[0-9a-f]{64}\.thumb\.jpg", source)


def test_what_was_typed_is_there_after_a_form_that_did_not_arrive(app, browser):
    with fresh_page(browser, DESK, locale="en") as page:
        begin(page, app.link(app.pasted, "fay"))
        bring(page, 61)
        page.locator("[name=text]").fill("How many balls are there?")
        credit(page, 1)
        page.locator("[name=use-1]").uncheck()
        page.route("**/c/~form*", lambda route: route.abort(), times=1)
        send(page)
        page.wait_for_url("chrome-error:**")
        page.go_back()
        expect(page.locator("[name=text]")).to_have_value("How many balls are there?")
        expect(page.locator("[name=creator-1]")).to_have_value(FREE.creator)
        expect(page.locator("[name=use-1]")).not_to_be_checked()
        bring(page, 62)
        expect(page.locator("[name=use-2]")).to_be_checked()
        page.locator("[name=use-1]").check()
        page.locator("[name=use-2]").uncheck()
        with page.expect_navigation():
            send(page)
        assert step_of(page) == "instruction"
        expect(page.locator("[name=text]")).to_be_empty()
