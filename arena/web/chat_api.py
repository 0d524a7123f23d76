"""Chat API: the HTTP routes of the chat."""

import asyncio
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from arena.battles.quotas import Networks
from arena.battles.voters import Voters
from arena.live.chat import Chats, ChatState
from arena.web.cookies import NO_STORE
from arena.web.live_view import chat_scene
from arena.web.visitor_api import JsonBody, events, visitor_router
from arena.web.words import words_of


@dataclass(frozen=True)
class ChatApi:
    """The handlers; each accepts only conversations of the visitor who calls."""

    chats: Chats
    networks: Networks

    def router(self, voters: Voters) -> APIRouter:
        router, session = visitor_router(voters), "/chat/talks/{token}"
        router.get("/chat/models")(self.models)
        router.post("/chat/talks")(self.begin)
        router.get(session)(self.watch)
        router.post(f"{session}/questions")(self.follow)
        router.post(f"{session}/stop")(self.stop)
        return router

    async def models(self) -> Response:
        return JSONResponse({"models": list(self.chats.vlms)}, headers=NO_STORE)

    async def begin(self, request: Request) -> Response:
        sent = await JsonBody.read(request)
        asked = (sent.text("model"), sent.text("instruction"), sent.texts("images"))
        session = await self.chats.begin(request.state.voter, *asked, self.networks.of(request))
        return JSONResponse({"talk": session.token}, headers=NO_STORE)

    async def watch(self, request: Request, token: str) -> Response:
        """Stream a conversation's state until no answer is being generated."""
        session = await self.chats.find(request.state.voter, token)
        states = self.chats.watch(session.voter, session.token)
        words = words_of(request.headers)
        return events(states, partial(chat_scene, words=words), lambda shown: {"a": shown.text}, words)

    async def follow(self, request: Request, token: str) -> Response:
        sent = await JsonBody.read(request)
        session = await self.chats.follow(request.state.voter, token, sent.text("text"))
        return JSONResponse({"talk": session.token}, headers=NO_STORE)

    async def stop(self, request: Request, token: str) -> Response:
        session = await self.chats.stop(request.state.voter, token)
        scene = await asyncio.to_thread(chat_scene, ChatState(session, False, 0, ""), words_of(request.headers))
        return JSONResponse(scene, headers=NO_STORE)
