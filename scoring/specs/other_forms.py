"""Files of benchmarks in any form that is read: specs, the Hub's `eval.yaml`, and tasks of lmms-eval."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.specs.files import file_content, load_spec
from scoring.specs.hub_eval import eval_specs
from scoring.specs.lmms_task import task_spec
from scoring.specs.problems import SpecError, SpecProblem, either
from scoring.specs.translated import Translated
from scoring.specs.yaml_text import YamlError, read_yaml


def load_benchmarks(path: Path) -> Sequence[Translated]:
    """The benchmarks of a file: one, or each task of an `eval.yaml`. Raises SpecError, with the file's name."""
    try:
        raw = read_yaml(file_content(path), names_code=True)
        if _is_eval(raw):
            return eval_specs(raw)
        if _is_lmms_task(raw):
            return [task_spec(raw, path.parent)]
    except YamlError as error:
        raise SpecError([SpecProblem("", str(error))], path.name) from None
    except SpecError as error:
        raise SpecError(error.problems, path.name) from None
    spec = load_spec(path)
    return [Translated("", spec.name, spec, ())]


def load_benchmark(path: Path, task: str | None) -> Translated:
    """The one benchmark of a file, or the one that `task` names. Raises SpecError."""
    found = load_benchmarks(path)
    names = [each.task for each in found]
    if task is not None and task not in names:
        text = f"expected one of {either(names)}, found {task[:60]!r}"
        raise SpecError([SpecProblem("--task", text)], path.name)
    if task is None and len(found) > 1:
        text = f"there are {len(found)} ({', '.join(names)}); choose one with --task NAME"
        raise SpecError([SpecProblem("tasks", text)], path.name)
    return found[names.index(task) if task is not None else 0]


def _is_eval(raw: Any) -> bool:
    return isinstance(raw, Mapping) and ("tasks" in raw or "evaluation_framework" in raw)


def _is_lmms_task(raw: Any) -> bool:
    is_task = isinstance(raw, Mapping) and bool({"task", "dataset_path", "doc_to_target"} & {*raw})
    return is_task and "rule" not in raw
