"""Middleware: an ASGI layer around the whole app for cookies, request limits and security headers.

It sets the voter cookie, refuses cross-origin posts, oversized bodies and floods, and closes all Gradio routes except
those that our page calls. Gradio's own settings do not protect: anyone can call any event.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from types import MappingProxyType
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.errors import VoterError
from arena.locale import translated
from arena.storage import size_text
from arena.web.addresses import TAKES_FILES, opened
from arena.web.cookies import VoterCookies, cookie_header, over_https, with_cookie
from arena.web.events import Argument, misfit
from arena.web.rate_limit import Caller, RateLimiter

MOST_BODY = 64_000
"""Most bytes of a request body, unless its route allows more."""
MOST_ADDRESS = 8_000
"""Most characters of a URL."""
LONGEST_NAME = 255
"""Most bytes of a file's path; asked for a longer name, an operating system fails instead of finding nothing."""
MOST_BESIDE = 1_000
"""Most characters of JSON in a call besides its arguments."""
SMALL_BODY = 16_000
"""Largest small body in bytes; larger bodies, and those of unknown length, are limited in number."""
BODY_SECONDS = 20.0
PIECE = 64_000
"""Most bytes of an answer that are sent at one go: who reads slowly leaves a piece in the socket's buffer, not all."""
LEAST_PACE = 32_000
"""Slowest upload in bytes per second, after the first seconds; a poor mobile connection is faster."""

CAMPAIGNS = "/c/"
"""Beginning of the paths of campaigns' pages, which platforms show in a frame."""
EMBEDDED = "/embed/"
"""Beginning of the paths of what any page may show in a frame: it has no script, no form and no cookie."""
EMBED_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors *"
)
GRADIOS_SCRIPTS = "script-src 'self' 'unsafe-inline' 'unsafe-eval'"
"""Gradio compiles components and events' `js` in the browser."""
PROBES = frozenset({"/healthz", "/readyz"})
"""Routes polled by whoever keeps the server running; not rate limited."""

_GRADIO = re.compile(r"/gradio_api(/.*)?", re.IGNORECASE | re.DOTALL)
_CALLED = re.compile(r"/gradio_api/(run/\w+|app_id)/?", re.ASCII)
"""Gradio routes that our page calls: its events, none queued, and after a lost connection the check for a restart."""
_EVENT = re.compile(r"/gradio_api/run/.*", re.DOTALL)
_PORT = re.compile(r"\.?(:[0-9]{0,5})?$", re.ASCII)
"""The end of a host's name that says nothing of it."""
_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""JSON escapes of half a surrogate pair, which no text may hold alone; most bodies have none."""
_CLOSED = re.compile(
    r"/(openapi\.json|svelte|pwa_icon|manifest\.json|monitoring|file|proxy|queue|upload|runs|run-history)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Gradio routes outside its API that our page does not call."""
