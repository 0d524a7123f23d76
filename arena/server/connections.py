"""Connections: bounds on the number of open sockets, overall and per network, and on the time that a client takes to
send a request's head and to read the answer.

Uvicorn's `limit_concurrency` would answer everybody with 503 while one network holds idle sockets. Here the network's
own further sockets are closed, and the oldest socket that waits for a head makes room. Closed sockets aren't logged,
and broken requests get one line a minute, so that a flood doesn't fill the disk.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

from arena.network import public_network

HEAD_SECONDS = 10.0
"""Time from a socket's opening, or from the first byte of a later request, to the whole head."""
REST_SECONDS = 60.0
"""Time for the rest of a body after its answer: many clients read an answer only after they have sent all."""
READ_SECONDS = 20.0
"""The most seconds that a socket's answers may wait for their reader, in all.

When the reader has caught up, the time that the slowest reader needs for `HIGH_WATER_LIMIT` bytes is given back, up
to this sum.
"""
LEAST_READING_RATE = 8_000
"""Bytes a second of the slowest reader. A poor mobile connection is faster."""
PORTION = 4_096
"""Bytes of a head, or of a body in chunks, that are read in one step."""
MOST_LINES = 128
"""Most ends of lines (CR LF) in a portion of a body in chunks.

Chunks of a few bytes cost a hundred times what they send.
"""
NETWORK_SOCKETS = 500
"""Most open sockets of a network. A browser opens six, and many people may share an address."""
MOST_SOCKETS = 8_000
"""Most open sockets overall; each takes about 20 kB."""
LINE_SECONDS = 60.0
"""Time between two log lines about broken requests."""

log = logging.getLogger(__name__)


class Connections:
    """The open sockets of a server. `network` returns an address's network, None for addresses without a bound."""

    def __init__(
        self,
        most: int = MOST_SOCKETS,
        network_most: int = NETWORK_SOCKETS,
        head_seconds: float = HEAD_SECONDS,
        read_seconds: float = READ_SECONDS,
        rest_seconds: float = REST_SECONDS,
        network: Callable[[str], str | None] = public_network,
    ) -> None:
        self.head_seconds = head_seconds
        self.read_seconds = read_seconds
        self.rest_seconds = rest_seconds
        self.network = network
        self._most = most
        self._network_most = network_most
        self._open = 0
        self._by_network: Counter[str] = Counter()
        self._broken = 0
        self._next_line_at = 0.0
        self.waiting: dict[Connection, asyncio.TimerHandle] = {}
        """Sockets without a whole request head, or with an answer before the end of the body, and their timers.

        The oldest comes first.
        """

    def enter(self, network: str | None) -> bool:
        """Counts a socket, a refused one too, until `leave`; returns whether there is room.

        The oldest waiting socket may be closed for it.
        """
        self._open += 1
        if network is not None:
            self._by_network[network] += 1
            if self._by_network[network] > self._network_most:
                return False
        if self._open > self._most:
            oldest = next(iter(self.waiting), None)
            if oldest is None:
                return False
            oldest.drop()
        return True

    def leave(self, network: str | None) -> None:
        """Counts a socket no longer."""
        self._open -= 1
        if network is not None:
            self._by_network[network] -= 1
            if not self._by_network[network]:
                del self._by_network[network]

    def count_broken(self) -> None:
        """Counts a request that broke the protocol, and logs the count at most once a minute."""
        self._broken += 1
        if time.monotonic() >= self._next_line_at:
            log.warning("requests that broke the protocol, now closed: %d", self._broken)
            self._broken = 0
            self._next_line_at = time.monotonic() + LINE_SECONDS


class Connection(H11Protocol):
    """Uvicorn's protocol of a socket, within the bounds."""

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._connections = connections
        self._reading_seconds = connections.read_seconds
        """The remaining seconds that this socket's answers may wait for their reader."""
        self._reading_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._network = self._connections.network(self.client[0]) if self.client else None
        if self._connections.enter(self._network):
            self._wait(self._connections.head_seconds)
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        was_answered = self._is_answered_early()
        while data and not self.transport.is_closing():
            # A body of known length costs one event; a head, or a body in chunks, one for each of its lines.
            is_cheap = self.conn.their_state is h11.SEND_BODY and not self._is_chunked()
            size = len(data) if is_cheap else PORTION
            part = data[:size]
            data = data[size:]
            # LF alone ends no line of the protocol here: it is content, as in a table of short lines.
            if self._is_chunked() and part.count(b"\r\n") > MOST_LINES:
                self.drop()
                return
            super().data_received(part)
        if was_answered != self._is_answered_early():
            # Another wait may begin. `_wait` leaves a running timer alone, so the old one must go first.
            self._stop_waiting()
        self._start_or_stop_waiting()

    def send_400_response(self, msg: str) -> None:
        """Answers a request that broke the protocol, unless an answer has begun, and closes the socket.

        Uvicorn raises an error if an answer has begun, or for the body of an answer to HEAD.
        """
        self._connections.count_broken()
        if self.cycle is not None:
            # For the app the client is gone, so that it sends no other answer.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        with suppress(h11.LocalProtocolError):
            super().send_400_response(msg)
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_answered_early():  # else Uvicorn's keep-alive timer waits for the next request
            self._start_or_stop_waiting()

    def _is_answered_early(self) -> bool:
        """Whether an answer is complete before its request's body."""
        return self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE

    def _is_chunked(self) -> bool:
        """Whether a body in chunks is arriving."""
        if self.conn.their_state is not h11.SEND_BODY:
            return False
        return any(name == b"transfer-encoding" for name, _ in self.headers)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading_timer = self.loop.call_later(self._reading_seconds, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading_timer is not None:
            left = self._reading_timer.when() - self.loop.time()
            self._reading_seconds = min(
                left + HIGH_WATER_LIMIT / LEAST_READING_RATE, self._connections.read_seconds
            )
        self._stop_reading_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()
        self._stop_reading_timer()
        self._connections.leave(self._network)

    def drop(self) -> None:
        """Closes the socket at once."""
        self._stop_waiting()
        self._stop_reading_timer()
        self.transport.abort()

    def _start_or_stop_waiting(self) -> None:
        """Starts a timer if the socket waits for a head, or for the rest of an answered body; stops it otherwise."""
        if self._is_answered_early():
            self._wait(self._connections.rest_seconds)
        elif self.conn.their_state is h11.IDLE:
            self._wait(self._connections.head_seconds)
        else:
            self._stop_waiting()

    def _wait(self, seconds: float) -> None:
        """Closes the socket after these seconds, unless it waits already or `_stop_waiting` is called before."""
        if self not in self._connections.waiting:
            self._connections.waiting[self] = self.loop.call_later(seconds, self.drop)

    def _stop_waiting(self) -> None:
        timer = self._connections.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _stop_reading_timer(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None
