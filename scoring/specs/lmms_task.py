"""Task files of lmms-eval as specs.

Most of a task is Python code, which its file names by `!function`. We list such names, and never look for the code or
run it. What we read is the data set's name, a target that is a column, and the metrics `exact_match` and `anls` where
lmms-eval itself computes them. Fields are those of lmms-eval's `TaskConfig` (August 2026).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.specs.files import file_beside, file_content
from scoring.specs.problems import SpecError, SpecProblem, either, quoted
from scoring.specs.translated import Translated, plain_name, shortened, translated
from scoring.specs.yaml_text import Code, YamlError, read_yaml

FORM = "a task of lmms-eval"
_MOST_FILES = 20
"""Most files that a task may include."""
_METRICS = ("exact_match", "anls")
_COLUMNS = ("doc_to_text", "doc_to_target")
_TAKEN = ("task", "dataset_path", "dataset_name", "test_split", "metric_list", *_COLUMNS)
_METRIC_FIELDS = ("metric", "aggregation", "higher_is_better", "ignore_case")
_IGNORED = ("output_type", "generation_kwargs", "dataset_kwargs", "metadata", "tag", "task_alias")
"""Fields about how a model is asked. A spec has nothing like them, and leaving them out isn't reported."""
_TRUE_VALUES = ("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", 1)
"""Texts and numbers that lmms-eval takes as true: our reader of YAML leaves `true` a text."""
_NOTES: Mapping[str, str] = {
    "filter_list": "what its filters take out of an answer is not taken out here",
    "description": "stands before each question there, and is not read",
}


def task_spec(raw: Mapping[str, Any], folder: Path) -> Translated:
    """Returns a task file's value as a spec; files that it includes are in the same folder. Raises SpecError."""
    task = _with_included_fields(raw, folder, names_read=[])
    problems = [*_problems(task)]
    if problems:
        raise SpecError(problems)
    name = str(task["task"])
    metric = _usable_metrics(task)[0]
    split = task.get("test_split")
    data_set = _data_set(task)
    columns = {
        "truth": _column(task["doc_to_target"]),
        "question": _column(task.get("doc_to_text")),
    }
    question_file = {"name": plain_name(name), "split": split, "note": data_set}
    # Our protocol `lmms-eval` of the rule `text` compares in another way than lmms-eval's `exact_match`.
    protocols = ["strict", "lmms-eval"] if metric["metric"] == "anls" else ["strict"]
    spec = {
        "name": name,
        "about": f"lmms-eval's task {name}; {data_set}.",
        "called": [name[:200]],
        "columns": {role: column for role, column in columns.items() if column},
        "rule": _rule(metric),
        "protocols": protocols,
        "questions": [{field: value for field, value in question_file.items() if value}],
    }
    return translated(FORM, name, spec, [*_left_out(task, metric)])


def _with_included_fields(
    raw: Mapping[str, Any], folder: Path, names_read: list[str]
) -> Mapping[str, Any]:
    """Returns a task with the fields of the files it includes; its own fields win. Raises SpecError.

    `names_read`: the names of the files that were included so far, to which more are added.
    """
    include = raw.get("include", [])
    names = include if isinstance(include, list) else [include]
    task: dict[str, Any] = {}
    for name in reversed(names):  # the first file's fields win
        included = _read_included(name, folder, names_read)
        task |= _with_included_fields(included, folder, names_read)
    task |= {field: value for field, value in raw.items() if field != "include"}
    return task


def _read_included(name: Any, folder: Path, names_read: list[str]) -> Mapping[str, Any]:
    """Returns the value of a file beside a task, and adds the file's name to `names_read`. Raises SpecError."""
    path = file_beside(name, folder) if isinstance(name, str) else None
    if path is None:
        text = f"The file {quoted(name)} isn't in this folder. Put it there."
        raise SpecError([SpecProblem("include", text)])
    names_read.append(path.name)
    if len(names_read) > _MOST_FILES:
        text = f"The file {quoted(name)} is one too many: {_MOST_FILES} may be included. Join some."
        raise SpecError([SpecProblem("include", text)])
    try:
        value = read_yaml(file_content(path), names_code=True)
    except YamlError as error:
        raise SpecError([SpecProblem("include", f"{path.name}: {error}")]) from None
    if not isinstance(value, Mapping):
        text = f"{path.name}: Write names with values, as in `name: value`, instead of {quoted(value)}."
        raise SpecError([SpecProblem("include", text)])
    return value


