"""The chat in a real browser: one named model, a conversation with an image."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.live_pages import NAMES, LiveApp, live_app, opened, phase, photo
from tests.support.screens import PHONE, shoot, stop_clock


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[LiveApp]:
    with live_app(tmp_path_factory.mktemp("chat")) as running:
        yield running


@pytest.fixture
def page(browser, live) -> Iterator[Page]:
    with opened(browser, live.app.address, PHONE, "Chat") as tab:
        yield tab


def test_a_conversation_with_a_named_model(page, live):
    page.set_input_files("#chat-files", [photo()])
    expect(page.locator("#chat-send")).to_be_enabled()
    page.select_option("#chat-model", NAMES["two"])
    page.fill("#chat-text", "What is this?")
    with live.server.silent_after(3):
        page.press("#chat-text", "Enter")
        phase(page, "growing", "chat")
    expect(page.locator("#chat-name")).to_have_text(NAMES["two"])
    expect(page.locator("#chat-said")).to_contain_text("red square")
    phase(page, "open", "chat")
    page.fill("#chat-follow", "And what else?")
    page.press("#chat-follow", "Enter")
    expect(page.locator("#chat-said")).to_contain_text("Again:")
    phase(page, "open", "chat")
    expect(page.locator("#chat .asked")).to_have_count(2)
    assert page.locator("#chat-said b").count() == 0, "what a model wrote stays text"
    shoot(page, "chat")
    page.click("#chat-new")
    expect(page.locator("#chat-form")).to_be_visible()
    expect(page.locator("#chat-thumbs li")).to_have_count(0)


@pytest.mark.parametrize(
    ("status", "gone"), [(404, "This conversation is lost."), (409, "This conversation is elsewhere.")]
)
def test_a_conversation_that_is_not_here_gives_the_form_back(page, status, gone):
    page.clock.install()
    page.route("**/chat/talks/*", lambda route: route.fulfill(status=status, body=gone, content_type="text/plain"))
    page.fill("#chat-text", "Are you there?")
    stop_clock(page)
    page.click("#chat-send")
    expect(page.locator("#chat-problem")).to_contain_text("Trying again")
    page.clock.fast_forward(3_000)
    expect(page.locator("#chat-form-problem")).to_have_text(gone)
    expect(page.locator("#chat-form")).to_be_visible()


def test_stop_keeps_what_was_said(page, live):
    page.fill("#chat-text", "Say a lot.")
    with live.server.silent_after(6):
        page.click("#chat-send")
        expect(page.locator("#chat-said .growing")).to_contain_text("picture")
        page.click("#chat-stop")
        phase(page, "open", "chat")
    expect(page.locator("#chat-said")).to_contain_text("(stopped here)")
