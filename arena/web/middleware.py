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
from arena.web.addresses import FILE_PATHS, gradio_address
from arena.web.cookies import VoterCookies, cookie_header, is_https, with_cookie
from arena.web.events import Argument, misfit
from arena.web.rate_limit import Caller, RateLimiter

MOST_BODY = 64_000
"""Most bytes of a request body, unless its route allows more."""
MOST_ADDRESS = 8_000
"""Most characters of a URL."""
LONGEST_NAME = 255
"""Most bytes of a file's path. For a longer name, an operating system fails instead of finding nothing."""
MOST_BESIDE_ARGUMENTS = 1_000
"""Most characters of JSON in a call besides its arguments."""
SMALL_BODY = 16_000
"""Most bytes of a small body. The number of larger bodies, and of those with unknown length, is limited."""
LEAST_PACE = 32_000
"""The bytes per second of the slowest upload. A poor mobile connection is faster."""
BODY_SECONDS = 20.0
"""The seconds that a body may take in addition to those for its bytes at `LEAST_PACE`."""
PIECE = 64_000
"""Most bytes of an answer that are sent in one step: a slow reader's whole answer would fill the socket's buffer."""

CAMPAIGNS = "/c/"
"""The beginning of the paths of campaigns' pages, which platforms show in a frame."""
EMBEDDED = "/embed/"
"""The beginning of the paths of pages for any site's frame: they have no script, no form and no cookie."""
EMBED_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors *"
)
GRADIO_SCRIPTS = "script-src 'self' 'unsafe-inline' 'unsafe-eval'"
"""Gradio compiles components and events' `js` in the browser."""
PROBES = frozenset({"/healthz", "/readyz"})
"""Routes that operators' tools poll, without a rate limit."""

_GRADIO_API = re.compile(r"/gradio_api(/.*)?", re.IGNORECASE | re.DOTALL)
"""All routes of Gradio's API."""
_USED_GRADIO_API = re.compile(r"/gradio_api/(run/\w+|app_id)/?", re.ASCII)
"""The routes of Gradio's API that our page calls: its events, which aren't queued, and the check for a restart."""
_EVENT = re.compile(r"/gradio_api/run/.*", re.DOTALL)
_PORT = re.compile(r"\.?(:[0-9]{0,5})?$", re.ASCII)
"""The end of a host's name that isn't compared: a dot and the port."""
_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""JSON escapes of half a surrogate pair, which no text may hold alone; most bodies have none."""
_CLOSED_GRADIO = re.compile(
    r"/(openapi\.json|svelte|pwa_icon|manifest\.json|monitoring|file|proxy|queue|upload|runs|run-history)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Gradio's routes outside its API that our page doesn't call."""
_GRADIO_LOGIN = frozenset({("POST", "/login"), ("GET", "/logout")})
"""Gradio's own login, at the paths of ours. It would redirect to the host in the request."""
_GRADIO_HOST_HEADERS = frozenset({b"x-forwarded-host", b"x-gradio-server"})
"""Headers from which Gradio takes its own address. It fails if they hold no address."""
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_STATIC_FILE = re.compile(
    r"/(static|assets|pictures)/.*|/(theme\.css|favicon\.ico|robots\.txt)", re.DOTALL
)
_REPORTS = re.compile(r"/(reports?|r|badge|embed)/.*|/reports", re.DOTALL)
"""Files and pages of stored reports. Since reports may be long, these are made one after the other."""
_COMPUTED = re.compile(
    r"/(boards|export|reports?|r|embed|automatic|agreement|preview)/.*|/task-map(/.*)?",
    re.DOTALL,
)
"""Files that are made for each request. Reading one takes a turn of its network, like a call. They may be large and
stay in memory while they are read, so that their number is limited like that of large bodies."""
_BOARDS = re.compile(r"/(model|badge)/.*|/reports|/(results|judges|agreement)(/.*)?", re.DOTALL)
"""Pages of boards, which may have to be counted first, and badges, which are small. They take turns too."""


