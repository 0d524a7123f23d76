"""Open sockets: bounded per network and overall, and none waits for ever for a request's head."""

import asyncio
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest
import uvicorn

from arena.server.connections import Connection, Connections

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
FOR_EVER = 3600.0


LONG = b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n"
PIECES = 200


async def app(scope, receive, send) -> None:
    """Answer in two bytes, or in many pieces; `/read`: after the whole body."""
    while scope["path"] == "/read" and (await receive()).get("more_body"):
        pass
    if scope["path"] == "/long":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(PIECES):
            await send(
                {
                    "type": "http.response.body",
                    "body": b"x" * 64_000,
                    "more_body": number < PIECES - 1,
                }
            )
        return
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


class Noted(Connections):
    """Connections that tell when one was left."""

    def __init__(self, **bounds) -> None:
        super().__init__(**bounds)
        self.left = threading.Event()

    def leave(self, network: str | None) -> None:
        super().leave(network)
        self.left.set()


class Sockets:
    """Sockets to a server, each from an address of its own choice."""

    def __init__(self, port: int, left: threading.Event, lent: ExitStack) -> None:
        self._port = port
        self._lent = lent
        self.left = left

    def open(self, address: str = "127.0.0.1", sent: bytes = b"") -> socket.socket:
        line = socket.create_connection(
            ("127.0.0.1", self._port), timeout=20, source_address=(address, 0)
        )
        self._lent.enter_context(line)
        line.sendall(sent)
        return line


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop on which all servers run: none is waited for, but all at the end of the file."""
    running = asyncio.new_event_loop()
    thread = threading.Thread(target=running.run_forever)
    thread.start()
    yield running
    asyncio.run_coroutine_threadsafe(ended(), running).result(20)
    running.call_soon_threadsafe(running.stop)
    thread.join()
    running.close()


async def ended() -> None:
    """Wait for the servers."""
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


@pytest.fixture
def served(loop) -> Iterator[Callable[..., Sockets]]:
    """A function that starts a server with the given bounds; kept-alive sockets of it may be idle for a minute."""
    with ExitStack() as lent:

        def serve(keep_alive: int = 60, **bounds) -> Sockets:
            bounds = {"head_seconds": FOR_EVER, "network": lambda address: address, **bounds}
            connections = Noted(**bounds)
            config = uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                log_level="error",
                http=partial(Connection, connections),
                timeout_keep_alive=keep_alive,
                timeout_graceful_shutdown=1,
            )
            server = uvicorn.Server(config)
            listening = socket.create_server(("127.0.0.1", 0))
            asyncio.run_coroutine_threadsafe(server.serve([listening]), loop)
            lent.callback(setattr, server, "should_exit", True)
            return Sockets(listening.getsockname()[1], connections.left, lent)

        yield serve


def is_answered(line: socket.socket) -> bool:
    """Whether the server answers a request on this socket; else it has closed it."""
    answer = b""
    try:
        line.sendall(REQUEST)
        while not answer.endswith(b"ok") and (more := line.recv(1000)):
            answer += more
    except ConnectionError:
        return False
    return b"200 OK" in answer


def answered(sockets: Sockets) -> socket.socket:
    """Return a socket whose first request was answered: a machine that stands still lets the time of a head pass."""
    return next(line for line in (sockets.open() for _ in range(100)) if is_answered(line))


def is_closed(line: socket.socket) -> bool:
    """Wait until the server has closed a socket; False after twenty seconds."""
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize(
    "begun", [b"", b"G", REQUEST[:-2], REQUEST[:-4] + b"\r\nX: " + b"x" * 5_000]
)
def test_a_head_that_does_not_come_ends_its_socket_without_a_word(served, caplog, begun):
    assert is_closed(served(head_seconds=0.2).open(sent=begun))
    assert caplog.records == []


def test_a_head_that_trickles_in_is_not_waited_for_any_longer(served):
    line = served(head_seconds=0.3).open()
    with pytest.raises(ConnectionError):
        for _ in range(200):
            line.sendall(b"G")
            time.sleep(0.1)


def test_the_head_of_a_later_request_is_not_waited_for_any_longer_either(served):
    line = answered(served(head_seconds=0.4))
    line.sendall(b"GET")
    assert is_closed(line)


def test_who_asks_again_may_pause_for_longer_than_a_head_takes(served):
    line = answered(served(head_seconds=0.4))
    time.sleep(0.6)
    assert is_answered(line)


def test_a_socket_kept_alive_is_closed_as_uvicorn_does(served):
    line = served(keep_alive=1).open()
    assert is_answered(line)
    assert is_closed(line)


def test_a_network_has_so_many_sockets_and_others_have_theirs(served):
    sockets = served(network_most=3)
    held = [sockets.open("127.0.0.2") for _ in range(3)]
    assert is_closed(sockets.open("127.0.0.2")), "refused at once, without a timer"
    assert is_answered(sockets.open("127.0.0.3"))
    held[0].close()
    for _ in range(100):  # the server may not yet have seen that one was closed
        if is_answered(freed := sockets.open("127.0.0.2")):
            break
        time.sleep(0.05)
    assert is_answered(freed)
    assert is_answered(held[1])


def test_a_private_address_may_be_a_proxy_and_has_no_bound_of_its_own(served):
    sockets = served(network_most=1, network=Connections().network)
    assert all(is_answered(sockets.open("127.0.0.2")) for _ in range(3))


def test_when_too_many_wait_the_oldest_makes_room(served):
    sockets = served(most=3)
    waiting = [sockets.open(f"127.0.0.{number}") for number in range(2, 5)]
    assert is_answered(sockets.open("127.0.0.9"))
    assert is_closed(waiting[0])
    assert is_answered(waiting[1]) and is_answered(waiting[2])


def test_when_all_are_asking_there_is_no_room(served):
    sockets = served(most=2)
    held = [sockets.open() for _ in range(2)]
    assert all(map(is_answered, held))
    assert is_closed(sockets.open())
    assert all(map(is_answered, held))


def read(line: socket.socket, bytes_a_second: float) -> int:
    """Read all of an answer at this pace; return how much came before the server closed the socket or was done."""
    begun, seen = time.monotonic(), 0
    with suppress(ConnectionError):
        while more := line.recv(16_000):
            seen += len(more)
            if more.endswith(b"0\r\n\r\n"):
                break
            time.sleep(max(0.0, begun + seen / bytes_a_second - time.monotonic()))
    return seen


def test_an_answer_that_nobody_reads_ends_its_socket_without_a_word(served, caplog):
    sockets = served(read_seconds=0.2)
    line = sockets.open(sent=LONG)
    assert sockets.left.wait(20)
    assert 0 < read(line, float("inf")) < PIECES * 64_000
    assert caplog.records == []


def test_who_reads_slowly_but_steadily_gets_the_whole_answer(served):
    line = served(read_seconds=2.0).open(sent=LONG)
    assert read(line, 4_000_000) > PIECES * 64_000, "in 3.2 seconds"


CHUNKED = b"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_body_in_tiny_chunks_is_read_no_further(served):
    line, answer = served().open(sent=CHUNKED), b""
    with suppress(ConnectionError):
        line.sendall(b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n")
        answer = line.recv(65536)
    assert answer == b""


@pytest.mark.parametrize("size", [200, 60_000])
def test_a_body_in_ordinary_chunks_is_read(served, size):
    body = b"".join(b"%x\r\n%s\r\n" % (size, b"x" * size) for _ in range(20))
    line = served().open(sent=CHUNKED + body + b"0\r\n\r\n")
    assert b"200 OK" in line.recv(65536)


def test_a_body_of_short_lines_in_ordinary_chunks_is_read(served):
    chunk = b"1,2\n" * 1000
    body = b"%x\r\n%s\r\n" % (len(chunk), chunk) * 5
    line = served().open(sent=CHUNKED + body + b"0\r\n\r\n")
    assert b"200 OK" in line.recv(65536)


AT_ONCE = b"POST / HTTP/1.1\r\nHost: x\r\n"
"""The head of a request that is answered before its body."""
IN_CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"
BROKEN: dict[str, tuple[int, list[bytes]]] = {
    "no request": (1, [b"\0\r\n\r\n"]),
    "no host": (1, [b"GET / HTTP/1.1\r\n\r\n"]),
    "two lengths": (1, [AT_ONCE + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"]),
    "a length below zero": (1, [AT_ONCE + b"Content-Length: -3\r\n\r\nabcd"]),
    "no chunk, while it is waited for": (1, [CHUNKED, b"zz\r\n"]),
    "no chunk, in one packet": (1, [CHUNKED + b"zz\r\n"]),
    "a chunk and none": (1, [CHUNKED + b"1\r\na\r\n", b"zz\r\n"]),
    "a chunk longer than it says": (1, [CHUNKED, b"1\r\nabcdef\r\n"]),
    "no chunk after the answer": (1, [AT_ONCE + IN_CHUNKS, b"zz\r\n"]),
    "no chunk with the answer": (1, [AT_ONCE + IN_CHUNKS + b"zz\r\n"]),
    "no chunk after HEAD": (1, [b"HEAD /read HTTP/1.1\r\nHost: x\r\n" + IN_CHUNKS, b"zz\r\n"]),
    "a body that is too long": (2, [AT_ONCE + b"Content-Length: 3\r\n\r\nabc", b"\0\0\r\n\r\n"]),
    "no request after a request": (2, [REQUEST + b"\0\r\n\r\n"]),
    "no request after an answer": (2, [REQUEST, b"\0\r\n\r\n"]),
    "no request during a long answer": (2, [LONG + b"\0\r\n\r\n"]),
}
"""How many answers come, and the packets that are sent."""


def rest(line: socket.socket) -> bytes:
    """Read until the server has closed a socket."""
    seen = b""
    with suppress(ConnectionError):
        while more := line.recv(1_000_000):
            seen += more
    return seen


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_the_protocol_ends_its_socket_and_is_one_line_of_the_log(served, caplog, name):
    answers, sent = BROKEN[name]
    sockets = served()
    for _ in range(3):
        line = sockets.open()
        for number, packet in enumerate(sent):
            time.sleep(0.03 if number else 0)
            line.sendall(packet)
        assert len(re.findall(b"HTTP/1.1 [24]00", rest(line))) == answers
    assert [record.getMessage() for record in caplog.records] == [
        "requests that broke the protocol, now closed: 1"
    ]


def test_who_leaves_in_the_middle_is_no_line_of_the_log(served, caplog):
    at_once = struct.pack("ii", 1, 0)
    sockets = served()
    for sent in (
        CHUNKED + b"5\r\nab",
        AT_ONCE + b"Content-Length: 9\r\n\r\nab",
        LONG,
        REQUEST * 20,
    ):
        for is_abrupt in (True, False):
            line = sockets.open(sent=sent)
            if is_abrupt:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            sockets.left.clear()
            line.close()
            assert sockets.left.wait(20)
    assert [record for record in caplog.records if record.name != "asyncio"] == []


@pytest.mark.parametrize("more", [b"", b"1\r\na\r\n"])
def test_the_rest_of_a_body_that_was_answered_is_not_waited_for_any_longer(served, more):
    line = served(rest_seconds=0.5).open(sent=AT_ONCE + IN_CHUNKS)
    assert b"200 OK" in line.recv(1000)
    with pytest.raises(ConnectionError):
        for _ in range(200):
            line.sendall(more or b"1")
            time.sleep(0.05)


def test_a_body_may_end_after_its_answer(served):
    line = served(rest_seconds=FOR_EVER, head_seconds=0.5).open(sent=AT_ONCE + IN_CHUNKS)
    while not line.recv(1000).endswith(b"ok"):
        pass
    time.sleep(0.7)
    line.sendall(b"1\r\na\r\n0\r\n\r\n")
    assert is_answered(line)
    line.sendall(b"GET")
    assert is_closed(line), "and the head of the next request has its own time"
