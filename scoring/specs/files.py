"""Specs in folders: a file is read with what it names beside it, and nothing else is opened."""

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from scoring.specs.problems import SpecError, SpecProblem
from scoring.specs.schema import PublishedFigure, Spec, spec_of
from scoring.specs.yaml_text import LARGEST, YamlError, read_yaml

SPEC_ENDINGS = (".yaml", ".yml")
_COLUMNS = tuple(PublishedFigure.model_fields)


def load_spec(path: Path) -> Spec:
    """The spec of a file; a table of published numbers lies in its folder. Raises SpecError, with the file's name."""
    try:
        raw = read_yaml(file_content(path))
        return spec_of(_with_published(raw, path.parent) if isinstance(raw, Mapping) else raw)
    except YamlError as error:
        raise SpecError([SpecProblem("", str(error))], path.name) from None
    except SpecError as error:
        raise SpecError(error.problems, path.name) from None


def load_folder(folder: Path) -> Iterator[tuple[str, Spec]]:
    """Yield every spec of a folder with its key, which is its file's name. Raises SpecError."""
    taken: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        spec = load_spec(path)
        for name in spec.called:
            if other := taken.get(name.lower()):
                text = f"{name!r} is taken already, by {other}; choose another name"
                raise SpecError([SpecProblem("called", text)], path.name)
            taken[name.lower()] = spec.name
        yield path.stem, spec


def file_content(path: Path) -> bytes:
    """A file's bytes, one more than are read at most. Raises SpecError."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        problem = SpecProblem("", f"the file cannot be read ({error.strerror})")
        raise SpecError([problem], path.name) from None


def file_beside(folder: Path, name: str) -> Path | None:
    """The file of this name in a folder itself, and no link to elsewhere; None without one."""
    inside = [path for path in folder.iterdir() if path.name == name and path.is_file()]
    return inside[0] if inside and not inside[0].is_symlink() else None


def _with_published(raw: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """The spec with the rows of its table of published numbers in place of the table's name. Raises SpecError."""
    name = raw.get("published")
    if not isinstance(name, str):
        return raw
    table = file_beside(folder, name)
    if table is None:
        text = f"there is no file {name[:60]!r} beside the spec; put it there, or leave it out"
        raise SpecError([SpecProblem("published", text)])
    try:
        text = file_content(table).decode("utf-8-sig")
        rows = [*csv.DictReader(StringIO(text), strict=True)]
    except (UnicodeDecodeError, csv.Error):
        raise SpecError([SpecProblem("published", f"{name} is no CSV; save it as one")]) from None
    if not rows or {*rows[0]} != {*_COLUMNS}:
        columns = ", ".join(_COLUMNS)
        text = f"{name} needs the columns {columns}, and a row for each number"
        raise SpecError([SpecProblem("published", text)])
    return {**raw, "published": rows}
