"""Storage checks: where the data are stored and whether they survive a restart, reported at start in one line.

SQLite is refused on network and FUSE file systems: their locks do not hold, and a WAL-mode file is corrupted there
within minutes. A Hugging Face Space has a disk that is wiped at every restart, and reaches only ports 80, 443 and 8080.
"""

import hashlib
import logging
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from arena.settings import Settings

MOUNTS = Path("/proc/mounts")
"""Linux's mount table; other systems have none and are not checked."""
SPACE_PORTS = ("443", "8080")
"""Ports through which a Space can reach a database."""
VOTES_ROOM = 1_000_000_000
"""Free bytes of the disk reserved for votes; with less, nothing else is stored."""
_SQLITE_ROOM = 1_000_000
"""Free bytes of the disk that SQLite needs for its files."""
_NEVER_SERVED = b"\1\1"
"""Bytes 18 and 19 of an SQLite file that no server has opened: the version without a WAL. A server's first opening sets
both to 2, before a log begins.
"""
_OCTAL = re.compile(r"\\([0-7]{3})")
"""A character of a path in the mount table, such as `\\040` for a blank."""
_PORT = re.compile(r":(\d+)$")
_NETWORK = re.compile(
    r"fuse(\..*)?|nfs\d?|9p|virtiofs|cifs|smb\w*|ceph|lustre|afs|ncpfs|glusterfs|beegfs|gpfs|vboxsf|prl_fs|fakeowner"
)
"""File systems on a network or under FUSE. The last three share a folder with a virtual machine: VirtualBox's,
Parallels' and Docker Desktop's."""
_TEMPORARY = frozenset(("overlay", "overlayfs", "aufs", "tmpfs", "ramfs"))
"""File systems that are lost at a restart."""

log = logging.getLogger(__name__)


class StorageError(RuntimeError):
    """The data cannot be stored at the configured place; the message says why, and which places work."""


class Mount(NamedTuple):
    """A file system and its mount point."""

    point: Path
    kind: str


def storage_line(settings: Settings, mounts: Path = MOUNTS) -> str:
    """Returns where the data are stored and whether they survive a restart. Raises StorageError if that cannot work."""
    copy_note = ""
    if settings.backup:
        copy_note = f", copied to {settings.backup.dataset} within a minute or so"
    if not settings.database_url.startswith("sqlite"):
        return f"Votes: {_describe_postgresql(settings)}{copy_note}"
    file = file_of(settings.database_url)
    refuse_foreign_log(file.resolve())
    mount = refuse_network(file, mounts)
    if not _is_temporary(settings, mount):
        return f"Votes: SQLite on a persistent disk, {file}{copy_note}"
    if copy_note:
        return f"Votes: SQLite on a disk that a restart wipes, {file}{copy_note}"
    when = "when this container or machine restarts"
    volume_advice = ", or put DATA_DIR on a volume"
    if settings.space:
        when = "whenever this Space restarts"
        volume_advice = ""
    return (
        f"WARNING: ALL VOTES ARE LOST {when}. {file} is on a temporary disk and has no copy. Set MIRROR and HF_TOKEN "
        f"(a private dataset on the Hub), or DATABASE_URL (PostgreSQL){volume_advice}."
    )


def is_lost_at_restart(settings: Settings, mounts: Path = MOUNTS) -> bool:
    """Returns whether a restart loses the votes: SQLite on a temporary disk, without a copy."""
    if settings.backup or not settings.database_url.startswith("sqlite"):
        return False
    return _is_temporary(settings, mount_of(file_of(settings.database_url), mounts))


def _is_temporary(settings: Settings, mount: Mount) -> bool:
    """Returns whether a restart wipes a file system: one in memory or of a container, or the disk of a Space."""
    is_space_disk = settings.space and mount.point == Path("/")
    return mount.kind in _TEMPORARY or is_space_disk


def file_of(url: str) -> Path:
    """Returns the file of an SQLite database's address."""
    return Path(unquote(url.removeprefix("sqlite:///").partition("?")[0])).absolute()


def votes_folders(settings: Settings) -> tuple[Path, ...]:
    """Returns the folders whose disks must have room: DATA_DIR, and the folder of the SQLite file."""
    folders = [settings.data_dir]
    if settings.database_url.startswith("sqlite"):
        folders.append(file_of(settings.database_url).resolve().parent)
    return tuple(folders)


