"""Visitor API: the visitor of a request, and the JSON bodies, errors and event streams of live battles' routes."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from fastapi.routing import APIRoute

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.lending import NotLentError
from arena.battles.quotas import LimitError
from arena.battles.voters import Voters
from arena.database import DatabaseError
from arena.io.images import PictureError
from arena.io.strict_json import JSON, RowsError, parse_json
from arena.live.images import OwnImageError
from arena.live.queue import DISCONNECT_SECONDS, ElsewhereError, LiveError
from arena.live.sessions import LiveState
from arena.locale import t, translated
from arena.markdown import seen_length, visible_text
from arena.templates import macros
from arena.types import Side
from arena.web.cookies import NO_STORE, cookie_hash, cookie_since, sent_cookie
from arena.web.live_view import waiting_text

HTML = macros("battle.html")
_STREAM = {**NO_STORE, "x-accel-buffering": "no"}
_BACK_SECONDS = DISCONNECT_SECONDS / 2
"""The seconds after which a page reconnects, before its answers are stopped. Browsers by default wait for 3 seconds."""
_GAP_OR_FENCE = re.compile(r"(\n\n)(?=\S)|(?<=\n) {0,3}(?:```|~~~)")
"""An empty line before an unindented one, in the output of `visible_text`; the start or end of a code block."""
_CONTEXT = 10
"""The number of preceding characters that can change the result of `visible_text`."""


class NoVisitorError(LookupError):
    """The browser sent no voter cookie, so that its votes can't be told from other people's."""

    def __init__(self) -> None:
        super().__init__("Your browser blocks this page's cookie. Open the page in its own tab.")


_STATUS: Mapping[type[Exception], int] = {
    **dict.fromkeys((LiveError, OwnImageError, PictureError, ChoiceError, RowsError), 400),
    **dict.fromkeys((NoVisitorError, NotLentError), 403),
    UnknownBattleError: 404,
    ElsewhereError: 409,
    LimitError: 429,
    DatabaseError: 503,
}


def sent_hash(headers: Mapping[str, str]) -> str:
    """Returns the hash of a request's voter cookie. Raises NoVisitorError."""
    cookie = sent_cookie(headers)
    if cookie is None:
        raise NoVisitorError
    return cookie_hash(cookie)


def sent_voter(voter: Callable[[str, datetime | None], int], headers: Mapping[str, str]) -> int:
    """Returns the voter of a request, whose first visit is the time of issue of the cookie. Raises NoVisitorError."""
    return voter(sent_hash(headers), cookie_since(sent_cookie(headers) or ""))


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ErrorRoute(APIRoute):
    """A route that answers an error of ours with its message and status."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except tuple(_STATUS) as error:
                return PlainTextResponse(translated(error), status_code=_STATUS[type(error)])

        return answer


def visitor_router(voters: Voters) -> APIRouter:
    """Returns a router for visitors with a cookie; `request.state.voter` is the visitor's id.

    Reading stores no visitor: one without an id is `NOBODY`, who owns nothing.
    """

    async def visit(request: Request) -> None:
        find = voters.known if request.method == "GET" else voters.voter
        request.state.voter = await asyncio.to_thread(sent_voter, find, request.headers)

    return APIRouter(route_class=ErrorRoute, dependencies=[Depends(visit)])


_RELOAD = "Reload the page and try again."


class JsonBody:
    """A JSON object from a page, whose values are checked when they are read. Raises RowsError for another shape."""

    def __init__(self, values: dict[str, JSON]) -> None:
        self._values = values

    @classmethod
    async def read(cls, request: Request) -> "JsonBody":
        try:
            body = parse_json((await request.body()).decode())
        except UnicodeDecodeError as error:
            raise RowsError(f"The request isn't UTF-8. {_RELOAD}") from error
        if not isinstance(body, dict):
            raise RowsError(f"The request isn't a JSON object. {_RELOAD}")
        return cls(body)

    def text(self, name: str, most_characters: int | None = None) -> str:
        """Returns a text; empty if it is absent."""
        value = self._values.get(name, "")
        if not isinstance(value, str):
            raise RowsError(f"The value {name!r} isn't a text. {_RELOAD}")
        if most_characters is not None and len(value) > most_characters:
            raise RowsError(
                f"The text {name!r} has {len(value):,} characters, and the limit is {most_characters:,}. "
                "Shorten it."
            )
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Returns a list of texts; empty if it is absent."""
        values = self._values.get(name, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise RowsError(f"The value {name!r} isn't a list of texts. {_RELOAD}")
        return tuple(str(value) for value in values)

    def flag(self, name: str) -> bool:
        """Returns a boolean; False if it is absent."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise RowsError(f"The value {name!r} isn't true or false. {_RELOAD}")
        return value


class GrowingText:
    """A growing text. The page gets only its new parts.

    Complete Markdown blocks are sent as HTML, once, and the words of the last block as they come. Words that are
    invisible until more come wait for these.
    """

    def __init__(self) -> None:
        self._invisible: list[str] = []
        self._context = ""
        self._block: list[str] = []
        self._in_code = False

    def add(self, words: str) -> dict[str, str]:
        """Adds words and returns the message for the page: the visible ones, or complete blocks and the words after."""
        visible = self._visible(words)
        before = self._context[-1:] or "\n"
        self._context = (self._context + visible)[-_CONTEXT:]
        cut = 0
        for mark in _GAP_OR_FENCE.finditer(before + visible):
            if not mark[1]:
                self._in_code = not self._in_code
            elif not self._in_code:
                cut = mark.end() - len(before)
        self._block.append(visible[:cut] if cut else visible)
        if not cut:
            return {"added": visible}
        blocks = "".join(self._block)
        self._block = [visible[cut:]]
        return {"blocks": HTML.side(blocks), "last": visible[cut:]}

    def _visible(self, words: str) -> str:
        """Returns the visible part of the new words."""
        length = seen_length(words)
        if not length:
            self._invisible.append(words)
            return ""
        text = "".join((*self._invisible, words[:length]))
        self._invisible = [words[length:]]
        if not self._context:
            return visible_text(text)
        before = f"\xe9{self._context}"  # The letter keeps the context from being the beginning of a text.
        return visible_text(before + text)[len(before) :]


def events(
    states: AsyncIterator[LiveState],
    scene: Callable[[LiveState], Mapping[str, object]],
) -> StreamingResponse:
    """Returns a battle's states as server-sent events."""
    growing: defaultdict[Side, GrowingText] = defaultdict(GrowingText)

    def new_words(state: LiveState) -> Mapping[str, object]:
        if state.ahead:
            return {"kind": "line", "status": waiting_text(state.ahead)}
        if state.is_loading:
            return {"kind": "line", "status": t("live.loading")}
        sides = {side: growing[side].add(text) for side, text in state.texts.items()}
        return {
            "kind": "words",
            "sides": sides,
            **({"choose": t("live.choose_now")} if state.is_choosable else {}),
        }

    async def lines() -> AsyncIterator[str]:
        yield f"retry: {_BACK_SECONDS * 1000:.0f}\n\n"
        begun = False
        with suppress(*_STATUS):  # the page comes back when the stream ends, and is told then
            async for state in states:
                if not state.is_growing or not begun:
                    yield f"data: {json.dumps(await asyncio.to_thread(scene, state))}\n\n"
                if state.is_growing:
                    yield f"data: {json.dumps(await asyncio.to_thread(new_words, state))}\n\n"
                begun = state.is_growing

    return StreamingResponse(lines(), media_type="text/event-stream", headers=_STREAM)
