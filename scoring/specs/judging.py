"""A judge for what the rules of a spec leave open: its tasks, and the report with its outcomes.

Where a judge grades by a rubric, it is also given answers that deserve nothing, under questions of the file.
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from scoring.judges import injection
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.report import Filled, JudgeStamp, Question
from scoring.rules.base import Item, Judged, Reading, RuleKind
from scoring.rules.judging import NOT_FOUND
from scoring.specs.reading import case_of
from scoring.specs.report import SpecReport, report_items, spec_of_report

PARSER = "spec reply 1"
"""Name and version of what reads the judge's replies."""


class _Question(NamedTuple):
    """An answer that a judge reads."""

    name: str
    rule: RuleKind
    item: Item
    answer: str
    reading: Reading
    """What the rules made of it."""


def judge_tasks(report: SpecReport, spec: JudgeSpec) -> list[Task[Judged]]:
    """A task for each answer that the rules left open and each of its turns, then one for each canary."""
    tasks = []
    for asked in [*_left_open(report), *_canaries(report)]:
        for turn in range(asked.rule.turns(report.protocol)):
            begin = partial(
                asked.rule.judging, asked.item, asked.answer, report.protocol, spec, turn
            )
            tasks.append(
                Task(0, begin, partial(_declined, asked), name=asked.name, is_read=_is_read)
            )
    return tasks


def judged(report: SpecReport, outcomes: Sequence[Judged]) -> SpecReport:
    """The report with the outcomes, in the order of its tasks."""
    left = iter(outcomes)
    found = {asked.name: _outcome(report, asked, left) for asked in _left_open(report)}
    canaries = tuple(_outcome(report, asked, left) for asked in _canaries(report))
    rows = []
    for row in report.rows:
        if row.reading.is_open and row.row.id in found:
            outcome = found[row.row.id]
            row = replace(
                row, reading=outcome.reading, replies=outcome.replies, model=outcome.model
            )
        rows.append(row)
    judge = report.judge and report.judge.answered(outcome.model for outcome in outcomes)
    return replace(report, judge=judge, rows=tuple(rows), canaries=canaries)


def stamped(report: SpecReport, spec: JudgeSpec, address: str) -> SpecReport:
    """The report as a draft for a judge at this public address, with the sha256 of what it is asked."""
    left = [*_left_open(report)]
    prompts = [asked.rule.judge_prompt(asked.item, report.protocol) for asked in left]
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in dict.fromkeys(prompts)]
    judge = JudgeStamp(spec.model, (), address, ", ".join(digests), PARSER)
    is_tested = report.protocol == "strict" and any(asked.rule.has_canaries for asked in left)
    return replace(report, judge=judge, canary_seed=secrets.token_hex(16) if is_tested else "")


def _outcome(report: SpecReport, asked: _Question, outcomes: Iterable[Judged]) -> Judged:
    """What the turns of an answer come to, taken from the outcomes."""
    return asked.rule.joined([*islice(outcomes, asked.rule.turns(report.protocol))])


def _left_open(report: SpecReport) -> Iterator[_Question]:
    """Yield the answers that the rules left open, with their questions and rules."""
    for row, item in zip(report.rows, report_items(report), strict=True):
        case = case_of(spec_of_report(report), row.row.cells)
        if row.reading.is_open and case is not None:
            shown = replace(item, pictures=row.shown)
            yield _Question(item.id, case.rule, shown, row.row.answer, row.reading)


def _canaries(report: SpecReport) -> list[_Question]:
    """Answers that deserve nothing: those that everybody knows, and some of ours that cannot fit their question.

    The questions are the file's own, drawn by a seed that nobody knows before the judging.
    """
    seed = report.canary_seed
    hosts = [asked for asked in _left_open(report) if asked.rule.has_canaries] if seed else []
    if not hosts:
        return []
    drawn = sorted(hosts, key=lambda host: hashlib.sha256(f"{seed}{host.name}".encode()).digest())
    found = []
    for place, canary in enumerate(injection.canaries()):
        host = drawn[place % len(drawn)]
        found.append(host._replace(answer=canary.prediction or ""))
    asked_of = {(host.item.question, host.item.truth or ""): host for host in hosts}
    questions = [
        Filled(Question(host.name, host.item.question, host.item.truth or "", ()), None)
        for host in hosts
    ]
    for canary in injection.secret_canaries(questions, seed):
        host = asked_of[canary.question.text, canary.question.truth]
        found.append(host._replace(answer=canary.prediction or ""))
    return [canary._replace(name=f"canary {place}") for place, canary in enumerate(found, 1)]


def _is_read(outcome: Judged) -> bool:
    return bool(outcome.reading.read) or outcome.reading.why == NOT_FOUND


def _declined(asked: _Question, reason: str) -> Judged:
    why = f"judge declined: {reason[:200]}"
    return Judged(replace(asked.reading, why=why, is_open=False), (), "")
