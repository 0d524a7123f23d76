"""Live API: HTTP routes of live battles, for image uploads, battles and the state that the page shows.

The page gets server-sent events rather than Gradio's streams: our stream belongs to the cookie instead of a session
name that the browser chooses, takes no place in the page's queue, ends as soon as the page is closed, and resumes where
the battle is when the page comes back.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse

from arena.battles.quotas import DIRECT, Networks
from arena.battles.sampling import in_draw
from arena.battles.store import BattleStore
from arena.io.images import PictureStore
from arena.items.store import ItemBank
from arena.live.images import OwnImages
from arena.live.queue import LiveError
from arena.live.sessions import LiveRequest, LiveSessions, LiveState
from arena.live.store import LiveBattle, LiveStore
from arena.settings import DemoBank
from arena.types import Item, Phase
from arena.web.live_view import bank_html, head_html, scene, waiting_text
from arena.web.visitor_api import NO_STORE, GrowingTexts, JsonBody, answers_errors, events, visitor

IMAGES = "/live/images"
"""Route of image uploads; its body may be larger than others."""


@dataclass(frozen=True)
class LiveServices:
    """Services behind the routes of live battles."""

    sessions: LiveSessions
    store: LiveStore
    images: OwnImages
    battle_store: BattleStore
    items: ItemBank
    demo_bank: DemoBank
    pictures: PictureStore
    terms: str
    """Version of the terms that the page shows."""
    networks: Networks = DIRECT


def routes(services: LiveServices) -> APIRouter:
    """Return the routes; each identifies the voter by the cookie, and accepts only that voter's battle tokens."""
    live = _Live(services)
    router = APIRouter()
    battle = "/live/battles/{token}"
    for method, path, handler in (
        ("POST", IMAGES, live.upload),
        ("GET", f"{IMAGES}/{{token}}", live.image),
        ("POST", f"{IMAGES}/{{token}}/discard", live.discard),
        ("GET", "/live/item", live.item),
        ("GET", "/live/unfinished", live.unfinished),
        ("POST", "/live/battles", live.begin),
        ("GET", battle, live.watch),
        ("POST", f"{battle}/questions", live.follow),
        ("POST", f"{battle}/stop", live.stop),
        ("POST", f"{battle}/choice", live.choose),
        ("POST", f"{battle}/undo", live.undo),
        ("POST", f"{battle}/reveal", live.reveal),
    ):
        router.add_api_route(path, handler, methods=[method], response_model=None)
    return router


