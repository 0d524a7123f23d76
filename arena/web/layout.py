"""Layout: the one document around every page that is served as a whole, without Gradio. It works without a script."""

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from arena.locale import LOCALES, current_locale, t
from arena.templates import macros
from arena.web.addresses import NAME
from arena.web.cookies import NO_STORE, is_https
from arena.web.heads import Head
from arena.web.static_files import Links, accepts_gzip

HTML = macros("page.html")
KEPT_HEADERS = {
    "cache-control": "private, no-cache",
    "vary": "accept-encoding, accept-language, cookie",
}
"""Headers of a page that a browser stores, and asks about each time."""
_THEMES = ("dark", "light")


@dataclass(frozen=True)
class PageLayout:
    """Puts the body of a page into the document of all pages."""

    links: Links
    doors: Sequence[tuple[str, str]] = ()
    """The pages in the bar: their paths, and the keys of their names."""
    public: str = ""
    """The public address of this server, if it is known. Previews of links need it."""

    def server_address(self, request: Request) -> str:
        """Returns the address of this server for links on other sites, without a slash at its end."""
        if self.public:
            return self.public
        scheme = "https" if is_https(request.scope, request.headers) else "http"
        return f"{scheme}://{request.headers.get('host', '')}"

    def page(
        self,
        request: Request,
        head: Head,
        body: str,
        here: str | None = None,
        is_operators: bool = False,
        status: int = 200,
        is_kept: bool = True,
    ) -> Response:
        """Returns a page.

        `body`: HTML. `here`: the page's path, if it is in the bar. `is_operators`: whether it is for operators, who
        have no choice of languages. `is_kept`: whether a browser may store it and ask only for changes.
        """
        locale = current_locale()
        html = HTML.document(
            head,
            body,
            locale.language,
            theme=_theme(request),
            links=self.links,
            public=self.public,
            top=HTML.top(self.doors, here, locale.table("scripts"), heading="p"),
            foot=HTML.foot([] if is_operators else LOCALES.values()),
        )
        return _response(request, html.encode(), status, is_kept)

    def nothing_here(self, request: Request) -> Response:
        """Returns the page of a wrong address."""
        path = request.scope["path"][:100].replace("\0", "%00")
        body = HTML.nothing_here(path, self.doors)
        head = Head(f"{t('pages.nothing')} · {NAME}", "", is_private=True)
        return self.page(request, head, body, status=404, is_kept=False)


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(etag: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser that sends these headers already has the page of an etag."""
    known = headers.get("if-none-match", "").split(",")
    return etag in {tag.strip().removeprefix("W/") for tag in known}


def _theme(request: Request) -> str:
    """Returns the theme of the Space that frames the page; empty for the browser's own."""
    theme = request.query_params.get("__theme", "")
    return theme if theme in _THEMES else ""


def _response(request: Request, body: bytes, status: int, is_kept: bool) -> Response:
    headers = dict(NO_STORE)
    if is_kept:
        headers = {**KEPT_HEADERS, "etag": etag_of(body)}
        if is_known(headers["etag"], request.headers):
            return Response(status_code=304, headers=headers)
    if accepts_gzip(request.headers):
        body = gzip.compress(body, 6, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(body, status, headers, "text/html")
