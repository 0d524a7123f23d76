"""The leaderboard in a real browser with flagged voters and live votes: the switch, what is told, both widths."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import insert, select

from arena.battles.store import BattleStore
from arena.battles.tables import VOTER
from arena.battles.voters import PERSON
from arena.clock import FINAL_SECONDS
from arena.database import Database, now
from arena.items.ingest import Ingest
from arena.live.store import LiveStore, Opening, TurnAnswers
from arena.types import Names
from tests.support.leaderboard_page import choose
from tests.support.planting import Planted, let_pass, plant
from tests.support.screens import DESK, PHONE, assert_fits, fresh_page, shoot, turn
from tests.support.servers import AppServer, drafts

MODELS = ("alpha", "beta", "gamma")


def plant_votes(database: Database) -> None:
    """Plant 240 honest votes, a rigger's 30, 14 on own images, and three of those outside the ranking."""
    Ingest(database).add_items("test", "folder", drafts(40, MODELS))
    pairs = [("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma")]
    plant(database, [Planted(1 + n % 40, *pairs[n % 3], left=n % 2 == 0) for n in range(200)])
    plant(
        database, [Planted(1 + n % 40, *reversed(pairs[n % 3]), left=n % 2 == 0) for n in range(40)]
    )
    plant(
        database, [Planted(1 + n, *pairs[n % 2][:: 1 - n % 4 // 2 * 2], voter=1) for n in range(30)]
    )
    store, voters = LiveStore(database), BattleStore(database)
    store.register_models(MODELS)
    for number in range(17):
        voter = voters.voter(f"visitor {number}")
        battle = store.begin(voter, Opening("What is it?", 1))
        answered = TurnAnswers(
            Names("alpha", "beta"), Names("x", "y"), stopped=number > 14, named=number == 14
        )
        store.answer(battle.id, answered)
        store.vote(voter, battle.token, "b" if number % 3 else "a", "terms")
    let_pass(database, FINAL_SECONDS)


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Path:
    """A database with the planted votes, to copy."""
    path = tmp_path_factory.mktemp("planted") / "arena.db"
    with closing(Database(f"sqlite:///{path}")) as database:
        plant_votes(database)
    return path


@pytest.fixture(scope="module")
def boards(planted, tmp_path_factory) -> Iterator[AppServer]:
    """A server with the planted votes."""
    folder = tmp_path_factory.mktemp("boards")
    shutil.copy(planted, folder)
    running = AppServer(folder, DEMO_BANK="off")
    yield running
    running.stop()


@pytest.fixture
def page(browser: Browser, boards: AppServer) -> Iterator[Page]:
    """A visitor who has just opened the leaderboard."""
    with fresh_page(browser, DESK) as opened:
        opened.goto(f"{boards.address}/results")
        yield opened


@pytest.mark.soak
def test_where_people_can_log_in_a_visitor_chooses_whose_votes(browser, planted, tmp_path):
    path = shutil.copy(planted, tmp_path)
    with closing(Database(f"sqlite:///{path}")) as database, database.write() as connection:
        people = connection.scalars(select(VOTER.c.id).limit(60)).all()
        connection.execute(
            insert(PERSON),
            [{"voter_id": one, "subject": str(one), "since": now()} for one in people],
        )
    login = {
        "OAUTH_CLIENT_ID": "id",
        "OAUTH_CLIENT_SECRET": "secret",
        "OPENID_PROVIDER_URL": "http://127.0.0.1:9",
    }
    site = AppServer(tmp_path, DEMO_BANK="off", CAMPAIGNS="spring", **login)
    with fresh_page(browser, PHONE) as page:
        page.goto(site.address)
        expect(page.locator("who-am-i")).to_contain_text("Log in, and they count")
        turn(page, "Results")
        caption, tells = page.locator("#board caption"), page.locator("#board .tells")
        expect(caption).to_have_text("test, one picture, everyone: 240 votes", timeout=30_000)
        expect(page.locator("#headline")).to_contain_text("By everyone's votes: ")
        choose(page, "Votes", "of logged-in and campaign voters")
        expect(caption).to_have_text("test, one picture, counted voters: 60 votes", timeout=30_000)
        expect(page.locator("#headline")).to_contain_text("By counted votes: ")
        expect(page).to_have_url(re.compile(r"/results\?source=test&images=single&votes=counted$"))
        expect(tells).to_contain_text(
            "Counted: 60 of 270 votes, from logged-in and campaign voters"
        )
        expect(page.get_by_role("link", name="Table (CSV)")).to_have_attribute(
            "href", "/boards/board.csv?source=test&images=single&votes=counted"
        )
        shoot(page, "counted board", whole=True)
    site.stop()


def test_flagged_voters_are_left_out_until_asked_for_and_without_a_login_no_votes_can_be_chosen(
    page,
):
    caption, tells = page.locator("#board caption"), page.locator("#board .tells")
    expect(caption).to_have_text("test, one picture: 240 votes", timeout=30_000)
    expect(page.get_by_text("Counted")).to_have_count(0)
    expect(page.locator("#chip-days summary")).to_be_visible()
    expect(page.locator("#chip-votes")).to_have_count(0)
    expect(tells).to_contain_text("Without 1 flagged voter (30 votes)", timeout=30_000)
    shoot(page, "without flagged voters", whole=True)
    choose(page, "Flagged voters", "included")
    expect(caption).to_contain_text(
        "test, one picture, flagged voters too: 270 votes", timeout=30_000
    )
    expect(tells).to_contain_text(
        "Includes 1 flagged voter (30 votes). The board leaves them out by default."
    )
    expect(page.get_by_role("link", name="Table (CSV)")).to_have_attribute(
        "href", "/boards/board.csv?source=test&images=single&voters=all"
    )
    assert_fits(page)
    choose(page, "Flagged voters", "left out")
    expect(caption).to_contain_text("test, one picture: 240 votes", timeout=30_000)


def test_downloads_are_of_the_board_that_is_named(boards):
    def votes(query: str) -> int:
        answer = httpx.get(f"{boards.address}/boards/board.csv?{query}", timeout=60)
        assert answer.status_code == 200
        return sum(int(line.split(",")[11]) for line in answer.text.splitlines()[1:]) // 2

    assert votes("source=test") == votes("source=test&voters=unflagged") == 240
    assert votes("source=test&voters=all") == 270
    assert votes("source=Own pictures, answered live") == 14
