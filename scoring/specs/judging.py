"""A judge for what the rules of a spec leave open: its tasks, and the report with its outcomes."""

import hashlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial

from scoring.judges.run import Task
from scoring.judges.spec import Ask, JudgeSpec, Reply
from scoring.report import JudgeStamp
from scoring.rules.base import Item, RuleProtocol
from scoring.specs.reading import case_of
from scoring.specs.report import ReadRow, SpecReport, report_items, spec_of_report
from scoring.specs.schema import Case

PARSER = "spec reply 1"
"""Name and version of what reads the judge's replies."""


def judge_tasks(report: SpecReport, spec: JudgeSpec) -> list[Task[ReadRow]]:
    """A task for each answer that the rules left open."""
    return [
        Task(
            0,
            partial(_judging, case, row, item, report.protocol, spec),
            partial(_declined, row),
            name=item.id,
            is_read=lambda outcome: bool(outcome.reading.read),
        )
        for row, item, case in _left_open(report)
    ]


def judged(report: SpecReport, outcomes: Sequence[ReadRow]) -> SpecReport:
    """The report with the outcomes, in the order of its open answers."""
    left = iter(outcomes)
    rows = tuple(next(left) if row.reading.is_open else row for row in report.rows)
    judge = report.judge and report.judge.answered(outcome.model for outcome in outcomes)
    return replace(report, judge=judge, rows=rows)


def stamped(report: SpecReport, spec: JudgeSpec, address: str) -> SpecReport:
    """The report as a draft for a judge at this public address, with the sha256 of what it is asked."""
    prompts = [
        case.rule.judge_prompt(item, report.protocol) for _, item, case in _left_open(report)
    ]
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in dict.fromkeys(prompts)]
    judge = JudgeStamp(spec.model, (), address, ", ".join(digests), PARSER)
    return replace(report, judge=judge)


def _left_open(report: SpecReport) -> Iterator[tuple[ReadRow, Item, Case]]:
    """Yield the answers that the rules left open, with their questions and rules."""
    for row, item in zip(report.rows, report_items(report), strict=True):
        case = case_of(spec_of_report(report), row.row.cells)
        if row.reading.is_open and case is not None:
            yield row, item, case


def _judging(
    case: Case, row: ReadRow, item: Item, protocol: RuleProtocol, spec: JudgeSpec
) -> Generator[Ask, Reply, ReadRow]:
    found = yield from case.rule.judging(item, row.row.answer, protocol, spec)
    return replace(row, reading=found.reading, replies=found.replies, model=found.model)


def _declined(row: ReadRow, reason: str) -> ReadRow:
    why = f"judge declined: {reason[:200]}"
    return replace(row, reading=replace(row.reading, why=why, is_open=False))
