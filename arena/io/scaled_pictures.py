"""Scaled pictures: kept pictures at the width of a screen, as WebP of bounded size, made once and kept for a while.

Kept pictures are upright and without metadata (`images.read_picture`); so are these.
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

from arena.io.images import PictureStore
from arena.kept import Kept

MOST_BYTES = {320: 11_000, 480: 28_000, 640: 55_000, 960: 110_000}
"""Widths in pixels, with the most bytes of each: a battle's pictures are one of 960, two of 640 or four of 480."""
MOST_HEIGHT = 3
"""A scaled picture is at most this many times as high as its width; to be read, the original is enlarged."""
MOST_KEPT = 300_000_000
"""Most bytes of the folder; the oldest files give way."""
AT_ONCE = 2
PATIENCE_SECONDS = 5.0
"""Pictures that are scaled at the same time, and how long another one waits for its turn."""
_QUALITIES = (82, 70, 58, 46, 34)
_SHA256 = re.compile("[0-9a-f]{64}")

log = logging.getLogger(__name__)


class ScaledPictures:
    """The pictures of a store in a few widths."""

    def __init__(self, store: PictureStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._kept = sum(file.stat().st_size for file in folder.iterdir())
        self._turns = BoundedSemaphore(AT_ONCE)
        self._sizes: Kept[tuple[int, int] | None] = Kept(10_000, 86_400)

    def size(self, sha256: str) -> tuple[int, int] | None:
        """Width and height of a kept picture in pixels; None if it is not here."""
        return self._sizes.of(sha256, lambda: self._size(sha256))

    def _size(self, sha256: str) -> tuple[int, int] | None:
        path = self._original(sha256)
        return None if path is None else _opened(path.read_bytes()).size

    def path(self, sha256: str, width: int) -> Path | None:
        """The file of a picture at one of the widths, made if needed; None if there is no such picture or width.

        The kept picture itself where all turns are taken for long, or the disk takes no file.
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
            if scaled.is_file() or self._write(
                scaled, scaled_picture(original.read_bytes(), width)
            ):
                return scaled
        finally:
            self._turns.release()
        return original

    def _original(self, sha256: str) -> Path | None:
        if not _SHA256.fullmatch(sha256):
            return None
        return self._store.path(f"{sha256}.jpg") or self._store.path(f"{sha256}.png")

    def _write(self, scaled: Path, data: bytes) -> bool:
        """Writes a file whole or not at all; returns whether the disk took it."""
        self._kept += len(data)
        if self._kept > MOST_KEPT:
            self._tidy()
        try:
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

    def _tidy(self) -> None:
        """Deletes the oldest files until half of what may be kept is left."""
        files = sorted(
            (file.stat().st_mtime, file.stat().st_size, file) for file in self._folder.iterdir()
        )
        self._kept = sum(size for _, size, _ in files)
        for _, size, file in files:
            if self._kept <= MOST_KEPT // 2:
                break
            file.unlink(missing_ok=True)
            self._kept -= size


def scaled_picture(original: bytes, width: int) -> bytes:
    """Returns what `images.read_picture` made as WebP, at most so wide and of at most the bytes of that width."""
    picture = _opened(original)
    picture.draft("RGB", (width, width))
    image = picture.convert("RGB")
    while True:
        image.thumbnail((width, MOST_HEIGHT * width), Image.Resampling.LANCZOS)
        for quality in _QUALITIES:
            stream = io.BytesIO()
            image.save(stream, "WEBP", quality=quality, method=4)
            if stream.tell() <= MOST_BYTES[width]:
                return stream.getvalue()
        image = image.resize((image.width * 3 // 4, image.height * 3 // 4))


def _opened(data: bytes) -> JpegImageFile | PngImageFile:
    kind = JpegImageFile if data.startswith(b"\xff\xd8") else PngImageFile
    return kind(io.BytesIO(data))