class _Live:
    def __init__(self, services: LiveServices) -> None:
        self._services = services

    @answers_errors
    async def upload(self, request: Request) -> Response:
        """Receive an image."""
        voter, network = await self._visitor(request), self._services.networks.of(request)
        image = await self._services.images.receive(voter, request.stream(), network)
        return JSONResponse({"image": image.token, "still": image.still})

    @answers_errors
    async def image(self, request: Request) -> Response:
        """Return an image to its owner."""
        voter = await self._visitor(request)
        path = await asyncio.to_thread(self._services.images.path, voter, request.path_params["token"])
        if path is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    @answers_errors
    async def discard(self, request: Request) -> Response:
        """Delete an image that the visitor removed."""
        voter = await self._visitor(request)
        await asyncio.to_thread(self._services.images.discard, voter, [request.path_params["token"]])
        return JSONResponse({})

    @answers_errors
    async def item(self, request: Request) -> Response:
        """Draw an item of the bank."""
        item = await asyncio.to_thread(self._drawn)
        return JSONResponse({"item": item.key, "html": bank_html(item)}, headers=NO_STORE)

    @answers_errors
    async def unfinished(self, request: Request) -> Response:
        """Return this visitor's unfinished battle."""
        battle = await asyncio.to_thread(self._services.store.unfinished, await self._visitor(request))
        return JSONResponse({"battle": battle and battle.token}, headers=NO_STORE)

    @answers_errors
    async def begin(self, request: Request) -> Response:
        voter, sent = await self._visitor(request), await JsonBody.read(request)
        key = sent.text("item")
        item = await asyncio.to_thread(self._known, key) if key else None
        files = await asyncio.to_thread(self._files, item)
        network = self._services.networks.of(request)
        live_request = LiveRequest(sent.text("instruction"), sent.texts("images"), sent.flag("keep"), network)
        battle = await self._services.sessions.begin(voter, live_request, item, files)
        return JSONResponse({"battle": battle.token}, headers=NO_STORE)

    @answers_errors
    async def watch(self, request: Request) -> Response:
        """Stream a battle's state until no answer is being generated."""
        voter = await self._visitor(request)
        battle = await self._services.sessions.find(voter, request.path_params["token"])
        return events(self._messages(voter, battle))

    @answers_errors
    async def follow(self, request: Request) -> Response:
        """Ask both models another question."""
        voter, token, sent = await self._visitor(request), request.path_params["token"], await JsonBody.read(request)
        battle = await asyncio.to_thread(self._services.store.find, voter, token)
        item = self._item(battle)
        if battle.item is not None and item is None:
            raise LiveError("The item of this battle is no longer here; choose A or B, or start another battle")
        files = await asyncio.to_thread(self._files, item)
        battle = await self._services.sessions.follow(voter, token, sent.text("text"), files)
        return JSONResponse({"battle": battle.token}, headers=NO_STORE)

    @answers_errors
    async def stop(self, request: Request) -> Response:
        """Stop both answers."""
        voter = await self._visitor(request)
        return await self._scene(voter, await self._services.sessions.stop(voter, request.path_params["token"]))

    @answers_errors
    async def choose(self, request: Request) -> Response:
        voter, token, sent = await self._visitor(request), request.path_params["token"], await JsonBody.read(request)
        choice = sent.text("choice")
        battle = await asyncio.to_thread(self._services.store.vote, voter, token, choice, self._services.terms)
        return await self._scene(voter, battle)

    @answers_errors
    async def undo(self, request: Request) -> Response:
        voter = await self._visitor(request)
        battle = await asyncio.to_thread(self._services.store.undo, voter, request.path_params["token"])
        return await self._scene(voter, battle)

    @answers_errors
    async def reveal(self, request: Request) -> Response:
        """Make the choice final, return the names, and delete the images that may not be kept."""
        voter = await self._visitor(request)
        battle = await asyncio.to_thread(self._services.store.reveal, voter, request.path_params["token"])
        await self._services.sessions.forget(battle)
        return await self._scene(voter, battle)

    async def _visitor(self, request: Request) -> int:
        return await visitor(request, self._services.battle_store)

    async def _messages(self, voter: int, battle: LiveBattle) -> AsyncIterator[Mapping[str, object]]:
        """Yield the scene, then the words as they come, then the scene again."""
        growing = GrowingTexts()
        begun = False
        async for shown in self._services.sessions.watch(voter, battle.token):
            if not shown.growing or not begun:
                yield await self._changed_scene(voter, shown)
            if shown.growing:
                line = {"kind": "line", "status": waiting_text(shown.ahead)}
                yield line if shown.ahead else await asyncio.to_thread(growing.words, shown.texts)
            begun = shown.growing

    async def _scene(self, voter: int, battle: LiveBattle) -> Response:
        return JSONResponse(await self._changed_scene(voter, LiveState(battle, False, 0, {})), headers=NO_STORE)

    async def _changed_scene(self, voter: int, shown: LiveState) -> dict[str, object]:
        return await asyncio.to_thread(self._made_scene, voter, shown)

    def _made_scene(self, voter: int, shown: LiveState) -> dict[str, object]:
        battle = shown.battle
        names = self._services.store.names(voter, battle.token) if battle.phase is Phase.REVEALED else None
        own = self._services.images.of_battle(voter, battle.id) if battle.item is None else ()
        return scene(shown, names, head_html(battle.turns[0].question, own, self._item(battle)))

    def _item(self, battle: LiveBattle) -> Item | None:
        return None if battle.item is None else self._services.items.bank().items.get(battle.item)

    def _drawn(self) -> Item:
        """Draw an item whose pictures are stored here. Raises LiveError if there is none."""
        items = [item for item in in_draw(self._services.items.bank(), self._services.demo_bank) if _is_kept(item)]
        if not items:
            raise LiveError("The bank has no item with its pictures yet; bring images of your own")
        return secrets.choice(items)

    def _known(self, key: str) -> Item:
        item = self._services.items.bank().by_key(key)
        if item is None or not _is_kept(item):
            raise LiveError("There is no such item here; take another")
        return item

    def _files(self, item: Item | None) -> tuple[bytes, ...]:
        """Return the pictures of an item of the bank. Raises LiveError if one is missing."""
        names = [f"{image.sha256}.{image.suffix}" for image in item.images] if item else []
        paths = [self._services.pictures.path(name) for name in names]
        if None in paths:
            raise LiveError("A picture of this item is not here; take another item")
        return tuple(path.read_bytes() for path in paths if path is not None)


def _is_kept(item: Item) -> bool:
    return all(image.sha256 is not None for image in item.images)
