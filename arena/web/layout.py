"""Layout: the one document of all pages that are read, whole without a script."""

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from arena.locale import LOCALES, current_locale, speaking
from arena.templates import macros
from arena.web.addresses import NAME
from arena.web.cookies import NO_STORE, over_https
from arena.web.heads import Head
from arena.web.static_files import Links

HTML = macros("page.html")
KEPT = {"cache-control": "private, no-cache", "vary": "accept-encoding, accept-language, cookie"}
"""A page that a browser keeps, and asks about each time."""
WHOLE = tuple(LOCALES)
"""The languages of a page that is whole in all of them."""
MISSING = Head(f"Nothing here · {NAME}", "", is_private=True)
_THEMES = ("dark", "light")


@dataclass(frozen=True)
class PageLayout:
    """Puts a page's own part into the document of all pages."""

    links: Links
    doors: Sequence[tuple[str, str]] = ()
    """The pages in the bar: their paths, and the keys of their names."""
    public: str = ""
    """The address at which the world reaches this server, if that is known: previews of links need it."""

    def at(self, request: Request) -> str:
        """Return the address of this server for links that stand elsewhere, without a slash at its end."""
        host = request.headers.get("host", "")
        is_safe = over_https(request.scope, request.headers)
        return self.public or f"{'https' if is_safe else 'http'}://{host}"

    def page(
        self,
        request: Request,
        head: Head,
        body: str,
        here: str | None = None,
        languages: Sequence[str] = ("en",),
        status: int = 200,
        is_kept: bool = True,
    ) -> Response:
        """Return a page.

        `body` is HTML, `here` the path of its door if it is one, `languages` those in which it is whole.
        `is_kept`: whether a browser may keep it, to ask only whether it has changed.
        """
        locale = current_locale()
        if locale.language not in languages:
            locale = LOCALES[languages[0]]
        with speaking(locale):
            html = HTML.document(
                head,
                body,
                locale.language,
                theme=_theme(request),
                links=self.links,
                public=self.public,
                top=HTML.top(self.doors, here, locale.table("scripts"), heading="p"),
                foot=HTML.foot([LOCALES[language] for language in languages]),
            )
        return _answer(request, html.encode(), status, is_kept)

    def nothing_here(self, request: Request) -> Response:
        """Return the page of a wrong address."""
        body = HTML.nothing_here(request.scope["path"][:100].replace("\0", "%00"), self.doors)
        return self.page(request, MISSING, body, status=404, is_kept=False)


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(etag: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser has what it asks for already."""
    known = headers.get("if-none-match", "").split(",")
    return etag in {tag.strip().removeprefix("W/") for tag in known}


def _theme(request: Request) -> str:
    """Return the theme that the frame of a Space asks for; empty: the browser's own."""
    asked = request.query_params.get("__theme", "")
    return asked if asked in _THEMES else ""


def _answer(request: Request, body: bytes, status: int, is_kept: bool) -> Response:
    headers = dict(NO_STORE)
    if is_kept:
        headers = {**KEPT, "etag": etag_of(body)}
        if is_known(headers["etag"], request.headers):
            return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, 6, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(body, status, headers, "text/html")
