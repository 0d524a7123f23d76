"""Output paths of commands: never a file that they read, and checked before the work."""

from collections.abc import Iterable
from pathlib import Path

from typer import BadParameter


class OutputError(ValueError):
    """A command would overwrite a file that it reads; the message names the file."""


def refuse_overwriting(written: Iterable[Path], *read: Path | None) -> None:
    """Raises OutputError if one of the files to be written is a file that is read."""
    inputs = [source for source in read if source and source.exists()]
    for path in written:
        if path.exists() and any(path.samefile(source) for source in inputs):
            raise OutputError(
                f"This command reads {path}, so it can't overwrite it. Choose another place."
            )


def output_folder(path: Path) -> Path:
    """Checks a folder's option; the folder may be new."""
    nearest_existing = next(
        folder for folder in (path, *path.absolute().parents) if folder.exists()
    )
    if not nearest_existing.is_dir():
        raise BadParameter(f"{nearest_existing} is a file. Name a folder (it can be new).")
    return path


def output_file(path: Path | None) -> Path | None:
    """Checks a file's option."""
    if path and path.is_dir():
        raise BadParameter(f"{path} is a folder. Name a file in it.")
    if path and not path.parent.is_dir():
        raise BadParameter(
            f"The folder {path.parent} doesn't exist. Make it, or choose another place for {path.name}."
        )
    return path
