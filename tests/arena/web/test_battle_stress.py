"""Acts under stress, in a real browser: lost, late, pressed twice, on another keyboard: one vote or none."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page, Route, expect

from arena.clock import UNDO_SECONDS
from arena.locale import ENGLISH
from tests.support.screens import (
    DESK,
    NEVER_BY_ITSELF,
    PHONE,
    TYPED,
    Late,
    fresh_page,
    let_pass,
    press,
    see_both,
    stop_clock,
)
from tests.support.servers import AppServer
from tests.support.voter import Voter

SOON = "AbortSignal.timeout = ((timeout) => (ms) => timeout(ms / 20))(AbortSignal.timeout.bind(AbortSignal));"
"""A script of a page whose patience ends after less than a second."""
ONLINE = "dispatchEvent(new Event('online'))"
TOO_MANY = {"status": 429, "content_type": "text/plain", "body": "Too many calls."}


class Stored:
    """What was stored of the battles that began since."""

    def __init__(self, server: AppServer) -> None:
        self._path = server.data_dir / "arena.db"
        (self._before,) = self._rows("SELECT coalesce(max(id), 0) FROM battle")[0]

    def _rows(self, query: str) -> list[tuple]:
        with closing(sqlite3.connect(self._path)) as database:
            return database.execute(query).fetchall()

    def votes(self) -> list[str]:
        query = f"SELECT choice FROM battle WHERE id > {self._before} AND choice IS NOT NULL ORDER BY id"
        return [choice for (choice,) in self._rows(query)]


@pytest.fixture
def stored(server) -> Stored:
    return Stored(server)


@pytest.fixture(params=[PHONE, pytest.param(DESK, marks=pytest.mark.soak)])
def battle(request, browser, server, stored) -> Iterator[Page]:
    """A battle of a new visitor that can be voted on; its names come when they are asked for."""
    with fresh_page(browser, request.param) as page:
        page.add_init_script(SOON + NEVER_BY_ITSELF)
        page.goto(server.address)
        see_both(page)
        yield page


def lost(route: Route) -> None:
    route.abort("connectionreset")


def answer_lost(route: Route) -> None:
    route.fetch()
    route.abort("connectionreset")


def refused_by_a_proxy(route: Route) -> None:
    route.fulfill(status=502, content_type="text/html", body="<h1>Bad Gateway</h1>")


def answered_by_a_stranger(route: Route) -> None:
    """As the login page of a network may."""
    route.fulfill(json={"login": 1})


def too_late(route: Route) -> None:
    """The server has it; its answer does not come while the page is patient."""
    route.fetch()


FAULTS = [lost, answer_lost, refused_by_a_proxy, answered_by_a_stranger, too_late]


def test_a_choice_that_is_not_answered_is_sent_again_and_stored_once(battle, stored):
    for number, fault in enumerate(FAULTS, 1):
        battle.route("**/battle/choose", fault, times=1)
        press(battle, "#choose-b")
        expect(battle.locator("#problem")).to_have_text(ENGLISH.text("scripts.not_stored"))
        expect(battle.locator(".dock")).to_have_attribute("data-choice", "b")
        expect(battle.locator("#choose-a")).to_be_disabled()
        battle.evaluate(ONLINE)
        expect(battle.locator("#status")).to_contain_text("You chose B")
        expect(battle.locator("#problem")).to_be_empty()
        assert stored.votes() == ["b"] * number, fault
        take_another(battle)


def take_another(page: Page) -> None:
    """Go on to the next battle without waiting for the end of the undo."""
    press(page, "#names")
    expect(page.locator(".answer .model")).to_have_count(2)
    press(page, "#next")
    see_both(page)


UNTIL_OFFLINE = "async () => { for (;;) { try { await fetch('/healthz'); } catch { return; } } }"
"""On a busy machine a request may still leave after the browser was told that it is offline."""


def test_a_choice_made_offline_is_sent_when_the_line_is_back(browser, server, stored):
    failed: list[str] = []
    with fresh_page(browser, PHONE) as page:
        page.goto(server.address)
        see_both(page)
        page.context.set_offline(True)
        page.evaluate(UNTIL_OFFLINE)
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.keyboard.press("a")
        expect(page.locator("#problem")).to_have_text(ENGLISH.text("scripts.not_stored"))
        page.evaluate(ONLINE)  # it tries again, in vain
        while len(failed) < 2:
            page.wait_for_timeout(20)
        assert stored.votes() == []
        page.context.set_offline(False)
        expect(page.locator("#status")).to_contain_text("You chose A")
        assert stored.votes() == ["a"]


@pytest.mark.parametrize("fault", [answer_lost, pytest.param(lost, marks=pytest.mark.soak)])
def test_a_choice_that_was_not_sent_before_the_page_is_loaded_again_is_sent_then(
    battle, stored, fault
):
    battle.route("**/battle/choose", fault, times=1)
    press(battle, "#choose-a")
    expect(battle.locator("#problem")).to_have_text(ENGLISH.text("scripts.not_stored"))
    battle.reload()
    expect(battle.locator("#status")).to_contain_text("You chose A")
    assert stored.votes() == ["a"]


def test_a_choice_that_was_not_sent_outlives_a_page_that_is_refused_at_first(battle, stored):
    battle.route("**/battle/choose", lost, times=1)
    press(battle, "#choose-b")
    expect(battle.locator("#problem")).to_have_text(ENGLISH.text("scripts.not_stored"))
    battle.route("**/battle/next", lambda route: route.fulfill(**TOO_MANY), times=1)
    battle.reload()
    expect(battle.locator("#problem")).to_have_text("Too many calls.")
    press(battle, "#next")
    expect(battle.locator("#status")).to_contain_text("You chose B")
    assert stored.votes() == ["b"]


def test_a_choice_that_can_no_longer_be_taken_back_offers_no_undo(browser, server):
    with fresh_page(browser, PHONE) as page:
        page.clock.install()
        page.goto(server.address)
        see_both(page)
        stop_clock(page)
        page.route("**/battle/names", lambda route: route.fulfill(**TOO_MANY))
        press(page, "#choose-a")
        expect(page.locator("#undo")).to_be_visible()
        page.clock.fast_forward(1_000 * UNDO_SECONDS)
        expect(page.locator("#problem")).to_have_text("Too many calls.")
        expect(page.locator("#undo")).to_be_hidden()
        page.unroute("**/battle/names")
        page.clock.fast_forward(1_000 * UNDO_SECONDS)
        expect(page.locator(".answer .model")).to_have_count(2)


def go_on(page: Page) -> None:
    press(page, "#choose-a")
    press(page, "#names")
    expect(page.locator(".answer .model")).to_have_count(2)


@pytest.mark.parametrize(
    "fault", [answer_lost, pytest.param(refused_by_a_proxy, marks=pytest.mark.soak)]
)
def test_every_other_act_is_asked_again_too(battle, stored, fault):
    def lose(act: str, pressed: str) -> None:
        battle.route(f"**/battle/{act}", fault, times=1)
        press(battle, pressed)
        expect(battle.locator("#problem")).to_have_text(ENGLISH.text("scripts.asked_again"))
        battle.evaluate(ONLINE)

    press(battle, "#choose-a")
    lose("undo", "#undo")
    expect(battle.locator(".dock")).to_have_attribute("data-phase", "open")
    lose("names", "#choose-b")  # the second choice is final: the names are asked for at once
    expect(battle.locator(".answer .model")).to_have_count(2)
    lose("next", "#next")
    see_both(battle)
    press(battle, "#skip")
    with battle.expect_response("**/battle/skip"):  # of the second asking; the first has none
        lose("skip", "#skip-judge")
    see_both(battle)
    assert stored.votes() == ["b"]


def test_what_the_limits_refuse_is_told_in_their_words_and_can_be_done_again(battle, stored):
    battle.route("**/battle/choose", lambda route: route.fulfill(**TOO_MANY), times=1)
    press(battle, "#choose-a")
    expect(battle.locator("#problem")).to_have_text("Too many calls.")
    expect(battle.locator(".dock")).to_have_attribute("data-choice", "")
    with battle.expect_response("**/battle/hold") as held:
        go_on(battle)
    held.value.finished()
    battle.route("**/battle/next", lambda route: route.fulfill(**TOO_MANY), times=1)
    press(battle, "#next")
    expect(battle.locator("#problem")).to_have_text("Too many calls.")
    press(battle, "#next")
    see_both(battle)
    assert stored.votes() == ["a"]


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.soak)])
def test_a_first_battle_that_does_not_come_is_asked_for_again(browser, server, every):
    with fresh_page(browser, PHONE) as page:
        page.add_init_script(SOON)
        for fault in FAULTS[::every]:
            page.route("**/battle/next", fault, times=1)
            page.goto(server.address)
            see_both(page)


def test_a_first_battle_that_is_refused_can_be_asked_for_again(browser, server):
    """Also one of an item with a name that no item can have: then any item comes."""
    with fresh_page(browser, PHONE) as page:
        refusal = {"status": 503, "content_type": "text/plain", "body": "Busy."}
        page.route("**/battle/next", lambda route: route.fulfill(**refusal), times=1)
        for path, problem in (("/", "Busy."), (f"/item/{'x' * 700}", "the limit is 500")):
            page.goto(server.address + path)
            expect(page.locator("#problem")).to_contain_text(problem)
            press(page, "#next")
            see_both(page)


def test_a_battle_of_another_visitor_gives_way_to_the_next(battle, server, stored):
    battle.context.clear_cookies()
    battle.evaluate("fetch('/')")
    press(battle, "#choose-a")
    expect(battle.locator("#problem")).to_contain_text("Press Next")
    press(battle, "#next")
    see_both(battle)
    assert stored.votes() == []


NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });
}"""


