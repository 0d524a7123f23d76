"""Uvicorn server: serve the app until SIGTERM or Ctrl-C, then shut down in order."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp

from arena.network import public_network
from arena.server.connections import MOST_SOCKETS, Connection, Connections
from arena.server.logs import start_logging
from arena.settings import SettingError, Settings, known_secrets

try:
    import resource
except ImportError:  # Windows
    resource = None

CLOSING_SECONDS = 4
"""How long open pages may delay a shutdown: each may hold a stream of events."""


def listening(settings: Settings) -> partial[None]:
    """`serve` on the settings' port, which is taken from now on. Raises SettingError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        where = f"HOST {settings.host}, PORT {settings.port}"
        raise SettingError(
            f"{where}: cannot listen there ({error.strerror}); set others that are free"
        ) from error
    # asyncio sets this only on sockets that it binds itself; without it, a body waits 40 ms for the ACK of its head
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return partial(serve, listener)


def serve(
    listener: socket.socket, app: ASGIApp, settings: Settings, close: Callable[[], None]
) -> None:
    """Serve until a signal; then finish requests under way, call `close`, and exit with 0."""
    files = allow_many_connections()
    # The bound counts what one turn of the event loop has accepted only afterwards: a whole backlog.
    backlog = min(2_048, files // 4)
    most = min(MOST_SOCKETS, files // 2)
    # every socket is the proxy's own
    network = (lambda _: None) if settings.trusted_hops else public_network
    start_logging(known_secrets())
    # uvicorn raises the signal again when it has shut down
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: leave(close))
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="error",  # a warning is a request that anybody can send
        http=partial(Connection, Connections(most, network=network)),  # pyright: ignore[reportArgumentType]
        ws="none",
        backlog=backlog,
        proxy_headers=False,  # our middleware reads them itself, as TRUSTED_HOPS allows
        server_header=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listener])
    if not server.started:
        sys.exit(1)


def allow_many_connections() -> int:
    """Raise the limit on open files to its maximum, and return it: the default is often 1,024."""
    if resource is None:
        return 8_192  # the C runtime's own limit
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def leave(close: Callable[[], None]) -> NoReturn:
    """Exit this process with 0 at once: threads whose work nobody waits for must not delay it."""
    close()
    logging.shutdown()
    os._exit(0)
