"""A visitor of live battles over HTTP, who keeps every byte; and the catalogues that such tests answer with."""

import io
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from tests.support.openai_server import Body, OpenAIServer


def picture(colour: str = "red", size: int = 40, kind: str = "PNG") -> bytes:
    """Return the file of a small picture."""
    stream = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(stream, kind)
    return stream.getvalue()


def card(name: str, model: str, server: OpenAIServer, **more: object) -> str:
    """Return a catalogue's table of an endpoint's model, enabled for live battles."""
    values = {
        "name": name,
        "kind": "api",
        "model": model,
        "address": server.address,
        "images": 10,
        "live": True,
    }
    return table({**values, **more})


def table(values: Mapping[str, object]) -> str:
    """Return a catalogue's table."""
    return "[[models]]\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in values.items()
    )


def catalogue(folder: Path, *tables: str) -> str:
    """Write a catalogue and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.toml").write_text("\n".join(tables), "utf-8")
    return str(folder / "models.toml")


def says(texts: Mapping[str, str]):
    """Return what a server says, by the model that is asked."""

    def said(body: Body, _: int) -> str:
        return texts[body["model"]]

    return said


class Visitor:
    """One visitor with a cookie of its own."""

    def __init__(self, address: str) -> None:
        self.client = httpx.AsyncClient(base_url=address, timeout=60)
        self.bytes = b""
        self.client.event_hooks["response"] = [self._keep]

    async def _keep(self, answer: httpx.Response) -> None:
        stream = "event-stream" in answer.headers.get("content-type", "")
        content = b"" if stream else await answer.aread()
        self.bytes += f"\n{answer.url}\n{answer.headers}\n".encode() + content

    async def __aenter__(self) -> "Visitor":
        (await self.client.get("/")).raise_for_status()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def post(self, path: str, body: Any = None) -> dict[str, Any]:
        """Post JSON and return the answer's; raises httpx.HTTPStatusError where it is refused."""
        answer = await self.client.post(path, json={} if body is None else body)
        answer.raise_for_status()
        return answer.json()

    async def refused(self, path: str, body: Any = None) -> str:
        """Post JSON that must be refused in an orderly way, and return what was said."""
        answer = await self.client.post(path, json={} if body is None else body)
        assert answer.status_code in (400, 403, 404), (answer.status_code, answer.text)
        return answer.text

    async def upload(self, data: bytes) -> str:
        answer = await self.client.post("/live/images", content=data)
        answer.raise_for_status()
        return answer.json()["image"]

    async def begin(
        self, instruction: str = "What is this?", images: int = 1, **more: object
    ) -> str:
        """Begin a battle about fresh images and return its token."""
        tokens = [await self.upload(picture()) for _ in range(images)]
        begun = await self.post(
            "/live/battles", {"instruction": instruction, "images": tokens, **more}
        )
        return begun["battle"]

    @asynccontextmanager
    async def watching(self, path: str) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Open a stream of events; messages get the time when they came."""
        async with self.client.stream("GET", path) as answer:
            answer.raise_for_status()

            async def messages() -> AsyncIterator[dict[str, Any]]:
                async for line in answer.aiter_lines():
                    self.bytes += line.encode() + b"\n"
                    if line.startswith("data: "):
                        yield {**json.loads(line[6:]), "at": time.monotonic()}

            yield messages()

    async def watch(self, path: str) -> list[dict[str, Any]]:
        """Watch to the end and return all messages."""
        async with self.watching(path) as messages:
            return [message async for message in messages]
