"""The Vote page: what its scenes say, over HTTP; and in a real browser, by mouse, finger and keyboard."""

import re
import sqlite3
import time
from contextlib import closing
from itertools import combinations
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page, expect

from arena.battles.store import SKIPS_AT_LEAST
from arena.clock import UNDO_SECONDS
from arena.database import Database
from arena.items.store import ItemBank
from arena.locale import CHINESE, ENGLISH
from arena.web.pictures import BATTLE_BYTES
from tests.support.leaderboard_page import choose
from tests.support.screens import (
    DESK,
    NEVER_BY_ITSELF,
    PHONE,
    TABLET,
    Late,
    assert_fits,
    fresh_page,
    let_pass,
    press,
    see_both,
    shoot,
    stop_clock,
    turn,
)
from tests.support.visitors import Visitor
from tests.support.voter import EventError, Voter

SUBJECT = '[data-part="subject"]'
ANSWER = '[data-part="a"]'
ANSWERS = (
    "() => ['a', 'b'].map(side => document.querySelector(`[data-part=${side}]`).innerHTML).join()"
)


# What scenes say.
def names(voter: Voter) -> list[str]:
    return [
        name
        for side in "ab"
        for name in re.findall('class="model"[^>]*>([^<]+)', voter.parts[f"title-{side}"])
    ]


def test_a_choice_can_be_taken_back_once_and_then_the_names_are_told(server):
    with Voter(server.address) as voter:
        voter.load()
        assert "undo once" in voter.parts["below"]
        voter.choose("b")
        assert (
            voter.parts["status"]
            == f"You chose B. {ENGLISH.text('vote.undo_once', seconds=UNDO_SECONDS)}"
        )
        assert 0 < voter.scene["seconds"] <= UNDO_SECONDS
        voter.undo()
        assert voter.parts["status"] == ENGLISH.text("vote.taken_back")
        voter.choose("a")
        assert (voter.parts["status"], voter.scene["seconds"]) == ("You chose A.", 0)
        with pytest.raises(EventError, match="final"):
            voter.undo()
        assert names(voter) == []
        voter.wait_out_undo()
        first, second = names(voter)
        assert f">You chose A: <b>{first}</b>.<" in voter.parts["status"]
        assert f">B is <b>{second}</b>.<" in voter.parts["status"]
        assert "Your votes: 1" in voter.parts["lead"]
        voter.next()
        assert (names(voter), voter.parts["below"]) == ([], "")


def test_a_page_that_is_loaded_again_shows_no_name_and_goes_on_once_they_were_told(server):
    with Voter(server.address) as voter:
        battle = voter.load()["about"]
        voter.choose("a")
        assert voter.load()["about"] == battle
        assert (voter.scene["phase"], names(voter)) == ("voted", [])
        voter.wait_out_undo()
        assert len(names(voter)) == 2
        assert voter.load()["about"] != battle
        assert (voter.scene["phase"], names(voter)) == ("open", [])


def test_what_is_shown_already_is_not_sent_again(server):
    with Voter(server.address) as voter:
        voter.load()
        voter.choose("a")
        voter.wait_out_undo()
        held = voter.act("hold")
        assert (held["phase"], held["battle"]) == ("held", "")
        scene = voter.act("next", shown=held["about"])
        assert scene["about"] == held["about"]
        assert not {"subject", "a", "b"} & set(scene["parts"])


def test_battles_of_one_family_follow_each_other(server):
    with Voter(server.address) as voter:
        voter.load()
        for reason in ("cannot judge", "image broken", "offensive"):
            voter.skip(reason, family="counting")
            assert '<span class="family">counting</span>' in voter.parts["subject"]
        assert voter.next("counting")["battle"] == voter.token
        found = voter.act("search", family="counting")["parts"]["results"]
        assert found.count("<small>counting") == found.count("<li>") > 0