def _problems(task: Mapping[str, Any]) -> Iterator[SpecProblem]:
    if isinstance(task.get("task"), list):
        yield SpecProblem("task", "This is a group of tasks. Choose the file of one of them.")
        return
    for field in ("task", "dataset_path"):
        if not _is_text(task.get(field)):
            yield SpecProblem(field, f"Write a name instead of {quoted(task.get(field))}.")
    for field in ("dataset_name", "test_split"):
        if not isinstance(task.get(field), str | int | None):
            yield SpecProblem(field, f"Write a name instead of {quoted(task[field])}.")
    target = task.get("doc_to_target")
    if _column(target) is None:
        text = f"Write the column of right answers instead of {quoted(target)}."
        yield SpecProblem("doc_to_target", text)
    yield from _metric_problems(task)


def _metric_problems(task: Mapping[str, Any]) -> Iterator[SpecProblem]:
    code = task.get("process_results")
    if code is not None:
        text = f"{quoted(code)} computes the metrics, and a task's code is never run."
        yield SpecProblem("process_results", f"{text} Write the spec's rule yourself.")
    elif not _usable_metrics(task):
        yield SpecProblem("metric_list", _metric_advice(task))


def _metric_advice(task: Mapping[str, Any]) -> str:
    """Returns what to do about a task without a usable metric."""
    names = [_metric_name(metric) for metric in _list_or_empty(task.get("metric_list"))]
    for name in names:
        if name in _METRICS:
            return (
                f"We read {name} only as {{metric: {name}, aggregation: mean}}. Write it like that."
            )
    problem = f"We don't know {either(map(repr, names))}." if names else "There are no metrics."
    return f"{problem} Choose {either(_METRICS)}."


def _usable_metrics(task: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The metrics that are read: means of scores that lmms-eval computes itself."""
    return [
        metric
        for metric in _list_or_empty(task.get("metric_list"))
        if isinstance(metric, Mapping)
        and metric.get("metric") in _METRICS
        and metric.get("aggregation", "mean") == "mean"
    ]


def _metric_name(metric: Any) -> str:
    return str(metric.get("metric") if isinstance(metric, Mapping) else metric)[:40]


def _rule(metric: Mapping[str, Any]) -> Any:
    if metric["metric"] == "anls":
        return "anls"
    if metric.get("ignore_case") in _TRUE_VALUES:
        return "text"
    return {"kind": "text", "fold": "none"}


def _column(value: Any) -> str | None:
    """The column that a field names, also as `{{answer}}`; None for code and other templates."""
    if not _is_text(value):
        return None
    name = value.strip()
    if name.startswith("{{") and name.endswith("}}"):
        name = name[2:-2].strip()
        return name if name.isidentifier() else None
    is_template = any(sign in name for sign in "{}%")
    return None if is_template or len(name) > 200 else name


def _data_set(task: Mapping[str, Any]) -> str:
    name = task.get("dataset_name")
    part = f", configuration {name}" if name is not None else ""
    return shortened(f"data set {task['dataset_path']}{part}", 200)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _list_or_empty(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _left_out(task: Mapping[str, Any], metric: Mapping[str, Any]) -> Iterator[str]:
    """Yields the parts of a task that its spec leaves out."""
    for field, value in task.items():
        if isinstance(value, Code):
            yield f"{field}: {value}, which is never run"
        elif field in _COLUMNS and _column(value) is None:
            yield f"{field}: the template {quoted(value)}"
        elif field not in (*_TAKEN, *_IGNORED):
            yield f"{field}: {_NOTES.get(field, 'not read')}"
    yield from _unread_metrics(task, metric)


def _unread_metrics(task: Mapping[str, Any], metric: Mapping[str, Any]) -> Iterator[str]:
    for other in _list_or_empty(task.get("metric_list")):
        if other is not metric:
            yield f"metric_list: {_metric_name(other)}"
    for name in metric:
        if name not in _METRIC_FIELDS:
            yield f"metric_list.{metric['metric']}: {name}"