class RequestMiddleware:
    """Wraps an ASGI app. The `state.network` of a forwarded request is `Caller.network`.

    `cookies`: signs the voter cookies. A cookie with another signature isn't forwarded.
    `image_hosts`: hosts of images that the page may load.
    `answer_hosts`: sites that a campaign's page may post to; `frames`: sites that may show it in a frame.
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
        self._report_turn = asyncio.Semaphore(1)
        self._hosts = hosts
        self._usual_headers = _security_headers(image_hosts)
        self._gradio_headers = _security_headers(image_hosts, scripts=GRADIO_SCRIPTS)
        self._framed_headers = _security_headers(image_hosts, frames=frames, forms=answer_hosts)
        self._embedded_headers = {**self._usual_headers, "content-security-policy": EMBED_POLICY}

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
        takes_file = scope["path"] in self._uploads and scope["method"] not in _READ_METHODS
        most_bytes = self._uploads[scope["path"]] if takes_file else MOST_BODY
        refusal = (
            self._refuse_host(headers)
            or _refuse_request(scope, headers, most_bytes)
            or self._refuse_nul(scope, headers)
        )
        is_large = refusal is None and _is_large(scope, headers)
        # A refused request counts towards the rate, too.
        refusal = self._refuse_flood(scope, caller, is_large) or refusal
        if refusal is not None:
            await refusal(scope, receive, self._with_our_headers(send, None, scope["path"]))
            return
        allowed = [header for header in scope["headers"] if header[0] not in _GRADIO_HOST_HEADERS]
        scope["headers"] = with_cookie(allowed, cookie)
        new_cookie = None if cookie else self._new_cookie_header(scope, headers)
        send = self._with_our_headers(send, new_cookie, scope["path"])
        scope.setdefault("state", {})["network"] = caller.network
        self._limits.enter(caller, is_large)
        try:
            body = _Body(receive, most_bytes)
            if takes_file:
                await self._forward_stream(body, scope, send)
            else:
                await self._forward_read(caller, body, scope, send)
        finally:
            self._limits.leave(caller, is_large)

    def _refuse_host(self, headers: Headers) -> Response | None:
        """Returns the refusal of a request for another host, such as a stranger's name that leads to this address.

        A browser would take the stranger's page and ours for one origin. Programs without a host aren't browsers.
        """
        host = headers.get("host", "").lower()
        if not self._hosts or not host or _PORT.sub("", host) in self._hosts:
            return None
        text = "This server is only for this machine. Open it as localhost or 127.0.0.1. Behind a proxy, set "
        text += "PUBLIC_URL to the https address, or TRUSTED_HOPS to the number of proxies."
        return PlainTextResponse(text, status_code=421)

    def _refuse_nul(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the refusal of an address with NUL, which is in no name, and which PostgreSQL doesn't store."""
        if "\0" not in scope["path"] and b"%00" not in scope["query_string"]:
            return None
        if self._nothing_here and "text/html" in headers.get("accept", ""):
            return self._nothing_here(Request(scope))
        text = "An address can't have the character NUL."
        return PlainTextResponse(text, status_code=404)

    async def _forward_read(self, caller: Caller, body: "_Body", scope: Scope, send: Send) -> None:
        """Forwards a request after reading its body, so that nobody waits for a slow sender."""
        content = await body.whole()
        if content is None:
            if body.refusal:
                await body.refusal(scope, body, send)
            return
        is_read = scope["method"] in _READ_METHODS
        is_computed = _COMPUTED.fullmatch(scope["path"]) or _BOARDS.fullmatch(scope["path"])
        if is_computed and scope["method"] == "HEAD":
            # Not every route has HEAD. The server sends the head of the answer alone.
            scope = {**scope, "method": "GET"}
        async with AsyncExitStack() as turn:
            if is_computed or not is_read:
                await turn.enter_async_context(self._limits.turn(caller))
            if await body.has_left():
                return
            refusal = _refuse_call(scope, content, self._events)
            if _REPORTS.fullmatch(scope["path"]):
                await turn.enter_async_context(self._report_turn)
                if await body.has_left():
                    return
            app = refusal or self._app
            await app(scope, body.replay(content), _ending_turn(turn, send) if is_read else send)

    async def _forward_stream(self, body: "_Body", scope: Scope, send: Send) -> None:
        """Forwards a request while its body arrives, unless it turns out to be too large or too slow."""
        has_begun = False

        async def send_unless_refused(message: Message) -> None:
            nonlocal has_begun
            if has_begun or not body.refusal:
                has_begun = True
                await send(message)

        with suppress(ClientDisconnect):
            await self._app(scope, body, send_unless_refused)
        if body.refusal and not has_begun:
            await body.refusal(scope, body, send)

    def _refuse_flood(
        self, scope: Scope, caller: Caller, is_large: bool
    ) -> PlainTextResponse | None:
        """Returns the refusal of a request beyond the caller's rate; takes a token otherwise."""
        if scope["path"] in PROBES:
            return None
        is_call = not _STATIC_FILE.fullmatch(scope["path"])
        wait = self._limits.wait_seconds(caller, is_call, is_large)
        if not wait:
            return None
        seconds = str(math.ceil(wait))
        error = VoterError("Too many requests right now. Please try again in {} s.", seconds)
        return _error_response(error, 429, {"retry-after": seconds})

    def _with_our_headers(self, send: Send, cookie: str | None, path: str) -> Send:
        """Wraps `send`: sends pieces with our headers, without headers that would let other sites read the response."""
        headers = self._headers_of(path)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent_headers = MutableHeaders(scope=message)
                sharing = [name for name in sent_headers if name.startswith("access-control-")]
                for name in sharing:
                    del sent_headers[name]
                for name, value in headers.items():
                    sent_headers[name] = value
                if cookie is not None:
                    sent_headers.append("set-cookie", cookie)
            for piece in _pieces(message):
                await send(piece)

        return send_with_headers

    def _headers_of(self, path: str) -> Mapping[str, str]:
        if path.startswith(EMBEDDED):
            return self._embedded_headers
        if path.startswith(CAMPAIGNS):
            return self._framed_headers
        if gradio_address(path):
            return self._gradio_headers
        return self._usual_headers

    def _new_cookie_header(self, scope: Scope, headers: Headers) -> str | None:
        """Returns the Set-Cookie header for a visitor of a page; None for other requests."""
        path = scope["path"]
        sets_cookie = gradio_address(path) is not None or path in FILE_PATHS
        if scope["method"] != "GET" or not sets_cookie:
            return None
        return cookie_header(self._cookies.new(), self._https or is_https(scope, headers))