def test_a_reveal_tells_ranks_others_and_the_reference_and_leads_to_the_models(start_server):
    server = start_server()
    with closing(Database(f"sqlite:///{server.data_dir / 'arena.db'}")) as database:
        item = next(iter(ItemBank(database).bank().items.values()))
        for number in range(5):
            person = Visitor(database, f"other {number}")
            for _ in combinations(item.contestants, 2):
                person.reveal(person.vote(person.serve_on(item.id), "a"))
    with Voter(server.address) as voter:
        voter.load(item.key)
        voter.choose("a")
        voter.wait_out_undo()
        for _ in range(100):  # no undo time has passed, in which the board would have been computed
            if (
                ENGLISH.text("reveal.provisional") in voter.parts["title-a"]
                or "rank" in voter.parts["title-a"]
            ):
                break
            time.sleep(0.05)
            voter.wait_out_undo()
        assert re.search(r"(0|100)% of 5 people agree with you\.", voter.parts["status"])
        for side, name in zip("ab", names(voter), strict=True):
            title = voter.parts[f"title-{side}"]
            assert f'href="model/{quote(name, safe="")}"' in title
            assert re.search(r"rank \d of \d|too few votes to rank", title)
        is_shown = "human-verified reference" in names(voter)
        assert ('class="reference"' in voter.parts["outcome"]) != is_shown


def test_every_tenth_vote_shows_which_models_one_preferred(server):
    with Voter(server.address) as voter:
        voter.load()
        for number in range(1, 11):
            voter.choose("a")
            voter.wait_out_undo()
            outcome = voter.parts["outcome"]
            assert ('class="mine"' in outcome) == (number == 10)
            voter.next()
    rows = re.findall(r"<span>(\d+) of (\d+)</span>", outcome)
    assert [sum(map(int, column)) for column in zip(*rows, strict=True)] == [10, 20]


# In a browser.
def open_battle(page: Page, address: str, path: str = "/") -> None:
    page.goto(address + path)
    see_both(page)


def reveal(page: Page, key: str = "a") -> None:
    see_both(page)
    page.keyboard.press(key)
    press(page, "#names")
    expect(page.locator(".answer .model")).to_have_count(2)


def answers_of(page: Page) -> str:
    """Return both answers; one of them may come again in the next battle."""
    return page.evaluate(ANSWERS)


def is_another(page: Page, before: str) -> None:
    """Wait for another battle than that of these answers."""
    expect(page.locator(".dock")).to_have_attribute("data-phase", "open")
    page.wait_for_function(f"before => ({ANSWERS})() !== before", arg=before)


def test_a_vote_from_random_item_to_reveal_to_leaderboard(page, server):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.clock.install()
    open_battle(page, server.address)
    stop_clock(page)
    expect(page.locator(".demo")).to_have_text("demo items")
    expect(page.locator(".counter")).to_have_text("Your votes: 0")
    press(page, "#choose-a")
    expect(page.locator("#status")).to_contain_text("You chose A")
    expect(page.locator("#status")).to_be_focused()
    page.clock.fast_forward(1_000 * UNDO_SECONDS - 500)
    assert page.locator(".answer .model").count() == asked.count("names") == 0
    page.clock.fast_forward(500)
    expect(page.locator(".answer .model")).to_have_count(2)
    expect(page.locator(".chosen")).to_have_count(1)
    expect(page.locator(".counter")).to_have_text("Your votes: 1")
    shown = page.locator(".answer .model").all_inner_texts()
    shoot(page, "revealed")
    has_several = page.locator(f"{SUBJECT} figure").count() > 1
    page.clock.resume()  # a chip taken before the page is ready shows its board at the next look
    turn(page, "Results")
    choose(page, "Pictures", "Several pictures" if has_several else "One picture")
    expect(page.locator("#board caption")).to_contain_text(
        "several pictures" if has_several else "one picture"
    )
    for name in shown:
        expect(page.get_by_role("rowheader", name=name, exact=True)).to_be_visible()
    turn(page, "Vote")
    expect(page.locator("#choose-a")).to_be_visible()
    expect(page.locator(".answer .model")).to_have_count(0)


def test_an_undo_stops_the_names_also_while_it_is_on_its_way(page, server):
    page.clock.install()
    open_battle(page, server.address)
    stop_clock(page)
    press(page, "#choose-a")
    expect(page.locator("#undo")).to_be_visible()
    late = Late(page, "**/battle/undo")
    press(page, "#undo")
    late.wait()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(1_000 * UNDO_SECONDS + 200)
    late.come()
    expect(page.locator("#status")).to_contain_text("Vote undone. Choose again")
    page.clock.fast_forward(1_000 * UNDO_SECONDS + 200)
    page.wait_for_timeout(300)
    assert [url for url in asked if url.endswith("names")] == []
    press(page, "#choose-b")
    expect(page.locator("#status")).to_contain_text("You chose B")
    expect(page.locator("#undo")).to_be_hidden()


