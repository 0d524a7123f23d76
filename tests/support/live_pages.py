"""What the browser tests of live battles share: an app with live models, and pages on it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.live_visitor import card, catalogue, picture
from tests.support.openai_server import Body, Faults, OpenAIServer
from tests.support.screens import fresh_page
from tests.support.servers import AppServer

NAMES = {"one": "Quxolotl 7B", "two": "Vellichor XL"}
LONG = (
    "The picture shows a **red square** on a white page.\n\n- It is red.\n- It is square.\n\n"
    "Nothing else is to be seen here."
)
SHORT = "In this picture there is a red square, and it fills nearly everything. <b>Nothing</b> else is there."


def said(body: Body, _: int) -> str:
    """Say one thing at first, and another to a follow-up."""
    text = LONG if body["model"] == "one" else SHORT
    return text if len(body["messages"]) == 1 else f"Again: {text}"


class LiveApp(NamedTuple):
    """An app with live models and the server that speaks for them."""

    app: AppServer
    server: OpenAIServer


@contextmanager
def live_app(
    folder: Path, faults: Faults | None = None, pace: float = 0.01, **environ: str
) -> Iterator[LiveApp]:
    """Run an app with two models."""
    with OpenAIServer(said, faults, models=tuple(NAMES), pace=pace) as server:
        tables = [card(name, model, server) for model, name in NAMES.items()]
        app = AppServer(folder / "data", MODELS=catalogue(folder, *tables), **environ)
        try:
            yield LiveApp(app, server)
        finally:
            app.stop()


@contextmanager
def opened(browser: Browser, address: str, width: int, path: str = "/own") -> Iterator[Page]:
    """Open the page of own pictures, or another, of a new visitor."""
    with fresh_page(browser, width) as page:
        page.goto(f"{address}{path}")
        yield page


def photo(name: str = "red.png", colour: str = "red") -> dict:
    """Return a picture as Playwright uploads it."""
    return {"name": name, "mimeType": "image/png", "buffer": picture(colour, 400)}


def send(page: Page, *files: dict, text: str = "What do you see here?") -> None:
    page.set_input_files("#live-files", list(files or [photo()]))
    expect(page.locator("#live-thumbs li")).to_have_count(max(1, len(files)))
    expect(page.locator("#live-send")).to_be_enabled()
    page.fill("#live-text", text)
    page.press("#live-text", "Enter")


def phase(page: Page, name: str) -> None:
    """Wait until a live battle stands there."""
    expect(page.locator(".dock")).to_have_attribute("data-phase", name, timeout=30_000)


def text(page: Page, side: str) -> Locator:
    """What a side says, which a phone may show or not."""
    return page.locator(f'[data-part="{side}"]')


def words(page: Page, side: str) -> list[str]:
    """Return the words of a side."""
    return re.findall(r"\w+", text(page, side).text_content() or "")
