"""Upload store: files uploaded for scoring, kept for a limited time; every server with this folder finds them.

An owner has one upload: a file of answers, maybe with questions and a spec beside it. They are kept and deleted
together. File names contain codes of the owner and the network, so that limits are checked without opening a file.
"""

import asyncio
import json
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from arena.io.tables import PAGE, SUFFIXES
from arena.io.zip_files import MOST_MEMBERS, ZIP, ZipFileError, plain_name, zip_files
from arena.storage import VOTES_ROOM, disk_errors, no_room, owner_code, size_text
from scoring.specs.files import SPEC_ENDINGS

PAGE_BYTES = PAGE.bytes or 0
ACCEPTED_ENDINGS = (*SUFFIXES, *SPEC_ENDINGS, ".txt", ZIP)
"""Endings of accepted files: tables, specs with their prompts, and zips of these."""
_MOST_NAME = 200
_MOST_A_SECOND = 32_000_000
"""Bytes a second of all uploads together: the thread that answers everybody reads and writes each one."""
_BURST_SECONDS = 0.25
"""Time whose unused bytes may come at once, so that small files never wait."""
_GONE = "The uploaded file is no longer here. Choose it again."


class UploadStoreError(ValueError):
    """A file is rejected or gone; the message says why."""


class UploadedFile(NamedTuple):
    """A file on the disk, and the name its owner gave it."""

    path: Path
    name: str


@dataclass(frozen=True)
class StoredUpload:
    """An uploaded file, with the files uploaded beside it."""

    token: str
    owner: str
    """Code of the owner: nothing on the disk names the cookie."""
    files: tuple[UploadedFile, ...]
    """The first file is scored."""
    since: float
    """Seconds since 1970."""
    network: str | None = None
    """Code of the uploader's network; None: a network of its own."""

    @property
    def path(self) -> Path:
        return self.files[0].path

    @property
    def name(self) -> str:
        return self.files[0].name

    @property
    def size(self) -> int:
        """Bytes of all files. Raises FileNotFoundError once one is gone."""
        return sum(file.path.stat().st_size for file in self.files)

    def led_by(self, name: str) -> "StoredUpload":
        """The same upload, in which this file is scored."""
        first = [file for file in self.files if file.name == name]
        others = [file for file in self.files if file.name != name]
        return replace(self, files=(*first, *others))


_TOKEN = re.compile(r"[\w-]{1,64}", re.ASCII)
_METADATA_SUFFIX = ".slip"