_GRADIOS_LOGIN = frozenset({("POST", "/login"), ("GET", "/logout")})
"""Gradio's own login, at the paths of ours: it would redirect to the host that a request names."""
_GRADIOS_HOSTS = frozenset({b"x-forwarded-host", b"x-gradio-server"})
"""Headers that Gradio takes for its own address, and fails on if they hold none."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_FILE = re.compile(
    r"/(static|assets|pictures)/.*|/(theme\.css|favicon\.ico|robots\.txt)", re.DOTALL
)
_REPORTS = re.compile(r"/(reports?|r|badge|embed)/.*|/reports", re.DOTALL)
"""Files and pages made of a stored report, which may be long: they are made one after the other."""
_COMPUTED = re.compile(
    r"/(boards|export|reports?|r|embed|automatic|agreement|preview)/.*|/task-map(/.*)?",
    re.DOTALL,
)
"""Files that are made when they are asked for: reading them takes a network's turn, as its calls do. They may be large
and lie in memory while they are read, so that they are limited in number as large bodies are."""
_BOARDS = re.compile(r"/(model|badge)/.*|/reports|/(results|judges|agreement)(/.*)?", re.DOTALL)
"""Pages of boards, which may have to be counted first, and badges, which are small: they take turns too."""


class RequestMiddleware:
    """Wraps an ASGI app; `image_hosts`: hosts of images the page may load; `https`: a proxy speaks https for us;
    `answer_hosts`: sites that a campaign's page may post to, `frames`: in whose frame it may stand; `hosts`: names by
    which a request may call this server, any if there are none.

    `uploads` maps paths that accept larger bodies to their limit in bytes; `limits` is the rate limiter; `events` maps
    the page's event numbers to what each accepts, None: any may be called. What is made of a stored report is made one
    after the other, and who waits holds no thread. A request that is passed on has a voter cookie only if `cookies`
    signed it; its `state.network` is the hash of its caller's network. `nothing_here` makes the page of an address at
    which there can be nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        cookies: VoterCookies,
        image_hosts: Sequence[str] = (),
        answer_hosts: Sequence[str] = (),
        frames: Sequence[str] = (),
        hosts: Collection[str] = (),
        https: bool = False,
        uploads: Mapping[str, int] = MappingProxyType({}),
        limits: RateLimiter | None = None,
        events: Mapping[int, Sequence[Argument]] | None = None,
        nothing_here: Callable[[Request], Response] | None = None,
    ) -> None:
        self._app = app
        self._nothing_here = nothing_here
        self._cookies = cookies
        self._https = https
        self._uploads = uploads
        self._limits = limits or RateLimiter()
        self._events = events
        self._one = asyncio.Semaphore(1)
        self._hosts = hosts
        self._headers = _security_headers(image_hosts)
        self._gradios = _security_headers(image_hosts, scripts=GRADIOS_SCRIPTS)
        self._framed = _security_headers(image_hosts, frames=frames, forms=answer_hosts)
        self._embedded = {**self._headers, "content-security-policy": EMBED_POLICY}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # nothing here uses websockets
            return
        headers = Headers(scope=scope)
        peer = scope.get("client")
        sent = self._cookies.sent(headers)
        caller = self._limits.caller(
            sent, peer[0] if peer else "", headers.getlist("x-forwarded-for")
        )
        takes_file = scope["path"] in self._uploads and scope["method"] not in _READS
        most = self._uploads[scope["path"]] if takes_file else MOST_BODY
        refusal = (
            self._misdirected(headers)
            or _refusal(scope, headers, most)
            or self._nowhere(scope, headers)
        )
        large = refusal is None and _is_large(scope, headers)
        refusal = self._flooded(scope, caller, large) or refusal
        if refusal is not None:
            await refusal(scope, receive, self._guarded(send, None, scope["path"]))
            return
        scope["headers"] = [
            header for header in scope["headers"] if header[0] not in _GRADIOS_HOSTS
        ]
        scope["headers"] = with_cookie(
            scope["headers"], sent
        )  # without others, that may stand before it
        fresh = None if sent else self._fresh_cookie(scope, headers)
        send = self._guarded(send, fresh, scope["path"])
        scope.setdefault("state", {})["network"] = caller.network
        self._limits.enter(caller, large)
        try:
            body = _Body(receive, most, scope)
            if takes_file:
                await self._streamed(body, scope, send)
            else:
                await self._worked_on(caller, body, scope, send)
        finally:
            self._limits.leave(caller, large)

    def _misdirected(self, headers: Headers) -> Response | None:
        """Return the answer to a request that names another host: some page's own name, which leads here.

        For the browser that page would be of one origin with ours. Programs that name no host are no browsers.
        """
        host = headers.get("host", "").lower()
        if not self._hosts or not host or _PORT.sub("", host) in self._hosts:
            return None
        text = "This server is for this machine alone: open it as localhost or 127.0.0.1. Behind a proxy, set "
        text += "PUBLIC_URL to the https address, or TRUSTED_HOPS to the number of proxies."
        return PlainTextResponse(text, status_code=421)

    def _nowhere(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to an address with NUL: no name holds it, and PostgreSQL does not take it."""
        if "\0" not in scope["path"] and b"%00" not in scope["query_string"]:
            return None
        if self._nothing_here and "text/html" in headers.get("accept", ""):
            return self._nothing_here(Request(scope))
        text = "There is nothing at an address with the character NUL."
        return PlainTextResponse(text, status_code=404)

    async def _worked_on(self, caller: Caller, body: "_Body", scope: Scope, send: Send) -> None:
        """Pass on a request after reading its body, so that nobody waits for a slow sender."""
        whole = await body.whole()
        if whole is None:
            if body.refusal:
                await body.refusal(scope, body, send)
            return
        reads = scope["method"] in _READS
        computed = _COMPUTED.fullmatch(scope["path"]) or _BOARDS.fullmatch(scope["path"])
        if computed and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server sends the head of the answer alone
        async with AsyncExitStack() as turn:
            if not reads or computed:
                await turn.enter_async_context(self._limits.turn(caller))
            if await body.left():
                return
            is_call = scope["method"] == "POST" and _EVENT.fullmatch(scope["path"])
            call = _called(whole) if is_call else None
            refusal = _misfit(call, self._events) if is_call else None
            if _REPORTS.fullmatch(scope["path"]):
                await turn.enter_async_context(self._one)
                if await body.left():
                    return
            await (refusal or self._app)(
                scope, body.again(whole), _ending(turn, send) if reads else send
            )

    async def _streamed(self, body: "_Body", scope: Scope, send: Send) -> None:
        """Pass on a request while its body arrives, unless it turns out to be too large or too slow."""
        begun = False

        async def send_unless_refused(message: Message) -> None:
            nonlocal begun
            if begun or not body.refusal:
                begun = True
                await send(message)

        with suppress(ClientDisconnect):
            await self._app(scope, body, send_unless_refused)
        if body.refusal and not begun:
            await body.refusal(scope, body, send)

    def _flooded(self, scope: Scope, caller: Caller, large: bool) -> PlainTextResponse | None:
        if scope["path"] in PROBES:
            return None
        wait = self._limits.wait(caller, call=not _FILE.fullmatch(scope["path"]), large=large)
        if not wait:
            return None
        seconds = str(math.ceil(wait))
        told = VoterError("Too many requests at the moment. Please come again in {} s.", seconds)
        return _told(told, scope, 429, {"retry-after": seconds})

    def _guarded(self, send: Send, cookie: str | None, path: str) -> Send:
        """Wrap `send` to send pieces with our headers, without those that would let other sites read the response."""

        headers = self._headers_of(path)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                out = MutableHeaders(scope=message)
                for name in [name for name in out if name.startswith("access-control-")]:
                    del out[name]
                for name, value in headers.items():
                    out[name] = value
                if cookie is not None:
                    out.append("set-cookie", cookie)
            for piece in _pieces(message):
                await send(piece)

        return send_guarded

    def _headers_of(self, path: str) -> Mapping[str, str]:
        if path.startswith(EMBEDDED):
            return self._embedded
        if path.startswith(CAMPAIGNS):
            return self._framed
        return self._gradios if opened(path) else self._headers

    def _fresh_cookie(self, scope: Scope, headers: Headers) -> str | None:
        """Return the Set-Cookie header for a visitor of a page; None for other requests."""
        path = scope["path"]
        if scope["method"] != "GET" or (opened(path) is None and path not in TAKES_FILES):
            return None
        return cookie_header(self._cookies.new(), self._https or over_https(scope, headers))


class _Body:
    """Receives a request's body; one that is too large or too slow ends as if the client had disconnected."""

    def __init__(self, receive: Receive, most: int, scope: Scope) -> None:
        self._receive = receive
        self._most = most
        self._scope = scope
        self._bytes = 0
        self._more = True
        self._begun = asyncio.get_running_loop().time()
        self.refusal: PlainTextResponse | None = None
        """The answer to such a body."""

    async def __call__(self) -> Message:
        if not self._more:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._begun + BODY_SECONDS + self._bytes / LEAST_PACE):
                message = await self._receive()
        except TimeoutError:
            told = VoterError("What you send comes too slowly. Please try again on a better line.")
            return self._refused(_told(told, self._scope, 408, {"connection": "close"}))
        self._bytes += len(message.get("body", b""))
        self._more = message.get("more_body", False)
        return (
            self._refused(_too_large(self._most, self._scope))
            if self._bytes > self._most
            else message
        )

    async def whole(self) -> bytes | None:
        """Return the whole body; None if it is refused or the client has disconnected."""
        whole = bytearray()
        while self._more:
            message = await self()
            if message["type"] != "http.request":
                return None
            whole += message.get("body", b"")
        return bytes(whole)

    async def left(self) -> bool:
        """Whether the client has disconnected after sending the whole body."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                return (await self._receive())["type"] == "http.disconnect"
        return False

    def again(self, whole: bytes) -> Receive:
        """Return a receive function that replays a body, then continues with the client's messages."""
        first: Iterator[Message] = iter(
            [{"type": "http.request", "body": whole, "more_body": False}]
        )

        async def receive() -> Message:
            return next(first, None) or await self._receive()

        return receive

    def _refused(self, refusal: PlainTextResponse) -> Message:
        self.refusal = refusal
        self._more = False
        return {"type": "http.disconnect"}


