"""A voter's connection to the server: HTTP/1.1 on one socket, by hand.

A full HTTP client would use as much CPU time for a vote as the server, which runs on the same cores.
"""

import asyncio
import json
import time
from collections.abc import Mapping

ANSWER_SECONDS = 60.0
IDLE_SECONDS = 2.0
"""After this long without a call the socket is opened anew, before the server closes it."""


class Line:
    """One voter's connection. Calls raise OSError or EOFError if the server does not answer."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._port = port
        all_headers = {
            "host": f"127.0.0.1:{port}",
            "content-type": "application/json",
            **headers,
        }
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._last_use = 0.0
        """By the monotonic clock."""

    async def act(self, name: str, **fields: str) -> str:
        """Acts in a battle and returns the text of the answer, whatever its status is."""
        body = json.dumps(fields)
        head = f"POST /battle/{name} HTTP/1.1\r\n{self._headers}content-length: {len(body)}\r\n\r\n"
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await self._open()
            self._streams = None  # not reused unless the whole answer comes
            writer.write(f"{head}{body}".encode())
            answer_head = await reader.readuntil(b"\r\n\r\n")
            length = answer_head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            text = await reader.readexactly(int(length))
        self._streams = reader, writer
        self._last_use = time.monotonic()
        return text.decode()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and time.monotonic() - self._last_use < IDLE_SECONDS:
            return self._streams
        self.close()
        return await asyncio.open_connection("127.0.0.1", self._port)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
