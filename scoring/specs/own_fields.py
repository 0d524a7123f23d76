"""A user's own benchmark as a form: a few fields for a spec, filled in from a file.

The schema makes the spec from the fields; its problems are reported in the fields' words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scoring.multiple_choice.columns import columns_by_plain_name, option_columns
from scoring.multiple_choice.option_texts import LIST_COLUMNS
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.multiple_choice.types import LETTERS
from scoring.rules.number import plain_number
from scoring.rules.prompted import BRACES
from scoring.specs.derived import cell_text
from scoring.specs.problems import SpecError, SpecProblem
from scoring.specs.reading import is_empty
from scoring.specs.schema import Spec, spec_of


class OwnRule(NamedTuple):
    """A rule that a form offers."""

    label: str
    about: str
    """The measured ability, in the spec's words."""
    rule: Mapping[str, Any]
    """The rule in a spec, without the values of the form's fields."""


JUDGE = "judge"
RULES: Mapping[str, OwnRule] = {
    "letter": OwnRule(
        "A letter: A, B, C, ...", "Own multiple-choice questions.", {"kind": "letter"}
    ),
    "yes or no": OwnRule("Yes or no", "Own yes/no questions.", {"kind": "yes_no"}),
    "number": OwnRule("A number", "Own questions with a number as the answer.", {"kind": "number"}),
    "within 5%": OwnRule(
        "A number within 5%, or an equal text",
        "Own questions; a number within 5% or an equal text is right.",
        {"kind": "relaxed"},
    ),
    "formula": OwnRule(
        "A number or formula, such as 3/4 or 2*sqrt(3)",
        "Own questions with a formula as the answer.",
        {"kind": "number", "as": "formula"},
    ),
    "equal": OwnRule(
        "A short text that must be equal",
        "Own questions; an answer equal to a right one is right.",
        {"kind": "text"},
    ),
    "contains": OwnRule(
        "A short text that must occur in the answer",
        "Own questions; an answer with a right one in it is right.",
        {"kind": "text", "compare": "contains"},
    ),
    JUDGE: OwnRule(
        "A judge grades it by your prompt",
        "Own questions; a judge grades the answers by our own prompt.",
        {"kind": "rubric"},
    ),
}
"""The rules that a form offers; a spec may have others."""
NO_TRUTH_PROMPT = """\
Question: {question}

Answer: {answer}

Grade how well the answer does what the question asks for. The lowest grade is for an answer that is wrong or says \
nothing of use, the highest for one that nothing needs to be added to."""
TRUTH_PROMPT = """\
Question: {question}

Right answer: {truth}

Answer to grade: {answer}

Grade how far the answer says the same as the right answer. The lowest grade is for an answer that is wrong or says \
nothing of use, the highest for one that is right in every point."""
MOST_ROWS = 500
"""Rows of a file by which fields are filled in."""
LONGEST_NAME = 80
MOST_GROUPS = 20
_MOST_GUESSED_GROUPS = 3
_MOST_VALUES = 30
_LONGEST_VALUE = 60
"""Values, and characters of one, up to which a column is guessed to hold groups."""
_SHORT_WORDS = 3
_SHORT_LETTERS = 40
"""Words and letters up to which a right answer is a short text, which an answer can be compared with."""
_NO_ID = "row"
"""The spec's column of ids if none is chosen. Hardly any file has it, so rows are counted instead."""

_ROLES: Mapping[str, Sequence[str]] = {
    "answer": (
        "prediction", "pred", "response", "output", "model_answer", "model_output", "model_response", "reply",
        "generated", "completion",
    ),
    "truth": (
        "answer", "answers", "truth", "ground_truth", "gt", "target", "label", "gold", "reference", "expected",
        "expected_answer", "right_answer", "correct_answer", "correct", "solution",
    ),
    "question": ("question", "prompt", "query", "instruction", "request", "input", "problem", "text"),
    "id": (
        "index", "id", "question_id", "questionid", "idx", "qid", "case", "item", "item_id", "key", "number", "no",
        "nr",
    ),
}  # fmt: skip
"""Usual names of columns by their role, the likeliest first."""
_ROLE_WORDS: Mapping[str, frozenset[str]] = {
    "answer": frozenset("prediction predicted response reply output says said".split()),
    "truth": frozenset("right correct expected good ideal gold reference truth target".split()),
    "question": frozenset("question prompt request query instruction asks asked".split()),
}
"""Words in a column's name that show its role, if it is the only column with one."""
_WORD = re.compile(r"[a-z]+")
_LABELS: Mapping[str, str] = {
    "name": "Name",
    "about": "Name",
    "columns.id": "Id",
    "columns.question": "Question",
    "columns.truth": "Right answer",
    "columns.answer": "Model's answer",
    "groups": "Groups",
    "rule.grades": "Grades",
    "rule.prompt": "Prompt",
    "rule": "Prompt",
}
"""The fields' names by places of a spec."""


