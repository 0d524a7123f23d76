"""Specs as files: a spec is read with the files that it names, and nothing else is opened."""

import csv
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from scoring.rules.prompted import PROMPT_FILE
from scoring.specs.problems import SpecError, SpecProblem
from scoring.specs.schema import PublishedFigure, Spec, spec_of
from scoring.specs.yaml_text import LARGEST, YamlError, read_yaml

SPEC_ENDINGS = (".yaml", ".yml")
OURS = Path(__file__).parents[1] / "benchmarks"
"""The folder of the specs and prompts that come with this program."""
Beside: TypeAlias = Callable[[str], Path | None]
"""The file of this name beside a spec; None without one."""
_COLUMNS = tuple(
    name for name, field in PublishedFigure.model_fields.items() if field.is_required()
)


def load_spec(path: Path) -> Spec:
    """The spec of a file; what it names lies in its folder or is ours. Raises SpecError, with the file's name."""
    try:
        raw = read_yaml(file_content(path))
    except YamlError as error:
        raise SpecError([SpecProblem("", str(error))], path.name) from None
    return named_spec(raw, path.name, near(path))


def named_spec(raw: Any, name: str, beside: Beside) -> Spec:
    """The spec that the value of a file is, which its owner calls so. Raises SpecError, with this name."""
    try:
        return spec_of(_with_files(raw, beside) if isinstance(raw, Mapping) else raw)
    except SpecError as error:
        raise SpecError(error.problems, name) from None


def load_folder(folder: Path) -> Iterator[tuple[str, Spec]]:
    """Yields every spec of a folder with its key, which is its file's name. Raises SpecError."""
    taken: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        spec = load_spec(path)
        for name in spec.called:
            if other := taken.get(name.lower()):
                text = f"{name!r} is already the name of {other}. Choose another."
                raise SpecError([SpecProblem("called", text)], path.name)
            taken[name.lower()] = spec.name
        yield path.stem, spec


def file_content(path: Path) -> bytes:
    """A file's bytes, one more than are read at most. Raises SpecError."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        problem = SpecProblem("", f"The file can't be read: {error.strerror}. Choose another.")
        raise SpecError([problem], path.name) from None


def _with_files(raw: Mapping[str, Any], beside: Beside) -> Mapping[str, Any]:
    """The spec with what lies in the files that it names in place of their names. Raises SpecError."""
    read = dict(raw)
    if "rule" in raw:
        read["rule"] = _with_prompts(raw["rule"], beside)
    if isinstance(raw.get("derive"), Mapping):
        read["derive"] = {
            name: _with_names(derived, f"derive.{name}", beside)
            for name, derived in raw["derive"].items()
        }
    if isinstance(raw.get("published"), str):
        read["published"] = _published(raw["published"], beside)
    return read


def _with_prompts(rule: Any, beside: Beside) -> Any:
    """A rule, or its cases, with the texts of their prompts in place of files' names. Raises SpecError."""
    if not isinstance(rule, list):
        return _with_prompt(rule, beside)
    return [
        {**case, "rule": _with_prompt(case.get("rule"), beside)}
        if isinstance(case, Mapping) and "rule" in case
        else case
        for case in rule
    ]


def _with_prompt(rule: Any, beside: Beside) -> Any:
    """A rule with the text of its prompt, which lies beside the spec.

    That a file isn't there is the schema's to tell. Raises SpecError.
    """
    prompt = rule.get("prompt") if isinstance(rule, Mapping) else None
    if not isinstance(prompt, str) or not PROMPT_FILE.fullmatch(prompt):
        return rule
    file = beside(prompt)
    if file is None:
        return rule
    try:
        return {**rule, "prompt": file_content(file).decode("utf-8-sig")}
    except UnicodeDecodeError:
        text = f"{prompt} isn't UTF-8 text. Save it with the encoding UTF-8."
        raise SpecError([SpecProblem("rule.prompt", text)]) from None


def near(path: Path) -> Beside:
    """Returns a function that finds the files a spec on this machine names: in its folder, else among ours."""
    return lambda name: file_beside(name, path.parent) or file_beside(name, OURS)


def file_beside(name: str, folder: Path) -> Path | None:
    """The file of this name in a folder; None without one, and for a link to elsewhere."""
    inside = [path for path in folder.iterdir() if path.name == name and path.is_file()]
    return inside[0] if inside and not inside[0].is_symlink() else None


def _with_names(derived: Any, place: str, beside: Beside) -> Any:
    """A derived column with the names of a table beside the spec: those in its `column`, by the cells of its first.

    Raises SpecError.
    """
    if not isinstance(derived, Mapping) or not isinstance(derived.get("names"), str):
        return derived
    rows = _table(derived["names"], place, beside)
    column = str(derived.get("column"))
    known = [*rows[0]] if rows else []
    if column not in known[1:]:
        text = (
            f"{derived['names']} has the columns {', '.join(known) or 'none'}. "
            "Set `column` to one of them after the first."
        )
        raise SpecError([SpecProblem(place, text)])
    names = {row[known[0]]: row[column] or "" for row in rows}
    return {**{name: value for name, value in derived.items() if name != "column"}, "names": names}


def _table(name: str, place: str, beside: Beside) -> list[dict[str, str]]:
    """The rows of a CSV beside the spec. Raises SpecError."""
    file = beside(name)
    if file is None:
        text = f"The file {name[:60]!r} isn't beside the spec. Put it there, or leave it out."
        raise SpecError([SpecProblem(place, text)])
    content = file_content(file)
    if len(content) > LARGEST:
        text = f"{name} is over {LARGEST:,} bytes. Leave some rows out."
        raise SpecError([SpecProblem(place, text)])
    try:
        text = content.decode("utf-8-sig")
        return [*csv.DictReader(StringIO(text), strict=True)]
    except (UnicodeDecodeError, csv.Error):
        raise SpecError(
            [SpecProblem(place, f"{name} isn't CSV. Save it as CSV in UTF-8.")]
        ) from None


def _published(name: str, beside: Beside) -> list[dict[str, Any]]:
    """The rows of a table of published numbers. Raises SpecError."""
    rows = _table(name, "published", beside)
    if not rows or {*rows[0]} - {"apart"} != {*_COLUMNS}:
        columns = ", ".join(_COLUMNS)
        text = f"{name} doesn't have the columns {columns}. Write these, and a row for each number."
        raise SpecError([SpecProblem("published", text)])
    return [{column: cell for column, cell in row.items() if cell} for row in rows]
