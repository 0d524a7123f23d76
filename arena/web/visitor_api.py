"""Request helpers of the live and chat routes: visitors, JSON bodies, error responses and event streams."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.quotas import LimitError
from arena.battles.store import BattleStore
from arena.database import DatabaseError
from arena.io.images import PictureError
from arena.io.strict_json import JSON, RowsError, parse_json
from arena.live.chat import UnknownChatError
from arena.live.images import OwnImageError
from arena.live.queue import DISCONNECT_SECONDS, ElsewhereError, LiveError
from arena.markdown import seen_length, visible_text
from arena.templates import macros
from arena.web.cookies import cookie_hash
from arena.web.middleware import sent_cookie

HTML = macros("battle.html")
NO_STORE = {"cache-control": "private, no-store", "x-robots-tag": "noindex"}
_STREAM = {**NO_STORE, "x-accel-buffering": "no"}
_BACK_SECONDS = DISCONNECT_SECONDS / 2
"""A page reconnects after this time, before its answers are stopped; browsers by default wait for 3 seconds."""
_GAP_OR_FENCE = re.compile(r"(\n\n)(?=\S)|(?<=\n) {0,3}(?:```|~~~)")
"""An empty line before an unindented one, in the output of `visible_text`; the start or end of a code block."""
_CONTEXT = 10
"""Preceding characters that can change what `visible_text` leaves of a text."""


class NoVisitorError(LookupError):
    """The browser sent no voter cookie."""

    def __init__(self) -> None:
        super().__init__("Your browser keeps no cookie for this page. Open the page in a tab of its own.")


_STATUS: Mapping[type[Exception], int] = {
    LiveError: 400,
    OwnImageError: 400,
    PictureError: 400,
    ChoiceError: 400,
    RowsError: 400,
    NoVisitorError: 403,
    UnknownBattleError: 404,
    UnknownChatError: 404,
    ElsewhereError: 409,
    LimitError: 429,
    DatabaseError: 503,
}


def answers_errors(handler: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """Wrap a handler to answer an error with its message and status code."""

    @wraps(handler)
    async def tried(*args: Any, **named: Any) -> Response:
        try:
            return await handler(*args, **named)
        except tuple(_STATUS) as error:
            return PlainTextResponse(str(error), status_code=_STATUS[type(error)])

    return tried


async def visitor(request: Request, store: BattleStore) -> int:
    """Return the calling voter's id. Raises NoVisitorError or DatabaseError."""
    cookie = sent_cookie(request.headers)
    if cookie is None:
        raise NoVisitorError
    return await asyncio.to_thread(store.voter, cookie_hash(cookie))


def over_https(request: Request) -> bool:
    """Whether the browser uses https, with us or with the proxy in front of us."""
    return request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"


class JsonBody:
    """A JSON object sent by a page, with values checked one by one. Raises RowsError for another shape."""

    def __init__(self, values: dict[str, JSON]) -> None:
        self._values = values

    @classmethod
    async def read(cls, request: Request) -> "JsonBody":
        try:
            body = parse_json((await request.body()).decode())
        except UnicodeDecodeError as error:
            raise RowsError("expected UTF-8") from error
        if not isinstance(body, dict):
            raise RowsError("expected a JSON object")
        return cls(body)

    def text(self, name: str) -> str:
        """Return a text; empty if it is absent."""
        value = self._values.get(name, "")
        if not isinstance(value, str):
            raise RowsError(f"expected text for {name}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty if it is absent."""
        values = self._values.get(name, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise RowsError(f"expected a list of texts for {name}")
        return tuple(str(value) for value in values)

    def flag(self, name: str) -> bool:
        """Return a boolean; False if it is absent."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise RowsError(f"expected true or false for {name}")
        return value


class GrowingTexts:
    """Increments of growing texts: the page is sent only what is new.

    Complete Markdown blocks are sent as HTML, once; the words of the last block as they come.
    """

    def __init__(self) -> None:
        self._texts: dict[str, _Growing] = {}

    def words(self, texts: Mapping[Any, str]) -> dict[str, object]:
        """Add new words to the texts, and return per text what to send.

        That is either the words added, or the blocks they complete, as HTML, with the words after these blocks.
        """
        sides = {name: self._texts.setdefault(name, _Growing()).add(text) for name, text in texts.items()}
        return {"kind": "words", "sides": sides}


class _Growing:
    """One growing text: its last block, sent as it comes, and trailing text that is invisible until more comes."""

    def __init__(self) -> None:
        self._unseen: list[str] = []
        self._context = ""
        self._block: list[str] = []
        self._in_code = False

    def add(self, words: str) -> dict[str, str]:
        """Add words, and return what to send."""
        seen = self._seen(words)
        before = self._context[-1:] or "\n"
        self._context = (self._context + seen)[-_CONTEXT:]
        cut = 0
        for mark in _GAP_OR_FENCE.finditer(before + seen):
            if not mark[1]:
                self._in_code = not self._in_code
            elif not self._in_code:
                cut = mark.end() - len(before)
        self._block.append(seen[:cut] or seen)
        if not cut:
            return {"added": seen}
        blocks, self._block = "".join(self._block), [seen[cut:]]
        return {"blocks": HTML.side(blocks), "last": seen[cut:]}

    def _seen(self, words: str) -> str:
        """Return the visible part of the new words."""
        length = seen_length(words)
        if not length:
            self._unseen.append(words)
            return ""
        text, self._unseen = "".join((*self._unseen, words[:length])), [words[length:]]
        if not self._context:
            return visible_text(text)
        before = f"\xe9{self._context}"  # a letter, so that the context does not stand at the beginning of a text
        return visible_text(before + text)[len(before) :]


def events(messages: AsyncIterator[Mapping[str, object]]) -> StreamingResponse:
    """Return messages as server-sent events; a page that disconnects ends the stream."""

    async def lines() -> AsyncIterator[str]:
        yield f"retry: {_BACK_SECONDS * 1000:.0f}\n\n"
        async for message in messages:
            yield f"data: {json.dumps(message)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers=_STREAM)
