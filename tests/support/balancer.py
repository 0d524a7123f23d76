"""A balancer as small as one can be: each request goes to the next server in turn, past a dead one."""

import http.client
import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length", "server", "date"))


class Balancer:
    """Serve from a thread for the length of a `with` block; `took` counts the answers of each port by path."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.took: dict[int, Counter[str]] = {port: Counter() for port in ports}
        self._turn = itertools.cycle(ports)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Balancer":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next(self) -> int:
        """Return the port whose turn it is."""
        with self._lock:
            return next(self._turn)

    def connect(self) -> http.client.HTTPConnection | None:
        """Call the next server; one that does not take the call is passed over."""
        for _ in self.took:
            connection = http.client.HTTPConnection("127.0.0.1", self.next(), timeout=120)
            with suppress(OSError):
                connection.connect()
                return connection
        return None

    def count(self, port: int, path: str) -> None:
        """Note that a server answered."""
        with self._lock:
            self.took[port][path.partition("?")[0]] += 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        balancer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                """Pass a request on. If a server dies of it there is no answer at all: nobody takes that for one."""
                self.close_connection = True
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                connection = balancer.connect()
                if connection is None:
                    return
                with closing(connection), suppress(OSError, http.client.HTTPException):
                    connection.request(self.command, self.path, body, dict(self.headers.items()))
                    with closing(connection.getresponse()) as answer:
                        balancer.count(connection.port, self.path)
                        self.pass_on(answer)

            def pass_on(self, answer: http.client.HTTPResponse) -> None:
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in HOP:
                        self.send_header(name, value)
                self.send_header("connection", "close")
                self.end_headers()
                while part := answer.read1(65536):
                    self.wfile.write(part)

            do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = do_OPTIONS = answer

            def log_message(self, *_: object) -> None:
                pass

        return Handler
