"""Middleware: an ASGI layer around the whole app for cookies, request limits and security headers.

It sets the voter cookie, refuses cross-origin posts, oversized bodies and floods, and closes all Gradio routes except
those that our page calls. Gradio's own settings don't protect these: anyone could call any event.
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
from arena.web.addresses import TAKES_FILES, gradio_address
from arena.web.cookies import VoterCookies, cookie_header, is_https, with_cookie
from arena.web.events import Argument, misfit
from arena.web.rate_limit import Caller, RateLimiter

MOST_BODY = 64_000
"""Most bytes of a request body, unless its route allows more."""
MOST_ADDRESS = 8_000
"""Most characters of a URL."""
LONGEST_NAME = 255
"""Most bytes of a file's path. For a longer name, an operating system fails instead of finding nothing."""
MOST_BESIDE = 1_000
"""Most characters of JSON in a call besides its arguments."""
SMALL_BODY = 16_000
"""Most bytes of a small body. The number of larger bodies, and of those with unknown length, is limited."""
BODY_SECONDS = 20.0
"""Seconds for a body, besides its bytes at `LEAST_PACE`."""
PIECE = 64_000
"""Most bytes of an answer that are sent in one step: a slow reader's whole answer would fill the socket's buffer."""
LEAST_PACE = 32_000
"""The bytes a second of the slowest upload. A poor mobile connection is faster."""

CAMPAIGNS = "/c/"
"""The beginning of the paths of campaigns' pages, which platforms show in a frame."""
EMBEDDED = "/embed/"
"""The beginning of the paths of pages for any site's frame: they have no script, no form and no cookie."""
EMBED_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors *"
)
GRADIOS_SCRIPTS = "script-src 'self' 'unsafe-inline' 'unsafe-eval'"
"""Gradio compiles components and events' `js` in the browser."""
PROBES = frozenset({"/healthz", "/readyz"})
"""Routes that operators' tools poll, without a rate limit."""

_GRADIO = re.compile(r"/gradio_api(/.*)?", re.IGNORECASE | re.DOTALL)
_CALLED = re.compile(r"/gradio_api/(run/\w+|app_id)/?", re.ASCII)
"""Gradio routes that our page calls: its events, which aren't queued, and the check for a restart."""
_EVENT = re.compile(r"/gradio_api/run/.*", re.DOTALL)
_PORT = re.compile(r"\.?(:[0-9]{0,5})?$", re.ASCII)
"""The end of a host's name that isn't compared: a dot and the port."""
_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""JSON escapes of half a surrogate pair, which no text may hold alone; most bodies have none."""
_CLOSED = re.compile(
    r"/(openapi\.json|svelte|pwa_icon|manifest\.json|monitoring|file|proxy|queue|upload|runs|run-history)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Gradio routes outside its API that our page does not call."""
