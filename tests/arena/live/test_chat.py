"""The chat over HTTP: what a model is asked, whose a conversation is, and what is refused."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.live_pages import NAMES, LiveApp, live_app
from tests.support.live_visitor import Visitor, picture


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[LiveApp]:
    with live_app(tmp_path_factory.mktemp("chats"), pace=0.01) as running:
        yield running


def test_the_whole_conversation_is_asked_and_is_its_visitors_only(live):
    async def run() -> None:
        async with Visitor(live.app.address) as visitor, Visitor(live.app.address) as other:
            image = await visitor.upload(picture())
            asked_for = {"model": NAMES["one"], "instruction": "What is this?", "images": [image]}
            path = f"/chat/talks/{(await visitor.post('/chat/talks', asked_for))['talk']}"
            await visitor.watch(path)
            await visitor.post(f"{path}/questions", {"text": "And now?"})
            assert (await other.client.get(path)).status_code == 404
            assert "not yours" in await other.refused(f"{path}/questions", {"text": "mine?"})
            assert (await visitor.watch(path))[-1]["phase"] == "open"
            asked = live.server.counts.bodies[-1]["messages"]
            assert [turn["role"] for turn in asked] == ["user", "assistant", "user"]
            for change in ({"model": "nobody"}, {"instruction": ""}, {"images": ["forged"]}, {"images": [image] * 11}):
                await visitor.refused("/chat/talks", {**asked_for, **change})

    asyncio.run(run())


def test_a_new_conversation_ends_the_old_one_and_its_images_go(live):
    async def run() -> None:
        async with Visitor(live.app.address) as visitor:
            image = await visitor.upload(picture())
            asked_for = {"model": NAMES["one"], "instruction": "What is this?", "images": [image]}
            path = f"/chat/talks/{(await visitor.post('/chat/talks', asked_for))['talk']}"
            assert (await visitor.client.get(f"/live/images/{image}")).status_code == 200
            await visitor.post("/chat/talks", {**asked_for, "images": []})
            assert (await visitor.client.get(path)).status_code == 404
            assert (await visitor.client.get(f"/live/images/{image}")).status_code == 404

    asyncio.run(run())


def test_no_page_holds_the_names_before_somebody_asks_for_them(live):
    async def run() -> None:
        async with Visitor(live.app.address) as visitor:
            await visitor.client.get("/config")
            assert not any(name.encode() in visitor.bytes for name in NAMES.values())
            models = (await visitor.client.get("/chat/models")).json()["models"]
            assert models == list(NAMES.values())

    asyncio.run(run())
