"""Client of an OpenAI-compatible server, for models under test and for judges: addresses, sending, errors, retries.

The operator's endpoint is trusted. A user's is not: it must be https on the public internet; its host is resolved once,
checked, and connected to at the checked addresses only. Redirects are never followed, replies are bounded.
Errors are in our own words (`trouble.py`): a server's error text may echo the key.
"""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

import httpx2

from arena.inference.endpoint import Endpoint, EndpointError
from arena.inference.event_stream import DONE, error_in, events, status_in
from arena.inference.thread_share import StrangersNetwork
from arena.inference.trouble import Trouble, refusal
from arena.io.fetch import Fetcher, FetchError

T = TypeVar("T")

MOST_BYTES = 400_000
_CONNECT_SECONDS = 10.0
_STEPS = 1_000
_AT_ONCE = 20
"""Chunks and events read of one reply per second, and in one burst: faster ones wait at the server."""
_HEADERS = ("accept", "content-length", "content-type", "transfer-encoding")
"""The headers of openai that are sent; its others may reveal the operator's environment."""
_HELD_BACK = "held-back"
"""The placeholder key for openai; only the transport adds the real key."""
_SENT = "http11.send_request_body.complete"
_RUN = frozenset((200, 504, 524))
"""The statuses after which the model may have run: an answer, or a proxy's time-out."""


class Call:
    """A request: whether it costs anything, and the pace of reading its reply."""

    def __init__(self) -> None:
        self.sent = False
        """Whether the whole request was sent and not refused, so that it costs at least its prompt."""
        self.is_done = False
        """Whether the server has marked its reply as whole: by `[DONE]`, or by a reply that is not a stream."""
        self._due = 0.0

    async def trace(self, event: str, _: object) -> None:
        """Notes, from an event of the connection, that the whole request was sent."""
        self.sent = self.sent or event == _SENT

    async def step(self) -> None:
        """Waits until another chunk or event may be read, so that a server of tiny pieces holds up nobody."""
        now = asyncio.get_running_loop().time()
        self._due = max(self._due, now - _AT_ONCE / _STEPS) + 1 / _STEPS
        if self._due > now:
            await asyncio.sleep(self._due - now)


_CALL: ContextVar[Call] = ContextVar("call")


class _ReplyError(httpx2.RemoteProtocolError):
    """A reply is refused; the message says why."""


