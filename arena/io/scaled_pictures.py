"""Scaled pictures: stored pictures at the width of a screen, as WebP of bounded size, made once and cached on disk.

Stored pictures are upright and without metadata (`images.read_picture`); so are these.
"""

import io
import logging
import os
import re
import tempfile
from pathlib import Path
from threading import BoundedSemaphore

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from arena.cache import Cache
from arena.io.images import PictureStore

MOST_BYTES = {320: 11_000, 480: 28_000, 640: 55_000, 960: 110_000}
"""Most bytes of a picture by its width in pixels; a battle shows one picture of 960, two of 640 or four of 480."""
MOST_HEIGHT = 3
"""Largest height of a scaled picture, in widths; for details, people open the original."""
MOST_FOLDER_BYTES = 300_000_000
"""Most bytes of the folder of scaled pictures; the oldest files are deleted first."""
AT_ONCE = 2
"""Pictures that are scaled at the same time."""
PATIENCE_SECONDS = 5.0
"""How long a further picture waits for its turn."""
_QUALITIES = (82, 70, 58, 46, 34)
"""WebP's qualities, of 100, tried in turn until a picture is small enough."""
_SHA256 = re.compile("[0-9a-f]{64}")

log = logging.getLogger(__name__)


class ScaledPictures:
    """Pictures of a store in a few widths."""

    def __init__(self, store: PictureStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._bytes = sum(file.stat().st_size for file in folder.iterdir())
        self._turns = BoundedSemaphore(AT_ONCE)
        self._sizes: Cache[tuple[int, int] | None] = Cache(most=10_000, seconds=86_400)

    def size(self, sha256: str) -> tuple[int, int] | None:
        """Returns width and height of a stored picture in pixels; None if it is not in the store."""
        return self._sizes.get(sha256, lambda: self._size(sha256))

    def _size(self, sha256: str) -> tuple[int, int] | None:
        path = self._original(sha256)
        return None if path is None else _open_picture(path.read_bytes()).size

    def path(self, sha256: str, width: int) -> Path | None:
        """Returns the file of a picture at one of the widths, made if needed.

        None if there is no such picture or width; the original if too many others are being scaled, or the file cannot
        be written.
        """
        original = self._original(sha256)
        if original is None or width not in MOST_BYTES:
            return None
        scaled = self._folder / f"{sha256}.{width}.webp"
        if scaled.is_file():
            return scaled
        if not self._turns.acquire(timeout=PATIENCE_SECONDS):
            return original
        try:
            if scaled.is_file():  # another request has made it meanwhile
                return scaled
            is_written = self._write(scaled, scaled_picture(original.read_bytes(), width))
            return scaled if is_written else original
        finally:
            self._turns.release()

    def _original(self, sha256: str) -> Path | None:
        if not _SHA256.fullmatch(sha256):
            return None
        return self._store.path(f"{sha256}.jpg") or self._store.path(f"{sha256}.png")

    def _write(self, scaled: Path, data: bytes) -> bool:
        """Writes a file whole or not at all, after making room for it; returns whether that worked."""
        self._bytes += len(data)
        try:
            if self._bytes > MOST_FOLDER_BYTES:
                self._delete_oldest()  # raises OSError if another thread's file vanishes meanwhile
            handle, part = tempfile.mkstemp(prefix=".part-", dir=self._folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                Path(part).replace(scaled)
            finally:
                Path(part).unlink(missing_ok=True)
        except OSError as error:
            log.warning("a picture was not kept in the width of a screen: %s", error)
            return False
        return True

    def _delete_oldest(self) -> None:
        """Deletes the oldest files until the folder is half full."""
        stats = {file: file.stat() for file in self._folder.iterdir()}
        self._bytes = sum(stat.st_size for stat in stats.values())
        for file in sorted(stats, key=lambda file: stats[file].st_mtime):
            if self._bytes <= MOST_FOLDER_BYTES // 2:
                break
            file.unlink(missing_ok=True)
            self._bytes -= stats[file].st_size


def scaled_picture(original: bytes, width: int) -> bytes:
    """Returns a picture of `images.read_picture` as WebP, at most of this width and of the bytes allowed for it."""
    picture = _open_picture(original)
    # A JPEG is decoded at a fraction of its size, which is faster.
    picture.draft("RGB", (width, width))
    image = picture.convert("RGB")
    image.thumbnail((width, MOST_HEIGHT * width), Image.Resampling.LANCZOS)
    while True:
        for quality in _QUALITIES:
            stream = io.BytesIO()
            image.save(stream, "WEBP", quality=quality, method=4)
            if stream.tell() <= MOST_BYTES[width]:
                return stream.getvalue()
        image = image.resize((image.width * 3 // 4, image.height * 3 // 4))


def _open_picture(data: bytes) -> JpegImageFile | PngImageFile:
    kind = JpegImageFile if data.startswith(b"\xff\xd8") else PngImageFile
    return kind(io.BytesIO(data))