_GRADIOS_LOGIN = frozenset({("POST", "/login"), ("GET", "/logout")})
"""Gradio's own login, at the paths of ours. It would redirect to the host in the request."""
_GRADIOS_HOSTS = frozenset({b"x-forwarded-host", b"x-gradio-server"})
"""Headers that Gradio takes for its own address. It fails if they hold none."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_FILE = re.compile(
    r"/(static|assets|pictures)/.*|/(theme\.css|favicon\.ico|robots\.txt)", re.DOTALL
)
_REPORTS = re.compile(r"/(reports?|r|badge|embed)/.*|/reports", re.DOTALL)
"""Files and pages of a stored report. Since reports may be long, these are made one after the other."""
_COMPUTED = re.compile(
    r"/(boards|export|reports?|r|embed|automatic|agreement|preview)/.*|/task-map(/.*)?",
    re.DOTALL,
)
"""Files that are made for each request. Reading one takes a turn of its network, like a call. They may be large and
stay in memory while they are read, so that their number is limited like that of large bodies."""
_BOARDS = re.compile(r"/(model|badge)/.*|/reports|/(results|judges|agreement)(/.*)?", re.DOTALL)
"""Pages of boards, which may have to be counted first, and badges, which are small. They take turns too."""


class RequestMiddleware:
    """Wraps an ASGI app.

    `cookies`: a forwarded request has a voter cookie only if these signed it. Its `state.network` is the hash of its
    caller's network.
    `image_hosts`: hosts of images that the page may load.
    `answer_hosts`, `frames`: sites that a campaign's page may post to, and those whose frame may hold it.
    `hosts`: the names of this server that a request may use; empty for any.
    `https`: whether a proxy speaks https for us.
    `uploads`: the most bytes of a body by path, for paths that accept larger bodies.
    `events`: the arguments of each of the page's events, by number; None allows any call.
    `nothing_here` makes the page of an address that can't exist.
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
            await send({"type": "websocket.close", "code": 1008})  # Nothing here uses websockets.
            return
        headers = Headers(scope=scope)
        peer = scope.get("client")
        cookie = self._cookies.valid_cookie(headers)
        caller = self._limits.caller(
            cookie, peer[0] if peer else "", headers.getlist("x-forwarded-for")
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
        allowed = [header for header in scope["headers"] if header[0] not in _GRADIOS_HOSTS]
        scope["headers"] = with_cookie(allowed, cookie)
        fresh = None if cookie else self._fresh_cookie(scope, headers)
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
        """Returns the refusal of a request for another host, such as a stranger's name that leads to this address.

        A browser would take the stranger's page and ours for one origin. Programs without a host aren't browsers.
        """
        host = headers.get("host", "").lower()
        if not self._hosts or not host or _PORT.sub("", host) in self._hosts:
            return None
        text = "This server is only for this machine. Open it as localhost or 127.0.0.1. Behind a proxy, set "
        text += "PUBLIC_URL to the https address, or TRUSTED_HOPS to the number of proxies."
        return PlainTextResponse(text, status_code=421)

    def _nowhere(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the refusal of an address with NUL, which is in no name, and which PostgreSQL doesn't store."""
        if "\0" not in scope["path"] and b"%00" not in scope["query_string"]:
            return None
        if self._nothing_here and "text/html" in headers.get("accept", ""):
            return self._nothing_here(Request(scope))
        text = "An address can't have the character NUL."
        return PlainTextResponse(text, status_code=404)

    async def _worked_on(self, caller: Caller, body: "_Body", scope: Scope, send: Send) -> None:
        """Forwards a request after reading its body, so that nobody waits for a slow sender."""
        whole = await body.whole()
        if whole is None:
            if body.refusal:
                await body.refusal(scope, body, send)
            return
        reads = scope["method"] in _READS
        computed = _COMPUTED.fullmatch(scope["path"]) or _BOARDS.fullmatch(scope["path"])
        if computed and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # The server sends the head of the answer alone.
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
        """Forwards a request while its body arrives, unless it turns out to be too large or too slow."""
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
        error = VoterError("Too many requests right now. Please try again in {} s.", seconds)
        return _error_response(error, scope, 429, {"retry-after": seconds})

    def _guarded(self, send: Send, cookie: str | None, path: str) -> Send:
        """Wraps `send`: sends pieces with our headers, without headers that would let other sites read the response."""
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
        return self._gradios if gradio_address(path) else self._headers

    def _fresh_cookie(self, scope: Scope, headers: Headers) -> str | None:
        """Returns the Set-Cookie header for a visitor of a page; None for other requests."""
        path = scope["path"]
        if scope["method"] != "GET" or (gradio_address(path) is None and path not in TAKES_FILES):
            return None
        return cookie_header(self._cookies.new(), self._https or is_https(scope, headers))


class _Body:
    """Receives a request's body. One that is too large or too slow ends as if the client had disconnected."""

    def __init__(self, receive: Receive, most: int, scope: Scope) -> None:
        self._receive = receive
        self._most = most
        self._scope = scope
        self._bytes = 0
        self._more = True
        self._begun = asyncio.get_running_loop().time()
        self.refusal: PlainTextResponse | None = None
        """The answer to a body that is too large or too slow."""

    async def __call__(self) -> Message:
        if not self._more:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._begun + BODY_SECONDS + self._bytes / LEAST_PACE):
                message = await self._receive()
        except TimeoutError:
            error = VoterError(
                "Your connection is too slow for this. Please try again on a faster one."
            )
            return self._refused(_error_response(error, self._scope, 408, {"connection": "close"}))
        self._bytes += len(message.get("body", b""))
        self._more = message.get("more_body", False)
        if self._bytes > self._most:
            return self._refused(_too_large(self._most, self._scope))
        return message

    async def whole(self) -> bytes | None:
        """Returns the whole body; None if it is refused or the client has disconnected."""
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
        """Returns a receive function that replays a body, then continues with the client's messages."""
        is_replayed = False

        async def receive() -> Message:
            nonlocal is_replayed
            if is_replayed:
                return await self._receive()
            is_replayed = True
            return {"type": "http.request", "body": whole, "more_body": False}

        return receive

    def _refused(self, refusal: PlainTextResponse) -> Message:
        self.refusal = refusal
        self._more = False
        return {"type": "http.disconnect"}


def _ending(turn: AsyncExitStack, send: Send) -> Send:
    """Wraps `send`: ends a turn when the answer begins, so that nobody waits for a slow reader."""

    async def send_without(message: Message) -> None:
        await turn.aclose()
        await send(message)

    return send_without


def _pieces(message: Message) -> Iterator[Message]:
    """Yields a part of an answer in pieces that are sent one after the other."""
    rest = memoryview(message.get("body", b""))
    while len(rest) > PIECE:
        yield {"type": message["type"], "body": bytes(rest[:PIECE]), "more_body": True}
        rest = rest[PIECE:]
    yield {**message, "body": bytes(rest)} if "body" in message else message


def _too_large(most: int, scope: Scope) -> PlainTextResponse:
    return _error_response(VoterError("The limit is {}. Send less.", size_text(most)), scope, 413)


def _error_response(
    error: VoterError, scope: Scope, status: int, headers: Mapping[str, str] | None = None
) -> PlainTextResponse:
    """Returns an error in the language of a request."""
    return PlainTextResponse(translated(error), status_code=status, headers=headers)


def _called(whole: bytes) -> Mapping[str, Any] | None:
    """Returns the call of an event in a body; None for other bodies."""
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
    """Returns the refusal of a call of an unknown event, or with arguments that the event doesn't accept."""
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
    # A proxy in front may believe the other one.
    if "content-length" in headers and "transfer-encoding" in headers:
        return PlainTextResponse(
            "A request can have a length or come in chunks, not both.", status_code=400
        )
    if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > most:
        return _too_large(most, scope)
    return None


def _same_origin(headers: Headers) -> bool:
    """Whether a request comes from our own page, or names no page, as those of programs."""
    page = headers.get("origin", headers.get("referer"))
    if page is None:
        return True
    _, _, rest = page.partition("://")
    host, _, _ = rest.partition("/")
    return host == headers.get("host")


def _security_headers(
    image_hosts: Sequence[str],
    frames: Sequence[str] = (),
    forms: Sequence[str] = (),
    scripts: str = "script-src 'self'",
) -> dict[str, str]:
    """Returns the headers of every answer. `frames`: sites that may frame it; `forms`: sites that its forms post to."""
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
