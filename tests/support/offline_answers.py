"""A server that answers benchmarks' questions, and the catalogue that names it."""

import json
from pathlib import Path

from tests.support.openai_server import Body, OpenAIServer


def asked(body: Body) -> str:
    """Return the text of the last message."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def images(body: Body) -> int:
    content = body["messages"][-1]["content"]
    return sum(part["type"] == "image_url" for part in content)


def serve(answer=lambda body, sample: f"On: {asked(body)}", **fields) -> OpenAIServer:
    return OpenAIServer(answer, models=("test-vlm",), **fields)


def catalogue(place: Path, server: OpenAIServer, **more: object) -> None:
    keys = {
        "name": "Model X",
        "kind": "api",
        "model": "test-vlm",
        "address": server.address,
        "images": 10,
        **more,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in keys.items()]
    (place / "models.toml").write_text("\n".join(["[[models]]", *lines]), "utf-8")
