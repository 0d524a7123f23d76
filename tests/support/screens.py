"""Screens: what the browser tests of every tab do with a page."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import (
    APIResponse,
    Browser,
    Error,
    Frame,
    Page,
    Playwright,
    Route,
    expect,
    sync_playwright,
)

SHOTS = os.environ.get("SHOTS")
"""A folder for screenshots to look at; none are taken without it."""
PHONE, TABLET, DESK = 390, 768, 1280
"""Widths of the window, in px: a screen is looked at in each, and used in one."""
_CHROMIUM_ARGS = (
    (
        "--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking "
        "--disable-component-update --disable-sync --no-first-run "
        "--renderer-process-limit=1"  # else it keeps a process ready for a page to come: a fifth of the work of a load
    ).split()
)


def chromium(playwright: Playwright) -> Browser:
    """Start Chromium without windows, or the one that CHROMIUM names."""
    path = (
        os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
    )
    return playwright.chromium.launch(executable_path=path, args=_CHROMIUM_ARGS)


class PlaywrightLoop:
    """Playwright and its event loop, which counts as the thread's running one only where tests look at pages.

    Else nothing in this thread could run a loop of its own as long as Playwright is there.
    """

    def __init__(self) -> None:
        self.playwright = sync_playwright().start()
        self._loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the loop go on, and rest again at the end."""
        asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        with self.running():
            self.playwright.stop()


_SOON = 270
_SLICE = 2_400
"""In ms: Playwright looks every 50 ms in the shorter time, every 100 ms in this, and every 500 ms in a test's 30 s."""


class PolledAssertions:
    """Playwright's assertions on a page, looked at every 50 ms in the first second and every 100 ms then."""

    def __init__(self, expected: object) -> None:
        self._expected = expected

    def __getattr__(self, name: str) -> Callable[..., None]:
        matcher = getattr(self._expected, name)

        # 30 s: a busy machine is slow, not wrong.
        def look(*values: object, timeout: float = 30_000, **options: object) -> None:
            begun = time.monotonic()
            end = begun + timeout / 1000
            while (left := 1000 * (end - time.monotonic())) > _SLICE:
                is_new = time.monotonic() < begun + 1
                with suppress(AssertionError):
                    return matcher(*values, timeout=_SOON if is_new else _SLICE, **options)
            return matcher(*values, timeout=max(1, left), **options)

        return look


class Kind(NamedTuple):
    """What makes contexts alike."""

    browser: Browser
    options: str


_LEFT: dict[Kind, Page] = {}
"""A quiet page of a context that a visitor left without cookies: it keeps Gradio's scripts compiled for the next."""


@contextmanager
def fresh_page(browser: Browser, width: int, **options) -> Iterator[Page]:
    """Open a page of a new visitor, who has nothing of others but compiled scripts.

    A script error fails the test, and so does what the page's policy refuses.
    """
    kind = Kind(browser, repr(sorted(options.items())))
    quiet = _LEFT.pop(kind, None)
    context = quiet.context if quiet else browser.new_context(**options)
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    _animate(page, 20)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda said: errors.append(said.text) if "Content Security Policy" in said.text else None,
    )
    try:
        yield page
        assert errors == [], errors
    finally:
        if errors or not _leave(kind, page, quiet):
            context.close()


def _animate(page: Page, rate: float) -> None:
    """Let animations run so many times as fast: what keeps a second tap off a button would hold up each click."""
    session = page.context.new_cdp_session(page)
    session.send("Animation.enable")
    session.send("Animation.setPlaybackRate", {"playbackRate": rate})


def _leave(kind: Kind, page: Page, quiet: Page | None) -> bool:
    """Leave a context to the next visitor of this kind, without what makes this one known; False if it cannot be."""
    context = page.context
    if kind in _LEFT:
        return False
    try:
        address = page.evaluate("localStorage.clear() || location.origin")
        # an installed clock stays on the context
        if "native code" not in page.evaluate("String(setTimeout)"):
            return False
        if quiet is None:
            quiet = context.new_page()
            quiet.goto(f"{address}/healthz")
    except Error:  # its server is gone, or the page shows nothing
        return False
    for opened in context.pages:
        if opened != quiet:
            opened.close()
    context.clear_cookies()
    context.set_offline(False)
    _LEFT[kind] = quiet
    return True


def turn(page: Page, name: str) -> None:
    """Open one of the pages in the bar."""
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()


def assert_fits(page: Page, *widths: int) -> None:
    """Nothing makes the page scroll sideways, at its own width or at those given."""
    here = page.viewport_size
    for width in widths or [here["width"]]:
        resize(page, width)
        _wait_until(page, "document.documentElement.scrollWidth <= innerWidth")
    resize(page, here["width"])


