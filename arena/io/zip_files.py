"""Uploaded zip files: reads the files in one with bounds that do not trust its headers."""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import SEEK_END, FileIO
from pathlib import Path

ZIP = ".zip"
MOST_MEMBERS = 8
_LARGEST_READ = 70_000
"""Most bytes of one read: enough for the end of a zip, too few for a long list of members."""
_AT_A_TIME = 65_536
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Accepted compressions; others can unpack a few bytes to any number at once."""
_IS_LOCKED = 1
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    OSError,
)
"""Errors that a damaged zip raises; OSError is for a position before the start of the file."""


class ZipFileError(ValueError):
    """A zip is refused; the message says why, and what to do."""


def plain_name(path: str) -> str:
    """Returns the name of a file without its folders and unprintable characters."""
    name = path.replace("\\", "/").rpartition("/")[2]
    printable = "".join(sign if sign.isprintable() else " " for sign in name)
    return " ".join(printable.split())


class _ShortReads(FileIO):
    """A file whose single reads have a bounded length."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            place = self.tell()
            size = self.seek(0, SEEK_END) - place
            self.seek(place)
        if size > _LARGEST_READ:
            raise ZipFileError(f"has more than {MOST_MEMBERS} files. Keep only those you need.")
        return super().read(size)


def zip_files(path: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yields name and content, in parts, of each file in a zip, whatever folders they are in.

    Files whose name begins with a dot, which macOS adds, are left out. Raises ZipFileError.
    """
    with _ShortReads(path) as file:
        with _zip_errors():
            archive = zipfile.ZipFile(file)
        entries = [(plain_name(info.filename), info) for info in archive.infolist()]
        members = [(name, info) for name, info in entries if name and not name.startswith(".")]
        _check_members(members)
        for name, info in members:
            yield name, _content(archive, info)


def _check_members(members: Sequence[tuple[str, zipfile.ZipInfo]]) -> None:
    if not members:
        raise ZipFileError("has no files. Put your answers into it.")
    if len(members) > MOST_MEMBERS:
        text = f"has {len(members)} files. Keep {MOST_MEMBERS} at most."
        raise ZipFileError(text)
    for name, info in members:
        if info.flag_bits & _IS_LOCKED:
            raise ZipFileError(f"is locked with a password ({name}). Pack it without one.")
        if Path(name).suffix.lower() == ZIP:
            raise ZipFileError(f"has another zip in it ({name}). Put all files into one zip.")
        if info.compress_type not in _METHODS:
            raise ZipFileError(f"packs {name} in an unusual way. Pack it as an ordinary zip.")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with _zip_errors(), archive.open(info) as member:
        while part := member.read(_AT_A_TIME):
            yield part


@contextmanager
def _zip_errors() -> Iterator[None]:
    try:
        yield
    except ZipFileError:
        raise
    except _UNREADABLE as error:
        raise ZipFileError("isn't a readable zip. Pack it again.") from error
