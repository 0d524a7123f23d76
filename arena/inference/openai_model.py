"""OpenAI-compatible model: one streamed chat completion per answer, images as data URLs.

A server's error text is never shown: it may echo the key. A stream that ends without a `finish_reason` was cut.
"""

import asyncio
import base64
import json
import logging
import random
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

import httpx2

from arena.inference.limits import ATTEMPTS, check_limits, cost, most_usage
from arena.inference.special_tokens import neutralised
from arena.types import Conversation, Generation, ModelCard, ModelError, ModelTrouble, Turn, Usage, pass_over

_LOG = logging.getLogger(__name__)
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 10.0
_CONNECT_SECONDS = 10.0
_WHOLE = 10
"""A whole answer may take so many times the card's time-out."""
MOST_CHARACTERS = 100_000
"""Most characters of an answer; a server that sends more is broken."""
_MOST_BYTES, _MOST_LINE = 20_000_000, 1_000_000
_MOST_VALUES = 5_000
"""Most commas of one event: an event with more holds no words, and `json` blocks everything else while it parses."""
_MOST_ERROR = 10_000
_STEPS, _AT_ONCE = 1_000, 20
"""Chunks and events read of one answer per second, and in one burst: faster ones wait at the server."""
_DATA = re.compile(rb"^data:(.+)", re.MULTILINE)
_ENDS = frozenset(("stop", "length", "eos_token", "stop_sequence"))
"""Finish reasons of a whole answer, as OpenAI and text-generation-inference call them."""
_SHORTEST_KEY = 8
_SECONDS = re.compile(r"\d{1,6}(\.\d{1,6})?", re.ASCII)
_WORD = re.compile(r"\w+")
_QUOTA = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota|payment", re.IGNORECASE)
_LENGTH = re.compile(r"context.?length|maximum context|too (long|large|many)|reduce the length", re.IGNORECASE)
_SENT = "http11.send_request_body.complete"
_RUN = frozenset((200, 504, 524))
"""Statuses after which the model may have run: an answer, or a proxy that waited for one in vain."""
_OPTIONAL = ("stream_options", "max_tokens")
"""Fields that some servers refuse; the request is then repeated without them, or with a newer name."""


class _AgainError(Exception):
    """A failure that may pass: retried while no word of the answer has come."""

    def __init__(self, kind: ModelTrouble, text: str, wait: float | None = None) -> None:
        super().__init__(text)
        self.kind: ModelTrouble = kind
        self.wait = wait


class _FieldError(Exception):
    """Name of a field that the server refuses."""


class _Reply:
    """State of one attempt."""

    def __init__(self, key: str) -> None:
        self.sent = False
        """Whether the whole request was sent and not refused, so that it costs at least its prompt."""
        self.pieces, self.characters = 0, 0
        self.finish: str | None = None
        self.told: tuple[int, int] | None = None
        """Tokens of the prompt and of the answer so far, by the server's own count."""
        self._key = key if len(key) >= _SHORTEST_KEY else ""
        self._held = ""

    async def trace(self, event: str, _: object) -> None:
        """Note, by an event of the connection, that the whole request was sent."""
        self.sent = self.sent or event == _SENT

    def take(self, event: Mapping[str, Any]) -> str:
        """Take an event and return its new text, without what may become the key. Raises ModelError."""
        usage = event.get("usage")
        if isinstance(usage, Mapping):
            prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
            if type(prompt) is int and type(completion) is int and 0 < prompt < 10**9 and 0 <= completion < 10**9:
                self.told = prompt, completion
        choices = event.get("choices")
        if not choices:
            return ""
        choice = choices[0]
        self.finish = choice.get("finish_reason") or self.finish
        text = (choice.get("delta") or {}).get("content") or ""
        if not isinstance(text, str):
            raise TypeError("content is no text")
        self.pieces += bool(text)
        self.characters += len(text)
        if self.characters > MOST_CHARACTERS:
            raise ModelError("too big", f"the server's answer has over {MOST_CHARACTERS:,} characters")
        return self._redacted(text)

    def ended(self) -> str:
        """The last text. Raises ModelError if the answer is not whole."""
        if self.finish == "content_filter":
            raise ModelError("refused", "the server's content filter stopped the answer")
        if self.finish not in _ENDS:
            raise ModelError("cut", "the stream ended before the answer was whole (no finish_reason)")
        return self._held

    def _redacted(self, text: str) -> str:
        """Replace the key, and hold back what may be its beginning."""
        if not self._key:
            return text
        text = (self._held + text).replace(self._key, "[key]")
        longest = min(len(text), len(self._key) - 1)
        kept = next((size for size in range(longest, 0, -1) if self._key.startswith(text[-size:])), 0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]


