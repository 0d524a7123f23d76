"""Figures of multiple choice: letters become the scored rows of a spec, and its figures trees over their groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from scoring.multiple_choice.metrics import Node, Scored, undecided_is_wrong
from scoring.multiple_choice.types import Protocol
from scoring.report import ScoreLine
from scoring.specs.figure_values import figure_line
from scoring.specs.figures import Figure
from scoring.specs.scored_rows import Cell, Mask, ScoredRows, scored_rows

Cells: TypeAlias = Mapping[str, Cell]
"""A question's cells by column."""
Known: TypeAlias = Mapping[str, "Known"]
"""Groups that come first, in this order, with those below each."""
_NOT_ANSWERED = -1
"""In place of an answer's number, for a question without one."""


def choice_rows(
    outcomes: Sequence[Scored], cells: Sequence[Cells], missing: Sequence[Cells]
) -> ScoredRows:
    """Rows of outcomes with the cells of each, and of questions without an answer, which are unscored."""
    questions = [outcome.question for outcome in outcomes]
    rights = [outcome.right for outcome in outcomes]
    lacking = len(missing)
    everything = [*cells, *missing]
    columns = dict.fromkeys(column for row in everything for column in row)
    return scored_rows(
        scores=[*(None if right is None else float(right) for right in rights), *[None] * lacking],
        truths=[*(question.answer or "" for question in questions), *[""] * lacking],
        pictures=[*(question.picture for question in questions), *[""] * lacking],
        cells={column: [row[column] for row in everything] for column in columns},
        answers=[*range(len(outcomes)), *[_NOT_ANSWERED] * lacking],
        options=[*(len(question.options) for question in questions), *[0] * lacking],
    )


@dataclass(frozen=True, eq=False)
class ChoiceFigures:
    """A spec's figures under a protocol of letters."""

    figures: Mapping[str, Figure]
    protocol: Protocol

    def line(self, figure: str, rows: ScoredRows, name: str = "") -> ScoreLine:
        """A figure of some rows, under its own name or another.

        Where a protocol counts undecided answers as wrong, they still are unscored, and could have been right.
        """
        line = figure_line(figure, rows, self.figures)
        if line.unscored and undecided_is_wrong(self.protocol):
            counted = figure_line(figure, _with_undecided_wrong(rows), self.figures)
            line = replace(counted, unscored=line.unscored, worst=line.worst, best=line.best)
        return replace(line, name=name or figure)


def _with_undecided_wrong(rows: ScoredRows) -> ScoredRows:
    is_undecided = np.isnan(rows.score) & (rows.answers != _NOT_ANSWERED)
    return replace(rows, score=np.where(is_undecided, 0.0, rows.score))


def group_tree(
    line: Callable[[str, str, ScoredRows], ScoreLine],
    rows: ScoredRows,
    columns: Sequence[str],
    known: Known,
    name: str = "Overall",
    level: str = "overall",
    with_blank: bool = True,
) -> Node:
    """A tree of all rows, and of each column's groups within those of the column before it.

    `line` makes a node's line from its level, which is its column, its name and its rows. Rows with an empty cell are
    directly in the group above. Known groups come first, those without rows only `with_blank`, then others by name.
    """
    children = []
    rest = rows
    for place, column in enumerate(columns):
        groups = rest.groups(column)
        others = sorted(groups.keys() - known.keys() - {""})
        for group in [*known, *others]:
            child = group_tree(
                line=line,
                rows=rest.within(groups.get(group, _nothing(rest))),
                columns=columns[place + 1 :],
                known=known.get(group, {}),
                name=group,
                level=column,
                with_blank=with_blank,
            )
            if child.line.n or with_blank:
                children.append(child)
        known = {}
        rest = rest.within(groups.get("", _nothing(rest)))
    return Node(line(level, name, rows), level, tuple(children))


def _nothing(rows: ScoredRows) -> Mask:
    return ~rows.all_rows
