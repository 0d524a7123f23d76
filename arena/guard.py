"""The guard: an ASGI layer around the whole app.

It gives each visitor the voter cookie, refuses posts from foreign origins, oversized bodies and floods, closes all of
Gradio's routes but those that our page calls, and sets the security headers. Gradio's own settings are no protection:
anyone can call any event.
"""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.hosting.limits import Caller, Limits
from arena.identity import COOKIE, cookie_header, is_cookie, new_cookie

MOST_BODY = 1_000_000
"""Bytes that a request may send, where no route takes more."""

PROBES = frozenset({"/healthz", "/readyz"})
"""Routes that are asked all day by whoever keeps the server running; they are not counted."""

_GRADIO = re.compile(r"/gradio_api(/.*)?", re.IGNORECASE | re.DOTALL)
_CALLED = re.compile(r"/gradio_api/(run/\w+|app_id)/?", re.ASCII)
"""What our page calls of Gradio: its events, none of which is queued, and after a broken line whether we are back."""
_CLOSED = re.compile(
    r"/(openapi\.json|svelte|pwa_icon|manifest\.json|monitoring|file|proxy|queue|upload|runs|run-history)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Routes of Gradio beside its API that our page does not call."""


_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_FILE = re.compile(r"/(static|assets|pictures)/.*|/(theme\.css|favicon\.ico|robots\.txt)", re.DOTALL)
_BUILT = frozenset({"/", "/config", "/config/"})
"""What Gradio builds anew for everybody who asks."""


class Guard:
    """Wrap an ASGI app; `image_hosts` may be loaded by the page, `https` says that a proxy speaks https for us.

    `uploads` are paths that take larger bodies, in bytes; `limits` count who calls how often.
    """

    def __init__(
        self,
        app: ASGIApp,
        image_hosts: Sequence[str] = (),
        https: bool = False,
        uploads: Mapping[str, int] = MappingProxyType({}),
        limits: Limits | None = None,
    ) -> None:
        self._app = app
        self._https = https
        self._uploads = uploads
        self._limits = limits or Limits()
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
        refusal = self._flooded(scope, caller) or _refusal(scope, headers, most)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        self._limits.enter(caller)
        try:
            async with self._limits.turn(caller) if self._is_work(scope) else nullcontext():
                await self._within(most, scope, receive, send)
        finally:
            self._limits.leave(caller)

    def _is_work(self, scope: Scope) -> bool:
        """Tell whether a request keeps us busy, and neither waits for its sender nor is a stream of events."""
        path = scope["path"]
        return path in _BUILT or (scope["method"] not in _READS and path not in self._uploads)

    async def _within(self, most: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer, unless the body turns out to be larger than is taken."""
        counted = _Counted(receive, most)
        begun = False

        async def send_unless_too_large(message: Message) -> None:
            nonlocal begun
            if begun or not counted.over:
                begun = True
                await send(message)

        await self._app(scope, counted, send_unless_too_large)
        if counted.over and not begun:
            await _too_large(most)(scope, receive, send)

    def _caller(self, scope: Scope, headers: Headers) -> Caller:
        peer = scope.get("client")
        return self._limits.caller(sent_cookie(headers), peer[0] if peer else "", headers.getlist("x-forwarded-for"))

    def _flooded(self, scope: Scope, caller: Caller) -> PlainTextResponse | None:
        """Return what a caller is told who asks for too much."""
        if scope["path"] in PROBES:
            return None
        wait = self._limits.wait(caller, call=not _FILE.fullmatch(scope["path"]))
        if not wait:
            return None
        seconds = str(math.ceil(wait))
        text = f"Too many requests from you or your network. Please come again in {seconds} s."
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


class _Counted:
    """Receive a request's body and stop reading when it passes the most that is taken, announced or not."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.over else message

    @property
    def over(self) -> bool:
        """Tell whether more came than is taken."""
        return self._bytes > self._most


def sent_cookie(headers: Headers) -> str | None:
    """Return the voter cookie that a request carries; anything else of that name is none."""
    sent = re.findall(rf"(?:^|;)\s*{COOKIE}=([^;\s]*)", headers.get("cookie", ""))
    return next((value for value in sent if is_cookie(value)), None)


def _too_large(most: int) -> PlainTextResponse:
    return PlainTextResponse(f"At most {most} bytes are taken.", status_code=413)


def _refusal(scope: Scope, headers: Headers, most: int) -> PlainTextResponse | None:
    path = scope["path"]
    if _CLOSED.fullmatch(path) or (_GRADIO.fullmatch(path) and not _CALLED.fullmatch(path)):
        return PlainTextResponse("This route is closed.", status_code=403)
    if scope["method"] not in _READS and not _same_origin(headers):
        return PlainTextResponse("Requests from other sites are refused.", status_code=403)
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