@dataclass(frozen=True)
class UploadStore:
    """Uploads in a folder, kept for `seconds`; an owner is the hash of a voter cookie.

    Limits: `most` bytes per upload, `most_together` bytes and `most_files` for all, and a quarter of both per network.
    When all is full, the network that holds most makes room. `votes_room` bytes of the disk stay free.
    """

    folder: Path
    most: int = PAGE_BYTES
    most_together: int = 2_000_000_000
    most_files: int = 2_000
    seconds: float = 3600
    votes_room: int = VOTES_ROOM
    pace: "_Pace" = field(default_factory=lambda: _Pace(_MOST_A_SECOND))
    joining: Lock = field(default_factory=Lock)
    """Held while a file joins an upload: several of an upload may arrive at once."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sweep()

    async def receive(
        self,
        owner: str,
        name: str,
        chunks: AsyncIterator[bytes],
        network: str | None = None,
        beside: str = "",
    ) -> StoredUpload:
        """Writes a file to disk as it arrives, and unpacks a zip.

        The file replaces the owner's earlier upload, or joins the upload of the token `beside`. If it is refused, the
        whole upload is deleted. Raises UploadStoreError.
        """
        self.check_disk()
        if beside:
            upload = await asyncio.to_thread(self.find, owner, beside)
        else:
            await asyncio.to_thread(self.sweep, owner)
            token = secrets.token_urlsafe(16)
            upload = StoredUpload(token, owner_code(owner), (), time.time(), network)
        try:
            file = self._new_file(upload, name)
            with disk_errors(UploadStoreError):
                await self._write(upload, file, chunks)
                return await asyncio.to_thread(self._join, upload, file)
        except BaseException:
            self.discard(upload)
            raise

    def find(self, owner: str, token: str) -> StoredUpload:
        """Returns an owner's upload. Raises UploadStoreError if there is none (any more)."""
        upload = self._read(self._metadata_path(token)) if _TOKEN.fullmatch(token) else None
        if upload is None or upload.owner != owner_code(owner):
            raise UploadStoreError(_GONE)
        return upload

    def discard(self, upload: "StoredUpload | _HeldUpload") -> None:
        """Deletes all files of an upload."""
        for path in self.folder.glob(f"{upload.token}.*"):
            path.unlink(missing_ok=True)

    def latest(self, owner: str, name: str) -> StoredUpload | None:
        """Returns an owner's upload that has a file of this name, led by that file; None if there is none."""
        code = owner_code(owner)
        for metadata_path in self.folder.glob(f"*{_METADATA_SUFFIX}"):
            upload = self._read(metadata_path)
            if upload and upload.owner == code and name in (file.name for file in upload.files):
                return upload.led_by(name)
        return None

    def drop(self, owner: str, name: str, before: float) -> None:
        """Deletes an owner's upload from before a time (in seconds since 1970) if it has a file of this name."""
        upload = self.latest(owner, name)
        if upload and upload.since <= before:
            self.discard(upload)

    def check_disk(self) -> None:
        """Raises UploadStoreError if the free disk space is reserved for votes."""
        if full := no_room(self.folder, self.votes_room):
            raise UploadStoreError(full)

    def sweep(self, owner: str | None = None) -> None:
        """Deletes all expired uploads, and the owner's if an owner is given."""
        expired_before = time.time() - self.seconds
        owners_code = owner_code(owner) if owner is not None else None
        for upload in self._held_uploads():
            if upload.since < expired_before or upload.owner == owners_code:
                self.discard(upload)
        for metadata_path in self.folder.glob(f"*{_METADATA_SUFFIX}"):
            with suppress(FileNotFoundError):
                # One is left over if the files of its upload were deleted while it was written.
                if metadata_path.stat().st_mtime < expired_before:
                    metadata_path.unlink()

    def _new_file(self, upload: StoredUpload, name: str) -> UploadedFile:
        """A further file of an upload, which is still to be written. Raises UploadStoreError."""
        plain = plain_name(name)
        ending = Path(plain).suffix
        suffix = ending.lower()
        if suffix not in ACCEPTED_ENDINGS:
            raise UploadStoreError(
                f"We can't read {plain[:80]!r}. Save it as one of {', '.join(ACCEPTED_ENDINGS)}."
            )
        file_name = plain.removesuffix(ending)[: _MOST_NAME - len(ending)] + ending
        _check_place(upload, file_name)
        network = owner_code(upload.network or upload.token)
        part = secrets.token_hex(4)
        path = self.folder / f"{upload.token}.{upload.owner}.{network}.{part}{suffix}"
        return UploadedFile(path, file_name)

    async def _write(
        self, upload: StoredUpload, file: UploadedFile, chunks: AsyncIterator[bytes]
    ) -> None:
        with file.path.open("wb") as opened:
            room = _Room(self, upload, file)
            await asyncio.to_thread(room.make)
            async for chunk in chunks:
                room.add(len(chunk))
                if room.is_used_up:
                    await asyncio.to_thread(room.make, len(chunk))
                opened.write(chunk)
                opened.flush()
                await self.pace.wait(len(chunk))
            await asyncio.to_thread(room.make)

    def _join(self, upload: StoredUpload, file: UploadedFile) -> StoredUpload:
        """Returns the upload with a file that has arrived, or with the files of a zip. Raises UploadStoreError."""
        arrived = [file]
        if file.path.suffix == ZIP:
            try:
                arrived = self._unpack(upload, file)
            except ZipFileError as error:
                raise UploadStoreError(f"{file.name} {error}") from error
        with self.joining:
            joined = self._with_files(upload, arrived)
            written = self.folder / f"{upload.token}.new{_METADATA_SUFFIX}"
            written.write_text(json.dumps(asdict(joined), default=str), "utf-8")
            written.replace(self._metadata_path(upload.token))
        return joined

    def _with_files(self, upload: StoredUpload, arrived: Sequence[UploadedFile]) -> StoredUpload:
        """Returns the upload as it is by now, with files that have arrived. Raises UploadStoreError."""
        if upload.files:
            known = self._read(self._metadata_path(upload.token))
            if known is None:
                raise UploadStoreError(_GONE)
            upload = known
        for file in arrived:
            _check_place(upload, file.name)
            upload = replace(upload, files=(*upload.files, file))
        return upload

    def _unpack(self, upload: StoredUpload, packed: UploadedFile) -> list[UploadedFile]:
        """Returns the files of a zip, which is deleted. Raises ZipFileError and UploadStoreError."""
        packed_size = packed.path.stat().st_size
        unpacked: list[UploadedFile] = []
        for name, content in zip_files(packed.path):
            file = self._new_file(replace(upload, files=(*upload.files, *unpacked)), name)
            with file.path.open("wb") as opened:
                room = _Room(self, upload, file, zip_size=packed_size)
                room.make()
                for part in content:
                    room.add(len(part))
                    if room.is_used_up:
                        room.make(len(part))
                    opened.write(part)
                    opened.flush()
                room.make()
            unpacked.append(file)
        packed.path.unlink()
        return unpacked

    def _metadata_path(self, token: str) -> Path:
        return self.folder / f"{token}{_METADATA_SUFFIX}"

    def _read(self, metadata_path: Path) -> StoredUpload | None:
        """Returns the upload of a metadata file; None if a crash or another release left a different form."""
        try:
            record = json.loads(metadata_path.read_text("utf-8"))
            files = tuple(
                UploadedFile(self.folder / Path(path).name, name) for path, name in record["files"]
            )
            upload = StoredUpload(**record | {"files": files})
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return upload if files else None

    def _held_uploads(self) -> list["_HeldUpload"]:
        """Returns the uploads in the folder, the oldest first; another server may delete some meanwhile."""
        uploads: dict[str, _HeldUpload] = {}
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(_METADATA_SUFFIX):
                    continue
                with suppress(FileNotFoundError):
                    state = entry.stat()
                    # A file that is none of ours may lack the codes.
                    name_parts = [*entry.name.split("."), "", ""]
                    token = name_parts[0]
                    upload = _HeldUpload(
                        since=state.st_mtime,
                        token=token,
                        owner=name_parts[1],
                        network=name_parts[2],
                        size=state.st_size,
                        files=1,
                    )
                    if known := uploads.get(token):
                        upload = upload._replace(
                            since=max(upload.since, known.since),
                            size=upload.size + known.size,
                            files=upload.files + known.files,
                        )
                    uploads[token] = upload
        return sorted(uploads.values())  # By `since`, their first field.

    def make_room(self, upload: StoredUpload, more: int) -> int:
        """Deletes the oldest uploads of the network that holds most until `more` bytes of this one fit.

        Returns the bytes of this one, `more` included. All its files in the folder count, since several may arrive at
        once.
        Raises UploadStoreError if its own network holds most or has used up its quarter, or if the disk is full.
        """
        self.check_disk()
        network = owner_code(upload.network or upload.token)
        held = self._held_uploads()
        others = [other for other in held if other.token != upload.token]
        own = [other for other in held if other.token == upload.token]
        size = more + sum(part.size for part in own)
        # A network may always hold one upload of the largest size.
        self._discard_oldest(
            others,
            weigh=lambda other: other.size,
            network=network,
            own=size,
            most=self.most_together,
            most_of_network=max(self.most_together // 4, self.most),
        )
        self._discard_oldest(
            others,
            weigh=lambda other: other.files,
            network=network,
            own=sum(part.files for part in own),
            most=self.most_files,
            most_of_network=self.most_files // 4,
        )
        return size

    def _discard_oldest(
        self,
        others: list["_HeldUpload"],
        weigh: Callable[["_HeldUpload"], int],
        network: str,
        own: int,
        most: int,
        most_of_network: int,
    ) -> None:
        """Discards the oldest upload of the heaviest network, until all together weigh at most `most`.

        `own` is the weight of the upload that needs room, and `network` its network. Discarded uploads leave `others`.
        Raises UploadStoreError if that network is the heaviest, or weighs more than `most_of_network`.
        """
        weights = Counter({network: own})
        for other in others:
            weights[other.network] += weigh(other)
        refusal = UploadStoreError(
            "Too many files are waiting to be checked. Try again in a few minutes."
        )
        if weights[network] > most_of_network:
            raise refusal
        while weights.total() > most:
            # Of equally heavy networks, the uploader's is spared.
            heaviest = max(weights, key=lambda code: (weights[code], code != network))
            if heaviest == network:
                raise refusal
            oldest = next(other for other in others if other.network == heaviest)
            others.remove(oldest)
            self.discard(oldest)
            weights[heaviest] -= weigh(oldest)


def _check_place(upload: StoredUpload, name: str) -> None:
    """Raises UploadStoreError if an upload has no place for a further file of this name."""
    if name in (file.name for file in upload.files):
        raise UploadStoreError(f"{name} is there twice. Give each file its own name.")
    if len(upload.files) >= MOST_MEMBERS:
        raise UploadStoreError(f"There are too many files. Upload {MOST_MEMBERS} at most.")


class _Room:
    """Room for a growing file of an upload, made anew after each sixteenth of the largest size, and at its end."""

    def __init__(
        self, store: UploadStore, upload: StoredUpload, file: UploadedFile, zip_size: int = 0
    ) -> None:
        """`zip_size`: the bytes of the zip that the file comes from, which is deleted afterwards."""
        self._store = store
        self._upload = upload
        self._file = file
        self._zip_size = zip_size
        self._size = 0
        """Bytes of the upload, so far as they are known."""
        self._checked = 0
        """Bytes for which room was made last."""

    def add(self, size: int) -> None:
        """Counts bytes that have arrived. Raises UploadStoreError if the upload is too large."""
        self._size += size
        self._check_size()

    def _check_size(self) -> None:
        most = self._store.most
        if self._size > most:
            raise UploadStoreError(
                f"The upload is larger than {size_text(most)}. Score it on the command line: python -m scoring."
            )

    @property
    def is_used_up(self) -> bool:
        """Whether room has to be made anew."""
        return self._size - self._checked > self._store.most // 16

    def make(self, more: int = 0) -> None:
        """Makes room for bytes that have arrived and aren't written yet. Raises UploadStoreError."""
        if not self._file.path.exists():  # the upload was deleted meanwhile
            raise UploadStoreError(_GONE)
        self._checked = self._store.make_room(self._upload, more - self._zip_size)
        self._size = self._checked
        self._check_size()


class _Pace:
    """Delays uploads, so that no more than a number of bytes arrive in a second."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free_at = 0.0

    async def wait(self, size: int) -> None:
        now = time.monotonic()
        self._free_at = max(self._free_at, now - _BURST_SECONDS) + size / self._most
        if self._free_at > now:
            await asyncio.sleep(self._free_at - now)


class _HeldUpload(NamedTuple):
    """An upload as the folder's file names show it, with the codes of its owner and network."""

    since: float
    """When its last file was changed."""
    token: str
    owner: str
    network: str
    size: int
    files: int
