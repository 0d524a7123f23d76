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
_CHUNKS_A_SECOND = 1_000
"""The chunks and events of one reply that are read in a second: faster ones wait at the server."""
_CHUNKS_IN_A_BURST = 20
"""The chunks and events of one reply that are read without a wait between them."""
_HEADERS = ("accept", "content-length", "content-type", "transfer-encoding")
"""The headers of openai that are sent; its others may reveal the operator's environment."""
_PLACEHOLDER_KEY = "held-back"
"""The placeholder key for openai; only the transport adds the real key."""
_SENT_EVENT = "http11.send_request_body.complete"
_RAN_STATUSES = frozenset((200, 504, 524))
"""The statuses after which the model may have run: an answer, or a proxy's time-out."""


class Call:
    """A request: whether it costs anything, and the pace of reading its reply."""

    def __init__(self) -> None:
        self.is_sent = False
        """Whether the whole request was sent and not refused, so that it costs at least its prompt."""
        self.is_done = False
        """Whether the server has marked its reply as whole: by `[DONE]`, or by a reply that is not a stream."""
        self._next_chunk_time = 0.0
        """By the event loop's clock; in the past while a burst is allowed."""

    async def trace(self, event: str, _: object) -> None:
        """Notes, from an event of the connection, that the whole request was sent."""
        self.is_sent = self.is_sent or event == _SENT_EVENT

    async def wait_turn(self) -> None:
        """Waits until another chunk or event may be read, so that a server of tiny pieces holds up nobody."""
        now = asyncio.get_running_loop().time()
        # Turns that nobody took are kept, but no more than a burst of them.
        burst_start = now - _CHUNKS_IN_A_BURST / _CHUNKS_A_SECOND
        self._next_chunk_time = max(self._next_chunk_time, burst_start) + 1 / _CHUNKS_A_SECOND
        if self._next_chunk_time > now:
            await asyncio.sleep(self._next_chunk_time - now)


_CALL: ContextVar[Call] = ContextVar("call")
"""The call in progress: openai's client doesn't pass it on to the transport."""


class _ReplyError(httpx2.RemoteProtocolError):
    """A reply is refused; the message says why."""


