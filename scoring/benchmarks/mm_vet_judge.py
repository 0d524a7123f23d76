"""MM-Vet benchmark: the draft of a report, its judge tasks, the graded report, and its downloads.

The hardened protocol grades more than the file's predictions: canaries, which deserve nothing, and each flagged
prediction once more under another question's truth.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from arena.database import now
from scoring.benchmarks import mm_vet
from scoring.benchmarks.base import Benchmark
from scoring.benchmarks.predictions import Filled, Missing
from scoring.judges import injection
from scoring.judges.run import Task
from scoring.judges.spec import Grading, JudgeSpec
from scoring.report import (
    Grade,
    JudgeStamp,
    Kind,
    Protocol,
    QuestionSet,
    Report,
    Row,
    ScoreLine,
    audit,
    file_stem,
    lines_csv,
    missing_csv,
    safe_csv,
)


class OptionsError(ValueError):
    """Choices that do not go together; the message says which, and what to choose instead."""


@dataclass(frozen=True)
class Options:
    """The owner's choices for scoring a file."""

    protocol: Protocol = "hardened"
    runs: int = 5
    sampled: bool = False
    """Whether the runs are samples of one call."""
    missing: Missing = "stop"
    """What happens to questions without a prediction."""


class _JudgedAnswer(NamedTuple):
    """A pending grade; `place` is the row's for an item or its probe, and the canary's own for a canary."""

    kind: Kind
    place: int
    run: int
    answered: Filled


def draft(
    filled: Sequence[Filled],
    questions: QuestionSet,
    options: Options,
    spec: JudgeSpec,
    address: str,
    file: str,
    title: str,
) -> Report:
    """A file's report before its judging: without grades, predictions that look like an attack flagged.

    `address` is the judge's public address. Raises OptionsError for samples from a judge that gives none.
    """
    if options.sampled and not spec.samples:
        raise OptionsError(f"{spec.model} gives one reply a call; choose separate runs")
    flags = [() if one.prediction is None else injection.flags(one.prediction, one.question) for one in filled]
    rows = tuple(Row(one.question, one.prediction, (), found) for one, found in zip(filled, flags, strict=True))
    prompt, parser = mm_vet.prompt_digest(options.protocol), mm_vet.PARSERS[options.protocol]
    return Report(
        benchmark=questions.benchmark,
        questions=replace(questions, outside=()),
        protocol=options.protocol,
        judge=JudgeStamp(spec.model, (), address, prompt, parser),
        runs=options.runs,
        sampled=options.sampled,
        title=title,
        file=file,
        created=now().isoformat(timespec="seconds"),
        rows=rows,
    )


class MMVet(Benchmark[Report]):
    """The benchmark, with one task for each grade of an item, canary or probe."""

    def tasks(self, report: Report, spec: JudgeSpec) -> Sequence[Task[Grade]]:
        samples = report.runs if report.sampled else 1

        def begin(marked: _JudgedAnswer) -> Callable[[], Grading]:
            return lambda: mm_vet.grading(marked.answered, marked.run, report.protocol, spec, samples)

        def refused(marked: _JudgedAnswer) -> Callable[[str], Grade]:
            return lambda reason: Grade(marked.answered.question.id, marked.run, None, reason)

        return [Task(marked.run, begin(marked), refused(marked)) for marked in _plan(report)]

    def graded(self, report: Report, outcomes: Sequence[Grade]) -> Report:
        """The draft with its grades, which are in the order of the tasks."""
        plan = _plan(report)
        grades = {(one.kind, one.place, one.run): grade for one, grade in zip(plan, outcomes, strict=True)}
        probes = {one.place for one in plan if one.kind == "probe"}
        canaries = tuple(grades[one[:3]] for one in sorted(plan, key=_by_place) if one.kind == "canary")
        runs = range(report.runs)
        rows = []
        for place, row in enumerate(report.rows):
            given = tuple(grades["item", place, run] for run in runs)
            if place in probes:
                probe = max((grades["probe", place, run] for run in runs), key=_worst)
                given = tuple(mm_vet.withdrawn(grade, probe) for grade in given)
            rows.append(replace(row, grades=given))
        judge = report.judge.answered(grade.model for grade in outcomes)
        return replace(report, judge=judge, rows=tuple(rows), canaries=canaries)

    def ungraded(self, report: Report) -> str:
        return mm_vet.ungraded(report)

    def tables(self, report: Report) -> Iterator[tuple[str, Sequence[ScoreLine]]]:
        for table in mm_vet.tabulate(report):
            yield table.name, table.lines

    def files(self, report: Report) -> Mapping[str, bytes]:
        """The authors' three files, the scores with their bounds, and the audit: lossless, and safe in Excel."""
        partial = bool(report.missing)
        stem = f"{'partial_' if partial else ''}{file_stem(report.file)}"
        more = {
            f"{stem}-scores.csv": lines_csv(self.tables(report)),
            f"{stem}-audit.jsonl": audit(report),
            f"{stem}-audit.csv": safe_csv(report),
        }
        if partial:
            more[f"{stem}-missing.csv"] = missing_csv(report)
        return {**mm_vet.files(report), **more}


def _plan(report: Report) -> Sequence[_JudgedAnswer]:
    """Every pending grade, run by run, so that samples of one call are rarely awaited at the same time."""
    hardened = report.protocol == "hardened"
    answered: Mapping[Kind, Mapping[int, Filled]] = {
        "item": {place: Filled(row.question, row.prediction) for place, row in enumerate(report.rows)},
        "canary": dict(enumerate(_CANARIES)) if hardened else {},
        "probe": dict(_probes(report)) if hardened else {},
    }
    return [
        _JudgedAnswer(kind, place, run, one)
        for run in range(report.runs)
        for kind, ones in answered.items()
        for place, one in ones.items()
    ]


def _probes(report: Report) -> Iterator[tuple[int, Filled]]:
    questions = report.questions.questions
    for place, row in enumerate(report.rows):
        if row.flags and row.prediction is not None:
            yield place, Filled(injection.swapped(row.question, row.prediction, questions), row.prediction)


def _by_place(marked: _JudgedAnswer) -> tuple[int, int]:
    return marked.place, marked.run


def _worst(probe: Grade) -> float:
    return -1.0 if probe.score is None else probe.score


_CANARIES = tuple(Filled(canary.question, canary.prediction) for canary in injection.canaries())


MM_VET = MMVet(
    key="mm-vet",
    name="MM-Vet",
    report=Report,
    way="questions first",
    protocols={"Hardened": "hardened", "As in the paper": "paper"},
    check="Check the file and show the cost",
    unit="grade",
    parts=frozenset({"questions", "missing", "runs"}),
)
