"""OpenAI's files and batches as far as a judge needs them, as well or as badly as they are told; no network here."""

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qs


class Said(NamedTuple):
    """A status and a body."""

    status: int
    content: Mapping[str, Any] | bytes


@dataclass
class Batch:
    """One batch, as the server keeps it."""

    id: str
    file: str
    metadata: Mapping[str, str]
    looks: int = 0
    """How often somebody asked how it stands."""
    cancelled: bool = False


@dataclass
class Batches:
    """Files and batches; each is done when it was looked at `looks` times."""

    looks: int = 2
    lost: float = 0.0
    """Share of the lines that come back as expired, with a batch that ends as expired."""
    failing: float = 0.0
    """Share of the lines that come back in the file of errors, with status 500."""
    always: bool = False
    """Whether each batch has faults, not the first one only."""
    refused: str = ""
    """Why every batch fails at once; empty where none does."""
    deaf_after_create: int = 0
    """So many batches are begun without an answer: the connection breaks off."""
    odd: tuple[bytes, ...] = ()
    """Lines that stand above the others in every file of output."""
    files: dict[str, bytes] = field(default_factory=dict)
    begun: dict[str, Batch] = field(default_factory=dict)
    seed: int = 0

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every line that was put into a batch, of all batches."""
        return [
            json.loads(line)
            for batch in self.begun.values()
            for line in self.files[batch.file].splitlines()
        ]

    def answer(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        content: bytes,
        complete: Callable[[Any, None], Mapping[str, Any]],
    ) -> Said | None:
        """Answer a request; None where the connection breaks off."""
        path, _, query = path.removeprefix("/v1").partition("?")
        if (method, path) == ("POST", "/files"):
            boundary = re.search(r"boundary=(\S+)", headers["content-type"])[1].encode()
            name = f"file-{len(self.files)}"
            parts = [part for part in content.split(b"--" + boundary) if b'name="file"' in part]
            self.files[name] = parts[0].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
            return Said(
                200,
                {
                    "id": name,
                    "object": "file",
                    "bytes": len(content),
                    "created_at": 0,
                    "purpose": "batch",
                },
            )
        if (method, path) == ("POST", "/batches"):
            return self._begin(json.loads(content))
        if path == "/batches":
            return self._listed(parse_qs(query))
        if match := re.fullmatch(r"/batches/([\w-]+)", path):
            batch = self.begun[match[1]]
            batch.looks += 1
            return Said(200, self._shown(batch))
        if match := re.fullmatch(r"/files/([\w-]+)/content", path):
            return Said(200, self._made(match[1], complete))
        return Said(404, {"error": {"message": "no such path"}})

    def _begin(self, asked: Mapping[str, Any]) -> Said | None:
        assert asked["endpoint"] == "/v1/chat/completions" and asked["completion_window"] == "24h"
        batch = Batch(f"batch-{len(self.begun)}", asked["input_file_id"], asked["metadata"])
        self.begun[batch.id] = batch
        if self.deaf_after_create:
            self.deaf_after_create -= 1
            return None
        return Said(200, self._shown(batch))

    def _listed(self, query: Mapping[str, list[str]]) -> Said:
        """A page of the batches, the latest first."""
        names = [*reversed(self.begun)]
        start = names.index(query["after"][0]) + 1 if "after" in query else 0
        end = start + int(query["limit"][0])
        page = [self._shown(self.begun[name]) for name in names[start:end]]
        return Said(200, {"object": "list", "data": page, "has_more": end < len(names)})

    def _shown(self, batch: Batch) -> dict[str, Any]:
        status = "completed" if batch.looks >= self.looks else "in_progress"
        if status == "completed" and self._faulty(batch) and self.lost:
            status = "expired"
        if self.refused:
            status = "failed"
        whole = status in ("completed", "expired")
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": batch.file,
            "completion_window": "24h",
            "created_at": 0,
            "status": status,
            "metadata": batch.metadata,
            "output_file_id": f"out-{batch.id}" if whole else None,
            "error_file_id": f"err-{batch.id}"
            if whole and self._faulty(batch) and (self.lost or self.failing)
            else None,
            "errors": {
                "object": "list",
                "data": [{"code": self.refused, "message": "Too much is enqueued"}],
            }
            if self.refused
            else None,
        }

    def _faulty(self, batch: Batch) -> bool:
        """Tell whether a batch has faults; what failed in the first goes well in the next."""
        return self.always or next(iter(self.begun)) == batch.id

    def _made(self, name: str, complete: Callable[[Any, None], Mapping[str, Any]]) -> bytes:
        """Return the file of output or of errors, its lines in no order."""
        kind, _, batch_id = name.partition("-")
        batch, luck = self.begun[batch_id], random.Random(f"{self.seed}-{batch_id}")
        out, errors = [], []
        for line in map(json.loads, self.files[batch.file].splitlines()):
            share = luck.random() if self._faulty(batch) else 1.0
            said: dict[str, Any] = {
                "id": f"r-{line['custom_id']}",
                "custom_id": line["custom_id"],
                "error": None,
            }
            if share < self.lost:
                error = {
                    "code": "batch_expired",
                    "message": "This request could not be executed before the end.",
                }
                errors.append(said | {"response": None, "error": error})
            elif share < self.lost + self.failing:
                errors.append(
                    said
                    | {"response": {"status_code": 500, "body": {"error": {"message": "again"}}}}
                )
            else:
                out.append(
                    said | {"response": {"status_code": 200, "body": complete(line["body"], None)}}
                )
        chosen = out if kind == "out" else errors
        luck.shuffle(chosen)
        return b"\n".join(
            [*self.odd * (kind == "out"), *(json.dumps(line).encode() for line in chosen)]
        )