class PinnedTransport(httpx2.AsyncBaseTransport):
    """HTTP transport to one endpoint only; it adds the key and limits the size of replies."""

    def __init__(
        self, endpoint: Endpoint, connections: int | None, fetcher: Fetcher | None, most_bytes: int
    ) -> None:
        self._most_bytes = most_bytes
        self._endpoint = endpoint
        self._url = httpx2.URL(endpoint.base_url)
        self._fetcher = (fetcher or Fetcher()) if endpoint.owner is not None else None
        """Resolves and checks the host of a user's endpoint; None for the operator's, which is trusted."""
        self._addresses: Sequence[str] = ()
        self._transport = httpx2.AsyncHTTPTransport(
            verify=self._fetcher.tls if self._fetcher else _verification(self._url),
            trust_env=self._fetcher is None,
            limits=httpx2.Limits(
                max_connections=connections, max_keepalive_connections=connections or 20
            ),
        )
        if self._fetcher:
            pool: Any = self._transport._pool  # httpx2 has no public way to a network of one's own
            pool._network_backend = StrangersNetwork(pool._network_backend)

    async def resolve(self) -> None:
        """Resolves and checks a user's host, once. Raises EndpointError."""
        if not self._fetcher:
            return
        try:
            self._addresses = await self._fetcher.public_addresses(self._url.raw_host.decode())
        except FetchError as error:
            raise EndpointError(f"the address: {error}") from error

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends the request to a pinned address of the host, and to the next one if it cannot be reached."""
        is_same_host = request.url.netloc == self._url.netloc
        if request.url.scheme != self._url.scheme or not is_same_host:
            raise httpx2.UnsupportedProtocol("the request is for another host")
        if not self._addresses:  # the operator's own server
            return await self._send(request, None)
        *others, last = self._addresses
        for address in others:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._send(request, address)
        return await self._send(request, last)

    async def _send(self, request: httpx2.Request, address: str | None) -> httpx2.Response:
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        headers |= {
            "host": self._url.netloc.decode(),
            "accept-encoding": "identity",
            "user-agent": "stereoscope",
        }
        if self._endpoint.key:
            credentials = self._endpoint.credentials
            headers[credentials.header] = credentials.value.reveal()
        call = _CALL.get(None) or Call()  # only `_post` sets one
        url = request.url
        extensions = {**request.extensions, "trace": call.trace}
        if self._fetcher:
            url = url.copy_with(host=address, port=self._fetcher.port)
            extensions["sni_hostname"] = self._url.raw_host.decode()
        own_request = httpx2.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=extensions
        )
        response = await self._transport.handle_async_request(own_request)
        call.is_sent = response.status_code in _RAN_STATUSES
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await stream.aclose()
            raise _ReplyError("a compressed reply, which we didn't ask for")
        response.stream = _BoundedBody(stream, self._most_bytes, call)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of a reply, with a limit on its bytes and on its chunks a second."""

    def __init__(self, stream: httpx2.AsyncByteStream, most_bytes: int, call: Call) -> None:
        self._stream = stream
        self._most_bytes = most_bytes
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            await self._call.wait_turn()
            size += len(piece)
            if size > self._most_bytes:
                raise _ReplyError(f"a reply of more than {self._most_bytes:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def data_url(image: bytes) -> str:
    """Returns a PNG or JPEG picture as a data URL."""
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
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Creates a client; `fetcher` resolves and checks a user's host, `most_bytes` limits a reply."""
        self._endpoint = endpoint
        self._timeout = timeout
        self._transport = PinnedTransport(endpoint, connections, fetcher, most_bytes)
        self.api: Any = None
        """openai's own client, once open; its calls go through `call`, and are one attempt each."""

    async def open(self) -> None:
        """Loads openai, and resolves and checks a user's host, once. Raises EndpointError."""
        if self.api is not None:
            return
        openai = await asyncio.to_thread(_openai_module)
        await self._transport.resolve()
        timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_SECONDS))
        http_client = httpx2.AsyncClient(
            transport=self._transport, trust_env=False, timeout=timeout
        )
        self.api = openai.AsyncOpenAI(
            api_key=_PLACEHOLDER_KEY,
            base_url=self._endpoint.folder,
            default_query=self._endpoint.query,
            max_retries=0,
            http_client=http_client,
        )

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def call(self, request: Awaitable[T]) -> T:
        """Returns the result of a request to `api`. Raises Trouble."""
        try:
            async with asyncio.timeout(self._timeout):
                return await request
        except (_openai_module().APIError, httpx2.HTTPError, TimeoutError) as error:
            trouble = self._error_trouble(error)
        raise trouble  # Outside of the handler, so that the server's error is no context of it.

    async def complete(self, content: bytes, call: Call) -> bytes:
        """Returns the body of the reply to a chat completion. Raises Trouble."""
        return (await self._post(content, call, stream=False)).content

    async def stream(self, content: bytes, call: Call) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yields the events of a streamed chat completion. Raises as `events`."""
        response = await self._post(content, call, stream=True)
        try:
            async with aclosing(events(response, call.wait_turn)) as stream:
                async for event in stream:
                    if event is DONE:
                        call.is_done = True
                        return
                    if (trouble := self._event_trouble(event)) is not None:
                        raise trouble
                    yield event
            return
        except httpx2.HTTPError as error:
            trouble = self._error_trouble(error)
        finally:
            await response.aclose()
        raise trouble  # Outside of the handler, as in `call`.

    async def _post(self, content: bytes, call: Call, stream: bool) -> httpx2.Response:
        """Sends a chat completion and returns the reply. Raises Trouble."""
        _CALL.set(call)
        reply = self.api.post(
            "/chat/completions",
            content=content,
            cast_to=httpx2.Response,
            stream=stream,
            stream_cls=_openai_module().AsyncStream[Any],
        )
        return await self.call(reply)

    def _event_trouble(self, event: Mapping[str, Any]) -> Trouble | None:
        """Returns the Trouble in an event; None if it has no error, or an empty one."""
        error = error_in(event)
        if error is None:
            return None
        status = status_in(error)
        trouble = refusal(status or 500, {}, error, self._endpoint.redact)
        if status is None and trouble.kind != "loading":
            trouble.words = "the server failed in the middle of its answer"
        return trouble

    def _error_trouble(self, error: Exception) -> Trouble:
        """Returns the Trouble of an error that openai or httpx raised."""
        cause: Any = error
        if isinstance(error, _openai_module().APIConnectionError):
            cause = error.__cause__
        if isinstance(cause, _openai_module().APIStatusError):
            body = _whole_body(cause.response, cause.body)
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


def _whole_body(response: httpx2.Response, openai_body: object) -> object:
    """Returns the whole JSON of an error's body; openai keeps only the part under `error`, in `openai_body`."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError, httpx2.StreamError):
        return openai_body


@cache
def tls_context() -> ssl.SSLContext:
    """Returns the TLS context of the operator's endpoints, made once, since loading certificates is slow."""
    return httpx2.create_ssl_context()


def _verification(url: httpx2.URL) -> ssl.SSLContext | bool:
    return tls_context() if url.scheme == "https" else False


@cache
def _openai_module() -> ModuleType:
    """Imports openai on first use: it is slow to import and the app starts without it."""
    import openai

    return openai
