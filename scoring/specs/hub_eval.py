"""The Hub's `eval.yaml`: its tasks as specs, and a spec as one of its tasks.

A data set on the Hugging Face Hub says with this file how inspect_ai asks and scores it: which columns hold what
(`field_spec`), how a model is asked (`solvers`) and how its answer is scored (`scorers`). Fields are those of
inspect_ai's `HFTask` (August 2026) and of the Hub's page on evaluation results, which also writes `scores`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from scoring.multiple_choice.columns import option_columns
from scoring.multiple_choice.option_texts import LIST_COLUMNS
from scoring.specs.figures import Figure, Word, Words
from scoring.specs.problems import SpecError, SpecProblem, either, quoted, spec_problems
from scoring.specs.schema import Spec, kind_of
from scoring.specs.translated import Translated, comment, plain_name, shortened, translated
from scoring.specs.yaml_text import write_yaml

FORM = "the Hub's eval.yaml"
_FORM_AT_START = "The Hub's eval.yaml"
"""The form's name at the beginning of a sentence."""
INSPECT = "inspect-ai"
LITERAL = "literal:"
"""Begins a target that is an answer itself instead of a column."""
_RUBRIC = """\
The question was:
{question}
A right answer is:
{truth}
The answer was:
{answer}
0: the answer is wrong, or says something else. 1: it says what the right answer says.
"""
"""Our prompt: inspect_ai's asks for letters, which its own pattern reads."""
_GRADED_RULE: Mapping[str, Any] = {"kind": "rubric", "grades": [0, 1], "step": 1, "marks": 1}
_RULES: Mapping[str, Mapping[str, Any]] = {
    "choice": {"kind": "letter", "open": None},
    "exact": {"kind": "text", "compare": "equal", "as": "text"},
    "includes": {"kind": "text", "compare": "contains", "as": "text"},
    "math": {"kind": "number", "as": "formula"},
    "model_graded_qa": {**_GRADED_RULE, "prompt": _RUBRIC},
    "model_graded_fact": {**_GRADED_RULE, "prompt": _RUBRIC},
}
"""Our rule for each scorer that is read. A rule with the same values, but for the prompt, is that scorer."""
_PLAIN_SOLVERS = ("generate", "multiple_choice")
"""Solvers that ask the question, with its options where it has some, as we do."""
_SANDBOX_FIELDS = ("sandbox", "files", "setup")
"""Fields that name the columns of a row's sandbox, in which its answer runs."""
_MOST_GROUPS = 20
"""The most groups of a spec."""


class FieldSpec(BaseModel):
    """Which of a data set's columns hold what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Word = "input"
    target: Word = "target"
    choices: Words | None = None
    """One column with a list, or a column for each option."""
    input_image: Word | None = None
    metadata: Words = ()
    id: Word | None = None
    sandbox: Word | None = None
    files: Word | None = None
    setup: Word | None = None


class Step(BaseModel):
    """A solver or a scorer, with its arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Word
    args: Mapping[str, Any] = {}


_Steps = Annotated[tuple[Step, ...], Field(min_length=1, max_length=20)]


class EvalTask(BaseModel):
    """A task of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Word | None = None
    config: Word = "default"
    split: Word = "test"
    field_spec: FieldSpec
    shuffle_choices: Any = None
    epochs: Any = None
    epoch_reducer: Any = None
    solvers: _Steps
    scorers: _Steps = Field(validation_alias=AliasChoices("scorers", "scores"))


_MEMBER_FIELDS: Mapping[str, Iterable[str]] = {
    "field_spec": FieldSpec.model_fields,
    **dict.fromkeys(("solvers", "scorers"), Step.model_fields),
}
"""Fields that the members of a task may have, for a problem's text."""


def eval_specs(raw: Mapping[str, Any]) -> Sequence[Translated]:
    """Each task of an `eval.yaml` as a spec. Raises SpecError with all problems of the file."""
    tasks = _tasks(raw)
    unknown = raw.keys() - {"name", "description", "evaluation_framework", "tasks"}
    left_out = [f"{name}: no field that we know" for name in sorted(unknown)]
    return [_spec(raw, task, len(tasks), left_out) for task in tasks]


