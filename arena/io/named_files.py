"""Named files: files below a folder, found by the names in a table."""

import os
import unicodedata
from pathlib import Path, PurePath


def named_file(folder: Path, name: str) -> Path:
    """Returns the path of a name below a folder; a part that is missing is looked for in Unicode's other form.

    macOS writes a letter and its accent as two characters (NFD), most other systems as one (NFC).
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
    paths = (folder / name for name in names)
    return next((path for path in paths if os.path.lexists(path)), None)


def composed_name(name: str) -> str:
    """Returns a name in Unicode's form NFC, so that names that differ in form alone are equal."""
    return unicodedata.normalize("NFC", name)