def test_where_storage_is_refused_one_votes(browser, server, stored):
    with fresh_page(browser, PHONE) as page:
        page.add_init_script(NO_STORAGE)
        page.goto(server.address)
        see_both(page)
        page.keyboard.press("a")
        expect(page.locator("#status")).to_contain_text("You chose A")
        assert stored.votes() == ["a"]


def test_pictures_that_did_not_come_are_asked_for_again_when_the_line_is_back(browser, server):
    with fresh_page(browser, PHONE) as page:
        page.route("**/pictures/**", lost)
        page.goto(server.address)
        expect(page.locator(".dock.failed")).to_be_visible()
        page.unroute("**/pictures/**")
        page.evaluate(ONLINE)
        see_both(page)
        expect(page.locator(".dock.failed")).to_have_count(0)


def test_what_came_ahead_is_not_shown_to_who_picks_another_family(battle):
    with battle.expect_response("**/battle/hold") as held:
        go_on(battle)
    first = held.value.json()["parts"]["subject"]
    battle.evaluate("document.getElementById('pick').open = true")
    options = battle.locator("#family option")
    expect(options).not_to_have_count(1)
    others = [name for name in options.all_text_contents()[1:] if f">{name}<" not in first]
    battle.select_option("#family", others[0])
    late = Late(battle, "**/battle/next")
    press(battle, "#next")
    late.wait()
    expect(battle.locator(".dock")).to_have_attribute("data-phase", "revealed")
    late.come()
    expect(battle.locator(".family")).to_have_text(others[0])