def test_keys_alone_vote_undo_skip_enlarge_and_go_on(page, server):
    page.add_init_script(NEVER_BY_ITSELF)
    open_battle(page, server.address)
    page.keyboard.press("i")
    expect(page.locator("#lightbox")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator("#status")).to_contain_text("You chose A")
    page.keyboard.press("z")
    expect(page.locator("#status")).to_contain_text("Vote undone")
    page.keyboard.press("b")
    expect(page.locator(".answer .model")).to_have_count(2)  # what was chosen again is final
    first = answers_of(page)
    page.keyboard.press("n")
    is_another(page, first)
    expect(page.locator("#instruction-heading")).to_be_focused()
    second = answers_of(page)
    page.keyboard.press("s")
    expect(page.locator("#skip-judge")).to_be_focused()
    shoot(page, "skip")
    page.keyboard.press("s")
    expect(page.locator("#reasons")).to_be_hidden()
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("s")
    expect(page.locator("#reasons")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(page.locator("#reasons")).to_be_hidden()
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    is_another(page, second)
    expect(page.locator("#reasons")).to_be_hidden()


@pytest.mark.soak
def test_tab_and_enter_alone_are_enough_and_the_battle_has_a_skip_link(page, server):
    open_battle(page, server.address)
    page.evaluate("document.activeElement.blur()")
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#instruction-heading")).to_be_focused()
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "choose-b":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("You chose B")


def test_keys_rest_in_fields_and_when_switched_off(page, server):
    open_battle(page, server.address)
    page.get_by_text("Choose an item").click()
    page.locator("#search").press_sequentially("a bans")
    expect(page.locator(".dock")).to_have_attribute("data-phase", "open")
    page.locator("#keys-switch").uncheck()
    page.keyboard.press("a")
    page.reload()
    see_both(page)
    expect(page.locator("#keys-switch")).not_to_be_checked()
    page.keyboard.press("a")
    expect(page.locator(".dock")).to_have_attribute("data-choice", "")
    page.locator("#keys-switch").check()
    page.keyboard.press("a")
    expect(page.locator("#status")).to_contain_text("You chose A")


def test_an_item_is_found_by_family_and_words_and_its_images_enlarge(page, server):
    open_battle(page, server.address)
    page.get_by_text("Choose an item").click()
    many = page.locator(".results a", has_text=re.compile(r"[234]\spictures")).first
    words = many.locator("span").inner_text().rstrip("…")
    late = Late(page, "**/battle/search")
    page.fill("#search", "no such words anywhere")
    late.wait()
    page.fill("#search", words)
    expect(page.locator(".results li")).to_have_count(1)
    late.come()
    expect(page.locator(".results li")).to_have_count(1)
    page.fill("#search", "no such words anywhere")
    expect(page.locator("#results")).to_contain_text("No items found")
    page.fill("#search", words)
    page.locator(".results a").first.click()
    page.wait_for_url("**/item/*")
    expect(page.locator(f"{SUBJECT} figure").nth(1)).to_be_visible()
    count = page.locator(f"{SUBJECT} figure").count()
    captions = page.locator(f"{SUBJECT} figcaption").all_inner_texts()
    assert captions == [f"Picture {number}" for number in range(1, count + 1)]
    page.locator(".enlarge").nth(1).click()
    lightbox = page.locator("#lightbox")
    expect(lightbox).to_contain_text(f"Picture 2 of {count}")
    shoot(page, "enlarged")
    page.keyboard.press("ArrowLeft")
    expect(lightbox).to_contain_text(f"Picture 1 of {count}")
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    expect(lightbox).to_be_hidden()
    expect(page.locator(".dock")).to_have_attribute("data-choice", "")


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.soak)])
def test_no_item_makes_the_page_scroll_sideways(page, server, every):
    """Tables, long words and wide pictures stay in their places."""
    open_battle(page, server.address)
    page.get_by_text("Choose an item").click()
    expect(page.locator(".results a").first).to_be_visible()
    links = [part.get_attribute("href") for part in page.locator(".results a").all()]
    for link in links[::every]:
        open_battle(page, server.address, f"/{link}")
        assert_fits(page, PHONE, TABLET, DESK)


