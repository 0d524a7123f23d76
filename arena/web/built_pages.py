"""Built pages: Gradio's page and its configuration as bytes, which Gradio would build anew for each request.

Gradio writes the address that a request names into both. Here `/` stands instead, which the browser resolves against
its own address: the same bytes serve everybody, behind any proxy, and hold nothing that a stranger sent.
"""

import asyncio
import gzip
import hashlib
from typing import NamedTuple

import httpx
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_ROOT = "http://root.invalid"
"""Address under which Gradio is asked."""


class BuiltPage(NamedTuple):
    """A page in one encoding; `headers` are those of the whole answer and of 304."""

    body: bytes
    headers: dict[str, str]
    described: dict[str, str]
    """Headers of the body."""

    def answer(self, headers: Headers) -> Response:
        known = {tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")}
        if self.headers["etag"] in known:
            return Response(status_code=304, headers=self.headers)
        return Response(self.body, headers=self.headers | self.described)


class BuiltPages:
    """Wraps Gradio's app: answers for its page and its configuration, whatever the query."""

    def __init__(self, gradio: ASGIApp) -> None:
        self._gradio = gradio
        page, config = asyncio.run(_built(gradio, "/")), asyncio.run(_built(gradio, "/config"))
        self._pages = {"/": page, "/config": config, "/config/": config}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        built = self._pages.get(scope["path"]) if scope["method"] in ("GET", "HEAD") else None
        if built is None:
            await self._gradio(scope, receive, send)
            return
        headers = Headers(scope=scope)
        accepted = {coding.strip() for coding in headers.get("accept-encoding", "").lower().split(",")}
        await built["gzip" in accepted].answer(headers)(scope, receive, send)


async def _built(gradio: ASGIApp, path: str) -> dict[bool, BuiltPage]:
    """Return a page, plain and compressed."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gradio), base_url=_ROOT) as client:
        answer = (await client.get(path, headers={"accept-encoding": "identity"})).raise_for_status()
    plain = answer.content.replace(_ROOT.encode(), b"/")
    described = {"content-type": answer.headers["content-type"]}
    coded = {"content-encoding": "gzip", **described}
    return {False: _page(plain, described), True: _page(gzip.compress(plain, mtime=0), coded)}


def _page(body: bytes, described: dict[str, str]) -> BuiltPage:
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    # Private: an answer for `/` may set a cookie, which no shared cache may keep.
    return BuiltPage(body, {"etag": etag, "cache-control": "private, no-cache", "vary": "accept-encoding"}, described)
