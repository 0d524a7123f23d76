"""Judge endpoint: its URL and key, and the pinned HTTP transport to it.

The operator's endpoint is trusted. A user's is not: it must be https on the public internet; its host is resolved once,
checked, and connected to at the checked addresses only; redirects are never followed.
"""

import base64
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

import httpx2

from arena.io.fetch import Fetcher, FetchError
from arena.types import Secret

_FORM = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?(/[\w.~%/-]*)?", re.ASCII)
_KEY = re.compile(r"[!-~]{0,2000}")
_SHORTEST = 8
"""Minimum length in characters of a key that is redacted: a shorter one also occurs in ordinary text."""
MOST_BYTES = 2_000_000
_MOST_ADDRESSES = 3
_SENT = ("accept", "content-length", "content-type", "transfer-encoding")
"""Headers that go out as openai sets them; its others may reveal the operator's environment."""


class EndpointError(ValueError):
    """Invalid endpoint URL or key; the message shows neither."""


@dataclass(frozen=True)
class Endpoint:
    """Base URL of an OpenAI-compatible server, with its key."""

    base_url: str
    key: Secret
    owner: str | None = None
    """Who supplied it; None: the operator."""

    def __post_init__(self) -> None:
        url = _url(self.base_url) if _FORM.fullmatch(self.base_url) else None
        if url is None:
            problem = "the judge's address must look like https://api.example.org/v1, without user, password or query"
            raise EndpointError(f"{problem} (it is not shown: it may hold a key)")
        if not _KEY.fullmatch(self.key.reveal()):
            raise EndpointError("the judge's key holds characters that no key has, such as spaces; copy it anew")
        if self.owner is not None and url.scheme != "https":
            raise EndpointError("the judge's address begins with http:, which shows your key; give an https one")
        if self.owner is not None and url.port not in (None, 443):
            raise EndpointError(f"the judge's address names port {url.port}; only the default port 443 is asked")

    @property
    def shown(self) -> str:
        """URL as reports may show it."""
        return self.base_url.rstrip("/")

    def redacted(self, text: str) -> str:
        """Return the text without the key, also in its base64, hex and percent encodings."""
        for trace in self._traces:
            text = text.replace(trace, "[key]")
        return text

    @cached_property
    def _traces(self) -> tuple[str, ...]:
        """Encodings of the key. (Not a pattern: `re` would cache it.)"""
        key = self.key.reveal()
        if len(key) < _SHORTEST:
            return ()
        return key, quote(key, safe=""), key.encode().hex(), *sorted(_base64_cores(key.encode()))


def _url(text: str) -> httpx2.URL | None:
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        return None
    return url if (url.port or 0) < 2**16 else None


def _base64_cores(key: bytes) -> set[str]:
    """Return the base64 text that the key always produces, for each offset in a longer text and in both alphabets."""
    cores = set()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + key).decode()
        shared = len(whole.rstrip("=")) - (1 if whole.endswith("=") else 0)
        core = whole[(0, 2, 3)[before] : shared]
        cores |= {core, core.translate(str.maketrans("+/", "-_"))}
    return cores


class PinnedTransport(httpx2.AsyncBaseTransport):
    """HTTP transport to one endpoint only; it adds the key and limits the size of replies."""

    def __init__(
        self, address: Endpoint, connections: int, fetcher: Fetcher | None = None, most: int = MOST_BYTES
    ) -> None:
        """Create the transport; `fetcher` resolves and checks a user's host, `most` is the maximum bytes of a reply."""
        self._most = most
        self._address = address
        self._url = httpx2.URL(address.base_url)
        self._fetcher = (fetcher or Fetcher()) if address.owner is not None else None
        self._pinned: Sequence[str] = ()
        self._transport = httpx2.AsyncHTTPTransport(
            verify=self._fetcher.tls if self._fetcher else self._url.scheme == "https",
            trust_env=self._fetcher is None,
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        )

    async def resolve(self) -> None:
        """Resolve and check a user's host, once. Raises EndpointError."""
        if not self._fetcher:
            return
        host = self._url.raw_host.decode()
        try:
            found = await self._fetcher.resolve(host)
        except FetchError as error:
            raise EndpointError(f"the judge's address: {error}") from error
        if not found or not all(self._fetcher.allowed(address) for address in found):
            raise EndpointError(f"the judge's host {host} is not on the public internet; only public hosts are asked")
        self._pinned = found[:_MOST_ADDRESSES]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to a pinned address of the host, and to the next one if it cannot be reached."""
        if (request.url.scheme, request.url.netloc) != (self._url.scheme, self._url.netloc):
            raise httpx2.UnsupportedProtocol("the request is for another host")
        *others, last = self._pinned or [None]
        for address in others:
            try:
                return await self._send(request, address)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._send(request, last)

    async def _send(self, request: httpx2.Request, address: str | None) -> httpx2.Response:
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        headers |= {"host": self._url.netloc.decode(), "accept-encoding": "identity", "user-agent": "stereoscope"}
        if self._address.key:
            headers["authorization"] = f"Bearer {self._address.key.reveal()}"
        url, extensions = request.url, dict(request.extensions)
        if self._fetcher:
            url = url.copy_with(host=address, port=self._fetcher.port)
            extensions["sni_hostname"] = self._url.raw_host.decode()
        pinned = httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=extensions)
        response = await self._transport.handle_async_request(pinned)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await stream.aclose()
            raise httpx2.RemoteProtocolError("a compressed reply though none was asked for")
        bounded = _Bounded(stream, self._most)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=bounded, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """Body of a reply; reading more than `most` bytes is an error."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream, self._most = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > self._most:
                raise httpx2.RemoteProtocolError(f"a reply of more than {self._most:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
