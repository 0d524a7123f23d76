"""Session affinity: where several servers share a database, each visitor's live answers belong to one of them.

Answers being generated live in one process. Any server accepts any request; a visitor's live request is forwarded to
the owning server, and its response is streamed back. All servers agree on owners without communication, by the highest
hash of visitor and server (rendezvous hashing, Thaler and Ravishankar 1998), so that a server that joins or leaves
moves only its own visitors. On SQLite there is one server and no forwarding.
"""

import asyncio
import hashlib
import logging
import math
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import httpx
from sqlalchemy import BigInteger, Column, Table, Text, delete, select
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from arena.database import METADATA, Database, DatabaseError
from arena.network import client_address
from arena.web.cookies import cookie_in

SERVER = Table(
    "server",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("address", Text, nullable=False),
    Column("beats", BigInteger, nullable=False),
)
"""Servers of a database, each with a heartbeat counter: clocks of different machines are never compared."""
BEAT_SECONDS = 2.0
GONE_SECONDS = 10.0
"""A server whose counter stands still this long owns no visitor; one that cannot be reached, for this long."""
FORGOTTEN_SECONDS = 600.0
CONNECT_SECONDS = 1.0
ROUTES = ("/live/", "/chat/")
"""Paths that the owning server answers."""
_PASSED = "x-stereoscope-passed"
"""Marks a forwarded request, which is answered where it arrives."""
_HOP_BY_HOP = frozenset("connection keep-alive transfer-encoding te trailer upgrade proxy-authorization".split())
_AWAY = "The server that wrote your answers has gone. Please try again."

log = logging.getLogger(__name__)


class ServerDirectory:
    """Directory of the live servers of a database; `address` is where the others reach this one."""

    def __init__(self, database: Database, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.address = address
        self._database = database
        self._clock = clock
        self._id = secrets.token_hex(8)
        self._beats = 0
        self._heard: dict[str, tuple[int, float]] = {}
        """Each server's counter, and when it was last seen to change."""
        self._alive = {self._id: address}
        self._unreached: dict[str, float] = {}
        """Unreachable addresses, and until when they count as gone."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Register this server until the block ends."""
        await asyncio.to_thread(self.beat)
        beating = asyncio.create_task(self._go_on())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            with suppress(DatabaseError):
                await asyncio.to_thread(self._leave)

    def beat(self) -> None:
        """Increase this server's counter and read the others'. Raises DatabaseError."""
        self._beats += 1
        mine = self._database.insert(SERVER).values(id=self._id, address=self.address, beats=self._beats)
        counted = mine.on_conflict_do_update(index_elements=SERVER.primary_key, set_={"beats": mine.excluded.beats})
        with self._database.write() as connection:
            connection.execute(counted)
            rows = connection.execute(select(SERVER)).all()
            present = self._clock()
            for row in rows:
                if self._heard.get(row.id, (None, 0.0))[0] != row.beats:
                    self._heard[row.id] = row.beats, present
            silent = {row.id: present - self._heard[row.id][1] for row in rows}
            dead = [one for one, seconds in silent.items() if seconds > FORGOTTEN_SECONDS]
            connection.execute(delete(SERVER).where(SERVER.c.id.in_(dead)))
        self._heard = {
            one: heard for one, heard in self._heard.items() if silent.get(one, math.inf) <= FORGOTTEN_SECONDS
        }
        self._alive = {row.id: row.address for row in rows if row.id == self._id or silent[row.id] < GONE_SECONDS}

    def of(self, visitor: str) -> str | None:
        """Return the address of a visitor's server; None if it is this one."""
        present = self._clock()
        reached = {
            one: address
            for one, address in self._alive.items()
            if one == self._id or self._unreached.get(address, 0.0) <= present
        }
        owner = max(reached, key=lambda one: hashlib.sha256(f"{visitor} {one}".encode()).digest())
        return None if owner == self._id else reached[owner]

    def miss(self, address: str) -> None:
        """Mark a server as unreachable."""
        log.warning("the server at %s cannot be reached; its visitors are at home elsewhere", address)
        self._unreached[address] = self._clock() + GONE_SECONDS

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(DatabaseError):  # already logged; the other servers wait for GONE_SECONDS
                await asyncio.to_thread(self.beat)

    def _leave(self) -> None:
        with self._database.write() as connection:
            connection.execute(delete(SERVER).where(SERVER.c.id == self._id))


def own_address(host: str, port: int, database: Database) -> str:
    """Return this server's address for the others, on the network interface that leads to the database."""
    if host in ("0.0.0.0", "::"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((database.url.host or "127.0.0.1", database.url.port or 5432))  # sends nothing
                host = probe.getsockname()[0]
            except OSError:
                host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class AffinityMiddleware:
    """Wraps an ASGI app and forwards requests for live answers to the visitor's server.

    `hops` is the number of trusted proxies in front. If the owning server cannot be reached, this one answers.
    """

    def __init__(self, app: ASGIApp, servers: ServerDirectory, hops: int) -> None:
        self._app, self._servers, self._hops = app, servers, hops
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer here, or forward."""
        owner = self._owner(scope)
        if owner is None or not await self._passed_on(owner, scope, receive, send):
            await self._app(scope, receive, send)

    def _owner(self, scope: Scope) -> str | None:
        if scope["type"] != "http" or not scope["path"].startswith(ROUTES):
            return None
        headers = Headers(scope=scope)
        visitor = cookie_in(headers.get("cookie", ""))
        return None if visitor is None or _PASSED in headers else self._servers.of(visitor)

    async def _passed_on(self, owner: str, scope: Scope, receive: Receive, send: Send) -> bool:
        """Forward a request; return False, with none of its body read, if the owning server cannot be reached."""
        raw = scope["raw_path"].partition(b"?")[0] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        request = self._client.build_request(
            scope["method"],
            httpx.URL(owner).copy_with(raw_path=raw),
            headers=self._headers(scope),
            content=None if scope["method"] in ("GET", "HEAD") else _body(receive),
        )
        try:
            answer = await self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            self._servers.miss(owner)
            return False
        except (httpx.HTTPError, ConnectionResetError):
            await PlainTextResponse(_AWAY, status_code=503)(scope, receive, send)
            return True
        try:
            await _until_gone(receive, _passed_back(answer, send))
        finally:
            await answer.aclose()
        return True

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Return the request's headers for the owning server, which sees one more proxy: this server."""
        headers = Headers(scope=scope)
        peer = scope["client"][0] if scope.get("client") else ""
        client = client_address(peer, headers.getlist("x-forwarded-for"), self._hops)
        ahead = [client, *["unknown"] * (self._hops - 1)] if self._hops else []
        kept = [
            (name, value)
            for name, value in scope["headers"]
            if name.decode("latin-1").lower() not in {*_HOP_BY_HOP, "x-forwarded-for"}
        ]
        forwarded = [(b"x-forwarded-for", ", ".join(ahead).encode("latin-1"))] if ahead else []
        return [*kept, *forwarded, (_PASSED.encode(), b"1")]


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    """Yield a request's body as it arrives."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionResetError("the visitor went away")
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def _passed_back(answer: httpx.Response, send: Send) -> None:
    """Stream a response back; if it breaks off, ours does too, and a listening page reconnects."""
    headers = [(name, value) for name, value in answer.headers.raw if name.decode().lower() not in _HOP_BY_HOP]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    with suppress(httpx.HTTPError):
        async for part in answer.aiter_raw():
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive, work: Awaitable[None]) -> None:
    """Run a task until it is done or the visitor has disconnected."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        doing.cancel()
        leaving.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)
