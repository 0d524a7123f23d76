"""A Hub on loopback that serves models from folders, whole or from any byte on, and can stop half-way or be away."""

import hashlib
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import unquote, urlsplit

PIECE = 4096


class Asked(NamedTuple):
    """A request as it came."""

    path: str
    headers: Mapping[str, str]


class ModelHub:
    """Serves `owner/name` at a commit from a folder: its list of files, and the files."""

    def __init__(self, models: Mapping[tuple[str, str], Path]) -> None:
        """`models` maps a name and its commit to the folder."""
        self.models = models
        self.asked: list[Asked] = []
        self.sent = 0
        """Bytes of files."""
        self.is_away = False
        """Connections break off without an answer."""
        self.holds_at: int | None = None
        """After so many bytes of files nothing more comes, until this changes."""
        self.cuts_at: int | None = None
        """After so many bytes of files the connection breaks off, once."""
        self.knows_ranges = True
        """Files come from the byte that is asked for, else always whole."""
        self.is_damaged = False
        """Files come with other bytes."""
        self.more_files: tuple[str, ...] = ()
        """Names in every list, of files that are not there."""
        self.other_list = ""
        """What is answered in place of a list, if anything."""
        self.lists_less = 0
        """By so many bytes, files are larger than they are listed."""
        self.wakes = threading.Condition()
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("HubHandler", (Handler,), {"hub": self})
        )
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "ModelHub":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()
        self._server.shutdown()
        self._server.server_close()

    def go_on(self) -> None:
        """Let what is held go on."""
        with self.wakes:
            self.holds_at = None
            self.wakes.notify_all()


class Handler(BaseHTTPRequestHandler):
    """Answers one request of a Hub."""

    hub: ClassVar[ModelHub]

    def do_GET(self) -> None:
        self.hub.asked.append(
            Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
        )
        self.close_connection = True
        if self.hub.is_away:
            return
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        is_list = parts[:2] == ["api", "models"]
        owner, name, _, commit, *path = parts[2:] if is_list else parts
        folder = self.hub.models.get((f"{owner}/{name}", commit))
        if folder is None or not folder.joinpath(*path).exists():
            self._begin(404, 0)
        elif is_list:
            entries = listing(folder, self.hub.more_files)
            for entry in entries:
                entry["size"] = max(0, int(str(entry["size"])) - self.hub.lists_less)
            body = (self.hub.other_list or json.dumps({"siblings": entries})).encode()
            self._begin(200, len(body))
            self.wfile.write(body)
        else:
            with suppress(ConnectionError):
                self._file(folder.joinpath(*path).read_bytes())

    def do_HEAD(self) -> None:
        """Answers huggingface_hub, which asks for a file in this way first, that it isn't there."""
        self.hub.asked.append(
            Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
        )
        self.close_connection = True
        self._begin(404, 0)

    def _begin(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("content-length", str(length))
        self.end_headers()

    def _file(self, content: bytes) -> None:
        hub = self.hub
        first = 0
        if hub.knows_ranges:
            first = int(self.headers.get("range", "bytes=0-")[6:].rstrip("-"))
        self._begin(206 if hub.knows_ranges else 200, len(content) - first)
        for start in range(first, len(content), PIECE):
            piece = content[start : start + PIECE]
            self.wfile.write(bytes(len(piece)) if hub.is_damaged else piece)
            hub.sent += len(piece)
            with hub.wakes:
                hub.wakes.wait_for(lambda: hub.holds_at is None or hub.sent < hub.holds_at)
            if hub.cuts_at is not None and hub.sent >= hub.cuts_at:
                hub.cuts_at = None
                return

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def listing(folder: Path, more: tuple[str, ...] = ()) -> list[dict[str, object]]:
    """Return what the Hub says of a folder's files: large ones by SHA-256, others as git does."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = [_entry(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files]
    return entries + [_entry(name, b"{}") for name in more]


def _entry(name: str, content: bytes) -> dict[str, object]:
    blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
    entry: dict[str, object] = {"rfilename": name, "size": len(content), "blobId": blob}
    if name.endswith(".safetensors"):
        sha256 = hashlib.sha256(content).hexdigest()
        entry |= {"blobId": "0" * 40, "lfs": {"sha256": sha256, "size": len(content)}}
    return entry
