"""The guard: an ASGI layer around the whole app.

It gives each visitor the voter cookie, refuses posts from foreign origins, oversized bodies and floods, closes all of
Gradio's routes but those that our page calls, and sets the security headers. Gradio's own settings are no protection:
anyone can call any event.
"""

import asyncio
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from types import MappingProxyType

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.web.cookies import cookie_header, cookie_in, new_cookie
from arena.web.events import Argument, misfit
from arena.web.rate_limit import Caller, RateLimiter

MOST_BODY = 64_000
"""Bytes that a request may send, where no route takes more."""
MOST_ADDRESS = 8_000
"""Characters of an address."""
MOST_BESIDE = 1_000
"""Characters of JSON that a call may hold beside its arguments."""
SMALL_BODY = 16_000
"""Bytes up to which a body is small; of larger ones, and of those that do not say, few may be on their way."""
BODY_SECONDS = 20.0
LEAST_PACE = 32_000
"""A body may take so many seconds, and one more for so many bytes that have come; a poor mobile line is faster."""

PROBES = frozenset({"/healthz", "/readyz"})
"""Routes that are asked all day by whoever keeps the server running; they are not counted."""

_GRADIO = re.compile(r"/gradio_api(/.*)?", re.IGNORECASE | re.DOTALL)
_CALLED = re.compile(r"/gradio_api/(run/\w+|app_id)/?", re.ASCII)
"""What our page calls of Gradio: its events, none of which is queued, and after a broken line whether we are back."""
_EVENT = re.compile(r"/gradio_api/run/.*", re.DOTALL)
_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""How JSON writes half a surrogate pair, which no text may hold alone; most bodies hold none."""
_CLOSED = re.compile(
    r"/(openapi\.json|svelte|pwa_icon|manifest\.json|monitoring|file|proxy|queue|upload|runs|run-history)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Routes of Gradio beside its API that our page does not call."""


_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_FILE = re.compile(r"/(static|assets|pictures)/.*|/(theme\.css|favicon\.ico|robots\.txt)", re.DOTALL)
_BUILT = frozenset({"/", "/config", "/config/"})
"""What Gradio builds anew for everybody who asks."""


