"""Homes: where several servers share a database, each visitor's live answers are at home at one of them.

Answers on their way live in one process. Any server takes any request; that of a visitor who is at home elsewhere goes
on to that server, and what it answers comes back as it is written. All servers agree on homes without asking: the
highest hash of visitor and server (rendezvous hashing, Thaler and Ravishankar 1998), so that a server that comes or
goes moves no visitors but its own. On SQLite there is one server, and nothing of this.
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
"""The servers of a database, each of which counts on while it lives: no clock is compared with another."""
BEAT_SECONDS = 2.0
GONE_SECONDS = 10.0
"""A server whose count stands still for so long is nobody's home, and one that cannot be reached for as long."""
FORGOTTEN_SECONDS = 600.0
CONNECT_SECONDS = 1.0
ROUTES = ("/live/", "/chat/")
"""What is answered at home."""
_PASSED = "x-stereoscope-passed"
"""A request with this header is answered where it came to: it was passed on once."""
_HOP_BY_HOP = frozenset("connection keep-alive transfer-encoding te trailer upgrade proxy-authorization".split())
_AWAY = "The server that wrote your answers has gone. Please try again."

log = logging.getLogger(__name__)


class ServerDirectory:
    """Know the living servers of a database, of which this one is reached at `address`."""

    def __init__(self, database: Database, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.address = address
        self._database = database
        self._clock = clock
        self._id = secrets.token_hex(8)
        self._beats = 0
        self._heard: dict[str, tuple[int, float]] = {}
        """Each server's count, and when it was seen to change."""
        self._alive = {self._id: address}
        self._unreached: dict[str, float] = {}
        """Until when an address counts as gone."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be a server among the others until the block ends."""
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
        """Count on, and look which servers do so too. Raises DatabaseError."""
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
        """Return the address of the server where a visitor is at home; None if that is this one."""
        present = self._clock()
        reached = {
            one: address
            for one, address in self._alive.items()
            if one == self._id or self._unreached.get(address, 0.0) <= present
        }
        owner = max(reached, key=lambda one: hashlib.sha256(f"{visitor} {one}".encode()).digest())
        return None if owner == self._id else reached[owner]

    def miss(self, address: str) -> None:
        """Take note that a server could not be reached."""
        log.warning("the server at %s cannot be reached; its visitors are at home elsewhere", address)
        self._unreached[address] = self._clock() + GONE_SECONDS

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(DatabaseError):  # the database has logged it; the others wait for GONE_SECONDS
                await asyncio.to_thread(self.beat)

    def _leave(self) -> None:
        with self._database.write() as connection:
            connection.execute(delete(SERVER).where(SERVER.c.id == self._id))


def own_address(host: str, port: int, database: Database) -> str:
    """Return where the other servers of a database reach this one: by the network that leads to the database."""
    if host in ("0.0.0.0", "::"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((database.url.host or "127.0.0.1", database.url.port or 5432))  # sends nothing
                host = probe.getsockname()[0]
            except OSError:
                host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class AffinityMiddleware:
    """Wrap an ASGI app: requests for live answers go to the server where their visitor is at home.

    `hops` is how many proxies in front are trusted. Where a home cannot be reached, this server answers.
    """

    def __init__(self, app: ASGIApp, servers: ServerDirectory, hops: int) -> None:
        self._app, self._servers, self._hops = app, servers, hops
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer here, or pass on."""
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
        """Pass a request on; return False, with nothing of it read, if the home cannot be reached."""
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
        """Return a request's headers as the home is to see them: it counts one proxy more, this server."""
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
    """Yield a request's body as it comes."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionResetError("the visitor went away")
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def _passed_back(answer: httpx.Response, send: Send) -> None:
    """Send an answer on as it comes; where it breaks off, so does ours, and a page that listens comes back."""
    headers = [(name, value) for name, value in answer.headers.raw if name.decode().lower() not in _HOP_BY_HOP]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    with suppress(httpx.HTTPError):
        async for part in answer.aiter_raw():
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive, work: Awaitable[None]) -> None:
    """Do some work until it is done or the visitor has gone."""

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