def refuse_network(file: Path, mounts: Path) -> Mount:
    """Returns the mount of a file, which need not exist. Raises StorageError if SQLite's locks would not work there."""
    mount = mount_of(file, mounts)
    if _NETWORK.fullmatch(mount.kind):
        raise StorageError(
            f"{file} is on {mount.point}, a network or FUSE file system ({mount.kind}), which would damage an SQLite "
            "file. Set DATA_DIR to a folder on a local disk, or DATABASE_URL to a PostgreSQL server."
        )
    return mount


def refuse_foreign_log(file: Path) -> None:
    """Raises StorageError if a restored file is beside the log of its predecessor, which would damage it.

    Call it before SQLite opens the file: closing the file here would drop SQLite's locks.
    """
    wal = file.with_name(f"{file.name}-wal")
    try:
        with file.open("rb") as opened:
            version = opened.read(20)[18:]
        has_log = wal.stat().st_size > 0
    except OSError:  # One of them is missing, or the database says why it cannot be read.
        return
    if has_log and version == _NEVER_SERVED:
        raise StorageError(
            f"{file} is a copy, and {wal} belongs to another file and would damage it. Move {wal.name} and "
            f"{file.name}-shm away, then start again."
        )


def mount_of(file: Path, mounts: Path) -> Mount:
    """Returns the mount on the nearest folder above a file, following links; its kind may be unknown.

    Of several on one folder it is the last, which hides the others.
    """
    target = file.resolve()
    nearest = Mount(Path("/"), "unknown")
    if not mounts.exists():
        return nearest
    for line in mounts.read_text("utf-8", "replace").splitlines():
        _device, point, kind, *_options = line.split(" ")
        mount = Mount(Path(_OCTAL.sub(_character, point)), kind)
        is_as_near = len(mount.point.parts) >= len(nearest.point.parts)
        if target.is_relative_to(mount.point) and is_as_near:
            nearest = mount
    return nearest


def _character(octal: re.Match[str]) -> str:
    return chr(int(octal[1], 8))


def size_text(size: int) -> str:
    """Returns a number of bytes in words, as in "5 MB"."""
    return f"{size // 10**6:,} MB" if size >= 10**6 else f"{size:,} bytes"


def no_room(folder: Path, room: int = VOTES_ROOM) -> str | None:
    """Returns why a folder's disk stores nothing but votes; None if it has `room` free bytes."""
    if shutil.disk_usage(folder).free >= room:
        return None
    return f"This server's disk is almost full, and the last {size_text(room)} are kept for votes. Come back later"


def is_full(folder: Path) -> bool:
    """Returns whether a folder's disk has no room for the files that SQLite needs."""
    try:
        return shutil.disk_usage(folder).free < _SQLITE_ROOM
    except OSError:  # there is no such folder, or there can be none
        return False


@contextmanager
def disk_errors(error: type[Exception]) -> Iterator[None]:
    """Raises `error` with a sentence for visitors if a file cannot be written; the log has the reason."""
    try:
        yield
    except ConnectionError:  # the visitor went away
        raise
    except OSError as failed:
        log.warning("a file was not stored: %s", failed)
        raise error(
            "This server's disk can't save files right now. Try again later, or tell the operator."
        ) from failed


def owner_code(owner: str) -> str:
    """Returns the code of an owner in the names of uploaded files, `TOKEN.OWNER.NETWORK.PART.SUFFIX`.

    Notes on an upload are stored beside its files, under the same token.
    """
    return hashlib.blake2b(owner.encode(), digest_size=8).hexdigest()


def delete_uploads(folder: Path, owner: str) -> None:
    """Deletes an owner's uploaded files and the notes on them."""
    for uploaded in folder.glob(f"*.{owner_code(owner)}.*"):
        token = uploaded.name.partition(".")[0]
        for path in folder.glob(f"{token}.*"):
            path.unlink(missing_ok=True)


def _describe_postgresql(settings: Settings) -> str:
    """Returns the host and port of the PostgreSQL server, without user and password.

    Raises StorageError for a port that a Space cannot use.
    """
    address = urlsplit(settings.database_url)
    options = parse_qs(address.query)
    host = address.hostname or "this machine"
    port = "5432"
    # `address.port` raises for a list of hosts.
    if port_match := _PORT.search(address.netloc):
        port = port_match[1]
    # An option in the query replaces them, and the last of several counts.
    host = options.get("host", [host])[-1]
    port = options.get("port", [port])[-1]
    if settings.space and port not in SPACE_PORTS:
        raise StorageError(
            f"DATABASE_URL has port {port}, but a Space can only reach PostgreSQL at port {' or '.join(SPACE_PORTS)}. "
            "Use a server or pooler at that port, or unset DATABASE_URL and set MIRROR."
        )
    return f"PostgreSQL at {host}, port {port}"
