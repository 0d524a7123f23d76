"""The pause and hidden items in a running app: what visitors of live battles are told."""

import asyncio
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection, update

from arena.admin.moderation import hide
from arena.database import Database, bump_counter
from arena.items.store import BANK_VERSION, SOURCE, ItemBank
from arena.live.pause import PAUSED, pause, resume
from tests.support.live_pages import LiveApp, live_app
from tests.support.live_visitor import Visitor, picture


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[LiveApp]:
    with live_app(tmp_path_factory.mktemp("pausing"), pace=0.0, LIVE_SOON="yes") as running:
        yield running


def change(live: LiveApp, what: Callable[[Connection], object]) -> None:
    """Change something as another server or a command does."""
    database = Database(f"sqlite:///{live.app.data_dir / 'arena.db'}")
    with database.write() as connection:
        what(connection)
    database.close()


def test_while_it_is_paused_nothing_is_asked_and_open_battles_can_be_decided(live):
    async def run() -> None:
        async with Visitor(live.app.address) as visitor:
            battle = f"/live/battles/{await visitor.begin()}"
            await visitor.watch(battle)
            image = await visitor.upload(picture())
            before = len(live.server.counts.bodies)
            change(live, pause)
            try:
                begin = {"instruction": "What is this?", "images": [image]}
                assert await visitor.refused("/live/battles", begin) == PAUSED
                assert await visitor.refused(f"{battle}/questions", {"text": "And now?"}) == PAUSED
                assert len(live.server.counts.bodies) == before, "no model was asked"
                await visitor.post(f"{battle}/choose", {"value": "a"})
                assert (await visitor.post(f"{battle}/names"))["phase"] == "revealed"
            finally:
                change(live, resume)
            await visitor.post("/live/battles", begin)

    asyncio.run(run())


def test_a_hidden_item_is_no_longer_taken_nor_asked_about(live):
    async def run() -> None:
        async with Visitor(live.app.address) as visitor:
            item = (await visitor.client.get("/live/item")).json()["item"]
            battle = (
                f"/live/battles/{(await visitor.post('/live/battles', {'item': item}))['battle']}"
            )
            await visitor.watch(battle)
            change(live, lambda connection: hide(connection, item))
            await asyncio.sleep(ItemBank.CHECK_SECONDS + 0.1)  # by then every server has seen it
            assert "This item isn't here" in await visitor.refused("/live/battles", {"item": item})
            assert "no longer here" in await visitor.refused(
                f"{battle}/questions", {"text": "And now?"}
            )
            await visitor.post(f"{battle}/choose", {"value": "a"})

    asyncio.run(run())


def test_an_item_that_is_not_in_the_draw_is_not_taken(live):
    """Such as an attention test, whose votes no board counts."""

    def become_checks(connection: Connection) -> None:
        connection.execute(update(SOURCE).values(kind="check"))
        bump_counter(connection, BANK_VERSION)

    async def run() -> None:
        async with Visitor(live.app.address) as visitor:
            item = (await visitor.client.get("/live/item")).json()["item"]
            change(live, become_checks)
            await asyncio.sleep(ItemBank.CHECK_SECONDS + 0.1)
            assert "This item isn't here" in await visitor.refused("/live/battles", {"item": item})
            answer = await visitor.client.get("/live/item")
            assert answer.status_code == 400 and "There's no item with pictures" in answer.text

    asyncio.run(run())
