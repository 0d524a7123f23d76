"""Columns of a benchmark's files: the name and contents of each, with the cell of one made-up row."""

import json
from collections.abc import Container, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from arena.sheets import Sheet, plain_sheet
from scoring.multiple_choice.types import LETTERS
from scoring.rules.base import RuleExample
from scoring.rules.letter import EXAMPLE_OPTIONS, LetterRule
from scoring.specs.derived import Derived
from scoring.specs.schema import Case, Spec


class FileColumn(NamedTuple):
    """A column of a file of answers."""

    name: str
    holds: str
    """Its contents in words."""
    cell: str
    """The cell of the made-up row."""


def columns_sheet(columns: Sequence[FileColumn], note: str = "") -> Sheet:
    """The columns of a file as a table, with one made-up row."""
    heads = ("Column", "Holds", "Example row (made up)")
    return plain_sheet("columns", "Columns of the file", heads, columns, note=note)


def enough_with_questions(spec: Spec) -> str:
    """The columns of a file whose questions are on the server, as a sentence."""
    columns = spec.columns
    return f"If the questions are on the server, {columns.id} and {columns.answer} are enough."


def spec_columns(spec: Spec) -> list[FileColumn]:
    """The columns that a file of a spec's answers holds, each once, the model's answer last."""
    example = _example_case(spec).rule.example
    columns: dict[str, FileColumn] = {}
    for column in (
        *_question_columns(spec, example),
        *_columns_of_rules(spec),
        *_grouping_columns(spec),
    ):
        columns.setdefault(column.name, column)
    columns.pop(spec.columns.answer, None)
    answer = FileColumn(spec.columns.answer, "The model's answer", example.answer)
    return [*columns.values(), answer]


def _example_case(spec: Spec) -> Case:
    """The case that the made-up row fits: the first whose `when` asks for no empty or derived cell, else the first."""
    for case in spec.rule:
        conditions = case.when or {}
        if all(conditions.values()) and spec.derive.keys().isdisjoint(conditions):
            return case
    return spec.rule[0]


def _question_columns(spec: Spec, example: RuleExample) -> Iterator[FileColumn]:
    columns = spec.columns
    yield FileColumn(columns.id, "The question's id", _example_id(spec))
    yield FileColumn(columns.question, "The question", example.question)
    yield from _option_columns(spec)
    rules = [case.rule for case in spec.rule]
    is_truth_used = any(rule.is_compared or "truth" in rule.required for rule in rules)
    if columns.truth is not None and is_truth_used:
        yield FileColumn(columns.truth, "The right answer", example.truth)


def _option_columns(spec: Spec) -> Iterator[FileColumn]:
    """Yields the columns of the options, if a rule reads letters from them."""
    letters = [case.rule for case in spec.rule if isinstance(case.rule, LetterRule)]
    reads_columns = any(rule.options is None for rule in letters)
    if not reads_columns:
        return
    names = spec.columns.options
    if names is not None and len(names) == 1:
        yield FileColumn(names[0], "All options, as a list", json.dumps(EXAMPLE_OPTIONS))
        return
    columns = names or LETTERS[: len(EXAMPLE_OPTIONS)]
    holds = "An option" if names else "An option. More options go in the next letters"
    for name, option in zip_longest(columns, EXAMPLE_OPTIONS, fillvalue=""):
        yield FileColumn(name, holds, option)


def _columns_of_rules(spec: Spec) -> Iterator[FileColumn]:
    """Yields the columns that the rules' cases, parameters and prompts name."""
    chosen = _example_case(spec)
    cases = [chosen, *(case for case in spec.rule if case is not chosen)]
    for case in cases:
        for name, cell in (case.when or {}).items():
            holds = "The kind of question, which decides its rule"
            if name in spec.derive:
                source = spec.source_of(name)
                yield FileColumn(source, holds, _example_cell(spec, source))
            # An empty cell is no different from a column that the file lacks.
            elif cell or case is chosen:
                yield FileColumn(name, holds, cell)
    for case in cases:
        for column in case.rule.named_columns:
            yield FileColumn(column.name, column.holds, column.cell)
        for name in case.rule.prompt_columns:
            yield FileColumn(
                name, _optional("A text for the judge's prompt"), _example_cell(spec, name)
            )


def _grouping_columns(spec: Spec) -> Iterator[FileColumn]:
    """Yields the columns of groups, splits, figures and pictures."""
    for column in map(spec.source_of, spec.groups):
        yield _grouping_column(spec, column, "Its group. Each group has scores")
    if spec.splits is not None:
        yield _grouping_column(
            spec, spec.source_of(spec.splits), "Its split. Each split is scored separately"
        )
    for figure in spec.figures.values():
        for column in map(spec.source_of, figure.columns):
            yield _grouping_column(spec, column, "The same in rows that count together")
        for column in map(spec.source_of, figure.condition_columns):
            yield _grouping_column(spec, column, "The scores that the row counts in")
    for column in map(spec.source_of, spec.columns.images or ()):
        yield _grouping_column(
            spec, column, "The name of its picture, the same in rows that share it"
        )


def _grouping_column(spec: Spec, column: str, holds: str) -> FileColumn:
    words = holds if _is_needed(spec, column) else _optional(holds)
    return FileColumn(column, words, _example_cell(spec, column))


def _optional(holds: str) -> str:
    return f"{holds} (optional)"


def _is_needed(spec: Spec, column: str) -> bool:
    """Whether some protocol would have no figure if a file lacked this column."""
    other_columns = _AllColumnsBut(column)
    return not all(spec.figures_under(protocol, other_columns) for protocol in spec.protocols)


class _AllColumnsBut(Container[str]):
    """Every column but one."""

    def __init__(self, column: str) -> None:
        self._column = column

    def __contains__(self, column: object) -> bool:
        return column != self._column


def _example_id(spec: Spec) -> str:
    derived_columns = [
        derived for derived in spec.derive.values() if derived.source == spec.columns.id
    ]
    return _example_source_cell(derived_columns) or "1"


def _example_cell(spec: Spec, column: str) -> str:
    """A made-up cell that the spec's derived columns and figures can be made of."""
    if column == spec.columns.id:
        return _example_id(spec)
    if column == spec.splits:
        return next(filter(None, (file.split for file in spec.questions)), "test")
    for figure in spec.figures.values():
        for name, cell in (figure.where or {}).items():
            if name == column and cell:
                return cell
        if figure.over == column and figure.among is not None:
            return figure.among[0]
    derived_columns = [derived for derived in spec.derive.values() if derived.source == column]
    return _example_source_cell(derived_columns) or f"{column} 1"


def _example_source_cell(derived_columns: Sequence[Derived]) -> str:
    """A cell that these derived columns can be made of; "" if any text will do."""
    for derived in derived_columns:
        if derived.names and derived.part is None:
            return next(iter(derived.names))
        sign = derived.split or derived.list
        if sign is not None and derived.part is None:
            return f"one{sign}two"
    numbered = [derived for derived in derived_columns if derived.part is not None]
    if numbered:
        parts = ["1"] * max(derived.part or 1 for derived in numbered)
        for derived in numbered:
            if derived.part is not None and derived.names and not derived.needs_number:
                parts[derived.part - 1] = next(iter(derived.names))
        return (numbered[0].by or "").join(parts)
    is_number = any(derived.needs_number for derived in derived_columns)
    return "1" if is_number else ""
