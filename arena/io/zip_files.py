"""Uploaded zip files: reads the files in one with bounds that do not trust its headers."""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import SEEK_END, FileIO
from pathlib import Path
from typing import NamedTuple

ZIP = ".zip"
MOST_MEMBERS = 8
"""Most files in a zip."""
_LARGEST_READ = 70_000
"""Most bytes of one read: enough for the end of a zip, too few for a long list of members."""
_PART_BYTES = 65_536
"""Most bytes of a part of a file's content."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Accepted compressions; others can unpack a few bytes to any number at once."""
_LOCKED_FLAG = 1
"""Bit of a file's flags that says that it has a password."""
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    OSError,
    OverflowError,
)
"""Errors that a damaged zip raises; OSError is for a position before the start of the file, OverflowError for one that
no file has."""


class ZipFileError(ValueError):
    """A zip is refused; the message says why, and what to do. It has no subject: the file's name comes before it."""


def plain_name(path: str) -> str:
    """Returns the name of a file without its folders and unprintable characters."""
    name = path.replace("\\", "/").rpartition("/")[2]
    printable = "".join(sign if sign.isprintable() else " " for sign in name)
    return " ".join(printable.split())


class _ShortReads(FileIO):
    """A file whose single reads have a bounded length."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:  # all that is left
            place = self.tell()
            size = self.seek(0, SEEK_END) - place
            self.seek(place)
        if size > _LARGEST_READ:  # only a list of many members is read at once in such a length
            raise ZipFileError(f"has more than {MOST_MEMBERS} files. Keep only those you need.")
        return super().read(size)


class ZippedFile(NamedTuple):
    """A file in a zip."""

    name: str
    content: Iterator[bytes]
    """Its bytes in parts, which must be read before the next file's."""


def zip_files(path: Path) -> Iterator[ZippedFile]:
    """Yields the files in a zip, whatever folders they are in.

    Files whose name begins with a dot, which macOS adds, are left out. Raises ZipFileError.
    """
    with _ShortReads(path) as file:
        with _zip_errors():
            archive = zipfile.ZipFile(file)
        members = []
        for info in archive.infolist():
            name = plain_name(info.filename)
            if name and not name.startswith("."):
                members.append(info)
        _check_members(members)
        for info in members:
            yield ZippedFile(plain_name(info.filename), _content(archive, info))


def _check_members(members: Sequence[zipfile.ZipInfo]) -> None:
    """Raises ZipFileError for no files, too many, and those that cannot be unpacked safely."""
    if not members:
        raise ZipFileError("has no files. Put your answers into it.")
    if len(members) > MOST_MEMBERS:
        raise ZipFileError(f"has {len(members)} files. Keep {MOST_MEMBERS} at most.")
    for info in members:
        name = plain_name(info.filename)
        if info.flag_bits & _LOCKED_FLAG:
            raise ZipFileError(f"is locked with a password ({name}). Pack it without one.")
        if Path(name).suffix.lower() == ZIP:
            raise ZipFileError(f"has another zip in it ({name}). Put all files into one zip.")
        if info.compress_type not in _METHODS:
            raise ZipFileError(f"packs {name} in an unusual way. Pack it as an ordinary zip.")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with _zip_errors(), archive.open(info) as member:
        while part := member.read(_PART_BYTES):
            yield part


@contextmanager
def _zip_errors() -> Iterator[None]:
    """Raises the errors of a damaged zip as ZipFileError."""
    try:
        yield
    except ZipFileError:
        raise
    except _UNREADABLE as error:
        raise ZipFileError("isn't a readable zip. Pack it again.") from error