def test_two_tabs_on_one_battle_leave_one_vote(battle, server, stored):
    second = battle.context.new_page()
    second.goto(server.address)
    see_both(second)
    press(battle, "#choose-a")
    expect(battle.locator("#status")).to_contain_text("You chose A")
    press(second, "#choose-b")
    expect(second.locator("#problem")).to_contain_text("You've already chosen A")
    expect(second.locator("#status")).to_contain_text("You chose A")
    expect(second.locator(".dock")).to_have_attribute("data-choice", "a")
    assert stored.votes() == ["a"]


def tap_twice(page: Page, selector: str, gap: int) -> None:
    """Press where a button is, by the pointer, and there once more after so many milliseconds."""
    let_pass(page, 700)
    expect(page.locator(selector)).to_be_enabled()
    box = page.locator(selector).bounding_box()
    for wait in (gap, 0):
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(wait)


@pytest.mark.parametrize(
    "width, gaps",
    [
        (PHONE, (0, 300)),
        (DESK, (0,)),
        *(
            pytest.param(width, (gap,), marks=pytest.mark.soak)
            for width in (PHONE, DESK)
            for gap in (100, 200, 300, 450, 600, 700, 900)
        ),
    ],
    ids=str,
)
def test_a_second_press_votes_for_nothing(browser, server, stored, width, gaps):
    """Where Skip, A and Next lie, nothing lies before or after that votes."""
    with fresh_page(browser, width) as page:
        page.add_init_script(NEVER_BY_ITSELF)
        page.goto(server.address)
        for number, gap in enumerate(gaps):
            see_both(page)
            tap_twice(page, "#skip", gap)
            page.keyboard.press("Escape")
            expect(page.locator("#reasons")).to_be_hidden()
            expect(page.locator(".dock")).to_have_attribute("data-phase", "open")
            assert stored.votes() == ["a"] * number
            tap_twice(page, "#choose-a", gap)
            expect(page.locator(".dock")).to_have_attribute("data-phase", "voted")
            assert page.locator(".answer .model").count() == 0
            press(page, "#names")
            expect(page.locator(".answer .model")).to_have_count(2)
            tap_twice(page, "#next", gap)
            expect(page.locator(".dock")).to_have_attribute("data-phase", "open")
            page.wait_for_timeout(300)
            assert stored.votes() == ["a"] * (number + 1)


