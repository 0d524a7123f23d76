"""Uvicorn server: serves the app until SIGTERM or Ctrl-C, then shuts down in order."""

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
"""The longest delay of a shutdown by open pages: each may hold a stream of events."""
_FILES_OF_MACOS = 10_240
"""The most open files of a process on macOS, whose maximum is given as unlimited but can't be set."""


def bind(settings: Settings) -> partial[None]:
    """Takes the settings' port, and returns `serve` for it. Raises SettingError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        where = f"HOST {settings.host}, PORT {settings.port}"
        raise SettingError(
            f"{where} can't be used ({error.strerror}). Set another host or port."
        ) from error
    # asyncio sets this only on sockets that it binds itself. Without it, a body waits 40 ms for the ACK of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return partial(serve, listener)


def serve(
    listener: socket.socket, app: ASGIApp, settings: Settings, close: Callable[[], None]
) -> None:
    """Serves until a signal. Then finishes open requests, calls `close`, and exits with 0."""
    files = allow_many_connections()
    # One turn of the event loop may accept a whole backlog before the bound on sockets counts it.
    backlog = min(2_048, files // 4)
    most_sockets = min(MOST_SOCKETS, files // 2)
    # Behind a proxy, every socket is the proxy's own.
    network = (lambda _: None) if settings.trusted_hops else public_network
    start_logging(known_secrets())
    # While it runs, Uvicorn has handlers of its own. After its shutdown it raises the signal again, for these.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: exit_at_once(close))
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="error",  # Warnings are about requests, which anybody can send.
        http=partial(Connection, Connections(most_sockets, network=network)),  # pyright: ignore[reportArgumentType]
        ws="none",
        backlog=backlog,
        proxy_headers=False,  # Our middleware reads them itself, as TRUSTED_HOPS allows.
        server_header=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listener])
    if not server.started:  # Uvicorn has logged why.
        sys.exit(1)


def allow_many_connections() -> int:
    """Raises the limit on open files to its maximum, and returns it. The default is often 1,024."""
    if resource is None:
        return 8_192  # The limit of the C runtime.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _FILES_OF_MACOS if hard_limit == resource.RLIM_INFINITY else hard_limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard_limit))
    return files


def exit_at_once(close: Callable[[], None]) -> NoReturn:
    """Calls `close`, and exits this process with 0 without waiting for threads."""
    close()
    logging.shutdown()
    os._exit(0)
