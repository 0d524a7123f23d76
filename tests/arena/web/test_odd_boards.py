"""Boards that few have: names that run from right to left or have no page, few votes, one model."""

import re
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser

from arena.database import Database
from arena.items.ingest import Ingest
from arena.web.addresses import MOST_NAME
from tests.support.planting import Planted, plant
from tests.support.screens import DESK, fresh_page, shoot
from tests.support.servers import AppServer, drafts

ARABIC = "نموذج اللغة-7B (تجريبي)"
LONG = "x" * (MOST_NAME + 1)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[AppServer]:
    """A server with a source of odd names, one of few votes, one of a single model, and one without votes."""
    folder = tmp_path_factory.mktemp("odd boards")
    with closing(Database(f"sqlite:///{folder / 'arena.db'}")) as database:
        ingest = Ingest(database)
        ingest.add_items("odd", "folder", drafts(12, ("alpha", ARABIC, LONG)))
        ingest.add_items("few", "folder", drafts(16, ("alpha", "beta", "gamma"))[12:])
        ingest.add_items("untouched", "folder", drafts(18, ("alpha", "beta", "gamma"))[16:])
        ingest.add_items("alone", "folder", drafts(20, ("alpha",))[18:])
        votes = [
            Planted(1 + number % 12, *pair, left=number % 2 == 0)
            for number, pair in enumerate(
                [(ARABIC, "alpha")] * 40 + [("alpha", ARABIC)] * 25 + [("alpha", LONG)] * 30
            )
        ]
        votes += [Planted(1, LONG, "alpha") for _ in range(8)]
        votes += [Planted(13, "alpha", "beta"), Planted(14, "alpha", "gamma")]
        plant(database, [*votes, Planted(15, "gamma", "beta")])
    running = AppServer(folder, DEMO_BANK="off")
    yield running
    running.stop()


def board(site: AppServer, source: str) -> str:
    """Return the page of a board whose intervals are computed."""
    for _ in range(100):
        page = httpx.get(f"{site.address}/results/{source}", timeout=60).text
        if "being computed" not in page:
            return page
    raise AssertionError("never computed")


def lead(page: str) -> str:
    """Return the sentence that a board begins with, with its markup."""
    return re.findall(r'id="headline">(.*?)</p>', page, re.DOTALL)[0]


UNSET = """name => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const turns = ({ direction, unicodeBidi }) => direction === "rtl" || unicodeBidi === "plaintext";
  const isSet = (part) => part.localName !== "main" && (turns(getComputedStyle(part)) || isSet(part.parentElement));
  const found = [];
  while (texts.nextNode()) if (texts.currentNode.data.includes(name)) found.push(texts.currentNode.parentElement);
  const unset = found.filter((part) => part.checkVisibility() && !isSet(part));
  return found.length ? unset.map((part) => part.outerHTML) : ["the name is nowhere"];
}"""
"""What holds a name in line with other words."""


@pytest.mark.parametrize(
    "path",
    ["/results/odd", f"/model/{quote(ARABIC)}?source=odd", "/model/alpha?source=odd", "/battle/planted-1"],
)  # fmt: skip
def test_a_name_that_runs_from_right_to_left_turns_nothing_beside_it(browser: Browser, site, path):
    board(site, "odd")
    with fresh_page(browser, DESK) as page:
        page.goto(site.address + path)
        assert page.evaluate(UNSET, ARABIC) == []
        shoot(page, f"odd names {path[1:4]}", whole=True)


def test_a_finished_battle_leads_to_models_that_have_a_page_and_to_no_others(site):
    for battle, linked in (("planted-1", True), ("planted-70", False)):
        page = httpx.get(f"{site.address}/battle/{battle}").text
        links = re.findall('href="(/model/[^"]+)"', page)
        assert len(links) == 1 + linked
        assert LONG not in "".join(links)
        for link in links:
            assert httpx.get(site.address + link).status_code == 200
    assert f"<bdi>{LONG}</bdi>" in page


def test_a_board_of_few_votes_shows_ratings_and_says_what_ranks_need(site):
    page = board(site, "few")
    assert lead(page) == "Not enough votes to rank yet: 3 of about 45."
    assert "<b>3 votes</b> by 3 people on 3 items." in page
    assert page.count("needs 28 more votes") == 3
    assert 'class="button primary" href="/">Vote</a>' in page
    for told in ("would come first", "at any time", "One person can vote", "<svg"):
        assert told not in page, told


@pytest.mark.parametrize(
    ("source", "told", "can_vote"),
    [
        ("untouched", "It needs about 45 votes to rank its 3 models.", True),
        ("alone", "No item here has answers from two models to compare.", False),
    ],
)
def test_a_board_without_votes_says_what_it_needs(site, source, told, can_vote):
    page = board(site, source)
    assert lead(page) == f"Nobody has voted on this board yet. {told}"
    assert (">Vote</a></p>" in page) == can_vote
