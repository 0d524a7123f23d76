"""Columns of a file by a spec's names: each is found under its usual spellings too."""

from collections.abc import Iterator, Mapping, Sequence

from arena.io.tables import KEY
from scoring.multiple_choice.columns import columns_by_plain_name, plain_name
from scoring.specs.schema import Spec

_SPELLINGS: Mapping[str, Sequence[str]] = {
    "id": ("index", "id", "question_id", "idx", "questionid", KEY),
    "question": ("question",),
    "truth": ("answer", "answers"),
    "answer": ("prediction", "pred", "response", "output", "model_answer"),
}
"""Usual names of a column by its role. A file may use any of them if the spec has the first, the default."""


def layout_of(spec: Spec, file_columns: Sequence[str]) -> Mapping[str, str]:
    """Returns a file's columns by the spec's names, in the file's order.

    Columns that the spec doesn't name keep their own names.
    """
    spellings = columns_by_plain_name(file_columns)
    layout: dict[str, str] = {}
    for role in _SPELLINGS:
        name = getattr(spec.columns, role)
        if name is None:
            continue
        column = _find_column(_names_of_role(role, name), file_columns, spellings)
        if column is not None and column not in layout.values():
            layout[name] = column
    for name in _named_columns(spec):
        column = _find_column([name], file_columns, spellings)
        if column is not None:
            layout.setdefault(name, column)
    taken = {*layout.values()}
    layout |= {column: column for column in file_columns if column not in taken}
    places = {column: place for place, column in enumerate(file_columns)}
    return dict(sorted(layout.items(), key=lambda entry: places[entry[1]]))


def _names_of_role(role: str, name: str) -> Sequence[str]:
    """The names that a role's column may have in a file: the usual ones if the spec has the default name, else its own.

    The keys of a JSON object are ids under any spec.
    """
    usual_names = _SPELLINGS[role]
    if name == usual_names[0]:
        return usual_names
    return [name, KEY] if role == "id" else [name]


def has_question_truth_and_answer(file_columns: Sequence[str]) -> bool:
    """Whether a file has these columns: questions, right answers and a model's answers, under usual names."""
    return all(_has_usual_column(role, file_columns) for role in ("question", "truth", "answer"))


def has_answers(file_columns: Sequence[str], spec: Spec | None = None) -> bool:
    """Whether a file has a column of a model's answers: the spec's, or without a spec one with a usual name."""
    if spec is not None:
        return spec.columns.answer in layout_of(spec, file_columns)
    return _has_usual_column("answer", file_columns)


def has_questions(file_columns: Sequence[str], spec: Spec | None = None) -> bool:
    """Whether a file has a column of questions: the spec's, or without a spec one with a usual name."""
    if spec is not None:
        return spec.columns.question in layout_of(spec, file_columns)
    return _has_usual_column("question", file_columns)


def layout_of_answers(spec: Spec, layout: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the layout of a file of answers that came with its question file.

    If it has no column of a model's answers, they are in `text`, or in a file without questions, in the column of the
    truths. A file with questions may be the question file itself, and its truths are not a model's answers.
    """
    columns = spec.columns
    if columns.answer in layout:
        return layout
    names = ["text"] if columns.question in layout else ["text", columns.truth]
    answer_name = next((name for name in names if name in layout), None)
    if answer_name is None:
        return layout
    return {
        columns.answer if name == answer_name else name: column for name, column in layout.items()
    }


def _has_usual_column(role: str, file_columns: Sequence[str]) -> bool:
    spellings = columns_by_plain_name(file_columns)
    return _find_column(_SPELLINGS[role], file_columns, spellings) is not None


def _find_column(
    names: Sequence[str], file_columns: Sequence[str], spellings: Mapping[str, str]
) -> str | None:
    """Returns the file's column for the first of these names that it has, in any spelling."""
    for name in names:
        column = name if name in file_columns else spellings.get(plain_name(name))
        if column is not None:
            return column
    return None


def _named_columns(spec: Spec) -> Iterator[str]:
    """Yields the columns that a spec names, except those of its roles and of its rule's own parameters."""
    derived = spec.derive
    names = [*spec.groups, *filter(None, [spec.splits])]
    names += [column for figure in spec.figures.values() for column in figure.columns]
    names += [column for figure in spec.figures.values() for column in figure.condition_columns]
    names += [derived_column.source for derived_column in derived.values()]
    names += [column for case in spec.rule for column in case.when or {}]
    names += spec.columns.options or ()
    yield from (name for name in dict.fromkeys(names) if name not in derived)
