"""Built pages: caches Gradio's pages and its configuration, which Gradio would build for each request.

The header, the footer and, on pages of battles, their frame are added around Gradio's own part.

Gradio writes the address in a request into both. Here they hold `/`, which the browser resolves against its own
address. So the same bytes serve everybody, behind any proxy, and hold nothing that a stranger sent. Addresses of the
same page differ in their heads alone.
"""

import asyncio
import gzip
import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import httpx
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from arena.cache import Cache
from arena.database import DatabaseError
from arena.locale import LOCALES, Locale, current_locale, speaking
from arena.markdown import visible_name
from arena.templates import macros
from arena.web.addresses import NAME, VOTE, Address, gradio_path, opened, plain
from arena.web.heads import PAGES, Head, page_head
from arena.web.layout import KEPT, PageLayout, etag_of, is_known
from arena.web.static_files import Links

_ROOT = "http://root.invalid"
"""The address in our requests to Gradio."""
_META = re.compile(r'<meta\s+(?:property|name)="(?:og|twitter):[^<>]*+>\s*')
"""Gradio's own tags for previews of links."""
_TITLE = f'"title":{json.dumps(NAME)}'
"""The page's title in its configuration, which Gradio's script shows in the browser's tab."""
_CONFIG = "window.gradio_config = "
_API_INFO = "window.gradio_api_info"
_EVERY_ADDRESS = (
    'for (const path of ["", ...Object.keys(gradio_config.page)]) '
    "gradio_config.page[path] = gradio_config.page[gradio_config.current_page];"
)
"""Gradio's script finds the page that it was sent at any address: it doesn't know all of them, and in another language
a page has another path."""
_BEGINNING = re.compile(
    r'<link rel="manifest"[^<>]*>\s*<script type="module" crossorigin src="\./(assets/index-[\w-]+\.js)"></script>\s*'
    r'<link rel="stylesheet" crossorigin href="\./(assets/index-[\w-]+\.css)">'
)
"""The tags that start Gradio's script. On a page of battles, the battle is loaded first."""
_GRADIOS = re.compile(
    r"/(?:gradio_api|static|assets|svelte|login|logout)\b|/[^/]*\.(?:css|js|json|ico|txt|png|svg)$"
)
"""Paths of Gradio's own routes and files."""
_CONTENT = '<div id="content" tabindex="-1"></div>'
"""The target of the bar's first link."""
_MOST_DOCUMENTS = 60
"""The most documents in the cache: each item, board, model and battle has one."""


class BuiltPage(NamedTuple):
    """A page in one encoding."""

    body: bytes
    headers: dict[str, str]
    """The headers of any answer, also of 304."""
    described: dict[str, str]
    """The headers of the body."""

    def answer(self, headers: Headers) -> Response:
        if is_known(self.headers["etag"], headers):
            return Response(status_code=304, headers=self.headers)
        return Response(self.body, headers=self.headers | self.described)


