"""Live battles in a real browser: two uploads, both panes growing, stop, vote, names; follow-ups, failures, keys."""

import base64
import io
import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect

from arena.clock import UNDO_SECONDS
from arena.locale import CHINESE, ENGLISH, LOCALES
from tests.support.live_pages import (
    NAMES,
    LiveApp,
    live_app,
    opened,
    phase,
    photo,
    send,
    text,
    words,
)
from tests.support.live_visitor import picture
from tests.support.openai_server import Faults
from tests.support.screens import (
    NEVER_BY_ITSELF,
    PHONE,
    TYPED,
    assert_fits,
    fresh_page,
    press,
    see_both,
    shoot,
    stop_clock,
)


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[LiveApp]:
    with live_app(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture
def page(browser, live) -> Iterator[Page]:
    with opened(browser, live.app.address, PHONE) as tab:
        yield tab


@pytest.fixture
def wide(browser, live) -> Iterator[Page]:
    with opened(browser, live.app.address, 1280) as tab:
        yield tab


def models(page: Page) -> list[str]:
    return page.locator(".answer .model").all_inner_texts()


@pytest.mark.parametrize("locale", LOCALES.values())
def test_where_no_script_runs_a_page_of_battles_says_so_and_has_nothing_to_press(
    browser, live, locale
):
    with fresh_page(browser, PHONE, java_script_enabled=False, locale=locale.language) as page:
        for path in ("/", "/own"):
            page.goto(live.app.address + path)
            expect(page.get_by_role("alert").filter(visible=True)).to_have_text(
                locale.text("pages.scriptless")
            )
            pressable = page.locator("button, input, textarea, summary")
            expect(pressable.filter(visible=True)).to_have_count(0)


GROWTH = ((3, "picture|this"), (6, "red|is"), (10, "white|and"))
"""How many words both have said, and the last whole one of either."""


def test_two_images_are_answered_side_by_side_asked_about_again_voted_on_and_named(page, live):
    shoot(page, "live-form")
    with live.server.silent_after(0), ExitStack() as held:
        send(page, photo("red.png"), photo("blue.png", "blue"))
        phase(page, "growing")
        expect(page.locator("#choose-a")).to_be_disabled()
        for said, shown in GROWTH:
            held.enter_context(live.server.silent_after(said))
            for side in "ab":
                expect(text(page, side)).to_have_text(re.compile(rf"\b({shown})$"))
    phase(page, "open")
    assert models(page) == []
    expect(page.locator("[data-part=subject] figure")).to_have_count(2)
    expect(page.locator(".answer .text strong")).to_have_text("red square")
    assert page.locator(".answer .text b").count() == 0, "what a model wrote stays text"
    assert_follow_up(page, live)
    see_both(page)
    page.clock.install()
    stop_clock(page)
    press(page, "#choose-a")
    expect(page.locator("#status")).to_contain_text("You chose A")
    assert models(page) == []
    page.clock.fast_forward(1_000 * UNDO_SECONDS)
    phase(page, "revealed")
    shoot(page, "live-revealed")
    assert sorted(models(page)) == sorted(NAMES.values())
    expect(page.locator(".answer .chosen")).to_have_count(1)
    assert page.evaluate(
        "[...document.querySelectorAll('[data-part=subject] img')].every(i => i.complete && i.naturalWidth)"
    )
    press(page, "#new")
    expect(page.locator("#live-form")).to_be_visible()
    expect(page.locator("#live-thumbs li")).to_have_count(0)
    assert_fits(page)


def assert_follow_up(page: Page, live: LiveApp) -> None:
    """Both are asked a second question."""
    page.fill("#live-follow", "And what\nelse?")
    with live.server.silent_after(3):
        press(page, "#live-ask")
        phase(page, "growing")
    phase(page, "open")
    expect(page.locator(".answer .asked")).to_have_count(2)
    for side in ("a", "b"):
        assert "Again" in words(page, side)
        assert words(page, side)[0] != "Again", "the first answer stays above"
    expect(page.locator("#status")).to_contain_text("3 left")
    shoot(page, "live-follow")


@pytest.mark.soak
def test_it_can_be_done_by_keyboard_alone(wide, live):
    wide.set_input_files("#live-files", [photo()])
    expect(wide.locator("#live-send")).to_be_enabled()
    wide.focus("#live-text")
    wide.keyboard.type("What is this?")
    wide.keyboard.press("Shift+Enter")
    wide.keyboard.type("Say a lot.")
    with live.server.silent_after(3):
        wide.keyboard.press("Enter")
        phase(wide, "growing")
        assert "Say a lot." in wide.locator("[data-part=subject]").inner_text()
        wide.keyboard.press("a")
    phase(wide, "open")
    wide.keyboard.press("b")
    phase(wide, "voted")
    wide.keyboard.press("z")
    phase(wide, "open")
    expect(wide.locator("#status")).to_contain_text("Vote undone")
    wide.keyboard.press("a")
    phase(wide, "revealed")
    wide.keyboard.press("n")
    expect(wide.locator("#live-text")).to_be_focused()


def test_images_come_by_paste_and_drop_and_can_be_taken_out(wide):
    transfer = """(kind) => {
        const data = new DataTransfer();
        const bytes = Uint8Array.from(atob(PICTURE), (c) => c.charCodeAt(0));
        data.items.add(new File([bytes], `${kind}.png`, { type: "image/png" }));
        const target = kind === "paste" ? document : document.getElementById("live-drop");
        target.dispatchEvent(kind === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true })
            : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    data = base64.b64encode(picture()).decode()
    for kind in ("paste", "drop"):
        wide.evaluate(transfer.replace("PICTURE", f"'{data}'"), kind)
    expect(wide.locator("#live-thumbs li")).to_have_count(2)
    expect(wide.locator("#live-thumbs")).not_to_contain_text("checking")
    wide.get_by_role("button", name="Remove 1").click()
    expect(wide.locator("#live-thumbs li")).to_have_count(1)


def test_an_input_methods_enter_sends_nothing(page):
    page.evaluate("""() => {
      window.sent = 0;
      document.addEventListener("submit", (event) => {
        event.preventDefault();
        event.stopImmediatePropagation();
        window.sent += 1;
      }, true);
    }""")
    page.locator("#live-text").focus()
    for more, sent in (
        ({"keyCode": 229}, 0),
        ({"isComposing": True}, 0),
        ({"shiftKey": True}, 0),
        ({"keyCode": 13}, 1),
    ):
        page.evaluate(TYPED, ["Enter", "Enter", more])
        assert page.evaluate("window.sent") == sent, more


def test_what_is_no_picture_and_too_many_are_told_at_once(wide):
    svg = {
        "name": "drawing.svg",
        "mimeType": "image/svg+xml",
        "buffer": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    }
    wide.set_input_files("#live-files", [svg])
    expect(wide.locator("#live-form-problem")).to_contain_text(
        "drawing.svg: This file is an SVG drawing"
    )
    expect(wide.locator("#live-thumbs li")).to_have_count(0)
    wide.set_input_files("#live-files", [photo(f"{number}.png") for number in range(11)])
    expect(wide.locator("#live-form-problem")).to_contain_text("10 pictures at most. 1")
    expect(wide.locator("#live-thumbs li")).to_have_count(10)
    wide.click("#live-send")
    expect(wide.locator("#live-form-problem")).to_contain_text("Write an instruction")
    wide.focus("#live-text")
    # as a person pastes it: nothing of it is cut off unsaid
    wide.keyboard.insert_text("word " * 4000)
    wide.keyboard.press("Enter")
    expect(wide.locator("#live-form-problem")).to_contain_text("has 20,000 characters")


def page_screenshot() -> bytes:
    """A screenshot of a whole page, 1080 x 12000 pixels."""
    stream = io.BytesIO()
    Image.new("RGB", (1080, 12_000), "white").save(stream, "PNG")
    return stream.getvalue()


def test_every_bad_picture_of_one_drop_is_named_and_a_long_one_is_enlarged_to_be_read(wide):
    bad = {
        "drawing.svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG drawing"),
        "page.html": (b"<!DOCTYPE html><p>", "a web page or XML file"),
        "cut.png": (photo()["buffer"][:60], "broken or cut short"),
    }
    files = [
        {"name": name, "mimeType": "image/png", "buffer": content}
        for name, (content, _) in bad.items()
    ]
    long = {"name": "long.png", "mimeType": "image/png", "buffer": page_screenshot()}
    wide.set_input_files("#live-files", [*files, long])
    problem = wide.locator("#live-form-problem")
    for name, (_, told) in bad.items():
        expect(problem).to_contain_text(re.compile(f"{name}: This .*{told}"))
    expect(wide.locator("#live-thumbs li")).to_have_count(1)
    long_name = {**files[0], "name": f"{'x' * 240}.svg"}
    wide.set_input_files("#live-files", [files[0], long_name])
    expect(problem).to_contain_text(long_name["name"])
    expect(problem).to_contain_text("drawing.svg")
    assert problem.evaluate("line => line.scrollWidth <= line.clientWidth"), "a long name wraps"
    expect(problem).not_to_contain_text("page.html")

    wide.fill("#live-text", "What does it say?")
    wide.press("#live-text", "Enter")
    phase(wide, "open")
    wide.locator("[data-part=subject] .enlarge").click()
    enlarged = wide.locator("#lightbox img")
    expect(enlarged).to_have_class("tall")
    assert enlarged.evaluate("image => [image.naturalWidth, image.clientWidth]") == [600, 600]
    shoot(wide, "live-long-enlarged")


@pytest.mark.soak
def test_on_a_phone_one_chooses_when_both_answers_were_in_sight(page):
    page.set_viewport_size({"width": PHONE, "height": 420})
    send(page, *(photo(f"{number}.png") for number in range(8)))
    phase(page, "open")
    expect(page.locator("#choose-a")).to_be_disabled()
    expect(page.locator(".wait-answers")).to_be_visible()
    page.keyboard.press("a")
    see_both(page)
    expect(page.locator("#choose-a")).to_be_enabled()
    expect(page.locator(".wait-answers")).to_be_hidden()
    page.keyboard.press("a")
    phase(page, "voted")


@pytest.mark.soak
def test_on_a_wide_low_screen_too_one_chooses_when_the_answers_below_the_pictures_were_in_sight(
    wide,
):
    """What stands above the fold until the pictures come has not been in sight."""
    late: list[Route] = []
    wide.route("**/live/images/*", lambda route: late.append(route))
    wide.set_viewport_size({"width": 844, "height": 390})
    wide.fill("#live-text", "ما هذا؟")
    assert wide.locator("#live-text").evaluate("box => getComputedStyle(box).direction") == "rtl"
    send(wide, *(photo(f"{number}.png") for number in range(8)))
    phase(wide, "open")
    expect(wide.locator("#choose-a")).to_be_disabled()
    for route in late:
        route.continue_()
    wide.wait_for_function(
        "[...document.querySelectorAll('[data-part=subject] img')].every(i => i.complete && i.naturalWidth)"
    )
    expect(wide.locator("#choose-a")).to_be_disabled()
    expect(wide.locator(".wait-answers")).to_be_visible()
    see_both(wide)
    expect(wide.locator("#choose-a")).to_be_enabled()


@pytest.mark.soak
def test_an_item_of_the_bank_can_be_taken(page):
    page.click("#live-item")
    expect(page.locator("#live-chosen figure").first).to_be_visible()
    shoot(page, "live-item")
    page.click("#live-send")
    phase(page, "open")
    expect(page.locator("[data-part=subject] figure").first).to_be_visible()
    shoot(page, "live-item-open")


def test_a_reloaded_page_goes_on_where_the_battle_stands(wide, live):
    with live.server.silent_after(3):
        send(wide)
        phase(wide, "growing")
    wide.reload()
    phase(wide, "open")
    expect(wide.locator("#status")).to_contain_text("Which answer is better?")
    expect(wide.locator("[data-part=subject] img")).to_be_visible()
    press(wide, "#choose-a")
    press(wide, "#names")
    phase(wide, "revealed")
    wide.reload()
    phase(wide, "form")


def lose(page: Page, path: str, arrives: bool) -> None:
    """Lose the next request of this path, or only its answer."""

    def handle(route: Route) -> None:
        if arrives:
            route.fetch()
        route.abort("connectionreset")

    page.route(f"**/{path}", handle, times=1)


def test_another_press_where_undo_stood_leaves_no_battle(page, live):
    send(page)
    phase(page, "open")
    see_both(page)
    press(page, "#choose-a")
    press(page, "#undo")
    phase(page, "open")
    expect(page.locator(".third button:visible")).to_have_count(0)
    press(page, "#leave")
    expect(page.locator("#live-form")).to_be_visible()


@pytest.mark.parametrize("arrives", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_acts_without_an_answer_are_asked_for_again_and_done_once(wide, arrives):
    send(wide)
    phase(wide, "open")
    wide.evaluate(NEVER_BY_ITSELF)
    for act, button, problem, then in (
        ("choose", "#choose-a", "not_stored", "voted"),
        ("undo", "#undo", "asked_again", "open"),
        ("choose", "#choose-b", "not_stored", "revealed"),  # the second choice is final
    ):
        lose(wide, f"live/battles/*/{act}", arrives)
        press(wide, button)
        expect(wide.locator("#problem")).to_have_text(ENGLISH.text(f"scripts.{problem}"))
        wide.evaluate("dispatchEvent(new Event('online'))")
        phase(wide, then)
        expect(wide.locator("#problem")).to_have_text("")
    expect(wide.locator("#status")).to_contain_text("You chose B")


def test_a_choice_that_was_on_its_way_when_the_page_was_left_is_sent_once_more(wide):
    send(wide)
    phase(wide, "open")
    wide.evaluate(NEVER_BY_ITSELF)
    lose(wide, "live/battles/*/choose", arrives=False)
    press(wide, "#choose-b")
    expect(wide.locator("#problem")).to_have_text(ENGLISH.text("scripts.not_stored"))
    wide.add_init_script(NEVER_BY_ITSELF)
    wide.reload()
    phase(wide, "voted")
    expect(wide.locator("#status")).to_contain_text("You chose B")


@pytest.mark.soak
def test_a_battle_that_another_tab_decided_is_shown_as_it_stands(wide):
    send(wide)
    phase(wide, "open")
    second = wide.context.new_page()
    second.goto(wide.url)
    phase(second, "open")
    press(second, "#choose-a")
    phase(second, "voted")
    press(wide, "#choose-b")
    expect(wide.locator("#problem")).to_contain_text("You've already chosen A")
    expect(wide.locator("#status")).to_contain_text("You chose A")


@pytest.mark.soak
def test_pictures_that_did_not_reach_a_battle_are_sent_once_more(page, live):
    page.fill("#live-text", "What do you see here?")
    lose(page, "live/images", arrives=False)
    page.set_input_files("#live-files", [photo()])
    expect(page.locator("#live-form-problem")).to_contain_text(ENGLISH.text("scripts.no_answer"))
    lose(page, "live/battles", arrives=True)
    page.click("#live-send")
    expect(page.locator("#live-form-problem")).to_have_text(ENGLISH.text("scripts.no_answer"))
    with live.server.silent_after(3):
        page.click("#live-send")
        phase(page, "growing")
    expect(page.locator("[data-part=subject] img")).to_have_count(1)


@pytest.mark.soak
def test_a_stream_that_is_refused_is_asked_for_again(wide):
    """A proxy may say so while the server starts; the browser by itself would not come back."""
    wide.route(
        "**/live/battles/*", lambda route: route.fulfill(status=502, body="Bad gateway"), times=1
    )
    send(wide)
    expect(wide.locator("#problem")).to_contain_text("Trying again")
    phase(wide, "open")
    expect(wide.locator("#problem")).to_have_text("")


@pytest.mark.parametrize(
    ("status", "gone"),
    [
        (404, "This battle is lost."),
        pytest.param(409, "This battle is elsewhere.", marks=pytest.mark.soak),
    ],
)
def test_a_battle_that_is_not_here_gives_the_form_back(wide, status, gone):
    wide.clock.install()
    wide.route(
        "**/live/battles/*",
        lambda route: route.fulfill(status=status, body=gone, content_type="text/plain"),
    )
    stop_clock(wide)
    send(wide)
    expect(wide.locator("#problem")).to_contain_text("Trying again")
    wide.clock.fast_forward(3_000)
    expect(wide.locator("#live-form-problem")).to_have_text(gone)
    expect(wide.locator("#live-form")).to_be_visible()


@pytest.mark.soak
def test_when_both_fail_the_page_says_so_and_can_try_again(browser, tmp_path):
    """Two models and no stand-in: first all calls fail, then all is well."""
    faults = Faults(rate=1.0, kinds=("cut",), in_a_row=10**6)
    with (
        live_app(tmp_path, faults) as broken,
        opened(browser, broken.app.address, 1280) as page,
    ):
        send(page)
        phase(page, "void")
        expect(page.locator("#status")).to_contain_text("counts for neither")
        shoot(page, "live-void")
        broken.server.faults = Faults()
        press(page, "#again")
        expect(page.locator("#live-thumbs li")).to_have_count(1)
        expect(page.locator("#live-thumbs")).not_to_contain_text("checking")
        page.click("#live-send")
        phase(page, "open")


@pytest.mark.soak
def test_live_battles_speak_the_visitors_language(browser, live):
    with fresh_page(browser, PHONE, locale="zh-CN") as page:
        page.goto(f"{live.app.address}/own")
        expect(page.locator(".live-form .lead")).to_have_text(CHINESE.text("own.lead"))
        expect(page.locator("#live-text")).to_have_attribute(
            "placeholder", CHINESE.text("own.enter")
        )
        page.click("#live-send")
        expect(page.locator("#live-form-problem")).to_have_text(
            CHINESE.translated("Write an instruction first: what should the models do?")
        )
        send(page)
        phase(page, "open")
        expect(page.locator("#status")).to_contain_text(CHINESE.text("live.which_more", left=4))
        expect(page.locator("#choose-a")).to_have_text(CHINESE.text("vote.choose_a"))


def test_a_choice_that_is_on_its_way_keeps_its_battle(page, live):
    send(page)
    phase(page, "open")
    see_both(page)
    page.context.set_offline(True)
    page.keyboard.press("b")
    expect(page.locator("#problem")).to_have_text(ENGLISH.text("scripts.not_stored"))
    expect(page.locator("#new")).to_be_hidden()
    expect(page.locator("#leave")).to_be_hidden()
    page.keyboard.press("n")
    phase(page, "open")
    page.context.set_offline(False)
    expect(page.locator("#status")).to_contain_text("You chose B")


def test_a_question_that_is_sent_twice_is_asked_once_and_without_a_complaint(page, live):
    send(page)
    phase(page, "open")
    page.evaluate(COMPLAINTS)
    page.fill("#live-follow", "And what else?")
    with live.server.silent_after(3):
        page.evaluate("for (const _ of [1, 2]) byId('live-more').requestSubmit()")
        phase(page, "growing")
    phase(page, "open")
    expect(page.locator(".answer .asked")).to_have_count(2)
    assert page.evaluate("complaints") == []


COMPLAINTS = """window.complaints = [];
new MutationObserver(() => { if (byId("problem").textContent) complaints.push(byId("problem").textContent); })
  .observe(byId("problem"), { childList: true });"""