class _Body:
    """Receives a request's body. One that is too large or too slow ends as if the client had disconnected."""

    def __init__(self, receive: Receive, most_bytes: int) -> None:
        self._receive = receive
        self._most_bytes = most_bytes
        self._bytes = 0
        self._has_more = True
        self._began_at = asyncio.get_running_loop().time()
        self.refusal: PlainTextResponse | None = None
        """The answer to a body that is too large or too slow."""

    async def __call__(self) -> Message:
        """Returns the next message of the client."""
        if not self._has_more:
            return await self._receive()
        end = self._began_at + BODY_SECONDS + self._bytes / LEAST_PACE
        try:
            async with asyncio.timeout_at(end):
                message = await self._receive()
        except TimeoutError:
            error = VoterError(
                "Your connection is too slow for this. Please try again on a faster one."
            )
            return self._refuse(_error_response(error, 408, {"connection": "close"}))
        self._bytes += len(message.get("body", b""))
        self._has_more = message.get("more_body", False)
        if self._bytes > self._most_bytes:
            return self._refuse(_too_large_response(self._most_bytes))
        return message

    async def whole(self) -> bytes | None:
        """Returns the whole body; None if it is refused or the client has disconnected."""
        content = bytearray()
        while self._has_more:
            message = await self()
            if message["type"] != "http.request":
                return None
            content += message.get("body", b"")
        return bytes(content)

    async def has_left(self) -> bool:
        """Whether the client has disconnected after sending the whole body."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                message = await self._receive()
                return message["type"] == "http.disconnect"
        return False

    def replay(self, content: bytes) -> Receive:
        """Returns a receive function that replays a body, then continues with the client's messages."""
        is_replayed = False

        async def receive() -> Message:
            nonlocal is_replayed
            if is_replayed:
                return await self._receive()
            is_replayed = True
            return {"type": "http.request", "body": content, "more_body": False}

        return receive

    def _refuse(self, refusal: PlainTextResponse) -> Message:
        """Ends the body, as if the client had disconnected."""
        self.refusal = refusal
        self._has_more = False
        return {"type": "http.disconnect"}


def _ending_turn(turn: AsyncExitStack, send: Send) -> Send:
    """Wraps `send`: ends a turn when the answer begins, so that nobody waits for a slow reader."""

    async def end_turn_and_send(message: Message) -> None:
        await turn.aclose()
        await send(message)

    return end_turn_and_send


