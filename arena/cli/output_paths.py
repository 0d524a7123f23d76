"""Where commands write: never over a file that they read, and nowhere that is found out only after the work."""

from collections.abc import Iterable
from pathlib import Path

from typer import BadParameter


class OutputError(ValueError):
    """A command would write over what it reads; the message names the file."""


def check_unread(written: Iterable[Path], *read: Path | None) -> None:
    """Raise OutputError if one of the files to be written is a file that is read."""
    there = [one for one in read if one and one.exists()]
    for path in written:
        if path.exists() and any(path.samefile(one) for one in there):
            raise OutputError(
                f"{path} is read by this command, and would be written over; choose another place for it"
            )


def output_folder(path: Path) -> Path:
    """Check a folder's option; it may be not there yet."""
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    if not there.is_dir():
        raise BadParameter(f"{there} is a file; name a folder, which may be a new one")
    return path


def output_file(path: Path | None) -> Path | None:
    """Check a file's option."""
    if path and path.is_dir():
        raise BadParameter(f"{path} is a folder; name a file in it")
    if path and not path.parent.is_dir():
        raise BadParameter(
            f"{path.parent} is no folder; make it, or choose another place for {path.name}"
        )
    return path