@dataclass(frozen=True)
class OwnFields:
    """The values of a form's fields; columns are the file's, "" for none."""

    name: str
    rule: str
    """Key of `RULES`."""
    id: str
    question: str
    truth: str
    answer: str
    groups: tuple[str, ...] = ()
    low: float | None = 0.0
    high: float | None = 10.0
    """The lowest and the highest grade of a judge; None for an empty field."""
    prompt: str = ""

    @property
    def judge_prompt(self) -> str:
        """The user's own prompt, or the one of our two that suits the file: with or without right answers.

        An unedited prompt of ours is exchanged for the other one when the column of right answers changes.
        """
        if self.prompt.strip() in ("", TRUTH_PROMPT, NO_TRUTH_PROMPT):
            return TRUTH_PROMPT if self.truth else NO_TRUTH_PROMPT
        return self.prompt


def spec_of_fields(fields: OwnFields) -> Spec:
    """The spec that the fields describe. Raises SpecError with all problems, in the fields' words."""
    problems = [*_field_problems(fields)]
    try:
        spec = spec_of(_raw_spec(fields))
    except SpecError as error:
        known_places = {problem.place for problem in problems}
        spec_problems = [_problem_in_fields_words(problem) for problem in error.problems]
        problems += [problem for problem in spec_problems if problem.place not in known_places]
        spec = None
    if problems or spec is None:
        raise SpecError(problems)
    return spec


def in_fields_words(text: str) -> str:
    """The text of a problem; if it begins with a place of the spec, the field's name replaces the place."""
    place, colon, rest = text.partition(": ")
    if colon and place in _LABELS:
        return f"{_LABELS[place]}: {rest}"
    return text


def guess_fields(name: str, rows: Sequence[Mapping[str, Any]]) -> OwnFields:
    """Guesses the fields from a file's name and its first rows."""
    columns = columns_of(rows)
    roles = _guess_roles(columns)
    cells = {column: [cell_text(row.get(column)).strip() for row in rows] for column in columns}
    truths = [text for text in cells.get(roles["truth"], ()) if not is_empty(text)]
    rule = _guess_rule(columns, truths, cells.get(roles["answer"], ()))
    used_columns = {*roles.values(), *option_columns(columns), *LIST_COLUMNS, *IMAGE_COLUMNS}
    return OwnFields(
        name=" ".join(name.replace("_", " ").split())[:LONGEST_NAME] or "My benchmark",
        rule=rule,
        id=roles["id"],
        question=roles["question"],
        truth=roles["truth"],
        answer=roles["answer"],
        groups=tuple(_guess_groups(cells, used_columns))[:_MOST_GUESSED_GROUPS],
        prompt=TRUTH_PROMPT if roles["truth"] else NO_TRUTH_PROMPT,
    )


