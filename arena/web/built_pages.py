"""Built pages: caches Gradio's pages and its configuration, which Gradio would build for each request.

The header, the footer and, on pages of battles, their frame are added around Gradio's own part.

Gradio writes the address in a request into both. Here they hold `/`, which the browser resolves against its own
address. So the same bytes serve everybody, behind any proxy, and hold nothing that a stranger sent. Two addresses of
the same page differ only in their heads.
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
from arena.web.addresses import NAME, VOTE, Address, gradio_address, gradio_path, usual_path
from arena.web.heads import PAGES, Head, page_head
from arena.web.layout import KEPT_HEADERS, PageLayout, etag_of, is_known
from arena.web.static_files import Links, accepts_gzip

_ROOT = "http://root.invalid"
"""The host in our requests to Gradio, which it writes into its answers."""
_PREVIEW_TAGS = re.compile(r'<meta\s+(?:property|name)="(?:og|twitter):[^<>]*+>\s*')
"""Gradio's own tags for previews of links."""
_TITLE = f'"title":{json.dumps(NAME)}'
"""The page's title in its configuration, which Gradio's script shows in the browser's tab."""
_CONFIG = "window.gradio_config = "
"""The beginning of the script that holds Gradio's configuration."""
_API_INFO = "window.gradio_api_info"
"""The beginning of the script's statement after the configuration."""
_EVERY_ADDRESS = (
    'for (const path of ["", ...Object.keys(gradio_config.page)]) '
    "gradio_config.page[path] = gradio_config.page[gradio_config.current_page];"
)
"""Has Gradio's script show the page that it was sent, whatever the address: it doesn't know all addresses, and in
another language a page has another path."""
_SCRIPT_TAGS = re.compile(
    r'<link rel="manifest"[^<>]*>\s*<script type="module" crossorigin src="\./(assets/index-[\w-]+\.js)"></script>\s*'
    r'<link rel="stylesheet" crossorigin href="\./(assets/index-[\w-]+\.css)">'
)
"""The tags that load Gradio's script (group 1) and style (group 2)."""
_GRADIO_PATH = re.compile(
    r"/(?:gradio_api|static|assets|svelte|login|logout)\b|/[^/]*\.(?:css|js|json|ico|txt|png|svg)$"
)
"""Paths of Gradio's own routes and files."""
_CONTENT = '<div id="content" tabindex="-1"></div>'
"""The target of the bar's first link."""
_MOST_DOCUMENTS = 60
"""The most documents in the cache: each item, board, model and battle has one."""


class EncodedPage(NamedTuple):
    """A page in one encoding."""

    body: bytes
    headers: dict[str, str]
    """The headers of any response, also of 304."""
    body_headers: dict[str, str]

    def response(self, headers: Headers) -> Response:
        """Returns the response to a request with these headers."""
        if is_known(self.headers["etag"], headers):
            return Response(status_code=304, headers=self.headers)
        return Response(self.body, headers=self.headers | self.body_headers)


class BuiltPage(NamedTuple):
    """A page, plain and compressed."""

    plain: EncodedPage
    gzipped: EncodedPage

    def response(self, headers: Headers) -> Response:
        """Returns the response to a request with these headers, in an encoding that it accepts."""
        page = self.gzipped if accepts_gzip(headers) else self.plain
        return page.response(headers)


