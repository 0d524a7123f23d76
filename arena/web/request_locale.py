"""Request locale: the middleware that makes the language of a request the current one while it is answered."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from arena.locale import ENGLISH, Locale, locale_of, speaking
from arena.web.addresses import RUN


class RequestLocale:
    """Middleware around an ASGI app; texts that the app makes meanwhile are in the request's language."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with speaking(_locale(scope)):
            await self._app(scope, receive, send)


def _locale(scope: Scope) -> Locale:
    """Returns the locale of a request; the operators' pages are English."""
    # "*" and "" are paths without a first part.
    if scope["type"] != "http" or scope["path"].split("/")[1:2] == [RUN]:
        return ENGLISH
    return locale_of(Headers(scope=scope))