@pytest.mark.soak
def test_both_answers_stand_alike_drawn_or_as_plain_text_and_the_page_scrolls_instead_of_them(
    browser, server
):
    with fresh_page(browser, DESK) as page:
        open_battle(page, server.address)
        boxes = [page.locator(f".answer[data-side={side}]").bounding_box() for side in "ab"]
        assert all(abs(boxes[0][of] - boxes[1][of]) <= 1 for of in ("y", "height", "width")), boxes
        assert not page.locator(".answer :is(.text, .said)").evaluate_all(
            "cards => cards.some(card => card.scrollHeight > card.clientHeight + 1)"
        )
        expect(page.locator(f"{ANSWER} .formatted")).to_be_visible()
        page.locator("#plain-switch").check()
        expect(page.locator(f"{ANSWER} .unformatted")).to_be_visible()
        expect(page.locator(f"{ANSWER} .formatted")).to_be_hidden()


SWIPE = """() => {
    const target = document.querySelector(".answer .said");
    const touch = (x) => new Touch({ identifier: 1, target, clientX: x, clientY: 500 });
    for (const [name, x] of [["touchstart", 300], ["touchend", 180]]) {
        const now = [touch(x)], options = { bubbles: true, changedTouches: now };
        target.dispatchEvent(new TouchEvent(name, { ...options, touches: name === "touchend" ? [] : now }));
    }
}"""


def test_a_phone_shows_picture_instruction_and_an_answer_and_opens_the_bar_when_a_swipe_showed_both(
    page, server
):
    page.goto(server.address)
    expect(page.locator(".waits")).to_contain_text("Read both answers")
    parts = (".instruction-text", ".enlarge", ".answer .said")
    ends = {name: page.locator(name).first.bounding_box() for name in parts}
    dock = page.locator(".dock").bounding_box()
    assert all(box["y"] + min(box["height"], 30) < dock["y"] for box in ends.values()), ends
    assert ends[".enlarge"]["height"] <= 0.3 * 844
    expect(page.locator(".answer[data-side=b]")).to_be_hidden()
    page.keyboard.press("a")
    expect(page.locator("#choose-a")).to_be_disabled()
    page.evaluate(SWIPE)
    expect(page.locator(".answer[data-side=b]")).to_be_visible()
    expect(page.locator(".answer[data-side=a]")).to_be_hidden()
    expect(page.locator("#choose-a")).to_be_enabled()
    page.evaluate("scrollTo(0, 400)")
    assert page.locator(".enlarge").first.bounding_box()["y"] >= 0, "the picture stays in view"
    page.keyboard.press("a")
    expect(page.locator("#status")).to_contain_text("You chose A")


@pytest.mark.soak
def test_a_short_screen_waits_for_the_answer_below_and_an_enlarged_page_has_room_for_it(
    browser, server
):
    with fresh_page(browser, TABLET) as page:
        page.set_viewport_size({"width": 844, "height": 390})
        page.goto(server.address)
        expect(page.get_by_text("Read both answers")).to_be_visible(timeout=20_000)
        expect(page.locator("#choose-a")).to_be_disabled()
        page.locator(".answer[data-side=b]").evaluate("card => card.scrollIntoView()")
        expect(page.locator("#choose-a")).to_be_enabled()
        page.set_viewport_size({"width": 320, "height": 256})  # 1280 px, enlarged four times
        assert_fits(page)
        page.locator(".answer[data-side=a]").evaluate("card => card.scrollIntoView()")
        reached = page.evaluate(
            "[4, 60].map((y) => document.elementFromPoint(160, y)?.closest('.answer')?.dataset.side)"
        )
        assert reached == ["a", "a"], "neither pictures nor the bar lie on the answer"


LINES = """part => {
    const { borderTopWidth, outlineWidth, outlineStyle } = getComputedStyle(part);
    return { border: parseFloat(borderTopWidth) > 0, outline: outlineStyle !== "none" && parseFloat(outlineWidth) > 0 };
}"""