class ApiVLM:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, card: ModelCard) -> None:
        """Create the client; connections open with the first stream and belong to its event loop."""
        self.card = card
        self._dropped: set[str] = set()
        headers = {"accept": "text/event-stream", "accept-encoding": "identity", "user-agent": "stereoscope"}
        if card.key:
            headers["authorization"] = f"Bearer {card.key.reveal()}"
        self._client = httpx2.AsyncClient(
            headers=headers,
            trust_env=False,
            timeout=httpx2.Timeout(card.timeout, connect=min(card.timeout, _CONNECT_SECONDS)),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    async def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        """Yield the answer as it comes, as `VLM.stream` says; retries only while no word has come."""
        check_limits(self.card, turns)
        deadline = asyncio.get_running_loop().time() + _WHOLE * self.card.timeout
        attempt = 1
        while True:
            reply = _Reply(self.card.key.reveal())
            try:
                async with aclosing(self._attempt(turns, settings, reply, deadline)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except _FieldError as error:
                self._dropped.add(str(error))
            except _AgainError as error:
                _LOG.info("%s: %s (attempt %d)", self.card.name, error, attempt)
                if reply.pieces or attempt == ATTEMPTS:
                    raise ModelError("cut" if reply.pieces else error.kind, str(error)) from error
                await asyncio.sleep(_wait(attempt, error.wait))
                attempt += 1
            finally:
                if reply.sent:
                    note(self._usage(turns, settings, reply))

    async def answers(
        self, conversations: Sequence[Conversation], settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> tuple[str, ...]:
        """Answers to conversations, one after the other. Raises ModelError."""
        return tuple(
            ["".join([piece async for piece in self.stream(turns, settings, note)]) for turns in conversations]
        )

    async def _attempt(
        self, turns: Conversation, settings: Generation, reply: _Reply, deadline: float
    ) -> AsyncGenerator[str, None]:
        body = await asyncio.to_thread(self._body, turns, settings)
        url = f"{self.card.address}/chat/completions"
        headers = {"content-type": "application/json"}
        with _troubles(self.card):
            tracing = {"trace": reply.trace}
            async with self._client.stream("POST", url, content=body, headers=headers, extensions=tracing) as response:
                reply.sent = response.status_code in _RUN
                await self._check(response)
                async with aclosing(_events(response)) as events:
                    while (event := await self._next(events, deadline)) is not None:
                        if text := reply.take(event):
                            yield text
            if text := reply.ended():
                yield text

    async def _next(self, events: AsyncGenerator[Mapping[str, Any], None], deadline: float) -> Mapping[str, Any] | None:
        """The next event, None after the last; a server that only keeps the connection open is slow."""
        try:
            async with asyncio.timeout_at(min(deadline, asyncio.get_running_loop().time() + self.card.timeout)):
                return await anext(events, None)
        except TimeoutError as error:
            raise _slow(self.card) from error

    async def _check(self, response: httpx2.Response) -> None:
        """Raise the error that the status and content type of the response stand for."""
        status = response.status_code
        if status == 200:
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                raise _AgainError("bad reply", "the server answered with a page and not with a stream of events")
            return
        said = await _beginning(response)
        if status in (400, 422):
            self._check_fields(said)
        if (status in (408, 409, 425, 429) or status >= 500) and not _QUOTA.search(said):
            busy = "is asked too often" if status == 429 else "is out of order"
            raise _AgainError("down", f"the server {busy} (status {status})", _asked_wait(response))
        raise _refusal(status, said)

    def _check_fields(self, said: str) -> None:
        said_words = _WORD.findall(said)
        for field in _OPTIONAL:
            if field not in self._dropped and field in said_words:
                raise _FieldError(field)

    def _body(self, turns: Conversation, settings: Generation) -> bytes:
        card = self.card
        room = "max_completion_tokens" if "max_tokens" in self._dropped else "max_tokens"
        system = [{"role": "system", "content": card.system}] if card.system else []
        body: dict[str, Any] = {
            "model": card.model,
            "messages": [*system, *map(_message, turns)],
            "stream": True,
            room: settings.max_tokens,
        }
        if "stream_options" not in self._dropped:
            body["stream_options"] = {"include_usage": True}
        chosen = {"temperature": settings.temperature, "top_p": settings.top_p, "seed": settings.seed}
        body |= {name: value for name, value in chosen.items() if value is not None}
        return json.dumps(body).encode()

    def _usage(self, turns: Conversation, settings: Generation, reply: _Reply) -> Usage:
        """Usage as the server counted; without a count to the end, estimated from what was sent and received."""
        prompt, completion = reply.told or (most_usage(self.card, turns, settings).prompt, 0)
        estimated = not (reply.told and reply.finish)
        if estimated:
            completion = max(completion, reply.pieces, reply.characters // 4)
        return Usage(prompt, completion, cost(self.card.price, prompt, completion), estimated)


@contextmanager
def _troubles(card: ModelCard) -> Iterator[None]:
    """Translate transport and parsing errors into our own."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol) as error:
        raise _AgainError("down", "the server cannot be reached") from error
    except httpx2.TimeoutException as error:
        raise _slow(card) from error
    except httpx2.TransportError as error:
        raise _AgainError("down", "the connection broke off") from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _AgainError("bad reply", "the server sent what is no chat completion") from error


def _message(turn: Turn) -> dict[str, Any]:
    text = neutralised(turn.text) if turn.role == "user" else turn.text
    if not turn.images:
        return {"role": turn.role, "content": text}
    images = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in turn.images]
    return {"role": turn.role, "content": [*images, {"type": "text", "text": text}]}


def _data_url(image: bytes) -> str:
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"


async def _events(response: httpx2.Response) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the data of server-sent events, bounded, until `[DONE]` or the end of the stream."""
    pace, size, held = _EventRate(), 0, 0
    rest: list[bytes] = []
    """Chunks of the incomplete line."""
    async for chunk in response.aiter_raw():
        await pace.step()
        lines, end, begun = chunk.rpartition(b"\n")
        size, held = size + len(chunk), len(begun) + (0 if end else held)
        if size > _MOST_BYTES or held > _MOST_LINE:
            raise ModelError("too big", f"the server sent {size:,} bytes, and the answer is not whole yet")
        if not end:
            rest.append(begun)
            continue
        whole, rest = b"".join((*rest, lines)), [begun]
        for data in filter(None, map(bytes.strip, _DATA.findall(whole))):
            await pace.step()
            if data == b"[DONE]":
                return
            if data.count(b",") > _MOST_VALUES:
                raise ModelError("too big", f"the server sent an event with over {_MOST_VALUES:,} values")
            event = json.loads(data)
            if "error" in event:
                raise _AgainError("down", "the server failed in the midst of its answer")
            yield event


class _EventRate:
    """Reading rate of one answer, so that a server that chops it into tiny pieces holds up nobody."""

    def __init__(self) -> None:
        self._due = 0.0

    async def step(self) -> None:
        """Wait until one more chunk or event may be read."""
        now = asyncio.get_running_loop().time()
        self._due = max(self._due, now - _AT_ONCE / _STEPS) + 1 / _STEPS
        if self._due > now:
            await asyncio.sleep(self._due - now)


async def _beginning(response: httpx2.Response) -> str:
    """The first bytes of an error, for searching and never shown."""
    pace, said = _EventRate(), b""
    async for chunk in response.aiter_raw():
        await pace.step()
        said += chunk
        if len(said) > _MOST_ERROR:
            break
    return said[:_MOST_ERROR].decode("utf-8", "replace")


def _refusal(status: int, said: str) -> ModelError:
    """Error for a status that will not pass."""
    if status == 402 or _QUOTA.search(said):
        return ModelError("spent", "the account at the model's server is spent; top it up or change the key")
    if status in (401, 403):
        return ModelError("down", f"the server refuses the key (status {status}); check the card's key_from")
    if status == 404 or status < 400:
        return ModelError("down", f"the server has no such model at this address (status {status}); check the card")
    if status == 413 or _LENGTH.search(said):
        return ModelError("too big", f"the conversation is too long for the model (status {status})")
    return ModelError("refused", f"the server refuses the conversation (status {status})")


def _slow(card: ModelCard) -> ModelError:
    return ModelError(
        "slow", f"no word from the server within {card.timeout:g} seconds, or no end within ten times that"
    )


def _asked_wait(response: httpx2.Response) -> float | None:
    text = response.headers.get("retry-after", "")
    return float(text) if _SECONDS.fullmatch(text) else None


def _wait(attempt: int, asked: float | None) -> float:
    backoff = _FIRST_WAIT * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
    return min(backoff if asked is None else asked, _LONGEST_WAIT)
