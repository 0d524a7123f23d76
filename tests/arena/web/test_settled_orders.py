"""Settled orders on the board's page: in its sentence, its chart and its table, on screens of every width."""

import random
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import insert, select

from arena.battles.settlements import SETTLEMENT
from arena.database import Database, now
from arena.items.ingest import Ingest
from arena.items.store import MODEL
from arena.types import REFERENCE
from tests.support.planting import Planted, plant
from tests.support.screens import DESK, TABLET, fresh_page, shoot
from tests.support.servers import AppServer, drafts

LOG_ODDS = {
    REFERENCE: 3.5,
    "InstructBLIP-13B": 1.6,
    "mPLUG-Owl-7B": 0.3,
    "LlamaAdapter-v2": 0.25,
    "MiniGPT-4-7B": -1.2,
    "PandaGPT-13B": -2.4,
    "Otter-v1": -2.45,
}
ITEMS, VOTES = 60, 2000


@pytest.fixture(scope="module")
def settled(tmp_path_factory) -> Iterator[AppServer]:
    """A server whose board has orders of every state; by its record, two models once settled above MiniGPT-4."""
    folder = tmp_path_factory.mktemp("settled") / "data"
    folder.mkdir()
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    models, coin = tuple(LOG_ODDS), random.Random(3)
    Ingest(database).add_items("test", "folder", drafts(ITEMS, models))
    votes = []
    for _ in range(VOTES):
        one, other = coin.sample(models, 2)
        won = coin.random() < 1 / (1 + 2.718281828 ** (LOG_ODDS[other] - LOG_ODDS[one]))
        pair = (one, other) if won else (other, one)
        votes.append(Planted(coin.randint(1, ITEMS), *pair, left=coin.random() < 0.5))
    plant(database, votes)
    earlier = {"board": "bank, single, everyone: test", "votes": 350, "settled_at": now()}
    with database.write() as connection:
        code = {row.name: row.id for row in connection.execute(select(MODEL.c.name, MODEL.c.id))}
        for above in ("PandaGPT-13B", "Otter-v1"):
            values = {"above": code[above], "below": code["MiniGPT-4-7B"], **earlier}
            connection.execute(insert(SETTLEMENT).values(values))
    database.close()
    running = AppServer(folder, DEMO_BANK="off")
    yield running
    running.stop()


def test_a_board_says_which_orders_are_settled(browser: Browser, settled: AppServer):
    with fresh_page(browser, DESK) as page:
        page.goto(f"{settled.address}/results")
        expect(page.locator("#board-opening h2")).to_contain_text("settled; ", timeout=20_000)
        cells = page.locator("#board tbody td.order")
        expect(cells.first).to_have_text(f"settled since {VOTES:,} votes")
        assert {text.split()[0] for text in cells.all_inner_texts() if text} == {
            "settled",
            "open",
            "contradicted",
        }
        assert cells.last.inner_text() == "", "nobody stands below the last"
        expect(page.locator("#board .tells")).to_contain_text(
            "of 1,000 boards of equal models at most 50 ever call an"
        )
        expect(page.locator("#board-opening svg text", has_text="contradicted")).to_be_visible()
        shoot(page, "settled-light", whole=True)
        page.set_viewport_size({"width": TABLET, "height": 844})
        page.wait_for_function(
            "(board => board.scrollWidth <= board.clientWidth)(document.querySelector('.board'))"
        )