@pytest.mark.soak
def test_in_a_systems_own_colours_one_sees_what_can_be_pressed_and_what_is_chosen(page, server):
    def lines(selector: str) -> dict[str, bool]:
        return page.locator(selector).first.evaluate(LINES)

    page.emulate_media(forced_colors="active")
    open_battle(page, server.address)
    assert all(lines(f"#{button}")["border"] for button in ("choose-a", "choose-b", "skip"))
    assert lines("nav a[aria-current]")["outline"] and lines("[data-show=b]")["outline"]
    assert not lines("[data-show=a]")["outline"]
    page.keyboard.press("b")
    expect(page.locator(".dock")).to_have_attribute("data-choice", "b")
    assert lines(".answer[data-side=b]")["outline"]


def test_nothing_can_be_chosen_before_every_picture_is_there(browser, server):
    with fresh_page(browser, DESK) as page:
        late = Late(page, "**/pictures/**")
        page.goto(server.address, wait_until="commit")  # a page without its pictures is not loaded
        late.wait()
        expect(page.locator("#choose-a")).to_be_disabled()
        expect(page.locator(".waits")).to_contain_text("once all pictures have loaded")
        page.keyboard.press("a")
        page.locator(".answer .said").first.click()
        late.come()
        expect(page.locator(".dock")).to_have_attribute("data-choice", "")
        see_both(page)
        page.keyboard.press("b")
        expect(page.locator("#status")).to_contain_text("You chose B")


def test_a_picture_that_does_not_load_is_skipped_without_cost(browser, server):
    with fresh_page(browser, DESK) as page:
        page.route("**/pictures/**", lambda route: route.abort())
        page.goto(server.address)
        for _ in range(SKIPS_AT_LEAST + 1):
            expect(page.locator(".failed-note")).to_be_visible()
            expect(page.locator("#choose-a")).to_be_disabled()
            before = answers_of(page)
            page.get_by_role("button", name="Try another battle").click()
            is_another(page, before)
        page.unroute("**/pictures/**")
        page.reload()
        see_both(page)
        before = answers_of(page)
        press(page, "#skip")
        press(page, "#skip-judge")
        is_another(page, before)


def test_a_card_chooses_and_the_choice_is_marked_before_the_server_says_so(browser, server):
    with fresh_page(browser, DESK) as page:
        page.add_init_script(NEVER_BY_ITSELF)
        open_battle(page, server.address)
        late = Late(page, "**/battle/choose")
        let_pass(page, 700)
        page.locator('[data-part="b"] .said').click(position={"x": 5, "y": 5})
        late.wait()
        expect(page.locator(".dock")).to_have_attribute("data-choice", "b")
        opacity = "card => getComputedStyle(card).opacity"
        assert float(page.locator(".answer[data-side=a]").evaluate(opacity)) < 1
        expect(page.locator("#status")).to_be_empty()
        late.come()
        expect(page.locator("#status")).to_contain_text("You chose B")


def test_a_link_to_an_item_opens_it_whatever_was_added_and_is_left_with_it(page, server):
    with closing(Database(f"sqlite:///{server.data_dir / 'arena.db'}")) as database:
        *_, item = ItemBank(database).bank().items.values()
    page.add_init_script(NEVER_BY_ITSELF)
    page.goto(f"{server.address}/item/{item.key}?fbclid=added")
    reveal(page)
    expect(page.locator(".instruction-text")).to_contain_text(item.instruction[:40])
    expect(page.get_by_role("link", name="Link to this item")).to_have_attribute(
        "href", f"item/{item.key}"
    )
    first = answers_of(page)
    press(page, "#next")
    is_another(page, first)
    page.wait_for_url(f"{server.address}/")
    following = answers_of(page)
    page.reload()
    see_both(page)
    assert answers_of(page) == following


def test_the_next_battle_is_there_before_the_server_answers(browser, server):
    with (
        fresh_page(browser, DESK) as page,
        closing(sqlite3.connect(server.data_dir / "arena.db")) as database,
    ):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.add_init_script(NEVER_BY_ITSELF)
        open_battle(page, server.address)
        (before,) = database.execute("SELECT count(*) FROM battle").fetchone()
        with page.expect_response("**/battle/hold") as answer:
            reveal(page)
        held = answer.value.json()
        page.wait_for_load_state("networkidle")
        assert database.execute("SELECT count(*) FROM battle").fetchone() == (before,)
        ahead = set(asked)
        late = Late(page, "**/battle/next")
        press(page, "#next")
        late.wait()
        expect(page.locator(".dock")).to_have_attribute("data-phase", "held")
        expect(page.locator(".answer .model")).to_have_count(0)
        expect(page.locator("#choose-a")).to_be_disabled()
        shown = page.locator(ANSWER).inner_text()
        late.come()
        see_both(page)
        assert page.locator(ANSWER).inner_text() == shown
        assert held["about"]
        sources = page.locator(".enlarge img").evaluate_all(
            "pictures => pictures.map(picture => picture.currentSrc)"
        )
        assert set(sources) <= ahead, "its pictures came with it"
        page.keyboard.press("a")
        expect(page.locator("#status")).to_contain_text("You chose A")