def _ending(turn: AsyncExitStack, send: Send) -> Send:
    """Wrap `send` to end a turn when the answer begins: who reads a file slowly keeps nobody waiting."""

    async def send_without(message: Message) -> None:
        await turn.aclose()
        await send(message)

    return send_without


def _pieces(message: Message) -> Iterator[Message]:
    """Cut a part of an answer into pieces that are sent one after the other."""
    rest = memoryview(message.get("body", b""))
    while len(rest) > PIECE:
        yield {"type": message["type"], "body": bytes(rest[:PIECE]), "more_body": True}
        rest = rest[PIECE:]
    yield {**message, "body": bytes(rest)} if "body" in message else message


def _too_large(most: int, scope: Scope) -> PlainTextResponse:
    return _told(VoterError("At most {} are taken; send less.", size_text(most)), scope, 413)


def _told(
    error: VoterError, scope: Scope, status: int, headers: Mapping[str, str] | None = None
) -> PlainTextResponse:
    """Return an error in the language of a request."""
    return PlainTextResponse(translated(error), status_code=status, headers=headers)


def _called(whole: bytes) -> Mapping[str, Any] | None:
    """Return the call of an event in a body; None for another one."""
    try:
        body = json.loads(whole.decode())
        if _LONE_SURROGATE.search(whole):
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    is_call = isinstance(body, dict) and type(body.get("fn_index")) is int
    return body if is_call else None


