"""A proxy that speaks TLS to browsers and plain HTTP to an app, which it tells nothing about that."""

import asyncio
import queue
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path


@contextmanager
def tls_proxy(certificate: Path, port: int) -> Iterator[str]:
    """Run a proxy before an app's port; yield its own address, under another name than the app's."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    listening, ended = queue.Queue[int](), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_app, to_app = await asyncio.open_connection("127.0.0.1", port)
        with closing(to_app), closing(writer):
            await asyncio.gather(pass_on(reader, to_app), pass_on(from_app, writer))

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls) as server:
            listening.put(server.sockets[0].getsockname()[1])
            await ended.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    yield f"https://localhost:{listening.get(timeout=20)}"
    loops[0].call_soon_threadsafe(ended.set)
    thread.join()
