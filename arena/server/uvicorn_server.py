"""Serving: the app behind its socket, from the first request until SIGTERM or Ctrl-C has been carried out in order."""

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
"""How long open pages may hold a server that is to end: each may hold a stream of events."""


def serve(app: ASGIApp, settings: Settings, close: Callable[[], None]) -> None:
    """Serve until a signal comes; requests under way are answered, and the app closes what it opened, before exit 0.

    `close` is called last.
    """
    allow_many_connections()
    start_logging(known_secrets())
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again when it has done its part
        signal.signal(ending, lambda *_: leave(close))
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        proxy_headers=False,  # the guard reads them itself, as far as TRUSTED_HOPS goes
        server_header=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )


def allow_many_connections() -> None:
    """Let this process open as many files as it may: often 1,024 is only what it starts with."""
    if resource is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def leave(close: Callable[[], None]) -> NoReturn:
    """End this process with 0: threads in which work goes on that nobody waits for any more are no reason to stay."""
    close()
    logging.shutdown()
    os._exit(0)