IGNORED_KEYS: tuple[tuple[str, str, dict], ...] = (
    ("q", "KeyA", {}),  # AZERTY: by letter
    ("a", "KeyA", {"ctrlKey": True}),
    ("a", "KeyA", {"modifierAltGraph": True}),
    ("a", "KeyA", {"isComposing": True}),
    ("a", "KeyA", {"repeat": True}),
)
CHOOSING_KEYS = (
    (("ф", "KeyA"), ("и", "KeyB")),  # Cyrillic: by place
    (("a", "KeyQ"), ("A", "KeyA")),  # AZERTY: by letter; Caps Lock
)
"""Of two battles: a first choice, and one after it was taken back."""


def test_a_key_is_the_letter_typed_or_its_place_where_the_layout_has_none(battle, stored):
    for key in IGNORED_KEYS:
        battle.evaluate(TYPED, key)
        expect(battle.locator(".dock")).to_have_attribute("data-choice", "")
    for first, second in CHOOSING_KEYS:
        battle.evaluate(TYPED, [*first, {}])
        expect(battle.locator("#status")).to_contain_text("You chose A")
        press(battle, "#undo")
        expect(battle.locator(".dock")).to_have_attribute("data-phase", "open")
        battle.evaluate(TYPED, [*second, {}])
        expect(battle.locator(".answer .model")).to_have_count(2)
        press(battle, "#next")
        see_both(battle)
    assert stored.votes() == ["b", "a"]