def _tasks(raw: Mapping[str, Any]) -> Sequence[EvalTask]:
    problems = [
        SpecProblem(name, f"Write a text instead of {quoted(raw[name])}.")
        for name in ("name", "description")
        if not isinstance(raw.get(name), str | None)
    ]
    framework = raw.get("evaluation_framework", INSPECT)
    if framework != INSPECT:
        text = (
            f"{quoted(framework)} scores its tasks with its own code. Choose a file for {INSPECT}."
        )
        raise SpecError([*problems, SpecProblem("evaluation_framework", text)])
    entries = raw.get("tasks")
    if not isinstance(entries, list) or not entries:
        text = (
            "Write a list of tasks, each with field_spec, solvers and scorers, "
            f"instead of {quoted(entries)}."
        )
        raise SpecError([*problems, SpecProblem("tasks", text)])
    tasks: list[EvalTask] = []
    for number, entry in enumerate(entries, start=1):
        place = f"tasks.{number}"
        try:
            task = EvalTask.model_validate(entry)
        except ValidationError as error:
            problems += spec_problems(error, place, EvalTask.model_fields, _MEMBER_FIELDS)
            continue
        problems += _task_problems(task, place)
        if len(entries) > 1:
            problems += _id_problems(task, tasks, place)
        tasks.append(task)
    if problems:
        raise SpecError(problems)
    return tasks


def _id_problems(
    task: EvalTask, tasks_above: Iterable[EvalTask], place: str
) -> Iterator[SpecProblem]:
    problem = ""
    if task.id is None:
        problem = "This is missing"
    elif any(other.id == task.id for other in tasks_above):
        problem = f"{quoted(task.id)} is another task's id"
    if problem:
        yield SpecProblem(f"{place}.id", f"{problem}. Give each of several tasks its own id.")


def _task_problems(task: EvalTask, place: str) -> Iterator[SpecProblem]:
    fields = task.field_spec
    if fields.target.startswith(LITERAL):
        text = f"{quoted(fields.target)} is one answer for all questions. Name a column."
        yield SpecProblem(f"{place}.field_spec.target", text)
    names = [scorer.name for scorer in task.scorers]
    if not any(name in _RULES for name in names):
        text = f"We don't know {either(map(repr, names))}. Choose {either(_RULES)}."
        yield SpecProblem(f"{place}.scorers", text)
    elif _scorer(task).name == "choice" and fields.choices is None:
        text = "This is missing. Name the columns of options."
        yield SpecProblem(f"{place}.field_spec.choices", text)


def _scorer(task: EvalTask) -> Step:
    """The first scorer that is read."""
    return next(scorer for scorer in task.scorers if scorer.name in _RULES)


def _spec(
    raw: Mapping[str, Any], task: EvalTask, task_count: int, left_out: Sequence[str]
) -> Translated:
    fields = task.field_spec
    name = raw.get("name") or task.id or "Benchmark"
    spec_name = f"{name}: {task.id}" if task_count > 1 and name != task.id else name
    columns = {
        "id": fields.id,
        "question": fields.input,
        "truth": fields.target,
        "options": [*fields.choices] if fields.choices else None,
        "images": fields.input_image,
    }
    ask = _prompt_of_task(task)
    spec = {
        "name": spec_name,
        "about": raw.get("description") or f"{spec_name}, by its eval.yaml.",
        "columns": {role: column for role, column in columns.items() if column is not None},
        "groups": [*fields.metadata[:_MOST_GROUPS]],
        "rule": _RULES[_scorer(task).name],
        "questions": [_question_file(task, name)],
        "ask": ask,
    }
    filled = {field: value for field, value in spec.items() if value not in (None, [])}
    return translated(FORM, task.id or name, filled, (*left_out, *_left_out_parts(task, ask)))


def _question_file(task: EvalTask, name: str) -> Mapping[str, str]:
    note = shortened(f"data set on the Hub, configuration {task.config}", 200)
    return {"name": plain_name(task.id or name), "split": task.split, "note": note}


def _prompt_of_task(task: EvalTask) -> str | None:
    """The prompt of a task that puts its question into a template, and nothing else; None for ours."""
    templates = [
        str(solver.args.get("template", ""))
        for solver in task.solvers
        if solver.name == "prompt_template"
    ]
    if len(templates) != 1 or task.field_spec.choices is not None:
        return None
    if not _has_only_field(templates[0], "{prompt}"):
        return None
    return templates[0].replace("{prompt}", "{question}")