class RequestMiddleware:
    """Wrap an ASGI app; `image_hosts` may be loaded by the page, `https` says that a proxy speaks https for us.

    `uploads` are paths that take larger bodies, in bytes; `limits` count who calls how often; `events` are the page's
    events by number, with what each takes; None if any may be called. A request's `state.network` is the code of its
    caller's network.
    """

    def __init__(
        self,
        app: ASGIApp,
        image_hosts: Sequence[str] = (),
        https: bool = False,
        uploads: Mapping[str, int] = MappingProxyType({}),
        limits: RateLimiter | None = None,
        events: Mapping[int, Sequence[Argument]] | None = None,
    ) -> None:
        self._app = app
        self._https = https
        self._uploads = uploads
        self._limits = limits or RateLimiter()
        self._events = events
        self._headers = _security_headers(image_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # nothing here speaks it
            return
        headers = Headers(scope=scope)
        send = self._guarded(send, self._fresh_cookie(scope, headers))
        caller = self._caller(scope, headers)
        most = self._uploads.get(scope["path"], MOST_BODY)
        refusal = _refusal(scope, headers, most)
        large = refusal is None and _is_large(headers)
        refusal = self._flooded(scope, caller, large) or refusal
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        scope.setdefault("state", {})["network"] = caller.network
        self._limits.enter(caller, large)
        try:
            body = _Body(receive, most)
            if scope["path"] in self._uploads:
                await self._streamed(body, scope, send)
            else:
                await self._worked_on(caller, body, scope, send)
        finally:
            self._limits.leave(caller, large)

    async def _worked_on(self, caller: Caller, body: "_Body", scope: Scope, send: Send) -> None:
        """Let the app answer a request whose body is here, so that nobody waits for a slow sender."""
        whole = await body.whole()
        if whole is None:
            if body.refusal:
                await body.refusal(scope, body, send)
            return
        busy = scope["path"] in _BUILT or scope["method"] not in _READS
        async with self._limits.turn(caller) if busy else nullcontext():
            if await body.left():
                return
            is_call = scope["method"] == "POST" and _EVENT.fullmatch(scope["path"])
            refusal = _misfit(whole, self._events) if is_call else None
            await (refusal or self._app)(scope, body.again(whole), send)

    async def _streamed(self, body: "_Body", scope: Scope, send: Send) -> None:
        """Let the app answer while a body comes, unless this turns out to be too large or too slow."""
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

    def _caller(self, scope: Scope, headers: Headers) -> Caller:
        peer = scope.get("client")
        return self._limits.caller(sent_cookie(headers), peer[0] if peer else "", headers.getlist("x-forwarded-for"))

    def _flooded(self, scope: Scope, caller: Caller, large: bool) -> PlainTextResponse | None:
        """Return what a caller is told who asks for too much."""
        if scope["path"] in PROBES:
            return None
        wait = self._limits.wait(caller, call=not _FILE.fullmatch(scope["path"]), large=large)
        if not wait:
            return None
        seconds = str(math.ceil(wait))
        text = f"Too many requests at the moment. Please come again in {seconds} s."
        return PlainTextResponse(text, status_code=429, headers={"retry-after": seconds})

    def _guarded(self, send: Send, cookie: str | None) -> Send:
        """Return a send that sets our headers, and leaves out those that would let other sites read."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                out = MutableHeaders(scope=message)
                for name in [name for name in out if name.startswith("access-control-")]:
                    del out[name]
                for name, value in self._headers.items():
                    out[name] = value
                if cookie is not None:
                    out.append("set-cookie", cookie)
            await send(message)

        return send_guarded

    def _fresh_cookie(self, scope: Scope, headers: Headers) -> str | None:
        """Return the Set-Cookie line for a visitor of the page who has none of our cookies."""
        if scope["method"] != "GET" or scope["path"] != "/" or sent_cookie(headers) is not None:
            return None
        https = self._https or scope["scheme"] == "https" or headers.get("x-forwarded-proto") == "https"
        return cookie_header(new_cookie(), https)


class _Body:
    """Receive a request's body; one that is too large or too slow ends as if its sender had gone."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._bytes = 0
        self._more = True
        self._begun = asyncio.get_running_loop().time()
        self.refusal: PlainTextResponse | None = None
        """What the sender of such a body is told."""

    async def __call__(self) -> Message:
        """Return what comes next."""
        if not self._more:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._begun + BODY_SECONDS + self._bytes / LEAST_PACE):
                message = await self._receive()
        except TimeoutError:
            return self._refused(_too_slow())
        self._bytes += len(message.get("body", b""))
        self._more = message.get("more_body", False)
        return self._refused(_too_large(self._most)) if self._bytes > self._most else message

    async def whole(self) -> bytes | None:
        """Return the whole body; None if it is refused, or its sender has gone."""
        whole = bytearray()
        while self._more:
            message = await self()
            if message["type"] != "http.request":
                return None
            whole += message.get("body", b"")
        return bytes(whole)

    async def left(self) -> bool:
        """Tell whether the sender of a whole body has gone."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                return (await self._receive())["type"] == "http.disconnect"
        return False

    def again(self, whole: bytes) -> Receive:
        """Return a receive that gives a body that was read, and then what comes after it."""
        told = False

        async def receive() -> Message:
            nonlocal told
            if told:
                return await self._receive()
            told = True
            return {"type": "http.request", "body": whole, "more_body": False}

        return receive

    def _refused(self, refusal: PlainTextResponse) -> Message:
        self.refusal, self._more = refusal, False
        return {"type": "http.disconnect"}


def sent_cookie(headers: Headers) -> str | None:
    """Return the voter cookie that a request carries; anything else of that name is none."""
    return cookie_in(headers.get("cookie", ""))


def _too_large(most: int) -> PlainTextResponse:
    return PlainTextResponse(f"At most {most} bytes are taken.", status_code=413)


def _too_slow() -> PlainTextResponse:
    text = "What you send comes too slowly. Please try again on a better line."
    return PlainTextResponse(text, status_code=408, headers={"connection": "close"})


def _is_large(headers: Headers) -> bool:
    """Tell whether a body is large, or does not say how large it is; its length was looked at."""
    return "transfer-encoding" in headers or int(headers.get("content-length", "0")) > SMALL_BODY


def _misfit(whole: bytes, events: Mapping[int, Sequence[Argument]] | None) -> PlainTextResponse | None:
    """Return what a caller is told whose body calls none of the page's events, or holds what it does not take."""
    try:
        body = json.loads(whole.decode())
        if _LONE_SURROGATE.search(whole):
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        body = None
    number = body.get("fn_index") if isinstance(body, dict) else None
    if not isinstance(body, dict) or type(number) is not int or (events is not None and number not in events):
        problem = "Expected a call of one of the page's events: a JSON object in UTF-8."
    elif len(json.dumps({**body, "data": None})) > MOST_BESIDE:
        problem = f"A call takes at most {MOST_BESIDE:,} characters beside its arguments."
    else:
        problem = events and misfit(events[number], body.get("data"))
    return PlainTextResponse(problem, status_code=422) if problem else None


def _refusal(scope: Scope, headers: Headers, most: int) -> PlainTextResponse | None:
    path = scope["path"]
    if _CLOSED.fullmatch(path) or (_GRADIO.fullmatch(path) and not _CALLED.fullmatch(path)):
        return PlainTextResponse("This route is closed.", status_code=403)
    if scope["method"] not in _READS and not _same_origin(headers):
        return PlainTextResponse("Requests from other sites are refused.", status_code=403)
    address = len(scope.get("raw_path") or path) + len(scope["query_string"])
    if address > MOST_ADDRESS:
        text = f"An address has at most {MOST_ADDRESS:,} characters, and this one has {address:,}. Make it shorter."
        return PlainTextResponse(text, status_code=414)
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > most:
        return _too_large(most)
    return None


def _same_origin(headers: Headers) -> bool:
    """Tell whether a request comes from our own page, or from no page at all (a program names none)."""
    page = headers.get("origin", headers.get("referer"))
    return page is None or page.partition("://")[2].partition("/")[0] == headers.get("host")


def _security_headers(image_hosts: Sequence[str]) -> dict[str, str]:
    images = " ".join(f"https://{host}" for host in image_hosts)
    policy = (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        f"img-src 'self' data: blob: {images}".rstrip(),
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self' https://huggingface.co",
    )
    return {
        "content-security-policy": "; ".join(policy),
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
    }
