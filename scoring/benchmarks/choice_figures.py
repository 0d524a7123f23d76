"""Figures of multiple choice: answers' letters as the scored rows of a spec, and its figures in trees over groups."""

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
GroupOrder: TypeAlias = Mapping[str, "GroupOrder"]
"""Groups in their order in a tree, each with the order of the groups below it."""
_NOT_ANSWERED = -1
"""In place of an answer's number, for a question without one."""


def choice_rows(
    outcomes: Sequence[Scored], cells: Sequence[Cells], missing: Sequence[Cells]
) -> ScoredRows:
    """Rows of outcomes with the cells of each, and of questions without an answer, which are unscored.

    All cells, also those in `missing`, have the same columns.
    """
    all_cells = [*cells, *missing]
    columns = dict.fromkeys(column for row in all_cells for column in row)
    scores = [None if outcome.right is None else float(outcome.right) for outcome in outcomes]
    truths = [outcome.question.answer or "" for outcome in outcomes]
    pictures = [outcome.question.picture for outcome in outcomes]
    answers = [*range(len(outcomes))]
    options = [len(outcome.question.options) for outcome in outcomes]
    for _ in missing:
        scores.append(None)
        truths.append("")
        pictures.append("")
        answers.append(_NOT_ANSWERED)
        options.append(0)
    return scored_rows(
        scores=scores,
        truths=truths,
        pictures=pictures,
        cells={column: [row[column] for row in all_cells] for column in columns},
        answers=answers,
        options=options,
    )


@dataclass(frozen=True, eq=False)
class ChoiceFigures:
    """A spec's figures under a protocol of letters."""

    figures: Mapping[str, Figure]
    protocol: Protocol

    def line(self, figure: str, rows: ScoredRows, name: str = "") -> ScoreLine:
        """A figure of some rows, under its own name or another.

        Where a protocol counts undecided answers as wrong, the mean counts them as 0. They stay among the unscored, and
        the bounds still allow for all of them being right.
        """
        line = figure_line(figure, rows, self.figures)
        if line.unscored and undecided_is_wrong(self.protocol):
            with_wrong = figure_line(figure, _with_undecided_wrong(rows), self.figures)
            line = replace(with_wrong, unscored=line.unscored, worst=line.worst, best=line.best)
        return replace(line, name=name or figure)


def _with_undecided_wrong(rows: ScoredRows) -> ScoredRows:
    is_undecided = np.isnan(rows.score) & (rows.answers != _NOT_ANSWERED)
    return replace(rows, score=np.where(is_undecided, 0.0, rows.score))


def group_tree(
    line: Callable[[str, str, ScoredRows], ScoreLine],
    rows: ScoredRows,
    columns: Sequence[str],
    order: GroupOrder,
    name: str = "Overall",
    level: str = "overall",
    with_blank: bool = True,
) -> Node:
    """A tree of all rows, and of each column's groups within those of the column before it.

    `line` makes a node's line from its level (the column), its name and its rows. Groups come in their `order`, then
    others by name; groups without rows are in the tree only `with_blank`. Rows with an empty cell in a column have no
    group there: the groups that they have in the next columns are directly below this node.
    """
    children = []
    ungrouped = rows  # those without a cell in the columns so far
    for place, column in enumerate(columns):
        groups = ungrouped.groups(column)
        ordered = order if place == 0 else {}  # the order is that of the first column's groups
        others = sorted(groups.keys() - ordered.keys() - {""})
        for group in [*ordered, *others]:
            child = group_tree(
                line=line,
                rows=ungrouped.within(groups.get(group, _no_rows(ungrouped))),
                columns=columns[place + 1 :],
                order=ordered.get(group, {}),
                name=group,
                level=column,
                with_blank=with_blank,
            )
            if child.line.n or with_blank:
                children.append(child)
        ungrouped = ungrouped.within(groups.get("", _no_rows(ungrouped)))
    return Node(line(level, name, rows), level, tuple(children))


def _no_rows(rows: ScoredRows) -> Mask:
    return ~rows.all_rows