def _misfit(
    call: Mapping[str, Any] | None, events: Mapping[int, Sequence[Argument]] | None
) -> PlainTextResponse | None:
    """Return the answer to what calls no known event or has arguments it does not accept, or None."""
    if call is None or (events is not None and call["fn_index"] not in events):
        problem = "Expected a call of one of the page's events: a JSON object in UTF-8."
    elif len(json.dumps({**call, "data": None})) > MOST_BESIDE:
        problem = f"A call takes at most {MOST_BESIDE:,} characters beside its arguments."
    else:
        problem = events and misfit(events[call["fn_index"]], call.get("data"))
    return PlainTextResponse(problem, status_code=422) if problem else None


def _is_large(scope: Scope, headers: Headers) -> bool:
    """Whether a request's body, or the answer, may be large."""
    endless = "transfer-encoding" in headers or int(headers.get("content-length", 0)) > SMALL_BODY
    return endless or _COMPUTED.fullmatch(scope["path"]) is not None


def _refusal(scope: Scope, headers: Headers, most: int) -> PlainTextResponse | None:
    path = scope["path"]
    closed = _CLOSED.fullmatch(path) or (_GRADIO.fullmatch(path) and not _CALLED.fullmatch(path))
    if closed or (scope["method"], path.rstrip("/")) in _GRADIOS_LOGIN:
        return PlainTextResponse("This route is closed.", status_code=403)
    if _FILE.fullmatch(path) and len(path.encode()) > LONGEST_NAME:
        return PlainTextResponse("There is no such file.", status_code=404)
    if scope["method"] not in _READS and not _same_origin(headers):
        return PlainTextResponse("Requests from other sites are refused.", status_code=403)
    address = len(scope.get("raw_path") or path) + len(scope["query_string"])
    if address > MOST_ADDRESS:
        text = f"An address has at most {MOST_ADDRESS:,} characters, and this one has {address:,}. Make it shorter."
        return PlainTextResponse(text, status_code=414)
    length = headers.get("content-length", "0")
    # a proxy in front may believe the other one
    if "content-length" in headers and "transfer-encoding" in headers:
        return PlainTextResponse(
            "A request has a length or comes in chunks, not both.", status_code=400
        )
    if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > most:
        return _too_large(most, scope)
    return None


def _same_origin(headers: Headers) -> bool:
    """Whether a request comes from our own page, or names no page (programs do not)."""
    page = headers.get("origin", headers.get("referer"))
    return page is None or page.partition("://")[2].partition("/")[0] == headers.get("host")


def _security_headers(
    image_hosts: Sequence[str],
    frames: Sequence[str] = (),
    forms: Sequence[str] = (),
    scripts: str = "script-src 'self'",
) -> dict[str, str]:
    """Headers of every answer; `frames`: sites that may frame it, `forms`: sites that its forms may be sent to."""
    images = " ".join(f"https://{host}" for host in image_hosts)
    policy = (
        "default-src 'none'",
        scripts,
        "style-src 'self' 'unsafe-inline'",
        f"img-src 'self' data: blob: {images}".rstrip(),
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'self'",
        " ".join(("form-action 'self'", *forms)),
        " ".join(("frame-ancestors 'self' https://huggingface.co", *frames)),
    )
    return {
        "content-security-policy": "; ".join(policy),
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
    }
