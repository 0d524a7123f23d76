"""Files of benchmarks in any form that is read: specs, the Hub's `eval.yaml`, and tasks of lmms-eval."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arena.cache import Cache
from scoring.specs import hub_eval, lmms_task
from scoring.specs.files import FindFile, file_content, finder_near, named_spec
from scoring.specs.problems import SpecError, SpecProblem, either
from scoring.specs.schema import Spec
from scoring.specs.translated import Translated
from scoring.specs.yaml_text import YamlError, read_yaml


def load_benchmarks(path: Path) -> Sequence[Translated]:
    """The benchmarks of a file: one, or each task of an `eval.yaml`. Raises SpecError, with the file's name."""
    try:
        raw = _read_file(path)
        form = _form_of(raw)
        if form == hub_eval.FORM:
            return hub_eval.eval_specs(raw)
        if form == lmms_task.FORM:
            return [lmms_task.task_spec(raw, path.parent)]
    except YamlError as error:
        raise SpecError([SpecProblem("", str(error))], path.name) from None
    except SpecError as error:
        raise SpecError(error.problems, path.name) from None
    spec = named_spec(raw, path.name, finder_near(path))
    return [Translated(form="", task=spec.name, spec=spec, left_out=())]


def load_benchmark(path: Path, task: str | None) -> Translated:
    """The one benchmark of a file, or the one that `task` names. Raises SpecError."""
    benchmarks = load_benchmarks(path)
    names = [benchmark.task for benchmark in benchmarks]
    if task is not None and task not in names:
        text = f"{task[:60]!r} isn't a task in it. Choose {either(names)}."
        raise SpecError([SpecProblem("--task", text)], path.name)
    if task is None and len(benchmarks) > 1:
        text = f"It has {len(benchmarks)} tasks: {', '.join(names)}. Choose one with --task NAME."
        raise SpecError([SpecProblem("tasks", text)], path.name)
    return benchmarks[names.index(task) if task is not None else 0]


def own_spec(path: Path, name: str, find_file: FindFile) -> Spec:
    """The spec of a file in our own form. Raises SpecError with `name`, by which its owner knows the file."""
    try:
        raw = _read_file(path)
    except YamlError as error:
        raise SpecError([SpecProblem("", str(error))], name) from None
    except SpecError as error:
        raise SpecError(error.problems, name) from None
    form = _form_of(raw)
    if form:
        way = f"python -m scoring benchmarks {name} --as spec --out NAME.yaml"
        raise SpecError([SpecProblem("", f"This is {form}. Make it a spec first: {way}")], name)
    return named_spec(raw, name, find_file)


_VALUES: Cache[Any] = Cache(50)
"""The values of the files that were read last, by their content."""


def _read_file(path: Path) -> Any:
    """A file's parsed YAML, read once for equal content. Raises YamlError and SpecError."""
    content = file_content(path)
    return _VALUES.get(content, lambda: _read_content(content))


def _read_content(content: bytes) -> Any:
    """Returns parsed YAML. Only a file in another form than ours may name code. Raises YamlError."""
    try:
        return read_yaml(content)
    except YamlError:
        # The form is known only after reading. A file of ours keeps the first error.
        raw = read_yaml(content, names_code=True)
        if not _form_of(raw):
            raise
        return raw


def _form_of(raw: Any) -> str:
    """The name of the other form that parsed YAML is in; "" for our own."""
    if _is_eval(raw):
        return hub_eval.FORM
    return lmms_task.FORM if _is_lmms_task(raw) else ""


def _is_eval(raw: Any) -> bool:
    return isinstance(raw, Mapping) and ("tasks" in raw or "evaluation_framework" in raw)


def _is_lmms_task(raw: Any) -> bool:
    if not isinstance(raw, Mapping) or "rule" in raw:
        return False
    return any(field in raw for field in ("task", "dataset_path", "doc_to_target"))
