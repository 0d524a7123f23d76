"""A judge of the answers that a spec's rules leave open: its tasks, and the report with its outcomes.

A judge with a rubric also grades canaries: answers that deserve nothing, under questions of the file.
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import NamedTuple

from scoring.judges import injection
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.report import Filled, JudgeStamp, Question
from scoring.rules.base import Item, Judged, Reading, RuleKind, RuleProtocol
from scoring.rules.judging import is_reply_read
from scoring.specs.reading import case_of
from scoring.specs.report import SpecReport, report_items, spec_of_report

PARSER = "spec reply 1"
"""Name and version of the reader of the judge's replies."""


class _OpenAnswer(NamedTuple):
    """An answer that a judge reads, with its question and rule."""

    name: str
    rule: RuleKind
    item: Item
    answer: str
    reading: Reading
    """The reading by the rules."""


def judge_tasks(report: SpecReport, spec: JudgeSpec) -> list[Task[Judged]]:
    """Returns a task for each turn of each answer that the rules left open, then of each canary."""
    tasks = []
    for open_answer in [*_open_answers(report), *_canaries(report)]:
        for turn in range(open_answer.rule.turns(report.protocol)):
            tasks.append(_task(open_answer, turn, report.protocol, spec))
    return tasks


def _task(
    open_answer: _OpenAnswer, turn: int, protocol: RuleProtocol, spec: JudgeSpec
) -> Task[Judged]:
    begin = partial(
        open_answer.rule.judging, open_answer.item, open_answer.answer, protocol, spec, turn
    )
    return Task(
        run=0,
        begin=begin,
        refused=partial(_declined_outcome, open_answer),
        name=open_answer.name,
        is_read=lambda outcome: is_reply_read(outcome.reading),
    )


def with_outcomes(report: SpecReport, outcomes: Sequence[Judged]) -> SpecReport:
    """Returns the report with the outcomes of `judge_tasks`, in their order."""
    remaining = iter(outcomes)
    outcome_by_id = {
        open_answer.name: _outcome(report, open_answer, remaining)
        for open_answer in _open_answers(report)
    }
    canaries = tuple(_outcome(report, canary, remaining) for canary in _canaries(report))
    rows = []
    for row in report.rows:
        if row.reading.is_open and row.row.id in outcome_by_id:
            outcome = outcome_by_id[row.row.id]
            row = replace(
                row, reading=outcome.reading, replies=outcome.replies, model=outcome.model
            )
        rows.append(row)
    judge = report.judge and report.judge.with_versions(outcome.model for outcome in outcomes)
    return replace(report, judge=judge, rows=tuple(rows), canaries=canaries)


def stamped(report: SpecReport, spec: JudgeSpec, address: str) -> SpecReport:
    """Returns the report as a draft for a judge at this public address, with the sha256 of its prompts."""
    open_answers = [*_open_answers(report)]
    prompts = [
        open_answer.rule.judge_prompt(open_answer.item, report.protocol)
        for open_answer in open_answers
    ]
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in dict.fromkeys(prompts)]
    judge = JudgeStamp(
        spec.model, versions=(), address=address, prompt=", ".join(digests), parser=PARSER
    )
    is_tested = report.protocol == "strict" and any(
        open_answer.rule.has_canaries for open_answer in open_answers
    )
    return replace(report, judge=judge, canary_seed=secrets.token_hex(16) if is_tested else "")


def _outcome(report: SpecReport, open_answer: _OpenAnswer, outcomes: Iterable[Judged]) -> Judged:
    """Combines the outcomes of an answer's turns, taken from the front of `outcomes`."""
    turns = [*islice(outcomes, open_answer.rule.turns(report.protocol))]
    return open_answer.rule.combine_turns(turns)


def _open_answers(report: SpecReport) -> Iterator[_OpenAnswer]:
    """Yields the answers that the rules left open, with their questions and rules."""
    for row, item in zip(report.rows, report_items(report), strict=True):
        case = case_of(spec_of_report(report), row.row.cells)
        if row.reading.is_open and case is not None:
            pictured = replace(item, pictures=row.shown)
            yield _OpenAnswer(item.id, case.rule, pictured, row.row.answer, row.reading)


def _canaries(report: SpecReport) -> list[_OpenAnswer]:
    """Returns the canaries: well-known answers that deserve nothing, then secret ones that can't fit their question.

    Each is an answer to one of the file's questions, its host. The draw's seed is unknown before the judging.
    """
    seed = report.canary_seed
    if not seed:
        return []
    hosts = [open_answer for open_answer in _open_answers(report) if open_answer.rule.has_canaries]
    if not hosts:
        return []
    canaries = [*_known_canaries(hosts, seed), *_secret_canaries(hosts, seed)]
    return [canary._replace(name=f"canary {place}") for place, canary in enumerate(canaries, 1)]


def _known_canaries(hosts: Sequence[_OpenAnswer], seed: str) -> Iterator[_OpenAnswer]:
    drawn = sorted(hosts, key=lambda host: hashlib.sha256(f"{seed}{host.name}".encode()).digest())
    for host, canary in zip(cycle(drawn), injection.canaries(), strict=False):
        yield host._replace(answer=canary.prediction or "")


def _secret_canaries(hosts: Sequence[_OpenAnswer], seed: str) -> Iterator[_OpenAnswer]:
    questions = [
        Filled(
            Question(host.name, text=host.item.question, truth=host.item.truth or "", groups=()),
            prediction=None,
        )
        for host in hosts
    ]
    # A secret canary's question has an id of its own, so its texts find the host.
    host_by_text = {(host.item.question, host.item.truth or ""): host for host in hosts}
    for canary in injection.secret_canaries(questions, seed):
        host = host_by_text[canary.question.text, canary.question.truth]
        yield host._replace(answer=canary.prediction or "")


def _declined_outcome(open_answer: _OpenAnswer, reason: str) -> Judged:
    reading = replace(open_answer.reading, why=f"judge declined: {reason[:200]}", is_open=False)
    return Judged(reading, replies=(), model="")
