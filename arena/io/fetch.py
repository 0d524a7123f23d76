"""Picture downloads for an operator's import: from public addresses only, bounded in size and time."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import httpx

from arena.network import is_public

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_ADDRESSES = 3
_AT_ONCE = 8
_RESOLVE_SECONDS = 10.0
_RESOLVERS = ThreadPoolExecutor(16, "resolver")
"""Threads for name look-ups alone, since a silent name server may hold one for half a minute."""


class FetchError(ValueError):
    """A URL was not fetched; the message says which, why, and how to fix it."""


@dataclass(frozen=True)
class FetchLimits:
    """Limits of one fetch."""

    quiet_seconds: float = 10
    """Longest wait for the connection, and between two pieces of the body."""
    seconds: float = 30
    """Longest time of the whole fetch, including redirects."""
    size: int = 25_000_000
    """Largest body, in bytes."""
    redirects: int = 3
    """Redirects followed on the same host."""


async def addresses(host: str) -> list[str]:
    """Returns the addresses of a host, best first. Raises FetchError if it has none."""
    look_up = partial(socket.getaddrinfo, host, 443, type=socket.SOCK_STREAM)
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            infos = await asyncio.get_running_loop().run_in_executor(_RESOLVERS, look_up)
    except TimeoutError as error:
        raise FetchError(
            f"the host {host} wasn't found within {_RESOLVE_SECONDS:g} seconds. Try again later"
        ) from error
    except (OSError, UnicodeError) as error:
        raise FetchError(
            f"the host {host} wasn't found. Check its spelling and the network"
        ) from error
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in infos))


@dataclass(frozen=True)
class Fetcher:
    """Downloads pictures by https: resolves a host once, checks its addresses, and connects to a checked one.

    safehttpx 0.1.7 is not used: it accepts a host with one public address among private ones, counts 100.64.0.0/10,
    fec0::/10 and 2002::/16 as public, and asks a resolver on the web through the environment's proxies.
    """

    resolve: Callable[[str], Awaitable[list[str]]] = addresses
    """Returns the addresses of a host name."""
    allowed: Callable[[str], bool] = is_public
    """Returns whether an address may be connected to."""
    tls: ssl.SSLContext = field(default_factory=partial(httpx.create_ssl_context, trust_env=False))
    """Trusted certificates."""
    port: int = 443
    """Port of all connections; a URL cannot change it."""
    limits: FetchLimits = field(default_factory=FetchLimits)

    async def fetch(self, url: str) -> bytes:
        """Returns the body at an https URL. Raises FetchError."""
        name = url[:200]
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._follow(url)
        except FetchError as error:
            raise FetchError(f"{name}: {error}") from error
        except TimeoutError as error:
            raise FetchError(
                f"{name}: not finished after {self.limits.seconds:g} seconds. Try again later"
            ) from error
        except httpx.TimeoutException as error:
            raise FetchError(
                f"{name}: silent for {self.limits.quiet_seconds:g} seconds. Try again later"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            # UnicodeError: idna's errors, and lone surrogates.
            raise FetchError(
                f"{name}: {str(error)[:200] or type(error).__name__}. Check it in a browser"
            ) from error

    async def _follow(self, address: str) -> bytes:
        url = _https_url(httpx.URL(address))
        transport = httpx.AsyncHTTPTransport(verify=self.tls, trust_env=False)
        async with httpx.AsyncClient(
            transport=transport, trust_env=False, timeout=self.limits.quiet_seconds
        ) as client:
            for _ in range(self.limits.redirects + 1):
                response = await self._answer(client, url)
                try:
                    if response.status_code not in _REDIRECTS:
                        return await self._body(response)
                    url = _redirect_target(url, response.headers.get("location", ""))
                finally:
                    await response.aclose()
        raise FetchError(
            f"redirected more than {self.limits.redirects} times. Give the last address itself"
        )

    async def _answer(self, client: httpx.AsyncClient, url: httpx.URL) -> httpx.Response:
        """Returns the answer of the first address of a host that can be connected to, with its body unread."""
        host = url.raw_host.decode()
        headers = {"Host": url.netloc.decode(), "Accept": "image/*", "Accept-Encoding": "identity"}

        async def answer_from(address: str) -> httpx.Response:
            checked_url = url.copy_with(host=address, port=self.port)
            extensions = {"sni_hostname": host}
            request = client.build_request(
                "GET", checked_url, headers=headers, extensions=extensions
            )
            return await client.send(request, stream=True)

        *others, last = await self.public_addresses(host)
        for address in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await answer_from(address)
        return await answer_from(last)  # If no address answers, the last one's error is raised.

    async def public_addresses(self, host: str) -> Sequence[str]:
        """Returns at most three addresses of a host to connect to.

        Raises FetchError unless all its addresses are public.
        """
        resolved = await self.resolve(host)
        if not resolved or not all(self.allowed(address) for address in resolved):
            raise FetchError(f"the host {host} isn't on the public internet. Use a public one")
        return resolved[:_MOST_ADDRESSES]

    async def _body(self, response: httpx.Response) -> bytes:
        if response.status_code != 200:
            raise FetchError(f"answered {response.status_code}. Check it in a browser")
        kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
        if not kind.startswith("image/") and kind not in (
            "application/octet-stream",
            "binary/octet-stream",
        ):
            raise FetchError(
                f"sent {kind[:60] or 'no content type'}, not a picture. Give the picture's own address"
            )
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise FetchError("sent a compressed body, which we didn't ask for. Download it by hand")
        body = bytearray()
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > self.limits.size:
                raise FetchError(
                    f"has more than {self.limits.size:,} bytes. Make the picture smaller"
                )
        return bytes(body)


def _https_url(url: httpx.URL) -> httpx.URL:
    """Returns a URL unchanged. Raises FetchError if it is not a plain https address."""
    if url.scheme != "https":
        raise FetchError(
            f"begins with {url.scheme[:20] or 'nothing'}:, not https:. Only https addresses work"
        )
    if not url.host:
        raise FetchError("has no host. Write https://host/path")
    if url.userinfo:
        raise FetchError("has a user or password before an @. Remove it")
    if url.port not in (None, 443):
        raise FetchError(f"has port {url.port}, but only port 443 works. Leave the port out")
    return url


def _redirect_target(url: httpx.URL, location: str) -> httpx.URL:
    """Returns the URL that a redirect leads to. Raises FetchError if it is on another host."""
    target = url.join(location)
    if not location or target.host != url.host:
        raise FetchError(
            f"redirects to {target.host[:100] if location else 'nowhere'}. Give the last address itself"
        )
    return _https_url(target)


def fetch(url: str, fetcher: Fetcher | None = None) -> bytes:
    """Returns the bytes at one URL, bounded but not decoded. Raises FetchError. Not for a running event loop."""
    return asyncio.run((fetcher or Fetcher()).fetch(url))


def fetch_all(urls: Iterable[str], fetcher: Fetcher | None = None) -> dict[str, bytes | FetchError]:
    """Fetches each URL once, a few at a time; returns bytes or error by URL, in order. Not for a running event loop."""
    return asyncio.run(_fetch_each(list(dict.fromkeys(urls)), fetcher or Fetcher()))


async def _fetch_each(urls: Sequence[str], fetcher: Fetcher) -> dict[str, bytes | FetchError]:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def bytes_or_error(url: str) -> bytes | FetchError:
        async with slots:
            try:
                return await fetcher.fetch(url)
            except FetchError as error:
                return error

    results = await asyncio.gather(*map(bytes_or_error, urls))
    return dict(zip(urls, results, strict=True))
