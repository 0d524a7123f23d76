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
FindFile: TypeAlias = Callable[[str], Path | None]
"""Finds the file of this name that a spec may read; None if there is none."""
_CsvRow: TypeAlias = dict[str | None, Any]
"""Cells by head; cells beyond the last head are a list under None."""
_PUBLISHED_COLUMNS = tuple(
    name for name, field in PublishedFigure.model_fields.items() if field.is_required()
)
"""Columns that a table of published numbers must have."""


def load_spec(path: Path) -> Spec:
    """The spec of a file; files that it names are looked for in its folder, then among ours.

    Raises SpecError, with the file's name.
    """
    try:
        raw = read_yaml(file_content(path))
    except YamlError as error:
        raise SpecError([SpecProblem("", str(error))], path.name) from None
    return named_spec(raw, path.name, finder_near(path))


def named_spec(raw: Any, name: str, find_file: FindFile) -> Spec:
    """The spec that a file's parsed YAML holds. Raises SpecError with `name`, by which its owner knows the file."""
    try:
        # What is no mapping names no files; `spec_of` reports it.
        return spec_of(_with_files(raw, find_file) if isinstance(raw, Mapping) else raw)
    except SpecError as error:
        raise SpecError(error.problems, name) from None


def load_folder(folder: Path) -> Iterator[tuple[str, Spec]]:
    """Yields every spec of a folder with its key, which is its file's name. Raises SpecError."""
    spec_by_name: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        spec = load_spec(path)
        for name in spec.called:
            if other := spec_by_name.get(name.lower()):
                text = f"{name!r} is already the name of {other}. Choose another."
                raise SpecError([SpecProblem("called", text)], path.name)
            spec_by_name[name.lower()] = spec.name
        yield path.stem, spec


def file_content(path: Path) -> bytes:
    """A file's bytes, at most `LARGEST` and one more, which shows that the file is too large. Raises SpecError."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        problem = SpecProblem("", f"The file can't be read: {error.strerror}. Choose another.")
        raise SpecError([problem], path.name) from None


def _with_files(raw: Mapping[str, Any], find_file: FindFile) -> Mapping[str, Any]:
    """A spec's parsed YAML with the contents of the files that it names instead of their names. Raises SpecError."""
    filled = dict(raw)
    if "rule" in raw:
        filled["rule"] = _with_prompts(raw["rule"], find_file)
    if isinstance(raw.get("derive"), Mapping):
        filled["derive"] = {
            name: _with_names(derived, f"derive.{name}", find_file)
            for name, derived in raw["derive"].items()
        }
    if isinstance(raw.get("published"), str):
        filled["published"] = _published_rows(raw["published"], find_file)
    return filled


def _with_prompts(rule: Any, find_file: FindFile) -> Any:
    """A rule, or its cases, with the texts of their prompts in place of files' names. Raises SpecError."""
    if not isinstance(rule, list):
        return _with_prompt(rule, find_file)
    cases = []
    for case in rule:
        if isinstance(case, Mapping) and "rule" in case:
            cases.append({**case, "rule": _with_prompt(case["rule"], find_file)})
        else:
            cases.append(case)
    return cases


def _with_prompt(rule: Any, find_file: FindFile) -> Any:
    """A rule with the text of its prompt's file instead of the file's name.

    Without such a file the name stays, and the schema reports it. Raises SpecError.
    """
    prompt = rule.get("prompt") if isinstance(rule, Mapping) else None
    if not isinstance(prompt, str) or not PROMPT_FILE.fullmatch(prompt):
        return rule
    file = find_file(prompt)
    if file is None:
        return rule
    content = file_content(file)
    if len(content) > LARGEST:
        text = f"{prompt} is over {LARGEST:,} bytes. Shorten it."
        raise SpecError([SpecProblem("rule.prompt", text)])
    try:
        return {**rule, "prompt": content.decode("utf-8-sig")}
    except UnicodeDecodeError:
        text = f"{prompt} isn't UTF-8 text. Save it with the encoding UTF-8."
        raise SpecError([SpecProblem("rule.prompt", text)]) from None


def finder_near(path: Path) -> FindFile:
    """Returns a function that finds files in the folder of the spec at this path, else among ours."""
    return lambda name: file_beside(name, path.parent) or file_beside(name, OURS)


def file_beside(name: str, folder: Path) -> Path | None:
    """The file of this name in a folder; None without one, and for a link to elsewhere."""
    # Looked up among the folder's own names, since a name from a spec may be a path that leads out of it.
    inside = [path for path in folder.iterdir() if path.name == name and path.is_file()]
    return inside[0] if inside and not inside[0].is_symlink() else None


def _with_names(derived: Any, place: str, find_file: FindFile) -> Any:
    """A derived column whose `names` are a table's file, with the table's cells instead; any other unchanged.

    The new `names` map the cells of the table's first column to those of its column `column`. Raises SpecError.
    """
    if not isinstance(derived, Mapping) or not isinstance(derived.get("names"), str):
        return derived
    rows = _table_rows(derived["names"], place, find_file)
    column = str(derived.get("column"))
    heads = [head for head in rows[0] if head is not None] if rows else []
    if column not in heads[1:]:
        text = (
            f"{derived['names']} has the columns {', '.join(heads) or 'none'}. "
            "Set `column` to one of them after the first."
        )
        raise SpecError([SpecProblem(place, text)])
    names = {row[heads[0]]: row[column] or "" for row in rows}
    fields = {name: value for name, value in derived.items() if name != "column"}
    return {**fields, "names": names}


def _table_rows(name: str, place: str, find_file: FindFile) -> list[_CsvRow]:
    """The rows of a CSV beside the spec. Raises SpecError."""
    file = find_file(name)
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


def _published_rows(name: str, find_file: FindFile) -> list[_CsvRow]:
    """The rows of a table of published numbers. Raises SpecError."""
    rows = _table_rows(name, "published", find_file)
    heads = {*rows[0]} if rows else set()
    if heads - {"apart"} != {*_PUBLISHED_COLUMNS}:  # "apart" is the one column that may be absent
        columns = ", ".join(_PUBLISHED_COLUMNS)
        text = f"{name} doesn't have the columns {columns}. Write these, and a row for each number."
        raise SpecError([SpecProblem("published", text)])
    return [_filled_cells(row) for row in rows]


def _filled_cells(row: _CsvRow) -> _CsvRow:
    """A row without its empty cells, for which the schema has defaults."""
    return {column: cell for column, cell in row.items() if cell}
