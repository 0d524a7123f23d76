"""Visitors of the live routes: who calls, what is sent, and how errors and streams are answered."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from arena.battle_page import side_html
from arena.database import DatabaseError
from arena.guard import sent_cookie
from arena.identity import cookie_hash
from arena.live.chats import UnknownTalkError
from arena.live.own_images import OwnImageError
from arena.live.stage import LEFT_SECONDS, LiveError
from arena.pictures import PictureError
from arena.render import visible_text
from arena.store import ChoiceError, Store, UnknownBattleError
from arena.strict_json import JSON, RowsError, parse_json
from arena.voters.limits import LimitError

NO_STORE = {"cache-control": "private, no-store", "x-robots-tag": "noindex"}
_STREAM = {**NO_STORE, "x-accel-buffering": "no"}
_BACK_SECONDS = LEFT_SECONDS / 2
"""A page whose connection broke off comes back before its answers are stopped; browsers would wait for 3 seconds."""
_GAP = re.compile(r"\n[ \t]*\n(?=\S)")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class NoVisitorError(LookupError):
    """Say that the browser sent no voter cookie."""

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
    UnknownTalkError: 404,
    LimitError: 429,
    DatabaseError: 503,
}


def told(handler: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """Make a handler answer a room's error with its text."""

    @wraps(handler)
    async def tried(*args: Any, **named: Any) -> Response:
        try:
            return await handler(*args, **named)
        except tuple(_STATUS) as error:
            return PlainTextResponse(str(error), status_code=_STATUS[type(error)])

    return tried


async def visitor(request: Request, store: Store) -> int:
    """Return the voter who calls. Raises NoVisitorError or DatabaseError."""
    cookie = sent_cookie(request.headers)
    if cookie is None:
        raise NoVisitorError
    return await asyncio.to_thread(store.voter, cookie_hash(cookie))


def over_https(request: Request) -> bool:
    """Tell whether the browser speaks https with us, or with the proxy before us."""
    return request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"


class Sent:
    """What a page sent: a JSON object whose values are looked at one by one. Raises RowsError for another shape."""

    def __init__(self, values: dict[str, JSON]) -> None:
        self._values = values

    @classmethod
    async def read(cls, request: Request) -> "Sent":
        """Read a request's body."""
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
        """Return true or false; false if it is absent."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise RowsError(f"expected true or false for {name}")
        return value


class Told:
    """What a page was told of growing texts, so that it is told the rest only.

    Blocks of Markdown that are whole go out as HTML, once; the words of the last block as they come.
    """

    def __init__(self) -> None:
        self._settled: dict[str, int] = {}
        self._shown: dict[str, str] = {}

    def words(self, texts: Mapping[Any, str]) -> dict[str, object]:
        """Return for each text the blocks that became whole, and what is added to its last words or stands for them."""
        sides: dict[str, dict[str, str]] = {}
        for name, text in texts.items():
            shown, settled = visible_text(text), self._settled.get(name, 0)
            cut = settled + _whole_blocks(shown[settled:])
            last, before = shown[cut:], self._shown.get(name, "")
            sides[name] = {"blocks": side_html(shown[settled:cut])} if cut > settled else {}
            sides[name] |= (
                {"added": last[len(before) :]} if cut == settled and last.startswith(before) else {"last": last}
            )
            self._settled[name], self._shown[name] = cut, last
        return {"kind": "words", "sides": sides}


def _whole_blocks(text: str) -> int:
    """Return where the last block begins: after an empty line, before a line that is not indented, outside of code."""
    cut = 0
    for gap in _GAP.finditer(text):
        if len(_FENCE.findall(text, 0, gap.end())) % 2 == 0:
            cut = gap.end()
    return cut


def events(messages: AsyncIterator[Mapping[str, object]]) -> StreamingResponse:
    """Return messages as server-sent events; a page that goes ends them."""

    async def lines() -> AsyncIterator[str]:
        yield f"retry: {_BACK_SECONDS * 1000:.0f}\n\n"
        async for message in messages:
            yield f"data: {json.dumps(message)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers=_STREAM)