class BuiltPages:
    """Wraps Gradio's app: answers for its pages and its configuration."""

    def __init__(
        self,
        gradio: ASGIApp,
        head: Callable[[Address], Head],
        frames: Mapping[str, Callable[[], str]],
        links: Links,
        layout: PageLayout,
    ) -> None:
        """`head` returns the head of an address. `frames` make the frames of pages of battles.

        `layout` is that of the pages without Gradio, which have the same bar.
        """
        self._gradio = gradio
        self._head = head
        self._frames = frames
        self._links = links
        self._layout = layout
        config, described = asyncio.run(_gradio_answer(gradio, "/config"))
        self._config = _built(config.encode(), described)
        served = [page for page in PAGES if opened(f"/{page}")]
        paths = dict.fromkeys(
            gradio_path(page, language) for page in served for language in LOCALES
        )
        self._pages = {path: asyncio.run(_gradio_answer(gradio, f"/{path}")) for path in paths}
        self._documents: Cache[Mapping[bool, BuiltPage]] = Cache(_MOST_DOCUMENTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = None
        if scope["method"] in ("GET", "HEAD"):
            answer = await self._answer(scope, Headers(scope=scope))
        await (answer or self._gradio)(scope, receive, send)

    async def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the answer to a path; None if Gradio should answer."""
        path = scope["path"]
        query = scope["query_string"].decode("latin-1")
        sent = scope["raw_path"].decode("latin-1")
        address = opened(sent, query)
        if address is not None and address.page not in self._pages:
            address = None
        if address is None and path.rstrip("/") != "/config":
            is_lost = "text/html" in headers.get("accept", "") and not _GRADIOS.match(path)
            return self._sent_on(sent, query, Request(scope)) if is_lost else None
        built = self._config
        if address is not None:
            built = await self._built_for(address, current_locale())
        accepted = {
            coding.strip() for coding in headers.get("accept-encoding", "").lower().split(",")
        }
        return built["gzip" in accepted].answer(headers)

    async def _built_for(self, address: Address, locale: Locale) -> Mapping[bool, BuiltPage]:
        if address.kind == "page":
            return self._document(address.page, page_head(address.page), locale)
        head = await asyncio.to_thread(self._head_of, address)
        return self._document(address.page, head, locale)

    def _document(self, page: str, head: Head, locale: Locale) -> Mapping[bool, BuiltPage]:
        def documented() -> Mapping[bool, BuiltPage]:
            with speaking(locale):
                return self._documented(page, head)

        return self._documents.get((page, head, locale.language), documented)

    def _sent_on(self, sent: str, query: str, request: Request) -> Response:
        """Redirects a wrong address to its usual form, or returns the page of wrong addresses."""
        meant = plain(sent)
        if meant != sent:
            return RedirectResponse(f"{meant}{query and '?'}{query}")
        return self._layout.nothing_here(request)

    def _head_of(self, address: Address) -> Head:
        try:
            return self._head(address)
        except DatabaseError:
            return page_head(address.page)

    def _documented(self, page: str, head: Head) -> Mapping[bool, BuiltPage]:
        locale = current_locale()
        html = macros("page.html")
        document, described = self._pages[gradio_path(page, locale.language)]
        frame = self._frames[page]() if page in self._frames else ""
        links = html.links(self._links.style, self._links.script, page == VOTE)
        tags = html.described(head, self._layout.public) + links
        top = html.top(self._layout.doors, page, locale.table("scripts"))
        title = json.dumps(visible_name(head.title)).replace("<", "\\u003c")
        if frame:
            document = _later(document)
        document = document.replace('lang="en"', f'lang="{locale.language}"', 1)
        document = document.replace('<base href="./" />', f'<base href="/" />{tags}', 1)
        document = document.replace("<gradio-app", f"{top}{_CONTENT}{frame}<gradio-app", 1)
        foot = html.foot(list(LOCALES.values()), battles=bool(frame))
        document = document.replace("</gradio-app>", f"</gradio-app>{foot}", 1)
        return _built(document.replace(_TITLE, f'"title":{title}', 1).encode(), described)


def _later(document: str) -> str:
    """Returns a page of battles with its own styles and scripts, and with Gradio's script after them."""
    before, begins, _ = document.partition(_CONFIG)
    if begins:
        start = len(before) + len(begins)
        config, length = json.JSONDecoder().raw_decode(document[start:])
        bare = {**config, "css": "", "head": ""}
        text = json.dumps(bare, separators=(",", ":")).replace("<", "\\u003c")
        document = document[:start] + text + document[start + length :]
    later = macros("page.html").later
    return _BEGINNING.sub(lambda begun: later(script=begun[1], style=begun[2]), document)


async def _gradio_answer(gradio: ASGIApp, path: str) -> tuple[str, Mapping[str, str]]:
    """Returns Gradio's answer with `/` in place of its address and without its own tags, and the body's headers."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gradio), base_url=_ROOT) as client:
        answer = await client.get(path, headers={"accept-encoding": "identity"})
    answer.raise_for_status()
    text = answer.text.replace(f"{_ROOT}/{path.strip('/')}", "/").replace(_ROOT, "/")
    text = _META.sub("", text).replace(_API_INFO, _EVERY_ADDRESS + _API_INFO, 1)
    return text, {"content-type": answer.headers["content-type"]}


def _built(plain: bytes, described: Mapping[str, str]) -> Mapping[bool, BuiltPage]:
    """Returns a page, plain (False) and compressed (True)."""
    compressed = gzip.compress(plain, mtime=0)
    return {
        False: _page(plain, dict(described)),
        True: _page(compressed, {"content-encoding": "gzip", **described}),
    }


def _page(body: bytes, described: dict[str, str]) -> BuiltPage:
    # Private: an answer may set a cookie, which no shared cache may keep.
    return BuiltPage(body, {**KEPT, "etag": etag_of(body)}, described)
