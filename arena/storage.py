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
_NEVER_SERVED = b"\1\1"
"""Version bytes of an SQLite file that no server has opened; opening changes them before the log begins."""
_OCTAL = re.compile(r"\\([0-7]{3})")
_PORT = re.compile(r":(\d+)$")
_NETWORK = re.compile(
    r"fuse(\..*)?|nfs\d?|9p|virtiofs|cifs|smb\w*|ceph|lustre|afs|ncpfs|glusterfs|beegfs|gpfs|vboxsf|prl_fs|fakeowner"
)
_FLEETING = frozenset(("overlay", "overlayfs", "aufs", "tmpfs", "ramfs"))
"""File systems that are lost at a restart."""

log = logging.getLogger(__name__)


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


class StorageError(RuntimeError):
    """The data cannot be stored at the configured place; the message says why, and which places work."""


class Mount(NamedTuple):
    """A file system and its mount point."""

    point: Path
    kind: str


def storage_line(settings: Settings, mounts: Path = MOUNTS) -> str:
    """Returns where the data are stored and whether they survive a restart. Raises StorageError if that cannot work."""
    copied = (
        f", copied to {settings.backup.dataset} within a minute or so" if settings.backup else ""
    )
    if not settings.database_url.startswith("sqlite"):
        return f"Votes: {_postgresql(settings)}{copied}"
    file = file_of(settings.database_url)
    refuse_foreign_log(file.resolve())
    if not _is_fleeting(settings, refuse_network(file, mounts)):
        return f"Votes: SQLite on a persistent disk, {file}{copied}"
    if copied:
        return f"Votes: SQLite on a disk that a restart wipes, {file}{copied}"
    lost = (
        "whenever this Space restarts"
        if settings.space
        else "when this container or machine restarts"
    )
    volume = "" if settings.space else ", or put DATA_DIR on a volume"
    return (
        f"WARNING: ALL VOTES ARE LOST {lost}. {file} is on a temporary disk and has no copy. Set MIRROR and HF_TOKEN "
        f"(a private dataset on the Hub), or DATABASE_URL (PostgreSQL){volume}."
    )


def is_lost_at_restart(settings: Settings, mounts: Path = MOUNTS) -> bool:
    """Returns whether a restart loses the votes: SQLite on a temporary disk, without a copy."""
    if settings.backup or not settings.database_url.startswith("sqlite"):
        return False
    return _is_fleeting(settings, mount_of(file_of(settings.database_url), mounts))


def _is_fleeting(settings: Settings, mount: Mount) -> bool:
    return mount.kind in _FLEETING or (settings.space and mount.point == Path("/"))


def file_of(url: str) -> Path:
    return Path(unquote(url.removeprefix("sqlite:///").partition("?")[0])).absolute()


def votes_folders(settings: Settings) -> tuple[Path, ...]:
    """Returns the folders whose disks must have room: DATA_DIR, and the folder of the SQLite file."""
    url = settings.database_url
    return (
        settings.data_dir,
        *([file_of(url).resolve().parent] if url.startswith("sqlite") else []),
    )


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
    log = file.with_name(f"{file.name}-wal")
    try:
        with file.open("rb") as opened:
            version = opened.read(20)[18:]
        has_log = log.stat().st_size > 0
    except OSError:  # neither is there, or the database says why it cannot be read
        return
    if has_log and version == _NEVER_SERVED:
        raise StorageError(
            f"{file} is a copy, and {log} belongs to another file and would damage it. Move {log.name} and "
            f"{file.name}-shm away, then start again."
        )


def mount_of(file: Path, mounts: Path) -> Mount:
    """Returns the last mount on the nearest folder above a file, following links; its kind may be unknown."""
    target = file.resolve()
    best = Mount(Path("/"), "unknown")
    for line in mounts.read_text("utf-8", "replace").splitlines() if mounts.exists() else ():
        _, point, kind, *_ = line.split(" ")
        mount = Mount(Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), point)), kind)
        if target.is_relative_to(mount.point) and len(mount.point.parts) >= len(best.point.parts):
            best = mount
    return best


def size_text(size: int) -> str:
    return f"{size // 10**6:,} MB" if size >= 10**6 else f"{size:,} bytes"


def no_room(folder: Path, room: int = VOTES_ROOM) -> str | None:
    """Returns why a folder's disk stores nothing but votes; None if there is room."""
    if shutil.disk_usage(folder).free >= room:
        return None
    return f"This server's disk is almost full, and the last {size_text(room)} are kept for votes. Come back later"


def is_full(folder: Path) -> bool:
    """Returns whether a folder's disk has no room for the files that SQLite needs."""
    return folder.exists() and shutil.disk_usage(folder).free < _SQLITE_ROOM


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


def _postgresql(settings: Settings) -> str:
    """Describes a PostgreSQL server without user and password.

    Raises StorageError for a port that a Space cannot use.
    """
    address = urlsplit(settings.database_url)
    options = parse_qs(address.query)
    port_match = _PORT.search(address.netloc)
    port = options.get("port", [port_match[1] if port_match else "5432"])[-1]
    if settings.space and port not in SPACE_PORTS:
        raise StorageError(
            f"DATABASE_URL has port {port}, but a Space can only reach PostgreSQL at port {' or '.join(SPACE_PORTS)}. "
            "Use a server or pooler at that port, or unset DATABASE_URL and set MIRROR."
        )
    return f"PostgreSQL at {options.get('host', [address.hostname or 'this machine'])[-1]}, port {port}"
