"""Upload store: files uploaded for scoring, one per owner and for a limited time; any server on the folder finds them.

File names contain codes of the owner and the network, so that limits are checked without opening a file.
"""

import asyncio
import json
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from arena.io.tables import PAGE, SUFFIXES
from arena.storage import VOTES_ROOM, disk_errors, no_room, owner_code, size_text

PAGE_BYTES = PAGE.bytes or 0


_MOST_A_SECOND = 32_000_000
"""Bytes that all uploads together bring in a second: each is read and written by the thread that answers everybody."""


_BURST_SECONDS = 0.25
"""What was not used of the last moments may come at once: small files never wait."""


class UploadStoreError(ValueError):
    """A file is rejected or gone; the message says why."""


@dataclass(frozen=True)
class StoredUpload:
    """Uploaded file: its path, and the name its owner gave it."""

    token: str
    owner: str
    """Code of the owner: nothing on the disk names the cookie."""
    path: Path
    name: str
    since: float
    """Seconds since 1970."""
    network: str | None = None
    """Code of the uploader's network; None: a network of its own."""


_TOKEN = re.compile(r"[\w-]{1,64}", re.ASCII)
_METADATA = ".slip"


@dataclass(frozen=True)
class UploadStore:
    """Uploaded files in a folder, kept for `seconds`; an owner is the hash of a voter cookie.

    Limits: `most` bytes per file, `most_together` bytes and `most_files` for all, and a quarter of both per network.
    When all is full, the network that holds most makes room. `votes_room` bytes of the disk stay free.
    """

    folder: Path
    most: int = PAGE_BYTES
    most_together: int = 2_000_000_000
    most_files: int = 2_000
    seconds: float = 3600
    votes_room: int = VOTES_ROOM
    pace: "_Pace" = field(default_factory=lambda: _Pace(_MOST_A_SECOND))

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sweep()

    async def receive(
        self, owner: str, name: str, chunks: AsyncIterator[bytes], network: str | None = None
    ) -> StoredUpload:
        """Write an upload to disk as it arrives, replacing the owner's earlier file. Raises UploadStoreError."""
        self.check_disk()
        suffix = Path(name).suffix.lower()
        if suffix not in SUFFIXES:
            raise UploadStoreError(
                f"{name[:80]!r}: expected a file that ends in {', '.join(SUFFIXES)}; unpack or save it as one of these"
            )
        await asyncio.to_thread(self.sweep, owner)
        token = secrets.token_urlsafe(16)
        code = owner_code(owner)
        path = self.folder / f"{token}.{code}.{owner_code(network or token)}{suffix}"
        arrived = StoredUpload(token, code, path, name[:200], time.time(), network)
        try:
            size = checked = 0
            with disk_errors(UploadStoreError), path.open("wb") as file:
                await asyncio.to_thread(self._make_room, 0, path)
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.most:
                        raise UploadStoreError(
                            f"expected at most {size_text(self.most)}; score it on the command line: python -m scoring"
                        )
                    if size - checked > self.most // 16:
                        await asyncio.to_thread(self._make_room, size, path)
                        checked = size
                    file.write(chunk)
                    await self.pace.wait(len(chunk))
            with disk_errors(UploadStoreError):
                self._metadata(token).write_text(json.dumps(asdict(arrived), default=str), "utf-8")
        except BaseException:
            self.discard(arrived)
            raise
        return arrived

    def find(self, owner: str, token: str) -> StoredUpload:
        """Return an owner's file. Raises UploadStoreError if there is none (any more)."""
        arrived = self._read(self._metadata(token)) if _TOKEN.fullmatch(token) else None
        if arrived is None or arrived.owner != owner_code(owner):
            raise UploadStoreError("The uploaded file is no longer here; choose it again")
        return arrived

    def discard(self, arrived: "StoredUpload | _HeldFile") -> None:
        self._metadata(arrived.token).unlink(missing_ok=True)
        arrived.path.unlink(missing_ok=True)

    def latest(self, owner: str, name: str) -> StoredUpload | None:
        """Return an owner's file of this name; None if it is not here (any more)."""
        found = map(self._read, self.folder.glob(f"*{_METADATA}"))
        mine = (owner_code(owner), name)
        return next((one for one in found if one and (one.owner, one.name) == mine), None)

    def drop(self, owner: str, name: str) -> None:
        while arrived := self.latest(owner, name):
            self.discard(arrived)

    def check_disk(self) -> None:
        """Raise UploadStoreError if the free disk space is reserved for votes."""
        if full := no_room(self.folder, self.votes_room):
            raise UploadStoreError(full)

    def sweep(self, owner: str | None = None) -> None:
        """Delete all expired files, and the owner's file if an owner is given."""
        oldest = time.time() - self.seconds
        mine = owner_code(owner) if owner is not None else None
        for held in self._held():
            if held.since < oldest or held.owner == mine:
                self.discard(held)
        for metadata_path in self.folder.glob(f"*{_METADATA}"):
            with suppress(FileNotFoundError):
                if metadata_path.stat().st_mtime < oldest:  # its file went while it was written
                    metadata_path.unlink()

    def _metadata(self, token: str) -> Path:
        return self.folder / f"{token}{_METADATA}"

    def _read(self, metadata_path: Path) -> StoredUpload | None:
        """Return the upload that a metadata file describes; None if it is missing or truncated by a crash."""
        try:
            said = json.loads(metadata_path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return StoredUpload(**said | {"path": self.folder / Path(said["path"]).name})

    def _held(self) -> list["_HeldFile"]:
        """Return the files in the folder, the oldest first; another server may delete some meanwhile."""
        held = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                token, owner, network, *_ = (*entry.name.split("."), "", "")
                if not entry.name.endswith(_METADATA):
                    with suppress(FileNotFoundError):
                        state = entry.stat()
                        held.append(
                            _HeldFile(
                                state.st_mtime,
                                Path(entry.path),
                                token,
                                owner,
                                network,
                                state.st_size,
                            )
                        )
        return sorted(held)

    def _make_room(self, size: int, mine: Path) -> None:
        """Delete the oldest files of the network that holds most until `size` bytes of mine fit.

        Raises UploadStoreError if that is the uploader's own network, or if this has its quarter.
        """
        network = mine.name.split(".")[2]
        held = [one for one in self._held() if one.path != mine]
        for weigh, own, most, of_network in (
            (
                lambda one: one.size,
                size,
                self.most_together,
                max(self.most_together // 4, self.most),
            ),
            (lambda one: 1, 1, self.most_files, self.most_files // 4),
        ):
            weights = Counter({network: own})
            for one in held:
                weights[one.network] += weigh(one)
            while max(weights[network] - of_network, weights.total() - most) > 0:
                greatest = max(weights, key=lambda one: (weights[one], one != network))
                if greatest == network or weights[network] > of_network:
                    raise UploadStoreError(
                        "Too many files are waiting to be checked; try again in a few minutes"
                    )
                oldest = next(one for one in held if one.network == greatest)
                held.remove(oldest)
                self.discard(oldest)
                weights[greatest] -= weigh(oldest)


class _Pace:
    """Holds back what brings bytes, so that no more than a number of them come in a second."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free_at = 0.0

    async def wait(self, size: int) -> None:
        now = time.monotonic()
        self._free_at = max(self._free_at, now - _BURST_SECONDS) + size / self._most
        if self._free_at > now:
            await asyncio.sleep(self._free_at - now)


class _HeldFile(NamedTuple):
    """File in the folder, with the codes of its owner and network."""

    since: float
    path: Path
    token: str
    owner: str
    network: str
    size: int
