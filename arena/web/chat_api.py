"""Chat API: the HTTP routes of the chat."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from arena.battles.store import BattleStore
from arena.live.chat import Chats, ChatSession, ChatState
from arena.web.live_view import chat_scene, waiting_text
from arena.web.visitor_api import NO_STORE, GrowingTexts, JsonBody, answers_errors, events, visitor


def routes(chats: Chats, battle_store: BattleStore) -> APIRouter:
    """Return the routes; each identifies the visitor by the cookie, and accepts only that visitor's conversations."""
    chat = _Chat(chats, battle_store)
    router = APIRouter()
    session = "/chat/talks/{token}"
    for method, path, handler in (
        ("GET", "/chat/models", chat.models),
        ("POST", "/chat/talks", chat.begin),
        ("GET", session, chat.watch),
        ("POST", f"{session}/questions", chat.follow),
        ("POST", f"{session}/stop", chat.stop),
    ):
        router.add_api_route(path, handler, methods=[method], response_model=None)
    return router


class _Chat:
    def __init__(self, chats: Chats, battle_store: BattleStore) -> None:
        self._chats = chats
        self._battle_store = battle_store

    @answers_errors
    async def models(self, request: Request) -> Response:
        """Return the models' names."""
        await visitor(request, self._battle_store)
        return JSONResponse({"models": list(self._chats.vlms)}, headers=NO_STORE)

    @answers_errors
    async def begin(self, request: Request) -> Response:
        voter, sent = await visitor(request, self._battle_store), await JsonBody.read(request)
        session = await self._chats.begin(voter, sent.text("model"), sent.text("instruction"), sent.texts("images"))
        return JSONResponse({"talk": session.token}, headers=NO_STORE)

    @answers_errors
    async def watch(self, request: Request) -> Response:
        """Stream a conversation's state until no answer is being generated."""
        session = await self._chats.find(await visitor(request, self._battle_store), request.path_params["token"])
        return events(self._messages(session))

    @answers_errors
    async def follow(self, request: Request) -> Response:
        """Ask another question."""
        voter, sent = await visitor(request, self._battle_store), await JsonBody.read(request)
        session = await self._chats.follow(voter, request.path_params["token"], sent.text("text"))
        return JSONResponse({"talk": session.token}, headers=NO_STORE)

    @answers_errors
    async def stop(self, request: Request) -> Response:
        """Stop the answer."""
        session = await self._chats.stop(await visitor(request, self._battle_store), request.path_params["token"])
        return await self._scene(ChatState(session, False, 0, ""))

    async def _messages(self, session: ChatSession) -> AsyncIterator[Mapping[str, object]]:
        growing = GrowingTexts()
        begun = False
        async for shown in self._chats.watch(session.voter, session.token):
            if not shown.growing or not begun:
                yield await asyncio.to_thread(chat_scene, shown)
            if shown.growing:
                line = {"kind": "line", "status": waiting_text(shown.ahead)}
                yield line if shown.ahead else await asyncio.to_thread(growing.words, {"a": shown.text})
            begun = shown.growing

    async def _scene(self, shown: ChatState) -> Response:
        return JSONResponse(await asyncio.to_thread(chat_scene, shown), headers=NO_STORE)