def _has_only_field(template: str, field: str) -> bool:
    """Whether a template has this field once, and no other braces."""
    rest = template.replace(field, "", 1)
    return rest != template and "{" not in rest and "}" not in rest


def _left_out_parts(task: EvalTask, ask: str | None) -> Iterator[str]:
    """Yields the parts of a task that its spec leaves out."""
    fields = task.field_spec
    yield from (f"field_spec.{name}: not read" for name in _SANDBOX_FIELDS if getattr(fields, name))
    if others := fields.metadata[_MOST_GROUPS:]:
        text = f"a spec has {_MOST_GROUPS} groups at most, so not read: {', '.join(others)}"
        yield f"field_spec.metadata: {text}"
    if fields.choices is not None:
        text = f"numbers count from 0 there. Write letters into {fields.target!r} instead."
        yield f"field_spec.target: {text}"
    for solver in task.solvers:
        if not _is_solver_kept(solver, ask):
            yield f"solvers.{solver.name}: how the model is asked is not read"
    yield from _unread_scorers(task)
    if task.shuffle_choices not in (None, "false", "False"):
        yield "shuffle_choices: options are not shuffled"
    if task.epochs not in (None, 1):
        yield f"epochs: each question is scored once, not {quoted(task.epochs)} times"
    if task.epoch_reducer is not None:
        yield "epoch_reducer: not read"


def _is_solver_kept(solver: Step, ask: str | None) -> bool:
    if solver.name == "prompt_template":
        return ask is not None
    return solver.name in _PLAIN_SOLVERS and not solver.args


def _unread_scorers(task: EvalTask) -> Iterator[str]:
    used = _scorer(task)
    for scorer in task.scorers:
        if scorer is not used:
            yield f"scorers.{scorer.name}: not read; the score is that of {used.name}"
    if used.args:
        yield f"scorers.{used.name}.args: {', '.join(map(str, used.args))} not read"
    if used.name.startswith("model_graded"):
        yield f"scorers.{used.name}: the judge is asked in our words"


def eval_yaml(spec: Spec, file_columns: Sequence[str] = ()) -> str:
    """A spec as the text of an `eval.yaml`; comments above it say what is left out.

    `file_columns` are those of its question file, for a spec that doesn't name its options' columns. Raises SpecError.
    """
    problems = [*_eval_problems(spec, file_columns)]
    if problems:
        raise SpecError(problems)
    [case] = spec.rule
    is_choice = kind_of(case.rule) == "letter"
    fields: dict[str, Any] = {
        "input": spec.columns.question,
        "target": case.rule.truth or spec.columns.truth,
    }
    if is_choice:
        choices = _choices(spec, file_columns)
        fields["choices"] = choices[0] if len(choices) == 1 else [*choices]
    images = [column for column in spec.columns.images or () if column not in spec.derive]
    if images:
        fields["input_image"] = images[0]
    groups = [column for column in spec.groups if column not in spec.derive]
    if groups:
        fields["metadata"] = groups
    task = {
        "id": plain_name(spec.name.lower()),
        "config": "default",
        "split": _split(spec),
        "field_spec": fields,
        "solvers": _solvers(spec, is_choice),
        "scorers": [{"name": _scorer_name(spec)}],
    }
    head = {"name": spec.name, "description": spec.about, "evaluation_framework": INSPECT}
    comments = "".join(map(comment, _unwritten_parts(spec, is_choice)))
    return comments + write_yaml({**head, "tasks": [task]})


def _split(spec: Spec) -> str:
    splits = [question_file.split for question_file in spec.questions if question_file.split]
    return splits[0] if splits else "test"


def _choices(spec: Spec, file_columns: Sequence[str]) -> Sequence[str]:
    """The column with the list of options, or a column for each; none where neither spec nor file has them."""
    list_column = getattr(spec.rule[0].rule, "options", None)  # a field of letter rules alone
    if list_column:
        return [list_column]
    if spec.columns.options:
        return spec.columns.options
    list_columns = [column for column in LIST_COLUMNS if column in file_columns]
    return option_columns(file_columns) or list_columns[:1]


def _solvers(spec: Spec, is_choice: bool) -> list[Mapping[str, Any]]:
    if is_choice:
        return [{"name": "multiple_choice"}]
    if not _is_ask_kept(spec):
        return [{"name": "generate"}]
    template = (spec.ask or "").replace("{question}", "{prompt}")
    return [{"name": "prompt_template", "args": {"template": template}}, {"name": "generate"}]