class PinnedTransport(httpx2.AsyncBaseTransport):
    """HTTP transport to one endpoint only; it adds the key and limits the size of replies."""

    def __init__(
        self, endpoint: Endpoint, connections: int | None, fetcher: Fetcher | None, most: int
    ) -> None:
        self._most = most
        self._endpoint = endpoint
        self._url = httpx2.URL(endpoint.base_url)
        self._fetcher = (fetcher or Fetcher()) if endpoint.owner is not None else None
        self._pinned: Sequence[str] = ()
        self._transport = httpx2.AsyncHTTPTransport(
            verify=self._fetcher.tls if self._fetcher else _verification(self._url),
            trust_env=self._fetcher is None,
            limits=httpx2.Limits(
                max_connections=connections, max_keepalive_connections=connections or 20
            ),
        )
        if self._fetcher:
            pool: Any = self._transport._pool
            pool._network_backend = StrangersNetwork(pool._network_backend)

    async def resolve(self) -> None:
        """Resolves and checks a user's host, once. Raises EndpointError."""
        if not self._fetcher:
            return
        try:
            self._pinned = await self._fetcher.public_addresses(self._url.raw_host.decode())
        except FetchError as error:
            raise EndpointError(f"the address: {error}") from error

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends the request to a pinned address of the host, and to the next one if it cannot be reached."""
        if (request.url.scheme, request.url.netloc) != (self._url.scheme, self._url.netloc):
            raise httpx2.UnsupportedProtocol("the request is for another host")
        for address in self._pinned[:-1]:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._send(request, address)
        return await self._send(request, self._pinned[-1] if self._pinned else None)

    async def _send(self, request: httpx2.Request, address: str | None) -> httpx2.Response:
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        headers |= {
            "host": self._url.netloc.decode(),
            "accept-encoding": "identity",
            "user-agent": "stereoscope",
        }
        if self._endpoint.key:
            name, value = self._endpoint.credentials
            headers[name] = value.reveal()
        call = _CALL.get(None) or Call()
        url = request.url
        extensions = {**request.extensions, "trace": call.trace}
        if self._fetcher:
            url = url.copy_with(host=address, port=self._fetcher.port)
            extensions["sni_hostname"] = self._url.raw_host.decode()
        pinned = httpx2.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=extensions
        )
        response = await self._transport.handle_async_request(pinned)
        call.sent = response.status_code in _RUN
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await stream.aclose()
            raise _ReplyError("a compressed reply, which we didn't ask for")
        response.stream = _Bounded(stream, self._most, call)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """The body of a reply, with a limit on its bytes and on its chunks a second."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int, call: Call) -> None:
        self._stream = stream
        self._most = most
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            await self._call.step()
            size += len(piece)
            if size > self._most:
                raise _ReplyError(f"a reply of more than {self._most:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def data_url(image: bytes) -> str:
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


class OpenAIClient:
    """One endpoint's client, usable after `open`; its connections belong to the event loop of the first call."""

    def __init__(
        self,
        endpoint: Endpoint,
        timeout: float,
        connections: int | None = None,
        fetcher: Fetcher | None = None,
        most: int = MOST_BYTES,
    ) -> None:
        """Creates a client; `fetcher` resolves and checks a user's host, `most` is the maximum bytes of a reply."""
        self._endpoint = endpoint
        self._timeout = timeout
        self._transport = PinnedTransport(endpoint, connections, fetcher, most)
        self.api: Any = None
        """openai's own client, once open; its calls go through `call`, and are one attempt each."""

    async def open(self) -> None:
        """Loads openai, and resolves and checks a user's host, once. Raises EndpointError."""
        if self.api is not None:
            return
        openai = await asyncio.to_thread(_openai)
        await self._transport.resolve()
        timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_SECONDS))
        http_client = httpx2.AsyncClient(
            transport=self._transport, trust_env=False, timeout=timeout
        )
        self.api = openai.AsyncOpenAI(
            api_key=_HELD_BACK,
            base_url=self._endpoint.folder,
            default_query=self._endpoint.query,
            max_retries=0,
            http_client=http_client,
        )

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def call(self, made: Awaitable[T]) -> T:
        """Returns the result of a call. Raises Trouble."""
        try:
            async with asyncio.timeout(self._timeout):
                return await made
        except (_openai().APIError, httpx2.HTTPError, TimeoutError) as error:
            trouble = self._trouble(error)
        raise trouble  # Outside of the handler, so that the server's error is no context of it.

    async def complete(self, content: bytes, call: Call) -> bytes:
        """Returns the body of the reply to a chat completion. Raises Trouble."""
        return (await self._post(content, call, stream=False)).content

    async def stream(self, content: bytes, call: Call) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yields the events of a streamed chat completion.

        Raises Trouble, and ValueError for data that are not JSON.
        """
        response = await self._post(content, call, stream=True)
        try:
            async with aclosing(events(response, call.step)) as stream:
                async for event in stream:
                    if event is DONE:
                        call.is_done = True
                        return
                    if (trouble := self._failure(event)) is not None:
                        raise trouble
                    yield event
            return
        except httpx2.HTTPError as error:
            trouble = self._trouble(error)
        finally:
            await response.aclose()
        raise trouble

    async def _post(self, content: bytes, call: Call, stream: bool) -> httpx2.Response:
        _CALL.set(call)
        more = {
            "cast_to": httpx2.Response,
            "stream": stream,
            "stream_cls": _openai().AsyncStream[Any],
        }
        return await self.call(self.api.post("/chat/completions", content=content, **more))

    def _failure(self, event: Mapping[str, Any]) -> Trouble | None:
        """Returns the Trouble in an event; None if it has no error, or an empty one."""
        error = error_in(event)
        if error is None:
            return None
        status = status_in(error)
        trouble = refusal(status or 500, {}, error, self._endpoint.redact)
        if status is None and trouble.kind != "loading":
            trouble.words = "the server failed in the middle of its answer"
        return trouble

    def _trouble(self, error: Exception) -> Trouble:
        cause: Any = error.__cause__ if isinstance(error, _openai().APIConnectionError) else error
        if isinstance(cause, _openai().APIStatusError):
            body = _body(cause.response, cause.body)
            headers = cause.response.headers
            return refusal(cause.status_code, headers, body, self._endpoint.redact)
        if isinstance(
            cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol
        ):
            return Trouble("again", "the server can't be reached")
        if isinstance(cause, httpx2.TimeoutException | TimeoutError):
            return Trouble("slow", f"no reply within {self._timeout:g} seconds")
        if isinstance(cause, _ReplyError):
            return Trouble("bad reply", str(cause))
        return Trouble("again", "the connection was lost")


def _body(response: httpx2.Response, read: object) -> object:
    """Returns the whole JSON of an error's body; openai keeps only the part under `error`."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError, httpx2.StreamError):
        return read


@cache
def tls_context() -> ssl.SSLContext:
    """Returns the TLS context of the operator's endpoints, made once, since loading certificates is slow."""
    return httpx2.create_ssl_context()


def _verification(url: httpx2.URL) -> ssl.SSLContext | bool:
    return url.scheme == "https" and tls_context()


@cache
def _openai() -> ModuleType:
    """Imports openai on first use: it is slow to import and the app starts without it."""
    import openai

    return openai