def test_a_battle_that_was_sent_ahead_too_late_is_not_shown_once_more(page, server):
    page.add_init_script(NEVER_BY_ITSELF)
    page.goto(server.address)
    late = Late(page, "**/battle/hold")
    reveal(page)
    late.wait()
    first = answers_of(page)
    press(page, "#next")
    is_another(page, first)
    late.come()
    with page.expect_response("**/battle/hold") as held:
        reveal(page)
    held.value.finished()
    voted = answers_of(page)
    press(page, "#next")
    is_another(page, voted)


@pytest.mark.soak
def test_pictures_come_at_the_width_of_the_screen_and_nothing_jumps(browser, server):
    with fresh_page(browser, PHONE, device_scale_factor=3) as page:
        open_battle(page, server.address)
        for several in (False, True):
            if several:
                page.get_by_text("Choose an item").click()
                page.locator(".results a", has_text=re.compile(r"[234]\spictures")).first.click()
                page.wait_for_url("**/item/*")
                see_both(page)
            battle = page.locator(".enlarge img").evaluate_all(
                "pictures => pictures.map((picture) => picture.currentSrc)"
            )
            assert battle and all(address.endswith(".webp") for address in battle)
            assert sum(len(httpx.get(address).content) for address in battle) <= BATTLE_BYTES
            for picture in page.locator(".enlarge img").all():
                width, height = (int(picture.get_attribute(name)) for name in ("width", "height"))
                drawn = picture.bounding_box()
                assert drawn["width"] / drawn["height"] == pytest.approx(width / height, rel=0.03)
        page.keyboard.press("i")
        expect(page.locator("#lightbox img")).to_have_attribute(
            "src", re.compile(r"pictures/[0-9a-f]{64}\.(jpg|png)$")
        )


def test_the_screen_speaks_chinese_to_who_asks_for_it_and_can_be_switched(browser, server):
    with fresh_page(browser, PHONE, locale="zh-CN") as page:
        page.add_init_script(NEVER_BY_ITSELF)
        open_battle(page, server.address)
        assert page.locator("html").get_attribute("lang") == "zh"
        expect(page.locator(".lead")).to_have_text(CHINESE.text("vote.lead"))
        expect(page.locator("#choose-a")).to_have_text(CHINESE.text("vote.choose_a"))
        expect(page).to_have_title(CHINESE.text("vote.title"))
        expect(page.get_by_role("navigation", name=CHINESE.text("pages.pages"))).to_be_visible()
        page.route("**/battle/choose", lambda route: route.abort())
        page.keyboard.press("a")
        expect(page.locator("#problem")).to_have_text(CHINESE.text("scripts.not_stored"))
        page.unroute("**/battle/choose")
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(page.locator("#status")).to_contain_text(CHINESE.text("vote.chose", side="A"))
        expect(page.locator("#undo")).to_have_text(CHINESE.text("vote.undo"))
        press(page, "#names")
        expect(page.locator("#status")).to_contain_text(re.compile(r"您选择了 A：.+。B 是 .+。"))
        shoot(page, "chinese-revealed")
        page.get_by_role("button", name="English").click()
        expect(page.locator(".lead")).to_have_text(ENGLISH.text("vote.lead"))
        expect(page).to_have_title(ENGLISH.text("vote.title"))
        expect(page.locator("#skip")).to_have_text(ENGLISH.text("vote.skip"))
        expect(page.locator("#instruction-heading")).to_have_text(ENGLISH.text("vote.instruction"))
        places = page.locator(".top nav a").evaluate_all(
            "links => links.map((one) => one.offsetTop)"
        )
        assert len(set(places)) == 1, "the pages' links share one line on a phone"
