"""Every page in both themes, with axe-core: nothing keeps people with assistive technology out."""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from arena.database import Database, now
from arena.items.store import ItemBank
from tests.support.axe import faults
from tests.support.leaderboard_page import choose_plot
from tests.support.live_pages import live_app, phase, photo
from tests.support.planting import Planted, plant
from tests.support.scoring_page import mmbench_rows, upload, write_csv
from tests.support.screens import DESK, PHONE, fresh_page, press, see_both, shoot
from tests.support.servers import AppServer

VOTES = 400


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[AppServer]:
    """An app with all that it can show: the demo bank with votes, and two live models."""
    with live_app(tmp_path_factory.mktemp("all")) as running:
        app = running.app
        with closing(Database(f"sqlite:///{app.data_dir / 'arena.db'}")) as database:
            plant_votes(database)
        yield app


def plant_votes(database: Database) -> None:
    coin, bank = random.Random(3), ItemBank(database)
    names = {place: model.name for place, model in enumerate(bank.models(), 1)}
    items = [item for item in bank.bank().items.values() if len(item.contestants) > 1]
    votes = []
    for number in range(VOTES):
        item = coin.choice(items)
        pair = sorted(coin.sample([names[one.model] for one in item.contestants], 2))
        better = pair if coin.random() < 0.7 else pair[::-1]
        at = now() - timedelta(days=30 - number / 20)
        votes.append(Planted(item.id, *better, left=coin.random() < 0.5, at=at))
    plant(database, votes)


def vote(page: Page) -> None:
    see_both(page)


def revealed(page: Page) -> None:
    see_both(page)
    page.keyboard.press("a")
    expect(page.locator("#undo")).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator(".answer .model")).to_have_count(2)


def skipping(page: Page) -> None:
    see_both(page)
    press(page, "#skip")
    expect(page.locator("#skip-judge")).to_be_visible()


def picking(page: Page) -> None:
    see_both(page)
    page.get_by_text("Choose an item").click()
    expect(page.locator(".results a").first).to_be_visible()


def enlarged(page: Page) -> None:
    see_both(page)
    page.keyboard.press("i")
    expect(page.locator("#lightbox")).to_be_visible()


def live_form(page: Page) -> None:
    page.set_input_files("#live-files", [photo()])
    expect(page.locator("#live-send")).to_be_enabled()


def live_battle(page: Page) -> None:
    live_form(page)
    page.fill("#live-text", "What is it?")
    page.press("#live-text", "Enter")
    phase(page, "open")


def board(page: Page) -> None:
    expect(page.locator("#board-opening svg")).to_be_visible(timeout=20_000)
    choose_plot(page, "Categories vs. reference")
    expect(page.locator("#board-plots svg")).to_be_visible()


def model(page: Page) -> None:
    expect(page.locator("#board-opening svg")).to_be_visible(timeout=20_000)
    page.locator("#board tbody th a").first.click()
    expect(page.locator("#model-name")).to_be_visible()


def battle(page: Page) -> None:
    revealed(page)
    page.goto(page.locator(".battle-link a").evaluate("(link) => link.href"))
    expect(page.locator(".battle-page figure").first).to_be_visible(timeout=20_000)


def scoring(page: Page) -> None:
    expect(page.locator("#drop-file")).to_be_attached(timeout=20_000)


def static(page: Page) -> None:
    expect(page.locator("h1").first).to_be_visible()


FIRST = [("/", (vote, revealed)), ("/results", (board, model))]
"""Screens that the suite looks at, those in brackets on one page; the soak looks at all, on phones and dark too."""
OTHERS = [
    *(("/", (screen,)) for screen in (skipping, picking, enlarged)),
    *(("/own", (screen,)) for screen in (live_form, live_battle)),
    *(
        ("/", (battle,)),
        ("/score", (scoring,)),
        ("/run", (static,)),
        ("/terms", (static,)),
    ),
    *((address, (static,)) for address in ("/you", "/judges", "/agreement", "/results/nowhere")),
]


@pytest.mark.parametrize(
    "width, theme",
    [
        (DESK, "light"),
        *(
            pytest.param(*one, marks=pytest.mark.soak)
            for one in ((DESK, "dark"), (PHONE, "light"), (PHONE, "dark"))
        ),
    ],
)
@pytest.mark.parametrize(
    "address, screens", [*FIRST, *(pytest.param(*one, marks=pytest.mark.soak) for one in OTHERS)]
)
def test_axe_finds_nothing(browser: Browser, site, address, screens, width, theme):
    with fresh_page(browser, width) as page:
        page.emulate_media(color_scheme=theme)
        page.goto(f"{site.address}{address}")
        for open_screen in screens:
            open_screen(page)
            assert faults(page) == []
            shoot(page, f"{open_screen.__name__}-{theme}", whole=True)


def test_scoring_and_a_report_are_accessible(browser: Browser, site, tmp_path):
    path = write_csv(tmp_path / "mmbench.csv", mmbench_rows()[:8])
    with fresh_page(browser, DESK) as page:
        page.goto(f"{site.address}/score")
        scoring(page)
        assert faults(page) == []
        upload(page, path)
        page.get_by_role("button", name="free").click(timeout=20_000)
        page.get_by_role("link", name="Open the report").click()
        expect(page.locator(".report-head")).to_contain_text("mmbench")
        report = page.url
        for path in ("", "/answers", "/answers?show=differs+by+protocol", "/people", "?with=x"):
            page.goto(f"{report}{path}")
            page.emulate_media(color_scheme="light")
            assert faults(page) == [], path
            page.emulate_media(color_scheme="dark")
            assert faults(page, "color-contrast") == [], f"{path}: themes differ in colours alone"


def test_axe_would_find_a_picture_without_words_and_pale_letters(browser: Browser, site):
    with fresh_page(browser, DESK) as page:
        page.goto(f"{site.address}/terms")
        page.evaluate("document.querySelector('main').append(document.createElement('img'))")
        assert [one.partition(":")[0] for one in faults(page)] == ["image-alt"]
        page.evaluate("document.querySelector('h1').style = 'color: silver; background: white'")
        found = faults(page, "color-contrast")
        assert [one.partition(":")[0] for one in found] == ["color-contrast"]
