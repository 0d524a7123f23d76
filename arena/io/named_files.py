"""Named files: files below a folder by the names that a person's table gives them."""

import os
import unicodedata
from pathlib import Path


def named_file(folder: Path, name: str) -> Path:
    """The path of a name below a folder; if nothing is there, of the same name in Unicode's other form.

    macOS writes accents as signs of their own (NFD), most other systems as letters with accents (NFC).
    """
    names = (name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD")))
    paths = [folder / each for each in names]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def same_name(name: str) -> str:
    """Return what two names have in common that differ in Unicode's form alone."""
    return unicodedata.normalize("NFC", name)
