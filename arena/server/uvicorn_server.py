"""Uvicorn server: serve the app until SIGTERM or Ctrl-C, then shut down in order."""

import logging
import os
import signal
from collections.abc import Callable
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp

from arena.server.logs import start_logging
from arena.settings import Settings, known_secrets

try:
    import resource
except ImportError:  # Windows
    resource = None

CLOSING_SECONDS = 4
"""How long open pages may delay a shutdown: each may hold a stream of events."""


def serve(app: ASGIApp, settings: Settings, close: Callable[[], None]) -> None:
    """Serve until a signal; then finish requests under way, call `close`, and exit with 0."""
    allow_many_connections()
    start_logging(known_secrets())
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again when it has shut down
        signal.signal(ending, lambda *_: leave(close))
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        proxy_headers=False,  # our middleware reads them itself, as TRUSTED_HOPS allows
        server_header=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )


def allow_many_connections() -> None:
    """Raise the limit on open files to its maximum: the default is often 1,024."""
    if resource is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def leave(close: Callable[[], None]) -> NoReturn:
    """Exit this process with 0 at once: threads whose work nobody waits for must not delay it."""
    close()
    logging.shutdown()
    os._exit(0)
