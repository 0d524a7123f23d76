"""The inbox: uploaded files wait here, one a person and not for long, until they are checked."""

import secrets
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from arena.rows import PAGE, SUFFIXES

PAGE_BYTES = PAGE.bytes or 0


class InboxError(ValueError):
    """Say why a file is not taken, or no longer here."""


@dataclass(frozen=True)
class Arrived:
    """An uploaded file: where it lies and what its owner calls it."""

    token: str
    owner: str
    path: Path
    name: str
    since: float


class Inbox:
    """Keep uploaded files in a folder that is emptied at start; an owner is the hash of a voter cookie.

    A file may have `most` bytes, all together `most_together`, and none is kept longer than `seconds`.
    """

    def __init__(
        self, folder: Path, most: int = PAGE_BYTES, most_together: int = 2_000_000_000, seconds: float = 3600
    ) -> None:
        self._folder = folder
        self._most = most
        self._most_together = most_together
        self._seconds = seconds
        self._arrived: dict[str, Arrived] = {}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    async def receive(self, owner: str, name: str, chunks: AsyncIterator[bytes]) -> Arrived:
        """Write a file as it comes and return it; an earlier one of its owner goes. Raises InboxError."""
        suffix = Path(name).suffix.lower()
        if suffix not in SUFFIXES:
            raise InboxError(
                f"{name[:80]!r}: expected a file that ends in {', '.join(SUFFIXES)}; save it as one of these"
            )
        self._clear(owner)
        token = secrets.token_urlsafe(16)
        arrived = Arrived(token, owner, self._folder / f"{token}{suffix}", name[:200], time.monotonic())
        try:
            size = 0
            with arrived.path.open("wb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    self._check_room(size, arrived.path)
                    file.write(chunk)
        except BaseException:
            arrived.path.unlink(missing_ok=True)
            raise
        self._arrived[token] = arrived
        return arrived

    def find(self, owner: str, token: str) -> Arrived:
        """Return a file of its owner. Raises InboxError when there is none, or no longer."""
        arrived = self._arrived.get(token)
        if arrived is None or arrived.owner != owner:
            raise InboxError("The uploaded file is no longer here; choose it again")
        return arrived

    def discard(self, arrived: Arrived) -> None:
        """Delete a file."""
        self._arrived.pop(arrived.token, None)
        arrived.path.unlink(missing_ok=True)

    def _clear(self, owner: str) -> None:
        oldest = time.monotonic() - self._seconds
        for arrived in list(self._arrived.values()):
            if arrived.owner == owner or arrived.since < oldest:
                self.discard(arrived)

    def _check_room(self, size: int, mine: Path) -> None:
        if size > self._most:
            raise InboxError(f"expected at most {self._most:,} bytes; score it on the command line: python -m scoring")
        others = sum(path.stat().st_size for path in self._folder.iterdir() if path != mine)
        if others + size > self._most_together:
            raise InboxError("Too many files are waiting to be checked; try again in a few minutes")