def test_a_page_that_is_loaded_again_still_offers_the_undo(battle, server, stored):
    def more_time(route: Route) -> None:
        scene = route.fetch().json()
        route.fulfill(json={**scene, "seconds": 30 if scene["phase"] == "voted" else 0})

    press(battle, "#choose-a")
    expect(battle.locator("#undo")).to_be_visible()
    battle.route("**/battle/next", more_time)
    battle.reload()
    expect(battle.locator("#status")).to_contain_text("You chose A")
    expect(battle.locator("#undo")).to_be_visible()
    with Voter(server.address) as voter:
        voter.load()
        voter.choose("a")
        assert voter.load()["phase"] == "voted"
        assert 0 < voter.scene["seconds"] <= 3
        assert voter.undo()["phase"] == "open"
    assert stored.votes() == ["a"]


SHIFTS = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""
SLOW_LINE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 200_000,
    "uploadThroughput": 93_750,
}
IS_ADOPTED = (
    "document.querySelector('gradio-app')?.contains(document.getElementById('scene-frame'))"
)


@pytest.mark.parametrize("width", [PHONE, pytest.param(DESK, marks=pytest.mark.soak)])
def test_nothing_moves_on_a_slow_line(browser, server, width):
    with fresh_page(browser, width, viewport={"width": width, "height": 844}) as page:
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.send("Network.emulateNetworkConditions", SLOW_LINE)
        page.add_init_script(SHIFTS)
        page.goto(server.address, wait_until="commit")
        page.wait_for_function(IS_ADOPTED, timeout=60_000)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.shift") < 0.05


@pytest.fixture
def without_gradio(browser, server, stored) -> Iterator[Page]:
    """A battle whose page gets nothing of Gradio's."""
    with fresh_page(browser, PHONE) as page:
        page.route("**/assets/**", lost)
        page.goto(server.address)
        yield page


def test_without_gradios_assets_one_votes_and_sees_the_names(without_gradio, stored):
    see_both(without_gradio)
    press(without_gradio, "#choose-a")
    expect(without_gradio.locator("#status")).to_contain_text("You chose A")
    press(without_gradio, "#names")
    expect(without_gradio.locator(".answer .model")).to_have_count(2)
    assert stored.votes() == ["a"]


def test_the_line_below_the_buttons_keeps_its_height_when_the_terms_go(browser, server, stored):
    with fresh_page(browser, PHONE) as page:
        page.goto(server.address)
        below = page.locator(".below")
        expect(page.locator(".terms")).to_be_visible()
        see_both(page)
        before = below.evaluate("(below) => below.offsetHeight")
        assert before > 40
        press(page, "#choose-a")
        expect(page.locator(".terms")).to_have_count(0)
        assert below.evaluate("(below) => below.offsetHeight") == before
        press(page, "#names")
        expect(page.locator(".answer .model")).to_have_count(2)
        assert below.evaluate("(below) => below.offsetHeight") == before
        press(page, "#next")
        see_both(page)
        assert below.evaluate("(below) => below.offsetHeight") == 32


PLACES = """() => [".lead", ".subject", ".answers", ".dock", "#choose-a", "#pick", ".foot"].map((name) => {
  const { x, y, width, height } = document.querySelector(name).getBoundingClientRect();
  return [name, x, y, width, height].join(" ");
})"""


@pytest.mark.parametrize("width", [DESK, pytest.param(PHONE, marks=pytest.mark.soak)])
def test_gradios_component_takes_the_frame_in_and_nothing_jumps(browser, server, stored, width):
    with fresh_page(browser, width) as page:
        page.add_init_script(NEVER_BY_ITSELF)
        late = Late(page, "**/assets/index-*.js")
        page.goto(server.address)
        late.wait()
        see_both(page)
        press(page, "#choose-a")
        expect(page.locator("#status")).to_be_focused()
        places = page.evaluate(PLACES)
        assert not page.evaluate(IS_ADOPTED)
        late.come()
        page.wait_for_function(IS_ADOPTED)
        expect(page.locator("#status")).to_be_focused()
        assert page.evaluate(PLACES) == places
        expect(page.locator("#status")).to_contain_text("You chose A")
        press(page, "#undo")
        expect(page.locator("#status")).to_contain_text("Vote undone")
        assert stored.votes() == []
