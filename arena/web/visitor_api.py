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
_STREAM_HEADERS = {**NO_STORE, "x-accel-buffering": "no"}
_RETRY_SECONDS = DISCONNECT_SECONDS / 2
"""The seconds after which a page reconnects, before its answers are stopped. Browsers by default wait for 3 seconds."""
_GAP_OR_FENCE = re.compile(r"(\n\n)(?=\S)|(?<=\n) {0,3}(?:```|~~~)")
"""An empty line before an unindented one, in the output of `visible_text`; the start or end of a code block."""
_CONTEXT = 10
"""The most characters before a text that can change its `visible_text`."""


class NoVisitorError(LookupError):
    """The browser sent no voter cookie, so that its votes can't be told from other people's."""

    def __init__(self) -> None:
        super().__init__("Your browser blocks this page's cookie. Open the page in its own tab.")


_STATUS_OF_ERROR: Mapping[type[Exception], int] = {
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


def sent_voter(find: Callable[[str, datetime | None], int], headers: Mapping[str, str]) -> int:
    """Returns the voter of a request. Raises NoVisitorError.

    `find` gets the cookie's hash and its time of issue, which counts as the voter's first visit.
    """
    return find(sent_hash(headers), cookie_since(sent_cookie(headers) or ""))


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ErrorRoute(APIRoute):
    """A route that answers an error of ours with its message and status."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handle_with_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except tuple(_STATUS_OF_ERROR) as error:
                status = _STATUS_OF_ERROR[type(error)]
                return PlainTextResponse(translated(error), status_code=status)

        return handle_with_errors


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
        """Reads the body of a request."""
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

    Complete Markdown blocks are sent as HTML, once, and the words of the last block as they come. Words that aren't
    visible yet wait for the next ones.
    """

    def __init__(self) -> None:
        self._invisible: list[str] = []
        """Words that wait for more."""
        self._context = ""
        """The last visible characters."""
        self._block: list[str] = []
        """The visible words of the last block."""
        self._in_code = False

    def add(self, words: str) -> dict[str, str]:
        """Adds words and returns the message for the page.

        It has the new visible words (`added`), or complete blocks and the words after them (`blocks`, `last`).
        """
        visible = self._visible(words)
        last_character = self._context[-1:] or "\n"
        self._context = (self._context + visible)[-_CONTEXT:]
        block_end = 0
        for match in _GAP_OR_FENCE.finditer(last_character + visible):
            is_fence = not match[1]
            if is_fence:
                self._in_code = not self._in_code
            elif not self._in_code:
                block_end = match.end() - len(last_character)
        if not block_end:
            self._block.append(visible)
            return {"added": visible}
        blocks = "".join((*self._block, visible[:block_end]))
        last = visible[block_end:]
        self._block = [last]
        return {"blocks": HTML.side(blocks), "last": last}

    def _visible(self, words: str) -> str:
        """Returns the visible part of the new words."""
        visible_length = seen_length(words)
        if not visible_length:
            self._invisible.append(words)
            return ""
        text = "".join((*self._invisible, words[:visible_length]))
        self._invisible = [words[visible_length:]]
        if not self._context:
            return visible_text(text)
        # `visible_text` strips line breaks from the start of a text. A letter before the context keeps them.
        context = f"\xe9{self._context}"
        return visible_text(context + text)[len(context) :]


def _progress(state: LiveState, answers: defaultdict[Side, GrowingText]) -> Mapping[str, object]:
    """Returns the event of a state with answers in progress. `answers`: those so far, which get the new words."""
    if state.ahead:
        return {"kind": "line", "status": waiting_text(state.ahead)}
    if state.is_loading:
        return {"kind": "line", "status": t("live.loading")}
    sides = {side: answers[side].add(text) for side, text in state.texts.items()}
    event: dict[str, object] = {"kind": "words", "sides": sides}
    if state.can_be_chosen:
        event["choose"] = t("live.choose_now")
    return event


def event_stream(
    states: AsyncIterator[LiveState],
    scene: Callable[[LiveState], Mapping[str, object]],
) -> StreamingResponse:
    """Returns a battle's states as server-sent events: the scene, then new words, and the scene again at the end."""
    answers: defaultdict[Side, GrowingText] = defaultdict(GrowingText)

    async def event_texts() -> AsyncIterator[str]:
        yield f"retry: {_RETRY_SECONDS * 1000:.0f}\n\n"
        was_growing = False
        # An error ends the stream. The page then connects again, and gets the error.
        with suppress(*_STATUS_OF_ERROR):
            async for state in states:
                if not (state.is_growing and was_growing):
                    yield f"data: {json.dumps(await asyncio.to_thread(scene, state))}\n\n"
                if state.is_growing:
                    yield f"data: {json.dumps(await asyncio.to_thread(_progress, state, answers))}\n\n"
                was_growing = state.is_growing

    return StreamingResponse(event_texts(), media_type="text/event-stream", headers=_STREAM_HEADERS)
