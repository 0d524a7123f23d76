"""Own images: visitors' uploads for live battles, private to their owner and deleted soon unless the owner agrees.

A file is stored re-encoded by `io/images.py`, never as uploaded. It has an unguessable name, and its row has its owner;
for anybody else the image doesn't exist.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Integer,
    Row,
    Table,
    Text,
    func,
    select,
)

from arena.battles.quotas import LimitError, NetworkDays
from arena.database import METADATA, Database, Moment, now
from arena.errors import VoterError
from arena.io.images import MAX_BYTES, PictureError, read_picture
from arena.storage import VOTES_ROOM, disk_errors, no_room

OWN_IMAGE = Table(
    "own_image",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("voter_id", ForeignKey("voter.id"), nullable=False, index=True),
    Column("battle_id", ForeignKey("battle.id"), index=True),
    Column("position", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("suffix", Text, nullable=False),
    Column("kept", Boolean, nullable=False),
    Column("arrived_at", Moment, nullable=False),
    Column("gone_at", Moment),
)
"""`battle_id`: none before the battle. The row outlives the file."""
MOST_IMAGES = 10
"""The most images of a battle."""
MOST_WAITING = 30
"""The most images of a visitor that no battle uses."""
KEPT_FOR = timedelta(hours=24)
"""The time after which an image is deleted, unless its owner lets us keep it."""
MOST_TEMPORARY = 5_000
"""The most temporary images in all."""
MOST_OF_NETWORK = 1_000
"""The most images that a network may upload in a day (UTC), so that none takes all the room."""
MOST_CHECKS = 2
"""The most files that are checked at the same time: a check may take 400 MB."""
_WEBP_ANIMATION = 2
"""The flag of an animation in a WebP's extended header."""
_GIF_EXTENSION = b"!"
_GIF_FRAME = b","
"""_GIF_EXTENSION, _GIF_FRAME: the first bytes of a GIF's blocks."""
_GIF_HEADER_BYTES = 13
_GIF_EXTENSION_BYTES = 2
_GIF_FRAME_BYTES = 11
"""The bytes before the blocks, and before the data of a block; colour tables come on top."""
_GIF_HEADER_FLAGS = 10
_GIF_FRAME_FLAGS = 9
"""The places of the flags in a GIF's header and in a frame."""
GONE = "An image is no longer here. Remove it and add it again."


class OwnImageError(VoterError):
    """An image is refused or gone; the message says why, and what its owner can do."""


@dataclass(frozen=True)
class OwnImage:
    """A visitor's image."""

    token: str
    """The unguessable name that the page requests it by."""
    is_first_frame: bool
    """Whether only the first frame of an animation was taken."""


