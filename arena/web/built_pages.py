"""Built pages: Gradio's pages and its configuration as bytes, which Gradio would build anew for each request.

Around Gradio's own part stand the header, the footer and, where battles happen, their frame, which is in the visitor's
language.

Gradio writes the address that a request names into both. Here `/` stands instead, which the browser resolves against
its own address: the same bytes serve everybody, behind any proxy, and hold nothing that a stranger sent. An address is
its page of Gradio with a head of its own.
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
from arena.locale import LOCALES, Locale, current_locale, speaking, t
from arena.markdown import visible_name
from arena.templates import macros
from arena.web.addresses import NAME, VOTE, Address, gradio_path, opened, plain
from arena.web.heads import PAGES, Head
from arena.web.layout import KEPT, PageLayout, etag_of, is_known
from arena.web.static_files import Links

_ROOT = "http://root.invalid"
"""Address under which Gradio is asked."""
_META = re.compile(r'<meta\s+(?:property|name)="(?:og|twitter):[^<>]*+>\s*')
"""What Gradio says of a page to those who preview links."""
_TITLE = f'"title":{json.dumps(NAME)}'
"""The page's title in its configuration, which its script gives the browser's tab."""
_CONFIG = "window.gradio_config = "
_API_INFO = "window.gradio_api_info"
_EVERY_ADDRESS = 'gradio_config.page[""] = gradio_config.page[gradio_config.current_page];'
"""What Gradio's script looks up for an address that it does not know is the page that it was sent."""
_BEGINNING = re.compile(
    r'<link rel="manifest"[^<>]*>\s*<script type="module" crossorigin src="\./(assets/index-[\w-]+\.js)"></script>\s*'
    r'<link rel="stylesheet" crossorigin href="\./(assets/index-[\w-]+\.css)">'
)
"""Where Gradio's script begins; on a page of battles the battle comes first."""
_GRADIOS = re.compile(
    r"/(?:gradio_api|static|assets|svelte|login|logout)\b|/[^/]*\.(?:css|js|json|ico|txt|png|svg)$"
)
"""Paths of Gradio's own routes and files."""
_CONTENT = '<div id="content" tabindex="-1"></div>'
"""Where the first link of the bar leads."""
_KEPT = 60
"""Most documents kept: each item, board, model and battle has one."""


class BuiltPage(NamedTuple):
    """A page in one encoding; `headers` are those of the whole answer and of 304."""

    body: bytes
    headers: dict[str, str]
    described: dict[str, str]
    """Headers of the body."""

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
        """`head` tells the head of an address, `frames` makes the frame of each page of battles.

        `layout` is that of the pages without Gradio, which has the same bar.
        """
        self._gradio = gradio
        self._head = head
        self._frames = frames
        self._links = links
        self._layout = layout
        config, described = asyncio.run(_asked(gradio, "/config"))
        self._config = _built(config.encode(), described)
        there = [page for page in PAGES if opened(f"/{page}")]
        self._pages = {
            (page, language): asyncio.run(_asked(gradio, f"/{gradio_path(page, language)}"))
            for page in there
            for language in LOCALES
        }
        self._documents: Cache[Mapping[bool, BuiltPage]] = Cache(_KEPT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = (
            await self._answer(scope, Headers(scope=scope))
            if scope["method"] in ("GET", "HEAD")
            else None
        )
        await (answer or self._gradio)(scope, receive, send)

    async def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a path; None if Gradio is to give it."""
        path = scope["path"]
        query = scope["query_string"].decode("latin-1")
        sent = scope["raw_path"].decode("latin-1")
        address = opened(sent, query)
        if address is not None and (address.page, "en") not in self._pages:
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
            return self._document(address.page, PAGES[address.page], locale)
        head = await asyncio.to_thread(self._told, address)
        return self._document(address.page, head, locale)

    def _document(self, page: str, head: Head, locale: Locale) -> Mapping[bool, BuiltPage]:
        def documented() -> Mapping[bool, BuiltPage]:
            with speaking(locale):
                return self._documented(page, head)

        return self._documents.get((page, head, locale.language), documented)

    def _sent_on(self, sent: str, query: str, request: Request) -> Response:
        """Return the way from a wrong address: to itself as it is written here, else the page that says so."""
        meant = plain(sent)
        if meant != sent:
            return RedirectResponse(f"{meant}{query and '?'}{query}")
        return self._layout.nothing_here(request)

    def _told(self, address: Address) -> Head:
        try:
            return self._head(address)
        except DatabaseError:
            return PAGES[address.page]

    def _documented(self, page: str, told: Head) -> Mapping[bool, BuiltPage]:
        locale = current_locale()
        html = macros("page.html")
        document, described = self._pages[page, locale.language]
        frame = self._frames[page]() if page in self._frames else ""
        if told == PAGES[VOTE]:
            told = told._replace(title=t("vote.title"))
        links = html.links(self._links.style, self._links.script, page == VOTE)
        head = html.described(told, self._layout.public) + links
        top = html.top(self._layout.doors, page, locale.table("scripts"))
        title = json.dumps(visible_name(told.title)).replace("<", "\\u003c")
        if frame:
            document = _later(document)
        document = document.replace('lang="en"', f'lang="{locale.language}"', 1)
        document = document.replace('<base href="./" />', f'<base href="/" />{head}', 1)
        document = document.replace("<gradio-app", f"{top}{_CONTENT}{frame}<gradio-app", 1)
        foot = html.foot(list(LOCALES.values()), battles=bool(frame))
        document = document.replace("</gradio-app>", f"</gradio-app>{foot}", 1)
        return _built(document.replace(_TITLE, f'"title":{title}', 1).encode(), described)


def _later(document: str) -> str:
    """Return a page of battles, which has styles and scripts of its own, with Gradio's script put off."""
    before, begins, _ = document.partition(_CONFIG)
    if begins:
        start = len(before) + len(begins)
        config, length = json.JSONDecoder().raw_decode(document[start:])
        bare = {**config, "css": "", "head": ""}
        told = json.dumps(bare, separators=(",", ":")).replace("<", "\\u003c")
        document = document[:start] + told + document[start + length :]
    later = macros("page.html").later
    return _BEGINNING.sub(lambda begun: later(script=begun[1], style=begun[2]), document)


async def _asked(gradio: ASGIApp, path: str) -> tuple[str, Mapping[str, str]]:
    """Return Gradio's answer, without its own words on itself and with `/` for its address, and the body's headers."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gradio), base_url=_ROOT) as client:
        answer = (
            await client.get(path, headers={"accept-encoding": "identity"})
        ).raise_for_status()
    text = _META.sub("", answer.text.replace(f"{_ROOT}/{path.strip('/')}", "/").replace(_ROOT, "/"))
    return text.replace(_API_INFO, _EVERY_ADDRESS + _API_INFO, 1), {
        "content-type": answer.headers["content-type"]
    }


def _built(plain: bytes, described: Mapping[str, str]) -> Mapping[bool, BuiltPage]:
    """Return a page, plain and compressed."""
    coded = {"content-encoding": "gzip", **described}
    return {False: _page(plain, dict(described)), True: _page(gzip.compress(plain, mtime=0), coded)}


def _page(body: bytes, described: dict[str, str]) -> BuiltPage:
    # Private: an answer may set a cookie, which no shared cache may keep.
    return BuiltPage(body, {**KEPT, "etag": etag_of(body)}, described)
