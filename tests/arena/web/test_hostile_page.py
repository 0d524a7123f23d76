"""The page under bad conditions in a real browser: hostile answers, huge ones, a server that dies and comes back."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import expect

from arena.locale import ENGLISH
from tests.support.commands import run
from tests.support.screens import (
    DESK,
    PHONE,
    TABLET,
    assert_fits,
    fresh_page,
    press,
    see_both,
    shoot,
)
from tests.support.servers import ROOT, AppServer
from tests.support.voter import Voter

HOSTILE = "\n\n".join(
    [
        "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'>",
        "<div id='choose-a' style='position:fixed;inset:0;z-index:99999;background:red'>over everything</div>",
        "<style>.dock { display: none }</style><form action='https://evil.example'><button>A is better</button></form>",
        "[a link](javascript:window.hit=3) ![an image](https://evil.example/p.png?voter=1) <svg onload='window.hit=4'>",
        "${window.hit = 5} {{constructor.constructor('window.hit = 6')()}} `${window.hit = 7}`",
        "\u202eright to left\u202c and zero\u200bwidth",
    ]
)


ODD = {
    "long": "word " * 1_500,
    "one word": "A" * 5_000,
    "arabic": "في الصورة قطة سوداء.\n\n- أولا\n- ثانيا: $x^2$",
    "formulas": "So $"
    + "x + " * 200
    + "y$ and\n\n$$\n\\sum_{i=1}^n "
    + "\\frac{a}{b} + " * 60
    + "c\n$$",
    "table": "|" + " wide cell |" * 30 + "\n|" + "-|" * 30 + "\n|" + " 1234567890 |" * 30,
    "code": "```\n" + "let value = 1; " * 40 + "\n```\n`" + "x" * 300 + "`",
    "emoji": "👩\u200d👩\u200d👧 " * 300,
    "blank": " \n\n \u200b\n",
}
"""Answers that break layouts."""


@pytest.fixture(scope="module")
def odd_server(tmp_path_factory) -> Iterator[AppServer]:
    """A server whose items have answers that break layouts, and one whose answers attack the page or do not end."""
    folder = tmp_path_factory.mktemp("odd")
    picture = next((ROOT / "arena" / "items" / "demo" / "pictures").iterdir())
    (folder / picture.name).write_bytes(picture.read_bytes())
    common = {"family": "<i>x</i>", "images": [picture.name]}
    rows = [
        {"instruction": f"{name} {text[:300]}", "answers": {"a": text, "b": "No."}, **common}
        for name, text in ODD.items()
    ]
    attack = {"attacker": HOSTILE, "talker": "word " * 5_000}
    rows.append({"instruction": "<b>What</b> is here? ${1+1}", "answers": attack, **common})
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = run("arena", "items", "folder", folder, environ={"DATA_DIR": str(folder / "data")})
    assert done.code == 0, done.err
    running = AppServer(folder / "data", DEMO_BANK="off")
    yield running
    running.stop()


def address_of(server: AppServer, instruction: str) -> str:
    """The address of the item whose instruction begins so."""
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        (key,) = database.execute(
            "SELECT key FROM item WHERE instruction LIKE ?", (f"{instruction}%",)
        ).fetchone()
    return f"{server.address}/item/{key}"


def test_a_hostile_answer_does_nothing_and_a_long_one_stays_in_its_card(page, odd_server):
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.goto(address_of(odd_server, "<b>What</b>"))
    expect(page.locator(".answers")).to_contain_text("over everything")
    expect(page.locator(".answers")).to_contain_text("word word")
    expect(page.locator(".instruction-text")).to_have_text("<b>What</b> is here? ${1+1}")
    assert page.evaluate("window.hit") is None
    assert all(url.startswith((odd_server.address, "data:", "blob:")) for url in requested), (
        requested
    )
    assert page.locator("#choose-a").count() == 1
    assert_fits(page, PHONE, TABLET, DESK)
    see_both(page)
    press(page, "#choose-a")
    expect(page.locator("#status")).to_contain_text("You chose A")


@pytest.mark.soak
def test_odd_answers_break_no_layout(browser, odd_server):
    with fresh_page(browser, DESK) as page:
        page.goto(odd_server.address)
        seen = set()
        for _ in range(len(ODD) + 1):
            see_both(page)
            seen.add(page.locator(".instruction-text").inner_text().split(" ")[0])
            for part in page.locator(".answers .said").all():
                card, dock = part.bounding_box(), page.locator(".battle").bounding_box()
                assert (
                    card["x"] >= dock["x"]
                    and card["x"] + card["width"] <= dock["x"] + dock["width"] + 1
                )
                assert page.evaluate(
                    "part => part.scrollWidth <= part.clientWidth + 1", part.element_handle()
                )
            shoot(page, f"odd-{len(seen)}")
            expect(page.locator("#choose-a")).to_be_enabled()  # a narrow page had shut it
            page.keyboard.press("a")
            expect(page.locator("#names")).to_be_visible()
            page.keyboard.press("n")
            expect(page.locator(".answer .model")).to_have_count(2)
            page.keyboard.press("n")
            expect(page.locator(".answer .model")).to_have_count(0)
        assert len(seen) == len(ODD) + 1


def test_once_nothing_is_left_to_compare_the_page_has_no_name_and_no_answer(odd_server):
    with Voter(odd_server.address) as voter:
        voter.load()
        for _ in range(len(ODD) + 1):
            voter.choose("a")
            voter.wait_out_undo()
            assert all('class="model"' in voter.parts[f"title-{side}"] for side in "ab")
            voter.next()
        assert ENGLISH.text("vote.nothing") in voter.parts["subject"]
        assert 'class="model"' not in str(voter.parts)
        assert [voter.parts[side] for side in "ab"] == ["", ""]


def test_a_formula_is_drawn_and_arabic_runs_from_right_to_left(browser, odd_server):
    with fresh_page(browser, DESK) as page:
        page.goto(address_of(odd_server, "arabic"))
        first = page.locator(".formatted p", has_text="قطة")
        assert first.evaluate("part => getComputedStyle(part).direction") == "rtl"
        assert page.locator(".formatted math msup").evaluate(
            "part => part.namespaceURI.endsWith('MathML')"
        )


def test_a_vote_is_taken_after_a_crash_and_restart_on_the_same_page(page, server):
    page.goto(server.address)
    see_both(page)
    page.wait_for_load_state("networkidle")  # Gradio has its scripts
    server.kill()
    press(page, "#choose-b")
    expect(page.locator("#problem")).to_have_text(ENGLISH.text("scripts.not_stored"))
    assert page.locator(".answer .model").count() == 0
    server.start()
    expect(page.locator("#status")).to_contain_text("You chose B")
    expect(page.locator("#problem")).to_be_empty()