class OwnImages:
    """Visitors' images in one folder, with `votes_room` bytes of its disk reserved for votes."""

    def __init__(self, database: Database, folder: Path, votes_room: int = VOTES_ROOM) -> None:
        self._database = database
        self._folder = folder
        self._votes_room = votes_room
        self._days = NetworkDays(database)
        self._check_places = asyncio.Semaphore(MOST_CHECKS)
        folder.mkdir(parents=True, exist_ok=True)

    async def receive(
        self, voter: int, chunks: AsyncIterator[bytes], network: str | None = None
    ) -> OwnImage:
        """Checks and stores an upload, buffered on disk. Raises OwnImageError, PictureError, LimitError."""
        if full := no_room(self._folder, self._votes_room):
            raise OwnImageError(full)
        with disk_errors(OwnImageError), TemporaryFile(dir=self._folder) as file:
            async for chunk in chunks:
                file.write(chunk)
                if file.tell() > MAX_BYTES:
                    raise PictureError(
                        "The picture is over {} MB. Make it smaller.", MAX_BYTES // 1000000
                    )
            async with self._check_places:
                return await asyncio.to_thread(self._store, voter, network, file)

    def path(self, voter: int, token: str) -> Path | None:
        """Returns the path of a visitor's image; None for another visitor's and for a deleted one."""
        return self._existing_path(_is_own(voter, token))

    def attach(
        self, voter: int, tokens: Sequence[str], battle: int, keep: bool
    ) -> tuple[bytes, ...]:
        """Assigns images to a battle in this order and returns their files. Raises OwnImageError."""
        with self._database.write() as connection:
            for position, token in enumerate(tokens):
                waiting = OWN_IMAGE.update().where(
                    _is_own(voter, token), OWN_IMAGE.c.battle_id.is_(None)
                )
                assignment = waiting.values(battle_id=battle, position=position, kept=keep)
                if connection.execute(assignment).rowcount == 0:
                    raise OwnImageError(GONE)
        return self.files(voter, tokens)

    def battle_tokens(self, voter: int, battle: int) -> tuple[str, ...]:
        """Returns the tokens of a battle's images in order, including deleted ones."""
        query = select(OWN_IMAGE.c.token).where(
            OWN_IMAGE.c.battle_id == battle, OWN_IMAGE.c.voter_id == voter
        )
        with self._database.read() as connection:
            return tuple(connection.scalars(query.order_by(OWN_IMAGE.c.position)))

    def files(self, voter: int, tokens: Sequence[str]) -> tuple[bytes, ...]:
        """Returns the files of a visitor's images in this order. Raises OwnImageError when one is gone."""
        paths = []
        for token in tokens:
            path = self.path(voter, token)
            if path is None:
                raise OwnImageError(GONE)
            paths.append(path)
        return tuple(path.read_bytes() for path in paths)

    def forget(self, battle: int) -> None:
        """Deletes the images of a finished battle, except those that may be kept."""
        self._delete(OWN_IMAGE.c.battle_id == battle)

    def discard(self, voter: int, tokens: Sequence[str]) -> None:
        """Deletes a visitor's images that no battle uses."""
        self._delete(
            OWN_IMAGE.c.token.in_(tokens)
            & (OWN_IMAGE.c.voter_id == voter)
            & OWN_IMAGE.c.battle_id.is_(None)
        )

    def sweep(self, moment: datetime) -> int:
        """Deletes images that are over 24 hours old, except those that may be kept; returns their number."""
        return self._delete(OWN_IMAGE.c.arrived_at < moment - KEPT_FOR)

    def kept_path(self, image: int) -> Path | None:
        """Returns the path of an image that its owner lets us keep, for operators; None for any other."""
        return self._existing_path(
            (OWN_IMAGE.c.id == image) & OWN_IMAGE.c.kept & OWN_IMAGE.c.gone_at.is_(None)
        )

    def take_down(self, condition: ColumnElement[bool]) -> int:
        """Deletes the images that fulfil a condition, even those that may be kept; returns their number."""
        return self._delete(condition, with_kept=True)

    def _store(self, voter: int, network: str | None, file: BinaryIO) -> OwnImage:
        """Checks and stores a buffered upload. Raises OwnImageError, PictureError, LimitError."""
        file.seek(0)
        data = file.read()
        picture = read_picture(data)
        token = secrets.token_urlsafe(24)
        values = {
            "token": token,
            "voter_id": voter,
            "position": 0,
            "sha256": picture.sha256,
            "suffix": picture.suffix,
            "kept": False,
            "arrived_at": now(),
        }
        path = self._folder / f"{token}.{picture.suffix}"
        with self._database.write() as connection:
            temporary_count = select(func.count()).where(
                OWN_IMAGE.c.gone_at.is_(None), OWN_IMAGE.c.kept.is_(False)
            )
            waiting_count = temporary_count.where(
                OWN_IMAGE.c.voter_id == voter, OWN_IMAGE.c.battle_id.is_(None)
            )
            if connection.execute(waiting_count).scalar_one() >= MOST_WAITING:
                raise OwnImageError(
                    "You have {} images here that no battle uses. Remove some first.",
                    MOST_WAITING,
                )
            if connection.execute(temporary_count).scalar_one() >= MOST_TEMPORARY:
                raise OwnImageError(
                    "There are too many images here right now. Try again in an hour."
                )
            if network is not None:
                uploads_today = self._days.count_one(connection, network, "images")  # with this one
                if uploads_today > MOST_OF_NETWORK:
                    raise LimitError(
                        "Your network has added all its images for today. You can add more "
                        "after midnight (UTC)."
                    )
            connection.execute(OWN_IMAGE.insert().values(values))
        try:
            # Only after the row is stored, since a file without a row would stay for ever.
            path.write_bytes(picture.data)
            if self.path(voter, token) is None:  # It was taken down meanwhile.
                raise OwnImageError(GONE)
        except BaseException:
            path.unlink(missing_ok=True)
            self.discard(voter, [token])
            raise
        return OwnImage(token, is_first_frame=_is_animation(data))

    def _path(self, row: Row) -> Path:
        return self._folder / f"{row.token}.{row.suffix}"

    def _existing_path(self, condition: ColumnElement[bool]) -> Path | None:
        """Returns the path of an image, if its file exists."""
        with self._database.read() as connection:
            row = connection.execute(select(OWN_IMAGE).where(condition)).one_or_none()
        if row is None:
            return None
        path = self._path(row)
        return path if path.is_file() else None

    def _delete(self, condition: ColumnElement[bool], with_kept: bool = False) -> int:
        """Deletes the images that fulfil a condition; returns their number.

        Files are deleted before their rows are marked, since a file without a row would stay for ever. They are deleted
        again afterwards, in case one was still being written. Raises the last OSError of files that cannot be deleted,
        after all others.
        """
        query = select(OWN_IMAGE).where(OWN_IMAGE.c.gone_at.is_(None), condition)
        if not with_kept:
            query = query.where(OWN_IMAGE.c.kept.is_(False))
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        deleted: dict[int, Path] = {}
        failure: OSError | None = None
        for row in rows:
            path = self._path(row)
            try:
                path.unlink(missing_ok=True)
                deleted[row.id] = path
            except OSError as error:
                failure = error
        if deleted:
            deletion = OWN_IMAGE.update().where(OWN_IMAGE.c.id.in_(list(deleted)))
            with self._database.write() as connection:
                connection.execute(deletion.values(gone_at=now()))
        for path in deleted.values():
            path.unlink(missing_ok=True)
        if failure is not None:
            raise failure
        return len(deleted)