def _pieces(message: Message) -> Iterator[Message]:
    """Yields a message of an answer, a long body in messages of PIECE bytes."""
    rest = memoryview(message.get("body", b""))
    while len(rest) > PIECE:
        yield {"type": message["type"], "body": bytes(rest[:PIECE]), "more_body": True}
        rest = rest[PIECE:]
    yield {**message, "body": bytes(rest)} if "body" in message else message


def _too_large_response(most_bytes: int) -> PlainTextResponse:
    error = VoterError("The limit is {}. Send less.", size_text(most_bytes))
    return _error_response(error, 413)


def _error_response(
    error: VoterError, status: int, headers: Mapping[str, str] | None = None
) -> PlainTextResponse:
    """Returns an error in the current language, which `RequestLocale` has set."""
    return PlainTextResponse(translated(error), status_code=status, headers=headers)


def _parse_call(content: bytes) -> Mapping[str, Any] | None:
    """Returns the call of an event in a body; None for other bodies."""
    try:
        body = json.loads(content.decode())
        if _LONE_SURROGATE.search(content):
            # Raises a ValueError if the other half of a pair is missing.
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    # `type`, since True and False are ints, too.
    is_call = isinstance(body, dict) and type(body.get("fn_index")) is int
    return body if is_call else None


def _refuse_call(
    scope: Scope, content: bytes, events: Mapping[int, Sequence[Argument]] | None
) -> PlainTextResponse | None:
    """Returns the refusal of a call of an unknown event, or with arguments that the event doesn't accept.

    `events`: None allows any event.
    """
    if scope["method"] != "POST" or not _EVENT.fullmatch(scope["path"]):
        return None
    call = _parse_call(content)
    problem = None
    if call is None or (events is not None and call["fn_index"] not in events):
        problem = "Expected a call of one of the page's events: a JSON object in UTF-8."
    elif len(json.dumps({**call, "data": None})) > MOST_BESIDE_ARGUMENTS:
        problem = f"A call takes at most {MOST_BESIDE_ARGUMENTS:,} characters beside its arguments."
    elif events is not None:
        problem = misfit(events[call["fn_index"]], call.get("data"))
    return PlainTextResponse(problem, status_code=422) if problem else None


def _is_large(scope: Scope, headers: Headers) -> bool:
    """Whether the body of a request, or its answer, may be large. Its length must have passed `_refuse_request`."""
    is_of_unknown_length = "transfer-encoding" in headers
    is_long = int(headers.get("content-length", 0)) > SMALL_BODY
    is_computed = _COMPUTED.fullmatch(scope["path"]) is not None
    return is_of_unknown_length or is_long or is_computed


def _is_closed(scope: Scope) -> bool:
    """Whether a request is for a route of Gradio that our page doesn't call."""
    path = scope["path"]
    if _CLOSED_GRADIO.fullmatch(path):
        return True
    if _GRADIO_API.fullmatch(path) and not _USED_GRADIO_API.fullmatch(path):
        return True
    return (scope["method"], path.rstrip("/")) in _GRADIO_LOGIN


def _refuse_request(scope: Scope, headers: Headers, most_bytes: int) -> PlainTextResponse | None:
    """Returns the refusal of a closed route, a foreign page's request, or an address or a length that is too large."""
    path = scope["path"]
    if _is_closed(scope):
        return PlainTextResponse("This route is closed.", status_code=403)
    if _STATIC_FILE.fullmatch(path) and len(path.encode()) > LONGEST_NAME:
        return PlainTextResponse("There is no such file.", status_code=404)
    if scope["method"] not in _READ_METHODS and not _same_origin(headers):
        return PlainTextResponse("Requests from other sites are refused.", status_code=403)
    characters = len(scope.get("raw_path") or path) + len(scope["query_string"])
    if characters > MOST_ADDRESS:
        text = f"An address has at most {MOST_ADDRESS:,} characters, and this one has {characters:,}. Make it shorter."
        return PlainTextResponse(text, status_code=414)
    # A proxy in front may believe the other one.
    if "content-length" in headers and "transfer-encoding" in headers:
        return PlainTextResponse(
            "A request can have a length or come in chunks, not both.", status_code=400
        )
    length = headers.get("content-length", "0")
    is_number = length.isascii() and length.isdigit() and len(length) <= 18
    if not is_number or int(length) > most_bytes:
        return _too_large_response(most_bytes)
    return None


def _same_origin(headers: Headers) -> bool:
    """Whether a request names our own page as its origin, or no page, as a program does."""
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
