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

_MOST_BYTES = 1_000_000
"""The most bytes of a line, and of an event."""
_MOST_COMMAS = 5_000
"""The most commas of an event: more means no words, and `json` blocks everything else while it parses."""
_MOST_LINES = 1_000
"""The most lines of an event."""
_LINE_END = re.compile(rb"\r\n|\r|\n")
_STATUS = re.compile(r"[45][0-9]{2}", re.ASCII)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ERROR_FIELDS = ("errors", "detail")
"""The fields in which FastAPI and Cloudflare report a failure, in a reply without choices."""
_FIELD_STARTS = (b"data:", b"event:", b":", b"id:", b"retry:")
"""The beginnings of the lines of an event stream."""
DONE: Mapping[str, Any] = {"done": True}
"""The event for `[DONE]`, and for the end of a whole reply; compared by identity."""


async def events(
    response: httpx2.Response, wait_turn: Callable[[], Awaitable[None]]
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yields the events of a reply, bounded, to its end, or with DONE as the last.

    `wait_turn` is awaited before each event of a stream. Raises Trouble, ValueError for data that are not JSON,
    RecursionError for JSON that is nested too deeply, and TypeError for JSON that is no object.
    """
    chunks = response.aiter_raw()
    # Some servers send a stream or a whole reply with another content type.
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        body = (await response.aread()).strip().removeprefix(_BYTE_ORDER_MARK)
        if not body.startswith((*_FIELD_STARTS, b"{", b"[")):
            words = "the server answered with a page instead of a stream of events"
            raise Trouble("bad reply", words)
        # Several objects, each at the start of a line, are a stream.
        if body.startswith((b"{", b"[")) and b"\n{" not in body:
            yield _event(body)
            yield DONE
            return
        chunks = _one_chunk(body)
    async with aclosing(_stream_events(chunks)) as stream:
        async for event in stream:
            await wait_turn()
            yield event
            if event is DONE:
                return


async def _one_chunk(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def _stream_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yields the events of a stream. Raises as `events`."""
    lines = _Lines()
    event_lines = _EventLines()
    async for chunk in chunks:
        for line in lines.add(chunk):
            for event in event_lines.add(line):
                yield event
    last_event = (lines.rest, b"")  # An empty line ends an event.
    for line in last_event:
        for event in event_lines.add(line):
            yield event


class _Lines:
    """Chunks cut into lines."""

    def __init__(self) -> None:
        self._open_chunks: list[bytes] = []
        """The chunks of the incomplete line."""
        self._open_bytes = 0
        """Their size."""
        self._is_first_line = True

    @property
    def rest(self) -> bytes:
        """The last line, without a line end."""
        return self._without_byte_order_mark(b"".join(self._open_chunks)).removesuffix(b"\r")

    def add(self, chunk: bytes) -> Iterator[bytes]:
        """Yields the lines that the chunk completes. Raises Trouble for one that is too long."""
        has_torn_end = bool(self._open_chunks) and self._open_chunks[-1].endswith(b"\r")
        if not has_torn_end and b"\n" not in chunk and b"\r" not in chunk:
            self._open_chunks.append(chunk)
            self._open_bytes += len(chunk)
        else:
            text = b"".join((*self._open_chunks, chunk))
            # A CR at the end may be the first half of a line end, so it stays with the incomplete line.
            torn_end = b"\r" if text.endswith(b"\r") else b""
            *lines, open_line = _LINE_END.split(text.removesuffix(torn_end))
            self._open_chunks = [open_line + torn_end]
            self._open_bytes = len(open_line)
            yield from map(self._without_byte_order_mark, lines)
        if self._open_bytes > _MOST_BYTES:
            words = f"the server sent a line of over {self._open_bytes:,} bytes"
            raise Trouble("too big", words)

    def _without_byte_order_mark(self, line: bytes) -> bytes:
        if self._is_first_line and line:
            self._is_first_line = False
            return line.removeprefix(_BYTE_ORDER_MARK)
        return line


class _EventLines:
    """Lines joined to events."""

    def __init__(self) -> None:
        self._open_lines: list[bytes] = []
        """Lines of data that are not JSON on their own."""
        self._bytes = 0
        """Their size."""
        self._event_name = ""

    def add(self, line: bytes) -> Iterator[Mapping[str, Any]]:
        """Yields the event that a line completes, if any. Raises as `events`."""
        if not line:
            yield from self._end_event()
            self._event_name = ""
        elif line.startswith(b"event:"):
            # Names are cut, since only "error" has a meaning.
            self._event_name = line.removeprefix(b"event:")[:44].strip().decode("utf-8", "replace")
        elif line.startswith((b"data:", b"{")):
            yield from self._add_data(line.removeprefix(b"data:").strip())

    def _end_event(self) -> Iterator[Mapping[str, Any]]:
        if self._open_lines:
            whole = b"\n".join(self._open_lines)
            self._open_lines = []
            self._bytes = 0
            yield self._as_named(_event(whole))

    def _add_data(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        if data == b"[DONE]":
            yield from self._end_event()
            yield DONE
            return
        if not data:
            return
        if not self._open_lines:
            with suppress(ValueError):  # incomplete JSON continues on the next line
                yield self._as_named(_event(data))
                return
        self._open_lines.append(data)
        self._bytes += len(data)
        if self._bytes > _MOST_BYTES or len(self._open_lines) > _MOST_LINES:
            raise Trouble("too big", "the server sent an event with too many lines")

    def _as_named(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns an event; one with the name "error" as an error."""
        if self._event_name == "error" and not event.get("error"):
            return {"error": event}
        return event


def _event(data: bytes) -> Mapping[str, Any]:
    """Returns the event in some JSON: an object, alone or in a list, as Gemini sends errors.

    Raises Trouble for too many values, and otherwise as `events`.
    """
    if data.count(b",") > _MOST_COMMAS:
        raise Trouble("too big", f"the server sent an event with over {_MOST_COMMAS:,} values")
    event = json.loads(data)
    if isinstance(event, list) and len(event) == 1:
        event = event[0]
    if not isinstance(event, dict):
        raise TypeError("an event isn't an object")
    return event


def error_in(event: Mapping[str, Any]) -> object:
    """Returns the error in an event; None if there is none, or an empty one."""
    if error := _filled_error(event.get("error")):
        return error
    if event.get("object") == "error" or event.get("type") == "error":
        return event
    if "choices" not in event:
        has_error_field = any(_filled_error(event.get(field)) for field in _ERROR_FIELDS)
        return event if has_error_field or status_in(event) else None
    return _error_in_choices(event["choices"])


def _error_in_choices(choices: object) -> object:
    """Returns the error in the first choice, if there is one."""
    choice = choices[0] if isinstance(choices, list) and choices else None
    return _filled_error(choice.get("error")) if isinstance(choice, dict) else None


def status_in(error: object) -> int | None:
    """Returns the HTTP status in an error's code, if there is one."""
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and _STATUS.fullmatch(code):
        return int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _filled_error(error: object) -> object:
    """Returns an error if it has a text or a code, at any depth; None for an empty one."""
    if isinstance(error, dict | list):
        parts = error.values() if isinstance(error, dict) else error
        return error if any(map(_filled_error, parts)) else None
    if isinstance(error, str):
        return error.strip() or None
    return error or None