class _GradioAnswer(NamedTuple):
    """Gradio's answer with `/` in place of its address, and without its own tags."""

    text: str
    body_headers: Mapping[str, str]


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
        """`head` returns the head of an address. `frames` has a function for each page of battles, which returns the
        HTML of its frame.

        `layout` is that of the pages without Gradio, which have the same bar.
        """
        self._gradio = gradio
        self._head = head
        self._frames = frames
        self._links = links
        self._layout = layout
        config = asyncio.run(_gradio_answer(gradio, "/config"))
        self._config = _build(config.text, config.body_headers)
        gradio_pages = [page for page in PAGES if gradio_address(f"/{page}")]
        paths = dict.fromkeys(
            gradio_path(page, language) for page in gradio_pages for language in LOCALES
        )
        self._pages = {path: asyncio.run(_gradio_answer(gradio, f"/{path}")) for path in paths}
        self._documents: Cache[BuiltPage] = Cache(_MOST_DOCUMENTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = None
        if scope["method"] in ("GET", "HEAD"):
            response = await self._response(scope, Headers(scope=scope))
        await (response or self._gradio)(scope, receive, send)

    async def _response(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the response to a path; None if Gradio should answer."""
        path = scope["path"]
        raw_path = scope["raw_path"].decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        if path.rstrip("/") == "/config":
            return self._config.response(headers)
        address = gradio_address(raw_path, query)
        if address is not None and address.page in self._pages:
            document = await self._document_of(address, current_locale())
            return document.response(headers)
        wants_page = "text/html" in headers.get("accept", "")
        if wants_page and not _GRADIO_PATH.match(path):
            return self._wrong_address(raw_path, query, Request(scope))
        return None

    async def _document_of(self, address: Address, locale: Locale) -> BuiltPage:
        if address.kind == "page":
            return self._document(address.page, page_head(address.page), locale)
        head = await asyncio.to_thread(self._head_of, address)
        return self._document(address.page, head, locale)

    def _document(self, page: str, head: Head, locale: Locale) -> BuiltPage:
        def build_document() -> BuiltPage:
            with speaking(locale):
                return self._build_document(page, head)

        return self._documents.get((page, head, locale.language), build_document)

    def _wrong_address(self, raw_path: str, query: str, request: Request) -> Response:
        """Redirects a wrong address to its usual form, or returns the page of wrong addresses."""
        usual = usual_path(raw_path)
        if usual == raw_path:
            return self._layout.nothing_here(request)
        return RedirectResponse(f"{usual}?{query}" if query else usual)

    def _head_of(self, address: Address) -> Head:
        try:
            return self._head(address)
        except DatabaseError:
            return page_head(address.page)

    def _build_document(self, page: str, head: Head) -> BuiltPage:
        locale = current_locale()
        html = macros("page.html")
        answer = self._pages[gradio_path(page, locale.language)]
        frame = self._frames[page]() if page in self._frames else ""
        links = html.links(self._links.style, self._links.script, first=page == VOTE)
        tags = html.head_tags(head, self._layout.public) + links
        top = html.top(self._layout.doors, page, locale.table("scripts"))
        title = json.dumps(visible_name(head.title)).replace("<", "\\u003c")
        document = _with_battle_first(answer.text) if frame else answer.text
        document = document.replace('lang="en"', f'lang="{locale.language}"', 1)
        document = document.replace('<base href="./" />', f'<base href="/" />{tags}', 1)
        document = document.replace("<gradio-app", f"{top}{_CONTENT}{frame}<gradio-app", 1)
        foot = html.foot(list(LOCALES.values()), battles=bool(frame))
        document = document.replace("</gradio-app>", f"</gradio-app>{foot}", 1)
        document = document.replace(_TITLE, f'"title":{title}', 1)
        return _build(document, answer.body_headers)


def _with_battle_first(document: str) -> str:
    """Returns a page of battles that loads Gradio's script only after the battle.

    The `css` and `head` of its configuration are for components that a page of battles doesn't have.
    """
    before, marker, _ = document.partition(_CONFIG)
    if marker:
        start = len(before) + len(marker)
        config, length = json.JSONDecoder().raw_decode(document[start:])
        bare = {**config, "css": "", "head": ""}
        text = json.dumps(bare, separators=(",", ":")).replace("<", "\\u003c")
        document = document[:start] + text + document[start + length :]
    late_script = macros("page.html").late_script
    return _SCRIPT_TAGS.sub(lambda tags: late_script(script=tags[1], style=tags[2]), document)


async def _gradio_answer(gradio: ASGIApp, path: str) -> _GradioAnswer:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gradio), base_url=_ROOT) as client:
        answer = await client.get(path, headers={"accept-encoding": "identity"})
    answer.raise_for_status()
    text = answer.text.replace(f"{_ROOT}/{path.strip('/')}", "/").replace(_ROOT, "/")
    text = _PREVIEW_TAGS.sub("", text).replace(_API_INFO, _EVERY_ADDRESS + _API_INFO, 1)
    return _GradioAnswer(text, {"content-type": answer.headers["content-type"]})


def _build(text: str, body_headers: Mapping[str, str]) -> BuiltPage:
    body = text.encode()
    gzipped = gzip.compress(body, mtime=0)
    return BuiltPage(
        plain=_encoded_page(body, dict(body_headers)),
        gzipped=_encoded_page(gzipped, {"content-encoding": "gzip", **body_headers}),
    )


def _encoded_page(body: bytes, body_headers: dict[str, str]) -> EncodedPage:
    # Private: a response may set a cookie, which no shared cache may keep.
    return EncodedPage(body, {**KEPT_HEADERS, "etag": etag_of(body)}, body_headers)
