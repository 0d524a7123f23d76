"""Static files: our styles and scripts, each at an address with its hash, cached for a year."""

import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.datastructures import Headers

from arena.web.cookies import YEAR_SECONDS

_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript"}


@dataclass(frozen=True)
class StaticFile:
    """Several files served as one."""

    name: str
    """Its name in the address; the suffix sets the media type."""
    paths: Sequence[Path]

    @cached_property
    def content(self) -> bytes:
        return "\n".join(path.read_text("utf-8") for path in self.paths).encode()

    @cached_property
    def address(self) -> str:
        digest = hashlib.sha256(self.content).hexdigest()[:16]
        return f"/static-files/{digest}/{self.name}"

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, mtime=0)

    def response(self, request: Request) -> Response:
        headers = {
            "cache-control": f"public, max-age={YEAR_SECONDS}, immutable",
            "vary": "accept-encoding",
            "content-type": f"{_MEDIA_TYPES[Path(self.name).suffix]}; charset=utf-8",
        }
        if not accepts_gzip(request.headers):
            return Response(self.content, headers=headers)
        return Response(self.compressed, headers={**headers, "content-encoding": "gzip"})


def accepts_gzip(headers: Headers) -> bool:
    """Whether a browser that sends these headers takes gzip. A weight of 0 means that it doesn't."""
    for coding in headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = coding.partition(";")
        if name.strip() == "gzip":
            # Of "q=0" and "q=0.000", this leaves "q=".
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False


class Links(NamedTuple):
    """The addresses of a document's style and script."""

    style: str
    script: str


def routes(files: Sequence[StaticFile]) -> APIRouter:
    router = APIRouter()
    by_address = {file.address: file for file in files}

    @router.get("/static-files/{digest}/{name}")
    def static_file(request: Request) -> Response:
        file = by_address.get(request.url.path)
        if file is None:
            return PlainTextResponse("Not here.", status_code=404)
        return file.response(request)

    return router