def _wait_until(page: Page, true: str) -> None:
    """Wait for an expression, also on a page whose policy lets nothing be evaluated later."""
    for _ in range(1_000):
        if page.evaluate(true):
            return
        page.wait_for_timeout(30)
    raise AssertionError(f"never: {true}")


def resize(page: Page, width: int) -> None:
    """Make the window so wide, unless it is: to lay a page out takes long."""
    if page.viewport_size["width"] != width:
        page.set_viewport_size({**page.viewport_size, "width": width})


def shoot(page: Page, name: str, whole: bool = False) -> None:
    """The screen fits every width; where SHOTS names a folder, keep pictures of what is in view or the whole page."""
    assert_fits(page, PHONE, TABLET, DESK)
    if SHOTS:
        here = page.viewport_size
        for width in (PHONE, TABLET, DESK):
            page.set_viewport_size({**here, "width": width})
            page.wait_for_load_state("networkidle")
            page.screenshot(path=Path(SHOTS) / f"{name}-{width}.png", full_page=whole)
        page.set_viewport_size(here)


LOOKS = 10


def see_both(page: Page | Frame) -> None:
    """Look at both answers of a battle: only then, and when its pictures are there, can one choose."""
    for _ in range(LOOKS):
        expect(page.locator("#choose-a")).to_be_visible(timeout=20_000)
        expect(page.locator(".answer .text:empty")).to_have_count(0)
        expect(page.locator(".dock")).not_to_have_attribute("data-waits", "pictures")
        for side in "ab":
            page.locator(f".subject [data-show={side}]").dispatch_event("click")
            page.locator(f".answer[data-side={side}]").evaluate(
                "card => card.scrollIntoView({ block: 'center' })"
            )
        with suppress(AssertionError):  # these were the answers of the battle before
            expect(page.locator("#choose-a")).to_be_enabled(timeout=2_000)
            return
    expect(page.locator("#choose-a")).to_be_enabled()


def press(page: Page | Frame, selector: str) -> None:
    """Press a button as a keyboard does: a pointer's press right after a change would do nothing."""
    button = page.locator(selector)
    expect(button).to_be_visible()
    expect(button).to_be_enabled()
    button.evaluate("button => button.click()")


def stop_clock(page: Page) -> None:
    """Let no more time pass on a page whose clock is installed than a test lets pass: it may stand still meanwhile."""
    page.clock.pause_at(datetime.fromtimestamp(page.evaluate("Date.now()") / 1000 + 3_600, UTC))


NEVER_BY_ITSELF = """window.setTimeout = new Proxy(window.setTimeout, {
  apply: (real, on, [work, after, ...more]) => after > 2_000 ? 0 : Reflect.apply(real, on, [work, after, ...more]),
}); undefined"""
"""A script of a page on which a choice waits until somebody goes on: a busy machine's test is slower than the page."""


def let_pass(page: Page, milliseconds: int) -> None:
    """Let a page believe that so much time has passed since its last change: it takes no press right after one."""
    page.evaluate(
        """passed => {
          const now = performance.now.bind(performance);
          performance.now = () => now() + passed;
        }""",
        milliseconds,
    )


TYPED = """([key, code, more]) => {
  const event = new KeyboardEvent("keydown", { key, code, bubbles: true, cancelable: true, ...more });
  document.activeElement.dispatchEvent(event);
}"""
"""A script that types a key with its code and more, as another keyboard or an input method does."""


def lose_answer(page: Page, path: str) -> None:
    """Let the next request that fits reach the server, and its answer no one."""

    def lose(route: Route) -> None:
        route.fetch()
        route.abort("connectionreset")

    page.route(path, lose, times=1)


class Late:
    """The first answer to a request that fits is kept back until it is let come."""

    def __init__(self, page: Page, path: str, fn: int | None = None) -> None:
        self._page = page
        self._fn = fn
        self._meant = False
        self._kept: tuple[Route, APIResponse] | None = None
        page.route(path, self._keep)

    def _keep(self, route: Route) -> None:
        if self._meant or (
            self._fn is not None
            and json.loads(route.request.post_data or "{}")["fn_index"] != self._fn
        ):
            route.fallback()
            return
        self._meant = True
        self._kept = (route, route.fetch())

    def wait(self) -> None:
        """Return when the server has answered."""
        for _ in range(1_500):
            if self._kept:
                return
            self._page.wait_for_timeout(20)
        raise AssertionError("nothing fits")

    def come(self) -> None:
        """Let the answer come, and give the page the time to take it wrongly."""
        assert self._kept
        route, answer = self._kept
        route.fulfill(response=answer)
        self._page.wait_for_timeout(300)