def columns_of(rows: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The columns that some row has, in order."""
    return [*dict.fromkeys(column for row in rows for column in row)]


def _raw_spec(fields: OwnFields) -> Mapping[str, Any]:
    """The spec as a YAML file would have it."""
    columns = {
        "id": fields.id or _NO_ID,
        "truth": fields.truth or None,
        "answer": fields.answer or "prediction",
    }
    if fields.question:
        columns["question"] = fields.question
    offered_rule = RULES.get(fields.rule, RULES[JUDGE])
    rule = dict(offered_rule.rule)
    if rule["kind"] == "rubric":
        grades = [_plain_grade(grade) for grade in (fields.low, fields.high)]
        rule |= {"grades": grades, "prompt": fields.judge_prompt}
    raw: dict[str, Any] = {
        "name": fields.name.strip(),
        "about": offered_rule.about,
        "columns": columns,
        "rule": rule,
    }
    if fields.groups:
        raw["groups"] = [*fields.groups]
    return raw


def _plain_grade(grade: float | None) -> float | None:
    """A grade as people write it: 10, not 10.0."""
    return int(grade) if isinstance(grade, float) and grade.is_integer() else grade


def _field_problems(fields: OwnFields) -> Iterator[SpecProblem]:
    """Yields the problems that the schema would report in other words than the fields'."""
    if not fields.answer:
        yield SpecProblem("Model's answer", "Choose the column with your model's answers.")
    if fields.rule != JUDGE:
        if not fields.truth:
            text = "Choose its column, or let a judge grade by your prompt."
            yield SpecProblem("Right answer", text)
        return
    if fields.low is None or fields.high is None:
        yield SpecProblem("Grades", "Enter the lowest and the highest grade.")
    if "truth" in BRACES.findall(fields.judge_prompt) and not fields.truth:
        text = "It has {truth}, but no column of right answers is chosen. Choose one, or delete {truth}."
        yield SpecProblem("Prompt", text)


def _problem_in_fields_words(problem: SpecProblem) -> SpecProblem:
    if problem.text.startswith("Grades "):  # its place is the whole rule
        return SpecProblem("Grades", problem.text)
    place = problem.place
    while place and place not in _LABELS:
        place = place.rpartition(".")[0]
    return SpecProblem(_LABELS.get(place, ""), problem.text)


def _guess_roles(columns: Sequence[str]) -> dict[str, str]:
    """A column for each role; "" where none has one of its names.

    A column `answer` has the right answers. It has the model's only where no column has a name of theirs, and either
    another column has a name of right answers, or every other column has a role already.
    """
    column_of = columns_by_plain_name(columns)
    roles: dict[str, str] = {}
    for role, names in _ROLES.items():
        candidates = [column_of[name] for name in names if name in column_of]
        roles[role] = next((column for column in candidates if column not in roles.values()), "")
    if not roles["answer"] and roles["truth"] == column_of.get("answer"):
        roles |= _answer_as_models(columns, roles)
    for role, words in _ROLE_WORDS.items():
        left = [column for column in columns if column not in roles.values()]
        similar = [column for column in left if words & {*_WORD.findall(column.casefold())}]
        if not roles[role] and len(similar) == 1:
            roles[role] = similar[0]
    return roles


def _answer_as_models(columns: Sequence[str], roles: Mapping[str, str]) -> Mapping[str, str]:
    """The roles that change if the column `answer`, guessed to have right answers, has the model's; {} if it hasn't."""
    column_of = columns_by_plain_name(columns)
    answer = roles["truth"]
    truths = [column_of[name] for name in _ROLES["truth"] if name in column_of]
    if len(truths) > 1:
        return {"answer": answer, "truth": truths[1]}
    if {*columns} <= {*roles.values()}:
        return {"answer": answer, "truth": ""}
    return {}


def _guess_rule(columns: Sequence[str], truths: Sequence[str], answers: Sequence[str]) -> str:
    if not truths:
        return JUDGE
    has_letter_columns = len(option_columns(columns)) > 1  # a lone A is no option
    has_options = has_letter_columns or any(name in columns for name in LIST_COLUMNS)
    if has_options or all(len(text) == 1 and text in LETTERS for text in truths):
        return "letter"
    if all(text.casefold() in ("yes", "no") for text in truths):
        return "yes or no"
    if all(plain_number(text) is not None for text in truths):
        return "number"
    if not all(map(_is_short, truths)):
        return JUDGE
    return "equal" if all(map(_is_short, answers)) else "contains"


def _is_short(text: str) -> bool:
    return len(text) <= _SHORT_LETTERS and len(text.split()) <= _SHORT_WORDS


def _guess_groups(cells: Mapping[str, Sequence[str]], used_columns: set[str]) -> Iterator[str]:
    """Yields the columns that put a file's rows into a few groups."""
    for column, texts in cells.items():
        values = {*texts}
        if column in used_columns or len(values) < 2:
            continue
        are_few = len(values) <= min(_MOST_VALUES, len(texts) // 2)
        are_short = max(map(len, values)) <= _LONGEST_VALUE
        if are_few and are_short:
            yield column
