"""Event streams: the JSON objects of a streamed reply, as servers send them.

Server-sent events as WHATWG's HTML describes them (9.2.6): lines end by CR, LF or both, a byte order mark may come
first, an event ends with an empty line. More forms are accepted: an event without that line, lines of JSON without
`data:`, and a whole reply in place of a stream.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import httpx2

from arena.inference.trouble import Trouble

_MOST_LINE = 1_000_000
_MOST_VALUES = 5_000
"""The most commas of an event: more means no words, and `json` blocks everything else while it parses."""
_MOST_PARTS = 1_000
"""The most lines of an event."""
_LINE_END = re.compile(rb"\r\n|\r|\n")
_STATUS = re.compile(r"[45][0-9]{2}", re.ASCII)
_BYTE_ORDER = b"\xef\xbb\xbf"
_OF_ERRORS = ("errors", "detail")
"""The fields of a reply without choices because the server failed, by FastAPI and Cloudflare."""
_FIELDS = (b"data:", b"event:", b":", b"id:", b"retry:")
DONE: Mapping[str, Any] = {"done": True}
"""The event for `[DONE]`, and for the end of a whole reply."""


async def events(
    response: httpx2.Response, step: Callable[[], Awaitable[None]]
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yields the events of a reply, bounded, to its end or DONE; `step` waits until one more may be read.

    Raises Trouble, and ValueError for data that are not JSON.
    """
    chunks = response.aiter_raw()
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        body = (await response.aread()).strip().removeprefix(_BYTE_ORDER)
        if not body.startswith((*_FIELDS, b"{", b"[")):
            words = "the server answered with a page instead of a stream of events"
            raise Trouble("bad reply", words)
        if body.startswith((b"{", b"[")) and b"\n{" not in body:
            yield _event(body)
            yield DONE
            return
        chunks = _once(body)
    async with aclosing(_of_lines(chunks)) as stream:
        async for event in stream:
            await step()
            yield event
            if event is DONE:
                return


async def _once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def _of_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Mapping[str, Any], None]:
    lines = _Lines()
    parts = _EventLines()
    async for chunk in chunks:
        for line in lines.add(chunk):
            for event in parts.add(line):
                yield event
    for line in (lines.rest, b""):
        for event in parts.add(line):
            yield event


class _Lines:
    """Chunks cut into lines."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        """The chunks of the incomplete line."""
        self._held = 0
        self._is_first = True

    @property
    def rest(self) -> bytes:
        """The last line, without a line end."""
        return self._without_mark(b"".join(self._begun)).removesuffix(b"\r")

    def add(self, chunk: bytes) -> Iterator[bytes]:
        """Yields the lines that the chunk completes. Raises Trouble for one that is too long."""
        is_torn = bool(self._begun) and self._begun[-1].endswith(b"\r")
        if not is_torn and b"\n" not in chunk and b"\r" not in chunk:
            self._begun.append(chunk)
            self._held += len(chunk)
        else:
            whole = b"".join((*self._begun, chunk))
            # A CR at the end may be the first half of a line end.
            half = b"\r" if whole.endswith(b"\r") else b""
            ended = whole.removesuffix(half)
            *lines, begun = _LINE_END.split(ended)
            self._begun = [begun + half]
            self._held = len(begun)
            yield from map(self._without_mark, lines)
        if self._held > _MOST_LINE:
            words = f"the server sent a line of over {self._held:,} bytes"
            raise Trouble("too big", words)

    def _without_mark(self, line: bytes) -> bytes:
        if self._is_first and line:
            self._is_first = False
            return line.removeprefix(_BYTE_ORDER)
        return line


class _EventLines:
    """Lines joined to events."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        """Lines of data that are not JSON on their own."""
        self._size = 0
        self._name = ""

    def add(self, line: bytes) -> Iterator[Mapping[str, Any]]:
        """Yields the event that a line completes, if any. Raises Trouble, and ValueError for data that are not JSON."""
        if not line:
            yield from self._joined()
            self._name = ""
        elif line.startswith(b"event:"):
            self._name = line[6:50].strip().decode("utf-8", "replace")
        elif line.startswith((b"data:", b"{")):
            yield from self._data(line.removeprefix(b"data:").strip())

    def _joined(self) -> Iterator[Mapping[str, Any]]:
        if self._parts:
            whole = b"\n".join(self._parts)
            self._parts = []
            self._size = 0
            yield self._named(_event(whole))

    def _data(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        if data == b"[DONE]":
            yield from self._joined()
            yield DONE
            return
        if data and not self._parts:
            with suppress(ValueError):
                yield self._named(_event(data))
                return
        if data:
            self._parts.append(data)
        self._size += len(data)
        if self._size > _MOST_LINE or len(self._parts) > _MOST_PARTS:
            raise Trouble("too big", "the server sent an event with too many lines")

    def _named(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns an event; as an error if that is its name."""
        if self._name == "error" and not event.get("error"):
            return {"error": event}
        return event


def _event(data: bytes) -> Mapping[str, Any]:
    """Returns an event, alone or in a list, as Gemini sends errors. Raises Trouble, ValueError and TypeError."""
    if data.count(b",") > _MOST_VALUES:
        raise Trouble("too big", f"the server sent an event with over {_MOST_VALUES:,} values")
    event = json.loads(data)
    if isinstance(event, list) and len(event) == 1:
        event = event[0]
    if not isinstance(event, dict):
        raise TypeError("an event isn't an object")
    return event


def error_in(event: Mapping[str, Any]) -> object:
    """Returns the error in an event; None if there is none, or an empty one."""
    if error := _filled(event.get("error")):
        return error
    if event.get("object") == "error" or event.get("type") == "error":
        return event
    if "choices" not in event and (status_in(event) or any(map(event.get, _OF_ERRORS))):
        return event
    choices = event.get("choices")
    for choice in choices[:1] if isinstance(choices, list) else ():
        if isinstance(choice, dict) and (error := _filled(choice.get("error"))):
            return error
    return None


def status_in(error: object) -> int | None:
    """Returns the HTTP status in an error's code, if there is one."""
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and _STATUS.fullmatch(code):
        return int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _filled(error: object) -> object:
    """Returns an error with a text, a code or an object with one of them; None for an empty one."""
    if isinstance(error, dict):
        return error if any(_filled(value) for value in error.values()) else None
    if isinstance(error, str):
        return error.strip() or None
    return error or None
