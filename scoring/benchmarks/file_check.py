"""Checks of a file of answers before it is scored by a spec: its groups, first rows, and a judge's first prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from scoring.judges.run import Task, quote_tasks
from scoring.judges.spec import JudgeSpec, Message
from scoring.rules.base import Reading, RuleProtocol
from scoring.specs.judging import judge_tasks
from scoring.specs.report import (
    NO_GROUP,
    SpecReport,
    report_items,
    scored_rows_of_report,
    spec_of_report,
)

ROWS = 3
"""Number of rows that are shown as they are read."""
PRICED = 100
"""The number of answers in a stated price."""
MOST_GROUPS = 12
"""Most groups of a column that are named with their counts."""
_LONGEST = 4_000
"""Characters of a text that are kept."""


class GroupCounts(NamedTuple):
    """A column of groups, and the number of answers in each."""

    column: str
    counts: Sequence[tuple[str, int]]
    """The first `MOST_GROUPS` groups, each with its number of answers."""
    more: int
    """The number of other groups in the column."""


class RowCheck(NamedTuple):
    """A row as it is read."""

    id: str
    question: str
    truth: str
    answer: str
    reading: Reading


@dataclass(frozen=True)
class FileCheck:
    """A file of answers under one protocol of a spec, by rules only."""

    protocol: RuleProtocol
    answers: int
    left: int
    """Number of answers that the rules leave to a judge."""
    groups: Sequence[GroupCounts]
    rows: Sequence[RowCheck]
    prompt: Sequence[Message]
    """The judge's prompt about the first answer that is left to it; () if none is."""
    dollars: float | None
    """The cost of a judge for `PRICED` answers like those that are left to it; None without such answers or a price."""


def file_check(report: SpecReport, judge: JudgeSpec) -> FileCheck:
    """Returns the check of a file, from its report by rules only and this judge's prices."""
    items = report_items(report)
    rows = [
        RowCheck(
            id=item.id,
            question=_shortened(item.question),
            truth=_shortened(item.truth or ""),
            answer=_shortened(row.row.answer),
            reading=row.reading,
        )
        for row, item in zip(report.rows[:ROWS], items, strict=False)
    ]
    tasks = judge_tasks(report, judge)
    messages = next(tasks[0].begin()).messages if tasks else ()
    prompt = [replace(message, text=_shortened(message.text)) for message in messages]
    return FileCheck(
        protocol=report.protocol,
        answers=len(report.rows),
        left=report.left,
        groups=_groups(report),
        rows=rows,
        prompt=prompt,
        dollars=_price(tasks, report.left, judge),
    )


def _price(tasks: Sequence[Task], answers: int, judge: JudgeSpec) -> float | None:
    """The price in dollars of `PRICED` answers, in proportion to that of these tasks for `answers` answers.

    Only the first `PRICED` tasks are counted exactly. None without tasks, or if the price is unknown.
    """
    if not tasks:
        return None
    priced = tasks[:PRICED]
    dollars = quote_tasks(priced, judge, "", None, None).dollars
    if dollars is None:
        return None
    for_all_answers = dollars / len(priced) * len(tasks)
    return for_all_answers / answers * PRICED


def _groups(report: SpecReport) -> list[GroupCounts]:
    rows = scored_rows_of_report(report)
    counts_by_column = []
    for column in spec_of_report(report).groups:
        if column in rows.cells:
            groups = rows.groups(column)
            named = [*groups.items()][:MOST_GROUPS]
            counts = [(_shortened(name) or NO_GROUP, int(mask.sum())) for name, mask in named]
            more = len(groups) - len(named)
            counts_by_column.append(GroupCounts(column, counts, more))
    return counts_by_column


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