def _is_ask_kept(spec: Spec) -> bool:
    """Whether the prompt of a spec has the question as its only field, as a `prompt_template` can have it."""
    return _has_only_field(spec.ask or "", "{question}")


def _scorer_name(spec: Spec) -> str | None:
    """The name of the first scorer that is a spec's rule; None if none is."""
    rule = spec.rule[0].rule.model_dump(mode="json", by_alias=True)
    for name, scorer_rule in _RULES.items():
        if all(rule.get(key) == value for key, value in scorer_rule.items() if key != "prompt"):
            return name
    return None


def _eval_problems(spec: Spec, file_columns: Sequence[str]) -> Iterator[SpecProblem]:
    """Yields the parts of a spec that define its benchmark and that an `eval.yaml` can't express."""
    case = spec.rule[0]
    if case.when or len(spec.rule) > 1:
        text = f"The rule has cases, and {FORM} has one rule for all rows. Keep one."
        yield SpecProblem("rule", text)
    elif _scorer_name(spec) is None:
        text = f"The rule {kind_of(case.rule)} as written here isn't a scorer of {FORM}."
        yield SpecProblem("rule", f"{text} Its scorers are {either(_RULES, 'and')}.")
    elif not (case.rule.truth or spec.columns.truth):
        yield SpecProblem(
            "columns.truth", f"{_FORM_AT_START} needs right answers. Name their column."
        )
    elif kind_of(case.rule) == "letter" and not _choices(spec, file_columns):
        text = (
            "No columns of options are known. Name them, as in [A, B, C, D], or give the questions."
        )
        yield SpecProblem("columns.options", text)
    yield from _derived_problems(spec)
    head = spec.headline_under(spec.protocols[0])
    if not _is_mean(spec.figures[head]):
        text = f"{_FORM_AT_START} has only the mean of all rows, not {spec.figures[head].form}."
        yield SpecProblem(f"figures.{head}", f"{text} Choose another headline.")
    if len(spec.columns.images or ()) > 1:
        text = f"{_FORM_AT_START} has only one column of pictures. Name one."
        yield SpecProblem("columns.images", text)


def _derived_problems(spec: Spec) -> Iterator[SpecProblem]:
    """Yields the needed columns that no file has, since they are made of others."""
    needed_columns = (
        spec.columns.question,
        spec.rule[0].rule.truth or spec.columns.truth,
        *(spec.columns.options or ()),
    )
    for column in needed_columns:
        if column in spec.derive:
            text = f"{quoted(column)} is made of another column, which {FORM} can't express."
            yield SpecProblem("columns", f"{text} Name one of the file's.")


def _is_mean(figure: Figure) -> bool:
    is_plain = not (figure.parts or figure.condition_columns or figure.is_guess)
    return figure.form == "mean" and is_plain


def _unwritten_parts(spec: Spec, is_choice: bool) -> Iterator[str]:
    """Yields the parts of a spec that its `eval.yaml` leaves out."""
    yield f"{spec.name}, spec {spec.digest[:8]}. inspect_ai scores answers by its own rules."
    if not spec.columns.images:
        yield "input_image: the spec names no column. Add it to field_spec if there are pictures."
    derived_images = [column for column in spec.columns.images or () if column in spec.derive]
    if derived_images:
        pictures = ", ".join(derived_images)
        yield f"Not written: pictures {pictures}, which are made of other columns."
    figures = [name for name, figure in spec.figures.items() if not _is_mean(figure)]
    if figures:
        yield f"Not written: figures {', '.join(figures)}."
    derived = [column for column in spec.groups if column in spec.derive]
    if derived:
        yield f"Not written: groups {', '.join(derived)}, which are made of other columns."
    if spec.splits:
        yield f"Not written: splits by {spec.splits!r}. A task has one split of the data set."
    if spec.ask and (is_choice or not _is_ask_kept(spec)):
        yield "Not written: the prompt (ask)."
    rule = spec.rule[0].rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    written = {"kind", "truth", "options", *_RULES[_scorer_name(spec) or ""]} - {"prompt"}
    unwritten = [name for name in rule if name not in written]
    if unwritten:
        yield f"Not written: {', '.join(unwritten)} of the rule."