def _is_own(voter: int, token: str) -> ColumnElement[bool]:
    return (
        (OWN_IMAGE.c.token == token)
        & (OWN_IMAGE.c.voter_id == voter)
        & OWN_IMAGE.c.gone_at.is_(None)
    )


def _is_animation(data: bytes) -> bool:
    """Returns whether a picture is an animation: a WebP or GIF of several frames, or an animated PNG."""
    if data[8:16] == b"WEBPVP8X":
        return bool(data[20] & _WEBP_ANIMATION)
    if data.startswith(b"\x89PNG"):
        return b"acTL" in data[: data.find(b"IDAT")]
    return data.startswith(b"GIF") and _has_second_frame(data)


def _has_second_frame(gif: bytes) -> bool:
    """Walks a GIF's blocks (GIF89a, sections 15 to 26) and returns whether there are two frames.

    A search for graphic controls would miss frames, since not every frame has one.
    """
    position = _GIF_HEADER_BYTES + _colour_table_bytes(gif[_GIF_HEADER_FLAGS])
    frames = 0
    # The blocks end with the trailer, or with a file that was cut off.
    while (kind := gif[position : position + 1]) in (_GIF_EXTENSION, _GIF_FRAME):
        if kind == _GIF_FRAME:
            frames += 1
            if frames == 2:
                return True
            flags_at = position + _GIF_FRAME_FLAGS
            flags = gif[flags_at] if flags_at < len(gif) else 0
            position += _GIF_FRAME_BYTES + _colour_table_bytes(flags)
        else:
            position += _GIF_EXTENSION_BYTES
        # The block's data: parts that begin with their length, up to an empty one.
        while position < len(gif) and gif[position]:
            position += 1 + gif[position]
        position += 1
    return False


def _colour_table_bytes(flags: int) -> int:
    """Returns the size in bytes of a GIF's colour table; flags say whether there is one, and of how many colours."""
    has_table = flags & 0x80
    colours = 2 ** ((flags & 7) + 1)
    return 3 * colours if has_table else 0
