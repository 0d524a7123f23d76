"""Two servers on one PostgreSQL database, and two tabs: what is in one server's memory is elsewhere, not lost."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from arena.battles.tables import BATTLE
from arena.context import ArenaContext
from arena.live import sessions
from arena.live.images import OwnImages
from arena.live.store import LiveStore
from arena.settings import Settings
from arena.web.cookies import COOKIE, new_cookie_value
from arena.web.live_api import LiveApi
from tests.support.live_visitor import card, catalogue, picture, says
from tests.support.openai_server import OpenAIServer
from tests.support.servers import new_postgresql_database

TEXT = "The picture is red all over, and nothing else can be seen in it. " * 4


class Server:
    """The live routes of one server, as one visitor calls them."""

    def __init__(
        self, url: str, environ: dict[str, str], cookie: str, models: OpenAIServer
    ) -> None:
        settings = Settings.from_env({**environ, "DATABASE_URL": url, "DEMO_BANK": "off"})
        context = ArenaContext(settings)
        self.database = context.database
        self.models = models
        live = LiveApi(
            models=context.live_models,
            has_catalogue=True,
            is_space=False,
            credits=context.credits,
            keyless="none",
            sessions=context.live_sessions,
            store=context.live_battles,
            images=context.live_images,
            items=context.items,
            demo_bank=settings.demo_bank,
            pictures=context.pictures,
            scaled=context.scaled,
            terms="1",
            networks=context.networks,
            facts=context.facts,
        )
        app = FastAPI()
        app.include_router(live.router(context.voters))
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://server", cookies={COOKIE: cookie}
        )

    async def post(self, path: str, body: Any = None) -> dict[str, Any]:
        answer = await self.client.post(path, json=body or {})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def watch(self, path: str) -> dict[str, Any]:
        """Watch to the end and return the last message."""
        answer = await self.client.get(path)
        assert answer.status_code == 200, answer.text
        return json.loads(answer.text.split("data: ")[-1])

    async def begin(self) -> str:
        """Begin a battle and return its path."""
        image = (await self.client.post("/live/images", content=picture())).json()["image"]
        begun = await self.post(
            "/live/battles", {"instruction": "What is this?", "images": [image]}
        )
        return f"/live/battles/{begun['battle']}"

    async def sends_elsewhere(self, path: str) -> None:
        """Check that every request for a battle in progress is answered with 409 and the sentence."""
        answers = [
            await self.client.get(path),
            await self.client.post(f"{path}/stop", json={}),
            await self.client.post(f"{path}/questions", json={"text": "And now?"}),
        ]
        assert [answer.status_code for answer in answers] == [409] * 3
        assert all(
            answer.text.startswith("This battle runs on another server") for answer in answers
        )


@pytest.fixture
def servers(postgresql, tmp_path, monkeypatch) -> Iterator[tuple[Server, Server]]:
    """Two servers that the same visitor calls."""
    url, cookie = new_postgresql_database(postgresql), new_cookie_value()
    monkeypatch.setattr(sessions, "DELAY_SECONDS", (0.0, 0.0))
    with OpenAIServer(says({"one": TEXT, "two": TEXT}), models=("one", "two"), pace=0.02) as models:
        environ = {"DATA_DIR": str(tmp_path / "data")}
        environ["MODELS"] = catalogue(
            Path(tmp_path), *(card(f"Model {name}", name, models) for name in models.models)
        )
        both = Server(url, environ, cookie, models), Server(url, environ, cookie, models)
        yield both
        for server in both:
            server.database.close()


def test_a_live_battle_is_answered_by_one_server_and_decided_at_any(servers):
    here, there = servers

    async def run() -> None:
        with here.models.silent_after(5):
            path = await here.begin()
            await there.sends_elsewhere(path)
            visitor = there.client.cookies
            there.client.cookies = httpx.Cookies({COOKIE: new_cookie_value()})
            assert (await there.client.get(path)).status_code == 404, (
                "nobody else learns that it is anywhere"
            )
            there.client.cookies = visitor
        assert (await here.watch(path))["phase"] == "open"
        with here.models.silent_after(5):
            await there.post(f"{path}/questions", {"text": "And what else?"})
            await here.sends_elsewhere(path)
        assert (await there.watch(path))["phase"] == "open"
        assert (await there.post(f"{path}/choose", {"value": "a"}))["phase"] == "voted"
        again = f"/live/battles/{(await here.post(f'{path}/undo'))['battle']}"
        assert (await there.post(f"{again}/choose", {"value": "b"}))["phase"] == "voted"
        assert (await here.post(f"{again}/names"))["phase"] == "revealed"
        assert (await there.watch(again))["phase"] == "revealed"

    asyncio.run(run())


def test_what_a_dead_server_answered_is_lost_and_not_elsewhere(servers):
    here, there = servers

    async def run() -> None:
        with here.models.silent_after(5):
            path = await here.begin()
            here.database.close()  # as when its process ends, which PostgreSQL notices a little later
            while (await there.client.get(path)).status_code == 409:
                await asyncio.sleep(0.05)
            ended = await there.watch(path)
            assert ended["phase"] == "void" and "were lost" in str(ended)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("of", "step"), [pytest.param(OwnImages, "attach", marks=pytest.mark.soak), (LiveStore, "ask")]
)
def test_answers_that_begin_are_not_lost_to_the_visitors_other_tab(servers, monkeypatch, of, step):
    """The question is stored, but no model is asked yet, when the other tab looks."""
    here, _ = servers
    stored, looked, done = Event(), Event(), getattr(of, step)

    def slowly(*sent: Any) -> Any:
        answer = done(*sent)
        stored.set()
        looked.wait()
        return answer

    async def run() -> None:
        begins = here.begin()
        if step == "ask":
            path = await begins
            await here.watch(path)
            begins = here.post(f"{path}/questions", {"text": "And what else?"})
        monkeypatch.setattr(of, step, slowly)
        tab = asyncio.create_task(begins)
        await asyncio.to_thread(stored.wait)
        with here.database.read() as connection:
            token = connection.scalars(select(BATTLE.c.token).order_by(BATTLE.c.id.desc())).first()
        other = asyncio.create_task(here.watch(f"/live/battles/{token}.1"))
        for _ in range(60):  # by then the other tab waits, or has ended the battle
            await asyncio.to_thread(here.database.try_write)
        looked.set()
        await tab
        assert (await other)["phase"] == "open"

    asyncio.run(run())
