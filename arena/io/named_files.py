"""Named files: files below a folder by the names that a person's table gives them."""

import os
import unicodedata
from pathlib import Path, PurePath


def named_file(folder: Path, name: str) -> Path:
    """The path of a name below a folder; a part that is not there is looked for in Unicode's other form.

    macOS writes accents as signs of their own (NFD), most other systems as letters with accents (NFC).
    """
    path = folder
    for part in PurePath(name).parts:
        member = _member(path, part)
        if member is None:
            return folder / name
        path = member
    return path


def _member(folder: Path, part: str) -> Path | None:
    names = (part, *(unicodedata.normalize(form, part) for form in ("NFC", "NFD")))
    paths = (folder / each for each in names)
    return next((path for path in paths if os.path.lexists(path)), None)


def same_name(name: str) -> str:
    """Returns what two names have in common that differ in Unicode's form alone."""
    return unicodedata.normalize("NFC", name)
