"""Live API: the routes of live battles, for image uploads, battles and their state.

The page gets server-sent events instead of Gradio's streams. Our stream belongs to the cookie and not to a session name
that the browser chooses. It takes no place in the page's queue, ends as soon as the page is closed, and goes on with
the battle when the page comes back.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from mimetypes import guess_type
from typing import cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from arena.battles.quotas import Networks
from arena.battles.sampling import in_draw
from arena.battles.voters import Voters
from arena.io.images import PictureStore
from arena.io.scaled_pictures import ScaledPictures
from arena.items.fact_store import FactStore
from arena.items.store import ItemBank
from arena.live.credits import Credits
from arena.live.images import OwnImages
from arena.live.models import LiveModels
from arena.live.offer import OfferState, offer_of
from arena.live.queue import LiveError
from arena.live.sessions import LiveRequest, LiveSessions, LiveState
from arena.live.store import LiveBattle, LiveStore
from arena.settings import DemoBank
from arena.types import Item, Phase, Side
from arena.web.cookies import NO_STORE
from arena.web.live_view import Revealed, bank_html, offer_html, scene, subject_html
from arena.web.visitor_api import JsonBody, event_stream, visitor_router

IMAGES = "/live/images"
"""The route of image uploads, whose bodies may be large."""


@dataclass(frozen=True)
class LiveApi:
    """The handlers. Each accepts only images and battles of the visitor who calls."""

    models: LiveModels
    has_catalogue: bool
    """Whether MODELS is set."""
    is_space: bool
    credits: Credits
    keyless: OfferState
    """The state of the offer to a visitor without a key, if the models need a key."""
    sessions: LiveSessions
    store: LiveStore
    images: OwnImages
    items: ItemBank
    demo_bank: DemoBank
    pictures: PictureStore
    scaled: ScaledPictures
    terms: str
    """The version of the terms that the page shows."""
    networks: Networks
    facts: FactStore

    def router(self, voters: Voters) -> APIRouter:
        router = visitor_router(voters)
        battle = "/live/battles/{token}"
        router.get("/live/models")(self.show_offer)
        router.post("/live/models")(self.try_again)
        router.post(IMAGES)(self.upload)
        router.get(f"{IMAGES}/{{token}}")(self.image)
        router.post(f"{IMAGES}/{{token}}/discard")(self.discard)
        router.get("/live/item")(self.draw_item)
        router.get("/live/unfinished")(self.unfinished)
        router.post("/live/battles")(self.begin)
        router.get(battle)(self.watch)
        router.post(f"{battle}/questions")(self.follow)
        router.post(f"{battle}/stop")(self.stop)
        router.post(f"{battle}/choose")(self.choose)
        router.post(f"{battle}/undo")(self.undo)
        router.post(f"{battle}/names")(self.reveal)
        return router

    def show_offer(self, request: Request) -> Response:
        """Returns whether a battle can begin, and what is missing."""
        key = self.credits.key(request.state.voter)
        offer = offer_of(self.models, key, self.keyless, self.has_catalogue)
        html = offer_html(offer, self.is_space)
        return JSONResponse({"state": offer.state, "html": html}, headers=NO_STORE)

    def try_again(self, request: Request) -> Response:
        """Tries again to load the models that failed, and returns the new offer."""
        self.models.try_again()
        return self.show_offer(request)

    async def upload(self, request: Request) -> Response:
        image = await self.images.receive(
            request.state.voter, request.stream(), self.networks.of(request)
        )
        return JSONResponse({"image": image.token, "still": image.is_first_frame})

    def image(self, request: Request, token: str) -> Response:
        path = self.images.path(request.state.voter, token)
        if path is not None:
            with suppress(FileNotFoundError):  # Its battle may end just now.
                kind, _ = guess_type(path.name)
                return Response(path.read_bytes(), media_type=kind, headers=NO_STORE)
        return PlainTextResponse("There is no such image.", status_code=404)

    async def discard(self, request: Request, token: str) -> Response:
        await asyncio.to_thread(self.images.discard, request.state.voter, [token])
        return JSONResponse({})

    def draw_item(self, request: Request) -> Response:
        """Draws an item of the bank that the models can be asked about."""
        item = self.sessions.draw_item(request.state.voter, self._drawable_items())
        if item is None:
            raise LiveError(
                "There's no item with pictures here that two models can take. Use your own pictures."
            )
        html = bank_html(item, self.scaled)
        return JSONResponse({"item": item.key, "html": html}, headers=NO_STORE)

    def unfinished(self, request: Request) -> Response:
        battle = self.store.unfinished(request.state.voter)
        token = battle.token if battle else None
        return JSONResponse({"battle": token}, headers=NO_STORE)

    async def begin(self, request: Request) -> Response:
        body = await JsonBody.read(request)
        key = body.text("item")
        item = await asyncio.to_thread(self._chosen_item, key) if key else None
        files = await asyncio.to_thread(self._files, item)
        live_request = LiveRequest(
            instruction=body.text("instruction"),
            images=body.texts("images"),
            keep=body.flag("keep"),
            network=self.networks.of(request),
        )
        battle = await self.sessions.begin(request.state.voter, live_request, item, files)
        return JSONResponse({"battle": battle.token}, headers=NO_STORE)

    async def watch(self, request: Request, token: str) -> Response:
        """Streams a battle's state until no answer is being generated."""
        voter = request.state.voter
        battle = await self.sessions.find(voter, token)
        states = self.sessions.watch(voter, battle.token)
        return event_stream(states, partial(self._scene, voter))

    async def follow(self, request: Request, token: str) -> Response:
        voter = request.state.voter
        body = await JsonBody.read(request)
        battle = await asyncio.to_thread(self.store.find, voter, token)
        item = await asyncio.to_thread(self._item, battle)
        if battle.item is not None and item is None:
            raise LiveError(
                "This battle's item is no longer here. Choose A or B, or start another battle."
            )
        files = await asyncio.to_thread(self._files, item)
        battle = await self.sessions.follow(
            voter, token, body.text("text"), files, self.networks.of(request)
        )
        return JSONResponse({"battle": battle.token}, headers=NO_STORE)

    async def stop(self, request: Request, token: str) -> Response:
        voter = request.state.voter
        return await self._scene_after_act(request, await self.sessions.stop(voter, token))

    async def choose(self, request: Request, token: str) -> Response:
        voter = request.state.voter
        body = await JsonBody.read(request)
        choice = cast(Side, body.text("value"))  # The store checks it.
        battle = await self.sessions.choose(voter, token, choice, self.terms)
        return await self._scene_after_act(request, battle)

    async def undo(self, request: Request, token: str) -> Response:
        voter = request.state.voter
        return await self._scene_after_act(
            request, await asyncio.to_thread(self.store.undo, voter, token)
        )

    async def reveal(self, request: Request, token: str) -> Response:
        """Makes the choice final, returns the names, and deletes the images that may not be kept."""
        voter = request.state.voter
        battle = await asyncio.to_thread(self.store.reveal, voter, token)
        await self.sessions.forget(battle)
        return await self._scene_after_act(request, battle)

    async def _scene_after_act(self, request: Request, battle: LiveBattle) -> Response:
        """Returns the scene of a battle after an act, when no answer is in progress and the page has its question."""
        voter = request.state.voter
        state = LiveState(battle, is_growing=False, ahead=0, texts={})
        revealed = await asyncio.to_thread(self._names_and_facts, voter, battle)
        return JSONResponse(scene(state, revealed, subject=None), headers=NO_STORE)

    def _scene(self, voter: int, state: LiveState) -> dict[str, object]:
        """Returns the scene of a battle with its question."""
        battle = state.battle
        # Own images are deleted when a battle is void.
        has_own_images = battle.item is None and battle.void is None
        own_images = self.images.battle_tokens(voter, battle.id) if has_own_images else ()
        subject = subject_html(
            battle.turns[0].question, own_images, self._item(battle), self.scaled
        )
        return scene(state, self._names_and_facts(voter, battle), subject)

    def _names_and_facts(self, voter: int, battle: LiveBattle) -> Revealed | None:
        """Returns the names and facts of a battle's models; None while they are hidden."""
        if battle.phase is not Phase.REVEALED:
            return None
        return Revealed(self.store.names(voter, battle.token), self.facts.snapshot())

    def _item(self, battle: LiveBattle) -> Item | None:
        """Returns a battle's item of the bank; None for own pictures, and for an item that was removed."""
        if battle.item is None:
            return None
        return self.items.bank().items.get(battle.item)

    def _drawable_items(self) -> list[Item]:
        """Returns the items in the draw whose pictures are stored here."""
        items = in_draw(self.items.bank(), self.demo_bank)
        return [item for item in items if _has_pictures(item)]

    def _chosen_item(self, key: str) -> Item:
        """Returns the item of this key. Raises LiveError."""
        items = self._drawable_items()
        item = next((item for item in items if item.key == key), None)
        if item is None:
            raise LiveError("This item isn't here. Choose another.")
        return item

    def _files(self, item: Item | None) -> tuple[bytes, ...]:
        """Returns the pictures of an item of the bank. Raises LiveError if one is missing."""
        images = item.images if item else ()
        names = [f"{image.sha256}.{image.suffix}" for image in images]
        paths = [self.pictures.path(name) for name in names]
        if None in paths:
            raise LiveError("A picture of this item is missing. Choose another item.")
        return tuple(path.read_bytes() for path in paths if path is not None)


def _has_pictures(item: Item) -> bool:
    """Whether all pictures of an item are stored here."""
    return all(image.sha256 is not None for image in item.images)
